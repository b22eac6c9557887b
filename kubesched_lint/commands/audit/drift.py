"""Pods that run where today's labels, taints and neighbours would not put them, and what descheduler makes of it.

Each of descheduler's strategies evicts only pods of controllers, none of a DaemonSet, and none that is critical for the
system (``pkg/framework/plugins/defaultevictor/defaultevictor.go``).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.commands.audit.findings import DRIFT, FACT, AuditFinding
from kubesched_lint.commands.audit.returning import placement_on
from kubesched_lint.commands.audit.running_cluster import ReplicaGroup, RunningCluster, place, pods_of
from kubesched_lint.commands.limits import MOST_PLACES
from kubesched_lint.engine.base.text import first_few, plural
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, only
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.scheduler.framework import static_reach, untolerated_taints
from kubesched_lint.engine.scheduler.plugins import inter_pod_affinity
from kubesched_lint.engine.scheduler.plugins.inter_pod_affinity import (
    REPELLED,
    UNATTRACTED,
    selected_classes,
    selects_incoming,
)
from kubesched_lint.findings import Severity

_CRITICAL = 2_000_000_000
"""SystemCriticalPriority of ``pkg/apis/scheduling/types.go``: descheduler evicts no such pods unless told to."""


def drifted(now: RunningCluster) -> Iterator[AuditFinding]:
    """Yield a finding for each group and reason; cordons and passing taints are no drift."""
    for group in now.groups:
        if group.bound[0].owner is not None and group.bound[0].owner.kind == "Node":
            continue
        reach = static_reach(group.pod, now.lasting.index)
        yield from _outside(group, now, "NodeAffinity", ~reach.matching, "required node affinity or nodeSelector")
        yield from _outside(group, now, "TaintToleration", reach.matching & ~reach.tolerated, "")
        yield from _beside_others(group, now)


def _outside(
    group: ReplicaGroup, now: RunningCluster, plugin: str, wrong: NodeSet, what: str
) -> Iterator[AuditFinding]:
    index = now.lasting.index
    if not group.nodes & wrong:
        return
    there = [p for p in group.positions if wrong >> p & 1]
    names = list(dict.fromkeys(index.names[p] for p in there))
    taint = next(iter(untolerated_taints(group.pod, index.nodes[there[0]])), None)
    whose, do = plural(len(there), "its", "their"), plural(len(there), "it does", "they do")
    why = f"against {whose} {what}" if what else f"against a taint that {do} not tolerate ({taint})"
    text = f"{_pods(group, len(there))} on {first_few(names)} {why}"
    strategy = "RemovePodsViolatingNodeAffinity" if what else "RemovePodsViolatingNodeTaints"
    yield _drifted(group, text, plugin, len(there), strategy, fits=bool(what))


def _beside_others(group: ReplicaGroup, now: RunningCluster) -> Iterator[AuditFinding]:
    """Yield what required pod affinity and anti-affinity would refuse where the pods run."""
    if not (group.pod.required_affinity or group.pod.required_anti_affinity):
        return
    state, refused = now.state, dict[str, list[int]]()
    for position in list(dict.fromkeys(_suspects(group, state)))[:MOST_PLACES]:
        with state.undone():
            state.remove(placement_on(position, group, state))
            for rejection in inter_pod_affinity.reject(group.pod, state, only(position)):
                if rejection.nodes and rejection.reason in (REPELLED, UNATTRACTED):
                    refused.setdefault(rejection.reason, []).append(position)
    for reason, there in refused.items():
        names = first_few([now.lasting.index.names[p] for p in there])
        if reason == REPELLED:
            text = f"{_pods(group, len(there))} on {names} beside pods that required anti-affinity refuses"
            yield _drifted(group, text, "InterPodAffinity", len(there), "RemovePodsViolatingInterPodAntiAffinity")
        else:
            text = f"{_pods(group, len(there))} on {names} without the pods that required affinity asks for"
            yield _drifted(group, text, "InterPodAffinity", len(there), "")


def _suspects(group: ReplicaGroup, state: ClusterState) -> Iterator[int]:
    """Yield the positions where a pod that is refused may be beside one of the group: the domain holds one too many."""
    pod, index = group.pod, state.index
    suspected = index.all if pod.required_affinity else EMPTY
    for term in pod.required_anti_affinity:
        tally = state.classes.tally_of(selected_classes(term, pod.namespace, state))
        least = 2 if selects_incoming(term, pod, pod, state) else 1
        if index.one_node_each(term.topology_key):
            suspected |= tally.at_least(least, index.with_key(term.topology_key))
        else:
            crowded = (nodes for nodes in index.domains(term.topology_key).values() if tally.total(nodes) >= least)
            for nodes in crowded:
                suspected |= nodes
    return (position for position in group.positions if suspected >> position & 1)


def _pods(group: ReplicaGroup, count: int) -> str:
    return f"{pods_of(group.ref, count)} {plural(count, 'runs', 'run')}"


def _drifted(
    group: ReplicaGroup, text: str, plugin: str, count: int, strategy: str, *, fits: bool = False
) -> AuditFinding:
    at = place(group.pod, group.workload, plugin, group.ref)
    details = (
        ("descheduler", f"{strategy} evicts {plural(count, 'it', 'them')}{' if another node fits' if fits else ''}"),
    )
    evicts = bool(strategy) and group.comes_back and (group.pod.priority or 0) < _CRITICAL
    if fits and group.pod.required_node_terms is None:
        evicts = False  # the strategy looks only at pods with required node affinity
    return AuditFinding(DRIFT, Severity.NOTE, group.ref, text, at, FACT, count, details if evicts else ())
