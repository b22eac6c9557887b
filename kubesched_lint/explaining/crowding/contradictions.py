"""The words for a set that does not fit together."""

from __future__ import annotations

from kubesched_lint.engine.base.text import joined, many, plural
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.placing.together.joint import GROUPS, POD_LIMIT, PORT, Impossible
from kubesched_lint.engine.scenario.others.returning import returning_beside_set
from kubesched_lint.engine.scenario.others.staying import staying_beside_set
from kubesched_lint.engine.scenario.premises.device_premises import set_premises
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.findings import Evidence, proof


def proof_of(impossible: Impossible, scenario: Scenario, *assumes: str) -> Evidence:
    """Return the proof of a contradiction; ``assumes`` are further premises."""
    pods = " + ".join(f"{d.count} of {d.workload.ref.kind} {d.workload.ref.name}" for d in impossible.demands)
    premises = set_premises([d.workload.pod for d in impossible.demands], scenario)
    stay = ("the running pods of others stay where they are",) if staying_beside_set(scenario).pods else ()
    if returning_beside_set(scenario):
        stay = ("the running pods of others stay, or run again on another node if they are preempted",)
    return proof(
        f"{impossible.wanted} pods > {impossible.placed}, the most by {' and '.join(impossible.because)}: {pods}",
        demand=impossible.wanted,
        supply=impossible.placed,
        assumes=(*premises, *assumes, *stay),
    )


def values_of(impossible: Impossible) -> dict[str, object]:
    """Return what a message says of a contradiction."""
    return {
        "pending": impossible.wanted - impossible.placed,
        "wanted": impossible.wanted,
        "placed": impossible.placed,
        "workloads": tuple(str(d.workload) for d in impossible.demands),
        "fate": _fate(impossible),
        "lack": _lack(impossible),
        "requests": "lower the requests, " if impossible.is_by_requests else "",
    }


def _fate(impossible: Impossible) -> str:
    """Return what becomes of the pods left: one that names its node never waits, as the kubelet refuses it."""
    is_single = impossible.wanted - impossible.placed == 1
    if any(demand.pod.node_name for demand in impossible.demands):
        return plural(int(is_single), "never runs", "never run")
    return plural(int(is_single), "stays Pending", "stay Pending")


def _lack(impossible: Impossible) -> str:
    """Return what is short: ``they request 10 cpu, and their 2 nodes have 8``."""
    short = impossible.short
    if short is None:
        fitting = f"{impossible.placed} of {impossible.wanted}"
        if impossible.because == GROUPS[:1]:
            return f"node by node, their requests leave room for {fitting}"
        return f"because of {joined(impossible.because)}, only {fitting} run"
    nodes = many(short.nodes, "node")
    if short.name == POD_LIMIT:
        return f"their {nodes} {plural(short.nodes, 'takes', 'take')} {short.room} more of {impossible.wanted} pods"
    if short.name.startswith(PORT):
        return f"each takes {short.name}, and they have {nodes}"
    asked, room = show(short.name, short.asked), show(short.name, short.room)
    if asked == room:  # both are rounded
        asked, room = str(short.asked), str(short.room)
    has = plural(short.nodes, "has", "have")
    return f"they request {asked} {short.name}, and their {nodes} {has} {room}"
