"""The report of ``drain``: the waves, or the obstacles, and what the answer rests on."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from kubesched_lint.commands.drain.plan import (
    BY_DEFAULT,
    DEPENDS,
    IMPOSSIBLE,
    POSSIBLE,
    PROVEN,
    SIMULATED,
    TODAY,
    UNKNOWN,
    DrainPlan,
    Move,
    Obstacle,
    Tight,
    Wave,
)
from kubesched_lint.commands.drain.relaxing import BUDGET, ROOM
from kubesched_lint.engine.base.places import Location
from kubesched_lint.engine.base.text import SHOWN, distinct_names, first_few, many
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.findings import Severity
from kubesched_lint.printing import json_text, visible
from kubesched_lint.report.limits import MOST_LINES
from kubesched_lint.report.terminal.cells import width, wrapped
from kubesched_lint.report.terminal.palette import Palette
from kubesched_lint.report.wording.words import without_preemption

_EVIDENCE = {
    PROVEN: "every order of events ends well",
    BY_DEFAULT: "every order of events ends well with the default scheduler's scores",
    SIMULATED: "every simulated order ends well; no proof",
}
_MOST_NAME, _SHORT_NAME = 24, 18
"""Cells of a node's name in a short report, and in a table that is too wide."""


def as_text(plan: DrainPlan, *, color: bool = False, room: int = 0, verbose: bool = False) -> str:
    """Return the text for lines of ``room`` cells (0: no limit), without a newline at the end.

    ``verbose`` adds one trace of the plan, and lists all premises.
    """
    return "\n".join(_lines(plan, Palette(color), room, verbose))


def _lines(plan: DrainPlan, palette: Palette, room: int, verbose: bool) -> Iterator[str]:
    yield from (_painted(line, plan, palette) for line in wrapped(headline(plan), room, 2))
    if plan.waves:
        yield ""
        yield from _table(plan, palette, room)
        if verbose:
            yield from _moves(plan.waves, palette, room)
    if plan.worst:
        yield ""
        yield "a course that ends badly:"
        for text in plan.worst:
            yield from wrapped(f"  {text}", room, 4)
    names = distinct_names(plan.targets, _MOST_NAME)
    obstacles = told_once(plan.obstacles)
    is_short = plan.verdict == UNKNOWN and not verbose and len(obstacles) > SHOWN + 1  # else all of them have to go
    most = SHOWN if is_short else len(obstacles)
    for alike in obstacles[:most]:
        yield ""
        yield from _obstacle(alike, names, palette, room, verbose)
    if obstacles[most:]:
        yield ""
        kept = first_few(list(dict.fromkeys(visible(str(alike[0].of)) for alike in obstacles[most:])))
        yield from wrapped(f"and {many(len(obstacles) - most, 'more obstacle')}: {kept} (-v)", room, 2)
    missing = plan.missing[1:] if plan.verdict == UNKNOWN else plan.missing  # the first line has the first of them
    if missing:
        yield ""
        yield "unknown, too:" if plan.verdict == UNKNOWN else "unknown:"
        for line in missing:
            yield from wrapped(f"  - {line}", room, 4)
    if plan.assumes:
        yield ""
        yield from _premises(plan.assumes, room, verbose)
    for error in plan.errors:
        yield visible(f"error: {error.place}: {error.message}")
    if plan.notes:
        yield ""
        for note in plan.notes:
            yield from wrapped(f"note: {note}", room, 6)


def _premises(premises: Sequence[str], room: int, verbose: bool) -> Iterator[str]:
    if verbose:
        yield "this answer assumes that"
        for premise in premises:
            yield from wrapped(f"  - {premise}", room, 4)
        return
    more = f", and {len(premises) - 1} more (-v)" if len(premises) > 1 else ""
    yield from wrapped(f"assumes that {premises[0]}{more}", room, 2)


def headline(plan: DrainPlan) -> str:
    """Return the answer in one sentence."""
    nodes = many(len(plan.targets), "node")
    if plan.verdict == POSSIBLE:
        fewest = ", and no fewer" if plan.is_fewest and len(plan.waves) > 1 else ""
        return f"{nodes} can be drained in {many(len(plan.waves), 'wave')}{fewest}: {_EVIDENCE[plan.evidence]}"
    if plan.verdict == IMPOSSIBLE:
        whole = "; no smaller set of changes is enough" if plan.is_smallest else ", and maybe more"
        unless = ", unless an autoscaler adds a node" if plan.evidence == TODAY else ""
        by_simulation = " in every simulated order (no proof)" if plan.evidence == SIMULATED else ""
        return f"draining {nodes} never ends{by_simulation}{unless}: {many(len(plan.obstacles), 'obstacle')}{whole}"
    if plan.verdict == DEPENDS:
        return f"no plan drains {nodes} in every order of events; this one does in some"
    return f"unknown whether {nodes} can be drained{f': {plan.missing[0]}' if plan.missing else ''}"


