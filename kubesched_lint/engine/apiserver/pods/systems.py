"""Restrictions of user namespaces, host names and the operating system on a pod.

Mirrors ``validateHostUsers``, ``validatePodHostName``, ``validateOS``, ``validateLinux`` and ``validateWindows`` in
``pkg/apis/core/validation/validation.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    complaints,
    field_of,
    forbidden,
    named,
    not_supported,
    required,
    too_long,
)
from kubesched_lint.engine.apiserver.values.names import dns_subdomain
from kubesched_lint.engine.base.places import Path

Value = dict[str, Any]
_NOT_ON_WINDOWS = "cannot be set for a windows pod"
_POD_SECURITY = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
_CONTAINER_SECURITY = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def _each_container(spec: Value, path: Path) -> Iterator[tuple[Value, Path]]:
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for i, container in enumerate(spec.get(group, ())):
            yield container, (*path, group, i)


def host_users(spec: Value, path: Path) -> Iterator[Cause]:
    """Yield causes; ``hostNetwork`` is not checked, because a gate of uncertain default allows it."""
    if spec.get("hostUsers") is not False:
        return
    for name in ("hostPID", "hostIPC"):
        if spec.get(name):
            field = f"{field_of(path)}.H{name[1:]}"
            yield forbidden((*path, name), "when `hostUsers` is false", field=field)
    for container, container_path in _each_container(spec, path):
        if container.get("volumeDevices"):
            yield forbidden((*container_path, "volumeDevices"), "when `hostUsers` is false")


def hostname_override(spec: Value, path: Path) -> Iterator[Cause]:
    if "hostnameOverride" not in spec:
        return
    name, override_path = spec["hostnameOverride"], (*path, "hostnameOverride")
    for rival in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(rival):
            yield forbidden(override_path, f"may not be specified when {rival} is true")
    if len(name) > 64:
        yield too_long(override_path, 64)
    yield from complaints(override_path, name, dns_subdomain(name))


def operating_system(spec: Value, path: Path) -> Iterator[Cause]:
    name, os_path = spec["os"].get("name", ""), (*path, "os")
    if not name:
        yield required((*os_path, "name"))
    elif name == "linux":
        yield from _linux(spec, path)
    elif name == "windows":
        yield from _windows(spec, path)
    else:
        yield not_supported((*os_path, "name"), named(name), ("linux", "windows"), field=field_of(os_path))


def _linux(spec: Value, path: Path) -> Iterator[Cause]:
    for holder, holder_path in ((spec, path), *_each_container(spec, path)):
        if "windowsOptions" in holder.get("securityContext", ()):
            at = (*holder_path, "securityContext", "windowsOptions")
            yield forbidden(at, "windows options cannot be set for a linux pod")


def _windows(spec: Value, path: Path) -> Iterator[Cause]:
    context = spec.get("securityContext", {})
    for name in ("hostUsers", "shareProcessNamespace"):
        if name in spec:
            yield forbidden((*path, name), _NOT_ON_WINDOWS)
    for name in ("hostPID", "hostIPC"):
        if spec.get(name):
            yield forbidden((*path, name), _NOT_ON_WINDOWS)
    for name in _POD_SECURITY:
        if name in context and (name != "sysctls" or context[name]):
            yield forbidden((*path, "securityContext", name), _NOT_ON_WINDOWS)
    for container, container_path in _each_container(spec, path):
        for name in _CONTAINER_SECURITY:
            if name in container.get("securityContext", ()):
                yield forbidden((*container_path, "securityContext", name), _NOT_ON_WINDOWS)
