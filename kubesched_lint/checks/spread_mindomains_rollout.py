"""minDomains caps every domain at maxSkew, the old pods fill them, and no old pod may go first."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.nodes.node import domains_in_words
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.rollout import OLD_PODS, fenceposts, selects_every_revision
from kubesched_lint.engine.placing.together.spread import spread_room
from kubesched_lint.engine.scenario.premises.premises import node_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.remedies.rollouts import count_by_revision, roll_without_surge
from kubesched_lint.findings import Hazard, Place, proof


def check(it: Member) -> Iterator[Hazard]:
    if it.workload.strategy.type != "RollingUpdate" or not it.usable:
        return
    replicas = it.replicas
    surge, unavailable = fenceposts(it.workload, replicas)
    if unavailable or not replicas:
        return
    # Default constraints of a scheduler's configuration are not written: they count each revision by itself.
    for written, constraint in zip(it.workload.pod.spread, it.pod.spread, strict=False):
        if not constraint.is_hard or not _counts_old_pods(it.workload, written.selector, written.match_label_keys):
            continue
        room = spread_room(it, constraint)
        if room is None or not room.too_few or room.total < replicas:
            continue  # too few even for the replicas: spread-too-few-domains-min reports it
        supply = constraint.max_skew * len(room.capacity)
        if replicas + 1 <= supply:
            continue
        yield Hazard(
            at=(*constraint.path, "minDomains"),
            evidence=proof(
                f"{replicas} old pods + 1 extra pod > {supply} = maxSkew {constraint.max_skew} in each of "
                f"{domains_in_words(constraint.topology_key, list(room.capacity))}, fewer than minDomains "
                f"{constraint.min_domains}; maxUnavailable is 0",
                demand=replicas + 1,
                supply=supply,
                assumes=(*node_premises(it), OLD_PODS),
                event="rollout",
            ),
            values={
                "minimum": constraint.min_domains,
                "domains": tuple(room.capacity),
                "key": constraint.topology_key,
                "skew": constraint.max_skew,
                "supply": supply,
                "replicas": replicas,
            },
            related=(Place(it.workload.strategy.path, f"maxSurge and maxUnavailable are {surge} and 0"),),
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Count old and new pods separately, or delete an old one first."""
    yield from count_by_revision(it.workload, hazard.at[:-1])
    yield roll_without_surge(it)


def _counts_old_pods(workload: Workload, selector: Selector | None, keys: tuple[str, ...]) -> bool:
    """Whether the old revision's pods count, because no key distinguishes the revisions."""
    pinned = {r.key for r in workload.selector.requirements} if workload.selector else set()
    return set(keys) <= pinned and selects_every_revision(workload, selector)