def _painted(text: str, plan: DrainPlan, palette: Palette) -> str:
    if plan.verdict == POSSIBLE:
        return palette.good(text)
    return palette.severity(Severity.ERROR if plan.verdict == IMPOSSIBLE else Severity.WARNING, text)


def _table(plan: DrainPlan, palette: Palette, room: int) -> Iterator[str]:
    """Yield the table; where it is too wide, names are cut in the middle, and room is a percentage."""
    everything = [
        (str(n), _nodes(wave, {}), str(wave.pods), tightest(wave.tight)) for n, wave in enumerate(plan.waves, 1)
    ]
    rows = [("wave", "nodes", "pods", "least room afterwards"), *everything]
    if room and sum(_widths(rows)) + 8 > room:
        names = distinct_names([name for wave in plan.waves for name in (*wave.nodes, *wave.new)], _SHORT_NAME)
        short = [
            (str(n), _nodes(wave, names), str(wave.pods), _share(wave.tight)) for n, wave in enumerate(plan.waves, 1)
        ]
        rows = [("wave", "nodes", "pods", "fullest afterwards"), *short]
    wide = _widths(rows)
    for number, row in enumerate(rows):
        line = "  ".join(text + " " * (size - width(text)) for text, size in zip(row, wide, strict=True)).rstrip()
        yield f"  {line if number else palette.bold(line)}"


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(width, column)) for column in zip(*rows, strict=True)]


def _nodes(wave: Wave, names: Mapping[str, str]) -> str:
    nodes, new = ([names.get(name, name) for name in each] for each in (wave.nodes, wave.new))
    return visible(first_few(nodes) + (f" (first joins {first_few(new)})" if new else ""))


def _share(tight: Tight | None) -> str:
    """Return ``zone a: cpu 92%``."""
    if tight is None:
        return ""
    return f"{f'{visible(tight.where)}: ' if tight.where else ''}{tight.resource} {round(100 * tight.share)}%"


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


def told_once(obstacles: Iterable[Obstacle]) -> list[Sequence[Obstacle]]:
    """Return the obstacles; what one message of Kubernetes says of one object and the same nodes is told once."""
    obstacles_once: dict[Hashable, list[Obstacle]] = {}
    for obstacle in obstacles:
        is_alone = not obstacle.message or obstacle.kind == BUDGET
        obstacles_once.setdefault(obstacle if is_alone else (obstacle.of, obstacle.nodes, obstacle.message), []).append(
            obstacle
        )
    return list(obstacles_once.values())


def _obstacle(
    alike: Sequence[Obstacle], names: Mapping[str, str], palette: Palette, room: int, verbose: bool
) -> Iterator[str]:
    """Yield the lines of obstacles that share object, nodes and message."""
    obstacle = max(alike, key=lambda candidate: len(candidate.why))
    whose = visible(str(obstacle.of))
    why = obstacle.why.replace(f" of {obstacle.of}", "")
    lead = f"{whose} ({obstacle.kind}): " if len(alike) == 1 else f"{whose}: "
    first, *others = wrapped(f"{lead}{why}", room, 2)
    yield first.replace(whose, palette.bold(whose), 1)
    yield from others
    nodes = obstacle.nodes if verbose else [names.get(node, node) for node in obstacle.nodes]
    rows = [("on", f"{many(len(nodes), 'node')}: {first_few(nodes, most=len(nodes) if verbose else SHOWN)}")]
    if len(alike) > 1:
        rows.append(("because", ", ".join(_kinds(alike))))
    elif obstacle.at is not None:
        rows.append(("at", place(obstacle.at)))
    if obstacle.message and (verbose or obstacle.kind != BUDGET):  # kubectl says the same of each budget
        rows.append(("message", obstacle.message if verbose else without_preemption(obstacle.message)))
    if obstacle.help:
        rows.append(("help", obstacle.help))
    for title, text in rows:
        yield from wrapped(f"  {title:<7}  {text}", room, 11)


def _kinds(alike: Iterable[Obstacle]) -> Iterator[str]:
    """Yield ``room manifests/db.yaml:24:18``, ``taint 19:7``: a path stands once, and what can be counted first."""
    path = ""
    for obstacle in sorted(alike, key=lambda obstacle: obstacle.kind != ROOM):
        at = "" if obstacle.at is None else place(obstacle.at)
        yield f"{obstacle.kind} {at.removeprefix(f'{path}:') if path else at}".rstrip()
        path = obstacle.at.path if obstacle.at is not None else path


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
