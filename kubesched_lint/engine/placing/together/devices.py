"""Devices as amounts per node: the groups for which the pods of a set compete."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.scenario.devices.devices import needs_devices
from kubesched_lint.engine.scenario.others.staying import staying_beside_set

if TYPE_CHECKING:
    from kubesched_lint.engine.scenario.scenario import Scenario
    from kubesched_lint.engine.scheduler.devices.groups import DeviceGroups


class DeviceAmounts:
    """All three are as long as there are groups: empty if no pod needs devices, or which there are is unknown."""

    def __init__(self, scenario: Scenario, pods: Iterable[Pod]) -> None:
        self._groups = _groups(scenario, pods)
        groups = () if self._groups is None else self._groups.groups
        self.names: Sequence[str] = tuple(f"devices of class {group[0]}" for group in groups)
        self.free: Sequence[Sequence[float]] = [] if self._groups is None else [*map(self._groups.free, groups)]
        """Per group, what is free on each node."""

    def request(self, pod: Pod) -> Sequence[int]:
        """Return how many devices of each group a pod takes at least."""
        if self._groups is None:
            return ()
        taken = self._groups.taken_by(pod)
        return [taken.get(group, 0) for group in self._groups.groups]


def _groups(scenario: Scenario, pods: Iterable[Pod]) -> DeviceGroups | None:
    asking = [pod for pod in pods if needs_devices(pod, scenario)]
    state = staying_beside_set(scenario).state if asking else None
    if state is None or state.devices is None:
        return None
    from kubesched_lint.engine.scheduler.devices.groups import DeviceGroups

    return DeviceGroups(asking, state.devices, state.index)
