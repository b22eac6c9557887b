"""Decode namespaces, services, autoscalers, budgets, classes and limits from plain values."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.places import ObjectRef, Path, Source
from kubesched_lint.engine.model.decode.fields import (
    DecodeError,
    Value,
    boolean,
    count,
    each,
    int_or_percent,
    integer,
    items,
    labels,
    mapping,
    optional_mapping,
    resources,
    selector,
    text,
    texts,
)
from kubesched_lint.engine.model.decode.pods import toleration
from kubesched_lint.engine.model.labels import go_int
from kubesched_lint.engine.model.policy import (
    KUBERNETES,
    POD_GROUP_SYSTEMS,
    Autoscaler,
    CronWindow,
    DisruptionBudget,
    GroupTemplates,
    LimitItem,
    LimitRange,
    Namespace,
    PodGroup,
    PriorityClass,
    QuotaScope,
    ReplicaSet,
    ResourceMetric,
    ResourceQuota,
    RuntimeClass,
    Service,
    ServiceAccount,
)

_META = ("metadata",)
_SPEC = ("spec",)


def _name(value: Value) -> str:
    return text(mapping(value, "metadata", ()), "name", _META)


def _namespace(value: Value, default: str) -> str:
    return text(mapping(value, "metadata", ()), "namespace", _META) or default


def decode_namespace(value: Value, namespace: str, source: Source | None) -> Namespace:
    """Return a Namespace; the API server always sets the label ``kubernetes.io/metadata.name``."""
    name = _name(value)
    given = labels(mapping(value, "metadata", ()), "labels", _META)
    return Namespace(name, {**given, "kubernetes.io/metadata.name": name}, source)


def decode_service(value: Value, namespace: str, source: Source | None) -> Service:
    spec = mapping(value, "spec", ())
    return Service(_namespace(value, namespace), _name(value), labels(spec, "selector", _SPEC), source)


def decode_autoscaler(value: Value, namespace: str, source: Source | None) -> Autoscaler:
    spec = mapping(value, "spec", ())
    target, at = mapping(spec, "scaleTargetRef", _SPEC), ("spec", "scaleTargetRef")
    namespace = _namespace(value, namespace)
    least = integer(spec, "minReplicas", _SPEC)
    return Autoscaler(
        namespace,
        _name(value),
        ObjectRef(text(target, "kind", at), namespace, text(target, "name", at)),
        1 if least is None else least,
        integer(spec, "maxReplicas", _SPEC) or 0,
        (*_SPEC, "maxReplicas"),
        source,
        metrics=tuple(_metrics(value, spec)),
    )


_METRICS_OF_V1 = "autoscaling.alpha.kubernetes.io/metrics"


def _metrics(value: Value, spec: Value) -> Iterator[ResourceMetric]:
    """Yield the metrics of cpu and memory; without any metric, the API server sets 80% of the requested cpu.

    See SetDefaults_HorizontalPodAutoscaler (pkg/apis/autoscaling/v2/defaults.go); v1 sets it in conversion.go, where it
    also knows the metrics of the annotation.
    """
    if not spec.get("metrics"):
        annotations = labels(mapping(value, "metadata", ()), "annotations", _META)
        if _METRICS_OF_V1 not in annotations:
            written = "targetCPUUtilizationPercentage" in spec
            yield ResourceMetric("cpu", path=(*_SPEC, "targetCPUUtilizationPercentage") if written else _SPEC)
    for metric, metric_path in items(spec, "metrics", _SPEC):
        field = {"Resource": "resource", "ContainerResource": "containerResource"}.get(
            text(metric, "type", metric_path)
        )
        if field is not None:
            said, at = mapping(metric, field, metric_path), (*metric_path, field)
            is_relative = text(mapping(said, "target", at), "type", (*at, "target")) == "Utilization"
            yield ResourceMetric(text(said, "name", at), text(said, "container", at), is_relative, (*at, "name"))


_KEDA_DEFAULT = 100
_PAUSED_AT = "autoscaling.keda.sh/paused-replicas"


def decode_scaled_object(value: Value, namespace: str, source: Source | None) -> Autoscaler:
    """Return the HorizontalPodAutoscaler that KEDA makes of it (``controllers/keda/hpa.go`` of KEDA 2.17)."""
    spec = mapping(value, "spec", ())
    target, at = mapping(spec, "scaleTargetRef", _SPEC), (*_SPEC, "scaleTargetRef")
    namespace = _namespace(value, namespace)
    least, most = integer(spec, "minReplicaCount", _SPEC) or 1, integer(spec, "maxReplicaCount", _SPEC)
    path: Path = _SPEC if most is None else (*_SPEC, "maxReplicaCount")
    most = _KEDA_DEFAULT if most is None else most
    annotations = labels(mapping(value, "metadata", ()), "annotations", ("metadata",))
    if (paused := annotations.get(_PAUSED_AT, "")).isdecimal():
        least = most = max(int(paused), 1)
        path = ("metadata", "annotations", _PAUSED_AT)
    return Autoscaler(
        namespace,
        _name(value),
        ObjectRef(text(target, "kind", at) or "Deployment", namespace, text(target, "name", at)),
        least,
        most,
        path,
        source,
        "ScaledObject",
        tuple(_cron_windows(spec)),
        tuple(_triggers_of_resources(spec)),
    )


def _cron_windows(spec: Value) -> Iterator[CronWindow]:
    for trigger, trigger_path in items(spec, "triggers", _SPEC):
        said = labels(trigger, "metadata", trigger_path) if text(trigger, "type", trigger_path) == "cron" else {}
        if said.get("desiredReplicas", "").isdecimal():
            at = (*trigger_path, "metadata", "desiredReplicas")
            yield CronWindow(int(said["desiredReplicas"]), said.get("start", ""), said.get("end", ""), at)


def _triggers_of_resources(spec: Value) -> Iterator[ResourceMetric]:
    """Yield the triggers of cpu and memory, which become metrics of the type Resource or ContainerResource."""
    for trigger, trigger_path in items(spec, "triggers", _SPEC):
        if (resource := text(trigger, "type", trigger_path)) in ("cpu", "memory"):
            said = labels(trigger, "metadata", trigger_path)
            kind = text(trigger, "metricType", trigger_path) or said.get("type", "")
            container = said.get("containerName", "")
            yield ResourceMetric(resource, container, kind == "Utilization", (*trigger_path, "type"))


def decode_budget(value: Value, namespace: str, source: Source | None) -> DisruptionBudget:
    spec, status = mapping(value, "spec", ()), optional_mapping(value, "status", ())
    return DisruptionBudget(
        _namespace(value, namespace),
        _name(value),
        selector(spec, "selector", _SPEC),
        int_or_percent(spec, "minAvailable", _SPEC),
        int_or_percent(spec, "maxUnavailable", _SPEC),
        text(spec, "unhealthyPodEvictionPolicy", _SPEC) or "IfHealthyBudget",
        integer(status, "disruptionsAllowed", ("status",)) if status else None,
        _SPEC,
        source,
    )


def decode_priority_class(value: Value, namespace: str, source: Source | None) -> PriorityClass:
    return PriorityClass(
        _name(value),
        integer(value, "value", ()) or 0,
        text(value, "preemptionPolicy", ()) or "PreemptLowerPriority",
        boolean(value, "globalDefault", ()),
        source,
    )


def decode_runtime_class(value: Value, namespace: str, source: Source | None) -> RuntimeClass:
    scheduling = mapping(value, "scheduling", ())
    at = ("scheduling",)
    return RuntimeClass(
        _name(value),
        resources(mapping(value, "overhead", ()), "podFixed", ("overhead",)),
        labels(scheduling, "nodeSelector", at),
        each(toleration, scheduling, "tolerations", at),
        source,
    )


def decode_service_account(value: Value, namespace: str, source: Source | None) -> ServiceAccount:
    return ServiceAccount(_namespace(value, namespace), _name(value), source)


def decode_pod_group(value: Value, namespace: str, source: Source | None) -> PodGroup:
    """Return a PodGroup of Kubernetes, Volcano or coscheduling; without ``minMember`` the last two need one pod."""
    spec = mapping(value, "spec", ())
    system = POD_GROUP_SYSTEMS[str(value.get("apiVersion", "")).rpartition("/")[0]]
    if system != KUBERNETES:
        members = integer(spec, "minMember", _SPEC) or 1
        path = (*_SPEC, "minMember")
        return PodGroup(_namespace(value, namespace), _name(value), members, system=system, path=path, source=source)
    at = ("spec", "schedulingPolicy", "gang")
    least = integer(mapping(mapping(spec, "schedulingPolicy", _SPEC), "gang", at[:2]), "minCount", at)
    constraints = optional_mapping(spec, "schedulingConstraints", _SPEC)
    where = ("spec", "schedulingConstraints")
    # The API takes one key at most, and the scheduler reads the first.
    keys = [text(term, "key", at) for term, at in items(constraints or {}, "topology", where)]
    return PodGroup(
        namespace=_namespace(value, namespace),
        name=_name(value),
        min_count=least,
        topology_key=keys[0] if keys else "",
        topology_path=(*where, "topology", 0, "key"),
        is_constrained=constraints is not None,
        has_own_priority=bool(spec.get("priorityClassName") or spec.get("priority")),
        path=(*at, "minCount"),
        source=source,
    )


def decode_group_templates(value: Value, namespace: str, source: Source | None) -> GroupTemplates:
    """Return a Workload of scheduling.k8s.io."""
    spec, where = mapping(value, "spec", ()), _namespace(value, namespace)
    controller = mapping(spec, "controllerRef", _SPEC)
    at = (*_SPEC, "controllerRef")
    templates = []
    for template, template_path in items(spec, "podGroupTemplates", _SPEC):
        gang = mapping(mapping(template, "schedulingPolicy", template_path), "gang", template_path)
        path = (*template_path, "schedulingPolicy", "gang")
        least = integer(gang, "minCount", path)
        templates.append(
            PodGroup(where, text(template, "name", template_path), least, path=(*path, "minCount"), source=source)
        )
    is_custom = text(controller, "apiGroup", at) not in ("", "apps", "batch")
    named = ("", "") if is_custom else (text(controller, "kind", at), text(controller, "name", at))
    return GroupTemplates(where, _name(value), named, tuple(templates), source)


def decode_limit_range(value: Value, namespace: str, source: Source | None) -> LimitRange:
    """Return a LimitRange.

    Only limits of type Container give defaults; see SetDefaults_LimitRangeItem for defaultRequest.
    """
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    limit_items = []
    for item, item_path in items(mapping(value, "spec", ()), "limits", _SPEC):
        kind = text(item, "type", item_path)
        least, most = mapping(item, "min", item_path), mapping(item, "max", item_path)
        default, asked = mapping(item, "default", item_path), mapping(item, "defaultRequest", item_path)
        if kind == "Container":
            default = {**most, **default}
            asked = {**least, **default, **asked}
            limits |= resources({"default": default}, "default", item_path)
            requests |= resources({"defaultRequest": asked}, "defaultRequest", item_path)
        ratio = mapping(item, "maxLimitRequestRatio", item_path)
        limit_items.append(LimitItem(kind, least, most, ratio, default, asked, item_path))
    return LimitRange(_namespace(value, namespace), _name(value), requests, limits, tuple(limit_items), source)


def decode_quota(value: Value, namespace: str, source: Source | None) -> ResourceQuota:
    spec, status = mapping(value, "spec", ()), optional_mapping(value, "status", ())
    selected = mapping(spec, "scopeSelector", _SPEC)
    at = (*_SPEC, "scopeSelector")
    scopes = tuple(
        QuotaScope(
            text(item, "scopeName", scope_path), text(item, "operator", scope_path), texts(item, "values", scope_path)
        )
        for item, scope_path in items(selected, "matchExpressions", at)
    )
    return ResourceQuota(
        _namespace(value, namespace),
        _name(value),
        _limits(spec, "hard", _SPEC),
        _limits(status, "used", ("status",)) if status else None,
        (*map(QuotaScope, texts(spec, "scopes", _SPEC)), *scopes),
        source,
        status is None or "hard" in status,
    )


def _limits(value: Value, key: str, path: Path) -> dict[str, int]:
    """Return amounts like ``resources``; ``requests.cpu`` and ``limits.cpu`` are millicores too."""
    limits = resources(value, key, path)
    for name, amount in mapping(value, key, path).items():
        if name.endswith(".cpu"):
            limits[name] = resources({key: {"cpu": amount}}, key, path)["cpu"]
    return limits


def decode_replica_set_revision(value: Value, namespace: str, source: Source | None) -> ReplicaSet:
    """Return a ReplicaSet of a snapshot as the revision of its Deployment."""
    meta, spec = mapping(value, "metadata", ()), mapping(value, "spec", ())
    owner_kind, owner = next(
        (
            (text(o, "kind", at), text(o, "name", at))
            for o, at in items(meta, "ownerReferences", _META)
            if o.get("controller") is True
        ),
        ("", ""),
    )
    revision = go_int(labels(meta, "annotations", _META).get("deployment.kubernetes.io/revision", "0"))
    if revision is None:
        raise DecodeError((*_META, "annotations"), "the revision annotation is not a number")
    replicas = count(spec, "replicas", _SPEC)
    return ReplicaSet(
        _namespace(value, namespace),
        _name(value),
        owner,
        1 if replicas is None else replicas,
        labels(meta, "labels", _META).get("pod-template-hash", ""),
        revision,
        owner_kind,
        # A cluster keeps many old revisions; only one that still has replicas can be the newest.
        mapping(spec, "template", _SPEC) if replicas != 0 else None,
    )
