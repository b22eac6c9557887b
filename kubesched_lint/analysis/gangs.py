"""Pods that start together or not at all: PodGroups of scheduling.k8s.io and who is in them."""

from __future__ import annotations

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.model.policy import PodGroup
from kubesched_lint.model.workload import Workload


def members(facts: Facts, namespace: str, name: str) -> tuple[Workload, ...]:
    """Workloads of the set whose pods are in a group."""
    return tuple(w for w in facts.manifests.workloads if w.namespace == namespace and w.pod.group == name)


def pod_group(facts: Facts, namespace: str, name: str) -> PodGroup | None:
    """A group of the set, else of the cluster."""
    live = () if facts.cluster is None else facts.cluster.inventory.pod_groups
    groups = (*facts.manifests.pod_groups, *live)
    return next((g for g in groups if (g.namespace, g.name) == (namespace, name)), None)
