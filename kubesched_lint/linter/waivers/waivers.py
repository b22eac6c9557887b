"""Waivers, in comments and annotations: the findings that they suppress, and which of them are stale."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, ObjectRef, Source, Span
from kubesched_lint.engine.base.text import did_you_mean
from kubesched_lint.explaining.waivers.exceptions import Terms, has_ended, terms_of
from kubesched_lint.explaining.waivers.waiver import Waiver, WaiverUse
from kubesched_lint.findings import Finding, Suppression
from kubesched_lint.sources.manifests.document import RENDERED, location_of
from kubesched_lint.sources.manifests.limits import MOST_DEPTH

if TYPE_CHECKING:
    from re import Match

    import yaml


ANNOTATION = "ignore.kubesched-lint.io/"
MARKER = "kubesched"
"""Text in every comment that waives a rule: ``kubesched:``, or the name of the program and a colon."""

Owner = Callable[[Location], ObjectRef | None]
"""Function from a location to the object whose document contains it."""


def find_waivers(text: str, path: str = "", first_line: int = 1) -> tuple[Waiver, ...]:
    """Return the waivers in the comments of a YAML text that starts at ``first_line`` of the file ``path``.

    Text in quotes and block scalars is no comment. Invalid YAML has no comments after the error.
    """
    return tuple(_comment_waivers(text, path, first_line)) if MARKER in text else ()


def annotation_waivers(
    object: ObjectRef,  # noqa: A002 -- as in Finding.object
    annotations: Mapping[str, object],
    source: Source,
) -> Iterator[Waiver]:
    """Yield the waivers among an object's annotations; each covers the whole document of the object."""
    for name, value in annotations.items():
        if isinstance(name, str) and name.startswith(ANNOTATION):
            whole = source.span(())
            reason = _reason(value if isinstance(value, str) else "")
            place = location_of(source, ("metadata", "annotations", name), key=True)
            slug = name.removeprefix(ANNOTATION)
            rendered = source.path if source.path.endswith(RENDERED) else ""
            yield Waiver(
                slug,
                reason.reason,
                place.path,
                place.span,
                whole.line,
                whole.end_line,
                object=object,
                until=reason.until,
                owner=reason.owner,
                rendered=rendered,
            )


def owners(objects: Iterable[tuple[ObjectRef, Source]]) -> Owner:
    """Return a function that finds the object at a location; it reads a file's spans on the first call for it."""
    sources: dict[str, list[tuple[ObjectRef, Source]]] = {}
    for ref, source in objects:
        sources.setdefault(source.path, []).append((ref, source))
    scopes: dict[str, list[tuple[Span, ObjectRef]]] = {}

    def owner(location: Location) -> ObjectRef | None:
        path, line = location.path, location.span.line
        if path not in scopes:
            scopes[path] = [(source.span(()), ref) for ref, source in sources.get(path, ())]
        around = [(whole.line, ref) for whole, ref in scopes[path] if whole.line <= line <= whole.end_line]
        return max(around, key=lambda pair: pair[0])[1] if around else None

    return owner


def apply_waivers(
    findings: Iterable[Finding], waivers: Iterable[Waiver], known: Mapping[str, str], owner: Owner
) -> tuple[tuple[Finding, ...], frozenset[Waiver]]:
    """Return all findings in order, waived ones suppressed, and the waivers that were needed.

    ``known`` maps every current and former slug to the current slug. If a finding's place is in another object than
    the one whose pods wait (symmetry of anti-affinity), a waiver on either object counts.
    """
    findings, waivers = tuple(findings), tuple(waivers)
    if not waivers:
        return findings, frozenset()
    by_rule: dict[str, list[Waiver]] = {}
    for waiver in waivers:
        by_rule.setdefault(known.get(waiver.rule, ""), []).append(waiver)
    by_rule.pop("", None)
    hits = [[w for w in by_rule.get(f.rule, ()) if _waives(w, f, owner)] for f in findings]
    used = {waiver for covering in hits for waiver in covering}
    for number, finding in enumerate(findings):
        if not hits[number]:  # a comment after content covers the line below if its own line needs no waiver
            covering = [w for w in by_rule.get(finding.rule, ()) if w not in used and w.is_above(finding.location)]
            hits[number] = covering
    used.update(waiver for covering in hits for waiver in covering)
    return tuple(_suppressed(f, covering) for f, covering in zip(findings, hits, strict=True)), frozenset(used)


