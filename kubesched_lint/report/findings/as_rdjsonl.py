"""reviewdog's diagnostic format, one JSON object per line, with fixes as suggestions.

The fields are those of ``Diagnostic`` in reviewdog's proto/rdf/reviewdog.proto (v0.21.0): columns count bytes of UTF-8
from 1, and the end of a range is exclusive. A suggestion replaces whole lines, because the reporter for GitLab reads
no columns, and a finding has at most one, because the reporter for GitHub shows only those at the place of the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from kubesched_lint.engine.base.limits import LONGEST_REASON
from kubesched_lint.engine.base.places import Location
from kubesched_lint.engine.base.text import shortened
from kubesched_lint.findings import Edit, Finding, InputError, Report, Severity
from kubesched_lint.linter.results.causes import members
from kubesched_lint.printing import json_text, visible
from kubesched_lint.report.causes import by_place
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import cut_short, open_findings
from kubesched_lint.report.wording.words import annotated, explanation, relative, utf8

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.NOTE: "INFO"}
_LINE_OF_REVIEWDOG = 60_000
"""Size of a line: at 65,536 bytes reviewdog stops to read, without a word (Go's bufio.Scanner)."""


def render(report: Report, context: RenderContext) -> Iterator[str]:
    """Yield one line per diagnostic: input errors, then open findings."""
    for error in sorted(report.errors, key=lambda e: (e.path, e.line, e.column, e.message)):
        yield _line(_error(error, context))
    left_out = cut_short(report)
    if left_out:  # a reporter puts it at a file
        path = relative(next(iter(context.files()), "."), context.root)
        yield _line(_entry(left_out, "left-out", "INFO", {"path": utf8(path)}))
    for finding in by_place(open_findings(report)):
        yield _line(_finding(finding, context))


def _line(entry: dict[str, Any]) -> str:
    text = json_text(entry)
    if len(text.encode()) > _LINE_OF_REVIEWDOG:
        kept = {name: entry[name] for name in ("source", "code", "severity", "location")}
        text = json_text({"message": shortened(entry["message"], LONGEST_REASON), **kept})
    return f"{text}\n"


def _entry(message: str, code: str, severity: str, location: dict[str, Any]) -> dict[str, Any]:
    return {
        "message": "\n".join(visible(utf8(line)) for line in message.split("\n")),
        "location": location,
        "severity": severity,
        "source": {"name": "kubesched-lint"},
        "code": {"value": code},
    }


def _error(error: InputError, context: RenderContext) -> dict[str, Any]:
    place: dict[str, Any] = {"path": utf8(relative(error.path, context.root))}
    if error.line:
        place["range"] = {"start": {"line": error.line}}
    return _entry(error.message, "input-error", "ERROR", place)


def _finding(finding: Finding, context: RenderContext) -> dict[str, Any]:
    others = len(members(finding)) - 1
    more = (f"and {others:,} more of the same cause",) if others else ()
    text = "\n".join((finding.message, *explanation(finding), *more))
    entry = _entry(text, finding.rule, _SEVERITIES[finding.severity], _location(finding.location, context))
    card = context.cards(finding.rule)
    if card and card.address:
        entry["code"]["url"] = card.address
    suggestion = _suggestion(finding, context)
    if suggestion:
        entry["suggestions"] = [suggestion]
    if finding.related:
        entry["related_locations"] = [
            {"message": visible(utf8(other.label)), "location": _location(other.location, context)}
            for other in finding.related
        ]
    return entry


def _location(location: Location, context: RenderContext) -> dict[str, Any]:
    where = annotated(location)
    place: dict[str, Any] = {"path": utf8(relative(where.path, context.root))}
    if where.span.line:
        lines, span = context.sources(where.path), where.span
        place["range"] = {
            "start": _position(span.line, span.column, lines),
            "end": _position(span.end_line, span.end_column, lines),
        }
    return place


def _position(line: int, column: int, lines: Sequence[str]) -> dict[str, int]:
    """Return the position with its column in bytes; without a column if the line cannot be read."""
    if line > len(lines):
        return {"line": line}
    return {"line": line, "column": len(lines[line - 1][: column - 1].encode("utf-8", "surrogatepass")) + 1}


def _suggestion(finding: Finding, context: RenderContext) -> dict[str, Any] | None:
    """Return the new text of the lines that the fix changes; None if there is no fix, or it changes other files."""
    edits = next((fix.edits for fix in finding.fixes if fix.edits), ())
    path = annotated(finding.location).path
    lines = context.sources(path)
    if not edits or not lines or any(edit.path != path for edit in edits):
        return None
    first, last = min(edit.span.line for edit in edits), max(edit.span.end_line for edit in edits)
    if last > len(lines):
        return None
    is_behind_end = last == len(lines) > 1 and not lines[-1]
    if is_behind_end:  # what follows the last line end is no line of a diff
        first = min(first, last - 1)
    text = _edited(lines[first - 1 : last], first, edits)
    if is_behind_end:
        text, last = text.removesuffix("\n"), last - 1
    return {"range": {"start": {"line": first}, "end": {"line": last}}, "text": utf8(text)}


def _edited(lines: Sequence[str], first: int, edits: Sequence[Edit]) -> str:
    """Return the text of ``lines``, the first of which has the number ``first``, after the edits."""
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    text = "\n".join(lines)
    for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):
        start = starts[edit.span.line - first] + edit.span.column - 1
        end = starts[edit.span.end_line - first] + edit.span.end_column - 1
        text = f"{text[:start]}{edit.text}{text[end:]}"
    return text
