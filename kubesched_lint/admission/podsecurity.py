"""What the PodSecurity admission plugin refuses, by the ``enforce`` label of a namespace.

Mirrors ``k8s.io/pod-security-admission`` (v1.36): ``policy/check_*.go``, ``policy/registry.go`` (order and versions of
checks) and ``api/helpers.go`` (labels). Pods are plain values, for no rule of scheduling reads a security context.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kubesched_lint.admission.podsecurity_baseline import (
    Check,
    CheckedPod,
    Value,
    app_armor,
    at,
    capabilities_baseline,
    containers,
    host_namespaces,
    host_path,
    host_ports,
    host_probes,
    privileged,
    proc_mount,
    se_linux,
    seccomp_annotations,
    seccomp_baseline,
    sysctls,
    windows_host_process,
)
from kubesched_lint.admission.podsecurity_restricted import (
    as_user,
    capabilities_restricted,
    escalation,
    non_root,
    not_in_user_namespace,
    not_on_windows,
    restricted_volumes,
    seccomp_restricted,
)
from kubesched_lint.validation.causes import quoted

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
    annotations, spec = at(template, "metadata", "annotations"), at(template, "spec")
    pod = CheckedPod(annotations, spec, tuple(containers(spec)))
    found = []
    for check in _checks(policy.level, min(policy.minor, minor, _NEWEST)):
        told = check(pod)
        if told:
            found.append("{} ({})".format(*told))
    return f"violates PodSecurity {quoted(str(policy))}: {', '.join(found)}" if found else ""


# --- which checks, in which order -----------------------------------------------------------------------------------


def _checks(level: str, minor: int) -> Iterator[Check]:
    """Those of a policy, sorted by their upstream ID: baseline first, without those that restricted ones replace."""
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
