"""All facts that expressions may read, from which docs/facts.md is made and names are checked.

This module adds the facts of budgets, autoscalers, nodes and the cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubesched_lint.engine.controllers.bounds import covers
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.rulebook.cel.facts import WORKLOAD_STRUCTS, bound_text, requirements
from kubesched_lint.rulebook.cel.structs import (
    AMOUNTS,
    BOOL,
    INT,
    LABELS,
    STRING,
    STRINGS,
    CelType,
    Field,
    View,
    by_name,
)


def _covered(budget: Any, view: View) -> Iterable[str]:
    scenario = view.scenario
    return sorted(
        str(w) for w in scenario.manifests.workloads if covers(budget, w.namespace, scenario.member(w).pod.labels)
    )


def _cluster_zones(scenario: Any, view: View) -> Iterable[str]:
    nodes = () if scenario.cluster is None else scenario.cluster.inventory.nodes
    return sorted({node.labels[ZONE] for node in nodes if ZONE in node.labels})


_STRUCTS = (
    *WORKLOAD_STRUCTS,
    CelType(
        "DisruptionBudget",
        "A PodDisruptionBudget.",
        'budget.max_unavailable == "0" || size(budget.workloads) > 1',
        (
            Field("namespace", STRING, "where it lives", lambda b, _: b.namespace),
            Field("name", STRING, "its name", lambda b, _: b.name),
            Field(
                "min_available",
                STRING,
                "as written, `2` or `50%`; empty if not set",
                lambda b, _: bound_text(b.min_available),
            ),
            Field("max_unavailable", STRING, "likewise", lambda b, _: bound_text(b.max_unavailable)),
            Field("selector", "list(Requirement)", "which pods it guards", lambda b, _: requirements(b.selector)),
            Field(
                "workloads",
                STRINGS,
                "the workloads of the set whose pods it selects: `Deployment shop/web`",
                _covered,
                needs="set",
            ),
        ),
    ),
    CelType(
        "Autoscaler",
        "A HorizontalPodAutoscaler, or a ScaledObject of KEDA.",
        "autoscaler.max_replicas > 10 * autoscaler.min_replicas",
        (
            Field("namespace", STRING, "where it lives", lambda a, _: a.namespace),
            Field("name", STRING, "its name", lambda a, _: a.name),
            Field("kind", STRING, "`HorizontalPodAutoscaler` or `ScaledObject`", lambda a, _: a.kind),
            Field("target_kind", STRING, "kind of what it scales", lambda a, _: a.target.kind),
            Field("target_name", STRING, "name of what it scales", lambda a, _: a.target.name),
            Field("min_replicas", INT, "`minReplicas` or `minReplicaCount`; 1 if absent", lambda a, _: a.min_replicas),
            Field("max_replicas", INT, "`maxReplicas` or `maxReplicaCount`", lambda a, _: a.max_replicas),
        ),
    ),
    CelType(
        "Node",
        "A node of the snapshot or the sketch.",
        '"nvidia.com/gpu" in node.allocatable && !node.unschedulable',
        (
            Field("name", STRING, "its name", lambda n, _: n.name),
            Field("labels", LABELS, "its labels", lambda n, _: n.labels),
            Field("taints", "list(Taint)", "its taints", lambda n, _: n.taints),
            Field("unschedulable", BOOL, "whether it is cordoned", lambda n, _: n.unschedulable),
            Field("ready", BOOL, "whether it is ready", lambda n, _: n.ready),
            Field("elastic", BOOL, "whether an autoscaler makes and removes it", lambda n, _: n.elastic),
            Field(
                "allocatable",
                AMOUNTS,
                "what pods may request; empty if a sketch lists none",
                lambda n, _: n.allocatable or {},
            ),
        ),
    ),
    CelType(
        "Taint",
        "A taint of a node.",
        'node.taints.exists(t, t.effect == "NoExecute" && t.key.startsWith("example.com/"))',
        (
            Field("key", STRING, "its key", lambda t, _: t.key),
            Field("value", STRING, "empty if not set", lambda t, _: t.value),
            Field("effect", STRING, "`NoSchedule`, `PreferNoSchedule` or `NoExecute`", lambda t, _: t.effect),
        ),
    ),
    CelType(
        "Cluster",
        "The snapshot or sketch as a whole.",
        "cluster.nodes >= 3 && size(cluster.zones) == 3",
        (
            Field(
                "nodes",
                INT,
                "how many nodes it has",
                lambda f, _: 0 if f.cluster is None else len(f.cluster.inventory.nodes),
                needs="nodes",
            ),
            Field("zones", STRINGS, "the zones of its nodes", _cluster_zones, needs="nodes"),
        ),
    ),
)
STRUCTS = by_name(_STRUCTS)
