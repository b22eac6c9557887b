"""OrderedReady makes pod k+1 only when pod k is ready: one volume in the wrong place stops all later pods."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.premises.premises import node_premises, none_of_nodes
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scenario.storage.claims import out_of_reach
from kubesched_lint.explaining.volumes.volume_conflicts import excluding_line, where_it_is, why_not_there
from kubesched_lint.findings import Hazard, Place, proof


def check(it: Member) -> Iterator[Hazard]:
    """Replicas differ only in the claims of their ordinal, which may be bound where the pod cannot run."""
    if it.workload.pod_management != "OrderedReady":
        return
    replicas = it.replicas
    for ordinal, template, claim, volume in out_of_reach(it):
        name, number = claim.claim, ordinal - it.workload.first_ordinal
        template_path, line = (*template.path, "metadata", "name"), excluding_line(it, claim)
        yield Hazard(
            at=line or template_path,
            related=() if line is None else (Place(template_path, f"the template of {name}"),),
            evidence=proof(
                f"{none_of_nodes(it.scenario, it.usable)} that it may use reaches volume {volume.name} of {name}",
                demand=1,
                supply=0,
                assumes=node_premises(it),
            ),
            values={
                "claim": name,
                "volume": volume.name,
                "barred": why_not_there(it, claim),
                "where": where_it_is(it, volume),
                "parallel": ", or use podManagementPolicy: Parallel so that the others come up"
                if number < replicas - 1
                else "",
                "pod": _pod_of(name, template.name, f"{it.workload.name}-{ordinal}"),
                "blocked": replicas - number - 1,
                "pending": replicas - number,
                "replicas": replicas,
            },
            variant="last" if number == replicas - 1 else "default",
        )
        return


def _pod_of(claim: str, template: str, usual: str) -> str:
    """Return the pod that a claim is named after; ``usual`` for operators that name claims otherwise."""
    return claim.removeprefix(f"{template}-") if claim.startswith(f"{template}-") else usual
