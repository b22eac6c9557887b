"""The words for a set that does not fit together."""

from __future__ import annotations

from kubesched_lint.engine.placing.together.joint import Impossible
from kubesched_lint.engine.scenario.device_premises import set_premises
from kubesched_lint.engine.scenario.others.returning import returning_beside_set
from kubesched_lint.engine.scenario.others.staying import staying_beside_set
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.findings import Evidence, proof


def proof_of(found: Impossible, scenario: Scenario, *assumes: str) -> Evidence:
    """Return the proof of a contradiction; ``assumes`` are further premises."""
    pods = " + ".join(f"{d.count} of {d.workload.ref.kind} {d.workload.ref.name}" for d in found.demands)
    premises = set_premises([d.workload.pod for d in found.demands], scenario)
    stay = ("the running pods of others stay where they are",) if staying_beside_set(scenario).pods else ()
    if returning_beside_set(scenario):
        stay = ("the running pods of others stay, or run again on another node if they are preempted",)
    return proof(
        f"{found.wanted} pods > {found.placed}, the most by {' and '.join(found.because)}: {pods}",
        demand=found.wanted,
        supply=found.placed,
        assumes=(*premises, *assumes, *stay),
    )


def values_of(found: Impossible) -> dict[str, object]:
    """Return what a message says of a contradiction."""
    return {
        "pending": found.wanted - found.placed,
        "wanted": found.wanted,
        "placed": found.placed,
        "workloads": tuple(str(d.workload) for d in found.demands),
        "because": found.because,
        "requests": "lower the requests, " if found.is_by_requests else "",
    }
