"""A pod's claims must be bound to volumes that its node can reach, or be bindable there.

Mirrors ``pkg/scheduler/framework/plugins/volumebinding/{volume_binding,binder}.go`` and
``component-helpers/storage/volume/{helpers,pv_helpers}.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, grouped, lowest, of, positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.cluster.storage.free_volumes import NOTHING_LOOSE, FreeVolumes
from kubesched_lint.engine.cluster.storage.storage import Storage
from kubesched_lint.engine.model.decode.storage import decode_claim
from kubesched_lint.engine.model.pod import Pod, Volume
from kubesched_lint.engine.model.storage import Claim, PersistentVolume, StorageCapacity, StorageClass
from kubesched_lint.engine.scheduler.plugins.verdict import PreFilterRefusal, Rejection
from kubesched_lint.engine.scheduler.plugins.volume_reach import reach_of, reachable

NAME = "VolumeBinding"
NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
_KEPT = 16
"""So many partitions of the nodes a state keeps."""


class PodClaims(NamedTuple):
    """The claims of a pod by what is left to do for them (GetPodVolumeClaims)."""

    bound: tuple[Claim, ...]
    immediate: tuple[Claim, ...]
    """Not bound, and the scheduler does not bind them."""
    delayed: tuple[Claim, ...]
    """WaitForFirstConsumer: bound together with the pod."""


class Choice(NamedTuple):
    """What binding would do on a node for the delayed claims."""

    static: tuple[tuple[Claim, PersistentVolume], ...]
    provision: tuple[Claim, ...]


def prefilter(pod: Pod, state: ClusterState) -> PreFilterRefusal | NodeSet | None:
    return state.storage.once(_refusal, pod)


def _refusal(pod: Pod, storage: Storage) -> PreFilterRefusal | None:
    for volume in pod.volumes:
        if volume.kind != "persistentVolumeClaim":
            continue
        claim = storage.claim(pod.namespace, volume.claim)
        name = volume.claim
        if claim is None:
            return PreFilterRefusal(NAME, f'persistentvolumeclaim "{name}" not found', resolvable=False)
        if claim.phase == "Lost":
            text = f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.volume_name}"'
            return PreFilterRefusal(NAME, text, resolvable=False)
        if claim.deleting:
            return PreFilterRefusal(NAME, f'persistentvolumeclaim "{name}" is being deleted', resolvable=False)
    if storage.once(pod_claims, pod).immediate:
        return PreFilterRefusal(NAME, UNBOUND_IMMEDIATE, resolvable=False)
    return None


def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
    """Yield rejections; a node may fail for bound and for unbound claims: two reasons, as for NodeResourcesFit."""
    if not pod.volumes:
        return
    claims = state.storage.once(pod_claims, pod)
    yield from _reject_bound(claims.bound, state, among)
    if claims.delayed:
        conflict, starved = _unbindable(claims.delayed, state, among)
        yield Rejection(NAME, BIND_CONFLICT, conflict, resolvable=False)
        yield Rejection(NAME, NO_SPACE, starved, resolvable=False)


def _unbindable(claims: tuple[Claim, ...], state: ClusterState, among: NodeSet) -> tuple[NodeSet, NodeSet]:
    """Return the nodes without a volume for the delayed claims, and those without space for one."""
    if len(claims) == 1 and SELECTED_NODE not in claims[0].annotations:
        return _unprovided(claims, state, among & ~_volumes_at(claims[0], state))
    conflict = starved = EMPTY
    for nodes, choice in choices(claims, state, among):
        if choice == BIND_CONFLICT:
            conflict |= nodes
        elif choice == NO_SPACE:
            starved |= nodes
    return conflict, starved


def _reject_bound(claims: Iterable[Claim], state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
    for claim in claims:
        volume = state.storage.volumes.get(claim.volume_name)
        if volume is None:
            yield Rejection(NAME, NO_VOLUME, among, resolvable=False)
            return
        unreachable = among & ~reachable(volume, state.index)
        if unreachable:
            yield Rejection(NAME, NODE_CONFLICT, unreachable, resolvable=False)
            among &= ~unreachable


# --- claims ---------------------------------------------------------------------------------------------------------


def pod_claims(pod: Pod, storage: Storage) -> PodClaims:
    """Return the existing claims of a pod; PreFilter refuses a pod with missing claims."""
    bound, immediate, delayed = [], [], []
    for volume in pod.volumes:
        if volume.kind == "persistentVolumeClaim":
            claim = storage.claim(pod.namespace, volume.claim)
        elif volume.kind == "ephemeral":
            claim = ephemeral_claim(pod, volume)
        else:
            continue
        if claim is None:
            continue
        if is_bound(claim, storage):
            bound.append(claim)
        elif _is_delayed(claim, storage) and not claim.volume_name:
            delayed.append(claim)
        else:
            immediate.append(claim)
    return PodClaims(tuple(bound), tuple(immediate), tuple(delayed))


def ephemeral_claim(pod: Pod, volume: Volume) -> Claim | None:
    """Return the claim that the ephemeral volume controller makes from a volume's template."""
    template = volume.disk.get("volumeClaimTemplate")
    if not isinstance(template, dict):
        return None
    return decode_claim(template, pod.namespace)


