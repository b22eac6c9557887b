"""A node chosen by its label, so that the scheduler is asked."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.manifests.changes import Put, Remove
from kubesched_lint.model.node import HOSTNAME
from kubesched_lint.model.workload import Workload


def by_label(workload: Workload, facts: Facts, *, never_runs: bool) -> Iterator[Remedy]:
    """nodeSelector for nodeName. Safe where no pod runs as it is, and the node is known to carry the label."""
    pod = workload.pod
    node = facts.index.positions.get(pod.node_name) if facts.cluster is not None else None
    label = None if node is None else facts.index.nodes[node].labels.get(HOSTNAME)
    if facts.cluster is not None and label is None:
        return
    yield Remedy(
        f"select the node by its label {HOSTNAME}",
        safe=never_runs and label is not None,
        changes=(
            Put((*pod.path, "nodeSelector", HOSTNAME), label or pod.node_name, after=("nodeName",)),
            Remove((*pod.path, "nodeName")),
        ),
    )
