"""A node gives a host port once, so each replica needs its own node."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.placing.rollout import rollout_condition
from kubesched_lint.engine.scenario.premises.premises import node_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.crowding.ports import taken_by_running
from kubesched_lint.explaining.near_misses.selected import that_match
from kubesched_lint.explaining.sizes.replicas import replicas_wanted_here, run_fewer
from kubesched_lint.findings import Hazard, proof


def check(it: Member) -> Iterator[Hazard]:
    if not it.workload.stays:
        return
    usable = it.usable.bit_count()
    replicas = it.replicas
    if not usable or replicas <= usable:
        return
    port = it.pod.host_ports[0]
    yield Hazard(
        at=port.path,
        evidence=proof(
            f"{many(replicas, 'pod')} > {many(usable, 'node')} with one host port {port.protocol} {port.port} each",
            demand=replicas,
            supply=usable,
            assumes=node_premises(it),
        ),
        values={
            "pending": replicas - usable,
            "replicas": replicas,
            "usable": usable,
            "fewer": _fewer(it),
            "matching": _selected(it),
            "port": port.port,
        },
        variant="host_network" if port.path[-1] == "containerPort" else "default",
        related=(replicas_wanted_here(it),),
    )


def _fewer(it: Member) -> str:
    """Return how many replicas to run: as many as nodes whose port no running pod of others keeps."""
    held = (it.usable & taken_by_running(it)[0]).bit_count()
    most = it.usable.bit_count() - held
    beside = f" (running pods hold the port on {many(held, 'node')})" if held else ""
    return run_fewer(it.workload, most, beside + rollout_condition(it.workload, most))


def _selected(it: Member) -> str:
    """Return the one label by which it selects just the nodes that can run it; empty if more than that decides."""
    words = that_match(it.pod)
    return words if words.startswith(" with") and it.reach.matching == it.usable else ""
