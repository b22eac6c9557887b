"""The API server's answer to an object: accepted, or every cause in its own words.

First strict decoding (a 400), with the published schema of each version, then defaulting and the kind's own rules
(a 422). The rules are those of the version whose answers were recorded; ``differences`` has what other versions change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from kubesched_lint.hints import TYPE_CHECKING, Any
from kubesched_lint.record import Record
from kubesched_lint.releases import MODELLED, RECORDED, minor_of
from kubesched_lint.validation.causes import Cause, quoted
from kubesched_lint.validation.decoding import conforms, decode
from kubesched_lint.validation.removed import no_matches, removed_in
from kubesched_lint.validation.schema import ROOTS, knows

if TYPE_CHECKING:
    from kubesched_lint.validation.class_plugins import Classes

Rules = Callable[[dict[str, Any]], Iterator[Cause]]


class ApiServerAnswer(Record):
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
    causes = tuple(_rules(value["apiVersion"], value["kind"])(value))
    if minor_of(version) != RECORDED:
        from kubesched_lint.validation.differences import as_in

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
    from kubesched_lint.validation.class_plugins import after_validation, before_validation

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


@cache
def _rules(api_version: str, kind: str) -> Rules:
    """Return the rules of a kind.

    Imported on first use, so that a file of Deployments does not load the rules of volumes.
    """
    match kind:
        case "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet" | "ReplicationController":
            from kubesched_lint.validation import workloads as w

            return {
                "Deployment": w.deployment,
                "ReplicaSet": w.replica_set,
                "ReplicationController": w.replication_controller,
                "DaemonSet": w.daemon_set,
                "StatefulSet": w.stateful_set,
            }[kind]
        case "Job" | "CronJob":
            from kubesched_lint.validation import jobs

            return jobs.job if kind == "Job" else jobs.cron_job
        case "Pod":
            from kubesched_lint.validation.pods import pod

            return pod
        case "Service":
            from kubesched_lint.validation.services import service

            return service
        case "PersistentVolumeClaim" | "PersistentVolume" | "StorageClass":
            from kubesched_lint.validation import storage as s

            return {"PersistentVolumeClaim": s.claim, "PersistentVolume": s.volume, "StorageClass": s.storage_class}[
                kind
            ]
        case "LimitRange" | "ResourceQuota":
            from kubesched_lint.validation import quotas

            return quotas.limit_range if kind == "LimitRange" else quotas.resource_quota
        case "HorizontalPodAutoscaler":
            from kubesched_lint.validation.autoscalers import autoscaler

            return autoscaler
        case "DeviceClass" | "ResourceClaim" | "ResourceClaimTemplate":
            from kubesched_lint.validation import devices as d

            return {
                "DeviceClass": d.device_class,
                "ResourceClaim": d.claim,
                "ResourceClaimTemplate": d.claim_template,
            }[kind]
        case "ResourceSlice":
            from kubesched_lint.validation.device_slices import resource_slice

            return resource_slice
        case "PodGroup" | "Workload":
            from kubesched_lint.validation import pod_groups as g

            return g.pod_group if kind == "PodGroup" else g.workload
    from kubesched_lint.validation import policies as p

    return {
        "PodDisruptionBudget": p.disruption_budget,
        "PriorityClass": p.priority_class,
        "RuntimeClass": p.runtime_class,
        "Namespace": p.namespace,
    }[kind]
