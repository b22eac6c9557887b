"""The report of ``drain``: the waves, or the obstacles, and what the answer rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.commands.drain.plan import (
    BY_DEFAULT,
    DEPENDS,
    IMPOSSIBLE,
    POSSIBLE,
    PROVEN,
    SIMULATED,
    TODAY,
    DrainPlan,
    Move,
    Obstacle,
    Tight,
    Wave,
)
from kubesched_lint.findings import Location, Severity
from kubesched_lint.model.quantity import show
from kubesched_lint.printing import json_text, visible
from kubesched_lint.report.cells import width, wrapped
from kubesched_lint.report.limits import MOST_LINES
from kubesched_lint.report.palette import Palette
from kubesched_lint.text import first_few, many

_EVIDENCE = {
    PROVEN: "proven for every order of events and any scheduler",
    BY_DEFAULT: "for every order of events with the default scheduler's scores",
    TODAY: "proven for every order of events and any scheduler, unless an autoscaler adds a node",
    SIMULATED: "in every random trace of the default scheduler",
}


def as_text(plan: DrainPlan, *, color: bool = False, room: int = 0) -> str:
    """Return the text for lines of ``room`` cells (0: no limit), without a newline at the end."""
    return "\n".join(_lines(plan, Palette(color), room))


def _lines(plan: DrainPlan, palette: Palette, room: int) -> Iterator[str]:
    yield from (_painted(line, plan, palette) for line in wrapped(headline(plan), room, 2))
    if plan.waves:
        yield ""
        yield from _table(plan.waves, palette)
        yield from _moves(plan.waves, palette, room)
    if plan.worst:
        yield ""
        yield "a course that ends badly:"
        for text in plan.worst:
            yield from wrapped(f"  {text}", room, 4)
    for number, obstacle in enumerate(plan.obstacles, 1):
        yield ""
        yield from _obstacle(number, obstacle, palette, room)
    for title, lines in (("missing:", plan.missing), ("this answer assumes that", plan.assumes)):
        if lines:
            yield ""
            yield title
            for line in lines:
                yield from wrapped(f"  - {line}", room, 4)
    for error in plan.errors:
        yield visible(f"error: {error.path}{f':{error.line}' if error.line else ''}: {error.message}")
    if plan.notes:
        yield ""
        for note in plan.notes:
            yield from wrapped(f"note: {note}", room, 6)


def headline(plan: DrainPlan) -> str:
    """Return the answer in one sentence."""
    what = f"drain of {many(len(plan.targets), 'node')}"
    if plan.verdict == POSSIBLE:
        fewest = "; no plan has fewer waves" if plan.is_fewest and len(plan.waves) > 1 else ""
        return f"{what}: possible in {many(len(plan.waves), 'wave')}, {_EVIDENCE[plan.evidence]}{fewest}"
    if plan.verdict == IMPOSSIBLE:
        few = "; no smaller set of changes is enough" if plan.is_smallest else "; there may be further obstacles"
        return f"{what}: impossible, {_EVIDENCE[plan.evidence]}{few}"
    if plan.verdict == DEPENDS:
        return f"{what}: no plan ends well in every order of events; this one does in some"
    return f"{what}: unknown whether it can end"


def _painted(text: str, plan: DrainPlan, palette: Palette) -> str:
    if plan.verdict == POSSIBLE:
        return palette.good(text)
    return palette.severity(Severity.ERROR if plan.verdict == IMPOSSIBLE else Severity.WARNING, text)


def _table(waves: Sequence[Wave], palette: Palette) -> Iterator[str]:
    rows = [("wave", "nodes", "pods", "least room afterwards")]
    rows += [(str(n), _nodes(wave), str(wave.pods), tightest(wave.tight)) for n, wave in enumerate(waves, 1)]
    wide = [max(map(width, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        line = "  ".join(text + " " * (size - width(text)) for text, size in zip(row, wide, strict=True)).rstrip()
        yield f"  {line if number else palette.bold(line)}"


def _nodes(wave: Wave) -> str:
    new = f" (first joins {first_few(wave.new)})" if wave.new else ""
    return visible(first_few(wave.nodes) + new)


def tightest(tight: Tight | None) -> str:
    """Return ``zone a: 5.5 of 6 cpu requested (92%)``; empty if no resources are known."""
    if tight is None:
        return ""
    where = f"{visible(tight.where)}: " if tight.where else ""
    used, whole = show(tight.resource, tight.used), show(tight.resource, tight.allocatable)
    return f"{where}{used} of {whole} {tight.resource} requested ({round(100 * tight.share)}%)"


def _moves(waves: Sequence[Wave], palette: Palette, room: int) -> Iterator[str]:
    """The moves of one trace, if they are few."""
    if not 0 < sum(len(wave.moves) for wave in waves) <= MOST_LINES:
        return
    yield ""
    yield palette.dim("one trace, with the default scheduler:")
    for number, wave in enumerate(waves, 1):
        for move in wave.moves:
            yield from wrapped(f"  {number}  {_move(move)}", room, 5)


def _move(move: Move) -> str:
    ref = move.workload
    there = ", ".join(f"{count} × {node}" if count > 1 else node for node, count in move.to.items())
    pods = f" ({move.pods} pods)" if move.pods > 1 else ""
    return f"{ref}{pods}: {move.origin} → {there or 'gone'}"


def _obstacle(number: int, obstacle: Obstacle, palette: Palette, room: int) -> Iterator[str]:
    yield palette.bold(visible(f"{number}. {obstacle.of} ({obstacle.kind})"))
    rows = [("on", first_few(obstacle.nodes)), ("because", obstacle.why)]
    if obstacle.at is not None:
        rows.append(("at", place(obstacle.at)))
    if obstacle.message:
        rows.append(("message", obstacle.message))
    for title, text in rows:
        yield from wrapped(f"   {title:<8} {text}", room, 12)


def place(at: Location) -> str:
    """Return ``path:line:column``, or the words of a place that no file holds."""
    return f"{at.path}:{at.span.line}:{at.span.column}" if at.span.line else at.path


# --- for machines -----------------------------------------------------------------------------------------------------


def as_json(plan: DrainPlan) -> str:
    """Return one JSON object; ``schemas/drain.schema.json`` describes it."""
    value = {
        "verdict": plan.verdict,
        "evidence": plan.evidence,
        "nodes": plan.targets,
        "waves": [_json_wave(wave) for wave in plan.waves],
        "fewestWaves": plan.is_fewest,
        "obstacles": [_json_obstacle(obstacle) for obstacle in plan.obstacles],
        "fewestObstacles": plan.is_smallest,
        "because": plan.why,
        "worst": plan.worst,
        "missing": plan.missing,
        "assumes": plan.assumes,
        "notes": plan.notes,
        "errors": [{"path": e.path, "line": e.line, "message": e.message} for e in plan.errors],
    }
    return json_text(value, 2)


def _json_wave(wave: Wave) -> dict[str, object]:
    tight = wave.tight
    return {
        "nodes": wave.nodes,
        "newNodes": wave.new,
        "pods": wave.pods,
        "moves": [{"object": str(m.workload), "pods": m.pods, "from": m.origin, "to": dict(m.to)} for m in wave.moves],
        "leastRoom": None
        if tight is None
        else {
            "zone": tight.where,
            "resource": tight.resource,
            "requested": tight.used,
            "allocatable": tight.allocatable,
        },
    }


def _json_obstacle(obstacle: Obstacle) -> dict[str, object]:
    at = obstacle.at
    return {
        "kind": obstacle.kind,
        "object": str(obstacle.of),
        "because": obstacle.why,
        "nodes": obstacle.nodes,
        "message": obstacle.message,
        "at": None if at is None else {"path": at.path, "line": at.span.line, "column": at.span.column},
        "missing": obstacle.missing,
    }
