"""Which nodes courses lose and drain, where there are too many to try each."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from itertools import compress, islice

from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.start.preemption_scope import above
from kubesched_lint.engine.events.start.simulated_set import UNREACHABLE_OF, SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.events.states.states import State
from kubesched_lint.engine.model.node import HOSTNAME
from kubesched_lint.engine.model.workload import Workload


def pods_by_node(timeline: Timeline, workloads: Collection[int] = (), most: int | None = None) -> dict[str, int]:
    """Return node → number of pods on it, over the first ``most`` ends; with ``workloads``, only theirs."""
    found: dict[str, int] = {}
    slots = timeline.pod_types.slots
    for state in timeline.states[:most]:
        for position in compress(range(len(state.bound)), state.bound):
            name = timeline.nodes[position].name
            count = sum(n for slot, n in state.bound[position] if not workloads or slots[slot].workload in workloads)
            found[name] = found.get(name, 0) + count
    return found


def nodes_of(workload: Workload, timeline: Timeline, most: int, *, fewest: bool) -> Sequence[str]:
    """Return the nodes with the most pods of a workload, or those with the ``fewest``."""
    pods = pods_by_node(timeline, (timeline.numbers[workload.key],))
    ordered = sorted(timeline.nodes, key=lambda node: (-pods.get(node.name, 0), node.name), reverse=fewest)
    return [node.name for node in ordered[:most]]


def nodes_to_lose(simulated: SimulatedSet, timeline: Timeline, most: int) -> Sequence[str]:
    """Return the nodes to lose and drain: all if few, else one of each kind, then those with the most pods.

    One without pods stands for all such nodes: nothing moves where any is lost. Only DaemonSets want pods there.
    """
    pods, kinds = pods_by_node(timeline), _kinds(simulated)
    wanted = any(desired.spec.kind == "DaemonSet" for desired in timeline.desired_states.values())
    without = islice((name for name in kinds if name not in pods), None if wanted else 1)
    ordered = [*sorted(pods, key=lambda name: (-pods[name], name)), *without]
    if len(ordered) <= most:
        return ordered
    found: dict[int, str] = {}
    for name in ordered:
        found.setdefault(kinds[name], name)
    return list(dict.fromkeys((*found.values(), *ordered)))[:most]


def telling(member: SimulatedMember, event: str, timelines: Sequence[Timeline], nodes: Sequence[str]) -> Sequence[str]:
    """Return the nodes whose loss may move pods of a workload, and second another one, after which none moves.

    They are those of ``nodes`` with its pods, or with pods that may preempt these when they are made anew; all of them
    where such pods or its own wait, for which a loss may make room. If none has its pods, the node with the most is one
    more where that is unreachable: a StatefulSet surely lacks a pod then. The first has the most pods of it in the
    first end, which an example shows. A pod of a DaemonSet moves nowhere: it ends with its node, and a drain leaves it.
    """
    shown = pods_by_node(timelines[0], (timelines[0].numbers[member.workload.key],), 1)
    nodes = sorted(nodes, key=lambda node: -shown.get(node, 0))
    own, moving, most = dict[str, int](), set[str](), 1 if event in UNREACHABLE_OF else None
    stronger, stays = list(above(member)), member.workload.kind == "DaemonSet" and most is None
    for timeline in timelines:
        itself = timeline.numbers[member.workload.key]
        those = {timeline.numbers[workload.key]: workload for workload in stronger if workload.key in timeline.numbers}
        if any(_waits(timeline, state, {itself, *those}) for state in timeline.states):
            return nodes
        for node, pods in () if stays else pods_by_node(timeline, (itself,), most).items():
            own[node] = own.get(node, 0) + pods
        # A pod of a DaemonSet ends with its node.
        anew = frozenset(i for i, workload in those.items() if workload.kind != "DaemonSet")
        moving.update(node for node, pods in pods_by_node(timeline, anew).items() if pods and anew)
    ordered = sorted((node for node, pods in own.items() if pods), key=lambda node: (-own[node], node))
    first = [node for node in nodes if own.get(node)] or ordered[: event in UNREACHABLE_OF]
    further = [node for node in nodes if node in moving and node not in first]
    other = next((node for node in nodes if node not in moving and node not in first), None)
    return [*first[:1], *([] if other is None else [other]), *first[1:], *further]


def waits(timeline: Timeline) -> bool:
    """Whether a pod has no node in an end of a timeline."""
    return any(state.waiting or any(state.pinned) for state in timeline.states)


def _waits(timeline: Timeline, state: State, workloads: Collection[int]) -> bool:
    """Whether a pod of one of these workloads has no node."""
    slots = timeline.pod_types.slots
    return any(slots[slot].workload in workloads for queue in (state.waiting, *state.pinned) for slot, *_ in queue)


@once_per_set
def _kinds(simulated: SimulatedSet) -> Mapping[str, int]:
    """Return name of a node → number of its kind, in the order of names."""
    numbers: dict[Hashable, int] = {}
    found = {}
    for node in sorted(simulated.nodes, key=lambda node: node.name):
        labels = frozenset((k, v) for k, v in node.labels.items() if k != HOSTNAME)
        room = None if node.allocatable is None else frozenset(node.allocatable.items())
        found[node.name] = numbers.setdefault((labels, frozenset(node.taints), room), len(numbers))
    return found