def uses(
    waivers: Iterable[Waiver],
    used: Collection[Waiver],
    findings: Sequence[Finding],
    known: Mapping[str, str],
    ran: Collection[str],
    families: Collection[str] = (),
    today: str = "",
) -> Iterator[tuple[Waiver, WaiverUse]]:
    """Yield (waiver, use) for the checks of rules about waivers.

    ``ran`` has the slugs of the rules that ran. Waivers of other rules are never stale, nor are waivers of the rules
    about waivers, which run later.
    """
    places = {(waiver.path, waiver.at) for waiver in used}  # overlays share the annotation of their base
    for waiver in waivers:
        rule = known.get(waiver.rule)
        if rule is None:
            yield waiver, WaiverUse(False, unknown=_guess(waiver.rule, known, families))
        else:
            is_needed = (waiver.path, waiver.at) in places or _covers_a_part(waiver, rule, findings)
            ended = has_ended(waiver.until, today)
            nearest = _nearest(waiver, rule, findings)
            yield waiver, WaiverUse(is_needed, rule not in ran, has_ended=ended, nearest=nearest)


def _covers_a_part(waiver: Waiver, rule: str, findings: Sequence[Finding]) -> bool:
    """Whether a waiver covers what a finding of another rule explains."""
    return any(
        part.rule == rule
        and (waiver.covers(part.location) or waiver.is_above(part.location) or waiver.object == f.object)
        for f in findings
        for part in f.also
    )


def _waives(waiver: Waiver, finding: Finding, owner: Owner) -> bool:
    if waiver.covers(finding.location):
        return True
    if waiver.object is not None and waiver.object == finding.object and waiver.rendered:
        return True  # the finding is in a source file of the annotated object
    if owner(finding.location) in (finding.object, None):
        return False
    # The pod that stays Pending may belong to another object than the term to blame; a waiver on it counts, too.
    if waiver.object:
        return waiver.object == finding.object
    return any(waiver.covers(r.location) and owner(r.location) == finding.object for r in finding.related)


def _suppressed(finding: Finding, waivers: Sequence[Waiver]) -> Finding:
    if not waivers or finding.suppressed:
        return finding
    longest = "" if any(not waiver.until for waiver in waivers) else max(waiver.until for waiver in waivers)
    lasting = [waiver for waiver in waivers if waiver.until == longest]
    best = min(lasting, key=lambda w: (not w.reason, w.path != finding.location.path, w.at))
    place = Location(best.path, best.at)
    return replace(finding, suppressed=Suppression(best.reason, place, False, best.until, best.owner))


def _nearest(waiver: Waiver, rule: str, findings: Iterable[Finding]) -> Location | None:
    places = (
        f.location for f in findings if f.rule == rule and not f.suppressed and f.location.path == waiver.path
    )  # fmt: skip
    return min(places, key=lambda p: abs(p.span.line - waiver.at.line), default=None)


def _guess(name: str, known: Collection[str], families: Collection[str]) -> str:
    if name in families:
        return f"; `{name}` is a family, and a waiver names rules"
    return did_you_mean(name, known) or " "


def _reason(text: str) -> Terms:
    """The text of a reason without leading punctuation, and its terms; empty if it has no letter or digit."""
    terms = terms_of(" ".join(text.split()).lstrip(":-–— ").rstrip())
    return terms if any(character.isalnum() for character in terms.reason) else replace(terms, reason="")


def _comment_waivers(text: str, path: str, first_line: int) -> Iterator[Waiver]:
    # With brackets, another word than ignore is a mistake to report; without brackets, it is prose.
    directive = re.compile(
        r"#[ \t]*kubesched(?:-lint)?:[ \t]*(?P<verb>[\w-]*)[ \t]*(?:\[(?P<slugs>[^\]]*)\])?(?P<reason>.*)"
    )
    for comment in comments_with(MARKER, text):
        match = directive.search(comment.text)
        if match and (match["verb"] == "ignore" or match["slugs"] is not None):
            reason = _reason(match["reason"])
            line = comment.line + first_line - 1
            last = comment.last_line + first_line - 1 + comment.is_alone
            below = 0 if comment.is_alone else line + 1
            for name, offset in _names(match):
                column = comment.column + offset
                at = Span(line, column, line, column + max(1, len(name)))
                yield Waiver(name, reason.reason, path, at, line, last, below, until=reason.until, owner=reason.owner)


