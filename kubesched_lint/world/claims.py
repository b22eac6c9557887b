"""The claims of a workload, and where their volumes can be reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kubesched_lint.cluster.storage import Storage
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.labels import Requirement
from kubesched_lint.model.storage import default_class
from kubesched_lint.record import record, replace
from kubesched_lint.text import closest
from kubesched_lint.world.world import Member, World, once_per_world

if TYPE_CHECKING:
    from kubesched_lint.cluster.nodeset import NodeSet
    from kubesched_lint.cluster.state import ClusterState
    from kubesched_lint.findings import Path
    from kubesched_lint.model.pod import NodeSelectorTerm, Volume
    from kubesched_lint.model.storage import Claim, PersistentVolume, StorageClass
    from kubesched_lint.model.workload import Workload


def claim_named(world: World, namespace: str, name: str) -> Claim | None:
    """A claim of the set, else of the cluster."""
    return _claims_by_name(world).get((namespace, name))


@once_per_world
def _claims_by_name(world: World) -> Mapping[tuple[str, str], Claim]:
    """Of several claims of one name the first."""
    found: dict[tuple[str, str], Claim] = {}
    for claim in _claims(world):
        found.setdefault((claim.namespace, claim.name), claim)
    return found


def told_ordinals(it: Member) -> list[int]:
    """Ordinals of a StatefulSet that have a claim, or a volume that is kept for one: of others, which may be billions,
    nothing is known.
    """
    home, most = it.workload.namespace, it.replicas
    names = {claim.name for claim in _claims(it.world) if claim.namespace == home}
    names |= {v.claim_ref[1] for v in _volumes(it.world) if v.claim_ref is not None and v.claim_ref[0] == home}
    found = set()
    for prefix in (f"{template.name}-{it.workload.name}-" for template in it.workload.claim_templates):
        endings = (name.removeprefix(prefix) for name in names if name.startswith(prefix))
        found |= {int(e) for e in endings if e.isascii() and e.isdecimal() and len(e) < 11 and str(int(e)) == e}
    return sorted(ordinal for ordinal in found if 0 <= ordinal - it.workload.first_ordinal < most)


def nearest_claim(world: World, namespace: str, name: str) -> str:
    """A claim of the namespace whose name reads like ``name``; empty without one."""
    return closest(name, (c.name for c in _claims(world) if c.namespace == namespace), 0.75)


def storage_class_of(world: World, claim: Claim) -> StorageClass | None:
    """The class of a claim, the default one where it names none; None when it is not known."""
    if claim.storage_class is None:
        return default_class(_classes(world))
    return next((c for c in _classes(world) if c.name == claim.storage_class), None)


def bound_volume(world: World, namespace: str, name: str) -> PersistentVolume | None:
    """The volume that a claim is bound to, or asks for by name."""
    claim, known = claim_named(world, namespace, name), _volumes_by(world)
    named = None if claim is None else known.name.get(claim.volume_name)
    found = [at for at in (named, known.claim.get((namespace, name))) if at is not None]
    return _volumes(world)[min(found)] if found else None


def unbound_claims(it: Member) -> Iterator[tuple[Claim, Path]]:
    """Claims whose volume is still to be made, those of templates and ephemeral volumes included, each with its place.

    The place is a claim's spec, or what names a claim.
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
        claim = claim_named(it.world, it.workload.namespace, volume.claim)
        if claim is not None and bound_volume(it.world, it.workload.namespace, volume.claim) is None:
            yield claim, (*volume.path, "claimName")


def nodes_of_volume(it: Member, volume: Volume) -> NodeSet:
    """Usable nodes from which a volume of the pod is reachable, as VolumeBinding and VolumeZone decide."""
    from kubesched_lint.scheduler.plugins import volume_binding, volume_zone

    alone = replace(it.pod, volumes=(volume,))
    found = it.usable
    for plugin in (volume_binding, volume_zone):
        for rejection in plugin.reject(alone, _storage_state(it.world), found):
            found &= ~rejection.nodes
    return found