def is_bound(claim: Claim, storage: Storage) -> bool:
    """Return whether the claim is bound, or comes from a manifest and will be bound to its existing volume at once."""
    if not claim.volume_name:
        return False
    if BIND_COMPLETED in claim.annotations or claim.phase == "Bound":
        return True
    volume = storage.volumes.get(claim.volume_name)
    if claim.phase or volume is None:
        return False
    return _satisfies(volume, claim, storage) if volume.claim_ref is None else _reserved_for(volume, claim)


def _satisfies(volume: PersistentVolume, claim: Claim, storage: Storage) -> bool:
    """Return checkVolumeSatisfyClaim of ``pkg/controller/volume/persistentvolume/pv_controller.go``.

    Admission gives a claim without a class the default class, which the volume must have too.
    """
    storage_class = storage.class_of(claim)
    return (
        volume.capacity >= claim.request
        and volume.storage_class == (storage_class.name if storage_class is not None else claim.storage_class or "")
        and volume.volume_mode == claim.volume_mode
        and set(claim.access_modes) <= set(volume.access_modes)
    )


def _is_delayed(claim: Claim, storage: Storage) -> bool:
    storage_class = _class_of(claim, storage)
    return storage_class is not None and storage_class.binding_mode == "WaitForFirstConsumer"


def _class_of(claim: Claim, storage: Storage) -> StorageClass | None:
    return storage.class_of(claim) if claim.storage_class != "" else None


# --- delayed binding ------------------------------------------------------------------------------------------------


def choices(claims: tuple[Claim, ...], state: ClusterState, among: NodeSet) -> Iterator[tuple[NodeSet, Choice | str]]:
    """Yield (nodes, choice or reason) for groups of nodes that are equal for the claims.

    Mirrors FindPodVolumes: a claim with a selected node is provisioned there; the others, smallest first, take the
    smallest matching volume; claims without one are provisioned.
    """
    sent = [c for c in claims if SELECTED_NODE in c.annotations]
    for claim in sent:
        there = state.index.named([claim.annotations[SELECTED_NODE]])
        if among & ~there:
            yield among & ~there, BIND_CONFLICT
        among &= there
    if not among:
        return
    free = sorted((c for c in claims if SELECTED_NODE not in c.annotations), key=lambda c: c.request)
    groups = _alike(claims, state, among)
    firsts = _matching_volumes(free[0], state, groups) if free else ()
    for number, nodes in enumerate(groups):
        taken: dict[str, PersistentVolume] = {}
        static, provision = [], list(sent)
        for claim in free:
            volume = firsts[number] if claim is free[0] else _matching_volume(claim, taken, state, nodes)
            if volume is None:
                provision.append(claim)
            else:
                taken[volume.name] = volume
                static.append((claim, volume))
        conflict, starved = _unprovided(provision, state, nodes)
        reason = BIND_CONFLICT if conflict else NO_SPACE if starved else ""
        yield nodes, reason or Choice(tuple(static), tuple(provision))


