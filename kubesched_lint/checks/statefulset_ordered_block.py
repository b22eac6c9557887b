"""OrderedReady makes pod k+1 only when pod k is ready: one volume in the wrong place stops all that follow."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.claims import bound_volume, nodes_of_volume, told_ordinals
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, proof
from kubesched_lint.model.pod import Volume
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    """Replicas differ only in the claims that carry their ordinal; these may be bound where the pod cannot run."""
    if workload.pod_management != "OrderedReady" or not facts.usable(workload):
        return
    replicas = facts.replicas(workload)
    for ordinal in told_ordinals(facts, workload):
        for template in workload.claim_templates:
            name = f"{template.name}-{workload.name}-{ordinal}"
            volume = bound_volume(facts, workload.namespace, name)
            if volume is None:
                continue
            claim = Volume(template.name, "persistentVolumeClaim", name)
            if nodes_of_volume(facts, workload, claim):
                continue
            yield Hazard(
                at=(*template.path, "metadata", "name"),
                evidence=proof(
                    f"volume {volume.name} of {name} is reachable from 0 of "
                    f"{facts.usable(workload).bit_count()} usable nodes",
                    demand=1,
                    supply=0,
                    assumes=facts.node_premises(workload),
                ),
                values={
                    "claim": name,
                    "volume": volume.name,
                    "pod": f"{workload.name}-{ordinal}",
                    "blocked": replicas - ordinal - 1,
                    "replicas": replicas,
                },
                variant="last" if ordinal == replicas - 1 else "default",
            )
            return