def topology_nodes(world: World, topologies: Sequence[Mapping[str, tuple[str, ...]]]) -> NodeSet:
    """Nodes within a class's allowedTopologies: any term, all of its keys."""
    found = 0
    for term in topologies:
        here = world.index.all
        for key, values in term.items():
            here &= world.index.where(Requirement(key, "In", values))
        found |= here
    return found


def has_free_volume(world: World, storage_class: str) -> bool:
    """Whether a volume of the class waits for a claim: then nothing need be made."""
    return any(v.storage_class == storage_class and v.claim_ref is None for v in _volumes(world))


_MOST_ORDINALS = 200


@record
class Fate:
    """What becomes of a claim, as far as we know.

    ``modelled``: the scheduler's plugins judge it. Else it is left out, as if every node reached its volume.
    """

    modelled: bool
    lack: str = ""
    """What is not known; empty where all is."""
    assumed: str = ""
    """What is assumed where ``lack`` is nobody's fault."""
    kind: str = ""
    """The kind of the objects that would tell; empty where no snapshot can."""
    narrows: bool = True
    """What is not known can only keep pods from nodes."""


_JUDGED = Fate(True)


def fate(world: World, claim: Claim) -> Fate:
    """The fate of a claim: of the set, of the cluster, of a StatefulSet's template or of an ephemeral volume.

    The volume controller binds a claim of an Immediate class, or of no class, to a volume that matches, or asks the
    class's provisioner for one (``pkg/controller/volume/persistentvolume/pv_controller.go``, syncUnboundClaim, v1.36).
    Where neither is possible the claim stays unbound, and its pods Pending.
    """
    from kubesched_lint.scheduler.binding import MADE_AT_ONCE
    from kubesched_lint.scheduler.plugins.volume_binding import NO_PROVISIONER, is_bound

    storage = settled_storage(world)
    if is_bound(claim, storage):
        volume = storage.volumes.get(claim.volume_name)
        if volume is not None and MADE_AT_ONCE in volume.annotations:
            return replace(_made_at_once(volume.storage_class), modelled=True)
        if volume is not None or world.cluster_has("PersistentVolume"):
            return _JUDGED
        return _elsewhere(f"from where its volume {claim.volume_name} can be reached", "PersistentVolume")
    if claim.volume_name:
        known = claim.volume_name in storage.volumes or world.cluster_has("PersistentVolume")
        return _JUDGED if known else _elsewhere(f"what volume {claim.volume_name} is", "PersistentVolume")
    storage_class = storage.class_of(claim)
    named = claim.storage_class if storage_class is None else storage_class.name
    if storage_class is None and named != "" and not world.cluster_has("StorageClass"):
        which = f"what StorageClass {named} does" if named else "which StorageClass is the default one"
        return _elsewhere(which, "StorageClass")
    provisions = storage_class is not None and storage_class.provisioner not in ("", NO_PROVISIONER)
    if storage_class is not None and storage_class.binding_mode == "WaitForFirstConsumer":
        if provisions or world.cluster_has("PersistentVolume"):
            return _JUDGED
        return _no_others(f"of class {named}")
    if _has_candidate(claim, named or "", storage):
        return Fate(False, f"which of the volumes {_of_class(named)} it is bound to", narrows=True)
    if provisions:
        return _made_at_once(named or "")
    if world.cluster_has("PersistentVolume"):
        return _JUDGED
    return _no_others(_of_class(named))


def _of_class(named: str | None) -> str:
    return f"of class {named}" if named else "without a class"


def _elsewhere(lack: str, kind: str) -> Fate:
    return Fate(False, lack, f"every node reaches its volume: nobody tells {lack}", kind)


def _made_at_once(storage_class: str) -> Fate:
    """The provisioner chooses a zone before the pod has a node."""
    lack = f"where StorageClass {storage_class}, which binds at once, makes its volume"
    return Fate(False, lack, f"every node reaches its volume: nobody tells {lack}")


def _no_others(what: str) -> Fate:
    text = f"which volumes {what} are free"
    return Fate(True, text, f"no volumes {what} are there beyond the manifests", "PersistentVolume", False)


