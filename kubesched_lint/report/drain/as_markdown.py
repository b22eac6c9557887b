"""The report of ``drain`` as Markdown: for the ticket of an upgrade, or a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.commands.drain.plan import DrainPlan, Obstacle, Wave
from kubesched_lint.engine.base.text import first_few
from kubesched_lint.report.drain.report import headline, place, tightest, told_once
from kubesched_lint.report.limits import MOST_ROWS
from kubesched_lint.report.markdown import code, code_in_row, plain


def as_markdown(plan: DrainPlan) -> str:
    """Return the whole page, with a newline at the end."""
    return "".join(f"{line}\n" for line in _lines(plan))


def _lines(plan: DrainPlan) -> Iterator[str]:
    yield f"**{plain(headline(plan))}**"
    if plan.waves:
        yield from ("", "| wave | nodes | pods | least room afterwards |", "|---|---|---|---|")
        yield from (_row(number, wave) for number, wave in enumerate(plan.waves[:MOST_ROWS], 1))
        if len(plan.waves) > MOST_ROWS:
            yield f"| … | {len(plan.waves) - MOST_ROWS} more waves | | |"
    if plan.worst:
        yield from ("", "A course that ends badly:", "")
        yield from (f"- {plain(line)}" for line in plan.worst)
    for number, alike in enumerate(told_once(plan.obstacles), 1):
        yield from _obstacle(number, alike)
    yield from _list("Missing:", plan.missing)
    yield from _list("This answer assumes that", plan.assumes)
    yield from _list("Notes:", plan.notes)
    yield from _list("Errors:", [f"{error.place}: {error.message}" for error in plan.errors])


def _row(number: int, wave: Wave) -> str:
    joins = f"; first joins {_names(wave.new)}" if wave.new else ""
    return f"| {number} | {_names(wave.nodes)}{joins} | {wave.pods} | {plain(tightest(wave.tight))} |"


def _names(names: Sequence[str]) -> str:
    return first_few([code_in_row(name) for name in names])


def _obstacle(number: int, alike: Sequence[Obstacle]) -> Iterator[str]:
    obstacle = max(alike, key=lambda one: len(one.why))
    kinds = ", ".join(one.kind for one in alike)
    yield from ("", f"{number}. **{plain(str(obstacle.of))}** ({plain(kinds)}), on {_names(obstacle.nodes)}")
    yield f"   - {plain(obstacle.why)}"
    yield from (f"   - at {code(place(one.at))}" for one in alike if one.at is not None)
    if obstacle.message:
        yield f"   - {plain(obstacle.message)}"
    if obstacle.help:
        yield f"   - help: {plain(obstacle.help)}"


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", title, "")
        yield from (f"- {plain(line)}" for line in lines)
