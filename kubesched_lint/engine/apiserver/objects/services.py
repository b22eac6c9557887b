"""Services.

Mirrors ``ValidateServiceCreate`` in ``pkg/apis/core/validation/validation.go`` and ``SetDefaults_Service`` (v1.36). The
cluster's own choices (free addresses, free ports) are unknown here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.engine.apiserver.pods.probes import port as port_reference
from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    complaints,
    duplicate,
    field_of,
    forbidden,
    invalid,
    named,
    not_supported,
    one_of,
    required,
    required_name,
)
from kubesched_lint.engine.apiserver.values.labels import label_map
from kubesched_lint.engine.apiserver.values.metadata import object_meta
from kubesched_lint.engine.apiserver.values.names import (
    Complaints,
    cidr,
    dns1035_label,
    dns_label,
    dns_subdomain,
    family,
    ip_address,
    port_number,
    qualified_name,
)
from kubesched_lint.engine.base.places import Path

Value = dict[str, Any]
_SPEC: Path = ("spec",)
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_POLICIES = ("Cluster", "Local")
_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'"


def service_name(name: str) -> Complaints:
    """Return complaints.

    A gate of uncertain default allows a leading digit, so only what both sets refuse is refused.
    """
    return dns1035_label(name) if dns_label(name) else ()


def service(value: Value) -> Iterator[Cause]:
    spec = value.get("spec", {})
    kind = spec.get("type") or "ClusterIP"
    addresses = spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else [])
    headless = list(addresses) == ["None"]
    yield from object_meta(value.get("metadata", {}), service_name)
    if not spec.get("ports") and not headless and kind != "ExternalName":
        yield required((*_SPEC, "ports"))
    yield from _of_type(kind, spec, addresses, headless=headless)
    names: set[str] = set()
    ports = spec.get("ports", ())
    for i, port in enumerate(ports):
        yield from _port(port, names, (*_SPEC, "ports", i), several=len(ports) > 1)
    if "selector" in spec:
        yield from label_map(spec["selector"], (*_SPEC, "selector"))
    if "sessionAffinity" in spec:
        yield from _session_affinity(spec)
    if kind != "ExternalName" and not _ADDRESSES.isdisjoint(spec):
        yield from _addresses(spec, addresses)
    for i, address in enumerate(spec.get("externalIPs", ())):
        yield from ip_address(address, (*_SPEC, "externalIPs", i))
    yield from one_of((*_SPEC, "type"), kind, _TYPES)
    yield from _distinct_ports(ports, kind)
    if not _BALANCED.isdisjoint(spec):
        yield from _load_balancer(spec, kind)
    if not _TRAFFIC.isdisjoint(spec):
        yield from _traffic(spec, kind)


def _of_type(kind: str, spec: Value, addresses: Sequence[str], *, headless: bool) -> Iterator[Cause]:
    if kind in ("LoadBalancer", "NodePort") and headless:
        at = (*_SPEC, "clusterIP" if "clusterIP" in spec else "clusterIPs")
        yield invalid(at, "None", f"may not be set to 'None' for {kind} services", field="spec.clusterIPs[0]")
    if kind != "ExternalName":
        return
    for name, given in (("clusterIPs", addresses), ("ipFamilies", spec.get("ipFamilies"))):
        if given:
            written = name if name in spec else "clusterIP"
            yield forbidden((*_SPEC, written), "may not be set for ExternalName services", field=f"spec.{name}")
    if "ipFamilyPolicy" in spec:
        yield forbidden((*_SPEC, "ipFamilyPolicy"), "may not be set for ExternalName services")
    name = spec.get("externalName", "").removesuffix(".")
    yield from required_name((*_SPEC, "externalName"), name, dns_subdomain)


def _port(port: Value, names: set[str], path: Path, *, several: bool) -> Iterator[Cause]:
    name = port.get("name", "")
    if several and not name:
        yield required((*path, "name"))
    elif name:
        if bad := dns_label(name):
            yield from complaints((*path, "name"), name, bad)
        if name in names:
            yield duplicate((*path, "name"), name)
        names.add(name)
    number = port.get("port", 0)
    if bad := port_number(number):
        yield from complaints((*path, "port"), number, bad)
    if port.get("protocol"):
        yield from one_of((*path, "protocol"), port["protocol"], _PROTOCOLS)
    yield from port_reference(port.get("targetPort") or number, (*path, "targetPort"))
    for detail in qualified_name(port["appProtocol"]) if "appProtocol" in port else ():
        yield invalid((*path, "appProtocol"), port["appProtocol"], detail)


def _session_affinity(spec: Value) -> Iterator[Cause]:
    affinity = spec.get("sessionAffinity") or "None"
    yield from one_of((*_SPEC, "sessionAffinity"), affinity, ("ClientIP", "None"))
    if affinity == "ClientIP":
        seconds = spec.get("sessionAffinityConfig", {}).get("clientIP", {}).get("timeoutSeconds", 10800)
        if not 0 < seconds <= 86400:
            at = (*_SPEC, "sessionAffinityConfig", "clientIP", "timeoutSeconds")
            yield invalid(at, seconds, "must be greater than 0 and less than 86400")


_ADDRESSES = frozenset(("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"))


def _addresses(spec: Value, addresses: Sequence[str]) -> Iterator[Cause]:
    """Yield the causes of ``ValidateServiceClusterIPsRelatedFields``; ``clusterIP`` alone is a list of one."""
    at = (*_SPEC, "clusterIPs")
    single = spec.get("clusterIP", "")
    if "clusterIPs" in spec and addresses and spec.get("clusterIPs"):
        if single and addresses[0] != single:
            yield invalid(at, list(addresses), "first value must match `clusterIP`")
        elif not single:
            yield invalid(at, list(addresses), "must be empty when `clusterIP` is not specified")
    families = spec.get("ipFamilies", ())
    for i, ip_family in enumerate(families):
        yield from one_of((*_SPEC, "ipFamilies", i), ip_family, _FAMILIES)
        if ip_family in families[:i]:
            yield duplicate((*_SPEC, "ipFamilies", i), named(ip_family))
    policy = spec.get("ipFamilyPolicy", "SingleStack")
    yield from one_of((*_SPEC, "ipFamilyPolicy"), policy, _FAMILY_POLICIES)
    for i, address in enumerate(addresses):
        if address == "None" and i == 0:
            if len(addresses) > 1:
                yield invalid(at, list(addresses), "'None' must be the first and only value")
            continue
        place = (*at, i) if "clusterIPs" in spec else (*_SPEC, "clusterIP")
        yield from ip_address(address, place, field=f"spec.clusterIPs[{i}]")
    if len(addresses) > 2:
        yield invalid(at, list(addresses), "may only hold up to 2 values")
    if len(addresses) == 2 and family(addresses[0]) and family(addresses[0]) == family(addresses[1]):
        yield invalid(at, list(addresses), "may specify no more than one IP for each IP family")


def _distinct_ports(ports: Sequence[Value], kind: str) -> Iterator[Cause]:
    taken_nodes, taken = set(), set()
    for i, port in enumerate(ports):
        at, protocol = (*_SPEC, "ports", i), port.get("protocol") or "TCP"
        node = port.get("nodePort", 0)
        if node and kind == "ClusterIP":
            yield forbidden((*at, "nodePort"), "may not be used when `type` is 'ClusterIP'")
        if node and (protocol, node) in taken_nodes:
            yield duplicate((*at, "nodePort"), node)
        taken_nodes.add((protocol, node))
        key = (protocol, port.get("port", 0))
        if key in taken:
            shown = {
                "Name": "",
                "Protocol": protocol,
                "AppProtocol": None,
                "Port": key[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            yield duplicate(at, shown)
        taken.add(key)


_BALANCED = frozenset(("allocateLoadBalancerNodePorts", "loadBalancerClass", "loadBalancerSourceRanges"))


def _load_balancer(spec: Value, kind: str) -> Iterator[Cause]:
    ranges = spec.get("loadBalancerSourceRanges", ())
    if ranges:
        at, field = (*_SPEC, "loadBalancerSourceRanges"), "spec.LoadBalancerSourceRanges"
        if kind != "LoadBalancer":
            yield forbidden(at, _ONLY_LOAD_BALANCER, field=field)
        for i, source_range in enumerate(ranges):
            yield from cidr(source_range.strip(), (*at, i), field=f"{field}[{i}]")
    if "allocateLoadBalancerNodePorts" in spec and kind != "LoadBalancer":
        yield forbidden((*_SPEC, "allocateLoadBalancerNodePorts"), _ONLY_LOAD_BALANCER)
    if "loadBalancerClass" in spec:
        if kind != "LoadBalancer":
            yield forbidden((*_SPEC, "loadBalancerClass"), _ONLY_LOAD_BALANCER)
        else:
            for detail in qualified_name(spec["loadBalancerClass"]):
                yield invalid((*_SPEC, "loadBalancerClass"), spec["loadBalancerClass"], detail)


_TRAFFIC = frozenset(("externalTrafficPolicy", "healthCheckNodePort", "internalTrafficPolicy", "trafficDistribution"))


def _traffic(spec: Value, kind: str) -> Iterator[Cause]:
    policy = spec.get("externalTrafficPolicy", "")
    reachable = kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if policy:
        at = (*_SPEC, "externalTrafficPolicy")
        if not reachable:
            yield invalid(at, named(policy), "may only be set for externally-accessible services")
        elif policy not in _POLICIES:
            yield not_supported(at, named(policy), _POLICIES)
    number = spec.get("healthCheckNodePort", 0)
    if number and not (kind == "LoadBalancer" and policy == "Local"):
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid((*_SPEC, "healthCheckNodePort"), number, detail)
    internal = spec.get("internalTrafficPolicy", "Cluster")
    yield from one_of((*_SPEC, "internalTrafficPolicy"), internal, _POLICIES)
    value = spec.get("trafficDistribution", "PreferClose")
    if value not in _DISTRIBUTIONS:
        yield not_supported(
            (*_SPEC, "trafficDistribution"), value, _DISTRIBUTIONS, field=field_of((*_SPEC, "trafficDistribution"))
        )
