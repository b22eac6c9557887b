"""Which workload of a set is the hardest to place among those that only ask for room, on the same nodes.

A course aimed at it tells enough of the others: where its pods find room after all others, theirs would, too.
"""

from __future__ import annotations

from collections.abc import Hashable

from kubesched_lint.lifecycle.contenders import repelling
from kubesched_lint.lifecycle.setting import Setting, once_per_setting, once_per_workload
from kubesched_lint.model.workload import SCALED


def harder(setting: Setting, number: int) -> int:
    """Return a workload with at least as many pods that ask for at least as much; the workload itself if none has."""
    key = _plain(setting, number)
    return number if key is None else _hardest(setting).get(key, {}).get(number, number)


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
def _hardest(setting: Setting) -> dict[Hashable, dict[int, int]]:
    """Return by what they have in common: workload → the hardest that asks for no less of anything."""
    groups: dict[Hashable, list[int]] = {}
    for i in range(len(setting.workloads)):
        if (key := _plain(setting, i)) is not None:
            groups.setdefault(key, []).append(i)
    return {key: {i: _hardest_of(setting, i, numbers) for i in numbers} for key, numbers in groups.items()}


def _hardest_of(setting: Setting, number: int, among: list[int]) -> int:
    """Return the one that asks for the most in sum, of those that ask for no less than a workload."""
    asked, wanted = setting.pods[number].requests, setting.wanted(number)

    def is_harder(other: int) -> bool:
        more = setting.pods[other].requests
        return setting.wanted(other) >= wanted and all(more.get(name, 0) >= each for name, each in asked.items())

    def size(other: int) -> tuple[int, ...]:
        requests = setting.pods[other].requests
        return (*(requests[name] for name in sorted(requests)), setting.wanted(other), -other)

    return max((other for other in among if is_harder(other)), key=size)
