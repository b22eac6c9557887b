"""The entry of a ResourceQuota that pods exceed: those of one workload, or those of several together."""

from __future__ import annotations

from msgspec import Struct

from kubesched_lint.engine.model.policy import ResourceQuota
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.rollout import rollout_condition
from kubesched_lint.engine.placing.wanted import pods_wanted
from kubesched_lint.engine.scenario.others.staying import staying_beside_set
from kubesched_lint.engine.scenario.quotas import asked_of, drawing, shown_as, used
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.explaining.sizes.quota_raise import raise_for
from kubesched_lint.explaining.sizes.replicas import run_fewer
from kubesched_lint.findings import Place


class Excess(Struct, frozen=True):
    """An entry of a quota that the pods of some workloads exceed: amounts in the unit of its resource."""

    entry: str
    hard: int
    taken: int
    """Used by other pods: those that the set may preempt free their part of the quota."""
    each: int
    """What a pod uses; of several workloads, the largest."""
    total: int
    """What is used in the end."""
    members: tuple[Workload, ...]

    @property
    def allowed(self) -> int:
        """How many such pods the quota allows beside the others."""
        return max(0, (self.hard - self.taken) // self.each)

    @property
    def in_words(self) -> str:
        """As the message of the rule says it: ``allows 600m of requests.cpu, and each takes 200m``."""
        hard, each = (show(shown_as(self.entry), amount) for amount in (self.hard, self.each))
        return f"allows {hard} {'pods' if self.entry == 'pods' else f'of {self.entry}, and each takes {each}'}"


def exceeded_alone(it: Member, quota: ResourceQuota) -> Excess | None:
    """Return the first entry that the pods of one workload exceed."""
    for entry, hard in quota.hard.items():
        each, taken = asked_of(it, entry), used(it, quota, entry, staying_beside_set(it.scenario).charged).least
        total = taken + each * pods_wanted(it)
        if each and total > hard:
            return Excess(entry, hard, taken, each, total, (it.workload,))
    return None


def exceeded_together(quota: ResourceQuota, scenario: Scenario) -> Excess | None:
    """Return the first entry that all workloads exceed of which none does alone."""
    for entry, hard in quota.hard.items():
        taken = staying_beside_set(scenario).charged.use(quota, entry).least
        members = [
            member
            for member in map(scenario.member, drawing(quota, scenario))
            if asked_of(member, entry) and pods_wanted(member)
        ]
        demands = [asked_of(member, entry) * pods_wanted(member) for member in members]
        if len(members) > 1 and taken + max(demands) <= hard < taken + sum(demands):
            largest = max(asked_of(member, entry) for member in members)
            return Excess(
                entry, hard, taken, largest, taken + sum(demands), tuple(member.workload for member in members)
            )
    return None


def is_live(quota: ResourceQuota, scenario: Scenario) -> bool:
    """Return whether the cluster has the quota already, and it refuses pods there."""
    return quota.in_force and quota in _live(scenario)


def lines_of(quota: ResourceQuota, scenario: Scenario) -> tuple[Place, ...]:
    """Return the place of the quota in the manifests; none if the cluster has it already."""
    if quota.source is None or is_live(quota, scenario):
        return ()
    return (Place(("spec", "hard"), "the quota", quota.source),)


def premise(quota: ResourceQuota, scenario: Scenario) -> str:
    """Return what a proof about the quota assumes of it."""
    if is_live(quota, scenario):
        return f"quota {quota.name} stays as it is"
    return f"quota {quota.name} exists before the pods, as it does whenever they are created again"


@once_per_scenario
def _live(scenario: Scenario) -> frozenset[ResourceQuota]:
    return frozenset() if scenario.cluster is None else frozenset(scenario.cluster.inventory.quotas)


def advice(it: Member, excess: Excess, quota: ResourceQuota) -> dict[str, str]:
    """Return for a help how many replicas the quota allows beside all others, and what to raise for all wanted ones.

    ``fewer`` and ``either``, which ends with "or", are empty if the quota allows none.
    """
    others = (it.scenario.member(w) for w in drawing(quota, it.scenario) if w is not it.workload)
    taken = excess.taken + sum(asked_of(other, excess.entry) * pods_wanted(other) for other in others)
    most = max(0, (excess.hard - taken) // excess.each)
    fewer = run_fewer(it.workload, most, rollout_condition(it.workload, most))
    return {"fewer": fewer, "either": f"{fewer}or " if fewer else "", "raise": raise_for(it, pods_wanted(it))}
