"""Decode controllers from plain values, with the API server's defaults for their kind.

Mirrors ``pkg/apis/apps/v1/defaults.go`` and ``pkg/apis/batch/v1/defaults.go`` (v1.36).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from kubesched_lint.engine.base.places import Manifest, Path, Source
from kubesched_lint.engine.model.decode.fields import (
    Value,
    count,
    int_or_percent,
    items,
    labels,
    mapping,
    path_to,
    selector,
    text,
)
from kubesched_lint.engine.model.decode.pods import decode_pod
from kubesched_lint.engine.model.decode.storage import decode_claim
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.workloads.workload import EVICTION_NOTES, SCALED, Strategy, Workload


def decode_workload(value: Value, namespace: str, source: Source | None = None, order: int = 0) -> Workload:
    """Return a workload of one of ``engine.model.workloads.workload.KINDS``.

    ``namespace`` is the default if it has none. Raises DecodeError.
    """
    kind = value["kind"]
    meta = mapping(value, "metadata", ())
    spec = mapping(value, "spec", ())
    namespace = text(meta, "namespace", ("metadata",)) or namespace
    template, path = _template(kind, value, spec)
    template_meta = mapping(template, "metadata", path)
    labels_path = path_to(*path, "metadata", "labels")
    own_labels, pod_labels = labels(meta, "labels", ("metadata",)), labels(template_meta, "labels", (*path, "metadata"))
    if own_labels == pod_labels:  # usual: both are one map then, because thousands of workloads hold them
        own_labels = pod_labels
    pod = decode_pod(mapping(template, "spec", path), namespace, pod_labels, path_to(*path, "spec"), labels_path)
    written = count(spec, "replicas", ("spec",)) if kind in SCALED else None
    replicas = {"replicas": 1 if written is None else written, "replicas_written": written is not None}
    return Workload(
        kind=kind,
        namespace=namespace,
        name=text(meta, "name", ("metadata",)) or text(meta, "generateName", ("metadata",)),
        pod=pod,
        selector=_selector(kind, spec, pod),
        min_ready_seconds=count(spec, "minReadySeconds", ("spec",)) or 0 if kind != "Pod" else 0,
        labels=own_labels,
        annotations=labels(meta, "annotations", ("metadata",)),
        eviction_notes=_eviction_notes(template_meta),
        uid=text(meta, "uid", ("metadata",)),
        # A template in a manifest can be read again from the document; one from a snapshot cannot, so it is kept.
        template=None if isinstance(source, Manifest) and source.value is value else template,
        source=source,
        order=order,
        **(replicas | _of_kind(kind, spec, namespace, source)),
    )


def _eviction_notes(template_meta: Value) -> tuple[tuple[str, str], ...]:
    written = template_meta.get("annotations")
    if not isinstance(written, dict):
        return ()
    return tuple((key, written[key]) for key in EVICTION_NOTES if isinstance(written.get(key), str))


def _selector(kind: str, spec: Value, pod: Pod) -> Selector | None:
    """Return the selector; a ReplicationController's is a label map, by default its template's labels (SetDefaults)."""
    if kind in ("Pod", "Job", "CronJob"):
        return None
    if kind != "ReplicationController":
        return selector(spec, "selector", ("spec",))
    at: Path = ("spec", "selector")
    wanted = labels(spec, "selector", ("spec",)) or pod.labels
    return Selector(tuple(Requirement(k, "In", (v,), (*at, k)) for k, v in wanted.items()), at)


def _template(kind: str, value: Value, spec: Value) -> tuple[Value, Path]:
    if kind == "Pod":
        return value, ()
    if kind == "CronJob":
        job = mapping(spec, "jobTemplate", ("spec",))
        job_spec = mapping(job, "spec", ("spec", "jobTemplate"))
        at: Path = ("spec", "jobTemplate", "spec")
        return mapping(job_spec, "template", at), (*at, "template")
    return mapping(spec, "template", ("spec",)), ("spec", "template")


def _of_kind(kind: str, spec: Value, namespace: str, source: Source | None) -> dict[str, Any]:
    """Return the fields of a workload that only its kind has, or that differ by kind."""
    match kind:
        case "Deployment":
            return {
                "strategy": _deployment_strategy(spec),
                "suspended": "paused" if spec.get("paused") is True else "",
            }
        case "DaemonSet":
            return {"replicas": 0, "strategy": _strategy(spec, "updateStrategy", max_unavailable=1, max_surge=0)}
        case "StatefulSet":
            return {
                "strategy": _strategy(spec, "updateStrategy", max_unavailable=1, max_surge=None),
                "pod_management": text(spec, "podManagementPolicy", ("spec",)) or "OrderedReady",
                "first_ordinal": count(mapping(spec, "ordinals", ("spec",)), "start", ("spec", "ordinals")) or 0,
                "claim_templates": tuple(
                    decode_claim(c, namespace, source, at) for c, at in items(spec, "volumeClaimTemplates", ("spec",))
                ),
            }
        case "Job":
            late = spec.get("podReplacementPolicy") == "Failed" or "podFailurePolicy" in spec  # its default then
            return _parallelism(spec, ("spec",)) | _suspended(spec) | {"replaces_late": late}
        case "CronJob":
            job = mapping(spec, "jobTemplate", ("spec",))
            at: Path = ("spec", "jobTemplate")
            inner = mapping(job, "spec", at)
            # A suspended CronJob creates no Jobs; a suspended template creates Jobs that wait until a user resumes
            # them.
            return _parallelism(inner, (*at, "spec")) | (_suspended(spec) or _suspended(inner))
    return {}


def _parallelism(spec: Value, path: Path) -> dict[str, Any]:
    """Return the replicas of a Job: as many pods run at once as parallelism allows and completions still need."""
    parallelism = count(spec, "parallelism", path)
    completions = count(spec, "completions", path)
    wanted = 1 if parallelism is None else parallelism
    if completions is not None:
        wanted = min(wanted, completions)
    return {"replicas": wanted, "replicas_written": parallelism is not None}


def _suspended(spec: Value) -> dict[str, Any]:
    """Return ``suspended`` if ``suspend`` is true; validation reports other types."""
    return {"suspended": "suspended"} if spec.get("suspend") is True else {}


def _deployment_strategy(spec: Value) -> Strategy:
    strategy = _strategy(spec, "strategy", max_unavailable="25%", max_surge="25%")
    deadline = spec.get("progressDeadlineSeconds")  # words alone depend on it: a wrong type is left to validation
    return replace(strategy, progress_deadline=deadline) if isinstance(deadline, int) else strategy


def _strategy(spec: Value, name: str, *, max_unavailable: int | str, max_surge: int | str | None) -> Strategy:
    """Return the strategy under ``name``, with the defaults of its kind; a Deployment's has no partition."""
    at = path_to("spec", name)
    strategy = mapping(spec, name, ("spec",))
    kind = text(strategy, "type", at) or "RollingUpdate"
    if kind != "RollingUpdate":
        return Strategy(kind, path=at)
    rolling, rolling_path = mapping(strategy, "rollingUpdate", at), (*at, "rollingUpdate")
    surge, unavailable = (
        int_or_percent(rolling, "maxSurge", rolling_path),
        int_or_percent(rolling, "maxUnavailable", rolling_path),
    )
    return _rolling(
        max_surge if surge is None else surge,
        max_unavailable if unavailable is None else unavailable,
        (count(rolling, "partition", rolling_path) or 0) if name == "updateStrategy" else 0,
        at,
    )


@lru_cache(maxsize=256, typed=True)
def _rolling(max_surge: int | str | None, max_unavailable: int | str, partition: int, path: Path) -> Strategy:
    """Return a rolling update; equal ones are one record, because thousands of workloads hold them."""
    return Strategy("RollingUpdate", max_surge, max_unavailable, partition, path)
