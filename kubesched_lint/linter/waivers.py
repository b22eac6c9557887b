"""Waivers, in comments and annotations: the findings that they suppress, and which of them are stale."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kubesched_lint.analysis.waiver import Waiver, WaiverUse
from kubesched_lint.findings import Finding, Location, ObjectRef, Source, Span, Suppression
from kubesched_lint.linter.comments import comments_with
from kubesched_lint.manifests.document import RENDERED
from kubesched_lint.record import replace

if TYPE_CHECKING:
    from re import Match

ANNOTATION = "ignore.kubesched-lint.io/"
MARKER = "kubesched:"
"""Text in every comment that waives a rule."""

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
            at = source.span(("metadata", "annotations", name), key=True)
            slug = name.removeprefix(ANNOTATION)
            yield Waiver(slug, reason, source.path, at, whole.line, whole.end_line, object=object)


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
    used = {waiver for its in hits for waiver in its}
    for number, finding in enumerate(findings):
        if not hits[number]:  # a comment after content covers the line below if its own line needs no waiver
            its = [w for w in by_rule.get(finding.rule, ()) if w not in used and w.is_above(finding.location)]
            hits[number] = its
    used.update(waiver for its in hits for waiver in its)
    return tuple(_suppressed(f, its) for f, its in zip(findings, hits, strict=True)), frozenset(used)


def uses(
    waivers: Iterable[Waiver],
    used: Collection[Waiver],
    findings: Sequence[Finding],
    known: Mapping[str, str],
    ran: Collection[str],
    families: Collection[str] = (),
) -> Iterator[tuple[Waiver, WaiverUse]]:
    """Yield (waiver, use) for the checks of rules about waivers.

    ``ran`` has the slugs of the rules that ran. Waivers of other rules are never stale, nor are waivers of the rules
    about waivers, which run later.
    """
    for waiver in waivers:
        rule = known.get(waiver.rule)
        if rule is None:
            yield waiver, WaiverUse(False, unknown=_guess(waiver.rule, known, families))
        else:
            yield waiver, WaiverUse(waiver in used, rule not in ran, nearest=_nearest(waiver, rule, findings))


def _waives(waiver: Waiver, finding: Finding, owner: Owner) -> bool:
    if waiver.covers(finding.location):
        return True
    if waiver.object is not None and waiver.object == finding.object and waiver.path.endswith(RENDERED):
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
    best = min(waivers, key=lambda w: (not w.reason, w.path != finding.location.path, w.at))
    return replace(finding, suppressed=Suppression(best.reason, Location(best.path, best.at)))


def _nearest(waiver: Waiver, rule: str, findings: Iterable[Finding]) -> Location | None:
    places = (
        f.location for f in findings if f.rule == rule and not f.suppressed and f.location.path == waiver.path
    )  # fmt: skip
    return min(places, key=lambda p: abs(p.span.line - waiver.at.line), default=None)


def _guess(name: str, known: Collection[str], families: Collection[str]) -> str:
    if name in families:
        return f"; `{name}` is a family, and a waiver names rules"
    from kubesched_lint.text import did_you_mean

    return did_you_mean(name, known) or " "


def _reason(text: str) -> str:
    """The text of a reason without leading punctuation; empty if it has no letter or digit."""
    text = " ".join(text.split()).lstrip(":-–— ").rstrip()
    return text if any(character.isalnum() for character in text) else ""


def _comment_waivers(text: str, path: str, first_line: int) -> Iterator[Waiver]:
    import re

    # With brackets, another word than ignore is a mistake to report; without brackets, it is prose.
    directive = re.compile(r"#[ \t]*kubesched:[ \t]*(?P<verb>[\w-]*)[ \t]*(?:\[(?P<slugs>[^\]]*)\])?(?P<reason>.*)")
    for comment in comments_with(MARKER, text):
        found = directive.search(comment.text)
        if found and (found["verb"] == "ignore" or found["slugs"] is not None):
            reason = _reason(found["reason"])
            line = comment.line + first_line - 1
            last = comment.last_line + first_line - 1 + comment.is_alone
            below = 0 if comment.is_alone else line + 1
            for name, offset in _names(found):
                column = comment.column + offset
                at = Span(line, column, line, column + max(1, len(name)))
                yield Waiver(name, reason, path, at, line, last, below)


def _names(found: Match[str]) -> Iterator[tuple[str, int]]:
    """(slug, offset in the comment) of each rule of a directive; one empty slug if it names no rule to ignore."""
    slugs = found["slugs"] if found["verb"] == "ignore" else None
    if not slugs or not slugs.strip(" \t,"):
        yield "", found.start()
        return
    offset = found.start("slugs")
    for part in slugs.split(","):
        if name := part.strip():
            yield name, offset + part.index(name)
        offset += len(part) + 1
