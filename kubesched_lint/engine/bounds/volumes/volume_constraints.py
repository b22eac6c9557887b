"""Which nodes a waiting pod may need because its volumes are there, and how many pods that leaves in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.cluster.storage.storage import Storage
from kubesched_lint.engine.controllers.statefulset import ClaimNames, claim_name, ordinals_with, pod_with_claims
from kubesched_lint.engine.events.answers.event_bounds import ON_NOTHING, Bound, Meanwhile
from kubesched_lint.engine.events.limits import MOST_TRIED
from kubesched_lint.engine.events.start.quotas import most_pods
from kubesched_lint.engine.events.start.simulated_set import (
    SimulatedMember,
    SimulatedSet,
    once_per_member,
    once_per_set,
)
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.storage import Claim
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scheduler.binding import topology_keys
from kubesched_lint.engine.scheduler.framework import reaching_volumes
from kubesched_lint.engine.scheduler.plugins.node_volume_limits import lacking, migrated, nearly_full
from kubesched_lint.engine.scheduler.plugins.volume_binding import NO_PROVISIONER, ephemeral_claim, pod_claims

_KEYS = {ZONE: "zone ", HOSTNAME: "node "}
MAY_TIE = Bound(0, "its volumes may hold it on nodes that are full, drained or lost")
REFUSED = Bound(0, "each node lacks the driver of its volumes, or may reach the driver's limit")


class VolumeConstraint(NamedTuple):
    """Where the volumes of a workload may hold its pods."""

    open_: NodeSet
    """Nodes that refuse no new volume, whatever other pods are there."""
    reaches: Mapping[str, NodeSet]
    """In words: sets of nodes; a pod that ran before may only return to those of one of them. Empty: to any."""
    homes: tuple[NodeSet, ...] = ()
    """For each of its pods, the nodes that reach its volumes, if these are known."""


def tie_of(member: SimulatedMember, wanted: int, meanwhile: Meanwhile) -> VolumeConstraint | None:
    """Return where volumes may tie ``wanted`` pods of a workload; None if that is not known."""
    simulated = member.set
    workload, pod = member.workload, member.pod
    ephemeral = [c for v in pod.volumes if v.kind == "ephemeral" and (c := ephemeral_claim(pod, v)) is not None]
    if any(volume.claim for volume in pod.volumes) or not _are_made_where_pods_land(simulated, ephemeral):
        return None
    if not workload.claim_templates:
        return VolumeConstraint(
            _attaching(simulated, _drivers(simulated, ephemeral)) if ephemeral else simulated.index.all, {}
        )
    if member.number in simulated.returning:
        return None if ephemeral else _known_tie(member, wanted)
    # Where pods run, or nodes changed since the pods came, volumes may be where nothing shows them.
    if member.running or simulated.kept_on or not _are_made_anew(simulated, workload, wanted):
        return None
    open_ = _attaching(simulated, _drivers(simulated, [*workload.claim_templates, *ephemeral]))
    if meanwhile.own_stay:
        return VolumeConstraint(open_, {})
    classes = simulated.cluster.storage.classes
    provisioners = frozenset(classes[t.storage_class or ""].provisioner for t in workload.claim_templates)
    reaches = _reaches(simulated, provisioners, member.usable)
    return VolumeConstraint(open_, reaches) if len(reaches) <= MOST_TRIED else None


def have_volumes(pods: Iterable[Pod], storage: Storage) -> bool:
    """Whether each claim of these pods is bound to a volume that exists, and that more than one pod may use."""
    for pod in pods:
        claims = pod_claims(pod, storage)
        mounted = sum(v.kind in ("persistentVolumeClaim", "ephemeral") for v in pod.volumes)
        known = (c.volume_name in storage.volumes and "ReadWriteOncePod" not in c.access_modes for c in claims.bound)
        if len(claims.bound) != mounted or not all(known):
            return False
    return True


def _known_tie(member: SimulatedMember, wanted: int) -> VolumeConstraint | None:
    """Return where the volumes hold pods that take over those of running ones."""
    storage, templates = member.set.cluster.storage, member.workload.claim_templates
    classes = [storage.classes.get(t.storage_class or "") for t in templates]
    homes = _homes(member)
    if len(homes) != wanted or not all(homes):
        return None
    drivers = frozenset(migrated(c.provisioner) for c in classes if c is not None)
    return VolumeConstraint(_attaching(member.set, drivers), {}, homes) if all(classes) else None


@once_per_member
def _homes(member: SimulatedMember) -> tuple[NodeSet, ...]:
    return tuple(reaching_volumes(pod, member.set.cluster, member.set.index.all) for pod in member.returning)


def most_reached(member: SimulatedMember, wanted: int) -> Bound | None:
    """Return how many of ``wanted`` pods of a StatefulSet have a node that reaches their volumes; None if all may.

    No event moves a volume, frees it, or deletes the claim of an ordinal that is wanted. Pods that run prove that their
    nodes reached their volumes, whatever labels these have now.
    """
    if any(bound.node for bound in member.running):
        return None
    lost = {number: pod for number, pod in homeless(member).items() if number < wanted}
    if not lost:
        return None
    first = min(lost)
    volume = next(v.claim for v in lost[first].volumes)
    in_turn = member.workload.pod_management == "OrderedReady"  # no pod is made after one that waits
    return Bound(
        first if in_turn else wanted - len(lost),
        f"no node that its pod may use reaches the volume of claim {volume}",
        rests_on=ON_NOTHING,
    )


@once_per_member
def homeless(member: SimulatedMember) -> Mapping[int, Pod]:
    """Return number of a pod, from 0 → the pod with its bound claims, if none of its nodes reaches their volumes."""
    workload, storage = member.workload, member.set.cluster.storage
    if workload.kind != "StatefulSet" or not workload.claim_templates or not member.usable:
        return {}
    names = ClaimNames(
        name
        for (namespace, name), claim in storage.claims.items()
        if namespace == workload.namespace and claim.volume_name in storage.volumes
    )
    homeless_pods = {}
    for number in sorted(ordinal - workload.first_ordinal for ordinal in ordinals_with(workload, names)):
        pod = pod_with_claims(workload, replace(member.pod, volumes=()), number)
        pod = replace(pod, volumes=tuple(v for v in pod.volumes if v.claim in names.all))
        if number >= 0 and pod.volumes and not reaching_volumes(pod, member.set.cluster, member.usable):
            homeless_pods[number] = pod
    return homeless_pods


def least_at_home(
    homes: Sequence[NodeSet], wanted: int, open_: NodeSet, closed: Callable[[int, NodeSet], int]
) -> Bound:
    """Return ``wanted`` if the nodes that reach a pod's volumes keep one that is open to it, for each pod, else 0.

    ``closed`` is the most nodes of a set that others and a number of its own pods close.
    """
    for home in dict.fromkeys(homes):
        open_home = home & open_
        if open_home.bit_count() <= closed(sum(bool(home & other) for other in homes) - 1, open_home):
            return Bound(0, "the nodes that reach the volumes of one of its pods may fill up")
    return Bound(wanted, "each of its pods finds room on the nodes that reach its volumes")


def least_tied(
    tie: VolumeConstraint, wanted: int, open_: NodeSet, closed: Callable[[NodeSet, int], int], fewer: int
) -> Bound:
    """Return ``wanted`` if each set of nodes to which volumes may tie a pod keeps one that is open to it, else 0.

    ``closed`` is the most nodes of a set that others close, beside the ``fewer`` that are lost, whichever these are.
    """
    for words, reach in tie.reaches.items():
        home = reach & open_
        if home.bit_count() <= closed(home, fewer) + fewer:
            why = "where other pods may fill all nodes" if home else "where no node is left for it"
            return Bound(0, f"its volumes may hold it in {words}, {why}")
    return Bound(wanted, f"its volumes may hold it in {' or '.join(tie.reaches)}, and none of these can fill up")


def _are_made_where_pods_land(simulated: SimulatedSet, claims: Sequence[Claim]) -> bool:
    """Whether the classes of new claims provision a volume on any node where a pod lands."""
    objects, storage = simulated.objects, simulated.cluster.storage
    if not claims:
        return True
    if objects.storage_capacities:
        return False
    anywhere = {
        c.name
        for c in objects.storage_classes
        if c.binding_mode == "WaitForFirstConsumer" and not c.allowed_topologies and c.provisioner != NO_PROVISIONER
    }
    return not any(c.storage_class not in anywhere or storage.loose(c.storage_class).left for c in claims)


def _drivers(simulated: SimulatedSet, claims: Sequence[Claim]) -> frozenset[str]:
    classes = simulated.cluster.storage.classes
    return frozenset(migrated(classes[c.storage_class or ""].provisioner) for c in claims)


def _are_made_anew(simulated: SimulatedSet, workload: Workload, wanted: int) -> bool:
    """Whether each pod's claims are new, and their class provisions a volume on any node where the pod lands."""
    if not _are_made_where_pods_land(simulated, workload.claim_templates):
        return False
    objects = simulated.objects
    taken = {c.name for c in objects.claims if c.namespace == workload.namespace}
    taken |= {v.claim_ref[1] for v in objects.volumes if v.claim_ref and v.claim_ref[0] == workload.namespace}
    return all(claim_name(workload, t, i) not in taken for t in workload.claim_templates for i in range(wanted))


