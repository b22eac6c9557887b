"""Why a bound volume is where a pod may not run: its place, the label that says so, the line that excludes it."""

from __future__ import annotations

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import first_few
from kubesched_lint.engine.cluster.nodeset import lowest
from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.nodes.node import CSI_ZONES, ZONE
from kubesched_lint.engine.model.pod import Volume
from kubesched_lint.engine.model.storage import PersistentVolume
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scenario.storage.claims import nodes_of_volume, storage_state
from kubesched_lint.engine.scheduler.plugins import volume_zone
from kubesched_lint.engine.scheduler.plugins.volume_reach import place_of, reachable


def excluding_label(it: Member, volume: PersistentVolume) -> str:
    """Return the volume's own zone label that excludes a node which its node affinity allows; empty without one."""
    left = reachable(volume, it.scenario.index) & it.usable
    return next(volume_zone.excluding_labels(volume.name, lowest(left), storage_state(it.scenario)), "") if left else ""


def where_it_is(it: Member, volume: PersistentVolume) -> str:
    """Return the place of a volume in words: by its label, if only that excludes nodes, else by its node affinity."""
    place = excluding_label(it, volume) or place_of(volume) or "another place"
    for key in (ZONE, *CSI_ZONES):
        place = place.replace(f"{key}=", "zone ")
    return place


def why_not_there(it: Member, volume: Volume) -> str:
    """Return which condition of the pod keeps it from its volume, as a clause with ``but`` or ``where``."""
    excluding = excluding_condition(it, volume)
    if excluding is None or excluding.operator != "In":
        return "where it may not run"
    by = "nodeSelector" if "nodeSelector" in excluding.path else "node affinity"
    return f"but its {by} allows only {first_few(list(excluding.values))}"


def excluding_line(it: Member, volume: Volume) -> Path | None:
    """Return the path of ``excluding_condition``; None if there is none."""
    excluding = excluding_condition(it, volume)
    return None if excluding is None else excluding.path


def excluding_condition(it: Member, volume: Volume) -> Requirement | None:
    """Return the first condition of the pod that no node meets which reaches a volume; None if none does alone."""
    reaching = nodes_of_volume(it, volume, it.scenario.index.all)
    conditions = [
        Requirement(k, "In", (v,), (*it.pod.path, "nodeSelector", k)) for k, v in it.pod.node_selector.items()
    ]
    terms = it.pod.required_node_terms or ()
    conditions += terms[0].expressions if len(terms) == 1 else ()
    return next((r for r in conditions if r.path and reaching and not reaching & it.scenario.index.where(r)), None)
