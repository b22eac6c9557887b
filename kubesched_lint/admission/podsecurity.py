"""What the PodSecurity admission plugin refuses, by the ``enforce`` label of a namespace.

Mirrors ``k8s.io/pod-security-admission`` (v1.36): ``policy/check_*.go``, ``policy/registry.go`` (order and versions of
checks) and ``api/helpers.go`` (labels). Pods are plain values, for no rule of scheduling reads a security context.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kubesched_lint.validation.causes import quoted

Value = Mapping[str, Any]
LEVEL = "pod-security.kubernetes.io/enforce"
VERSION = f"{LEVEL}-version"
_NEWEST = 35
"""The minor version in which a check changed last: later ones are judged by its checks (registry.go, maxVersion)."""


class Policy(NamedTuple):
    level: str
    version: str
    """``latest`` or ``v1.N``."""

    @property
    def minor(self) -> int:
        return _NEWEST if self.version == "latest" else int(self.version.partition(".")[2])

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"


def policy_of(labels: Mapping[str, str]) -> Policy | None:
    """What a namespace enforces; None where it enforces nothing.

    PolicyToEvaluate: a level that is none counts as restricted, a version that is none as latest. What the API server
    enforces where no label says it is privileged, unless its configuration file says otherwise.
    """
    level = labels.get(LEVEL, "privileged")
    if level == "privileged":
        return None
    version = labels.get(VERSION, "latest")
    known = re.fullmatch(r"v1\.(0|[1-9][0-9]*)", version)
    return Policy(level if level == "baseline" else "restricted", version if known else "latest")


def violation(policy: Policy, template: Value, minor: int = _NEWEST) -> str:
    """What the pods of a template are forbidden for; empty where they are not. ``minor`` is Kubernetes' own.

    The words are those of the API server: ``violates PodSecurity "restricted:latest": privileged (container …)``.
    """
    annotations, spec = _at(template, "metadata", "annotations"), _at(template, "spec")
    pod = _Pod(annotations, spec, tuple(_containers(spec)))
    found = []
    for check in _checks(policy.level, min(policy.minor, minor, _NEWEST)):
        told = check(pod)
        if told:
            found.append("{} ({})".format(*told))
    return f"violates PodSecurity {quoted(str(policy))}: {', '.join(found)}" if found else ""


class _Pod(NamedTuple):
    annotations: Value
    spec: Value
    containers: tuple[Value, ...]
    """Init containers first, as visitContainers goes."""

    @property
    def security(self) -> Value:
        return _at(self.spec, "securityContext")

    @property
    def in_user_namespace(self) -> bool:
        return self.spec.get("hostUsers") is False

    @property
    def is_windows(self) -> bool:
        return _at(self.spec, "os").get("name") == "windows"

    def setters(self, is_bad: Callable[[Value], bool]) -> list[str]:
        """``pod`` and ``containers "a", "b"``: whose securityContext is bad."""
        found = ["pod"] if is_bad(self.security) else []
        names = self.named(lambda c: is_bad(_at(c, "securityContext")))
        return [*found, _containers_named(names)] if names else found

    def named(self, is_bad: Callable[[Value], bool]) -> list[str]:
        return [str(c.get("name", "")) for c in self.containers if is_bad(c)]


Told = tuple[str, str] | None
"""Reason and detail; None where the check has nothing against the pod."""
Check = Callable[[_Pod], Told]


def _at(value: Any, *keys: str) -> Value:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _list(value: Value, key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def _containers(spec: Value) -> Iterator[Value]:
    for key in ("initContainers", "containers", "ephemeralContainers"):
        yield from (c for c in _list(spec, key) if isinstance(c, dict))


def _joined(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"


def _containers_named(names: list[str]) -> str:
    return f"{_plural('container', len(names))} {_joined(names)}"


# --- baseline -------------------------------------------------------------------------------------------------------


def _app_armor(pod: _Pod) -> Told:
    def kind(security: Value) -> str | None:
        profile = security.get("appArmorProfile")
        return str(profile.get("type", "")) if isinstance(profile, dict) else None

    def is_bad(security: Value) -> bool:
        return kind(security) not in (None, "RuntimeDefault", "Localhost")

    setters = pod.setters(is_bad)
    contexts = [pod.security, *(_at(c, "securityContext") for c in pod.containers)]
    values = sorted({str(kind(c)) for c in contexts if is_bad(c)})
    annotations = sorted(
        f"{key}={quoted(str(value))}"
        for key, value in pod.annotations.items()
        if str(key).startswith("container.apparmor.security.beta.kubernetes.io/")
        and not (str(value) in ("", "runtime/default") or str(value).startswith("localhost/"))
    )
    if annotations:
        values += annotations
        setters.append(_plural("annotation", len(annotations)))
    if not setters:
        return None
    reason = _plural("forbidden AppArmor profile", len(values))
    return reason, f"{' and '.join(setters)} must not set AppArmor profile type to {_joined(values)}"


_DEFAULT_CAPABILITIES = frozenset(
    [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ]
)


def _added(container: Value, allowed: frozenset[str]) -> list[str]:
    added = _list(_at(container, "securityContext", "capabilities"), "add")
    return [str(c) for c in added if c not in allowed]


def _adding(pod: _Pod, allowed: frozenset[str]) -> str:
    names = pod.named(lambda c: bool(_added(c, allowed)))
    if not names:
        return ""
    added = sorted({c for container in pod.containers for c in _added(container, allowed)})
    return f"{_containers_named(names)} must not include {_joined(added)} in securityContext.capabilities.add"


def _capabilities_baseline(pod: _Pod) -> Told:
    told = _adding(pod, _DEFAULT_CAPABILITIES)
    return ("non-default capabilities", told) if told else None


def _host_namespaces(pod: _Pod) -> Told:
    found = [f"{key}=true" for key in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(key) is True]
    return ("host namespaces", ", ".join(found)) if found else None


def _volumes(pod: _Pod) -> list[Value]:
    return [v for v in _list(pod.spec, "volumes") if isinstance(v, dict)]


def _host_path(pod: _Pod) -> Told:
    names = [str(v.get("name", "")) for v in _volumes(pod) if v.get("hostPath") is not None]
    return ("hostPath volumes", f"{_plural('volume', len(names))} {_joined(names)}") if names else None


def _host_ports(pod: _Pod) -> Told:
    shared = pod.spec.get("hostNetwork") is True

    def ports(container: Value) -> list[int]:
        """With hostNetwork a port without hostPort gets that of the container (SetDefaults_PodSpec)."""
        written = [p for p in _list(container, "ports") if isinstance(p, dict)]
        found = [p.get("hostPort") or (p.get("containerPort") if shared else 0) for p in written]
        return [p for p in found if isinstance(p, int) and p]

    names = pod.named(lambda c: bool(ports(c)))
    if not names:
        return None
    used = sorted({str(p) for c in pod.containers for p in ports(c)})
    verb = "uses" if len(names) == 1 else "use"
    return "hostPort", f"{_containers_named(names)} {verb} {_plural('hostPort', len(used))} {', '.join(used)}"


def _host_probes(pod: _Pod) -> Told:
    def hosts(container: Value) -> list[str]:
        probes = [_at(container, key) for key in ("livenessProbe", "readinessProbe", "startupProbe")]
        hooks = [_at(container, "lifecycle", key) for key in ("postStart", "preStop")]
        found = [_at(p, kind).get("host") for p in (*probes, *hooks) for kind in ("httpGet", "tcpSocket")]
        return [str(host) for host in found if host]

    names = sorted(set(pod.named(lambda c: bool(hosts(c)))))
    if not names:
        return None
    found = sorted({host for c in pod.containers for host in hosts(c)})
    verb, noun = "uses" if len(names) == 1 else "use", _plural("probe or lifecycle host", len(found))
    return "probe or lifecycle host", f"{_containers_named(names)} {verb} {noun} {_joined(found)}"


def _privileged(pod: _Pod) -> Told:
    names = pod.named(lambda c: _at(c, "securityContext").get("privileged") is True)
    return ("privileged", f"{_containers_named(names)} must not set securityContext.privileged=true") if names else None


def _proc_mount(pod: _Pod) -> Told:
    def kind(container: Value) -> str | None:
        found = _at(container, "securityContext").get("procMount")
        return None if found in (None, "Default") else str(found)

    names = pod.named(lambda c: kind(c) is not None)
    if not names:
        return None
    kinds = sorted({str(kind(c)) for c in pod.containers if kind(c) is not None})
    return "procMount", f"{_containers_named(names)} must not set securityContext.procMount to {_joined(kinds)}"


def _se_linux(engine: bool) -> Check:
    types = {"", "container_t", "container_init_t", "container_kvm_t", *(("container_engine_t",) if engine else ())}

    def check(pod: _Pod) -> Told:
        def bad_type(security: Value) -> str:
            kind = str(_at(security, "seLinuxOptions").get("type") or "")
            return "" if kind in types else kind

        def says(security: Value, key: str) -> bool:
            return bool(_at(security, "seLinuxOptions").get(key))

        setters = pod.setters(lambda s: bool(bad_type(s)) or says(s, "user") or says(s, "role"))
        if not setters:
            return None
        contexts = [pod.security, *(_at(c, "securityContext") for c in pod.containers)]
        kinds = sorted(set(filter(None, map(bad_type, contexts))))
        data = [f"{_plural('type', len(kinds))} {_joined(kinds)}"] if kinds else []
        data += [f"{key} may not be set" for key in ("user", "role") if any(says(c, key) for c in contexts)]
        told = f"{' and '.join(setters)} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
        return "seLinuxOptions", told

    return check


def _seccomp_annotations(pod: _Pod) -> Told:
    prefix = "seccomp.security.alpha.kubernetes.io/"
    keys = [f"{prefix}pod", *(f"container.{prefix}{c.get('name', '')}" for c in pod.containers)]
    found = sorted(
        {
            f"{key}={quoted(str(pod.annotations[key]))}"
            for key in keys
            if key in pod.annotations
            and pod.annotations[key] not in ("runtime/default", "docker/default")
            and not str(pod.annotations[key]).startswith("localhost/")
        }
    )
    return ("seccompProfile", f"forbidden {_plural('annotation', len(found))} {', '.join(found)}") if found else None


def _seccomp(security: Value) -> str | None:
    profile = security.get("seccompProfile")
    return str(profile.get("type", "")) if isinstance(profile, dict) else None


def _is_bad_seccomp(security: Value) -> bool:
    return _seccomp(security) not in (None, "RuntimeDefault", "Localhost")


def _seccomp_baseline(pod: _Pod) -> Told:
    setters = pod.setters(_is_bad_seccomp)
    if not setters:
        return None
    contexts = [pod.security, *(_at(c, "securityContext") for c in pod.containers)]
    values = sorted({str(_seccomp(c)) for c in contexts if _is_bad_seccomp(c)})
    told = f"{' and '.join(setters)} must not set securityContext.seccompProfile.type to {_joined(values)}"
    return "seccompProfile", told


_SYSCTLS = {
    0: "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range "
    "net.ipv4.ip_unprivileged_port_start",
    27: "net.ipv4.ip_local_reserved_ports",
    29: "net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl "
    "net.ipv4.tcp_keepalive_probes",
    32: "net.ipv4.tcp_rmem net.ipv4.tcp_wmem",
}
"""Allowed since a minor version."""


def _sysctls(minor: int) -> Check:
    allowed = {name for since, names in _SYSCTLS.items() if since <= minor for name in names.split()}

    def check(pod: _Pod) -> Told:
        names = [str(s.get("name", "")) for s in _list(pod.security, "sysctls") if isinstance(s, dict)]
        found = [name for name in names if name not in allowed]
        return ("forbidden sysctls", ", ".join(found)) if found else None

    return check


def _windows_host_process(pod: _Pod) -> Told:
    setters = pod.setters(lambda s: _at(s, "windowsOptions").get("hostProcess") is True)
    told = f"{' and '.join(setters)} must not set securityContext.windowsOptions.hostProcess=true"
    return ("hostProcess", told) if setters else None


# --- restricted -----------------------------------------------------------------------------------------------------


def _escalation(pod: _Pod) -> Told:
    names = pod.named(lambda c: _at(c, "securityContext").get("allowPrivilegeEscalation") is not False)
    told = f"{_containers_named(names)} must set securityContext.allowPrivilegeEscalation=false"
    return ("allowPrivilegeEscalation != false", told) if names else None


def _capabilities_restricted(pod: _Pod) -> Told:
    keeping = pod.named(lambda c: "ALL" not in _list(_at(c, "securityContext", "capabilities"), "drop"))
    details = [f'{_containers_named(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    details += filter(None, [_adding(pod, frozenset(["NET_BIND_SERVICE"]))])
    return ("unrestricted capabilities", "; ".join(details)) if details else None


_FREE_VOLUMES = frozenset(
    [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ]
)
_VOLUMES = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
]


def _restricted_volumes(pod: _Pod) -> Told:
    bad = []
    for volume in _volumes(pod):
        given = {key for key, value in volume.items() if value is not None and key != "name"}
        # A volume that says no source is an emptyDir (SetDefaults_Volume).
        if given and given.isdisjoint(_FREE_VOLUMES):
            bad.append((str(volume.get("name", "")), next((v for v in _VOLUMES if v in given), "unknown")))
    if not bad:
        return None
    names, kinds = [name for name, _ in bad], sorted({kind for _, kind in bad})
    verb, noun = "uses" if len(names) == 1 else "use", _plural("restricted volume type", len(kinds))
    return "restricted volume types", f"{_plural('volume', len(names))} {_joined(names)} {verb} {noun} {_joined(kinds)}"


def _non_root(pod: _Pod) -> Told:
    setters = pod.setters(lambda s: s.get("runAsNonRoot") is False)
    if setters:
        return "runAsNonRoot != true", f"{' and '.join(setters)} must not set securityContext.runAsNonRoot=false"
    if pod.security.get("runAsNonRoot") is True:
        return None
    names = pod.named(lambda c: _at(c, "securityContext").get("runAsNonRoot") is None)
    told = f"pod or {_containers_named(names)} must set securityContext.runAsNonRoot=true"
    return ("runAsNonRoot != true", told) if names else None


def _as_user(pod: _Pod) -> Told:
    setters = pod.setters(lambda s: s.get("runAsUser") == 0 and s.get("runAsUser") is not False)
    return ("runAsUser=0", f"{' and '.join(setters)} must not set runAsUser=0") if setters else None


def _seccomp_restricted(pod: _Pod) -> Told:
    told = _seccomp_baseline(pod)
    if told or _seccomp(pod.security) is not None:
        return told
    names = pod.named(lambda c: _seccomp(_at(c, "securityContext")) is None)
    kinds = '"RuntimeDefault" or "Localhost"'
    text = f"pod or {_containers_named(names)} must set securityContext.seccompProfile.type to {kinds}"
    return ("seccompProfile", text) if names else None


def _not_on_windows(check: Check) -> Check:
    return lambda pod: None if pod.is_windows else check(pod)


def _not_in_user_namespace(check: Check) -> Check:
    return lambda pod: None if pod.in_user_namespace else check(pod)


# --- which checks, in which order -----------------------------------------------------------------------------------


def _checks(level: str, minor: int) -> Iterator[Check]:
    """Those of a policy, sorted by their upstream ID: baseline first, without those that restricted ones replace."""
    restricted = level == "restricted"
    yield _app_armor
    if not (restricted and minor >= 22):
        yield _capabilities_baseline
    yield _host_namespaces
    if not restricted:
        yield _host_path
    yield _host_ports
    if minor >= 34:
        yield _host_probes
    yield _privileged
    if minor < 35:
        yield _proc_mount
    elif not restricted:
        yield _not_in_user_namespace(_proc_mount)
    yield _se_linux(engine=minor >= 31)
    if not (restricted and minor >= 19):
        yield _seccomp_baseline if minor >= 19 else _seccomp_annotations
    yield _sysctls(minor)
    yield _windows_host_process
    if restricted:
        yield from _restricted_checks(minor)


def _restricted_checks(minor: int) -> Iterator[Check]:
    exempt = _not_on_windows if minor >= 25 else lambda check: check
    if minor >= 8:
        yield exempt(_escalation)
    if minor >= 22:
        yield exempt(_capabilities_restricted)
    if minor >= 35:
        yield _proc_mount
    yield _restricted_volumes
    yield _not_in_user_namespace(_non_root) if minor >= 35 else _non_root
    if minor >= 23:
        yield _not_in_user_namespace(_as_user) if minor >= 35 else _as_user
    if minor >= 19:
        yield exempt(_seccomp_restricted)
