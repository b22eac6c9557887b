"""Filters that read what their PreFilter stores: without it they end each attempt with an internal error.

NodeAffinity, VolumeZone and NodeVolumeLimits compute it themselves. Mirrors getPreFilterState of
``pkg/scheduler/framework/plugins/*`` and RunFilterPlugins of ``framework/runtime/framework.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.scheduler.plugins.verdict import Rejection

_ERRORS = {
    "InterPodAffinity": 'error reading "PreFilterInterPodAffinity" from cycleState: not found',
    "NodePorts": 'reading "PreFilterNodePorts" from cycleState: not found',
    "NodeResourcesFit": 'error reading "PreFilterNodeResourcesFit" from cycleState: not found',
    "PodTopologySpread": 'reading "PreFilterPodTopologySpread" from cycleState: not found',
    "VolumeBinding": "not found",
    "VolumeRestrictions": 'cannot read "PreFilterVolumeRestrictions" from cycleState',
}


class Failing(Struct, frozen=True):
    """The filter of this name without its PreFilter."""

    NAME: str

    def reject(self, pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
        reason = f'running "{self.NAME}" filter plugin: {_ERRORS[self.NAME]}'
        yield Rejection(self.NAME, reason, among, resolvable=False, is_error=True)