def _attaching(simulated: SimulatedSet, drivers: frozenset[str]) -> NodeSet:
    """Return the nodes that never refuse a new volume because of its driver, or of the driver's limit.

    Pods of others stay where they are, so that only pods of the set bring volumes: at most all of them, of two
    revisions, come to one node.
    """
    known, state = _kept(simulated), simulated.cluster
    if drivers not in known:
        refusing = nearly_full(dict.fromkeys(drivers, 2 * _volumes_of_all(simulated)), state)
        for _, nodes in lacking(drivers, state, simulated.index.all):
            refusing |= nodes
        known[drivers] = simulated.index.all & ~refusing
    return known[drivers]


@once_per_set
def _volumes_of_all(simulated: SimulatedSet) -> int:
    """Return how many volumes all pods of the set have, as many as may ever be there at once."""
    return sum(
        most_pods(simulated.member(i)) * (len(pod.volumes) + len(workload.claim_templates))
        for i, (pod, workload) in enumerate(zip(simulated.pods, simulated.workloads, strict=True))
    )


def _reaches(simulated: SimulatedSet, provisioners: frozenset[str], usable: NodeSet) -> Mapping[str, NodeSet]:
    """Return the sets of nodes that reach volumes made for a pod on one of the usable nodes (see ``provisioned``).

    At most one more than ``MOST_TRIED``.
    """
    known, asked = _kept_reaches(simulated), (provisioners, usable)
    if asked not in known:
        storage, index = simulated.cluster.storage, simulated.index
        nodes_by_words: dict[str, NodeSet] = {}
        for node in index.nodes_of(usable):
            keys = sorted({key for each in provisioners for key in topology_keys(each, node, storage)})
            labels = {key: node.labels[key] for key in keys if key in node.labels}
            words = ", ".join(f"{_KEYS.get(key, f'{key}=')}{value}" for key, value in labels.items()) or "no node"
            if words not in nodes_by_words:
                nodes_by_words[words] = index.with_labels(labels)
            if len(nodes_by_words) > MOST_TRIED:
                break
        known[asked] = nodes_by_words
    return known[asked]


@once_per_set
def _kept(simulated: SimulatedSet) -> dict[frozenset[str], NodeSet]:
    """Return the cache of ``_attaching``."""
    return {}


@once_per_set
def _kept_reaches(simulated: SimulatedSet) -> dict[tuple[frozenset[str], NodeSet], Mapping[str, NodeSet]]:
    """Return the cache of ``_reaches``."""
    return {}
