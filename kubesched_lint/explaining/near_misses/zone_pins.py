"""What ties a pod to zones when the pools could serve it otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.nodes.node import PLACE_LIKE, REGION, ZONE
from kubesched_lint.engine.model.pod import NodeSelectorTerm, Pod
from kubesched_lint.engine.model.storage import PersistentVolume
from kubesched_lint.engine.scenario.others.neighbours import may_be_answered_by_set
from kubesched_lint.engine.scenario.others.room import nodes_near_running
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.engine.scenario.storage.claims import (
    bound_volume,
    has_free_volume,
    storage_class_of,
    topology_nodes,
    unbound_claims,
)
from kubesched_lint.engine.scheduler.framework import static_reach

_KEYS = (ZONE, REGION, *PLACE_LIKE)


class Pin(Struct, frozen=True):
    """``nodes`` are those that the pin allows; ``zones`` are its zones, as far as known."""

    kind: str
    """``selector``, ``volume``, ``class`` or ``affinity``."""
    at: Path
    nodes: NodeSet
    zones: tuple[str, ...]
    name: str = ""
    """Name of the volume or the class."""


def outside_pools(it: Member) -> Iterator[Pin]:
    """Yield pins that allow no node of a pool, although a pool could add a usable node without them."""
    usable = it.usable
    if usable & ~it.scenario.today:
        pins: Iterator[Pin] = (
            replace(p, nodes=p.nodes & usable) for p in _of_others(it) if not p.nodes & ~it.scenario.today
        )
    else:
        pins = _of_selector(it, usable)
    yield from pins


def _of_selector(it: Member, usable: NodeSet) -> Iterator[Pin]:
    """Yield the pin of nodeSelector and required node affinity by zone or region."""
    pod = it.pod
    asked = list(_asked(pod))
    if not asked or not static_reach(_anywhere(pod), it.scenario.index)[2] & ~it.scenario.today:
        return
    zones = tuple(dict.fromkeys(value for r in asked if r.operator == "In" for value in r.values))
    yield Pin("selector", asked[0].path, usable, zones)


def _asked(pod: Pod) -> Iterator[Requirement]:
    for key, value in pod.node_selector.items():
        if key in _KEYS:
            yield Requirement(key, "In", (value,), (*pod.path, "nodeSelector", key))
    for term in pod.required_node_terms or ():
        yield from (r for r in term.expressions if r.key in _KEYS)


def _anywhere(pod: Pod) -> Pod:
    """The pod without its conditions on zones."""
    terms = tuple(map(_without_zone, pod.required_node_terms or ()))
    free = any(not (t.expressions or t.fields) for t in terms)  # a term of zones alone would hold everywhere
    return replace(
        pod,
        node_selector={k: v for k, v in pod.node_selector.items() if k not in _KEYS},
        required_node_terms=None if free or pod.required_node_terms is None else terms,
    )


def _without_zone(term: NodeSelectorTerm) -> NodeSelectorTerm:
    return replace(term, expressions=tuple(r for r in term.expressions if r.key not in _KEYS))


def _of_others(it: Member) -> Iterator[Pin]:
    """Yield pins of volumes, storage classes, and required affinity to running pods, apart from other conditions."""
    for volume in it.workload.pod.volumes:
        bound = bound_volume(it.scenario, it.workload.namespace, volume.claim) if volume.claim else None
        if bound is not None:
            zones = _values(bound.node_terms or ()) or _labelled(bound.labels)
            yield Pin("volume", (*volume.path, "claimName"), _reached_from(bound, it.scenario), zones, bound.name)
    for claim, at in unbound_claims(it):
        storage_class = storage_class_of(it.scenario, claim)
        if storage_class is None or has_free_volume(it.scenario, storage_class.name):
            continue
        terms = storage_class.allowed_topologies
        if terms:
            zones = tuple(v for term in terms for values in term.values() for v in values)
            yield Pin("class", at, topology_nodes(it.scenario, terms), zones, storage_class.name)
    affinity = [t for t in it.pod.required_affinity if t.topology_key in _KEYS]
    near = nodes_near_running(it) if affinity else None
    if near is not None and not may_be_answered_by_set(it):
        there = it.scenario.index.domains(affinity[0].topology_key).items()
        zones = tuple(zone for zone, nodes in there if nodes & near)
        yield Pin("affinity", affinity[0].path, near, zones)


def _reached_from(volume: PersistentVolume, scenario: Scenario) -> NodeSet:
    """The nodes that reach the volume, by its node affinity and its zone labels."""
    nodes = scenario.index.matching({}, volume.node_terms)
    for key in (ZONE, REGION):
        if key in volume.labels:
            nodes &= scenario.index.where(Requirement(key, "In", tuple(volume.labels[key].split("__"))))
    return nodes


def _values(terms: Sequence[NodeSelectorTerm]) -> tuple[str, ...]:
    return tuple(v for t in terms for r in t.expressions if r.operator == "In" for v in r.values)


def _labelled(labels: object) -> tuple[str, ...]:
    return tuple(str(labels[key]) for key in _KEYS if isinstance(labels, dict) and key in labels)
