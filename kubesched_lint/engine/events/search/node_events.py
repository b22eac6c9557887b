"""Events of nodes in a story: cordon, drain, loss, and the waves of an upgrade. Each function returns the Phase."""

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
from kubesched_lint.engine.model.node import Node
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.workload import Workload
from kubesched_lint.engine.scheduler.tolerance import CORDON


def cordon(story: Timeline, name: str) -> Phase:
    return story.run("cordon", *_changing(story, [name], cordoned))


def drain(story: Timeline, name: str) -> Phase:
    """Cordon a node and evict its pods except those of DaemonSets; budgets may end the drain early."""
    oracle, enter = _changing(story, [name], cordoned)
    position = oracle.index.positions.get(name)
    if position is None:
        return story.run("drain", oracle)

    def start(state: State) -> Iterator[State]:
        for after in enter(state):
            yield after._replace(draining=True)

    transitions = Transitions(oracle, story.desired_states.values())
    return story.run("drain", oracle, start, Drain(transitions, [position], story.objects.budgets).moves)


def lose(story: Timeline, names: Iterable[str]) -> Phase:
    """Remove nodes together with the pods on them."""
    return alter(story, "lose", NodeChange(lost=frozenset(names)))


def lose_contact(story: Timeline, names: Iterable[str]) -> Phase:
    """Let nodes report no more: their objects stay, and so do the pods on them, which are deleted in vain."""
    return alter(story, "unreachable", made_unreachable(names, story.nodes))


def alter(story: Timeline, title: str, change: NodeChange, workloads: Sequence[Workload] = ()) -> Phase:
    """Change nodes and then apply objects, at one moment."""
    before = Transitions(story.oracle(), story.desired_states.values())
    story.change_nodes(change.key, change.index)
    story.unreachable |= change.unreachable
    story.objects = change.objects(story.objects)
    oracle, applied = story.applying(workloads)
    event = NodeEvent(before, Transitions(oracle, story.desired_states.values()), change)
    return story.run(title, oracle, in_turn([event.enter, applied]), event.moves)


# --- the waves of an upgrade ------------------------------------------------------------------------------------------


def evict(story: Timeline, names: Collection[str], spared: Collection[int] = (), title: str = "evict") -> Phase:
    """Cordon nodes together and evict their pods, again and again while a budget refuses, as kubectl drain does.

    ``spared`` are the numbers of workloads whose pods nobody evicts.
    """
    oracle, enter = _changing(story, names, cordoned)
    transitions = Transitions(oracle, story.desired_states.values())
    there = [oracle.index.positions[name] for name in names]
    evictions = Evictions(transitions, there, story.objects.budgets, spared)
    return story.run(title, oracle, enter, evictions.moves, evictions.any_move)


def uncordon(story: Timeline, names: Collection[str]) -> Phase | None:
    """Let pods come to nodes again; pods that wait may do so at once. None if no pod waits: then nothing happens."""
    if any(state.waiting or any(state.pinned) for state in story.states):
        return story.run("uncordon", *_changing(story, names, uncordoned))
    story.index = story.index.with_taints(_changed(story, names, uncordoned))
    return None


def join(story: Timeline, nodes: Sequence[Node]) -> Phase:
    """Add nodes without pods; DaemonSets make theirs."""
    return alter(story, "join", NodeChange(added=tuple(Newcomer(node, node.name) for node in nodes)))


def cordoned(node: Node) -> Node:
    taints = node.taints if CORDON in node.taints else (*node.taints, CORDON)
    return replace(node, unschedulable=True, taints=taints)


def uncordoned(node: Node) -> Node:
    return replace(node, unschedulable=False, taints=tuple(t for t in node.taints if t != CORDON))


def _changing(story: Timeline, names: Collection[str], change: Callable[[Node], Node]) -> tuple[PlacementModel, Enter]:
    """Change nodes of the story. Return the oracle after that and what the change does to a state."""
    before = story.oracle()
    changed = _changed(story, names, change)
    story.change_nodes((change, *sorted(changed)), lambda index: index.with_taints(changed))
    after = story.oracle()

    def wakes(pod: Pod, by: frozenset[str]) -> bool:
        return any(wakes_on_node_change(pod, by, node.labels) for node in changed.values())

    def enter(state: State) -> Iterator[State]:
        if after.may_miss():
            yield from not_requeued(before, state, after, state, wakes)
        else:
            yield state

    return after, enter


def _changed(story: Timeline, names: Collection[str], change: Callable[[Node], Node]) -> Mapping[int, Node]:
    """Return position → changed node."""
    at = sorted(story.index.positions[name] for name in names if name in story.index.positions)
    return {position: change(story.nodes[position]) for position in at}
