"""The claims of a workload, and the nodes that can reach their volumes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.cluster.storage.storage import Storage
from kubesched_lint.engine.controllers.statefulset import claim_name, claims_of
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.pod import Volume
from kubesched_lint.engine.model.storage import ZONAL, default_class
from kubesched_lint.engine.scenario.limits import MOST_ORDINALS
from kubesched_lint.engine.scenario.nodes.sketched import host_among, may_be_a_node, unstated_topology
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scenario.storage.claim_names import all_claims, claim_named, known_ordinals
from kubesched_lint.engine.scenario.storage.volume_places import classes_of, volumes_of
from kubesched_lint.engine.scheduler.binding import MADE_AT_ONCE, candidates, settle
from kubesched_lint.engine.scheduler.framework import reaching_volumes
from kubesched_lint.engine.scheduler.plugins.volume_binding import (
    BIND_CONFLICT,
    NO_PROVISIONER,
    ephemeral_claim,
    is_bound,
)

if TYPE_CHECKING:
    from kubesched_lint.engine.base.places import Path
    from kubesched_lint.engine.cluster.nodeset import NodeSet
    from kubesched_lint.engine.model.storage import Claim, PersistentVolume, StorageClass
    from kubesched_lint.engine.model.workloads.workload import Workload

NO_OTHER_USER = "no other pod that the scheduler places uses the claim"
"""On what ``never_chosen`` rests."""


def storage_class_of(scenario: Scenario, claim: Claim) -> StorageClass | None:
    """Return the class of a claim, the default class if it names none; None if it is unknown."""
    return _classes_by_name(scenario).get(claim.storage_class)


@once_per_scenario
def _classes_by_name(scenario: Scenario) -> Mapping[str | None, StorageClass | None]:
    """Return name → class, the manifests' first; None → the default class."""
    classes = classes_of(scenario)
    return {None: default_class(classes), **{storage_class.name: storage_class for storage_class in reversed(classes)}}


def bound_volume(scenario: Scenario, namespace: str, name: str) -> PersistentVolume | None:
    """Return the volume that a claim is bound to, or requests by name; None if there is none."""
    claim, known = claim_named(scenario, namespace, name), _volumes_by(scenario)
    named = None if claim is None else known.name.get(claim.volume_name)
    places = [at for at in (named, known.claim.get((namespace, name))) if at is not None]
    return volumes_of(scenario)[min(places)] if places else None


def unbound_claims(it: Member) -> Iterator[tuple[Claim, Path]]:
    """Yield the claims without a volume yet, with those of templates and ephemeral volumes, each with its place.

    The place is a claim's spec, or the field that names a claim.
    """
    for template in it.workload.claim_templates:
        if not template.volume_name:
            yield template, (*template.path, "spec")
    for mounted, made in ephemeral_claims(it.workload):
        yield replace(made, name=mounted.name), (*mounted.path, "volumeClaimTemplate", "spec")
    templates = {c.name for c in it.workload.claim_templates}
    for volume in it.workload.pod.volumes:
        if volume.kind != "persistentVolumeClaim" or volume.name in templates:
            continue
        claim = claim_named(it.scenario, it.workload.namespace, volume.claim)
        if claim is not None and bound_volume(it.scenario, it.workload.namespace, volume.claim) is None:
            yield claim, (*volume.path, "claimName")


def never_chosen(it: Member) -> Iterator[tuple[Claim, StorageClass, Path]]:
    """Yield the claims that wait for a node of the scheduler's choice, if the pods bypass it with nodeName; the places.

    Unless another pod that the scheduler places uses such a claim, it stays Pending, and the kubelet starts no pod.
    """
    if not it.workload.pod.node_name or it.workload.kind == "DaemonSet":
        return
    for claim, at in unbound_claims(it):
        storage_class = storage_class_of(it.scenario, claim)
        if storage_class is None or storage_class.binding_mode != "WaitForFirstConsumer" or claim.volume_name:
            continue
        if "volume.kubernetes.io/selected-node" not in claim.annotations:
            yield claim, storage_class, at


