"""The volumes and storage classes of manifests and cluster, with their places in the labels that its nodes show.

A sketch may write zones under their stable names alone, and leave out other labels (``otherLabels``). A place by a
label that is left out is unknown, so it excludes no node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kubesched_lint.engine.model.nodes.node import PLACE_LIKE
from kubesched_lint.engine.scenario.scenario import Scenario, once_per_scenario

if TYPE_CHECKING:
    from kubesched_lint.engine.model.pod import NodeSelectorTerm
    from kubesched_lint.engine.model.storage import PersistentVolume, StorageClass


@once_per_scenario
def volumes_of(scenario: Scenario) -> Sequence[PersistentVolume]:
    """Return the volumes of the manifests, then those of the cluster."""
    live = () if scenario.cluster is None else scenario.cluster.inventory.volumes
    return tuple(_volume_of(volume, scenario) for volume in (*scenario.manifests.volumes, *live))


@once_per_scenario
def classes_of(scenario: Scenario) -> Sequence[StorageClass]:
    """Return the storage classes of the manifests, then those of the cluster."""
    live = () if scenario.cluster is None else scenario.cluster.inventory.storage_classes
    return tuple(_class_of(storage_class, scenario) for storage_class in (*scenario.manifests.storage_classes, *live))


@once_per_scenario
def place_names(scenario: Scenario) -> Mapping[str, str]:
    """Return other names of zone and region that no node of a sketch has → the stable names that replace them."""
    if scenario.cluster is None or scenario.cluster.origin != "sketch":
        return {}
    keys = {key for node in scenario.cluster.inventory.nodes for key in node.labels}
    return {other: stable for other, stable in PLACE_LIKE.items() if other not in keys}


def _volume_of(volume: PersistentVolume, scenario: Scenario) -> PersistentVolume:
    names = place_names(scenario)
    if not names or volume.node_terms is None:
        return volume
    terms = [_answerable(term, names, scenario) for term in volume.node_terms]
    known = tuple(term for term in terms if term is not None)
    return replace(volume, node_terms=known if len(known) == len(terms) else None)


def _answerable(term: NodeSelectorTerm, names: Mapping[str, str], scenario: Scenario) -> NodeSelectorTerm | None:
    """Return the part of a term that the nodes' labels can answer; None if they answer none of it."""
    expressions = tuple(
        replace(r, key=names.get(r.key, r.key))
        for r in term.expressions
        if not _is_left_out(names.get(r.key, r.key), scenario)
    )
    return replace(term, expressions=expressions) if expressions or term.fields or not term.expressions else None


def _class_of(storage_class: StorageClass, scenario: Scenario) -> StorageClass:
    names = place_names(scenario)
    if not names or not storage_class.allowed_topologies:
        return storage_class
    stable = [
        {names.get(key, key): values for key, values in term.items()} for term in storage_class.allowed_topologies
    ]
    terms = [{key: term[key] for key in term if not _is_left_out(key, scenario)} for term in stable]
    return replace(storage_class, allowed_topologies=tuple(terms) if all(terms) else ())


def _is_left_out(key: str, scenario: Scenario) -> bool:
    return scenario.cluster is not None and scenario.cluster.leaves_out(key)
