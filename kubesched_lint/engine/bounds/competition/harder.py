"""Which workload of a set is the hardest to place among those that only ask for room, on the same nodes.

A course aimed at it tells enough of the others: where its pods find room after all others, theirs would, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from kubesched_lint.engine.bounds.competition.contenders import repelling
from kubesched_lint.engine.events.start.setting import Setting, once_per_setting, once_per_workload
from kubesched_lint.engine.model.workload import SCALED


@once_per_workload
def harder(setting: Setting, number: int) -> int:
    """Return a workload with at least as many pods that ask for at least as much; the workload itself if none has.

    Of several, it is the one that asks for the most of the resource whose name comes first, then of the next.
    """
    key = _plain(setting, number)
    if key is None:
        return number
    asked, wanted = setting.pods[number].requests, setting.wanted(number)

    def is_harder(other: int) -> bool:
        more = setting.pods[other].requests
        return setting.wanted(other) >= wanted and all(more.get(name, 0) >= each for name, each in asked.items())

    return next(filter(is_harder, _by_size(setting)[key]))


@once_per_workload
def _plain(setting: Setting, number: int) -> Hashable | None:
    """Return what equal workloads have in common beside what they request; None if the pods ask for more than room."""
    workload, pod = setting.workloads[number], setting.pods[number]
    if workload.kind not in SCALED or workload.kind == "StatefulSet" or setting.running or setting.supposed is not None:
        return None
    if pod.required_affinity or pod.volumes or pod.host_ports or pod.resource_claims or pod.group or pod.node_name:
        return None
    if any(c.is_hard for c in pod.spread) or pod.required_anti_affinity or any(repelling(setting, number)):
        return None
    return setting.usable[number], pod.priority, pod.preemption_policy, pod.profile


@once_per_setting
def _by_size(setting: Setting) -> Mapping[Hashable, Sequence[int]]:
    """Return by what they have in common: the workloads, the hardest first."""
    groups: dict[Hashable, list[int]] = {}
    for i in range(len(setting.workloads)):
        if (key := _plain(setting, i)) is not None:
            groups.setdefault(key, []).append(i)

    def size(number: int) -> tuple[int, ...]:
        requests = setting.pods[number].requests
        return (*(requests[name] for name in sorted(requests)), setting.wanted(number), -number)

    return {key: sorted(numbers, key=size, reverse=True) for key, numbers in groups.items()}
