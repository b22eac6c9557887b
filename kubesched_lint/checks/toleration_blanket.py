"""A toleration for every taint opens every node: control planes, dedicated pools, nodes that are going down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from kubesched_lint.engine.model.pod import Pod, Toleration
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.findings import Hazard, pattern

_CRITICAL = ("system-node-critical", "system-cluster-critical")


def check(it: Member, *, system_namespaces: Sequence[str]) -> Iterator[Hazard]:
    """Skip DaemonSets (meant for every node), components of the cluster (they need it) and Jobs (they end)."""
    if not it.workload.stays or _is_system(it.workload, system_namespaces):
        return
    for toleration in it.workload.pod.tolerations:
        if toleration.key or toleration.operator != "Exists" or toleration.seconds is not None:
            continue
        if toleration.effect == "PreferNoSchedule":
            continue
        yield Hazard(
            at=toleration.path,
            evidence=pattern("an empty key with Exists matches every taint"),
            values={"effect": toleration.effect or "any"},
            variant=_variant(toleration),
        )


def _variant(toleration: Toleration) -> str:
    return {"NoSchedule": "schedule", "NoExecute": "execute"}.get(toleration.effect, "default")


def _is_system(workload: Workload, namespaces: Sequence[str]) -> bool:
    pod: Pod = workload.pod
    if pod.host_network or pod.priority_class in _CRITICAL:
        return True
    if any(key.startswith("node-role.kubernetes.io/") for key in pod.node_selector):
        return True
    return any(fnmatchcase(workload.namespace, glob) for glob in namespaces)
