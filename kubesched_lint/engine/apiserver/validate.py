"""The API server's answer to an object: accepted, or every cause in its own words.

First strict decoding (a 400), with the published schema of each version, then defaulting and the kind's own rules
(a 422). The rules are those of the version whose answers were recorded; ``differences`` has what other versions change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kubesched_lint.engine.apiserver.class_plugins import after_validation, before_validation
from kubesched_lint.engine.apiserver.differences import as_in
from kubesched_lint.engine.apiserver.values.causes import Cause, quoted
from kubesched_lint.engine.apiserver.values.decoding import conforms, decode
from kubesched_lint.engine.apiserver.values.removed import no_matches, removed_in
from kubesched_lint.engine.apiserver.values.schema import ROOTS, knows
from kubesched_lint.engine.base.releases import MODELLED, RECORDED, minor_of

if TYPE_CHECKING:
    from kubesched_lint.engine.apiserver.class_plugins import Classes

Rules = Callable[[dict[str, Any]], Iterator[Cause]]


class ApiServerAnswer(Struct, frozen=True):
    """``code`` is 200, or the HTTP status of the refusal: 400 (decoding), 422 (rules), 403 (admission), 404 (kind)."""

    accepted: bool
    causes: tuple[Cause, ...] = ()
    code: int = 200
    message: str = ""


_ACCEPTED = ApiServerAnswer(True)


def validate(obj: dict[Any, Any], *, version: str = RECORDED, classes: Classes | None = None) -> ApiServerAnswer:
    """Return the answer to one object as loaded from YAML or JSON.

    ``version`` is a modelled one, such as ``1.36`` or ``1.36.2``; ValueError otherwise. A kind that is not modelled is
    accepted. With ``classes`` a Pod also passes the admission plugins.
    """
    minor = minor_of(version)
    if minor not in MODELLED:
        raise ValueError(f"Kubernetes {minor} is not modelled; known are {', '.join(MODELLED)}")
    key = (str(obj.get("apiVersion")), str(obj.get("kind")))
    root = ROOTS.get(key)
    if root is None or not knows(minor, root):
        # What 1.36 serves, an older version that the user states may not serve yet.
        is_later = root is not None and knows(RECORDED, root)
        return _unserved(*key) if is_later or removed_in(*key, minor) else _ACCEPTED
    value = obj
    if not conforms(minor, root)(obj):
        value, causes, message = decode(obj, minor, root)
        if causes:
            lead = f"{key[1]} in version {quoted(key[0].rpartition('/')[2])} cannot be handled as a {key[1]}"
            return ApiServerAnswer(False, causes, 400, f"{lead}: {message}")
    if classes is not None and obj["kind"] == "Pod":
        return _admitted(value, version, classes)
    return _judged(value, version)


def _judged(value: dict[str, Any], version: str) -> ApiServerAnswer:
    meta = value.get("metadata", {})
    if meta.get("generateName") and not meta.get("name"):
        # names.SimpleNameGenerator: at most 58 characters, plus five random ones.
        value = value | {"metadata": meta | {"name": f"{meta['generateName'][:58]}xxxxx"}}
    causes = tuple(_rules(value["kind"])(value))
    if minor_of(version) != RECORDED:
        causes = as_in(version, value, causes)
    if not causes:
        return _ACCEPTED
    group = value["apiVersion"].rpartition("/")[0]
    name = quoted(value.get("metadata", {}).get("name", ""))
    qualified = f"{value['kind']}.{group}" if group else value["kind"]
    return ApiServerAnswer(False, causes, 422, f"{qualified} {name} is invalid: {in_brackets(causes)}")


def in_brackets(causes: tuple[Cause, ...]) -> str:
    """Return ``ErrorList.ToAggregate``: each message once, in brackets if there are several."""
    messages = tuple(dict.fromkeys(map(str, causes)))
    return messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"


def _admitted(pod: dict[str, Any], version: str, classes: Classes) -> ApiServerAnswer:
    refusal = before_validation(pod, classes)
    if refusal is None:
        verdict = _judged(pod, version)
        if not verdict.accepted:
            return verdict
        refusal = after_validation(pod, classes)
    return _ACCEPTED if refusal is None else ApiServerAnswer(False, (refusal,), 403, refusal.message)


def _unserved(api_version: str, kind: str) -> ApiServerAnswer:
    message = no_matches(api_version, kind)
    return ApiServerAnswer(False, (Cause("", "", message, ("apiVersion",)),), 404, message)


_RULES: Mapping[str, str] = {
    "CronJob": "objects.jobs.cron_job",
    "DaemonSet": "objects.workloads.daemon_set",
    "Deployment": "objects.workloads.deployment",
    "DeviceClass": "objects.devices.device_class",
    "HorizontalPodAutoscaler": "objects.autoscalers.autoscaler",
    "Job": "objects.jobs.job",
    "LimitRange": "objects.quotas.limit_range",
    "Namespace": "objects.policies.namespace",
    "PersistentVolume": "objects.storage.volume",
    "PersistentVolumeClaim": "objects.storage.claim",
    "Pod": "pods.pods.pod",
    "PodDisruptionBudget": "objects.policies.disruption_budget",
    "PodGroup": "pod_groups.pod_group",
    "PriorityClass": "objects.policies.priority_class",
    "ReplicaSet": "objects.workloads.replica_set",
    "ReplicationController": "objects.workloads.replication_controller",
    "ResourceClaim": "objects.devices.claim",
    "ResourceClaimTemplate": "objects.devices.claim_template",
    "ResourceQuota": "objects.quotas.resource_quota",
    "ResourceSlice": "objects.device_slices.resource_slice",
    "RuntimeClass": "objects.policies.runtime_class",
    "Service": "objects.services.service",
    "StatefulSet": "objects.workloads.stateful_set",
    "StorageClass": "objects.storage.storage_class",
    "Workload": "pod_groups.workload",
}
"""Kind → module and function of its rules."""


@cache
def _rules(kind: str) -> Rules:
    """Return the rules of a kind; a file of Deployments does not load those of volumes."""
    module, _, name = _RULES[kind].rpartition(".")
    rules: Rules = getattr(import_module(f"kubesched_lint.engine.apiserver.{module}"), name)
    return rules