def _has_candidate(claim: Claim, storage_class: str, storage: Storage) -> bool:
    """Whether a volume is free that the claim may be bound to; ``settled_storage`` has bound what was certain."""
    from kubesched_lint.scheduler.binding import candidates

    return bool(candidates(claim, storage_class, storage))


@once_per_world
def settled_storage(world: World) -> Storage:
    """Claims, volumes and classes of the set and of the cluster, once the volume controller has seen them.

    What is live wins: it knows to which volume a claim is bound.
    """
    from kubesched_lint.scheduler.binding import settle

    live = Inventory() if world.cluster is None else world.cluster.inventory
    storage = Storage.of(
        replace(
            live, claims=tuple(_claims(world)), volumes=tuple(_volumes(world)), storage_classes=tuple(_classes(world))
        )
    )
    if not storage.claims:
        return storage
    return settle(storage, contested=frozenset(_classes_of_templates(world, storage)))


def _classes_of_templates(world: World, storage: Storage) -> Iterator[str]:
    """Classes that claims ask for which nobody has made yet: they compete for the volumes of the class."""
    for workload in world.manifests.workloads:
        for claim in (*workload.claim_templates, *(c for _, c in ephemeral_claims(workload))):
            storage_class = storage.class_of(claim)
            yield claim.storage_class or "" if storage_class is None else storage_class.name


def ephemeral_claims(workload: Workload) -> Iterator[tuple[Volume, Claim]]:
    """The generic ephemeral volumes of a pod, each with the claim that its controller makes."""
    from kubesched_lint.scheduler.plugins.volume_binding import ephemeral_claim

    for volume in workload.pod.volumes:
        if volume.kind == "ephemeral":
            claim = ephemeral_claim(workload.pod, volume)
            if claim is not None:
                yield volume, claim


def volume_fate(it: Member, volume: Volume) -> Fate:
    """The fate of what one volume of a pod asks for; a claim template takes the place of a volume of its name."""
    if any(volume.name == template.name for template in it.workload.claim_templates):
        return Fate(False)
    if volume.kind == "ephemeral":
        claim = next((c for v, c in ephemeral_claims(it.workload) if v is volume), None)
        return _JUDGED if claim is None else _of_ephemeral(it.world, claim)
    if volume.kind != "persistentVolumeClaim":
        return _JUDGED
    claim = settled_storage(it.world).claim(it.workload.namespace, volume.claim)
    if claim is not None:
        return fate(it.world, claim)
    if it.world.cluster_has("PersistentVolumeClaim"):
        return _JUDGED
    return _elsewhere(f"what claim {volume.claim} is bound to", "PersistentVolumeClaim")


def _of_ephemeral(world: World, claim: Claim) -> Fate:
    """Like any claim's, but which of several volumes it takes is not followed."""
    found = fate(world, claim)
    storage_class = settled_storage(world).class_of(claim)
    if (
        found.modelled
        and storage_class is not None
        and _has_candidate(claim, storage_class.name, settled_storage(world))
    ):
        return Fate(False, f"which of the volumes {_of_class(storage_class.name)} it is bound to")
    return found


def fates(it: Member) -> Iterator[tuple[str, Fate]]:
    """What its pods mount, as ``claim data``, with the fate of each."""
    for template in it.workload.claim_templates:
        yield f"claim template {template.name}", fate(it.world, template)
    for volume in it.workload.pod.volumes:
        what = f"claim {volume.claim}" if volume.claim else f"ephemeral volume {volume.name}"
        yield what, volume_fate(it, volume)


def without_unknown_storage(it: Member) -> Workload:
    """The workload without the claims of which nobody can tell where they bind; ``fates`` tells which these are."""
    if not it.workload.claim_templates and not it.workload.pod.volumes:
        return it.workload
    templates = tuple(c for c in it.workload.claim_templates if fate(it.world, c).modelled)
    volumes = tuple(v for v in it.workload.pod.volumes if is_known(it, v))
    pod = it.workload.pod if len(volumes) == len(it.workload.pod.volumes) else replace(it.workload.pod, volumes=volumes)
    return replace(it.workload, claim_templates=templates, pod=pod)


