"""A PodGroup asks for one value of a label that no node has."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.model.feature_gates import TOPOLOGY
from kubesched_lint.engine.model.policy import KUBERNETES
from kubesched_lint.engine.scenario.gangs import enabled_gates, gates_premise
from kubesched_lint.engine.scenario.premises.premises import node_premise
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.findings import Hazard, proof


def check(scenario: Scenario) -> Iterator[Hazard]:
    assert scenario.cluster is not None, "a rule that reads nodes runs only with a cluster"
    if TOPOLOGY not in enabled_gates(scenario):
        return  # podgroup-ignored reports it
    for group in scenario.manifests.pod_groups:
        key = group.topology_key
        if group.system != KUBERNETES or not key or scenario.index.with_key(key) or scenario.cluster.leaves_out(key):
            continue
        yield Hazard(
            at=group.topology_path,
            source=group.source,
            victim=ObjectRef("PodGroup", group.namespace, group.name),
            evidence=proof(
                f"0 of {len(scenario.nodes)} nodes have the label {key}",
                assumes=(node_premise(scenario), *gates_premise(scenario)),
            ),
            values={"group": f"{group.namespace}/{group.name}", "key": key},
        )
