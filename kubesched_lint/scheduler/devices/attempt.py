"""One scheduling attempt of a pod with claims: which claims it has, and what each node can give them.

Mirrors ``pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from kubesched_lint.cluster.devices import Devices
from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.model.devices import Allocation, DeviceClaim, DeviceClaimTemplate
from kubesched_lint.model.labels import Requirement
from kubesched_lint.model.pod import DEVICES_PLUGIN, NodeSelectorTerm, Pod, PodClaim
from kubesched_lint.record import record, replace
from kubesched_lint.scheduler.devices.allocator import Given, Search
from kubesched_lint.scheduler.devices.extended import extended_claim, served_resources
from kubesched_lint.scheduler.devices.failures import AllocationError, NodeError
from kubesched_lint.scheduler.devices.pools import Offers
from kubesched_lint.scheduler.devices.selectors import Selectors
from kubesched_lint.scheduler.devices.taken import Taken

ANY = "*"
"""Stands for the characters that the API server adds to a generated name, for a pod's uid, and for an unknown name."""
_LONGEST_BASE = 57
NOT_ALL = "cannot allocate all claims"
NOT_HERE = "resourceclaim not available on the node"


@record
class OnNode:
    """What a node can give. ``reason`` is why it cannot; an ``is_error`` ends the attempt on all nodes."""

    reason: str = ""
    is_error: bool = False
    claims: tuple[DeviceClaim, ...] = ()
    """The claims that had to be allocated, with their allocation."""
    unavailable: tuple[DeviceClaim, ...] = ()
    """Allocated claims whose devices the node cannot use."""

    @property
    def is_given(self) -> bool:
        return not self.reason


class Attempt:
    """The claims of a pod in one state of the devices."""

    def __init__(self, pod: Pod, devices: Devices, index: NodeIndex) -> None:
        self._pod, self._devices, self._index = pod, devices, index
        self._nodes: dict[int, OnNode] = {}
        self.claims = tuple(_claims_of(pod, devices))
        self._served = served_resources(pod, devices)

    @property
    def waits(self) -> bool:
        """Whether a claim does not exist yet, or is being deleted: the pod is not tried (PreEnqueue)."""
        return any(claim is None or claim.deleting for claim in self.claims)

    @property
    def references(self) -> Sequence[PodClaim]:
        return self._pod.resource_claims

    @property
    def is_empty(self) -> bool:
        """Whether the pod needs no devices."""
        return not (self.claims or self._served)

    @property
    def held(self) -> Sequence[DeviceClaim]:
        """The claims of a pod that does not wait."""
        return [claim for claim in self.claims if claim is not None]

    @cached_property
    def refusal(self) -> str:
        """Why PreFilter refuses the pod; empty if it does not."""
        for reference, found in zip(self.references, self.claims, strict=True):
            if found is None:
                return f'resourceclaim.resource.k8s.io "{reference.claim or reference.template}" not found'
            if found.deleting:
                return f'resourceclaim "{found.name}" is being deleted'
        for claim in self.held:
            if claim.allocation is None:
                for request in claim.requests:
                    for each in request.alternatives or (request,):
                        if each.device_class not in self._devices.classes:
                            name = f"{request.name}/{each.name}" if request.alternatives else request.name
                            return f"request {name}: device class {each.device_class} does not exist"
        return ""

    def on(self, position: int) -> OnNode:
        """Return what a node can give. Raises UndecidedError."""
        found = self._nodes.get(position)
        if found is None:
            found = self._nodes[position] = self._on(position)
        return found

    def seen(self) -> Iterator[OnNode]:
        """Yield the results of the nodes that were asked for."""
        yield from self._nodes.values()

    def _on(self, position: int) -> OnNode:
        wanted = [claim for claim in self.held if claim.allocation is None]
        if self._served:
            lacked = [name for name in self._served if not self._index.allocatable(name)[position] > 0]
            if not (lacked or self.claims):
                return OnNode()  # device plugins have all it needs
            wanted.append(extended_claim(self._pod, lacked, self._devices))
        allocated: tuple[DeviceClaim, ...] = ()
        if wanted:
            try:
                found = self._search(position, wanted)
            except AllocationError as error:
                return OnNode(f'running "{DEVICES_PLUGIN}" filter plugin: {error}', is_error=True)
            except NodeError as error:
                return OnNode(str(error))
            if found is None:
                return OnNode(NOT_ALL)
            allocated = found
        away = tuple(claim for claim in self.held if not self._is_usable(claim, position))
        return OnNode(NOT_HERE if away else "", claims=allocated, unavailable=away)

    def _search(self, position: int, wanted: Sequence[DeviceClaim]) -> tuple[DeviceClaim, ...] | None:
        devices = self._devices
        search = Search(
            position,
            wanted,
            devices.classes.get,
            offers_of(devices, self._index),
            taken_of(devices),
            selectors_of(devices),
        )
        if not search.run():
            return None
        name = self._index.names[position]
        return tuple(
            replace(claim, allocation=_allocation(given, name))
            for claim, given in zip(wanted, search.result, strict=True)
        )

    def _is_usable(self, claim: DeviceClaim, position: int) -> bool:
        terms = claim.allocation.terms if claim.allocation is not None else None
        return terms is None or bool(self._index.matching({}, terms) >> position & 1)


