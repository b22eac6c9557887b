"""The timelines of a hypothesis: what it supposes happens to the timeline of a deployed set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from random import Random

from msgspec.structs import replace

from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.search.hypotheses import Hypothesis, Newcomer, NodeChange
from kubesched_lint.engine.events.search.node_events import alter, evict
from kubesched_lint.engine.events.states.states import State
from kubesched_lint.engine.model.workloads.workload import ROLLED_OUT, SCALED, Workload


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


def timelines_after(
    hypothesis: Hypothesis, objects: Sequence[Workload], deployed: Callable[[], Timeline]
) -> Iterator[tuple[str, Timeline]]:
    """Yield (node at which an upgrade stops or nothing, timeline), one for each way in which the hypothesis may end.

    ``objects`` are the workloads that it changes, as they are applied; ``deployed`` returns a timeline to continue.
    """
    start = deployed()
    if hypothesis.change != NodeChange() or objects:
        alter(start, hypothesis.event, hypothesis.change, objects)
    if not hypothesis.upgraded:
        yield "", start
        return
    for order in _orders(hypothesis.upgraded, start):
        yield from _upgraded(start.fork(), order)


def _orders(names: Sequence[str], timeline: Timeline) -> Iterator[Sequence[str]]:
    """Yield every order; for traces, the given one and its reverse, or one at random."""
    if not timeline.runs:
        yield from permutations(names)
        return
    yield names
    drawn = list(names)
    Random(timeline.seed).shuffle(drawn)
    yield drawn if drawn != list(names) else drawn[::-1]


def _upgraded(timeline: Timeline, order: Sequence[str]) -> Iterator[tuple[str, Timeline]]:
    """Yield the timeline of each node at which the upgrade stops, then that of the upgrade that ends."""
    for name in order:
        node = next((n for n in timeline.nodes if n.name == name), None)
        if node is None:
            continue  # the hypothesis also loses it
        others = tuple(bound for bound in timeline.objects.pods if bound.node == name)
        evict(timeline, [name], title=f"{name} is drained")
        if not timeline.states:  # pods that a cordon does not stop come back and are evicted again, without end
            timeline.sound = False
            yield name, timeline
            return
        stopped = frozenset(state for state in timeline.states if holds(timeline, name, state))
        if stopped:
            blocked = timeline.fork()
            blocked.states = tuple(stopped)
            yield name, blocked
        timeline.states = tuple(state for state in timeline.states if state not in stopped)
        if not timeline.states:
            return
        alter(timeline, f"{name} is replaced", NodeChange(frozenset([name]), added=(Newcomer(node, name, others),)))
    yield "", timeline


def holds(timeline: Timeline, node: str, state: State, number: int | None = None) -> bool:
    """Return whether a node has pods that a drain evicts, of any workload of the timeline or of one."""
    position = next((p for p, n in enumerate(timeline.nodes) if n.name == node), -1)
    pod_types = timeline.pod_types
    return position >= 0 and any(
        number in (None, pod_types.slots[slot].workload) and pod_types.kind(slot) != "DaemonSet"
        for slot, _ in state.bound[position]
    )