def waits_for_claim(it: Member) -> bool:
    """Whether each new pod mounts a claim that nobody has, or an unbound one of a class that nobody has.

    Then VolumeBinding refuses it on every node (its PreFilter, and checkVolumeProvisions, v1.36).
    """
    templates = {claim.name for claim in it.workload.claim_templates}
    named = [v.claim for v in it.pod.volumes if v.kind == "persistentVolumeClaim" and v.name not in templates]
    missing = [name for name in named if name and claim_named(it.scenario, it.workload.namespace, name) is None]
    if missing and it.scenario.cluster_has("PersistentVolumeClaim"):
        return True
    if not it.scenario.cluster_has("StorageClass") or (templates and known_ordinals(it)):
        return False
    return any(_lacks_class(it.scenario, claim.storage_class) for claim, _ in unbound_claims(it))


def _lacks_class(scenario: Scenario, name: str | None) -> bool:
    return bool(name) and name not in _classes_by_name(scenario) and not has_free_volume(scenario, str(name))


def nodes_of_volume(it: Member, volume: Volume, among: NodeSet | None = None) -> NodeSet:
    """Return the nodes from which a volume of the pod is reachable, as VolumeBinding and VolumeZone decide.

    They are among the usable ones, or ``among`` others.
    """
    alone = replace(it.pod, volumes=(volume,))
    return reaching_volumes(alone, storage_state(it.scenario), it.usable if among is None else among)


class OutOfReach(NamedTuple):
    """A pod of a StatefulSet that runs on no node: none that it may use reaches a volume of it."""

    ordinal: int
    template: Claim
    claim: Volume
    volume: PersistentVolume


def out_of_reach(it: Member) -> Iterator[OutOfReach]:
    """Yield the pods of a StatefulSet that no node's storage lets run, by ordinal; none where no node is usable."""
    for ordinal in known_ordinals(it) if it.usable else ():
        for template in it.workload.claim_templates:
            name = claim_name(it.workload, template, ordinal - it.workload.first_ordinal)
            volume = bound_volume(it.scenario, it.workload.namespace, name)
            claim = Volume(template.name, "persistentVolumeClaim", name)
            if volume is not None and not nodes_of_volume(it, claim):
                yield OutOfReach(ordinal, template, claim, volume)


def topology_nodes(scenario: Scenario, topologies: Sequence[Mapping[str, tuple[str, ...]]]) -> NodeSet:
    """Return the nodes within a class's allowedTopologies: any term, all of its keys."""
    nodes = 0
    for term in topologies:
        in_term = scenario.index.all
        for key, values in term.items():
            in_term &= scenario.index.where(Requirement(key, "In", values))
        nodes |= in_term
    return nodes


def volumes_for(scenario: Scenario, claim: Claim) -> Sequence[PersistentVolume]:
    """Return the volumes that a claim is or may be bound to; without a known class, those without one."""
    storage = settled_storage(scenario)
    settled = storage.claim(claim.namespace, claim.name)
    if settled is not None and (volume := storage.volumes.get(settled.volume_name)):
        return (volume,)
    storage_class = storage.class_of(claim)
    name = claim.storage_class or "" if storage_class is None else storage_class.name
    return tuple(_candidates(claim, name, storage))


def has_free_volume(scenario: Scenario, storage_class: str) -> bool:
    """Return whether a volume of the class waits for a claim: then none needs to be provisioned."""
    return storage_class in _classes_of_free_volumes(scenario)


@once_per_scenario
def _classes_of_free_volumes(scenario: Scenario) -> frozenset[str]:
    return frozenset(volume.storage_class for volume in volumes_of(scenario) if volume.claim_ref is None)


