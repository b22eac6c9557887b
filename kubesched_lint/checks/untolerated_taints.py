"""Every node with the right labels has a taint that the pod does not tolerate."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import joined
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.model.nodes.node import Taint
from kubesched_lint.engine.model.pod import Pod, Toleration
from kubesched_lint.engine.scenario.others.room import what_is_in_the_way
from kubesched_lint.engine.scenario.premises.premises import count_existing, node_premises, nodes_in_words
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.near_misses.meant_taints import meant_taint
from kubesched_lint.explaining.near_misses.selected import that_match
from kubesched_lint.explaining.remedies.nodes import tolerate, tolerate_as_written
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, proof


def check(it: Member) -> Iterator[Hazard]:
    reach = it.reach
    if it.workload.kind == "DaemonSet" or not reach.matching or reach.tolerated:
        return
    matching = reach.matching & it.scenario.distinct
    blocking = what_is_in_the_way(it, matching & it.scenario.today or matching)
    mistaken, meant = _misspelt(it, blocking.each)
    yield Hazard(
        at=_what_leads_there(it.workload.pod) if mistaken is None else mistaken.path,
        key=mistaken is None,
        variant="default" if mistaken is None else "misspelt",
        cause=blocking.listed if mistaken is None else "",
        evidence=proof(
            f"{nodes_in_words(it.scenario, matching)} that match have a taint without a toleration: {blocking.briefly}",
            demand=1,
            supply=0,
            assumes=node_premises(it),
        ),
        values={
            "replicas": it.replicas,
            "matching": that_match(it.pod),
            "nodes": count_existing(it.scenario, matching),
            "taints": blocking.names,
            "meant": str(meant),
            "further": _further(it, matching, meant),
        },
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Tolerate the taint that keeps most nodes closed."""
    if hazard.variant == "misspelt":
        toleration = next(t for t in it.workload.pod.tolerations if t.path == hazard.at)
        meant = meant_taint(toleration, it.scenario)
        if meant is not None:
            yield from tolerate_as_written(it.workload, toleration, meant)
    yield from tolerate(it, it.reach.matching & it.scenario.distinct)


def _further(it: Member, nodes: NodeSet, meant: Taint | None) -> str:
    """What else to do after the toleration is corrected: the fewest other taints beside the one that is meant."""
    fewest = () if meant is None else what_is_in_the_way(it, nodes).fewest_with.get(meant, ())
    others = [str(taint) for taint in fewest if taint != meant]
    return f", and tolerate {joined(others)}" if others else ""


def _misspelt(it: Member, taints: Collection[Taint]) -> tuple[Toleration | None, Taint | None]:
    """The toleration that nearly matches one of ``taints`` and no taint of any node, and that taint."""
    for toleration in it.workload.pod.tolerations:
        meant = meant_taint(toleration, it.scenario)
        if meant in taints:
            return toleration, meant
    return None, None


def _what_leads_there(pod: Pod) -> Path:
    """The path to blame: the tolerations, else the selection of these nodes, else the pod spec."""
    if pod.tolerations:
        return (*pod.path, "tolerations")
    if pod.node_selector:
        return (*pod.path, "nodeSelector")
    if pod.required_node_terms is not None:
        return (*pod.path, "affinity", "nodeAffinity")
    return pod.path
