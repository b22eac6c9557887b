"""Pods of the set find a node only by preempting running pods of others, in every trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.base.limits import LONGEST_LIST
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.placing.trial import SEEDS, each_trial, evicted_in_trials
from kubesched_lint.engine.placing.wanted import pods_of_the_set
from kubesched_lint.engine.scenario.others.running import pods_of_others
from kubesched_lint.engine.scenario.others.staying import staying_beside_set
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.findings import Hazard, witness


def check(scenario: Scenario, *, most_pods: int) -> Iterator[Hazard]:
    now = scenario.without_pools
    if staying_beside_set(now) is pods_of_others(now):
        return  # no pod has a higher priority than a running one
    wanted = pods_of_the_set(now)
    if wanted > most_pods:
        raise UncheckedError(f"tries out at most {most_pods:,} pods (param most_pods); these manifests make {wanted:,}")
    if now.index.unknown_resources:
        raise UncheckedError("needs the resources of every node (allocatable)")
    if not all(tried.evicted for tried in each_trial(now)):
        return
    for workload in now.manifests.workloads:
        evicted = [trial.get(workload, ()) for trial in evicted_in_trials(now)]
        if all(evicted):
            yield _hazard(now.member(workload), min(evicted, key=len))


def _hazard(it: Member, victims: Sequence[BoundPod]) -> Hazard:
    named = _named(victims, it.scenario)
    at = (*it.workload.pod.path, "priorityClassName")
    if not it.workload.pod.priority_class:
        at = it.workload.replicas_path if it.workload.stays and it.workload.kind != "Pod" else ("metadata", "name")
    return Hazard(
        at=at,
        source=it.workload.source,
        victim=it.workload.ref,
        evidence=witness(
            f"in {len(SEEDS)} of {len(SEEDS)} trials running pods were evicted",
            trace=(
                f"the set is deployed in {it.scenario.premises.apply_order} order, and in {len(SEEDS) - 1} others",
                f"pods of {it.workload} (priority {it.pod.priority or 0}) find no node with room",
                *(f"evicted: {bound.namespace}/{bound.name} from {bound.node}" for bound in victims[:LONGEST_LIST]),
            ),
        ),
        values={
            "object": str(it.workload),
            "priority": it.pod.priority or 0,
            "count": len(victims),
            "victims": named,
        },
    )


def _named(victims: Sequence[BoundPod], scenario: Scenario) -> tuple[str, ...]:
    """``2 of Deployment shop/old``; bare pods by their own names."""
    assert scenario.cluster is not None
    counts: dict[str, int] = {}
    for bound in victims:
        kind, namespace, name = list(scenario.cluster.running.owners_of(bound))[-1]
        counts[f"{kind} {namespace}/{name}"] = counts.get(f"{kind} {namespace}/{name}", 0) + 1
    return tuple(
        f"{owner}, which no controller recreates" if owner.startswith("Pod ") else f"{count} of {owner}"
        for owner, count in counts.items()
    )
