"""The checks that the restricted policy adds to baseline, and who is exempt from them.

Mirrors ``policy/check_*.go`` of ``k8s.io/pod-security-admission`` (v1.36).
"""

from __future__ import annotations

from kubesched_lint.admission.podsecurity_baseline import (
    Check,
    CheckedPod,
    Told,
    adding,
    at,
    containers_named,
    items_of,
    joined,
    plural,
    seccomp,
    seccomp_baseline,
    volumes,
)


def escalation(pod: CheckedPod) -> Told:
    names = pod.named(lambda c: at(c, "securityContext").get("allowPrivilegeEscalation") is not False)
    told = f"{containers_named(names)} must set securityContext.allowPrivilegeEscalation=false"
    return ("allowPrivilegeEscalation != false", told) if names else None


def capabilities_restricted(pod: CheckedPod) -> Told:
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


def restricted_volumes(pod: CheckedPod) -> Told:
    bad = []
    for volume in volumes(pod):
        given = {key for key, value in volume.items() if value is not None and key != "name"}
        # A volume that says no source is an emptyDir (SetDefaults_Volume).
        if given and given.isdisjoint(_FREE_VOLUMES):
            bad.append((str(volume.get("name", "")), next((v for v in _VOLUMES if v in given), "unknown")))
    if not bad:
        return None
    names, kinds = [name for name, _ in bad], sorted({kind for _, kind in bad})
    verb, noun = "uses" if len(names) == 1 else "use", plural("restricted volume type", len(kinds))
    return "restricted volume types", f"{plural('volume', len(names))} {joined(names)} {verb} {noun} {joined(kinds)}"


def non_root(pod: CheckedPod) -> Told:
    setters = pod.setters(lambda s: s.get("runAsNonRoot") is False)
    if setters:
        return "runAsNonRoot != true", f"{' and '.join(setters)} must not set securityContext.runAsNonRoot=false"
    if pod.security.get("runAsNonRoot") is True:
        return None
    names = pod.named(lambda c: at(c, "securityContext").get("runAsNonRoot") is None)
    told = f"pod or {containers_named(names)} must set securityContext.runAsNonRoot=true"
    return ("runAsNonRoot != true", told) if names else None


def as_user(pod: CheckedPod) -> Told:
    setters = pod.setters(lambda s: s.get("runAsUser") == 0 and s.get("runAsUser") is not False)
    return ("runAsUser=0", f"{' and '.join(setters)} must not set runAsUser=0") if setters else None


def seccomp_restricted(pod: CheckedPod) -> Told:
    told = seccomp_baseline(pod)
    if told or seccomp(pod.security) is not None:
        return told
    names = pod.named(lambda c: seccomp(at(c, "securityContext")) is None)
    kinds = '"RuntimeDefault" or "Localhost"'
    text = f"pod or {containers_named(names)} must set securityContext.seccompProfile.type to {kinds}"
    return ("seccompProfile", text) if names else None


def not_on_windows(check: Check) -> Check:
    return lambda pod: None if pod.is_windows else check(pod)


def not_in_user_namespace(check: Check) -> Check:
    return lambda pod: None if pod.in_user_namespace else check(pod)
