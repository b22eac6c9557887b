"""Pods of the set find a node in no trial unless they preempt running pods of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.trial import SEEDS, pods_wanted
from kubesched_lint.findings import Hazard, UncheckedError, witness
from kubesched_lint.model.pod import BoundPod
from kubesched_lint.model.workload import Workload


def check(facts: Facts, *, most_pods: int) -> Iterator[Hazard]:
    now = facts.without_pools
    if now.staying_beside_set is now.others:
        return  # nobody outranks a running pod
    wanted = pods_wanted(now)
    if wanted > most_pods:
        raise UncheckedError(f"tries out at most {most_pods:,} pods (param most_pods); these manifests make {wanted:,}")
    if now.index.unknown_resources:
        raise UncheckedError("needs the resources of every node (allocatable)")
    for workload in now.manifests.workloads:
        found = [trial.get(id(workload), ()) for trial in now.trials_evict]
        if all(found):
            yield _hazard(workload, min(found, key=len), now)


def _hazard(workload: Workload, victims: Sequence[BoundPod], facts: Facts) -> Hazard:
    named = _named(victims, facts)
    at = (*workload.pod.path, "priorityClassName")
    if not workload.pod.priority_class:
        at = workload.replicas_path if workload.stays and workload.kind != "Pod" else ("metadata", "name")
    return Hazard(
        at=at,
        source=workload.source,
        victim=workload.ref,
        evidence=witness(
            f"in {len(SEEDS)} of {len(SEEDS)} trials running pods were evicted",
            trace=(
                f"the set is deployed in {facts.premises.apply_order} order",
                f"pods of {workload} (priority {facts.pod(workload).priority or 0}) find no node with room",
                *(f"evicted: {bound.namespace}/{bound.name} from {bound.node}" for bound in victims[:_FEW]),
            ),
        ),
        values={
            "object": str(workload),
            "priority": facts.pod(workload).priority or 0,
            "count": len(victims),
            "victims": named,
        },
    )


_FEW = 6


def _named(victims: Sequence[BoundPod], facts: Facts) -> tuple[str, ...]:
    """``2 of Deployment shop/old``; bare pods by their own names."""
    assert facts.cluster is not None
    counts: dict[str, int] = {}
    for bound in victims:
        kind, namespace, name = list(facts.cluster.running.owners_of(bound))[-1]
        counts[f"{kind} {namespace}/{name}"] = counts.get(f"{kind} {namespace}/{name}", 0) + 1
    return tuple(
        f"{owner}, which nobody makes again" if owner.startswith("Pod ") else f"{count} of {owner}"
        for owner, count in counts.items()
    )
