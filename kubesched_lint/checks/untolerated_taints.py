"""Every node with the right labels has a taint that the pod does not tolerate."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import tolerate
from kubesched_lint.findings import Hazard, Path, proof
from kubesched_lint.model.pod import Pod
from kubesched_lint.world.premises import ONE_NODE, node_premises, nodes_in_words
from kubesched_lint.world.room import taints_in_the_way
from kubesched_lint.world.world import Member


def check(it: Member) -> Iterator[Hazard]:
    reach = it.reach
    if it.workload.kind == "DaemonSet" or not reach.matching or reach.tolerated:
        return
    matching = reach.matching & it.world.distinct
    taints = taints_in_the_way(it, matching & it.world.today or matching)
    nodes = nodes_in_words(it.world, matching)
    yield Hazard(
        at=_what_leads_there(it.workload.pod),
        key=True,
        evidence=proof(
            f"0 of {nodes_in_words(it.world, matching, 'matching')} have no untolerated taint: "
            f"{', '.join(map(str, taints))}",
            demand=1,
            supply=0,
            assumes=node_premises(it),
        ),
        values={
            "replicas": it.replicas,
            "tainted": "the only node that matches has" if nodes == ONE_NODE else f"each of the {nodes} that match has",
            "taints": tuple(str(t) for t in taints),
        },
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Tolerate the taint that keeps most nodes closed."""
    yield from tolerate(it.workload, taints_in_the_way(it, it.reach.matching & it.world.distinct))


def _what_leads_there(pod: Pod) -> Path:
    """The path to blame: the tolerations, else the selection of these nodes, else the pod spec."""
    if pod.tolerations:
        return (*pod.path, "tolerations")
    if pod.node_selector:
        return (*pod.path, "nodeSelector")
    if pod.required_node_terms is not None:
        return (*pod.path, "affinity", "nodeAffinity")
    return pod.path
