"""Containers of every kind: names, images, ports, mounts, policies.

Mirrors ``validateContainers``, ``validateInitContainers`` and ``validateEphemeralContainers`` in
``pkg/apis/core/validation/validation.go`` (v1.36), with the defaults of ``pkg/apis/core/v1/defaults.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from kubesched_lint.engine.apiserver.pods.environment import sources, variables
from kubesched_lint.engine.apiserver.pods.probes import lifecycle, probes
from kubesched_lint.engine.apiserver.pods.resources import requirements
from kubesched_lint.engine.apiserver.pods.security import security_context
from kubesched_lint.engine.apiserver.values.alike import is_sound
from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    complaints,
    descending,
    duplicate,
    field_of,
    forbidden,
    invalid,
    named,
    not_found,
    not_supported,
    one_of,
    required,
    too_many,
)
from kubesched_lint.engine.apiserver.values.names import dns_label, port_name, port_number
from kubesched_lint.engine.base.places import Path

Value = dict[str, Any]
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_ACTIONS = ("Restart", "RestartAllContainers")
_EPHEMERAL_LACKS = (
    "ports",
    "resources",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
)


class Surroundings(Struct, frozen=True):
    """The fields of the pod that a container's checks use."""

    volumes: Mapping[str, Value] = field(default_factory=dict)
    """The valid volumes by name."""
    claims: frozenset[str] = frozenset()
    """Names in ``resourceClaims``."""
    grace: int = 30
    system: str = ""
    restart_policy: str = "Always"
    host_users: bool = True


def containers(entries: Sequence[Value], pod: Surroundings, path: Path) -> Iterator[Cause]:
    if not entries:
        yield required(path)
        return
    names = set()
    for i, entry in enumerate(entries):
        container_path = (*path, i)
        yield from _common(entry, pod, container_path)
        name = entry.get("name", "")
        if name in names:
            yield duplicate((*container_path, "name"), name)
        names.add(name)
        if "lifecycle" in entry:
            yield from lifecycle(entry["lifecycle"], pod.grace, pod.system, (*container_path, "lifecycle"))
        yield from probes(entry, pod.grace, container_path)
        if "restartPolicy" in entry or "restartPolicyRules" in entry:
            yield from _restart_policy(entry, container_path)
    yield from _host_port_conflicts(entries, path)


def init_containers(
    entries: Sequence[Value], regular: Sequence[Value], pod: Surroundings, path: Path
) -> Iterator[Cause]:
    names = {entry.get("name", "") for entry in regular}
    for i, entry in enumerate(entries):
        container_path = (*path, i)
        yield from _common(entry, pod, container_path)
        if "restartPolicy" in entry or entry.get("restartPolicyRules"):
            yield from _restart_policy(entry, container_path)
        name = entry.get("name", "")
        if name in names:
            yield duplicate((*container_path, "name"), name)
        elif name:
            names.add(name)
        # Upstream checks each init container alone, so it always names the first.
        for cause in _host_port_conflicts((entry,), path):
            at = (*container_path, *cause.path[len(container_path) :])
            yield Cause(cause.field, cause.reason, cause.message, at)
        sidecar = entry.get("restartPolicy") == "Always"
        if sidecar:
            if "lifecycle" in entry:
                yield from lifecycle(entry["lifecycle"], pod.grace, pod.system, (*container_path, "lifecycle"))
            yield from probes(entry, pod.grace, container_path)
            continue
        for part in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if part in entry:
                yield forbidden(
                    (*container_path, part), "may not be set for init containers without restartPolicy=Always"
                )
        for j, policy in enumerate(entry.get("resizePolicy", ())):
            if policy.get("restartPolicy") == "RestartContainer":
                detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                yield invalid((*container_path, "resizePolicy", j, "restartPolicy"), named("RestartContainer"), detail)


def ephemeral_containers(
    entries: Sequence[Value], others: Sequence[Value], pod: Surroundings, path: Path
) -> Iterator[Cause]:
    targets = {other.get("name", "") for other in others}
    names = set(targets)
    for i, entry in enumerate(entries):
        container_path = (*path, i)
        yield from _common(entry, pod, container_path)
        yield from image_spaces(entry, container_path)
        name, target = entry.get("name", ""), entry.get("targetContainerName", "")
        if name in names:
            yield duplicate((*container_path, "name"), name)
        names.add(name)
        if target and target not in targets:
            yield not_found((*container_path, "targetContainerName"), target)
        for part in _EPHEMERAL_LACKS:
            if entry.get(part):
                yield forbidden((*container_path, part), "cannot be set for an Ephemeral Container")
        for j, mount in enumerate(entry.get("volumeMounts", ())):
            for part in ("subPath", "subPathExpr"):
                if mount.get(part):
                    yield forbidden(
                        (*container_path, "volumeMounts", j, part), "cannot be set for an Ephemeral Container"
                    )


