"""The refusals of the PodSecurity admission plugin, by the ``enforce`` label of a namespace.

Mirrors ``k8s.io/pod-security-admission`` (v1.36): ``policy/check_*.go``, ``policy/registry.go`` (order and versions of
checks) and ``api/helpers.go`` (labels). Pods are plain values, because no scheduling rule reads a security context.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kubesched_lint.engine.admission.podsecurity_baseline import (
    Check,
    CheckedPod,
    CheckResult,
    Value,
    adding,
    app_armor,
    at,
    capabilities_baseline,
    containers,
    containers_named,
    host_namespaces,
    host_path,
    host_ports,
    host_probes,
    items_of,
    joined,
    plural,
    privileged,
    proc_mount,
    se_linux,
    seccomp,
    seccomp_annotations,
    seccomp_baseline,
    sysctls,
    volumes,
    windows_host_process,
)
from kubesched_lint.engine.apiserver.values.causes import quoted

LEVEL = "pod-security.kubernetes.io/enforce"
VERSION = f"{LEVEL}-version"
_NEWEST = 37
"""The last minor version in which a check changed; later versions use its checks (registry.go, maxVersion)."""


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
    """Return the policy that a namespace enforces; None if it enforces nothing.

    PolicyToEvaluate: an invalid level counts as restricted, an invalid version as latest. Without a label the API
    server enforces privileged, unless its configuration file says otherwise.
    """
    level = labels.get(LEVEL, "privileged")
    if level == "privileged":
        return None
    version = labels.get(VERSION, "latest")
    known = re.fullmatch(r"v1\.(0|[1-9][0-9]*)", version)
    return Policy(level if level == "baseline" else "restricted", version if known else "latest")


def violation(policy: Policy, template: Value, minor: int = _NEWEST) -> str:
    """Return why the pods of a template are forbidden; empty if they are not. ``minor`` is Kubernetes' own.

    The words are those of the API server: ``violates PodSecurity "restricted:latest": privileged (container …)``.
    """
    annotations, spec = at(template, "metadata", "annotations"), at(template, "spec")
    pod = CheckedPod(annotations, spec, tuple(containers(spec)))
    violations = []
    for check in _checks(policy.level, min(policy.minor, minor, _NEWEST)):
        result = check(pod)
        if result:
            violations.append("{} ({})".format(*result))
    return f"violates PodSecurity {quoted(str(policy))}: {', '.join(violations)}" if violations else ""


# --- which checks, in which order -----------------------------------------------------------------------------------


def _checks(level: str, minor: int) -> Iterator[Check]:
    """Yield a policy's checks by upstream ID: baseline first, without those that restricted ones replace."""
    restricted = level == "restricted"
    yield app_armor
    if not (restricted and minor >= 22):
        yield capabilities_baseline
    yield host_namespaces
    if not restricted:
        yield host_path
    yield host_ports
    if minor >= 34:
        yield host_probes
    yield privileged
    if minor < 35:
        yield proc_mount
    elif not restricted:
        yield not_in_user_namespace(proc_mount)
    yield se_linux(engine=minor >= 31)
    if not (restricted and minor >= 19):
        yield seccomp_baseline if minor >= 19 else seccomp_annotations
    yield sysctls(minor)
    yield windows_host_process
    if restricted:
        yield from _restricted_checks(minor)


def _restricted_checks(minor: int) -> Iterator[Check]:
    exempt = not_on_windows if minor >= 25 else lambda check: check
    if minor >= 8:
        yield exempt(escalation)
    if minor >= 22:
        yield exempt(capabilities_restricted)
    if minor >= 35:
        yield proc_mount
    yield restricted_volumes
    yield not_in_user_namespace(non_root) if minor >= 35 else non_root
    if minor >= 23:
        yield not_in_user_namespace(as_user) if minor >= 35 else as_user
    if minor >= 19:
        yield exempt(seccomp_restricted)


# --- The checks that the restricted policy adds to baseline, and their exemptions
# ----------------------------------------


def escalation(pod: CheckedPod) -> CheckResult:
    names = pod.named(lambda c: at(c, "securityContext").get("allowPrivilegeEscalation") is not False)
    detail = f"{containers_named(names)} must set securityContext.allowPrivilegeEscalation=false"
    return ("allowPrivilegeEscalation != false", detail) if names else None


def capabilities_restricted(pod: CheckedPod) -> CheckResult:
    keeping = pod.named(lambda c: "ALL" not in items_of(at(c, "securityContext", "capabilities"), "drop"))
    details = [f'{containers_named(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    details += filter(None, [adding(pod, frozenset(["NET_BIND_SERVICE"]))])
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


def restricted_volumes(pod: CheckedPod) -> CheckResult:
    bad = []
    for volume in volumes(pod):
        given = {key for key, value in volume.items() if value is not None and key != "name"}
        # A volume without a source is an emptyDir (SetDefaults_Volume).
        if given and given.isdisjoint(_FREE_VOLUMES):
            bad.append((str(volume.get("name", "")), next((v for v in _VOLUMES if v in given), "unknown")))
    if not bad:
        return None
    names, kinds = [name for name, _ in bad], sorted({kind for _, kind in bad})
    verb, noun = "uses" if len(names) == 1 else "use", plural("restricted volume type", len(kinds))
    return "restricted volume types", f"{plural('volume', len(names))} {joined(names)} {verb} {noun} {joined(kinds)}"


def non_root(pod: CheckedPod) -> CheckResult:
    setters = pod.setters(lambda s: s.get("runAsNonRoot") is False)
    if setters:
        return "runAsNonRoot != true", f"{' and '.join(setters)} must not set securityContext.runAsNonRoot=false"
    if pod.security.get("runAsNonRoot") is True:
        return None
    names = pod.named(lambda c: at(c, "securityContext").get("runAsNonRoot") is None)
    detail = f"pod or {containers_named(names)} must set securityContext.runAsNonRoot=true"
    return ("runAsNonRoot != true", detail) if names else None


def as_user(pod: CheckedPod) -> CheckResult:
    setters = pod.setters(lambda s: s.get("runAsUser") == 0 and s.get("runAsUser") is not False)
    return ("runAsUser=0", f"{' and '.join(setters)} must not set runAsUser=0") if setters else None


def seccomp_restricted(pod: CheckedPod) -> CheckResult:
    result = seccomp_baseline(pod)
    if result or seccomp(pod.security) is not None:
        return result
    names = pod.named(lambda c: seccomp(at(c, "securityContext")) is None)
    kinds = '"RuntimeDefault" or "Localhost"'
    detail = f"pod or {containers_named(names)} must set securityContext.seccompProfile.type to {kinds}"
    return ("seccompProfile", detail) if names else None


def not_on_windows(check: Check) -> Check:
    return lambda pod: None if pod.is_windows else check(pod)


def not_in_user_namespace(check: Check) -> Check:
    return lambda pod: None if pod.in_user_namespace else check(pod)
