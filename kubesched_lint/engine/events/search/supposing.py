"""The stories of a hypothesis: what it supposes happens to the story of a deployed set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from random import Random

from msgspec.structs import replace

from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.search.hypotheses import Hypothesis, Newcomer, NodeChange
from kubesched_lint.engine.events.search.node_events import alter, evict
from kubesched_lint.engine.events.states.states import State
from kubesched_lint.engine.model.workload import ROLLED_OUT, SCALED, Workload


def rolls(hypothesis: Hypothesis, workload: Workload) -> bool:
    """Return whether a workload gets a changed template that reaches its running pods."""
    return hypothesis.rolls and workload.kind in ROLLED_OUT and not workload.suspended


def applied(
    hypothesis: Hypothesis, number: int, workload: Workload, changed: Callable[[Workload], Workload]
) -> Workload:
    """Return a workload as the hypothesis has it applied; itself if it stays as it is."""
    size = hypothesis.sizes.get(number)
    if size is not None and workload.kind in SCALED:
        workload = replace(workload, replicas=size)
    return changed(workload) if rolls(hypothesis, workload) else workload


def stories_after(
    hypothesis: Hypothesis, objects: Sequence[Workload], deployed: Callable[[], Timeline]
) -> Iterator[tuple[str, Timeline]]:
    """Yield (node at which an upgrade stops or nothing, story), one for each way in which the hypothesis may end.

    ``objects`` are the workloads that it changes, as they are applied; ``deployed`` returns a story to continue.
    """
    start = deployed()
    if hypothesis.change != NodeChange() or objects:
        alter(start, hypothesis.event, hypothesis.change, objects)
    if not hypothesis.upgraded:
        yield "", start
        return
    for order in _orders(hypothesis.upgraded, start):
        yield from _upgraded(start.fork(), order)


def _orders(names: Sequence[str], story: Timeline) -> Iterator[Sequence[str]]:
    """Yield every order; for traces, the given one and its reverse, or one at random."""
    if not story.runs:
        yield from permutations(names)
        return
    yield names
    drawn = list(names)
    Random(story.seed).shuffle(drawn)
    yield drawn if drawn != list(names) else drawn[::-1]


def _upgraded(story: Timeline, order: Sequence[str]) -> Iterator[tuple[str, Timeline]]:
    """Yield the story of each node at which the upgrade stops, then that of the upgrade that ends."""
    for name in order:
        node = next((n for n in story.nodes if n.name == name), None)
        if node is None:
            continue  # the hypothesis also loses it
        others = tuple(bound for bound in story.objects.pods if bound.node == name)
        evict(story, [name], title=f"{name} is drained")
        if not story.states:  # pods that a cordon does not stop come back and are evicted again, without end
            story.sound = False
            yield name, story
            return
        stopped = frozenset(state for state in story.states if holds(story, name, state))
        if stopped:
            blocked = story.fork()
            blocked.states = tuple(stopped)
            yield name, blocked
        story.states = tuple(state for state in story.states if state not in stopped)
        if not story.states:
            return
        alter(story, f"{name} is replaced", NodeChange(frozenset([name]), added=(Newcomer(node, name, others),)))
    yield "", story


def holds(story: Timeline, node: str, state: State, number: int | None = None) -> bool:
    """Return whether a node has pods that a drain evicts, of any workload of the story or of one."""
    position = next((p for p, n in enumerate(story.nodes) if n.name == node), -1)
    pod_types = story.pod_types
    return position >= 0 and any(
        number in (None, pod_types.slots[slot].workload) and pod_types.kind(slot) != "DaemonSet"
        for slot, _ in state.bound[position]
    )