class Fate(Struct, frozen=True):
    """What is known about the binding of a claim.

    ``modelled``: the scheduler's plugins judge it. Otherwise it is left out, as if every node reached its volume.
    """

    modelled: bool
    lack: str = ""
    """What is unknown; empty if nothing is."""
    assumed: str = ""
    """The assumption made for ``lack``."""
    kind: str = ""
    """The kind of objects that would answer it; empty if no snapshot can."""
    narrows: bool = True
    """The unknown part can only exclude nodes, never add any."""
    stays_in: str = ""
    """The class whose volume is made at once in some zone, and never leaves it; empty if its place is otherwise known.
    """


_JUDGED = Fate(True)


def fate(scenario: Scenario, claim: Claim) -> Fate:
    """Return the fate of a claim: of the manifests, the cluster, a StatefulSet's template or an ephemeral volume.

    The volume controller binds a claim of an Immediate class, or of no class, to a matching volume, or asks the class's
    provisioner for one (``pkg/controller/volume/persistentvolume/pv_controller.go``, syncUnboundClaim, v1.36). If
    neither is possible, the claim stays unbound and its pods Pending.
    """
    known = _fates(scenario)
    if claim not in known:
        known[claim] = _fate(scenario, claim)
    return known[claim]


@once_per_scenario
def _fates(scenario: Scenario) -> dict[Claim, Fate]:
    """The fates of claims that somebody has asked for."""
    return {}


def _fate(scenario: Scenario, claim: Claim) -> Fate:
    storage = settled_storage(scenario)
    if is_bound(claim, storage):
        volume = storage.volumes.get(claim.volume_name)
        if volume is not None and MADE_AT_ONCE in volume.annotations:
            return replace(_made_at_once(scenario, volume.storage_class), modelled=True)
        if volume is not None or scenario.cluster_has("PersistentVolume"):
            return _judged(scenario, [volume])
        return _elsewhere(f"from where its volume {claim.volume_name} can be reached", "PersistentVolume")
    if claim.volume_name:
        volume = storage.volumes.get(claim.volume_name)
        known = volume is not None or scenario.cluster_has("PersistentVolume")
        return (
            _judged(scenario, [volume])
            if known
            else _elsewhere(f"what volume {claim.volume_name} is", "PersistentVolume")
        )
    storage_class = storage.class_of(claim)
    named = claim.storage_class if storage_class is None else storage_class.name
    if storage_class is None and named != "" and not scenario.cluster_has("StorageClass"):
        which = f"what StorageClass {named} does" if named else "which StorageClass is the default one"
        return _elsewhere(which, "StorageClass")
    if storage_class is not None and not storage_class.provisioner:
        return _elsewhere(f"what StorageClass {named} does: its manifest has no provisioner", "")
    provisions = storage_class is not None and storage_class.provisioner != NO_PROVISIONER
    of_driver = unstated_topology(scenario, storage_class)
    if of_driver:
        return _elsewhere(f"which nodes have the label {of_driver}, which a driver of volumes sets", "")
    if not (judged := _judged(scenario, _candidates(claim, named or "", storage))).modelled:
        return judged
    if storage_class is not None and storage_class.binding_mode == "WaitForFirstConsumer":
        if provisions or scenario.cluster_has("PersistentVolume"):
            return _JUDGED
        return _no_others(f"of class {named}")
    if any(_candidates(claim, named or "", storage)):
        return Fate(False, f"which of the volumes {_of_class(named)} it is bound to", narrows=True)
    if provisions:
        return _made_at_once(scenario, named or "")
    if scenario.cluster_has("PersistentVolume"):
        return _JUDGED
    return _no_others(_of_class(named))


def _of_class(named: str | None) -> str:
    return f"of class {named}" if named else "without a class"


def _elsewhere(lack: str, kind: str) -> Fate:
    return Fate(False, lack, f"every node reaches its volume: it is unknown {lack}", kind)


def _made_at_once(scenario: Scenario, storage_class: str) -> Fate:
    """Return the fate of a claim whose provisioner chooses a zone before the pod has a node."""
    lack = f"where StorageClass {storage_class}, which binds at once, makes its volume"
    class_named = _classes_by_name(scenario).get(storage_class)
    stays_in = storage_class if class_named is not None and class_named.provisioner in ZONAL else ""
    return Fate(False, lack, f"every node reaches its volume: it is unknown {lack}", stays_in=stays_in)


