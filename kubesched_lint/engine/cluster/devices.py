"""Device classes, slices and claims by name: immutable, so that a state can keep, swap and restore them in one step."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import field
from msgspec.structs import replace

from kubesched_lint.engine.base.partly_compared import PartlyCompared
from kubesched_lint.engine.base.quirks import EXTENDED_RESOURCES_OF_DEVICES, has
from kubesched_lint.engine.base.releases import RECORDED
from kubesched_lint.engine.model.devices import (
    Allocation,
    Device,
    DeviceClaim,
    DeviceClaimTemplate,
    DeviceClass,
    DeviceID,
    DeviceTaint,
    DeviceTaintRule,
    ResourceSlice,
)
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.resources import DEVICE_CLASS, may_be_devices

if TYPE_CHECKING:
    from kubesched_lint.engine.model.node import Node
    from kubesched_lint.engine.model.pod import Pod

NO_EXECUTE = "NoExecute"
COUNTED = "counted"
"""How many devices pods hold decides who fits where."""
NAMED = "named"
"""It matters which devices a pod holds, and all choices of an allocator are known."""
CHOSEN = "chosen"
"""It matters which devices a pod holds, and only the choice of kube-scheduler's allocator is known."""
NOWHERE = Allocation(terms=())
"""The allocation of a claim whose node is gone, while pods that use it are still there."""


