"""A toleration for dedicated nodes without the selector for them."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.cluster.nodes.elastic import CONTROL_PLANE
from kubesched_lint.engine.cluster.nodes.transient import is_transient_taint
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.scenario.devices.devices import needs_devices
from kubesched_lint.engine.scenario.others.room import taints_in_the_way
from kubesched_lint.engine.scenario.premises.premises import nodes_in_words
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.tolerance import dedicated_to
from kubesched_lint.explaining.devices.room import nodes_with_devices
from kubesched_lint.findings import Hazard, pattern


def check(it: Member) -> Iterator[Hazard]:
    """A toleration opens a pool; only a selector sends pods there. The control plane is no pool to send pods to."""
    if it.workload.kind == "DaemonSet":
        return
    usable = _nodes_with_devices(it) if needs_devices(it.workload.pod, it.scenario) else it.usable
    for toleration in it.workload.pod.tolerations:
        if not toleration.key or toleration.key in CONTROL_PLANE or toleration.effect == "PreferNoSchedule":
            continue
        pool = dedicated_to(it.scenario.index, toleration)
        outside = usable & ~pool
        if not pool or not outside:
            continue
        dedicated = nodes_in_words(it.scenario, pool)
        values = {
            "dedicated": dedicated,
            "outside": nodes_in_words(it.scenario, outside),
            "taint": toleration.key + (f"={toleration.value}" if toleration.value else ""),
        }
        if usable & pool:
            if not _prefers(it, pool):
                evidence = pattern(f"{dedicated}, and {values['outside']} that it can use as well")
                yield Hazard(at=toleration.path, evidence=evidence, values=values)
        elif rest := _other_taint(it, pool):
            evidence = pattern(f"{dedicated}, each with another taint: {rest}")
            yield Hazard(at=toleration.path, evidence=evidence, values={**values, "rest": rest}, variant="one_of_two")


def _other_taint(it: Member, pool: NodeSet) -> str:
    """Return the commonest taint that is meant to keep its pods off these nodes; empty if there is none."""
    taints = taints_in_the_way(it, pool & it.reach.matching)
    return next((str(t) for t in taints if t.key not in CONTROL_PLANE and not is_transient_taint(t)), "")


def _nodes_with_devices(it: Member) -> NodeSet:
    return nodes_with_devices(it)


def _prefers(it: Member, pool: int) -> bool:
    """Whether the pod prefers the pool, which is a choice too."""
    return any(
        it.scenario.index.matching_term(preferred.term) & pool for preferred in it.workload.pod.preferred_node_terms
    )