def _alike(claims: Iterable[Claim], state: ClusterState, among: NodeSet) -> Sequence[NodeSet]:
    """Return a partition of ``among``: nodes of one part are equal for all volumes, topologies and capacities."""
    if among.bit_count() == 1:
        return [among]
    storage = state.storage
    wanted = frozenset(
        (storage_class.name, c.request) for c in claims if (storage_class := _class_of(c, storage)) is not None
    )
    asked = storage.terms_of_volumes, storage.classes, storage.capacities
    key = (wanted, *map(Itself, asked))
    if key not in state.alike:
        if len(state.alike) == _KEPT:
            state.alike.clear()
        groups = [state.index.all]
        for nodes in _distinctions(wanted, state):
            groups = [part for group in groups for part in (group & nodes, group & ~nodes) if part]
        state.alike[key] = groups
    return [part for group in state.alike[key] if (part := group & among)]


def _distinctions(wanted: Collection[tuple[str, int]], state: ClusterState) -> Iterator[NodeSet]:
    storage = state.storage
    for terms in storage.terms({name for name, _ in wanted}):
        yield state.index.matching({}, terms)
    for name, request in sorted(wanted):
        offer = _offer(storage.classes[name], request, state)
        yield offer.allowed
        yield from grouped((position, free.capacity) for position, free in (offer.space or {}).items()).values()


def _matching_volumes(
    claim: Claim, state: ClusterState, groups: Sequence[NodeSet]
) -> Sequence[PersistentVolume | None]:
    """Return ``_matching_volume`` for each group of equal nodes, for the claim of a pod that chooses first."""
    if len(groups) == 1:
        return [_matching_volume(claim, {}, state, groups[0])]
    volumes: list[PersistentVolume | None] = [None] * len(groups)
    of_node = {lowest(nodes): number for number, nodes in enumerate(groups)}
    left = of(of_node)
    reserved = _reserved(claim, state)
    loose = _loose(claim, state)
    for volume in loose.pool.some(loose.open_to(claim)) if reserved is None else (reserved,):
        if not left:
            break
        open_nodes = reachable(volume, state.index) & left
        for position in positions(open_nodes):
            volumes[of_node[position]] = volume
        left &= ~open_nodes
    return volumes


def _matching_volume(
    claim: Claim, taken: Mapping[str, PersistentVolume], state: ClusterState, nodes: NodeSet
) -> PersistentVolume | None:
    """Return FindMatchingVolume for equal nodes: a volume reserved for the claim, else the smallest that matches."""
    reserved = _reserved(claim, state, taken)
    if reserved is not None:
        return reserved if reachable(reserved, state.index) & nodes else None
    loose = _loose(claim, state)
    within_reach = loose.open_to(claim) & reach_of(loose.pool, state).of(lowest(nodes))
    return next((volume for volume in loose.pool.some(within_reach) if volume.name not in taken), None)


def _volumes_at(claim: Claim, state: ClusterState) -> NodeSet:
    """Return the nodes on which FindMatchingVolume finds a volume for the only claim of a pod."""
    reserved = _reserved(claim, state)
    if reserved is not None:
        return reachable(reserved, state.index)
    loose = _loose(claim, state)
    return reach_of(loose.pool, state).nodes(loose.open_to(claim))


def _loose(claim: Claim, state: ClusterState) -> FreeVolumes:
    """Return the volumes of the claim's class that are reserved for nobody."""
    wanted = _class_of(claim, state.storage)
    return NOTHING_LOOSE if wanted is None else state.storage.loose(wanted.name)