class Devices(PartlyCompared, frozen=True, dict=True):
    uncompared: ClassVar[tuple[str, ...]] = ("lasting",)
    classes: Mapping[str, DeviceClass] = field(default_factory=dict)
    slices: tuple[ResourceSlice, ...] = ()
    templates: Mapping[tuple[str, str], DeviceClaimTemplate] = field(default_factory=dict)
    """(namespace, name) → template."""
    claims: Mapping[tuple[str, str], DeviceClaim] = field(default_factory=dict)
    """(namespace, name) → claim."""

    serves_resources: bool = True
    """Classes serve extended resources: the gate DRAExtendedResource is on."""
    over_time: str = COUNTED
    """How a simulation follows them: ``COUNTED``, ``NAMED`` or ``CHOSEN``."""
    lasting: dict[Any, Any] = field(default_factory=dict)
    """What ``engine.scheduler.devices`` has computed from slices and selectors, whatever the claims are."""

    @property
    def is_counted(self) -> bool:
        """Whether a simulation follows them by counts alone."""
        return self.over_time == COUNTED

    @classmethod
    def of(cls, objects: Inventory, version: str = RECORDED) -> Devices:
        """Return the devices of a cluster of this version of Kubernetes."""
        return cls(
            {c.name: c for c in objects.device_classes},
            tuple(_tainted(objects.resource_slices, objects.device_taint_rules)),
            {(t.namespace, t.name): t for t in objects.device_claim_templates},
            {(c.namespace, c.name): c for c in objects.device_claims},
            has(version, EXTENDED_RESOURCES_OF_DEVICES),
        )

    def on_node(self, name: str) -> Hashable:
        """Return what a node announces, its devices and what they consume together, and what pods hold of them.

        Equal for two nodes if nothing but names of pools and nodes tells their devices apart.
        """
        own = [each for each in self.slices if each.access.node_name == name]
        ranks = {pool: i for i, pool in enumerate(sorted({each.pool for each in own}))}
        held = (each.id for claim in self.claims.values() if claim.allocation for each in claim.allocation.devices)
        taken = sorted((driver, ranks[pool], device) for driver, pool, device in held if pool in ranks)
        told = ((s.driver, ranks[s.pool], repr((s.slice_count, s.counter_sets, s.devices))) for s in own)
        return tuple(sorted(told)), tuple(taken)

    def announced_on(self, nodes: Iterable[Node]) -> Devices:
        """Return the devices with those that a sketch or a pool states for nodes without a slice; itself if none do."""
        stated = {offer.name_on(node.name): (offer, node.name) for node in nodes for offer in node.devices or ()}
        missing = stated.keys() - {each.name for each in self.slices} if stated else ()
        if not missing:
            return self
        key = "announced", tuple(sorted(missing))
        found: Devices | None = self.lasting.get(key)
        if found is None:
            more = (stated[name] for name in key[1])
            slices = (*self.slices, *(offer.on(node) for offer, node in more))
            found = self.lasting[key] = replace(self, slices=slices, lasting={})
        return replace(found, claims=self.claims)

    def with_claims(self, claims: Iterable[DeviceClaim]) -> Devices:
        """Return the devices with these claims added, or replacing those of the same name."""
        return replace(self, claims={**self.claims, **{(c.namespace, c.name): c for c in claims}})

    def without_claims(self, gone: Iterable[tuple[str, str]]) -> Devices:
        left_out = frozenset(gone)
        return replace(self, claims={key: claim for key, claim in self.claims.items() if key not in left_out})

    def without_pod(self, namespace: str, name: str) -> Devices:
        """Return the devices after a pod is gone; itself if it held none.

        Its own claims go. A claim that no pod uses any more is free again. Mirrors syncClaim of
        ``pkg/controller/resourceclaim/controller.go`` (v1.36).
        """
        own = (claim for claim in self.claims.values() if claim.namespace == namespace)
        held = [claim for claim in own if claim.owner == name or name in claim.reserved_for]
        if not held:
            return self
        left = self.without_claims((claim.namespace, claim.name) for claim in held if claim.owner == name)
        return left.with_claims(_released(claim, name) for claim in held if claim.owner != name)

    def held_by(self, pods: Iterable[tuple[str, str]]) -> Devices:
        """Return the devices where only these pods, (namespace, name), hold any."""
        found, staying = self, frozenset(pods)
        for pod in self._claims_of_pods:
            if pod not in staying:
                found = found.without_pod(*pod)
        return found

    def with_nowhere(self, names: Iterable[tuple[str, str]], *, freed: Iterable[tuple[str, str]] = ()) -> Devices:
        """Return the devices with these claims allocated where no node is, and those of ``freed`` not allocated."""
        gone = [replace(self.claims[name], allocation=NOWHERE) for name in names if name in self.claims]
        free = [replace(self.claims[name], allocation=None) for name in freed if name in self.claims]
        return self.with_claims((*free, *gone)) if gone or free else self

    def claims_of(self, namespace: str, pod: str) -> Sequence[DeviceClaim]:
        """Return the claims that a pod owns or that are reserved for it."""
        return self._claims_of_pods.get((namespace, pod), ())

    @property
    def holders(self) -> AbstractSet[tuple[str, str]]:
        """The pods, (namespace, name), that have claims."""
        return self._claims_of_pods.keys()

    @cached_property
    def _claims_of_pods(self) -> Mapping[tuple[str, str], Sequence[DeviceClaim]]:
        """(namespace, pod) → the claims that it owns or that are reserved for it."""
        found: dict[tuple[str, str], list[DeviceClaim]] = {}
        for claim in self.claims.values():
            for pod in dict.fromkeys((*claim.reserved_for, *filter(None, [claim.owner]))):
                found.setdefault((claim.namespace, pod), []).append(claim)
        return found

    @cached_property
    def class_of_resource(self) -> Mapping[str, DeviceClass]:
        """Extended resource → the class that serves it; of several the newest, then the first by name.

        Mirrors ``dynamic-resource-allocation/deviceclass/extendedresourcecache`` (v1.36).
        """
        if not self.serves_resources:
            return {}
        by_name = sorted(self.classes.values(), key=lambda c: c.name, reverse=True)
        oldest_first = sorted(by_name, key=lambda c: c.created)
        explicit = {c.extended_resource: c for c in oldest_first if c.extended_resource}
        return {**explicit, **{DEVICE_CLASS + c.name: c for c in oldest_first}}

    def resources_of(self, pod: Pod) -> tuple[str, ...]:
        """Return the extended resources that a pod's containers request and a class serves, sorted.

        Devices serve them only on nodes whose device plugins offer none.
        """
        served = self.class_of_resource
        containers = (*pod.containers, *pod.init_containers) if served else ()
        asked = {name for container in containers for name, n in container.requests.items() if n > 0}
        return tuple(sorted(name for name in asked if may_be_devices(name) and name in served))

    def may_serve(self, pod: Pod) -> bool:
        """Return whether a pod has claims, or requests an extended resource that a class serves."""
        return bool(pod.resource_claims or self.resources_of(pod))

    @cached_property
    def evicting_taints(self) -> Mapping[DeviceID, Sequence[DeviceTaint]]:
        """Device → its NoExecute taints, in the newest generation of its pool."""
        found: dict[DeviceID, Sequence[DeviceTaint]] = {}
        for each in sorted(self.slices, key=lambda s: s.generation):
            for device in each.devices:
                taints = [taint for taint in device.taints if taint.effect == NO_EXECUTE]
                found[each.driver, each.pool, device.name] = taints
        return found

    @cached_property
    def answers(self) -> dict[Any, Any]:
        """What ``engine.scheduler.devices`` has computed for these claims."""
        return {}


def _released(claim: DeviceClaim, pod: str) -> DeviceClaim:
    others = tuple(name for name in claim.reserved_for if name != pod)
    return replace(claim, reserved_for=others, allocation=claim.allocation if others else None)


def _tainted(slices: Iterable[ResourceSlice], rules: Sequence[DeviceTaintRule]) -> Iterator[ResourceSlice]:
    """Yield the slices with the taints of rules. Mirrors ``resourceslice/tracker/tracker.go``, applyPatches (v1.36)."""
    for each in slices:
        mine = [rule for rule in rules if rule.driver in (None, each.driver) and rule.pool in (None, each.pool)]
        yield replace(each, devices=tuple(_with_taints(d, mine) for d in each.devices)) if mine else each


def _with_taints(device: Device, rules: Iterable[DeviceTaintRule]) -> Device:
    more = tuple(rule.taint for rule in rules if rule.device in (None, device.name))
    return replace(device, taints=(*device.taints, *more)) if more else device