def _names(match: Match[str]) -> Iterator[tuple[str, int]]:
    """(slug, offset in the comment) of each rule of a directive; one empty slug if it names no rule to ignore."""
    slugs = match["slugs"] if match["verb"] == "ignore" else None
    if not slugs or not slugs.strip(" \t,"):
        yield "", match.start()
        return
    offset = match.start("slugs")
    for part in slugs.split(","):
        if name := part.strip():
            yield name, offset + part.index(name)
        offset += len(part) + 1


# --- Comments of a YAML text; a ``#`` in quotes or in a block scalar starts none --------------------------------------

_END_OF_LINE = 1 << 62
_DEEPER = {
    "FlowSequenceStartToken": 1,
    "FlowMappingStartToken": 1,
    "FlowSequenceEndToken": -1,
    "FlowMappingEndToken": -1,
}


class Comment(Struct, frozen=True):
    """``line`` and ``column`` count from 1; ``last_line`` is the last line of its block of comment lines."""

    text: str
    line: int
    column: int
    last_line: int
    is_alone: bool
    """Only blanks are before it on its line."""


def comments_with(marker: str, text: str) -> Iterator[Comment]:
    """Yield the comments that contain ``marker``; in a document with invalid YAML, only those before the error."""
    if marker not in text:
        return
    lines = re.split("\r\n|[\r\n\x85\u2028\u2029]", text)  # the line breaks of YAML 1.1, as libyaml counts them
    ends = _block_ends(lines)
    for first, last in _documents(lines):
        if any(marker in line for line in lines[first:last]):
            hidden = _hidden(lines[first:last])
            for number in range(first, last):
                if marker in lines[number]:
                    yield from _comment(marker, number, lines, hidden.get(number - first, ()), ends)


def _documents(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(first, end) line ranges from 0, end exclusive, split before each ``---`` at the start of a line."""
    first = 0
    for number, line in enumerate(lines):
        if number > first and (line == "---" or line[:4] in ("--- ", "---\t")):
            yield first, number
            first = number
    yield first, len(lines)


def _comment(
    marker: str, number: int, lines: Sequence[str], hidden: Sequence[tuple[int, int]], ends: Sequence[int]
) -> Iterator[Comment]:
    line = lines[number]
    start = line.find("#")
    for left, right in sorted(hidden):
        if left <= start < right:
            start = line.find("#", right)
    if start < 0 or marker not in line[start:]:
        return
    is_alone = not line[:start].strip(" \t\ufeff")
    yield Comment(line[start:], number + 1, start + 1, (ends[number] if is_alone else number) + 1, is_alone)


def _block_ends(lines: Sequence[str]) -> list[int]:
    """For each line, the last of the comment lines that directly follow it, else itself; from 0."""
    ends = list(range(len(lines)))
    for number in range(len(lines) - 2, -1, -1):
        if lines[number + 1].lstrip().startswith("#"):
            ends[number] = ends[number + 1]
    return ends


def _hidden(lines: Sequence[str]) -> dict[int, list[tuple[int, int]]]:
    """Line (from 0) → column ranges (from 0, end exclusive) of tokens, and of all text after a YAML error."""
    ranges: dict[int, list[tuple[int, int]]] = {}
    text = "\n".join(lines)
    if not text.isascii():  # bytes that are not UTF-8 were decoded to lone surrogates
        text = text.encode(errors="replace").decode()
    import yaml  # only a text that may hold a waiver is scanned

    try:
        depth = 0
        for token in yaml.scan(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            _hide(ranges, token)
            depth += _DEEPER.get(token.__class__.__name__, 0)
            if depth > MOST_DEPTH:  # libyaml needs more time for each deeper bracket
                raise yaml.MarkedYAMLError(problem_mark=token.start_mark)
    except yaml.YAMLError as error:
        # An unclosed quote is an error at the end of the text; its context is the place of the quote.
        mark = getattr(error, "context_mark", None) or getattr(error, "problem_mark", None)
        first, column = (mark.line, mark.column) if mark else (0, 0)
        for number in range(first, len(lines)):
            ranges.setdefault(number, []).append((column if number == first else 0, _END_OF_LINE))
    return ranges


def _hide(ranges: dict[int, list[tuple[int, int]]], token: yaml.Token) -> None:
    start, end = token.start_mark, token.end_mark
    first = start.line
    if getattr(token, "style", None) in ("|", ">"):  # the line of the indicator may have a comment
        first += 1
    for number in range(first, end.line + 1):
        left = start.column if number == start.line else 0
        right = end.column if number == end.line else _END_OF_LINE
        ranges.setdefault(number, []).append((left, right))
