"""The owners of running pods: controllers by name, selector and template hash, as the controllers identify them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property, partial

from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import go_int
from kubesched_lint.engine.model.pod import BoundPod, Owner, Pod
from kubesched_lint.engine.model.policy import ReplicaSet
from kubesched_lint.engine.model.workloads.workload import Custom, Workload

HASH = "pod-template-hash"

_ADOPTING = ("DaemonSet", "ReplicaSet", "ReplicationController", "StatefulSet")

Identity = tuple[str, str, str]
"""kind, namespace, name."""


def ordinal_of(bound: BoundPod) -> int | None:
    """Return the ordinal in the name of a StatefulSet's pod, which is 32 bits (getParentNameAndOrdinal)."""
    digits = bound.name.rpartition("-")[2]
    ordinal = go_int(digits) if digits[:1].isdigit() else None
    return ordinal if ordinal is not None and ordinal < 1 << 31 else None


def _may_be_of(workload: Workload, bound: BoundPod) -> bool:
    """Return whether the name of a pod lets it be of a workload: a StatefulSet leaves others alone (isMemberOf)."""
    if workload.kind != "StatefulSet":
        return True
    is_named = workload.custom is not None or bound.name.rpartition("-")[0] == workload.name
    return is_named and ordinal_of(bound) is not None


