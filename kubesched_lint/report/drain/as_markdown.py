"""The report of ``drain`` as Markdown: for the ticket of an upgrade, or a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.commands.drain.plan import DrainPlan, Obstacle, Wave
from kubesched_lint.engine.base.text import first_few
from kubesched_lint.report.drain.report import headline, place, tightest
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
    for number, obstacle in enumerate(plan.obstacles, 1):
        yield from _obstacle(number, obstacle)
    yield from _list("Missing:", plan.missing)
    yield from _list("This answer assumes that", plan.assumes)
    yield from _list("Notes:", plan.notes)
    yield from _list("Errors:", [f"{error.place}: {error.message}" for error in plan.errors])


def _row(number: int, wave: Wave) -> str:
    joins = f"; first joins {_names(wave.new)}" if wave.new else ""
    return f"| {number} | {_names(wave.nodes)}{joins} | {wave.pods} | {plain(tightest(wave.tight))} |"


def _names(names: Sequence[str]) -> str:
    return first_few([code_in_row(name) for name in names])


def _obstacle(number: int, obstacle: Obstacle) -> Iterator[str]:
    yield from ("", f"{number}. **{plain(str(obstacle.of))}** ({plain(obstacle.kind)}), on {_names(obstacle.nodes)}")
    yield f"   - {plain(obstacle.why)}"
    if obstacle.at is not None:
        yield f"   - at {code(place(obstacle.at))}"
    if obstacle.message:
        yield f"   - {plain(obstacle.message)}"


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", title, "")
        yield from (f"- {plain(line)}" for line in lines)
