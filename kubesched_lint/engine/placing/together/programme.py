"""The integer programme behind ``joint``: x[workload, class of nodes] pods, as many as possible. Needs ``highspy``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from kubesched_lint.engine.base import work
from kubesched_lint.engine.model.pod import SpreadConstraint
from kubesched_lint.engine.placing.limits import MOST_VARIABLES
from kubesched_lint.engine.placing.together.one_by_one import Row, all_have_a_place
from kubesched_lint.engine.placing.together.spread import counted_nodes, spread_room
from kubesched_lint.engine.scenario.others.neighbours import answers
from kubesched_lint.engine.scenario.others.running import running_match
from kubesched_lint.engine.scenario.others.staying import may_be_preempted

if TYPE_CHECKING:
    from kubesched_lint.engine.placing.together.problem import Demand, Problem

_SECONDS = 5.0
_SOLVING = 2_000
"""Steps of ``work`` for one programme, beside those for its columns."""


def most_pods(problem: Problem, groups: Sequence[str]) -> int | None:
    """Return an upper bound of the pods that can be placed together; None without the solver or if time runs out.

    The solver is loaded only if a placement pod by pod leaves some out. The steps are the same, loaded or not.
    """
    columns = _columns(problem)
    work.spend(_SOLVING + work.CALL * len(columns))
    most = [problem.limit(problem.demands[demand], problem.classes[place]) for demand, place in columns]
    rows, wanted = [*_rows(problem, columns, groups)], [demand.count for demand in problem.demands]
    looks = sum(wanted[demand] for demand, _ in columns)
    if looks <= MOST_VARIABLES and all_have_a_place(wanted, columns, most, rows):
        return sum(wanted)
    highspy = _loaded()
    if highspy is None:
        return None
    model = _solver(highspy)
    model.setOptionValue("output_flag", False)
    model.setOptionValue("time_limit", _SECONDS)
    model.setOptionValue("threads", 1)
    for i, limit in enumerate(most):
        model.addVar(0, limit)
        model.changeColCost(i, 1.0)
        model.changeColIntegrality(i, highspy.HighsVarType.kInteger)
    for coefficients, bound in rows:
        model.addRow(-highspy.kHighsInf, bound, len(coefficients), list(coefficients), list(coefficients.values()))
    model.changeObjectiveSense(highspy.ObjSense.kMaximize)
    model.run()
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    best: float = model.getInfo().objective_function_value
    return round(best)


_THREADS = "OPENBLAS_NUM_THREADS"


def _loaded() -> Any:
    """Return the module of the solver; None without it.

    It brings numpy, whose OpenBLAS reads the variable once and starts as many threads, by default one for each core.
    They wait in a loop, and we have no work for them.
    """
    is_unset = _THREADS not in os.environ
    if is_unset:
        os.environ[_THREADS] = "1"
    try:
        import highspy
    except ImportError:
        return None
    finally:
        if is_unset:
            del os.environ[_THREADS]
    return highspy


_MAKING = Lock()
_STDOUT = 1


def _solver(highspy: Any) -> Any:
    """Return a new solver; the banner that version 1.16 prints on standard output, ahead of our report, is dropped.

    The banner comes before any option can be set, and from C, so only the file descriptor can be turned away.
    """
    with _MAKING:
        try:
            kept = os.dup(_STDOUT)
        except OSError:  # it is closed, so nothing is printed
            return highspy.Highs()
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, _STDOUT)
            os.close(nowhere)
            return highspy.Highs()
        finally:
            os.dup2(kept, _STDOUT)
            os.close(kept)


def _columns(problem: Problem) -> tuple[tuple[int, int], ...]:
    return tuple(
        (d, c)
        for d, demand in enumerate(problem.demands)
        for c, place in enumerate(problem.classes)
        if demand.nodes & place.nodes
    )


def _rows(problem: Problem, columns: Sequence[tuple[int, int]], groups: Sequence[str]) -> Iterator[Row]:
    at = {pair: i for i, pair in enumerate(columns)}
    for d, demand in enumerate(problem.demands):
        yield {i: 1.0 for (number, _), i in at.items() if number == d}, demand.count
    if "resources" in groups:
        yield from _resources(problem, at)
    if "host ports" in groups:
        yield from _ports(problem, at)
    for d, demand in enumerate(problem.demands):
        if "anti-affinity" in groups:
            yield from _apart(problem, at, d, demand)
        if "spread" in groups:
            for constraint in demand.pod.spread:
                if constraint.is_hard:
                    yield from _spread(problem, at, d, demand, constraint)
        if "affinity" in groups:
            yield from _together(problem, at, d, demand)


_At = Mapping[tuple[int, int], int]


def _resources(problem: Problem, at: _At) -> Iterator[Row]:
    requests = [problem.request(d) for d in problem.demands]
    for c, place in enumerate(problem.classes):
        for r, room in enumerate(place.room):
            used = {i: float(requests[d][r]) for (d, number), i in at.items() if number == c and requests[d][r]}
            if used and room < 1 << 61:
                yield used, float(max(room, 0) * place.size)


def _ports(problem: Problem, at: _At) -> Iterator[Row]:
    """One pod per node for each port that is taken on every address; leaving out others only lets in more."""
    users: dict[tuple[str, int], set[int]] = {}
    for d, demand in enumerate(problem.demands):
        for port in demand.pod.host_ports:
            if port.host_ip == "0.0.0.0":
                users.setdefault((port.protocol, port.port), set()).add(d)
    for c, place in enumerate(problem.classes):
        for asking in users.values():
            row = {i: 1.0 for (d, number), i in at.items() if number == c and d in asking}
            if row:
                yield row, float(place.size)


def _by_domain(problem: Problem, at: _At, d: int, key: str) -> dict[str, dict[int, float]]:
    """Domain value → the variables of demand ``d`` in it; only for keys that put whole classes into one domain."""
    index = problem.scenario.index
    rows: dict[str, dict[int, float]] = {}
    for value, nodes in index.domains(key).items():
        row = {i: 1.0 for (number, c), i in at.items() if number == d and problem.classes[c].nodes & ~nodes == 0}
        if row:
            rows[value] = row
    return rows


def _apart(problem: Problem, at: _At, d: int, demand: Demand) -> Iterator[Row]:
    """Required anti-affinity to itself: one pod per domain (``Problem.limit`` covers one per node)."""
    for term in problem.scenario.member(demand.workload).kept_apart:
        if not problem.scenario.index.one_node_each(term.topology_key):
            for row in _by_domain(problem, at, d, term.topology_key).values():
                yield row, 1.0


def _spread(problem: Problem, at: _At, d: int, demand: Demand, constraint: SpreadConstraint) -> Iterator[Row]:
    """No domain ends more than maxSkew above another one that counts (see ``spread``)."""
    scenario, key = problem.scenario, constraint.topology_key
    if demand.one_a_node:
        return  # node affinity pins each pod of a DaemonSet to its node: its own domain alone counts
    room = spread_room(scenario.member(demand.workload), constraint)
    if (
        room is None
        or scenario.index.one_node_each(key)
        or scenario.other_pods
        or may_be_preempted(scenario.member(demand.workload))
    ):
        return  # if pods are deleted later, the others stay, however uneven
    rows = _by_domain(problem, at, d, key)
    counted = counted_nodes(scenario.member(demand.workload), constraint)
    others = [v for v, nodes in scenario.index.domains(key).items() if nodes & counted & scenario.today]
    for value, row in rows.items():
        if room.too_few:
            yield row, float(constraint.max_skew)
            continue
        for other in others:
            if other != value:
                yield {**row, **dict.fromkeys(rows.get(other, ()), -1.0)}, float(constraint.max_skew)


def _together(problem: Problem, at: _At, d: int, demand: Demand) -> Iterator[Row]:
    """Required affinity that only one other workload of the set matches: no pod in a domain without that workload."""
    scenario = problem.scenario
    terms = demand.pod.required_affinity
    if len(terms) != 1 or scenario.index.one_node_each(terms[0].topology_key):
        return
    if running_match(scenario, terms, demand.workload.namespace) is not None:
        return
    member = scenario.member(demand.workload)
    answering = [d for d, other in enumerate(problem.demands) if answers(member, other.pod)]
    seen = {problem.demands[a].workload for a in answering}
    every = list(scenario.selection.selected_by_all(terms, demand.workload.namespace))
    if any(w not in seen for w in every) or d in answering or any(may_be_preempted(scenario.member(w)) for w in every):
        return
    rows = _by_domain(problem, at, d, terms[0].topology_key)
    for value, row in rows.items():
        targets: dict[int, Any] = {}
        for a in answering:
            targets |= dict.fromkeys(
                _by_domain(problem, at, a, terms[0].topology_key).get(value, ()), -1.0 * demand.count
            )
        yield {**row, **targets}, 0.0
