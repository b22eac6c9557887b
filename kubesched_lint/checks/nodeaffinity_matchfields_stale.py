"""Pinned by name to nodes that are gone, or cordoned."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.nearest import hint
from kubesched_lint.findings import Hazard, proof
from kubesched_lint.model.labels import Requirement
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    pins = list(_pins(workload))
    if workload.kind == "DaemonSet" or not pins or len(pins) != len(workload.pod.required_node_terms or ()):
        return
    names = tuple(dict.fromkeys(pin.values[0] for pin in pins))
    there = [name for name in names if name in facts.index.positions]
    if not there:
        near = facts.nearest_node(names[0])
        yield _hazard(workload, facts, pins[0], names, f"0 of {len(names)} named nodes exist", "absent", near)
        return
    pinned = facts.index.named(there)
    if pinned & ~facts.index.cordoned == 0 and not facts.usable(workload):
        text = f"{len(there)} of {len(there)} named nodes: node(s) were unschedulable"
        yield _hazard(workload, facts, pins[0], tuple(there), text, "cordoned", "")


def _hazard(
    workload: Workload, facts: Facts, pin: Requirement, names: tuple[str, ...], text: str, variant: str, near: str
) -> Hazard:
    return Hazard(
        at=pin.path,
        evidence=proof(text, demand=1, supply=0, assumes=facts.node_premises(workload)),
        values={"names": names, "replicas": facts.replicas(workload), "nearest": hint(near, "there is ")},
        variant=variant,
    )


def _pins(workload: Workload) -> Iterator[Requirement]:
    """The name that each term asks for; a term that asks for none is not among them."""
    for term in workload.pod.required_node_terms or ():
        pin = next((f for f in term.fields if f.operator == "In" and len(f.values) == 1), None)
        if pin is not None:
            yield pin
