"""Pods are pinned by name to nodes that are gone or cordoned."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.nodes.unknown_nodes import nearest_node
from kubesched_lint.engine.scenario.premises.premises import node_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.near_misses.nearest import correction, hint
from kubesched_lint.findings import Hazard, proof


def check(it: Member) -> Iterator[Hazard]:
    pins = list(_pins(it.workload))
    if it.workload.kind == "DaemonSet" or not pins or len(pins) != len(it.workload.pod.required_node_terms or ()):
        return
    names = tuple(dict.fromkeys(pin.values[0] for pin in pins))
    there = [name for name in names if name in it.scenario.index.positions]
    if not there:
        near = nearest_node(it.scenario, names[0])
        yield _hazard(it, pins[0], names, f"0 of {len(names)} named nodes exist", "absent", near)
        return
    pinned = it.scenario.index.named(there)
    if pinned & ~it.scenario.index.cordoned == 0 and not it.usable:
        text = f"{len(there)} of {len(there)} named nodes: node(s) were unschedulable"
        yield _hazard(it, pins[0], tuple(there), text, "cordoned", "")


def _hazard(it: Member, pin: Requirement, names: tuple[str, ...], text: str, variant: str, near: str) -> Hazard:
    return Hazard(
        at=pin.path,
        evidence=proof(text, demand=1, supply=0, assumes=node_premises(it)),
        values={
            "names": names,
            "replicas": it.replicas,
            "nearest": hint(near, "there is "),
            "correction": correction(near),
        },
        variant=variant,
    )


def _pins(workload: Workload) -> Iterator[Requirement]:
    """Yield the condition on the node name of each term that has one."""
    for term in workload.pod.required_node_terms or ():
        pin = next((f for f in term.fields if f.operator == "In" and len(f.values) == 1), None)
        if pin is not None:
            yield pin
