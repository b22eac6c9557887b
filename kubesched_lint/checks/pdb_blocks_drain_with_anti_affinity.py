"""The budget lets one pod go, and the pod that replaces it has no domain: the next drain waits for ever."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.disruption import budgets_of, guards_others, is_linted
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.controllers.pdb import allowed_disruptions
from kubesched_lint.findings import Hazard, Place, proof
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    replicas = facts.replicas(workload)
    if not workload.stays or replicas < 2:
        return
    for term in facts.pod(workload).required_anti_affinity:
        if not facts.repels_itself(workload, term):
            continue
        room = facts.room(workload, term.topology_key, term)
        if (
            not room.is_bounded
            or len(room.domains) != replicas
            or not _goes_with_a_node(workload, facts, term.topology_key)
        ):
            continue
        for budget in budgets_of(workload, facts):
            let_go = allowed_disruptions(budget, replicas, replicas)
            if not let_go or let_go >= replicas or guards_others(budget, workload, facts):
                continue
            yield Hazard(
                at=term.path,
                evidence=proof(
                    f"{replicas} replicas fill {len(room.domains)} {term.topology_key} domains; {let_go} may go",
                    demand=replicas,
                    supply=len(room.domains) - let_go,
                    assumes=facts.running_premises(workload),
                ),
                values={
                    "budget": budget.name,
                    "allowed": let_go,
                    "domains": room.domains,
                    "key": term.topology_key,
                    "replicas": replicas,
                },
                related=(Place(budget.path, "the budget", budget.source),) if is_linted(budget, facts) else (),
            )


def _goes_with_a_node(workload: Workload, facts: Facts, key: str) -> bool:
    """Whether draining one node takes a whole domain away, so that the evicted pod has nowhere to go."""
    usable = facts.usable(workload)
    return all((nodes & usable).bit_count() <= 1 for nodes in facts.index.domains(key).values())