def _common(entry: Value, pod: Surroundings, path: Path) -> Iterator[Cause]:
    name = entry.get("name", "")
    if not name:
        yield required((*path, "name"))
    elif bad := dns_label(name):
        yield from complaints((*path, "name"), name, bad)
    if not entry.get("image"):
        yield required((*path, "image"))
    policy = entry.get("terminationMessagePolicy")
    if policy and policy not in _MESSAGE_POLICIES:
        yield not_supported((*path, "terminationMessagePolicy"), named(policy), _MESSAGE_POLICIES)
    if "ports" in entry and not is_sound(_ports, entry["ports"]):
        yield from _ports(entry["ports"], (*path, "ports"))
    if "env" in entry:
        yield from variables(entry["env"], (*path, "env"))
    if "envFrom" in entry:
        yield from sources(entry["envFrom"], (*path, "envFrom"))
    if "volumeMounts" in entry:
        yield from mounts(entry, pod.volumes, (*path, "volumeMounts"))
    if "volumeDevices" in entry:
        yield from devices(entry, pod.volumes, (*path, "volumeDevices"))
    policy = entry.get("imagePullPolicy")
    if policy and policy not in _PULL_POLICIES:
        yield not_supported((*path, "imagePullPolicy"), named(policy), _PULL_POLICIES)
    if "resources" in entry and not is_sound(requirements, entry["resources"]):
        yield from requirements(entry["resources"], (*path, "resources"), claims=pod.claims)
    if "resizePolicy" in entry:
        yield from _resize_policy(entry["resizePolicy"], pod.restart_policy, (*path, "resizePolicy"))
    if "securityContext" in entry and not is_sound(security_context, entry["securityContext"], pod.host_users):
        yield from security_context(entry["securityContext"], pod.host_users, (*path, "securityContext"))


def _ports(ports: Sequence[Value], path: Path) -> Iterator[Cause]:
    names = set()
    for i, port in enumerate(ports):
        port_path = (*path, i)
        name = port.get("name", "")
        if name:
            bad = port_name(name)
            yield from complaints((*port_path, "name"), name, bad)
            if not bad and name in names:
                yield duplicate((*port_path, "name"), name)
            elif not bad:
                names.add(name)
        number = port.get("containerPort", 0)
        if not number:
            yield required((*port_path, "containerPort"))
        yield from complaints((*port_path, "containerPort"), number, port_number(number) if number else ())
        host = port.get("hostPort", 0)
        for detail in port_number(host) if host else ():
            yield invalid((*port_path, "hostPort"), host, detail)
        protocol = port.get("protocol") or "TCP"
        yield from one_of((*port_path, "protocol"), protocol, _PROTOCOLS)


def _host_port_conflicts(entries: Sequence[Value], path: Path) -> Iterator[Cause]:
    taken = set()
    for i, entry in enumerate(entries):
        for j, port in enumerate(entry.get("ports", ())):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol') or 'TCP'}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in taken:
                yield duplicate((*path, i, "ports", j, "hostPort"), key)
            taken.add(key)


def _resize_policy(policies: Sequence[Value], pod_restart: str, path: Path) -> Iterator[Cause]:
    seen = set()
    for i, policy in enumerate(policies):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in seen:
            yield duplicate((*path, i), named(resource))
        seen.add(resource)
        if not resource:
            yield required(path)
        elif resource not in ("cpu", "memory"):
            yield not_supported(path, named(resource), ("cpu", "memory"))
        if not restart:
            yield required(path)
        elif restart not in ("NotRequired", "RestartContainer"):
            yield not_supported(path, named(restart), ("NotRequired", "RestartContainer"))
        if pod_restart == "Never" and restart != "NotRequired":
            yield invalid(path, named(restart), "must be 'NotRequired' when pod `restartPolicy` is 'Never'")


def _restart_policy(entry: Value, path: Path) -> Iterator[Cause]:
    rules = entry.get("restartPolicyRules", ())
    if "restartPolicy" not in entry:
        if rules:
            yield required((*path, "restartPolicy"), "must specify restartPolicy when restart rules are used")
    elif entry["restartPolicy"] not in _RESTART_POLICIES:
        yield not_supported((*path, "restartPolicy"), named(entry["restartPolicy"]), _RESTART_POLICIES)
    if len(rules) > 20:
        yield too_many((*path, "restartPolicyRules"), len(rules), 20)
    for i, rule in enumerate(rules):
        rule_path = (*path, "restartPolicyRules", i)
        yield from one_of((*rule_path, "action"), rule.get("action", ""), _ACTIONS)
        if "exitCodes" not in rule:
            yield required((*rule_path, "exitCodes"), "must be specified")
            continue
        codes, at = rule["exitCodes"], (*rule_path, "exitCodes")
        yield from one_of((*at, "operator"), codes.get("operator", ""), ("In", "NotIn"))
        if len(codes.get("values", ())) > 255:
            yield too_many((*at, "values"), len(codes["values"]), 255)


