"""The plan as one comment on a pull request: the rows of the text in one table, and everything else folded below it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.commands.plan.plan_result import Plan
from kubesched_lint.engine.base.limits import LONGEST_REASON
from kubesched_lint.engine.base.text import brief, many
from kubesched_lint.report.limits import MOST_LINES
from kubesched_lint.report.markdown import COMMENT_OF_GITHUB, Block, code, code_in_row, html, plain, size, within
from kubesched_lint.report.plan import words as words
from kubesched_lint.report.plan.result import below, is_calm, result
from kubesched_lint.report.plan.rows import Entry, finding_line, rows_of
from kubesched_lint.report.wording.words import at, at_line

MARK = "<!-- kubesched-lint plan -->"
"""The first line; a bot finds its earlier comment by it."""


def as_markdown(plan: Plan) -> str:
    """Return the comment, of at most ``COMMENT_OF_GITHUB`` UTF-16 units."""
    head, tail = "".join(_head(plan)), "".join(_tail(plan))
    return "".join((head, *within(_blocks(plan), COMMENT_OF_GITHUB - size(head) - size(tail), _left_out), tail))


def _left_out(count: int) -> str:
    return f"\n… and **{many(count, 'more change')}** that did not fit: `kubesched-lint plan` prints all of them.\n"


def sign(plan: Plan) -> str:
    """Return the sign of the first line: the run fails; something may get worse, or is unknown; nothing."""
    return "⛔" if plan.is_blocked else "✅" if is_calm(plan) else "⚠️"


def _head(plan: Plan) -> Iterator[str]:
    yield f"{MARK}\n### {sign(plan)} {plain(result(plan))}\n"
    yield "\n".join(f"{plain(line)}\n" for line in below(plan))


def _blocks(plan: Plan) -> Iterator[Block]:
    """Yield the parts, the most important first."""
    rows = rows_of(plan)
    for error in plan.errors:
        yield Block(f"\n- **could not be read** {code(at_line(error.path, error.line))}: {plain(error.message)}", 1)
    if rows.changed or rows.elsewhere:
        yield Block("\n| object | change | effect |\n|---|---|---|\n")
        yield from (Block(_row(entry), 1) for entry in (*rows.changed, *rows.elsewhere))
    yield Block("\n")
    yield from (Block(f"- {plain(finding_line(change))}\n", 1) for change in rows.findings)
    yield from (Block(f"- {plain(line)}\n") for line in (*rows.lines, rows.same) if line)
    yield from _details(plan)


def _row(entry: Entry) -> str:
    name = f"**{plain(entry.name)}**" if entry.is_bad else plain(entry.name)
    place = f" {code_in_row(entry.place)}" if entry.place else ""
    change = "<br>".join(plain(text) for text in (entry.action, entry.fields) if text)
    effects = "<br>".join(map(plain, entry.lines[bool(entry.fields) :]))
    return f"| {name}{place} | {change} | {effects} |\n"


def _details(plan: Plan) -> Iterator[Block]:
    """Yield the findings in full, the room and the notes, folded."""
    lines = [*_findings(plan), *_room(plan), *_notes(plan)]
    if lines:
        yield Block("\n<details><summary>findings, room and notes</summary>\n\n")
        yield from (Block(line, 1) for line in lines)
        yield Block("\n</details>\n")


def _findings(plan: Plan) -> Iterator[str]:
    for change in plan.findings.changes:
        finding = change.finding
        message = plain(brief(finding.message)[:LONGEST_REASON])
        what = "new" if change.before is None else "gone" if change.after is None else "changed"
        place = f"{code(finding.rule)}, {code(at(finding.location))}"
        yield f"- {what} {plain(words.finding_words(change))}: {message} ({place})\n"


def _room(plan: Plan) -> Iterator[str]:
    if plan.room:
        head, rows = words.room(plan)
        cells = (
            "; ".join(f"{plain(name)} {plain(cell)}" for name, cell in zip(head[1:], row[1:], strict=True) if cell)
            for row in rows
        )
        for row, text in zip(rows, cells, strict=True):
            yield f"- free in {plain(row[0])}, in one placement: {text}\n"


def _notes(plan: Plan) -> Iterator[str]:
    errors = [f"before the change, {at_line(e.path, e.line)}: {e.message}" for e in plan.errors_before]
    notes = [*errors, *plan.notes]
    yield from (f"- {plain(note[:LONGEST_REASON])}\n" for note in notes[:MOST_LINES])
    if len(notes) > MOST_LINES:
        yield f"- … and {len(notes) - MOST_LINES} more\n"


def _tail(plan: Plan) -> Iterator[str]:
    yield f"\n<sub>{html(words.judged(plan))}</sub>\n"
