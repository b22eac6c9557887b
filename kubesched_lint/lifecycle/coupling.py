"""Which workloads can change where each other's pods fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from kubesched_lint import work
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.model.labels import Selector
from kubesched_lint.model.pod import Pod, PodAffinityTerm
from kubesched_lint.scheduler.plugins.inter_pod_affinity import selects_pod

_Asked = PodAffinityTerm | Selector
"""A term of pod affinity, or the selector of a spread constraint, which looks at its own namespace."""


def joined(count: int, pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """The numbers below ``count`` in groups, so that no pair is parted."""
    leader = list(range(count))

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    for a, b in pairs:
        leader[find(a)] = find(b)
    groups: dict[int, list[int]] = {}
    for i in range(count):
        groups.setdefault(find(i), []).append(i)
    return tuple(map(tuple, groups.values()))


def sharing(keys: Sequence[Sequence[object]]) -> Iterator[tuple[int, int]]:
    """Each that has a key, with the first that has it."""
    first: dict[object, int] = {}
    for i, own in enumerate(keys):
        for key in own:
            yield first.setdefault(key, i), i


def selecting(pods: Sequence[Pod], state: ClusterState) -> Iterator[tuple[int, int]]:
    """Pairs of pods of which one selects the other.

    Of a term that many hold, those whom it selects are paired with its first holder; every other one with one of them.
    """
    labelled = _labelled(pods)
    met: dict[tuple[_Asked, str], list[int]] = {}
    for a, holder in enumerate(pods):
        selectors = (c.selector for c in holder.spread if c.is_hard and c.selector is not None)
        every: tuple[_Asked, ...] = (*holder.required_affinity, *holder.required_anti_affinity, *selectors)
        for asked in every:
            found = met.get((asked, holder.namespace))
            if found is None:
                found = met[asked, holder.namespace] = list(_selected(asked, holder, pods, labelled, state))
                yield from ((a, b) for b in found if b != a)
            else:
                yield from islice(((a, b) for b in found if b != a), 1)


def _labelled(pods: Sequence[Pod]) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for i, pod in enumerate(pods):
        for label in pod.labels.items():
            found.setdefault(label, []).append(i)
    return found


def _selected(
    asked: _Asked,
    holder: Pod,
    pods: Sequence[Pod],
    labelled: dict[tuple[str, str], list[int]],
    state: ClusterState,
) -> Iterator[int]:
    selector = asked if isinstance(asked, Selector) else asked.selector
    candidates: Sequence[int] = () if selector is None else range(len(pods))
    for requirement in selector.requirements if selector is not None else ():
        if requirement.operator == "In" and len(requirement.values) == 1:  # all that match have this label
            candidates = min(candidates, labelled.get((requirement.key, requirement.values[0]), ()), key=len)
    work.spend(len(candidates))
    for b in candidates:
        if isinstance(asked, Selector):
            if holder.namespace == pods[b].namespace and asked.matches(pods[b].labels):
                yield b
        elif selects_pod(asked, holder.namespace, pods[b], state):
            yield b
