"""What ResourceQuotas grant: what pods and claims that exist use of them, and how many new pods the rest allows.

A quota counts every pod of its namespace that matches its scopes and has not ended, waiting ones included.
``Admission.quotas_of`` says which quotas count a workload, ``engine.admission.quotas`` what a pod uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from kubesched_lint.engine.admission.quotas import (
    PODS,
    Charged,
    Use,
    asked_with_claims,
    is_of_claims,
    required_by,
    unset,
)
from kubesched_lint.engine.controllers.statefulset import makes_claim
from kubesched_lint.engine.model.policy import ResourceQuota
from kubesched_lint.engine.model.storage import Claim
from kubesched_lint.engine.model.workloads.workload import SCALED, Workload
from kubesched_lint.engine.scenario.others.running import pods_of_others
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario

K = TypeVar("K", bound=Hashable)
S = TypeVar("S", bound=Hashable)

STANDING = (*SCALED, "DaemonSet")
"""Kinds whose pods all exist at the same time (those of a Job run in turn)."""


def claimed(workload: Workload, templates: Sequence[Claim], claims: Iterable[Claim], entry: str) -> Use:
    """Return the use by existing claims, without the StatefulSet's own claims, which are not created again."""
    near = (claim for claim in claims if claim.namespace == workload.namespace)
    there = [claim for claim in near if not any(makes_claim(workload, template, claim.name) for template in templates)]
    amount = asked_with_claims(workload.pod, tuple(there), entry)
    return Use(amount, amount)


def in_turn(
    wanted: Iterable[tuple[K, int]], bounds: Mapping[K, Mapping[S, tuple[int, int]]]
) -> tuple[dict[K, int], dict[S, int]]:
    """Return how many of the wanted pods each gets if all are created one after the other, and what is used then.

    ``bounds``: who wants pods → what they share with others → (the use by one pod, what is left for all).
    """
    pods: dict[K, int] = {}
    taken: dict[S, int] = {}
    for claimant, most in wanted:
        for shared, (each, left) in bounds[claimant].items():
            most = min(most, (left - taken.get(shared, 0)) // each)
        pods[claimant] = max(most, 0)
        for shared, (each, _) in bounds[claimant].items():
            taken[shared] = taken.get(shared, 0) + each * pods[claimant]
    return pods, taken


# --- the workloads of a scenario --------------------------------------------------------------------------------------


def granted(wanted: Sequence[tuple[Workload, int]], scenario: Scenario) -> list[int]:
    """Return, for each workload, how many wanted pods the API server creates if they are requested in this order."""
    asking = [(w, count if scenario.member(w).is_created else 0) for w, count in wanted]
    if not scenario.objects.quotas:
        return [count for _, count in asking]
    pods, _ = in_turn(asking, _bounds_for(asking, scenario))
    return [pods[workload] for workload, _ in asking]


def surely_granted(wanted: Sequence[tuple[Workload, int]], scenario: Scenario) -> dict[Workload, int]:
    """Return workload → how many of its wanted pods are created in any order: no others take more."""
    if not scenario.objects.quotas:
        return dict(wanted)
    bounds, asked = _bounds_for(wanted, scenario), Counter[tuple[ResourceQuota, str]]()
    for workload, count in wanted:
        for entry, (each, _) in bounds[workload].items():
            asked[entry] += each * count
    granted_pods = {}
    for workload, count in wanted:
        last = (count + (left - asked[entry]) // each for entry, (each, left) in bounds[workload].items())
        granted_pods[workload] = max(min((count, *last)), 0)
    return granted_pods


def _bounds_for(
    wanted: Iterable[tuple[Workload, int]], scenario: Scenario
) -> Mapping[Workload, Mapping[tuple[ResourceQuota, str], tuple[int, int]]]:
    known = _bounds(scenario)
    for workload, _ in wanted:
        if workload not in known:
            known[workload] = _bounds_of(scenario.member(workload))
    return known


@once_per_scenario
def _bounds(scenario: Scenario) -> dict[Workload, Mapping[tuple[ResourceQuota, str], tuple[int, int]]]:
    return {}


def _bounds_of(it: Member) -> Mapping[tuple[ResourceQuota, str], tuple[int, int]]:
    limits: dict[tuple[ResourceQuota, str], tuple[int, int]] = {}
    quotas, charged = it.scenario.admission.quotas_of(it.workload, it.pod), pods_of_others(it.scenario).charged
    left_out = unset(it.pod)
    each = {entry: asked_of(it, entry) for entry in {entry for quota in quotas for entry in quota.hard}}
    for quota in quotas:
        if required_by(quota, left_out):
            return {(quota, ""): (1, 0)}
        for entry, hard in quota.hard.items():
            if each[entry]:
                limits[quota, entry] = each[entry], hard - used(it, quota, entry, charged).most
    return limits


def used(it: Member, quota: ResourceQuota, entry: str, charged: Charged) -> Use:
    """Return how much of an entry is used by ``charged`` pods of others, or by claims that exist."""
    if not is_of_claims(entry):
        return charged.use(quota, entry)
    return claimed(it.workload, it.workload.claim_templates, it.scenario.objects.claims, entry)


def asked_of(it: Member, entry: str) -> int:
    """Return how much of an entry one pod of the workload uses."""
    return asked_with_claims(it.pod, it.workload.claim_templates, entry)


def drawing(quota: ResourceQuota, scenario: Scenario) -> tuple[Workload, ...]:
    """The created workloads whose pods the quota counts, in creation order; Jobs do not count."""
    return drawers(scenario).get(quota, ())


@once_per_scenario
def drawers(scenario: Scenario) -> dict[ResourceQuota, tuple[Workload, ...]]:
    """``drawing`` of every quota."""
    drawers_of: dict[ResourceQuota, list[Workload]] = {}
    for workload in scenario.as_created:
        if workload.kind in STANDING:
            for quota in scenario.admission.quotas_of(workload, scenario.member(workload).pod):
                drawers_of.setdefault(quota, []).append(workload)
    return {quota: tuple(workloads) for quota, workloads in drawers_of.items()}


def shown_as(entry: str) -> str:
    """The resource whose unit the amounts of an entry use."""
    name = "pods" if entry in PODS else entry.removeprefix("requests.").removeprefix("limits.")
    return "memory" if name == "storage" else name
