"""What runs in the cluster, as one side of a plan."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kubesched_lint.commands.plan.changes import unseen_templates
from kubesched_lint.commands.plan.version import Version
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.revisions import live_replicas
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.reading.running_set import running_set

RUNNING = "what runs in the cluster"


def as_it_runs(after: Version, cluster: Cluster) -> Version:
    """Return the workloads of ``after`` as they run in the cluster; its other workloads stay where they are."""
    running = running_set(cluster)
    live = {workload.ref: workload for workload in running.inventory.workloads}
    written = after.manifests.inventory.workloads
    seen = (live.get(workload.ref) or _by_its_pods(workload, cluster) for workload in written)
    workloads = tuple({workload.ref: workload for workload in seen if workload is not None}.values())
    options = replace(after.options, partial=True)
    return Version(RUNNING, replace(running, inventory=Inventory(workloads=workloads)), options)


def _by_its_pods(workload: Workload, cluster: Cluster) -> Workload | None:
    """Return a workload whose pods run although the cluster file lists no such object; None if none runs."""
    if not cluster.running.pods_of(workload):
        return None
    replicas = live_replicas(workload, cluster) or workload.replicas
    return replace(workload, replicas=replicas, replicas_written=True, source=None)  # what runs was accepted


def about_running(before: Scenario, after: Scenario) -> Iterator[str]:
    unseen = unseen_templates(before, after)
    if unseen:
        whose = many(unseen, "running workload")
        yield f"the snapshot does not show whether the templates of {whose} change in what scheduling does not read"
    yield "rules about the text of manifests do not judge running workloads: their findings count as new"
