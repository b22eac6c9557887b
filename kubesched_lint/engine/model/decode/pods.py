"""Decode pod specs from plain values, with the API server's defaults.

Mirrors ``pkg/apis/core/v1/defaults.go`` (v1.36) for defaults that affect scheduling. ``engine.model.pod_fields`` lists
the fields that are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.decode.fields import (
    Value,
    boolean,
    each,
    integer,
    items,
    labels,
    mapping,
    optional_mapping,
    requirement,
    resources,
    selector,
    shared,
    text,
    texts,
)
from kubesched_lint.engine.model.labels import Labels
from kubesched_lint.engine.model.pod import (
    DEFAULT_SCHEDULER,
    INLINE_DISKS,
    Container,
    HostPort,
    NodeSelectorTerm,
    Pod,
    PodAffinityTerm,
    PodClaim,
    PreferredNodeTerm,
    SpreadConstraint,
    Toleration,
    Volume,
    WeightedPodAffinityTerm,
)
from kubesched_lint.engine.model.resources import effective_requests

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def decode_pod(spec: Value, namespace: str, pod_labels: Labels, path: Path, labels_path: Path) -> Pod:
    """Return the scheduling part of a pod spec. Raises DecodeError for a value of the wrong type."""
    containers = each(_container, spec, "containers", path)
    init_containers = each(_container, spec, "initContainers", path)
    pod_level = _pod_level_requests(spec, path, containers, init_containers)
    overhead = shared(resources(spec, "overhead", path)) if "overhead" in spec else shared({})
    host_network = boolean(spec, "hostNetwork", path)
    return Pod(
        namespace=namespace,
        labels=pod_labels,
        node_selector=labels(spec, "nodeSelector", path),
        tolerations=each(toleration, spec, "tolerations", path),
        spread=each(spread_constraint, spec, "topologySpreadConstraints", path),
        containers=containers,
        init_containers=init_containers,
        pod_requests=pod_level,
        overhead=overhead,
        requests=shared(effective_requests(containers, init_containers, pod_level, overhead)),
        host_ports=tuple(_host_ports(spec, path, host_network)),
        host_network=host_network,
        volumes=tuple(_volumes(spec, path)),
        required_features=tuple(_required_features(spec, path)),
        path=path,
        labels_path=labels_path,
        **({} if _RARE.isdisjoint(spec) else _rare_fields(spec, path)),
        **(_affinity(spec, path) if "affinity" in spec else {}),
    )


_RARE = frozenset(
    (
        "nodeName",
        "preemptionPolicy",
        "priority",
        "priorityClassName",
        "resourceClaims",
        "runtimeClassName",
        "schedulerName",
        "schedulingGates",
        "schedulingGroup",
    )
)
"""Fields that most pods do not have: to look for all of them at once takes a tenth of the time."""


def _rare_fields(spec: Value, path: Path) -> dict[str, Any]:
    return {
        "node_name": text(spec, "nodeName", path),
        "scheduler_name": text(spec, "schedulerName", path) or DEFAULT_SCHEDULER,
        "scheduling_gates": each(_name, spec, "schedulingGates", path),
        "group": text(mapping(spec, "schedulingGroup", path), "podGroupName", (*path, "schedulingGroup")),
        "priority": integer(spec, "priority", path),
        "priority_class": text(spec, "priorityClassName", path),
        "preemption_policy": text(spec, "preemptionPolicy", path),
        "runtime_class": text(spec, "runtimeClassName", path),
        "resource_claims": each(_claim, spec, "resourceClaims", path),
    }


def _affinity(spec: Value, path: Path) -> dict[str, Any]:
    """Return the fields of a pod that come from ``affinity``."""
    affinity = mapping(spec, "affinity", path)
    if not affinity:
        return {}
    here = (*path, "affinity")
    nodes, at_nodes = mapping(affinity, "nodeAffinity", here), (*here, "nodeAffinity")
    pods, at_pods = mapping(affinity, "podAffinity", here), (*here, "podAffinity")
    anti, at_anti = mapping(affinity, "podAntiAffinity", here), (*here, "podAntiAffinity")
    return {
        "required_node_terms": node_terms(optional_mapping(nodes, _REQUIRED, at_nodes), (*at_nodes, _REQUIRED)),
        "preferred_node_terms": each(preferred_node_term, nodes, _PREFERRED, at_nodes),
        "required_affinity": each(_pod_affinity_term, pods, _REQUIRED, at_pods),
        "required_anti_affinity": each(_pod_affinity_term, anti, _REQUIRED, at_anti),
        "preferred_affinity": each(_weighted_term, pods, _PREFERRED, at_pods),
        "preferred_anti_affinity": each(_weighted_term, anti, _PREFERRED, at_anti),
    }


def _name(item: Value, path: Path) -> str:
    return text(item, "name", path)


def _claim(item: Value, path: Path) -> PodClaim:
    template = text(item, "resourceClaimTemplateName", path)
    return PodClaim(_name(item, path), text(item, "resourceClaimName", path), template)


def _required_features(spec: Value, path: Path) -> Iterator[str]:
    """Yield the features that ``component-helpers/nodedeclaredfeatures`` infers from a pod spec (v1.36)."""
    if boolean(spec, "hostNetwork", path) and not boolean(spec, "hostUsers", path, default=True):
        yield "UserNamespacesHostNetworkSupport"
    for key in ("containers", "initContainers"):
        for container, at in _with("restartPolicyRules", spec, key, path):
            rules = items(container, "restartPolicyRules", at)
            if any(rule.get("action") == "RestartAllContainers" for rule, _ in rules):
                yield "RestartAllContainersOnContainerExits"
                return


def _with(field: str, spec: Value, key: str, path: Path) -> Iterator[tuple[Value, Path]]:
    """Yield the containers that have a field. They are known to be mappings, because they were decoded before."""
    for i, container in enumerate(spec.get(key) or ()):
        if container and field in container:
            yield container, (*path, key, i)


def toleration(item: Value, path: Path) -> Toleration:
    return Toleration(
        key=text(item, "key", path),
        operator=text(item, "operator", path) or "Equal",
        value=text(item, "value", path),
        effect=text(item, "effect", path),
        seconds=integer(item, "tolerationSeconds", path),
        path=path,
    )


def node_term(item: Value, path: Path) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        each(requirement, item, "matchExpressions", path),
        each(requirement, item, "matchFields", path),
        path,
    )


def node_terms(node_selector: Value | None, path: Path) -> tuple[NodeSelectorTerm, ...] | None:
    """Return the terms of a NodeSelector; None if the selector itself is null."""
    if node_selector is None:
        return None
    return each(node_term, node_selector, "nodeSelectorTerms", path)


def preferred_node_term(item: Value, path: Path) -> PreferredNodeTerm:
    term = node_term(mapping(item, "preference", path), (*path, "preference"))
    return PreferredNodeTerm(integer(item, "weight", path) or 0, term, path)


def _pod_affinity_term(item: Value, path: Path) -> PodAffinityTerm:
    return PodAffinityTerm(
        topology_key=text(item, "topologyKey", path),
        selector=selector(item, "labelSelector", path),
        namespaces=texts(item, "namespaces", path),
        namespace_selector=selector(item, "namespaceSelector", path),
        match_label_keys=texts(item, "matchLabelKeys", path),
        mismatch_label_keys=texts(item, "mismatchLabelKeys", path),
        path=path,
    )


def _weighted_term(item: Value, path: Path) -> WeightedPodAffinityTerm:
    term = _pod_affinity_term(mapping(item, "podAffinityTerm", path), (*path, "podAffinityTerm"))
    return WeightedPodAffinityTerm(integer(item, "weight", path) or 0, term, path)


def spread_constraint(item: Value, path: Path) -> SpreadConstraint:
    return SpreadConstraint(
        max_skew=max(1, integer(item, "maxSkew", path) or 1),  # the API server refuses less, and rules divide by it
        topology_key=text(item, "topologyKey", path),
        when_unsatisfiable=text(item, "whenUnsatisfiable", path),
        selector=selector(item, "labelSelector", path),
        min_domains=integer(item, "minDomains", path),
        node_affinity_policy=text(item, "nodeAffinityPolicy", path),
        node_taints_policy=text(item, "nodeTaintsPolicy", path),
        match_label_keys=texts(item, "matchLabelKeys", path),
        path=path,
    )


def _container(item: Value, path: Path) -> Container:
    wanted = mapping(item, "resources", path)
    limits = resources(wanted, "limits", (*path, "resources")) if wanted else {}
    requests = resources(wanted, "requests", (*path, "resources")) if wanted else {}
    return Container(
        name=text(item, "name", path),
        requests=shared({**limits, **requests}),
        limits=shared(limits),
        restart_always=text(item, "restartPolicy", path) == "Always",
        image=text(item, "image", path),
        path=path,
    )


def _pod_level_requests(
    spec: Value, path: Path, containers: tuple[Container, ...], init_containers: tuple[Container, ...]
) -> dict[str, int] | None:
    """Return the pod-level requests (defaultPodRequests): a limit without a request gets the containers' sum, or the
    limit.
    """
    wanted = optional_mapping(spec, "resources", path)
    if wanted is None:
        return None
    here = (*path, "resources")
    requests, limits = resources(wanted, "requests", here), resources(wanted, "limits", here)
    if not requests and not limits:
        return None
    total = effective_requests(containers, init_containers)
    for name, amount in limits.items():
        requests.setdefault(name, total.get(name, amount))
    for name, amount in total.items():
        if name in ("cpu", "memory") or name.startswith("hugepages-"):
            requests.setdefault(name, amount)
    return requests


def _host_ports(spec: Value, path: Path, host_network: bool) -> list[HostPort]:
    """Return the ports used on the node; with hostNetwork these include every containerPort (SetDefaults_Pod)."""
    ports = []
    for key in ("containers", "initContainers"):
        for container, at in _with("ports", spec, key, path):
            if key == "initContainers" and container.get("restartPolicy") != "Always":
                continue
            for port, here in items(container, "ports", at):
                number = integer(port, "hostPort", here) or 0
                where: Path = (*here, "hostPort")
                if host_network and not number:
                    number, where = integer(port, "containerPort", here) or 0, (*here, "containerPort")
                if number > 0:
                    ports.append(
                        HostPort(
                            number,
                            text(port, "protocol", here) or "TCP",
                            text(port, "hostIP", here) or "0.0.0.0",
                            where,
                        )
                    )
    return ports


def _volumes(spec: Value, path: Path) -> list[Volume]:
    volumes = []
    for volume, here in items(spec, "volumes", path):
        name = text(volume, "name", here)
        if "persistentVolumeClaim" in volume:
            at = (*here, "persistentVolumeClaim")
            claim = mapping(volume, "persistentVolumeClaim", here)
            volumes.append(
                Volume(
                    name, "persistentVolumeClaim", text(claim, "claimName", at), boolean(claim, "readOnly", at), path=at
                )
            )
        elif "ephemeral" in volume:
            volumes.append(
                Volume(name, "ephemeral", disk=mapping(volume, "ephemeral", here), path=(*here, "ephemeral"))
            )
        elif "image" in volume:
            volumes.append(Volume(name, "image", disk=mapping(volume, "image", here), path=(*here, "image")))
        else:
            for kind in INLINE_DISKS:
                if kind in volume:
                    disk = mapping(volume, kind, here)
                    read_only = boolean(disk, "readOnly", (*here, kind))
                    volumes.append(Volume(name, kind, read_only=read_only, disk=disk, path=(*here, kind)))
    return volumes
