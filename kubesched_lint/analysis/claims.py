"""The claims of a workload, and where their volumes can be reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.labels import Requirement
from kubesched_lint.record import replace

if TYPE_CHECKING:
    from kubesched_lint.analysis.facts import Facts
    from kubesched_lint.cluster.nodeset import NodeSet
    from kubesched_lint.cluster.state import ClusterState
    from kubesched_lint.findings import Path
    from kubesched_lint.model.pod import Volume
    from kubesched_lint.model.storage import Claim, PersistentVolume, StorageClass
    from kubesched_lint.model.workload import Workload


def claim_named(facts: Facts, namespace: str, name: str) -> Claim | None:
    """A claim of the set, else of the cluster."""
    return next((c for c in _claims(facts) if c.name == name and c.namespace == namespace), None)


def told_ordinals(facts: Facts, workload: Workload) -> list[int]:
    """Ordinals of a StatefulSet that have a claim, or a volume that is kept for one: of others, which may be billions,
    nothing is known.
    """
    home, most = workload.namespace, facts.replicas(workload)
    names = {claim.name for claim in _claims(facts) if claim.namespace == home}
    names |= {v.claim_ref[1] for v in _volumes(facts) if v.claim_ref is not None and v.claim_ref[0] == home}
    found = set()
    for prefix in (f"{template.name}-{workload.name}-" for template in workload.claim_templates):
        endings = (name.removeprefix(prefix) for name in names if name.startswith(prefix))
        found |= {int(e) for e in endings if e.isascii() and e.isdecimal() and len(e) < 11 and str(int(e)) == e}
    return sorted(ordinal for ordinal in found if ordinal < most)


def nearest_claim(facts: Facts, namespace: str, name: str) -> str:
    """A claim of the namespace whose name reads like ``name``; empty without one."""
    from difflib import get_close_matches

    names = [c.name for c in _claims(facts) if c.namespace == namespace]
    return next(iter(get_close_matches(name, names, n=1, cutoff=0.75)), "")


def storage_class_of(facts: Facts, claim: Claim) -> StorageClass | None:
    """The class of a claim, the default one where it names none; None when it is not known."""
    classes = _classes(facts)
    if claim.storage_class is None:
        return next((c for c in classes if c.is_default), None)
    return next((c for c in classes if c.name == claim.storage_class), None)


def bound_volume(facts: Facts, namespace: str, name: str) -> PersistentVolume | None:
    """The volume that a claim is bound to, or asks for by name."""
    claim = claim_named(facts, namespace, name)
    for volume in _volumes(facts):
        if claim is not None and claim.volume_name == volume.name:
            return volume
        if volume.claim_ref is not None and volume.claim_ref[:2] == (namespace, name):
            return volume
    return None


def unbound_claims(facts: Facts, workload: Workload) -> Iterator[tuple[Claim, Path]]:
    """Claims whose volume is still to be made, templates of a StatefulSet included, with the place that names them."""
    for template in workload.claim_templates:
        if not template.volume_name:
            yield template, (*template.path, "spec")
    templates = {c.name for c in workload.claim_templates}
    for volume in workload.pod.volumes:
        if volume.kind != "persistentVolumeClaim" or volume.name in templates:
            continue
        claim = claim_named(facts, workload.namespace, volume.claim)
        if claim is not None and bound_volume(facts, workload.namespace, volume.claim) is None:
            yield claim, (*volume.path, "claimName")


def nodes_of_volume(facts: Facts, workload: Workload, volume: Volume) -> NodeSet:
    """Usable nodes from which a volume of the pod is reachable, as VolumeBinding and VolumeZone decide."""
    from kubesched_lint.scheduler.plugins import volume_binding, volume_zone

    alone = replace(facts.pod(workload), volumes=(volume,))
    found = facts.usable(workload)
    for plugin in (volume_binding, volume_zone):
        for rejection in plugin.reject(alone, _storage_state(facts), found):
            found &= ~rejection.nodes
    return found


def topology_nodes(facts: Facts, topologies: Sequence[Mapping[str, tuple[str, ...]]]) -> NodeSet:
    """Nodes within a class's allowedTopologies: any term, all of its keys."""
    found = 0
    for term in topologies:
        here = facts.index.all
        for key, values in term.items():
            here &= facts.index.where(Requirement(key, "In", values))
        found |= here
    return found


def has_free_volume(facts: Facts, storage_class: str) -> bool:
    """Whether a volume of the class waits for a claim: then nothing need be made."""
    return any(v.storage_class == storage_class and v.claim_ref is None for v in _volumes(facts))


def without_unknown_storage(facts: Facts, workload: Workload) -> Workload:
    """The workload without the claims of which the snapshot cannot tell where they bind.

    What is unknown keeps nobody Pending: a class that no snapshot told of, a claim where none were captured, and
    volumes of an Immediate class, which are made by themselves. What is known to be missing stays.
    """
    if not workload.claim_templates and not workload.pod.volumes:
        return workload
    templates = tuple(c for c in workload.claim_templates if _is_judged(facts, c))
    volumes = tuple(v for v in workload.pod.volumes if is_known(facts, workload, v))
    pod = workload.pod if len(volumes) == len(workload.pod.volumes) else replace(workload.pod, volumes=volumes)
    return replace(workload, claim_templates=templates, pod=pod)


def is_known(facts: Facts, workload: Workload, volume: Volume) -> bool:
    """Whether the snapshot can tell where a volume of the pod binds, or that it never does."""
    if volume.kind != "persistentVolumeClaim":
        return volume.kind != "ephemeral"
    if any(volume.name == template.name for template in workload.claim_templates):
        return False  # the template's claim takes its place
    claim = claim_named(facts, workload.namespace, volume.claim)
    if claim is None:
        return facts.cluster_has("PersistentVolumeClaim")
    return bound_volume(facts, workload.namespace, volume.claim) is not None or _is_judged(facts, claim)


def _is_judged(facts: Facts, claim: Claim) -> bool:
    storage_class = storage_class_of(facts, claim)
    if storage_class is None:
        return facts.cluster_has("StorageClass")
    return storage_class.binding_mode == "WaitForFirstConsumer"


def _storage_state(facts: Facts) -> ClusterState:
    """Nodes without pods, with the storage objects of the set and of the cluster."""
    from kubesched_lint.cluster.state import ClusterState

    objects = Inventory(claims=tuple(_claims(facts)), volumes=tuple(_volumes(facts)), storage_classes=_classes(facts))
    return ClusterState(facts.index, objects)


def _claims(facts: Facts) -> Iterator[Claim]:
    yield from facts.manifests.claims
    if facts.cluster is not None:
        yield from facts.cluster.inventory.claims


def _volumes(facts: Facts) -> Iterator[PersistentVolume]:
    yield from facts.manifests.volumes
    if facts.cluster is not None:
        yield from facts.cluster.inventory.volumes


def _classes(facts: Facts) -> tuple[StorageClass, ...]:
    live = () if facts.cluster is None else facts.cluster.inventory.storage_classes
    return (*facts.manifests.storage_classes, *live)
