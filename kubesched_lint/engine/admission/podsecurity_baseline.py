"""The checks of the baseline policy; each returns the offending part of the pod.

Mirrors ``policy/check_*.go`` of ``k8s.io/pod-security-admission`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kubesched_lint.engine.apiserver.values.causes import quoted

Value = Mapping[str, Any]


class CheckedPod(NamedTuple):
    """A pod as it is written, for the checks."""

    annotations: Value
    spec: Value
    containers: tuple[Value, ...]
    """Init containers first, in the order of visitContainers."""

    @property
    def security(self) -> Value:
        return at(self.spec, "securityContext")

    @property
    def in_user_namespace(self) -> bool:
        return self.spec.get("hostUsers") is False

    @property
    def is_windows(self) -> bool:
        return at(self.spec, "os").get("name") == "windows"

    def setters(self, is_bad: Callable[[Value], bool]) -> list[str]:
        """Return ``pod`` and ``containers "a", "b"``: those with a bad securityContext."""
        setters = ["pod"] if is_bad(self.security) else []
        names = self.named(lambda c: is_bad(at(c, "securityContext")))
        return [*setters, containers_named(names)] if names else setters

    def named(self, is_bad: Callable[[Value], bool]) -> list[str]:
        return [str(c.get("name", "")) for c in self.containers if is_bad(c)]


CheckResult = tuple[str, str] | None
"""Reason and detail; None if the pod passes the check."""
Check = Callable[[CheckedPod], CheckResult]


def at(value: Any, *keys: str) -> Value:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def items_of(value: Value, key: str) -> list[Any]:
    items = value.get(key)
    return items if isinstance(items, list) else []


def containers(spec: Value) -> Iterator[Value]:
    for key in ("initContainers", "containers", "ephemeralContainers"):
        yield from (c for c in items_of(spec, key) if isinstance(c, dict))


def joined(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"


def containers_named(names: list[str]) -> str:
    return f"{plural('container', len(names))} {joined(names)}"


# --- the checks ----------------------------------------------------------------------------------------------------


def app_armor(pod: CheckedPod) -> CheckResult:
    def kind(security: Value) -> str | None:
        profile = security.get("appArmorProfile")
        return str(profile.get("type", "")) if isinstance(profile, dict) else None

    def is_bad(security: Value) -> bool:
        return kind(security) not in (None, "RuntimeDefault", "Localhost")

    setters = pod.setters(is_bad)
    contexts = [pod.security, *(at(c, "securityContext") for c in pod.containers)]
    values = sorted({str(kind(c)) for c in contexts if is_bad(c)})
    annotations = sorted(
        f"{key}={quoted(str(value))}"
        for key, value in pod.annotations.items()
        if str(key).startswith("container.apparmor.security.beta.kubernetes.io/")
        and not (str(value) in ("", "runtime/default") or str(value).startswith("localhost/"))
    )
    if annotations:
        values += annotations
        setters.append(plural("annotation", len(annotations)))
    if not setters:
        return None
    reason = plural("forbidden AppArmor profile", len(values))
    return reason, f"{' and '.join(setters)} must not set AppArmor profile type to {joined(values)}"


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
    added = items_of(at(container, "securityContext", "capabilities"), "add")
    return [str(c) for c in added if c not in allowed]


def adding(pod: CheckedPod, allowed: frozenset[str]) -> str:
    names = pod.named(lambda c: bool(_added(c, allowed)))
    if not names:
        return ""
    added = sorted({c for container in pod.containers for c in _added(container, allowed)})
    return f"{containers_named(names)} must not include {joined(added)} in securityContext.capabilities.add"


def capabilities_baseline(pod: CheckedPod) -> CheckResult:
    detail = adding(pod, _DEFAULT_CAPABILITIES)
    return ("non-default capabilities", detail) if detail else None


def host_namespaces(pod: CheckedPod) -> CheckResult:
    shared = [f"{key}=true" for key in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(key) is True]
    return ("host namespaces", ", ".join(shared)) if shared else None


def volumes(pod: CheckedPod) -> list[Value]:
    return [v for v in items_of(pod.spec, "volumes") if isinstance(v, dict)]


def host_path(pod: CheckedPod) -> CheckResult:
    names = [str(v.get("name", "")) for v in volumes(pod) if v.get("hostPath") is not None]
    return ("hostPath volumes", f"{plural('volume', len(names))} {joined(names)}") if names else None


def host_ports(pod: CheckedPod) -> CheckResult:
    shared = pod.spec.get("hostNetwork") is True

    def ports(container: Value) -> list[int]:
        """Return the ports; with hostNetwork a port without hostPort gets its containerPort (SetDefaults_PodSpec)."""
        written = [p for p in items_of(container, "ports") if isinstance(p, dict)]
        numbers = [p.get("hostPort") or (p.get("containerPort") if shared else 0) for p in written]
        return [p for p in numbers if isinstance(p, int) and p]

    names = pod.named(lambda c: bool(ports(c)))
    if not names:
        return None
    used = sorted({str(p) for c in pod.containers for p in ports(c)})
    verb = "uses" if len(names) == 1 else "use"
    return "hostPort", f"{containers_named(names)} {verb} {plural('hostPort', len(used))} {', '.join(used)}"


def host_probes(pod: CheckedPod) -> CheckResult:
    def hosts(container: Value) -> list[str]:
        probes = [at(container, key) for key in ("livenessProbe", "readinessProbe", "startupProbe")]
        hooks = [at(container, "lifecycle", key) for key in ("postStart", "preStop")]
        probe_hosts = [at(p, kind).get("host") for p in (*probes, *hooks) for kind in ("httpGet", "tcpSocket")]
        return [str(host) for host in probe_hosts if host]

    names = sorted(set(pod.named(lambda c: bool(hosts(c)))))
    if not names:
        return None
    probe_hosts = sorted({host for c in pod.containers for host in hosts(c)})
    verb, noun = "uses" if len(names) == 1 else "use", plural("probe or lifecycle host", len(probe_hosts))
    return "probe or lifecycle host", f"{containers_named(names)} {verb} {noun} {joined(probe_hosts)}"


def privileged(pod: CheckedPod) -> CheckResult:
    names = pod.named(lambda c: at(c, "securityContext").get("privileged") is True)
    return ("privileged", f"{containers_named(names)} must not set securityContext.privileged=true") if names else None


def proc_mount(pod: CheckedPod) -> CheckResult:
    def kind(container: Value) -> str | None:
        mount_type = at(container, "securityContext").get("procMount")
        return None if mount_type in (None, "Default") else str(mount_type)

    names = pod.named(lambda c: kind(c) is not None)
    if not names:
        return None
    kinds = sorted({str(kind(c)) for c in pod.containers if kind(c) is not None})
    return "procMount", f"{containers_named(names)} must not set securityContext.procMount to {joined(kinds)}"


def se_linux(engine: bool) -> Check:
    types = {"", "container_t", "container_init_t", "container_kvm_t", *(("container_engine_t",) if engine else ())}

    def check(pod: CheckedPod) -> CheckResult:
        def bad_type(security: Value) -> str:
            kind = str(at(security, "seLinuxOptions").get("type") or "")
            return "" if kind in types else kind

        def says(security: Value, key: str) -> bool:
            return bool(at(security, "seLinuxOptions").get(key))

        setters = pod.setters(lambda s: bool(bad_type(s)) or says(s, "user") or says(s, "role"))
        if not setters:
            return None
        contexts = [pod.security, *(at(c, "securityContext") for c in pod.containers)]
        kinds = sorted(set(filter(None, map(bad_type, contexts))))
        data = [f"{plural('type', len(kinds))} {joined(kinds)}"] if kinds else []
        data += [f"{key} may not be set" for key in ("user", "role") if any(says(c, key) for c in contexts)]
        detail = f"{' and '.join(setters)} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
        return "seLinuxOptions", detail

    return check


def seccomp_annotations(pod: CheckedPod) -> CheckResult:
    prefix = "seccomp.security.alpha.kubernetes.io/"
    keys = [f"{prefix}pod", *(f"container.{prefix}{c.get('name', '')}" for c in pod.containers)]
    forbidden = sorted(
        {
            f"{key}={quoted(str(pod.annotations[key]))}"
            for key in keys
            if key in pod.annotations
            and pod.annotations[key] not in ("runtime/default", "docker/default")
            and not str(pod.annotations[key]).startswith("localhost/")
        }
    )
    return (
        ("seccompProfile", f"forbidden {plural('annotation', len(forbidden))} {', '.join(forbidden)}")
        if forbidden
        else None
    )


def seccomp(security: Value) -> str | None:
    profile = security.get("seccompProfile")
    return str(profile.get("type", "")) if isinstance(profile, dict) else None


def _is_bad_seccomp(security: Value) -> bool:
    return seccomp(security) not in (None, "RuntimeDefault", "Localhost")


def seccomp_baseline(pod: CheckedPod) -> CheckResult:
    setters = pod.setters(_is_bad_seccomp)
    if not setters:
        return None
    contexts = [pod.security, *(at(c, "securityContext") for c in pod.containers)]
    values = sorted({str(seccomp(c)) for c in contexts if _is_bad_seccomp(c)})
    detail = f"{' and '.join(setters)} must not set securityContext.seccompProfile.type to {joined(values)}"
    return "seccompProfile", detail


_SYSCTLS = {
    0: "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range "
    "net.ipv4.ip_unprivileged_port_start",
    27: "net.ipv4.ip_local_reserved_ports",
    29: "net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl "
    "net.ipv4.tcp_keepalive_probes",
    32: "net.ipv4.tcp_rmem net.ipv4.tcp_wmem",
    37: "net.ipv4.tcp_slow_start_after_idle net.ipv4.tcp_notsent_lowat",
}
"""Minor version → sysctls allowed since then."""


def sysctls(minor: int) -> Check:
    allowed = {name for since, names in _SYSCTLS.items() if since <= minor for name in names.split()}

    def check(pod: CheckedPod) -> CheckResult:
        names = [str(s.get("name", "")) for s in items_of(pod.security, "sysctls") if isinstance(s, dict)]
        forbidden = [name for name in names if name not in allowed]
        return ("forbidden sysctls", ", ".join(forbidden)) if forbidden else None

    return check


def windows_host_process(pod: CheckedPod) -> CheckResult:
    setters = pod.setters(lambda s: at(s, "windowsOptions").get("hostProcess") is True)
    detail = f"{' and '.join(setters)} must not set securityContext.windowsOptions.hostProcess=true"
    return ("hostProcess", detail) if setters else None
