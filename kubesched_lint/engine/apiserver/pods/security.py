"""Security contexts of pods and containers.

Mirrors ``ValidateSecurityContext`` and ``validatePodSpecSecurityContext`` in ``pkg/apis/core/validation/validation.go``
(v1.36). ``systems`` has the restrictions of operating systems.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    descending,
    duplicate,
    field_of,
    invalid,
    named,
    not_supported,
    one_of,
    required,
    too_long,
)
from kubesched_lint.engine.apiserver.values.names import dns_subdomain, in_range
from kubesched_lint.engine.base.places import Path

Value = dict[str, Any]
_INT32 = (1 << 31) - 1
_SECCOMP = ("Localhost", "RuntimeDefault", "Unconfined")
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"^({_SEGMENT}[\./])*{_SEGMENT}$"
_NET_SYSCTL, _IPC_SYSCTL = ("net.",), ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")


def security_context(value: Value, host_users: bool, path: Path) -> Iterator[Cause]:
    """Yield the causes of a container's security context."""
    for name in ("runAsUser", "runAsGroup"):
        yield from _identity(value, name, path)
    if "procMount" in value:
        mount, at = value["procMount"], (*path, "procMount")
        yield from one_of(at, mount, ("Default", "Unmasked"))
        if mount == "Unmasked" and host_users:
            yield invalid(at, named(mount), "`hostUsers` must be false to use `Unmasked`")
    yield from _seccomp(value, path)
    if value.get("allowPrivilegeEscalation") is False:
        if value.get("privileged"):
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield invalid(path, value, detail)
        for capability in value.get("capabilities", {}).get("add", ()):
            if capability == "CAP_SYS_ADMIN":
                detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
                yield invalid(path, value, detail)
    if "windowsOptions" in value:
        yield from _windows_options(value["windowsOptions"], (*path, "windowsOptions"))
    if "appArmorProfile" in value:
        yield from _app_armor(value["appArmorProfile"], (*path, "appArmorProfile"))


def pod_security_context(value: Value, spec: Value, path: Path) -> Iterator[Cause]:
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from _identity(value, name, path)
    for i, group in enumerate(value.get("supplementalGroups", ())):
        if not 0 <= group <= _INT32:
            yield invalid((*path, "supplementalGroups", i), group, in_range(0, _INT32))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        at, field = (*path[:-1], "shareProcessNamespace"), f"{field_of(path)}.shareProcessNamespace"
        yield invalid(at, True, "ShareProcessNamespace and HostPID cannot both be enabled", field=field)
    if "sysctls" in value:
        yield from _sysctls(value["sysctls"], spec, (*path, "sysctls"))
    yield from _choice(value, "fsGroupChangePolicy", ("Always", "OnRootMismatch"), path)
    yield from _seccomp(value, path)
    if "windowsOptions" in value:
        yield from _windows_options(value["windowsOptions"], (*path, "windowsOptions"))
    if "appArmorProfile" in value:
        yield from _app_armor(value["appArmorProfile"], (*path, "appArmorProfile"))
    yield from _choice(value, "supplementalGroupsPolicy", ("Merge", "Strict"), path)
    yield from _choice(value, "seLinuxChangePolicy", ("MountOption", "Recursive"), path)


def _identity(value: Value, name: str, path: Path) -> Iterator[Cause]:
    if not 0 <= value.get(name, 0) <= _INT32:
        yield invalid((*path, name), value[name], in_range(0, _INT32))


def _choice(value: Value, name: str, allowed: Sequence[str], path: Path) -> Iterator[Cause]:
    if name in value and value[name] not in allowed:
        yield not_supported((*path, name), named(value[name]), allowed)


def _seccomp(value: Value, path: Path) -> Iterator[Cause]:
    if "seccompProfile" not in value:
        return
    profile, profile_path = value["seccompProfile"], (*path, "seccompProfile")
    kind = profile.get("type", "")
    if not kind:
        yield required((*profile_path, "type"), "type is required when seccompProfile is set")
    elif kind not in _SECCOMP:
        yield not_supported((*profile_path, "type"), named(kind), _SECCOMP)
    at = (*profile_path, "localhostProfile")
    if kind != "Localhost":
        if "localhostProfile" in profile:
            shown = {"Type": kind, "LocalhostProfile": profile["localhostProfile"]}
            yield invalid(at, shown, "can only be set when seccomp type is Localhost")
    elif "localhostProfile" not in profile:
        yield required(at, "must be set when seccomp type is Localhost")
    else:
        yield from descending(profile["localhostProfile"], at)


def _app_armor(profile: Value, path: Path) -> Iterator[Cause]:
    kind, at = profile.get("type", ""), (*path, "localhostProfile")
    if kind == "Localhost":
        name = profile.get("localhostProfile", "")
        if name != name.strip():
            yield invalid(at, name, "must not be padded with whitespace")
        elif not name:
            yield required(at, "must be set when AppArmor type is Localhost")
        if len(name) > 4095:
            yield too_long(at, 4095)
    elif kind in _SECCOMP:
        if "localhostProfile" in profile:
            yield invalid(at, named(profile["localhostProfile"]), "can only be set when AppArmor type is Localhost")
    elif not kind:
        yield required((*path, "type"), "type is required when appArmorProfile is set")
    else:
        yield not_supported((*path, "type"), named(kind), _SECCOMP)


def _sysctls(sysctls: Sequence[Value], spec: Value, path: Path) -> Iterator[Cause]:
    seen = set()
    for i, sysctl in enumerate(sysctls):
        name, at = sysctl.get("name", ""), (*path, i, "name")
        if not name:
            yield required(at)
        elif len(name) > 253 or not re.search(_SYSCTL, name):
            yield invalid(at, name, f"must have at most 253 characters and match regex {_SYSCTL}")
        elif name in seen:
            yield duplicate(at, name)
        seen.add(name)
        dotted = name.replace("/", ".")
        if spec.get("hostNetwork") and dotted.startswith(_NET_SYSCTL):
            yield invalid(at, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and dotted.startswith(_IPC_SYSCTL):
            yield invalid(at, name, "may not be specified when 'hostIPC' is true")


def _windows_options(value: Value, path: Path) -> Iterator[Cause]:
    """Yield causes; an account name is checked only for what no Windows accepts, not for its full grammar."""
    for detail in dns_subdomain(value["gmsaCredentialSpecName"]) if "gmsaCredentialSpecName" in value else ():
        yield invalid((*path, "gmsaCredentialSpecName"), named(value["gmsaCredentialSpecName"]), detail)
    if value.get("gmsaCredentialSpec") == "":
        yield invalid((*path, "gmsaCredentialSpec"), "", "gmsaCredentialSpec cannot be an empty string")
    if value.get("runAsUserName") == "":
        yield invalid((*path, "runAsUserName"), "", "runAsUserName cannot be an empty string")
