"""No node has the labels that the pod selects."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.admission.schedulers import is_added
from kubesched_lint.engine.base.text import many, plural
from kubesched_lint.engine.model.pod import NodeSelectorTerm, profile_of
from kubesched_lint.engine.placing.wanted import pods_wanted
from kubesched_lint.engine.scenario.nodes.unknown_nodes import check_known
from kubesched_lint.engine.scenario.premises.premises import node_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.near_misses.nearest import correction, hint, miss_of
from kubesched_lint.explaining.near_misses.well_known import is_set_by_system
from kubesched_lint.explaining.remedies.nodes import spell_as_nodes_do
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, proof


def check(it: Member) -> Iterator[Hazard]:
    pod = it.pod
    if pod.node_name:
        return
    if it.reach.matching:
        yield from _barred(it)
        return
    if any(map(_lacks_values, pod.required_node_terms or ())):
        return  # the API server rejects it: api-would-reject
    nodes = it.scenario.today.bit_count()
    check_known(pod, it.scenario)
    miss = miss_of(it)
    if it.workload.kind == "DaemonSet" and not is_added(miss.at):
        return  # its controller makes no pods: daemonset-matches-no-node
    yield Hazard(
        at=miss.at,
        evidence=proof(
            f"0 of {many(nodes, 'node')} match {miss.wanted}", demand=1, supply=0, assumes=node_premises(it)
        ),
        values={
            "replicas": pods_wanted(it),
            "nodes": nodes,
            "wanted": miss.wanted,
            "nearest": hint(miss.nearest),
            "correction": correction(miss.meant),
        },
        cause=miss.lack,
        variant="system" if is_set_by_system(miss.key) else "near" if miss.nearest else "default",
    )


def _barred(it: Member) -> Iterator[Hazard]:
    """Yield a DaemonSet that makes pods for nodes which the affinity that its scheduler's profile adds does not match.

    The controller does not read the scheduler's configuration (``pkg/controller/daemon/daemon_controller.go``,
    NodeShouldRunDaemonPod), and each pod can go to its own node only, so that none of these pods ever runs.
    """
    if it.workload.kind != "DaemonSet" or profile_of(it.pod).added_node_terms is None:
        return
    wanted = it.daemon_nodes
    barred = wanted & ~it.reach.matching
    if not barred:
        return
    miss = miss_of(it, barred)
    pods, nodes = wanted.bit_count(), barred.bit_count()
    yield Hazard(
        at=miss.at,
        evidence=proof(
            f"{nodes} of the {many(pods, 'node')} for which it makes a pod {plural(nodes, 'does', 'do')} not match "
            f"{miss.wanted}",
            demand=pods,
            supply=pods - nodes,
            assumes=node_premises(it),
        ),
        values={"pending": nodes, "pods": pods, "wanted": miss.wanted},
        variant="barred",
    )


def _lacks_values(term: NodeSelectorTerm) -> bool:
    return any(r.operator in ("In", "NotIn") and not r.values for r in term.expressions)


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Write the label as nodes have it."""
    yield from spell_as_nodes_do(it.workload, hazard.at, it.scenario.index.nodes)
