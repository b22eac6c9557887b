"""The workloads whose cells a change may touch; the others are not simulated.

Two scenarios on the same nodes give a workload the same outcomes if it is in the same group of workloads that can
change where each other's pods fit (``engine.events.start.groups``), and neither these nor the policies about them have
changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.events.start.groups import guarded_groups
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.inventory import identity
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.placing.scenarios import grown_scenario
from kubesched_lint.engine.scenario.former import template_differs
from kubesched_lint.engine.scenario.scenario import Scenario

_OF_NAMESPACE = frozenset({"budgets", "autoscalers", "vertical_autoscalers", "quotas", "limit_ranges", "services"})
"""Fields of an inventory whose objects concern only workloads of their namespace."""

_NO_POLICIES = frozenset({"workloads", "replica_sets", "nodes", "pods", "allocator"})


def affected(before: Scenario, after: Scenario) -> frozenset[ObjectRef]:
    """Return the workloads of both scenarios whose cells may differ; empty if the scenarios are equal."""
    everybody = frozenset(w.ref for scenario in (before, after) for w in scenario.manifests.workloads)
    policies = list(_changed_policies(before, after))
    changed = frozenset(_changed_workloads(before, after))
    if None in policies:
        return everybody
    if not changed and not policies:
        return frozenset()
    limited = {quota.namespace for scenario in (before, after) for quota in scenario.objects.quotas}
    spaces = {*policies, *limited.intersection(ref.namespace for ref in changed)}
    old, new = simulated_set_of(grown_scenario(before)), simulated_set_of(grown_scenario(after))
    if old.nodes != new.nodes:
        return everybody
    ours, theirs = _groups(old), _groups(new)
    return frozenset(
        ref
        for ref in everybody
        if ref in changed
        or ref.namespace in spaces
        or ours.get(ref) != theirs.get(ref)
        or not changed.isdisjoint(ours.get(ref, ()))
        or any(member.namespace in spaces for member in ours.get(ref, ()))
    )


def _changed_policies(before: Scenario, after: Scenario) -> Iterator[str | None]:
    """Yield the namespace of each changed object that is no workload; None if it concerns all namespaces."""
    theirs = dict(after.objects.lists())
    for name, ours in before.objects.lists():
        if name not in _NO_POLICIES and not same_values(ours, theirs[name]):
            old, new = ({identity(policy): policy for policy in items} for items in (ours, theirs[name]))
            both = {**old, **new}
            changed = (both[key] for key in both if not same_values(old.get(key), new.get(key)))
            yield from (policy.namespace if name in _OF_NAMESPACE else None for policy in changed)


def _changed_workloads(before: Scenario, after: Scenario) -> Iterator[ObjectRef]:
    """Yield the workloads that are in one scenario only, or that scheduling or a rollout may see as different."""
    ours, theirs = _by_ref(before.manifests.workloads), _by_ref(after.manifests.workloads)
    yield from ours.keys() ^ theirs.keys()
    reads_images = any(node.images for node in after.nodes)
    for ref, workload in ours.items():
        other = theirs.get(ref)
        if other is not None and (_differs(workload, other, reads_images) or _may_roll_out(workload, other, after)):
            yield ref


def _differs(workload: Workload, other: Workload, reads_images: bool) -> bool:
    """Whether scheduling sees two workloads; it reads images only to prefer nodes that have them."""
    workload, other = replace(workload, uid=""), replace(other, uid="")
    if not same_values(workload, other) and not reads_images:
        workload, other = _without_images(workload), _without_images(other)
    return not same_values(workload, other)


def _without_images(workload: Workload) -> Workload:
    pod = workload.pod
    own, init = (tuple(replace(c, image="") for c in each) for each in (pod.containers, pod.init_containers))
    return replace(workload, pod=replace(pod, containers=own, init_containers=init))


def _may_roll_out(workload: Workload, other: Workload, scenario: Scenario) -> bool:
    """Whether the templates differ in anything, where pods run that a rollout would replace."""
    if not scenario.member(other).running_pods:
        return False
    return template_differs(workload, other)


def _by_ref(workloads: Sequence[Workload]) -> Mapping[ObjectRef, Workload]:
    return {workload.ref: workload for workload in workloads}


def _groups(simulated: SimulatedSet) -> Mapping[ObjectRef, frozenset[ObjectRef]]:
    """Return each workload's group; none for CronJobs."""
    refs = [workload.ref for workload in simulated.workloads]
    groups = (frozenset(refs[number] for number in members) for members in guarded_groups(simulated))
    return {ref: group for group in groups for ref in group}
