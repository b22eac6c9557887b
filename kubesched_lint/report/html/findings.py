"""Findings by file as HTML: message, source lines, reason with numbers, and help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from kubesched_lint.engine.base.identity import ByIdentity
from kubesched_lint.engine.base.places import Location, Span
from kubesched_lint.engine.base.text import many
from kubesched_lint.findings import Edit, Finding, Fix, InputError, Report
from kubesched_lint.report.causes import (
    FindingGroup,
    by_owner,
    causes,
    difference,
    distinct_place,
    errors_first,
    in_environments,
)
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import open_findings
from kubesched_lint.report.html.source import LineMark, excerpt
from kubesched_lint.report.limits import MOST_FULL, MOST_ROWS, MOST_SHORT
from kubesched_lint.report.premises import own_premises, without_more_nodes
from kubesched_lint.report.words import PREVIEW, esc, evidence_word, subject


class NumberedCauses(Struct, frozen=True):
    """The causes that the page shows, with their numbers on the page."""

    causes: tuple[FindingGroup, ...]
    numbers: ByIdentity[Finding, int]
    """A finding that is shown in full → its number on the page, from 1."""
    environments: Sequence[str] = ()


def numbered(report: Report) -> NumberedCauses:
    found = tuple(causes(errors_first(open_findings(report))))
    numbers = ByIdentity((cause.first, number) for number, cause in enumerate(found[:MOST_FULL], 1))
    return NumberedCauses(found, numbers, report.summary.environments)


def sections(this: NumberedCauses, context: RenderContext) -> Iterator[str]:
    """Yield a section per file, in the order of paths, for each owner."""
    for part in by_owner(this.causes[: MOST_FULL + MOST_SHORT]):
        if part.owner:
            yield f'<div class="owned"><h3 class="owner">{esc(part.title)}</h3>\n'
        yield from _of_files(part.groups, this, context)
        yield "</div>\n" if part.owner else ""
    missing = this.causes[MOST_FULL + MOST_SHORT :]
    if missing:
        left = sum(cause.count for cause in missing)
        yield f'<p class="more">… and {many(left, "more finding")}: <code>--format json</code> lists them all.</p>'


def _of_files(groups: Sequence[FindingGroup], this: NumberedCauses, context: RenderContext) -> Iterator[str]:
    files: dict[str, list[FindingGroup]] = {}
    for cause in groups:
        files.setdefault(cause.first.location.path, []).append(cause)
    for path, its in files.items():
        count = sum(cause.count for cause in its)
        title = f"<span>{esc(path)}</span> <small>{many(count, 'finding')}</small>"
        yield f'<section class="file"><h3 class="path">{title}</h3>'
        brief = []
        for cause in its:
            number = this.numbers.get(cause.first)
            if number is None:
                brief.append(cause)
            else:
                yield from _article(*in_environments(cause, this.environments), number, context)
        if brief:
            # Browsers number the items of a real list, which takes seconds when a script hides many at once.
            yield f'<div class="brief" role="list">{"".join(_brief(cause) for cause in brief)}</div>'
        yield "</section>\n"


def _article(cause: FindingGroup, where: str, number: int, context: RenderContext) -> Iterator[str]:
    finding = cause.first
    word = finding.severity.word
    yield (
        f'<article class="finding {word}" id="f{number}" data-n="{number}" data-severity="{word}" tabindex="0" '
        f'aria-labelledby="t{number}">\n<header><span class="sev">{word}</span>'
        f'<h4 id="t{number}">{esc(finding.message)}</h4></header>\n'
        f'<p class="meta"><code class="rule">{esc(finding.rule)}</code><span>{esc(str(finding.object))}</span>'
        f'<a href="#f{number}">{esc(_place(finding.location))}</a></p>\n'
    )
    yield from _sources(finding, context)
    yield f'<dl class="why">{"".join(_why(finding, where, context))}</dl>\n'
    if cause.others:
        yield from _others(cause)
    yield (
        f'<details class="about" data-rule="{esc(finding.rule)}"><summary>About this rule</summary>'
        f'<p><a href="#rule-{esc(finding.rule)}">{esc(finding.rule)}</a></p></details>\n</article>\n'
    )


def _sources(finding: Finding, context: RenderContext) -> Iterator[str]:
    files: dict[str, list[LineMark]] = {finding.location.path: [LineMark(finding.location.span, primary=True)]}
    for related in finding.related:
        files.setdefault(related.location.path, []).append(LineMark(related.location.span, related.label))
    for path, marks in files.items():
        rows = "".join(excerpt(marks, context.sources(path)))
        name = f"<figcaption>{esc(path)}</figcaption>" if path != finding.location.path else ""
        if rows:
            yield f'<figure>{name}<pre class="src" translate="no">{rows}</pre></figure>\n'
        elif name:
            labels = "; ".join(f"line {mark.span.line}: {mark.label}" for mark in marks if mark.label)
            yield f'<p class="meta">{esc(path)} {esc(labels)}</p>\n'


def _why(finding: Finding, where: str, context: RenderContext) -> Iterator[str]:
    evidence = finding.evidence
    if where:
        yield f"<dt>in</dt><dd>{esc(where)}</dd>"
    if finding.targets:
        yield f"<dt>targets</dt><dd>{esc(', '.join(finding.targets))}</dd>"
    if evidence.text or evidence.trace:
        events = "".join(f"<li>{esc(event)}</li>" for event in evidence.trace[:MOST_ROWS])
        if len(evidence.trace) > MOST_ROWS:
            events += f"<li>… and {len(evidence.trace) - MOST_ROWS} more</li>"
        order = f"<ol>{events}</ol>" if events else ""
        text = esc(without_more_nodes(evidence.text) or "this happened in order:")
        yield f"<dt>{evidence_word(evidence)}</dt><dd>{text}{order}</dd>"
    for label, premise in own_premises(finding):
        yield f"<dt>{label}</dt><dd>{esc(premise)}</dd>"
    if finding.help:
        yield f'<dt>help</dt><dd class="help">{esc(finding.help)}</dd>'
    for fix in finding.fixes:
        safety = "safe" if fix.safe else "may change placement"
        shown = "".join(changes(fix, context))
        yield f"<dt>fix</dt><dd>{esc(fix.title)} <small>({safety})</small>{shown}</dd>"
    if finding.preview:
        yield f"<dt>preview</dt><dd>{PREVIEW}</dd>"


def _others(cause: FindingGroup) -> Iterator[str]:
    count = len(cause.others)
    yield f'<details class="others"><summary>and {count:,} more of the same cause</summary><ul>'
    for finding in cause.others[:MOST_ROWS]:
        where = esc(_place(distinct_place(finding, cause.first)))
        otherwise = difference(finding, cause.first)
        words = esc(subject(finding, cause.first)) + (f": {esc(otherwise)}" if otherwise else "")
        yield f"<li><code>{where}</code> {words}</li>"
    if count > MOST_ROWS:
        yield f"<li>… and {count - MOST_ROWS:,} more places</li>"
    yield "</ul></details>\n"


def _brief(cause: FindingGroup) -> str:
    finding = cause.first
    word = finding.severity.word
    more = f" <small>and {len(cause.others):,} more of the same cause</small>" if cause.others else ""
    return (
        f'<div role="listitem" class="{word}"><span class="sev">{word}</span> '
        f"<code>{esc(_place(finding.location))}</code> "
        f'<span class="rule">{esc(finding.rule)}</span> {esc(finding.message)}{more}</div>'
    )


def _place(location: Location) -> str:
    span = location.span
    place = f"{location.path}:{span.line}:{span.column}" if span.line else location.path
    return f"{place}, near {_place(location.near)}" if location.near is not None else place


def errors(items: Sequence[InputError], context: RenderContext) -> Iterator[str]:
    """Yield the input errors, each with its line."""
    for error in items[:MOST_FULL]:
        column = max(error.column, 1)
        at = Location(error.path, Span(error.line, column, error.line, column + 1))
        marks = [LineMark(at.span, primary=True)]
        rows = "".join(excerpt(marks, context.sources(error.path))) if error.line else ""
        source = f'<figure><pre class="src" translate="no">{rows}</pre></figure>' if rows else ""
        yield (
            f'<article class="finding error unread"><header><span class="sev">not read</span>'
            f'<h4>{esc(error.message)}</h4></header><p class="meta"><span>{esc(_place(at))}</span></p>'
            f"{source}</article>\n"
        )
    if len(items) > MOST_FULL:
        yield f'<p class="more">… and {many(len(items) - MOST_FULL, "more problem")}.</p>'


def suppressed(report: Report) -> Iterator[str]:
    """Yield a row per waived or known finding, with the reason and the place of its waiver."""
    found = [f for f in errors_first(report.findings) if f.suppressed is not None]
    for finding in found[:MOST_FULL]:
        assert finding.suppressed is not None
        word = "known" if finding.suppressed.known else "waived"
        by = finding.suppressed.location
        reason = finding.suppressed.reason or ("in the baseline" if finding.suppressed.known else "without a reason")
        yield (
            f'<div role="listitem"><span class="sev {word}">{word}</span> <code>{esc(_place(finding.location))}</code> '
            f'<span class="rule">{esc(finding.rule)}</span> {esc(finding.message)}'
            f"<em>{esc(reason)}{f' ({esc(_place(by))})' if by else ''}</em></div>"
        )
    if len(found) > MOST_FULL:
        yield f'<div role="listitem">… and {len(found) - MOST_FULL:,} more</div>'


# --- the changes of a fix, as removed and added lines -----------------------------------------------------------------

_WIDEST = 400


def changes(fix: Fix, context: RenderContext) -> Iterator[str]:
    """Yield rows of HTML for each file; none if the file cannot be shown or too much would change."""
    files: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        files.setdefault(edit.path, []).append(edit)
    for path, edits in files.items():
        rows = "".join(_rows(edits, context.sources(path)))
        if rows:
            yield f'<pre class="src diff" translate="no" aria-label="{esc(path)}">{rows}</pre>'


def _rows(edits: Sequence[Edit], lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines from the first edit to the last, before and after."""
    first = min(edit.span.line for edit in edits) - 1
    last = max(edit.span.end_line for edit in edits)
    before = list(lines[max(first, 0) : last])
    if first < 0 or not before or len(before) > MOST_ROWS or max(map(len, before)) > _WIDEST:
        return
    after = _edited(before, first, edits)
    for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (_row(" ", line) for line in before[i:j])
        else:
            yield from (_row("-", line) for line in before[i:j])
            yield from (_row("+", line) for line in after[k:m])


def _edited(lines: Sequence[str], first: int, edits: Sequence[Edit]) -> list[str]:
    """Return ``lines`` with the edits applied; ``first`` is the number of the first line, from 0."""
    text = list(lines)
    for edit in sorted(edits, key=lambda e: e.span, reverse=True):
        start, end = edit.span.line - 1 - first, edit.span.end_line - 1 - first
        tail = text[end] if end < len(text) else ""
        joined = text[start][: edit.span.column - 1] + edit.text + tail[edit.span.end_column - 1 :]
        text[start : end + 1] = joined.split("\n")
    return text


def _row(sign: str, line: str) -> str:
    kind = {"-": " gone", "+": " new"}.get(sign, "")
    return f'<span class="row{kind}"><span class="no">{sign}</span><span class="code">{esc(line)}</span></span>'
