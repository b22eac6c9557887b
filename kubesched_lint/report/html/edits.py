"""What a fix would change, as lines that go and lines that come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.findings import Edit, Fix
from kubesched_lint.report.context import RenderContext
from kubesched_lint.report.html.tags import esc

_MOST_LINES = 40
_WIDEST = 400


def changes(fix: Fix, context: RenderContext) -> Iterator[str]:
    """Rows of HTML for each file; nothing where a file cannot be shown or too much would change."""
    files: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        files.setdefault(edit.path, []).append(edit)
    for path, edits in files.items():
        rows = "".join(_rows(edits, context.sources(path)))
        if rows:
            yield f'<pre class="src diff" translate="no" aria-label="{esc(path)}">{rows}</pre>'


def _rows(edits: Sequence[Edit], lines: Sequence[str]) -> Iterator[str]:
    """The lines from the first edit to the last, before and after."""
    from difflib import SequenceMatcher

    first = min(edit.span.line for edit in edits) - 1
    last = max(edit.span.end_line for edit in edits)
    before = list(lines[max(first, 0) : last])
    if first < 0 or not before or len(before) > _MOST_LINES or max(map(len, before)) > _WIDEST:
        return
    after = _edited(before, first, edits)
    for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (_row(" ", line) for line in before[i:j])
        else:
            yield from (_row("-", line) for line in before[i:j])
            yield from (_row("+", line) for line in after[k:m])


def _edited(lines: Sequence[str], first: int, edits: Sequence[Edit]) -> list[str]:
    """``lines``, the first of which is number ``first`` from 0, with the edits made from the last to the first."""
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