def attempt(pod: Pod, devices: Devices, index: NodeIndex) -> Attempt:
    """Return the attempt of a pod; the same one as long as the devices do not change."""
    known = devices.answers.get(id(pod))
    if known is None or known[0] is not pod or known[1] is not index:
        known = devices.answers[id(pod)] = (pod, index, Attempt(pod, devices, index))
    found: Attempt = known[2]
    return found


def _claims_of(pod: Pod, devices: Devices) -> Iterator[DeviceClaim | None]:
    """Yield the claim of each reference of the pod; None for one that does not exist.

    A claim of a template that the controller has not made yet is as it will be.
    """
    for reference in pod.resource_claims:
        template = devices.templates.get((pod.namespace, reference.template))
        if reference.claim or template is None:
            yield devices.claims.get((pod.namespace, reference.claim))
        else:
            yield own_claim(template, ANY, reference.name)


def own_claim(template: DeviceClaimTemplate, pod: str, reference: str) -> DeviceClaim:
    """Return the claim that the controller makes for a pod (``pkg/controller/resourceclaim/controller.go``, v1.36)."""
    base = f"{pod}-{reference}-"
    if len(base) > _LONGEST_BASE:  # upstream shortens both in proportion, and drops the last dash
        base = "-".join(each[: len(each) * _LONGEST_BASE // len(base)] for each in (pod, reference))
    return DeviceClaim(template.namespace, base + ANY, template.requests, template.constraints, owner=pod)


def offers_of(devices: Devices, index: NodeIndex) -> Offers:
    known = devices.lasting.get("offers")
    if known is None or known[0] is not index:
        known = devices.lasting["offers"] = (index, Offers(devices.slices, index))
    found: Offers = known[1]
    return found


def selectors_of(devices: Devices) -> Selectors:
    found: Selectors = devices.lasting.setdefault("selectors", Selectors())
    return found


def taken_of(devices: Devices) -> Taken:
    if "taken" not in devices.answers:
        devices.answers["taken"] = Taken(devices.claims.values())
    found: Taken = devices.answers["taken"]
    return found


def _allocation(given: Sequence[Given], node: str) -> Allocation:
    """Return the allocation with the nodes that can use all its devices (createNodeSelector)."""
    results = tuple(each.result for each in given)
    expressions: list[Requirement] = []
    fields: list[Requirement] = []
    for each in given:
        access = each.device.access if each.slice.is_per_device else each.slice.access
        if access.node_name or each.device.binds_to_node:
            return Allocation(results, (NodeSelectorTerm((), (Requirement("metadata.name", "In", (node,)),)),))
        for term in access.terms or ():
            expressions += [r for r in term.expressions if r not in expressions]
            fields += [r for r in term.fields if r not in fields]
    terms = (NodeSelectorTerm(tuple(expressions), tuple(fields)),) if expressions or fields else None
    return Allocation(results, terms)
