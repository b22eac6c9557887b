"""Events of nodes in a story: cordon, drain, loss, and the waves of an upgrade. Each function returns the Phase."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from kubesched_lint.lifecycle.events import Enter, Phase, Story
from kubesched_lint.lifecycle.hints import wakes_on_node_change
from kubesched_lint.lifecycle.leaving_nodes import Drain, Evictions, Loss
from kubesched_lint.lifecycle.oracle import Oracle
from kubesched_lint.lifecycle.states import State
from kubesched_lint.lifecycle.transitions import Transitions, overlooked
from kubesched_lint.model.node import Node
from kubesched_lint.model.pod import Pod
from kubesched_lint.record import replace
from kubesched_lint.scheduler.tolerance import CORDON


def cordon(story: Story, name: str) -> Phase:
    return story.run("cordon", *_changing(story, [name], cordoned))


def drain(story: Story, name: str) -> Phase:
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


def lose(story: Story, names: Iterable[str]) -> Phase:
    """Remove nodes together with the pods on them."""
    lost = frozenset(names)
    before = Transitions(story.oracle(), story.desired_states.values())
    kept = [p for p, node in enumerate(story.nodes) if node.name not in lost]
    story.nodes = tuple(story.nodes[p] for p in kept)
    lasting = tuple(p for p in story.objects.pods if p.node not in lost)
    if len(lasting) < len(story.objects.pods):
        story.objects = replace(story.objects, pods=lasting)
    after = story.oracle()
    loss = Loss(before, Transitions(after, story.desired_states.values()), kept)
    return story.run("lose", after, loss.enter, loss.moves)


# --- the waves of an upgrade ------------------------------------------------------------------------------------------


def evict(story: Story, names: Collection[str], spared: Collection[int] = ()) -> Phase:
    """Cordon nodes together and evict their pods, again and again while a budget refuses, as kubectl drain does.

    ``spared`` are the numbers of workloads whose pods nobody evicts.
    """
    oracle, enter = _changing(story, names, cordoned)
    transitions = Transitions(oracle, story.desired_states.values())
    there = [oracle.index.positions[name] for name in names]
    evictions = Evictions(transitions, there, story.objects.budgets, spared)
    return story.run("evict", oracle, enter, evictions.moves, evictions.any_move)


def uncordon(story: Story, names: Collection[str]) -> Phase:
    """Let pods come to nodes again; pods that wait may do so at once."""
    return story.run("uncordon", *_changing(story, names, uncordoned))


def join(story: Story, nodes: Sequence[Node]) -> Phase:
    """Add nodes without pods; DaemonSets make theirs."""
    before, there = story.oracle(), len(story.nodes)
    story.nodes = (*story.nodes, *nodes)
    after = story.oracle()
    none = ((),) * len(nodes)

    def enter(state: State) -> Iterator[State]:
        larger = state._replace(bound=(*state.bound, *none), pinned=(*state.pinned, *none))
        yield from _seen(before, state, after, larger, nodes, [*range(there), *(-1 for _ in nodes)])

    return story.run("join", after, enter)


def cordoned(node: Node) -> Node:
    taints = node.taints if CORDON in node.taints else (*node.taints, CORDON)
    return replace(node, unschedulable=True, taints=taints)


def uncordoned(node: Node) -> Node:
    return replace(node, unschedulable=False, taints=tuple(t for t in node.taints if t != CORDON))


def _changing(story: Story, names: Collection[str], change: Callable[[Node], Node]) -> tuple[Oracle, Enter]:
    """Change nodes of the story. Return the oracle after that and what the change does to a state."""
    before = story.oracle()
    changed = [node for node in map(change, story.nodes) if node.name in names]
    story.nodes = tuple(change(n) if n.name in names else n for n in story.nodes)
    after = story.oracle()

    def enter(state: State) -> Iterator[State]:
        yield from _seen(before, state, after, state, changed)

    return after, enter


def _seen(
    before: Oracle,
    state: State,
    after: Oracle,
    later: State,
    nodes: Sequence[Node],
    origin: Sequence[int] | None = None,
) -> Iterator[State]:
    """Yield ``later`` with the waiting pods that an event of these nodes requeues, or that miss it."""
    if not after.may_miss():
        yield later
        return

    def wakes(pod: Pod, by: frozenset[str]) -> bool:
        return any(wakes_on_node_change(pod, by, node.labels) for node in nodes)

    yield from overlooked(before, state, after, later, wakes, origin)
