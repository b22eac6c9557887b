"""The budget allows one eviction, and the replacement pod has no domain: the next drain waits forever."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.controllers.bounds import allowed_disruptions
from kubesched_lint.engine.model.nodes.node import domain_word
from kubesched_lint.engine.scenario.others.room import domain_room
from kubesched_lint.engine.scenario.premises.premises import running_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.disruption import budgets_of_no_other, is_linted
from kubesched_lint.findings import Hazard, Place, proof


def check(it: Member) -> Iterator[Hazard]:
    replicas = it.replicas
    if not it.workload.stays or replicas < 2:
        return
    for term in it.kept_apart:
        room = domain_room(it, term.topology_key, term)
        if not room.is_bounded or len(room.domains) != replicas or not _goes_with_a_node(it, term.topology_key):
            continue
        for budget in budgets_of_no_other(it):
            let_go = allowed_disruptions(budget, replicas, replicas)
            if not let_go or let_go >= replicas:
                continue
            yield Hazard(
                at=term.path,
                evidence=proof(
                    f"{replicas} replicas fill {len(room.domains)} "
                    f"{domain_word(term.topology_key, len(room.domains))}; {let_go} may go",
                    demand=replicas,
                    supply=len(room.domains) - let_go,
                    assumes=running_premises(it),
                    event="drain",
                ),
                values={
                    "budget": budget.name,
                    "allowed": let_go,
                    "domains": room.domains,
                    "key": term.topology_key,
                    "replicas": replicas,
                },
                related=(Place(budget.path, "the budget", budget.source),) if is_linted(budget, it.scenario) else (),
            )


def _goes_with_a_node(it: Member, key: str) -> bool:
    """Whether draining one node removes a whole domain, so that the evicted pod has no place."""
    usable = it.usable
    return all((nodes & usable).bit_count() <= 1 for nodes in it.scenario.index.domains(key).values())
