"""The claims for devices that the pods of a workload refer to, and their requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.base.quirks import DYNAMIC_RESOURCES, has
from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.model.devices.devices import (
    DeviceClaim,
    DeviceClaimTemplate,
    DeviceConstraint,
    DeviceRequest,
)
from kubesched_lint.engine.model.pod import is_given_devices
from kubesched_lint.engine.model.resources import request_path
from kubesched_lint.engine.scenario.devices.devices import devices_of, knows_devices, pools_without_devices, unserved
from kubesched_lint.engine.scenario.nodes.new_nodes import pools_in_words
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scheduler.devices.extended import extended_claim

CONSTRAINTS = "constraints"
IS_NOWHERE, IS_NOT_HERE = "is neither here nor in the cluster", "is not in these manifests"


class Wanted(NamedTuple):
    """A claim that each pod of a workload refers to, and the place that names it."""

    reference: str
    at: Path
    claim: DeviceClaim | DeviceClaimTemplate
    resource: str = ""
    """The extended resource that it is for where no device plugin offers any; ``claim`` stands for what is made."""

    @property
    def is_shared(self) -> bool:
        """Whether all pods use one ResourceClaim; else each has its own, made from the template."""
        return isinstance(self.claim, DeviceClaim)

    def __str__(self) -> str:
        if self.resource:
            return f"the claim for {self.resource}"
        kind = "ResourceClaim" if self.is_shared else "ResourceClaimTemplate"
        return f"{kind} {self.claim.namespace}/{self.claim.name}"


class Asked(NamedTuple):
    """One request of a claim, or one alternative of a request."""

    wanted: Wanted
    request: DeviceRequest
    parent: str = ""
    """The request that it is an alternative of."""

    @property
    def name(self) -> str:
        return f"{self.parent}/{self.request.name}" if self.parent else self.request.name

    @property
    def constraints(self) -> tuple[DeviceConstraint, ...]:
        """The constraints of the claim that concern it."""
        names = {self.name, self.parent or self.request.name}
        return tuple(c for c in self.wanted.claim.constraints if not c.requests or names & set(c.requests))

    def path_of(self, within: Path) -> Path:
        """Return the path of a part of the request, or (from ``CONSTRAINTS``) of one of its constraints."""
        if within[:1] == (CONSTRAINTS,):
            return (*self.constraints[int(within[1])].path, *within[2:])
        return (*self.request.path, *within)

    @property
    def place(self) -> tuple[Path, Source | None]:
        """The path to blame and its document; None is the workload's own, because the cluster has the claim."""
        source = self.wanted.claim.source
        return (self.request.path, source) if source is not None else (self.wanted.at, None)


@once_per_scenario
def devices_in(scenario: Scenario) -> Devices:
    """Return the devices of a scenario, those that a sketch or a pool states included; it may know no device at all."""
    devices = devices_of(scenario) or Devices.of(scenario.objects, scenario.premises.kubernetes_version)
    return devices if scenario.cluster is None else devices.announced_on(scenario.index.nodes)


def references(it: Member) -> Iterator[tuple[str, str, str, Path]]:
    """Yield (reference, kind, name, path of the name) of each claim that the pods refer to by name."""
    for i, reference in enumerate(it.workload.pod.resource_claims):
        at = (*it.workload.pod.path, "resourceClaims", i)
        if reference.template:
            template = (*at, "resourceClaimTemplateName")
            yield reference.name, "ResourceClaimTemplate", reference.template, template
        elif reference.claim:
            yield reference.name, "ResourceClaim", reference.claim, (*at, "resourceClaimName")


def wanted_by(it: Member) -> Iterator[Wanted]:
    """Yield the known claims of a workload's pods that the scheduler allocates devices for."""
    if not is_given_devices(it.pod):
        return
    devices, namespace = devices_in(it.scenario), it.workload.namespace
    for reference, kind, name, at in references(it):
        known = devices.templates if kind == "ResourceClaimTemplate" else devices.claims
        if (namespace, name) in known:
            yield Wanted(reference, at, known[namespace, name])
    for resource in devices.resources_of(it.workload.pod) if it.scenario.cluster is not None else ():
        requests = extended_claim(it.workload.pod, [resource], devices).requests
        at = request_path(it.workload, resource)
        yield Wanted(resource, at, DeviceClaimTemplate(namespace, resource, requests), resource)


def asked_of(wanted: Wanted) -> Iterator[Sequence[Asked]]:
    """Yield, for each request of a claim, its alternatives; the request alone if it has none."""
    for request in wanted.claim.requests:
        if request.alternatives:
            yield [Asked(wanted, each, request.name) for each in request.alternatives]
        else:
            yield [Asked(wanted, request)]


def open_claims(it: Member) -> list[Wanted]:
    """Return the claims of a workload's pods that have no devices yet."""
    return [w for w in wanted_by(it) if not (isinstance(w.claim, DeviceClaim) and w.claim.allocation is not None)]


def must_have_claims(scenario: Scenario) -> None:
    """Raises UncheckedError if the API server may drop the claims of pods, because their feature gate is off."""
    version = scenario.premises.kubernetes_version
    if not has(version, DYNAMIC_RESOURCES):
        raise UncheckedError(f"the feature gate DynamicResourceAllocation is off by default in {version}")


def must_know_devices(it: Member) -> None:
    """Raises UncheckedError if the devices of the nodes that the pods may use are not known."""
    must_have_claims(it.scenario)
    if it.scenario.cluster is None:
        raise UncheckedError("needs a cluster (--cluster)")
    if gate := unserved(it.workload.pod, devices_in(it.scenario), it.scenario.premises.kubernetes_version):
        raise UncheckedError(f"needs to know {gate}")
    for resource in devices_in(it.scenario).resources_of(it.workload.pod):
        if it.usable & it.scenario.index.unknown_resources:
            raise UncheckedError(f"device plugins of nodes without resources may offer {resource}")
    if not knows_devices(it.scenario):
        raise UncheckedError("needs devices (kubectl get resourceslices), which the cluster file does not hold")
    if silent := pools_without_devices(it.usable, it.scenario):
        raise UncheckedError(f"needs the devices of new nodes of {pools_in_words(silent)}, which no pool states")
