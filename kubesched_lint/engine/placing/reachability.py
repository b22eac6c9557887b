"""Which workloads must run before which: the least fixed point of required pod affinity over a manifest set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct

from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.others.neighbours import answers_itself
from kubesched_lint.engine.scenario.others.running import running_match
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scheduler.framework import with_enforced_constraints

_LONG = 40
"""Members of a longer circle share it; no shorter one is searched for each of them."""


class Blocked(Struct, frozen=True):
    """A workload whose required affinity no pod can ever match.

    ``cause``: *nothing* (no pod matches), *cycle* (its targets wait for it), *waits* (its targets are blocked
    themselves). ``targets`` are the workloads that would match.
    """

    workload: Workload
    cause: str
    targets: tuple[Workload, ...] = ()


def blocked_workloads(
    needy: Iterable[Workload],
    targets_of: Callable[[Workload], tuple[Workload, ...]],
    answered: Callable[[Workload], bool],
) -> Mapping[Workload, Blocked]:
    """Return the workloads that can never start.

    ``needy`` have required affinity; ``targets_of`` gives the other workloads that would match it; ``answered`` returns
    whether a running pod or the workload itself matches. A workload without required affinity can start.
    """
    targets = {w: targets_of(w) for w in needy if not answered(w)}
    waiting = dict(targets)
    askers: dict[Workload, list[Workload]] = {}
    for asker, asked in targets.items():
        for target in asked:
            askers.setdefault(target, []).append(asker)
    started = [asker for asker, wanted in targets.items() if any(t not in waiting for t in wanted)]
    while started:
        workload = started.pop()
        if waiting.pop(workload, None) is not None:
            started.extend(askers.get(workload, ()))
    circles = _in_circles(waiting)
    return {blocked: Blocked(blocked, _cause(blocked, targets, circles), targets[blocked]) for blocked in waiting}


def _cause(workload: Workload, targets: Mapping[Workload, Sequence[Workload]], circles: AbstractSet[Workload]) -> str:
    if not targets[workload]:
        return "nothing"
    return "cycle" if workload in circles else "waits"


def _in_circles(edges: Mapping[Workload, Sequence[Workload]]) -> AbstractSet[Workload]:
    """Nodes of the graph that are on a circle: strong components of more than one node, by Tarjan's algorithm.

    No node has an edge to itself.
    """
    circling: set[Workload] = set()
    order: dict[Workload, int] = {}
    lowest: dict[Workload, int] = {}
    path: list[Workload] = []
    places: dict[Workload, int] = {}
    on_path: set[Workload] = set()
    for start in edges:
        if start in order:
            continue
        ahead = [(start, iter(edges[start]))]
        order[start] = lowest[start] = len(order)
        places[start] = len(path)
        path.append(start)
        on_path.add(start)
        while ahead:
            current, left = ahead[-1]
            target = next((t for t in left if t in edges), None)
            if target is None:
                ahead.pop()
                if ahead:
                    lowest[ahead[-1][0]] = min(lowest[ahead[-1][0]], lowest[current])
                if lowest[current] == order[current]:
                    at = places[current]
                    component = path[at:]
                    del path[at:]
                    on_path.difference_update(component)
                    if len(component) > 1:
                        circling.update(component)
            elif target not in order:
                order[target] = lowest[target] = len(order)
                places[target] = len(path)
                path.append(target)
                on_path.add(target)
                ahead.append((target, iter(edges[target])))
            elif target in on_path:
                lowest[current] = min(lowest[current], order[target])
    return circling


class Circles:
    """Circles of blocked workloads that wait for each other."""

    def __init__(self, blocked: Mapping[Workload, Blocked]) -> None:
        self._blocked = blocked
        self._long: dict[Workload, tuple[tuple[Workload, ...], int]] = {}
        """A member of a long circle that was found → the circle, and the member's index in it."""
        self._names: dict[Workload, str] = {}

    def name(self, member: Workload) -> str:
        """Return the name of a member, made once although the findings of all its circle name it."""
        if member not in self._names:
            self._names[member] = str(member)
        return self._names[member]

    def through(self, start: Workload) -> tuple[Workload, ...]:
        """The shortest circle, beginning with ``start``; for a member of a long circle found before, that circle."""
        if start in self._long:
            circle, at = self._long[start]
            return circle[at:] + circle[:at]
        circle = self._shortest(start)
        if len(circle) > _LONG:
            for at, member in enumerate(circle):
                self._long.setdefault(member, (circle, at))
        return circle

    def _shortest(self, start: Workload) -> tuple[Workload, ...]:
        before: dict[Workload, Workload] = {}
        ahead = [start]
        for current in ahead:
            for target in self._blocked[current].targets:
                if target is start:
                    return self._way(start, current, before)
                if target not in before and target in self._blocked:
                    before[target] = current
                    ahead.append(target)
        raise AssertionError("a workload in a cycle has a way back to itself")

    def _way(self, start: Workload, end: Workload, before: Mapping[Workload, Workload]) -> tuple[Workload, ...]:
        way = [end]
        while way[-1] is not start:
            way.append(before[way[-1]])
        return tuple(reversed(way))


def lacks_topology(it: Member) -> bool:
    """Return whether no usable node has the topology key of a required affinity term: then no pod ever runs."""
    terms = with_enforced_constraints(it.pod).required_affinity
    return any(not it.usable & it.scenario.index.with_key(term.topology_key) for term in terms)


@once_per_scenario
def blocked_affinities(scenario: Scenario) -> Mapping[Workload, Blocked]:
    """Return the workloads whose required pod affinity no pod can ever match."""
    asking = (w for w in scenario.manifests.workloads if w.pod.required_affinity)
    needy = [w for w in asking if with_enforced_constraints(scenario.member(w).pod).required_affinity]

    def targets(workload: Workload) -> tuple[Workload, ...]:
        terms = scenario.member(workload).pod.required_affinity
        return tuple(t for t in scenario.selection.selected_by_all(terms, workload.namespace) if t is not workload)

    def answered(workload: Workload) -> bool:
        member = scenario.member(workload)
        return (
            answers_itself(member)
            or running_match(scenario, member.pod.required_affinity, workload.namespace) is not None
        )

    return blocked_workloads(needy, targets, answered)


@once_per_scenario
def affinity_circles(scenario: Scenario) -> Circles:
    """The circles in which blocked workloads wait for each other."""
    return Circles(blocked_affinities(scenario))