class Running:
    """The owners of an inventory's running pods; indexes are built on first use."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory

    def pods_of(self, workload: Workload) -> tuple[BoundPod, ...]:
        if workload.custom is not None:
            return tuple(filter(partial(_may_be_of, workload), self._of_custom(workload, workload.custom)))
        pods = self._pods_of(workload.kind, workload.namespace, workload.name)
        if workload.kind == "StatefulSet":
            pods = [bound for bound in pods if _may_be_of(workload, bound)]
        if workload.kind in _ADOPTING and workload.namespace in self._orphans:
            return (*pods, *self._adopted(workload))
        if workload.kind != "Deployment" or workload.selector is None:
            return tuple(pods)
        known = self._replica_sets
        selector = workload.selector
        # An owner listed in the snapshot is certain; an owner inferred from names must also select the pod.
        return tuple(
            bound
            for bound in pods
            if (bound.owner is not None and (bound.namespace, bound.owner.name) in known)
            or selector.matches(bound.pod.labels)
        )

    def replica_sets_of(self, workload: Workload) -> tuple[ReplicaSet, ...]:
        """Return the revisions of a Deployment, newest first."""
        if workload.custom is not None:
            return ()
        return self._revisions.get((workload.namespace, workload.name), ())

    def live(self, workload: Workload) -> Workload | None:
        """Return the workload as the snapshot holds it; None if it is not there."""
        if workload.custom is not None:
            return None
        return self._workloads.get((workload.kind, workload.namespace, workload.name))

    def workload_of(self, bound: BoundPod) -> Workload | None:
        """Return the workload of the snapshot that owns a pod, for a Deployment's ReplicaSet the Deployment."""
        owners = (self._workloads.get(identity) for identity in reversed([*self.owners_of(bound)]))
        return next(filter(None, owners), None)

    def _of_custom(self, workload: Workload, custom: Custom) -> Iterator[BoundPod]:
        """Yield the pods with the labels that a card names, whose controller is of the kind that it names.

        A ReplicaSet may have another owner: then the pods are not of this resource.
        """
        selector = custom.selector
        for bound in self._owned.get((workload.namespace, custom.owner), ()) if selector is not None else ():
            if selector is not None and selector.matches(bound.pod.labels):
                owner = bound.owner
                direct = owner is not None and custom.owner == owner.kind
                known = self._replica_sets.get((bound.namespace, owner.name)) if owner is not None and direct else None
                is_named = owner is not None and fnmatchcase(owner.name, custom.owner_name or "*")
                if is_named and (known is None or known.owner_kind == custom.ref.kind):
                    yield bound

    @cached_property
    def _owned(self) -> dict[tuple[str, str], list[BoundPod]]:
        """(namespace, kind of controller) → its pods; those of a Deployment's ReplicaSet are also the Deployment's."""
        pods_of_kinds: dict[tuple[str, str], list[BoundPod]] = {}
        for bound in self._inventory.pods:
            for kind in {kind for kind, _, _ in self.owners_of(bound)} if bound.owner is not None else ():
                pods_of_kinds.setdefault((bound.namespace, kind), []).append(bound)
        return pods_of_kinds

    def _adopted(self, workload: Workload) -> Iterator[BoundPod]:
        """Yield the pods without a controller that this one adopts (``controller_ref_manager.go``, ClaimObject).

        A StatefulSet adopts only pods with one of its names. The ReplicaSets of a Deployment select a hash that no
        other pod has, and Jobs the uid of the Job.
        """
        selector = workload.selector
        for bound in self._orphans[workload.namespace] if selector is not None else ():
            if selector is not None and selector.matches(bound.pod.labels) and _may_be_of(workload, bound):
                yield bound

    @cached_property
    def _orphans(self) -> dict[str, list[BoundPod]]:
        """Namespace → pods that are not terminating and have no controller.

        In sketches a hash marks a Deployment's pods.
        """
        orphans: dict[str, list[BoundPod]] = {}
        for bound in self._inventory.pods:
            if bound.owner is None and not bound.terminating and HASH not in bound.pod.labels:
                orphans.setdefault(bound.namespace, []).append(bound)
        return orphans

    @cached_property
    def _workloads(self) -> dict[Identity, Workload]:
        return {(w.kind, w.namespace, w.name): w for w in self._inventory.workloads}

    @cached_property
    def _replica_sets(self) -> dict[tuple[str, str], ReplicaSet]:
        return {(r.namespace, r.name): r for r in self._inventory.replica_sets}

    @cached_property
    def _revisions(self) -> dict[tuple[str, str], tuple[ReplicaSet, ...]]:
        revisions: dict[tuple[str, str], list[ReplicaSet]] = {}
        for revision in sorted(self._inventory.replica_sets, key=lambda r: -r.revision):
            if revision.owner_kind == "Deployment":
                revisions.setdefault((revision.namespace, revision.owner), []).append(revision)
        return {key: tuple(revisions) for key, revisions in revisions.items()}

    def _pods_of(self, kind: str, namespace: str, name: str) -> Sequence[BoundPod]:
        """Return the pods of a controller; only the namespaces that are asked for are indexed."""
        known = self._indexed.get(namespace)
        if known is None:
            known = self._indexed[namespace] = self._by_owner(self._in_namespace.get(namespace, ()))
        return known.get((kind, namespace, name), ())

    @cached_property
    def _indexed(self) -> dict[str, dict[Identity, list[BoundPod]]]:
        return {}

    @cached_property
    def _in_namespace(self) -> dict[str, list[BoundPod]]:
        by_namespace = defaultdict[str, list[BoundPod]](list)
        for bound in self._inventory.pods:
            by_namespace[bound.pod.namespace].append(bound)
        return by_namespace

    def _by_owner(self, pods: Iterable[BoundPod]) -> dict[Identity, list[BoundPod]]:
        by_owner: dict[Identity, list[BoundPod]] = {}
        known: dict[tuple[Pod, Owner | None], list[list[BoundPod]]] = {}
        for bound in pods:
            kind = (bound.pod, bound.owner)  # replicas share both
            members = known.get(kind) if bound.owner is not None else None
            if members is None:
                members = known[kind] = [by_owner.setdefault(identity, []) for identity in self.owners_of(bound)]
            for sharing in members:
                sharing.append(bound)
        return by_owner

    def owners_of(self, bound: BoundPod) -> Iterator[Identity]:
        """Yield its controller, and for a ReplicaSet also the Deployment that owns it."""
        namespace, owner = bound.namespace, bound.owner
        template_hash = bound.pod.labels.get(HASH)
        if owner is None:
            yield "Pod", namespace, bound.name
            if template_hash:
                # A pod of a sketch: the ReplicaSet controller names pods deployment-hash-random.
                deployment, separator, _ = bound.name.rpartition(f"-{template_hash}-")
                if separator:
                    yield "Deployment", namespace, deployment
            return
        yield owner.kind, namespace, owner.name
        if owner.kind != "ReplicaSet":
            return
        known = self._replica_sets.get((namespace, owner.name))
        if known is not None:
            if known.owner_kind == "Deployment":
                yield "Deployment", namespace, known.owner
        elif template_hash and owner.name.endswith(f"-{template_hash}"):
            # The Deployment controller names a ReplicaSet deployment-hash (deployment/sync.go, getNewReplicaSet).
            yield "Deployment", namespace, owner.name[: -len(template_hash) - 1]
