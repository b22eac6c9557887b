"""Events of nodes in a timeline: cordon, drain, loss, and the waves of an upgrade. Each function returns the Phase."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.events.search.events import Phase, Timeline
from kubesched_lint.engine.events.search.explore import Enter, in_turn
from kubesched_lint.engine.events.search.hypotheses import Newcomer, NodeChange, made_unreachable
from kubesched_lint.engine.events.search.leaving_nodes import Drain, Evictions, NodeEvent
from kubesched_lint.engine.events.states.states import State
from kubesched_lint.engine.events.transitions.hints import wakes_on_node_change
from kubesched_lint.engine.events.transitions.placement_model import PlacementModel
from kubesched_lint.engine.events.transitions.requeueing import not_requeued
from kubesched_lint.engine.events.transitions.transitions import Transitions
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scheduler.tolerance import CORDON


def cordon(timeline: Timeline, name: str) -> Phase:
    return timeline.run("cordon", *_changing(timeline, [name], cordoned))


def drain(timeline: Timeline, name: str) -> Phase:
    """Cordon a node and evict its pods except those of DaemonSets; budgets may end the drain early."""
    model, enter = _changing(timeline, [name], cordoned)
    position = model.index.positions.get(name)
    if position is None:
        return timeline.run("drain", model)

    def start(state: State) -> Iterator[State]:
        for after in enter(state):
            yield after._replace(draining=True)

    transitions = Transitions(model, timeline.desired_states.values())
    return timeline.run("drain", model, start, Drain(transitions, [position], timeline.objects.budgets).moves)


def lose(timeline: Timeline, names: Iterable[str]) -> Phase:
    """Remove nodes together with the pods on them."""
    return alter(timeline, "lose", NodeChange(lost=frozenset(names)))


def lose_contact(timeline: Timeline, names: Iterable[str]) -> Phase:
    """Let nodes report no more: their objects stay, and so do the pods on them, which are deleted in vain."""
    return alter(timeline, "unreachable", made_unreachable(names, timeline.nodes))


def alter(timeline: Timeline, title: str, change: NodeChange, workloads: Sequence[Workload] = ()) -> Phase:
    """Change nodes and then apply objects, at one moment."""
    before = Transitions(timeline.model(), timeline.desired_states.values())
    timeline.change_nodes(change.key, change.index)
    timeline.unreachable |= change.unreachable
    timeline.objects = change.objects(timeline.objects)
    model, applied = timeline.applying(workloads)
    event = NodeEvent(before, Transitions(model, timeline.desired_states.values()), change)
    return timeline.run(title, model, in_turn([event.enter, applied]), event.moves)


# --- the waves of an upgrade ------------------------------------------------------------------------------------------


def evict(timeline: Timeline, names: Collection[str], spared: Collection[int] = (), title: str = "evict") -> Phase:
    """Cordon nodes together and evict their pods, again and again while a budget refuses, as kubectl drain does.

    ``spared`` are the numbers of workloads whose pods nobody evicts.
    """
    model, enter = _changing(timeline, names, cordoned)
    transitions = Transitions(model, timeline.desired_states.values())
    there = [model.index.positions[name] for name in names]
    evictions = Evictions(transitions, there, timeline.objects.budgets, spared)
    return timeline.run(title, model, enter, evictions.moves, evictions.any_move)


def uncordon(timeline: Timeline, names: Collection[str]) -> Phase | None:
    """Let pods come to nodes again; pods that wait may do so at once. None if no pod waits: then nothing happens."""
    if any(state.waiting or any(state.pinned) for state in timeline.states):
        return timeline.run("uncordon", *_changing(timeline, names, uncordoned))
    timeline.index = timeline.index.with_taints(_changed(timeline, names, uncordoned))
    return None


def join(timeline: Timeline, nodes: Sequence[Node]) -> Phase:
    """Add nodes without pods; DaemonSets make theirs."""
    return alter(timeline, "join", NodeChange(added=tuple(Newcomer(node, node.name) for node in nodes)))


def cordoned(node: Node) -> Node:
    taints = node.taints if CORDON in node.taints else (*node.taints, CORDON)
    return replace(node, unschedulable=True, taints=taints)


def uncordoned(node: Node) -> Node:
    return replace(node, unschedulable=False, taints=tuple(t for t in node.taints if t != CORDON))


def _changing(
    timeline: Timeline, names: Collection[str], change: Callable[[Node], Node]
) -> tuple[PlacementModel, Enter]:
    """Change nodes of the timeline. Return the model after that and what the change does to a state."""
    before = timeline.model()
    changed = _changed(timeline, names, change)
    timeline.change_nodes((change, *sorted(changed)), lambda index: index.with_taints(changed))
    after = timeline.model()

    def wakes(pod: Pod, by: frozenset[str]) -> bool:
        return any(wakes_on_node_change(pod, by, node.labels) for node in changed.values())

    def enter(state: State) -> Iterator[State]:
        if after.may_miss():
            yield from not_requeued(before, state, after, state, wakes)
        else:
            yield state

    return after, enter


def _changed(timeline: Timeline, names: Collection[str], change: Callable[[Node], Node]) -> Mapping[int, Node]:
    """Return position → changed node."""
    at = sorted(timeline.index.positions[name] for name in names if name in timeline.index.positions)
    return {position: change(timeline.nodes[position]) for position in at}
