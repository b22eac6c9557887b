"""A PodGroup whose feature gates are off: its pods are scheduled one by one."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.quirks import ONE_GATE_FOR_GANGS, has
from kubesched_lint.engine.model.feature_gates import GANGS, GROUPS, TOPOLOGY
from kubesched_lint.engine.model.policy import KUBERNETES, PodGroup
from kubesched_lint.engine.scenario.gangs import gates_of, gates_premise
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.findings import Hazard, pattern


def check(scenario: Scenario) -> Iterator[Hazard]:
    gates = gates_of(scenario)
    one_gate = has(scenario.premises.kubernetes_version, ONE_GATE_FOR_GANGS)
    for group in scenario.manifests.pod_groups:
        wanted = [gate for gate in _wanted(group) if not (one_gate and gate == GANGS)]
        off = [gate for gate in wanted if not gates.get(gate)]
        if not off:
            continue
        stated = any(gate in gates for gate in off)
        yield Hazard(
            at=group.topology_path if off == [TOPOLOGY] else ("metadata", "name"),
            source=group.source,
            victim=ObjectRef("PodGroup", group.namespace, group.name),
            evidence=pattern(
                "" if stated else "no feature gates are stated, and these are off by default",
                assumes=gates_premise(scenario) if stated else (),
            ),
            values={
                "group": f"{group.namespace}/{group.name}",
                "off": tuple(off),
                "set": ",".join(f"{gate}=true" for gate in wanted),
            },
            variant="topology" if off == [TOPOLOGY] else "default",
        )


def _wanted(group: PodGroup) -> Iterator[str]:
    if group.system != KUBERNETES:
        return
    yield GROUPS
    if group.min_count is not None:
        yield GANGS
    if group.topology_key:
        yield TOPOLOGY