def image_spaces(entry: Value, path: Path) -> Iterator[Cause]:
    """Yield causes for spaces around the image; checked for pods, not for templates."""
    image = entry.get("image", "")
    if image != image.strip():
        yield invalid((*path, "image"), image, "must not have leading or trailing whitespace")


# --- Where a container mounts its volumes, and its raw block devices --------------------------------------------------

_OPTIONS = frozenset(("subPath", "subPathExpr", "mountPropagation", "recursiveReadOnly"))
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


def mounts(container: Value, volumes: Mapping[str, Value], path: Path) -> Iterator[Cause]:
    """Yield causes; ``volumes`` are the valid ones: a mount of an invalid volume is "not found" too."""
    block = {device.get("name", ""): device.get("devicePath", "") for device in container.get("volumeDevices", ())}
    points = set()
    for i, mount in enumerate(container["volumeMounts"]):
        entry_path = (*path, i)
        name, point = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required((*entry_path, "name"))
        if name not in volumes:
            yield not_found((*entry_path, "name"), name)
        if not point:
            yield required((*entry_path, "mountPath"))
        if point in points:
            yield invalid((*entry_path, "mountPath"), point, "must be unique")
        points.add(point)
        if name in block:
            yield invalid((*entry_path, "name"), name, "must not already exist in volumeDevices")
        if point in block.values():
            yield invalid((*entry_path, "mountPath"), point, "must not already exist as a path in volumeDevices")
        if not _OPTIONS.isdisjoint(mount):
            yield from _mount_options(mount, container, entry_path)


def _mount_options(mount: Value, container: Value, path: Path) -> Iterator[Cause]:
    """Yield causes; upstream names these options as fields of the list itself, without an index."""
    listed = field_of(path[:-1])
    sub_path, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    if sub_path:
        yield from descending(sub_path, (*path, "subPath"), field=f"{listed}.subPath")
    if expression:
        if sub_path:
            yield invalid((*path, "subPathExpr"), expression, "subPathExpr and subPath are mutually exclusive")
        yield from descending(expression, (*path, "subPathExpr"), field=f"{listed}.subPathExpr")
    if "mountPropagation" in mount:
        at, field = (*path, "mountPropagation"), f"{listed}.mountPropagation"
        propagation = mount["mountPropagation"]
        yield from one_of(at, propagation, _PROPAGATIONS, field=field)
        if propagation == "Bidirectional" and container.get("securityContext", {}).get("privileged") is not True:
            detail = "Bidirectional mount propagation is available only to privileged containers"
            yield forbidden(at, detail, field=field)
    if "recursiveReadOnly" in mount:
        yield from _recursive(mount, (*path, "recursiveReadOnly"), f"{listed}.recursiveReadOnly")


def _recursive(mount: Value, path: Path, field: str) -> Iterator[Cause]:
    value = mount["recursiveReadOnly"]
    if value not in _RECURSIVE:
        yield not_supported(path, named(value), _RECURSIVE, field=field)
    elif value != "Disabled":
        if not mount.get("readOnly"):
            yield forbidden(path, "may only be specified when readOnly is true", field=field)
        if mount.get("mountPropagation", "None") != "None":
            detail = "may only be specified when mountPropagation is None or not specified"
            yield forbidden(path, detail, field=field)


def devices(container: Value, volumes: Mapping[str, Value], path: Path) -> Iterator[Cause]:
    mounted = {mount.get("name", ""): mount.get("mountPath", "") for mount in container.get("volumeMounts", ())}
    names: set[str] = set()
    points: set[str] = set()
    for i, device in enumerate(container["volumeDevices"]):
        entry_path = (*path, i)
        name, point = device.get("name", ""), device.get("devicePath", "")
        if not name:
            yield required((*entry_path, "name"))
        if name in names:
            yield invalid((*entry_path, "name"), name, "must be unique")
        if name not in volumes:
            yield not_found((*entry_path, "name"), name)
        elif "persistentVolumeClaim" not in volumes[name] and "ephemeral" not in volumes[name]:
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield invalid((*entry_path, "name"), name, detail)
        if not point:
            yield required((*entry_path, "devicePath"))
        if point in points:
            yield invalid((*entry_path, "devicePath"), point, "must be unique")
        if ".." in point.split("/"):
            yield invalid((*entry_path, "devicePath"), point, "can not contain backsteps ('..')")
        else:
            points.add(point)
        if name in mounted:
            yield invalid((*entry_path, "name"), name, "must not already exist in volumeMounts")
        if point in mounted.values():
            yield invalid((*entry_path, "devicePath"), point, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)