def _reserved(claim: Claim, state: ClusterState, taken: Collection[str] = ()) -> PersistentVolume | None:
    """Return the first volume that is reserved for a claim and fits it: then it is the only choice."""
    wanted = _class_of(claim, state.storage)
    for volume in state.storage.reserved(claim):
        if (
            wanted is not None
            and volume.storage_class == wanted.name
            and volume.name not in taken
            and _reserved_for(volume, claim)
            and volume.capacity >= claim.request
            and volume.volume_mode == claim.volume_mode
            and not volume.deleting
        ):
            return volume
    return None


def _reserved_for(volume: PersistentVolume, claim: Claim) -> bool:
    """Return IsVolumeBoundToClaim."""
    if volume.claim_ref is None:
        return False
    namespace, name, uid = volume.claim_ref
    return (namespace, name) == (claim.namespace, claim.name) and (not uid or uid == claim.uid)


def _unprovided(claims: Iterable[Claim], state: ClusterState, nodes: NodeSet) -> tuple[NodeSet, NodeSet]:
    """Return those of some nodes that cannot have the claims provisioned (checkVolumeProvisions), and that lack space.

    The first claim that a node cannot have decides.
    """
    conflict = starved = EMPTY
    for claim in claims:
        left = nodes & ~(conflict | starved)
        storage_class = _class_of(claim, state.storage)
        if storage_class is None or storage_class.provisioner in ("", NO_PROVISIONER):
            return conflict | left, starved
        offer = _offer(storage_class, claim.request, state)
        conflict |= left & ~offer.allowed
        starved |= left & offer.allowed & ~offer.roomy
    return conflict, starved


class _Offer(Struct, frozen=True):
    """Where a volume of a class and size can be provisioned."""

    read: tuple[object, object]
    """From which objects this was read."""
    allowed: NodeSet
    """The nodes that the class allows."""
    space: Mapping[int, StorageCapacity] | None
    """Position → the first capacity that suffices (hasEnoughCapacity); None where nobody checks.

    A driver that publishes any CSIStorageCapacity is assumed to require the check.
    """
    roomy: NodeSet
    """The nodes with space, or where nobody checks."""


def _offer(storage_class: StorageClass, request: int, state: ClusterState) -> _Offer:
    storage, known = state.storage, state.offers
    offer: _Offer | None = known.get((storage_class.name, request))
    if offer is None or offer.read[0] is not storage.classes or offer.read[1] is not storage.capacities:
        read, allowed = (storage.classes, storage.capacities), _allowed(storage_class, state)
        space = _space(storage_class, request, state)
        roomy = state.index.all if space is None else of(space)
        offer = known[storage_class.name, request] = _Offer(read, allowed, space, roomy)
    return offer


def _space(storage_class: StorageClass, request: int, state: ClusterState) -> Mapping[int, StorageCapacity] | None:
    storage = state.storage
    if not storage.capacities or not request:
        return None
    same_driver = {c.name for c in storage.classes.values() if c.provisioner == storage_class.provisioner}
    if not any(capacity.storage_class in same_driver for capacity in storage.capacities):
        return None
    roomy: dict[int, StorageCapacity] = {}
    for capacity in storage.capacities:
        limit = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
        if capacity.storage_class == storage_class.name and limit is not None and limit >= request:
            for position in positions(state.index.selected_by(capacity.topology)):
                roomy.setdefault(position, capacity)
    return roomy


def _allowed(storage_class: StorageClass, state: ClusterState) -> NodeSet:
    """Return the nodes of MatchTopologySelectorTerms: any term, all its keys; no terms allow every node."""
    index, terms = state.index, storage_class.allowed_topologies
    if not terms:
        return index.all
    allowed = EMPTY
    for term in terms:
        in_term = index.all if term else EMPTY
        for key, values in term.items():
            inside = EMPTY
            for value in values:
                inside |= index.with_label(key, value)
            in_term &= inside
        allowed |= in_term
    return allowed


def capacity_for(
    claim: Claim, storage_class: StorageClass, state: ClusterState, nodes: NodeSet
) -> StorageCapacity | None:
    """Return the capacity from which equal nodes provision the volume of a claim; None where nobody checks."""
    return (_offer(storage_class, claim.request, state).space or {}).get(lowest(nodes))
