"""The workloads that an apply concerns although their own objects stay: an autoscaler or a budget of theirs changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kubesched_lint.commands.plan.changes import ObjectChange
from kubesched_lint.commands.plan.version import Version
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.reading.running_set import running_set


def with_targets(after: Version, cluster: Cluster) -> Version:
    """Return the version with the running workloads that its autoscalers and budgets concern and its files lack."""
    ours = after.manifests.inventory
    written = {workload.ref for workload in ours.workloads}
    more = tuple(w for w in running_set(cluster).inventory.workloads if w.ref not in written and _is_concerned(w, ours))
    if not more:
        return after
    inventory = replace(ours, workloads=(*ours.workloads, *more))
    return replace(after, manifests=replace(after.manifests, inventory=inventory))


def touched(scenario: Scenario, objects: Sequence[ObjectChange]) -> Iterator[ObjectRef]:
    """Yield the workloads of the manifests whose autoscaler or budget is among the changed ``objects``."""
    changed = {change.object for change in objects}
    ours = scenario.manifests
    part = Inventory(
        autoscalers=tuple(autoscaler for autoscaler in ours.autoscalers if autoscaler.ref in changed),
        budgets=tuple(
            budget
            for budget in ours.budgets
            if ObjectRef("PodDisruptionBudget", budget.namespace, budget.name) in changed
        ),
    )
    yield from (workload.ref for workload in ours.workloads if _is_concerned(workload, part))


def _is_concerned(workload: Workload, objects: Inventory) -> bool:
    """Return whether an autoscaler of ``objects`` scales the workload, or a budget selects its pods."""
    key = workload.kind, workload.namespace, workload.name
    if any(
        (autoscaler.target.kind, autoscaler.namespace, autoscaler.target.name) == key
        for autoscaler in objects.autoscalers
    ):
        return True
    labels = workload.pod.labels
    return any(
        budget.namespace == workload.namespace and budget.selector is not None and budget.selector.matches(labels)
        for budget in objects.budgets
    )
