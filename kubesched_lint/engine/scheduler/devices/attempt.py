"""One scheduling attempt of a pod with claims: which claims it has, and what each node can give them.

Mirrors ``pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import NodeSet, grouped, lowest, positions
from kubesched_lint.engine.model.devices.devices import Allocation, DeviceClaim, DeviceClaimTemplate
from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.pod import NodeSelectorTerm, Pod, PodClaim
from kubesched_lint.engine.scheduler.devices.answers import Answer, Answers, Placed
from kubesched_lint.engine.scheduler.devices.extended import extended_claim

ANY = "*"
"""Stands for the characters that the API server adds to a generated name, for a pod's uid, and for an unknown name."""
_BASE = 57
NOT_HERE = "resourceclaim not available on the node"


class OnNode(Struct, frozen=True):
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
        self._answers: dict[tuple[str, ...] | None, Answers] = {}
        self.claims = tuple(_claims_of(pod, devices))
        self._served = devices.resources_of(pod)

    @cached_property
    def waits_for(self) -> str:
        """Why the pod is not tried (PreEnqueue), in our words because no condition says it; empty if it is tried."""
        for reference, claim in zip(self.references, self.claims, strict=True):
            if claim is None and reference.template and not reference.claim:
                return (
                    f"not tried: ResourceClaimTemplate {reference.template} does not exist, so no claim is made of it"
                )
            if claim is None:
                return f"not tried: ResourceClaim {reference.claim} does not exist"
            if claim.deleting:
                return f"not tried: ResourceClaim {claim.name} is being deleted"
        return ""

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
        on_node = self._nodes.get(position)
        if on_node is None:
            answers = self._answers_for(self._lacked_on(position))
            on_node = self._nodes[position] = self._on(position, answers, answers.on(position))
        return on_node

    def wanted_on(self, position: int) -> Sequence[DeviceClaim]:
        """Return the claims that must be allocated on a node, with that for extended resources."""
        return self._answers_for(self._lacked_on(position)).claims

    def groups(self, among: NodeSet) -> Iterator[tuple[NodeSet, OnNode]]:
        """Yield nodes that give the same, and what the first of them gives. Raises UndecidedError.

        The others give their own devices in its place.
        """
        for nodes, answers in self._kinds(among):
            for alike, answer in answers.groups(nodes):
                for part in [alike] if answer.reason else self._parts(alike):
                    first = lowest(part)
                    on_node = self._nodes[first] = self._on(first, answers, answer)
                    yield part, on_node

    def seen(self) -> Iterator[OnNode]:
        """Yield the results of the nodes that were asked for; of those that give the same, the first."""
        yield from (self._nodes[position] for position in sorted(self._nodes))

    def _kinds(self, among: NodeSet) -> Iterator[tuple[NodeSet, Answers]]:
        """Yield the nodes by the claims that must be allocated there."""
        if not self._served:
            yield among, self._answers_for(())
            return
        for lacked, nodes in grouped((position, self._lacked_on(position)) for position in positions(among)).items():
            yield nodes, self._answers_for(lacked)

    def _lacked_on(self, position: int) -> tuple[str, ...] | None:
        """Return the resources that no device plugin of a node offers; None if the plugins have all that it needs."""
        lacked = tuple(name for name in self._served if self._index.by_devices(name) >> position & 1)
        return lacked if lacked or self.claims else None

    def _answers_for(self, lacked: tuple[str, ...] | None) -> Answers:
        answers = self._answers.get(lacked)
        if answers is None:
            answers = self._answers[lacked] = Answers(self._wanted(lacked), self._devices, self._index)
        return answers

    def _wanted(self, lacked: tuple[str, ...] | None) -> Sequence[DeviceClaim]:
        if lacked is None:
            return ()
        wanted = [claim for claim in self.held if claim.allocation is None]
        return [*wanted, extended_claim(self._pod, lacked, self._devices)] if self._served else wanted

    def _on(self, position: int, answers: Answers, answer: Answer) -> OnNode:
        if answer.reason:
            return OnNode(answer.reason, answer.is_error)
        given = zip(answers.claims, answers.placed(answer, position), strict=True)
        name = self._index.names[position]
        claims = tuple(replace(claim, allocation=_allocation(placed, name)) for claim, placed in given)
        away = tuple(claim for claim in self.held if not self._users(claim) >> position & 1)
        return OnNode(NOT_HERE if away else "", claims=claims, unavailable=away)

    def _parts(self, nodes: NodeSet) -> Iterator[NodeSet]:
        """Yield the nodes by the allocated claims whose devices they can use."""
        parts = [nodes]
        for claim in self.held:
            users = self._users(claim)
            parts = [part for each in parts for part in (each & users, each & ~users) if part]
        yield from parts

    def _users(self, claim: DeviceClaim) -> NodeSet:
        """Return the nodes that can use the devices of a claim, all as long as it has none."""
        terms = claim.allocation.terms if claim.allocation is not None else None
        return self._index.all if terms is None else self._index.matching({}, terms)


def attempt(pod: Pod, devices: Devices, index: NodeIndex) -> Attempt:
    """Return the attempt of a pod; the same one as long as the devices do not change."""
    known = devices.answers.get(pod)
    if known is None or known[0] is not pod or known[1] is not index:
        known = devices.answers[pod] = (pod, index, Attempt(pod, devices, index))
    pod_attempt: Attempt = known[2]
    return pod_attempt


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
    if len(base) > _BASE:  # upstream shortens both in proportion, and drops the last dash
        base = "-".join(each[: len(each) * _BASE // len(base)] for each in (pod, reference))
    return DeviceClaim(template.namespace, base + ANY, template.requests, template.constraints, owner=pod)


def _allocation(given: Sequence[Placed], node: str) -> Allocation:
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