def modelled_templates(it: Member) -> tuple[Claim, ...]:
    """The claim templates whose claims can be followed one by one; none where there would be too many."""
    if not it.workload.claim_templates or it.replicas > _MOST_ORDINALS:
        return ()
    return tuple(c for c in it.workload.claim_templates if fate(it.world, c).modelled)


@once_per_world
def storage_to_be(world: World) -> Storage:
    """``settled_storage`` with the claims that controllers make for the pods of StatefulSets."""
    return settled_storage(world).with_objects(claims_to_be_made(world))


def claims_to_be_made(world: World) -> Iterator[Claim]:
    """The claims that controllers make for the pods of StatefulSets, where they can be followed."""
    from kubesched_lint.controllers.statefulset import claims_of

    for workload in world.manifests.workloads:
        templates = modelled_templates(world.member(workload))
        for ordinal in range(world.member(workload).replicas) if templates else ():
            for claim in claims_of(replace(workload, claim_templates=templates), ordinal):
                if settled_storage(world).claim(claim.namespace, claim.name) is None:
                    yield claim


def is_known(it: Member, volume: Volume) -> bool:
    """Whether the model can tell where a volume of the pod binds, or that it never does."""
    return volume_fate(it, volume).modelled


def _storage_state(world: World) -> ClusterState:
    """Nodes without pods, with the storage objects of the set and of the cluster."""
    from kubesched_lint.cluster.state import ClusterState

    state = ClusterState(world.index)
    state.storage = settled_storage(world)
    return state


def _claims(world: World) -> Iterator[Claim]:
    yield from world.manifests.claims
    if world.cluster is not None:
        yield from world.cluster.inventory.claims


class _VolumesBy(NamedTuple):
    """The first volume of each name, and of each claim that volumes name."""

    name: Mapping[str, int]
    claim: Mapping[tuple[str, str], int]


@once_per_world
def _volumes_by(world: World) -> _VolumesBy:
    by_name: dict[str, int] = {}
    by_claim: dict[tuple[str, str], int] = {}
    for number, volume in enumerate(_volumes(world)):
        by_name.setdefault(volume.name, number)
        if volume.claim_ref is not None:
            by_claim.setdefault(volume.claim_ref[:2], number)
    return _VolumesBy(by_name, by_claim)


@once_per_world
def _volumes(world: World) -> Sequence[PersistentVolume]:
    return tuple(_with_stable_keys(world))


def _with_stable_keys(world: World) -> Iterator[PersistentVolume]:
    live = () if world.cluster is None else world.cluster.inventory.volumes
    names = place_names(world)
    for volume in (*world.manifests.volumes, *live):
        if not names or volume.node_terms is None:
            yield volume
        else:
            yield replace(volume, node_terms=tuple(_by_stable_keys(term, names) for term in volume.node_terms))


def _by_stable_keys(term: NodeSelectorTerm, names: Mapping[str, str]) -> NodeSelectorTerm:
    expressions = tuple(replace(r, key=names.get(r.key, r.key)) for r in term.expressions)
    return replace(term, expressions=expressions)


@once_per_world
def place_names(world: World) -> Mapping[str, str]:
    """Other names of zone and region that no node of a sketch tells → the stable ones, which stand for them."""
    if world.cluster is None or world.cluster.origin != "sketch":
        return {}
    from kubesched_lint.model.node import PLACE_LIKE

    told = {key for node in world.cluster.inventory.nodes for key in node.labels}
    return {other: stable for other, stable in PLACE_LIKE.items() if other not in told}


def _classes(world: World) -> Iterator[StorageClass]:
    live = () if world.cluster is None else world.cluster.inventory.storage_classes
    names = place_names(world)
    for storage_class in (*world.manifests.storage_classes, *live):
        if not names or not storage_class.allowed_topologies:
            yield storage_class
        else:
            terms = ({names.get(k, k): v for k, v in term.items()} for term in storage_class.allowed_topologies)
            yield replace(storage_class, allowed_topologies=tuple(terms))
