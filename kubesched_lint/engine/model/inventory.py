"""All objects of the manifests, or of the snapshot, by kind; one inventory can override another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.model.workloads.workload import Workload

if TYPE_CHECKING:
    from kubesched_lint.engine.model.devices.devices import (
        DeviceClaim,
        DeviceClaimTemplate,
        DeviceClass,
        DeviceTaintRule,
        ResourceSlice,
    )
    from kubesched_lint.engine.model.labels import Labels
    from kubesched_lint.engine.model.nodes.node import Node, NodeOverlay, NodePool
    from kubesched_lint.engine.model.nodes.node_makers import NodeMaker
    from kubesched_lint.engine.model.pod import BoundPod, SchedulerProfile
    from kubesched_lint.engine.model.policy import (
        Autoscaler,
        DisruptionBudget,
        GroupTemplates,
        LimitRange,
        Namespace,
        PodGroup,
        PriorityClass,
        ReplicaSet,
        ResourceQuota,
        RuntimeClass,
        Service,
        ServiceAccount,
    )
    from kubesched_lint.engine.model.storage import (
        Claim,
        CSIDriver,
        CSINode,
        PersistentVolume,
        StorageCapacity,
        StorageClass,
        VolumeAttachment,
    )
    from kubesched_lint.engine.model.webhooks import WebhookConfiguration
    from kubesched_lint.engine.model.workloads.vertical import VerticalAutoscaler


class Inventory(Struct, frozen=True, eq=False, dict=True):
    """``workloads`` keep the order in which they were read; only snapshots fill ``nodes`` and ``pods``."""

    workloads: tuple[Workload, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    services: tuple[Service, ...] = ()
    claims: tuple[Claim, ...] = ()
    volumes: tuple[PersistentVolume, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    csi_nodes: tuple[CSINode, ...] = ()
    csi_drivers: tuple[CSIDriver, ...] = ()
    storage_capacities: tuple[StorageCapacity, ...] = ()
    volume_attachments: tuple[VolumeAttachment, ...] = ()
    autoscalers: tuple[Autoscaler, ...] = ()
    vertical_autoscalers: tuple[VerticalAutoscaler, ...] = ()
    budgets: tuple[DisruptionBudget, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    runtime_classes: tuple[RuntimeClass, ...] = ()
    service_accounts: tuple[ServiceAccount, ...] = ()
    device_classes: tuple[DeviceClass, ...] = ()
    resource_slices: tuple[ResourceSlice, ...] = ()
    device_claims: tuple[DeviceClaim, ...] = ()
    device_claim_templates: tuple[DeviceClaimTemplate, ...] = ()
    device_taint_rules: tuple[DeviceTaintRule, ...] = ()
    pod_groups: tuple[PodGroup, ...] = ()
    group_templates: tuple[GroupTemplates, ...] = ()
    limit_ranges: tuple[LimitRange, ...] = ()
    quotas: tuple[ResourceQuota, ...] = ()
    replica_sets: tuple[ReplicaSet, ...] = ()
    node_pools: tuple[NodePool, ...] = ()
    node_overlays: tuple[NodeOverlay, ...] = ()
    node_makers: tuple[NodeMaker, ...] = ()
    webhooks: tuple[WebhookConfiguration, ...] = ()
    schedulers: tuple[SchedulerProfile, ...] = ()
    """The profiles of kube-scheduler, if its configuration is known."""
    nodes: tuple[Node, ...] = ()
    pods: tuple[BoundPod, ...] = ()
    allocator: tuple[Any, ...] = ()
    """The ``engine.cluster.devices.Devices`` that a state allocates; empty: devices are not modelled."""

    def over(self, other: Inventory) -> Inventory:
        """Return the objects of both; for the same kind, namespace and name, the object of this inventory.

        A namespace keeps the labels of the other inventory that this one does not set, as kubectl apply does.
        """
        merged = Inventory(**{name: _over(items, getattr(other, name)) for name, items in self.lists()})
        if not (self.namespaces and other.namespaces):
            return merged
        theirs = {n.name: n.labels for n in other.namespaces}
        labelled = (replace(n, labels={**theirs.get(n.name, {}), **n.labels}) for n in merged.namespaces)
        return replace(merged, namespaces=tuple(labelled))

    def lists(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Yield the name of each field with its objects."""
        for name in self.__struct_fields__:
            yield name, getattr(self, name)

    @cached_property
    def lasting(self) -> dict[str, Any]:
        """What many cluster states with these objects compute alike, by name, whichever pods run."""
        return {}

    def with_pods(self, pods: Iterable[BoundPod], **others: tuple[Any, ...]) -> Inventory:
        """Return the objects with other running pods, and others of the kinds in ``others``."""
        changed = replace(self, pods=tuple(pods), **others)
        changed.__dict__.update(lasting=self.lasting)
        return changed

    @cached_property
    def claims_by_name(self) -> Mapping[tuple[str, str], Claim]:
        """(namespace, name) → claim."""
        return {(c.namespace, c.name): c for c in self.claims}

    @cached_property
    def volumes_by_name(self) -> Mapping[str, PersistentVolume]:
        """Name → volume."""
        return {v.name: v for v in self.volumes}

    def services_of(self, namespace: str, labels: Labels) -> Iterator[Service]:
        """Yield the Services of a namespace that select these labels; one without a selector selects none."""
        services = []
        for pair in labels.items() if self.services else ():
            for number, service in self._services_by_pair.get((namespace, *pair), ()):
                if all(labels.get(k) == v for k, v in service.selector.items()):
                    services.append((number, service))
        if len(services) > 1:  # in the order of the labels with which their selectors begin
            at = {key: place for place, key in enumerate(labels)}
            services.sort(key=lambda numbered: (at[next(iter(numbered[1].selector))], numbered[0]))
        yield from (service for _, service in services)

    @cached_property
    def _services_by_pair(self) -> Mapping[tuple[str, str, str], Sequence[tuple[int, Service]]]:
        """(namespace, key, value) → the Services, numbered, of whose labels this one is asked for by the fewest others.

        Of several with the same selector it is the first.
        """
        first = {(s.namespace, *sorted(s.selector.items())): s for s in reversed(self.services)}
        users = Counter((s.namespace, *pair) for s in first.values() for pair in s.selector.items())
        by_pair: dict[tuple[str, str, str], list[tuple[int, Service]]] = {}
        for number, service in enumerate(self.services):
            if service.selector and first[service.namespace, *sorted(service.selector.items())] is service:
                pairs = [(service.namespace, *pair) for pair in service.selector.items()]
                by_pair.setdefault(min(pairs, key=users.__getitem__), []).append((number, service))
        return by_pair

    @cached_property
    def has_duplicates(self) -> bool:
        """Whether an object is defined more than once."""
        return any(len(items) > 1 and len(set(map(identity, items))) < len(items) for _, items in self.lists())

    @cached_property
    def has_namesakes(self) -> bool:
        """Whether two workloads share kind and name, in the same namespace or in two."""
        return len({(w.ref.kind, w.ref.name) for w in self.workloads}) < len(self.workloads)

    def duplicates(self) -> Mapping[tuple[str, object], Sequence[Any]]:
        """Return (field, identity) → definitions, for objects that are defined more than once."""
        definitions: dict[tuple[str, object], list[Any]] = {}
        for name, items in self.lists() if self.has_duplicates else ():
            if len(items) > 1:
                for item in items:
                    definitions.setdefault((name, identity(item)), []).append(item)
        return {key: items for key, items in definitions.items() if len(items) > 1}


def _over(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, ...]:
    if not (ours and theirs):
        return ours or theirs
    named = set(map(identity, ours))
    return (*(item for item in theirs if identity(item) not in named), *ours)


def identity(item: Any) -> object:
    """Return the key that all definitions of one object share within a kind; the item itself if it has no name.

    A name that ends with a dash is a ``generateName``: each definition is an object of its own.
    """
    custom = item.custom if isinstance(item, Workload) else None
    name = getattr(item, "name", None) if custom is None else custom.resource.name
    if not name or name.endswith("-"):
        return item if name is None else Itself(item)
    return (
        item.key if isinstance(item, Workload) else (getattr(item, "system", ""), getattr(item, "namespace", ""), name)
    )