def _no_others(what: str) -> Fate:
    text = f"which volumes {what} are free"
    return Fate(True, text, f"no volumes {what} are there beyond the manifests", "PersistentVolume", False)


def _candidates(claim: Claim, storage_class: str, storage: Storage) -> Iterator[PersistentVolume]:
    """Yield the free volumes that a claim may be bound to; ``settled_storage`` has made the certain bindings."""
    return candidates(claim, storage_class, storage)


def _judged(scenario: Scenario, volumes: Iterable[PersistentVolume | None]) -> Fate:
    """Return the fate of a claim by its volumes: unknown if one is at a node that a sketch may have by another name."""
    hosts = _unknown_hosts(scenario)
    volume = next((v for v in volumes if v is not None and v.name in hosts), None) if hosts else None
    if volume is None:
        return _JUDGED
    return _elsewhere(f"which node is {hosts[volume.name]}, where its volume {volume.name} is", "")


@once_per_scenario
def _unknown_hosts(scenario: Scenario) -> Mapping[str, str]:
    """Name of a volume → the node where it is, if a sketch may have it by another name."""
    hosts = {}
    for volume in settled_storage(scenario).volumes.values():
        conditions = (r for term in volume.node_terms or () for r in term.expressions)
        if host := host_among(conditions, lambda name: may_be_a_node(name, scenario)):
            hosts[volume.name] = host
    return hosts


@once_per_scenario
def settled_storage(scenario: Scenario) -> Storage:
    """Return the claims, volumes and classes of manifests and cluster, after the volume controller ran.

    Live objects win, because they show to which volume a claim is bound.
    """
    live = Inventory() if scenario.cluster is None else scenario.cluster.inventory
    storage = Storage.of(
        replace(
            live,
            claims=tuple(all_claims(scenario)),
            volumes=tuple(volumes_of(scenario)),
            storage_classes=tuple(classes_of(scenario)),
            csi_drivers=scenario.objects.csi_drivers,
        )
    )
    if not storage.claims:
        return storage
    return settle(storage, contested=frozenset(_classes_of_templates(scenario, storage)))


def _classes_of_templates(scenario: Scenario, storage: Storage) -> Iterator[str]:
    """Yield the classes of future claims, which compete for the volumes of the class."""
    for workload in scenario.manifests.workloads:
        for claim in (*workload.claim_templates, *(c for _, c in ephemeral_claims(workload))):
            storage_class = storage.class_of(claim)
            yield claim.storage_class or "" if storage_class is None else storage_class.name


def ephemeral_claims(workload: Workload) -> Iterator[tuple[Volume, Claim]]:
    """Yield the generic ephemeral volumes of a pod, each with the claim that its controller makes."""
    for volume in workload.pod.volumes:
        if volume.kind == "ephemeral":
            claim = ephemeral_claim(workload.pod, volume)
            if claim is not None:
                yield volume, claim


def volume_fate(it: Member, volume: Volume) -> Fate:
    """Return the fate of one volume of a pod; a claim template replaces the volume of the same name."""
    if any(volume.name == template.name for template in it.workload.claim_templates):
        return Fate(False)
    if volume.kind == "ephemeral":
        claim = next((c for v, c in ephemeral_claims(it.workload) if v is volume), None)
        return _JUDGED if claim is None else _of_ephemeral(it.scenario, claim)
    if volume.kind != "persistentVolumeClaim":
        return _JUDGED
    claim = settled_storage(it.scenario).claim(it.workload.namespace, volume.claim)
    if claim is not None:
        return fate(it.scenario, claim)
    if it.scenario.cluster_has("PersistentVolumeClaim"):
        return _JUDGED
    return _elsewhere(f"what claim {volume.claim} is bound to", "PersistentVolumeClaim")


