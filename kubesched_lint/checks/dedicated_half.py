"""A toleration for dedicated nodes without the selector for them."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.device_room import nodes_with_devices
from kubesched_lint.cluster.elastic import CONTROL_PLANE
from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.scheduler.tolerance import dedicated_to
from kubesched_lint.text import many
from kubesched_lint.world.devices import needs_devices
from kubesched_lint.world.world import Member


def check(it: Member) -> Iterator[Hazard]:
    """A toleration opens a pool; only a selector sends pods there. The control plane is no pool to send pods to."""
    if it.workload.kind == "DaemonSet":
        return
    usable = _nodes_with_devices(it) if needs_devices(it.workload.pod, it.world) else it.usable
    for toleration in it.workload.pod.tolerations:
        if not toleration.key or toleration.key in CONTROL_PLANE or toleration.effect == "PreferNoSchedule":
            continue
        pool = dedicated_to(it.world.index, toleration)
        outside = usable & ~pool
        if pool and usable & pool and outside and not _prefers(it, pool):
            yield Hazard(
                at=toleration.path,
                evidence=pattern(
                    f"{many(pool.bit_count(), 'dedicated node')}, "
                    f"{many(outside.bit_count(), 'other')} it can use as well"
                ),
                values={
                    "pool": it.world.names(pool),
                    "count": pool.bit_count(),
                    "outside": outside.bit_count(),
                    "taint": toleration.key + (f"={toleration.value}" if toleration.value else ""),
                },
            )


def _nodes_with_devices(it: Member) -> NodeSet:
    return nodes_with_devices(it)


def _prefers(it: Member, pool: int) -> bool:
    """Whether the pod prefers the pool, which is a choice too."""
    return any(
        it.world.index.matching_term(preferred.term) & pool for preferred in it.workload.pod.preferred_node_terms
    )
