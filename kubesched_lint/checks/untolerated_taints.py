"""Every node with the right labels has a taint in the way."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import tolerate
from kubesched_lint.findings import Hazard, Path, proof
from kubesched_lint.model.pod import Pod
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    reach = facts.reach(workload)
    if workload.kind == "DaemonSet" or not reach.matching or reach.tolerated:
        return
    taints = facts.taints_in_the_way(workload, reach.matching & facts.distinct)
    count = (reach.matching & facts.distinct).bit_count()
    yield Hazard(
        at=_what_leads_there(workload.pod),
        key=True,
        evidence=proof(
            f"{count} of {count} matching nodes have an untolerated taint: "
            + ", ".join(f"{taint} on {n}" for taint, n in taints.items()),
            demand=1,
            supply=0,
            assumes=facts.node_premises(workload),
        ),
        values={
            "replicas": facts.replicas(workload),
            "count": count,
            "taints": tuple(str(t) for t in taints),
        },
    )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Tolerate the taint that keeps most nodes closed."""
    yield from tolerate(workload, facts.taints_in_the_way(workload, facts.reach(workload).matching & facts.distinct))


def _what_leads_there(pod: Pod) -> Path:
    """As it is written: tolerations that do not do, or what sends the pod to these nodes; else its spec."""
    if pod.tolerations:
        return (*pod.path, "tolerations")
    if pod.node_selector:
        return (*pod.path, "nodeSelector")
    if pod.required_node_terms is not None:
        return (*pod.path, "affinity", "nodeAffinity")
    return pod.path