def _of_ephemeral(scenario: Scenario, claim: Claim) -> Fate:
    """Return the fate of an ephemeral claim; which one of several free volumes it gets is not modelled."""
    fate_of_claim = fate(scenario, claim)
    storage_class = settled_storage(scenario).class_of(claim)
    if not fate_of_claim.modelled or storage_class is None:
        return fate_of_claim
    if any(_candidates(claim, storage_class.name, settled_storage(scenario))):
        return Fate(False, f"which of the volumes {_of_class(storage_class.name)} it is bound to")
    return fate_of_claim


def fates(it: Member) -> Iterator[tuple[str, Fate]]:
    """Yield each volume that its pods mount, as ``claim data``, with its fate."""
    for template in it.workload.claim_templates:
        yield f"claim template {template.name}", fate(it.scenario, template)
    for volume in it.workload.pod.volumes:
        what = f"claim {volume.claim}" if volume.claim else f"ephemeral volume {volume.name}"
        yield what, volume_fate(it, volume)


def without_unknown_storage(it: Member) -> Workload:
    """Return the workload without the claims whose binding is unknown; ``fates`` lists them."""
    if not it.workload.claim_templates and not it.workload.pod.volumes:
        return it.workload
    templates = tuple(c for c in it.workload.claim_templates if fate(it.scenario, c).modelled)
    volumes = tuple(v for v in it.workload.pod.volumes if is_known(it, v))
    pod = it.workload.pod if len(volumes) == len(it.workload.pod.volumes) else replace(it.workload.pod, volumes=volumes)
    return replace(it.workload, claim_templates=templates, pod=pod)


def modelled_templates(it: Member) -> tuple[Claim, ...]:
    """Return the claim templates whose claims are modelled one by one; none if there would be too many claims."""
    if not it.workload.claim_templates or it.replicas > MOST_ORDINALS:
        return ()
    return tuple(c for c in it.workload.claim_templates if fate(it.scenario, c).modelled)


@once_per_scenario
def storage_to_be(scenario: Scenario) -> Storage:
    """Return ``settled_storage`` with the claims that controllers make for the pods of StatefulSets."""
    return settled_storage(scenario).with_objects(claims_to_be_made(scenario))


def claims_to_be_made(scenario: Scenario) -> Iterator[Claim]:
    """Yield the claims that controllers make for the pods of StatefulSets, if they are modelled."""
    for workload in scenario.manifests.workloads:
        templates = modelled_templates(scenario.member(workload))
        for ordinal in range(scenario.member(workload).replicas) if templates else ():
            for claim in claims_of(replace(workload, claim_templates=templates), ordinal):
                if settled_storage(scenario).claim(claim.namespace, claim.name) is None:
                    yield claim


def is_known(it: Member, volume: Volume) -> bool:
    """Return whether the model knows where a volume of the pod binds, or that it never does."""
    return volume_fate(it, volume).modelled


def storage_state(scenario: Scenario) -> ClusterState:
    """Return the nodes without pods, with the storage objects of manifests and cluster."""
    state = ClusterState(scenario.index)
    state.storage = settled_storage(scenario)
    return state


class _VolumesBy(NamedTuple):
    """Volume name, and claim named by a volume → position of the first such volume."""

    name: Mapping[str, int]
    claim: Mapping[tuple[str, str], int]


@once_per_scenario
def _volumes_by(scenario: Scenario) -> _VolumesBy:
    by_name: dict[str, int] = {}
    by_claim: dict[tuple[str, str], int] = {}
    for number, volume in enumerate(volumes_of(scenario)):
        by_name.setdefault(volume.name, number)
        if volume.claim_ref is not None:
            by_claim.setdefault(volume.claim_ref[:2], number)
    return _VolumesBy(by_name, by_claim)


def class_without_volumes(it: Member, message: str) -> str:
    """Return the class that lacks volumes, if kube-scheduler's message names nothing else; else nothing."""
    counts = {reason.partition(" ")[2] for reason in message.partition(": ")[2].partition(".")[0].split(", ")}
    if counts != {BIND_CONFLICT}:
        return ""
    return " ".join(sorted({claim.storage_class or "" for claim, _ in unbound_claims(it)}))
