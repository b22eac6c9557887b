"""Deployments, ReplicaSets, ReplicationControllers, DaemonSets and StatefulSets.

Mirrors ``pkg/apis/apps/validation/validation.go`` with the defaults of ``pkg/apis/apps/v1/defaults.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.engine.apiserver.pods.claims import claim_spec
from kubesched_lint.engine.apiserver.pods.pods import template, template_meta
from kubesched_lint.engine.apiserver.values.alike import is_sound
from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    Raw,
    as_json,
    field_of,
    forbidden,
    invalid,
    named,
    not_supported,
    required,
)
from kubesched_lint.engine.apiserver.values.labels import UnusableSelectorError, label_selector, selector_value, selects
from kubesched_lint.engine.apiserver.values.metadata import object_meta
from kubesched_lint.engine.apiserver.values.names import dns_label, percent
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.labels import go_int

Value = dict[str, Any]
_SPEC: Path = ("spec",)
_TEMPLATE: Path = ("spec", "template")
_NEGATIVE = "must be greater than or equal to 0"
_QUARTER = "25%"
_MISMATCH = "`selector` does not match template `labels`"
_RETENTION = ("Retain", "Delete")


def deployment(value: Value) -> Iterator[Cause]:
    spec = value.get("spec", {})
    yield from object_meta(value.get("metadata", {}))
    yield from not_negative(spec, "replicas")
    yield from _required_selector(spec, "deployment")
    yield from _selected_template(spec)
    yield from _deployment_strategy(spec.get("strategy", {}))
    yield from not_negative(spec, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds", 600)
    if deadline <= spec.get("minReadySeconds", 0):
        yield invalid((*_SPEC, "progressDeadlineSeconds"), deadline, "must be greater than minReadySeconds")


def replica_set(value: Value) -> Iterator[Cause]:
    spec = value.get("spec", {})
    yield from object_meta(value.get("metadata", {}))
    yield from not_negative(spec, "replicas", "minReadySeconds")
    yield from _required_selector(spec, "deployment")
    yield from _selected_template(spec)


def replication_controller(value: Value) -> Iterator[Cause]:
    """Yield the causes of ``ValidateReplicationControllerSpec``.

    The selector is a map, by default the template's labels.
    """
    spec = value.get("spec", {})
    yield from object_meta(value.get("metadata", {}))
    yield from not_negative(spec, "minReadySeconds")
    pod_template = spec.get("template")
    selector = spec.get("selector") or _labels(pod_template or {})
    if not selector:
        yield required((*_SPEC, "selector"))
    yield from not_negative(spec, "replicas")
    if pod_template is None:
        yield required(_TEMPLATE)
        return
    yield from mismatch(pod_template, selector.items() <= _labels(pod_template).items())
    yield from template(pod_template, _TEMPLATE)
    yield from _runs_always(pod_template, "ReplicationController")


def _required_selector(spec: Value, kind: str) -> Iterator[Cause]:
    at = (*_SPEC, "selector")
    selector = spec.get("selector")
    if selector is None:
        yield required(at)
        return
    yield from label_selector(selector, at)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield invalid(at, selector_value(selector), f"empty selector is invalid for {kind}")


def _selected_template(spec: Value) -> Iterator[Cause]:
    """Yield the causes of ``ValidatePodTemplateSpecForReplicaSet``.

    The template is checked only with a usable selector.
    """
    pod_template = spec.get("template", {})
    try:
        fits = selects(spec.get("selector"), _labels(pod_template))
    except UnusableSelectorError:
        yield invalid((*_SPEC, "selector"), selector_value(spec["selector"]), "invalid label selector")
        return
    yield from mismatch(pod_template, fits)
    yield from template(pod_template, _TEMPLATE)
    yield from _runs_always(pod_template, "ReplicaSet")


def mismatch(value: Value, matches: bool, path: Path = _TEMPLATE) -> Iterator[Cause]:
    if not matches:
        labels = value.get("metadata", {}).get("labels")
        shown = Raw("null" if labels is None else as_json(dict(sorted(labels.items()))))
        yield invalid((*path, "metadata", "labels"), shown, _MISMATCH)


def _labels(value: Value) -> dict[str, str]:
    labels: dict[str, str] = value.get("metadata", {}).get("labels", {})
    return labels


def _runs_always(value: Value, kind: str) -> Iterator[Cause]:
    spec, path = value.get("spec", {}), (*_TEMPLATE, "spec")
    policy = spec.get("restartPolicy") or "Always"
    if policy != "Always":
        yield not_supported((*path, "restartPolicy"), named(policy), ("Always",))
    if "activeDeadlineSeconds" in spec:
        at = (*path, "activeDeadlineSeconds")
        yield forbidden(at, f"activeDeadlineSeconds in {kind} is not Supported")


def _deployment_strategy(strategy: Value) -> Iterator[Cause]:
    path = (*_SPEC, "strategy")
    kind, rolling = strategy.get("type") or "RollingUpdate", strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            yield forbidden((*path, "rollingUpdate"), detail)
    elif kind == "RollingUpdate":
        if not is_sound(_rolling_deployment, rolling or {}):
            yield from _rolling_deployment(rolling or {}, (*path, "rollingUpdate"))
    else:
        shown = {"Type": kind, "RollingUpdate": _rolling_value(rolling)}
        yield not_supported((*path, "type"), shown, ("Recreate", "RollingUpdate"), field="spec.strategy")


def _rolling_value(rolling: Value | None) -> Value | None:
    if rolling is None:
        return None
    return {"MaxUnavailable": rolling.get("maxUnavailable", 0), "MaxSurge": rolling.get("maxSurge", 0)}


def _rolling_deployment(rolling: Value, path: Path) -> Iterator[Cause]:
    unavailable, surge = rolling.get("maxUnavailable", _QUARTER), rolling.get("maxSurge", _QUARTER)
    yield from positive_int_or_percent(unavailable, (*path, "maxUnavailable"))
    yield from positive_int_or_percent(surge, (*path, "maxSurge"))
    if amount(unavailable) == 0 and amount(surge) == 0:
        yield invalid((*path, "maxUnavailable"), int_or_string(unavailable), "may not be 0 when `maxSurge` is 0")
    yield from at_most_all(unavailable, (*path, "maxUnavailable"))


def daemon_set(value: Value) -> Iterator[Cause]:
    spec = value.get("spec", {})
    selector, pod_template = spec.get("selector"), spec.get("template", {})
    yield from object_meta(value.get("metadata", {}))
    yield from label_selector(selector, (*_SPEC, "selector"))
    try:
        yield from mismatch(pod_template, selects(selector, _labels(pod_template)))
    except UnusableSelectorError:
        pass
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        at = (*_SPEC, "selector")
        yield invalid(at, selector_value(selector), "empty selector is invalid for daemonset")
    yield from template(pod_template, _TEMPLATE)
    yield from _runs_always(pod_template, "DaemonSet")
    yield from not_negative(spec, "minReadySeconds")
    yield from _daemon_set_strategy(spec.get("updateStrategy", {}))
    yield from not_negative(spec, "revisionHistoryLimit")


def _daemon_set_strategy(strategy: Value) -> Iterator[Cause]:
    path = (*_SPEC, "updateStrategy")
    kind, rolling = strategy.get("type") or "RollingUpdate", strategy.get("rollingUpdate")
    if kind == "RollingUpdate":
        yield from _rolling_daemon_set(rolling or {}, (*path, "rollingUpdate"))
    elif kind != "OnDelete":
        shown = {"Type": kind, "RollingUpdate": _rolling_value(rolling)}
        field = field_of(path)
        yield not_supported((*path, "type"), shown, ("RollingUpdate", "OnDelete"), field=field)


def _rolling_daemon_set(rolling: Value, path: Path) -> Iterator[Cause]:
    unavailable, surge = rolling.get("maxUnavailable", 1), rolling.get("maxSurge", 0)
    for check in (positive_int_or_percent, at_most_all):
        yield from check(unavailable, (*path, "maxUnavailable"))
        yield from check(surge, (*path, "maxSurge"))
    if amount(unavailable) and amount(surge):
        yield invalid((*path, "maxSurge"), int_or_string(surge), "may not be set when maxUnavailable is non-zero")
    elif not amount(unavailable) and not amount(surge):
        yield required((*path, "maxUnavailable"), "cannot be 0 when maxSurge is 0")


def stateful_set(value: Value) -> Iterator[Cause]:
    spec = value.get("spec", {})
    yield from object_meta(value.get("metadata", {}), dns_label)
    management = spec.get("podManagementPolicy") or "OrderedReady"
    if management not in ("OrderedReady", "Parallel"):
        detail = "must be 'OrderedReady' or 'Parallel'"
        yield invalid((*_SPEC, "podManagementPolicy"), named(management), detail)
    yield from _stateful_set_strategy(spec.get("updateStrategy", {}))
    for moment, wish in spec.get("persistentVolumeClaimRetentionPolicy", {}).items():
        if wish and wish not in _RETENTION:
            at = (*_SPEC, "persistentVolumeClaimRetentionPolicy", moment)
            yield not_supported(at, named(wish), _RETENTION)
    for i, claim in enumerate(spec.get("volumeClaimTemplates", ())):
        yield from claim_spec(claim.get("spec", {}), (*_SPEC, "volumeClaimTemplates", i, "spec"))
    yield from not_negative(spec, "replicas", "minReadySeconds")
    if spec.get("ordinals", {}).get("start", 0) < 0:
        yield invalid((*_SPEC, "ordinals", "start"), spec["ordinals"]["start"], _NEGATIVE)
    for detail in dns_label(spec["serviceName"]) if spec.get("serviceName") else ():
        yield invalid((*_SPEC, "serviceName"), spec["serviceName"], detail)
    yield from _required_selector(spec, "statefulset")
    yield from _stateful_template(spec)


def _stateful_template(spec: Value) -> Iterator[Cause]:
    pod_template = spec.get("template", {})
    try:
        fits = selects(spec.get("selector"), _labels(pod_template))
    except UnusableSelectorError:
        yield invalid((*_SPEC, "selector"), selector_value(spec["selector"]), "")
    else:
        yield from mismatch(pod_template, fits)
        yield from stateful_pods(spec, _TEMPLATE)
        # Upstream checks labels and annotations a second time.
        yield from template_meta(pod_template, _TEMPLATE)
    yield from _runs_always(pod_template, "StatefulSet")


def stateful_pods(spec: Value, path: Path) -> Iterator[Cause]:
    """Yield causes in the pods of a StatefulSet, as its template at ``path`` with its claims makes them."""
    yield from template(_with_claims(spec.get("template", {}), spec.get("volumeClaimTemplates", ())), path)


def _with_claims(pod_template: Value, claims: Any) -> Value:
    """Return the template with its claims as volumes, without hostname and subdomain, which the controller sets."""
    pod = pod_template.get("spec", {})
    if not claims and "hostname" not in pod and "subdomain" not in pod:
        return pod_template
    changed = {key: value for key, value in pod.items() if key not in ("hostname", "subdomain")}
    if claims:
        names = [claim.get("metadata", {}).get("name", "") for claim in claims]
        own = [volume for volume in pod.get("volumes", ()) if volume.get("name", "") not in names]
        made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(names)]
        # The manifest's volumes come first here, so that their indexes stay right.
        changed["volumes"] = [*own, *made]
    return pod_template | {"spec": changed}


def _stateful_set_strategy(strategy: Value) -> Iterator[Cause]:
    path = (*_SPEC, "updateStrategy")
    kind, rolling = strategy.get("type") or "RollingUpdate", strategy.get("rollingUpdate")
    if kind == "OnDelete":
        if rolling is not None:
            shown = {"Partition": rolling.get("partition", 0), "MaxUnavailable": None}  # dropped: see below
            yield invalid((*path, "rollingUpdate"), shown, "only allowed for updateStrategy 'RollingUpdate'")
    elif kind == "RollingUpdate":
        yield from _rolling_stateful_set(rolling or {}, (*path, "rollingUpdate"))
    else:
        shown = {"Type": kind, "RollingUpdate": rolling and {"Partition": rolling.get("partition", 0)}}
        detail = "must be 'RollingUpdate' or 'OnDelete'"
        yield invalid((*path, "type"), shown, detail, field=field_of(path))


def _rolling_stateful_set(rolling: Value, path: Path) -> Iterator[Cause]:
    if rolling.get("partition", 0) < 0:
        yield invalid((*path, "partition"), rolling["partition"], _NEGATIVE)
    # maxUnavailable is not checked here: registry/apps/statefulset/strategy.go drops the field while the gate
    # MaxUnavailableStatefulSet is off, as in the recorded version.


def max_unavailable_of_stateful_set(value: Value) -> Iterator[Cause]:
    """Yield causes in ``maxUnavailable`` of a rolling update (validateRollingUpdateStatefulSet, with the gate on)."""
    strategy = value.get("spec", {}).get("updateStrategy", {})
    max_unavailable = (strategy.get("rollingUpdate") or {}).get("maxUnavailable")
    if max_unavailable is None or (strategy.get("type") or "RollingUpdate") != "RollingUpdate":
        return
    path = (*_SPEC, "updateStrategy", "rollingUpdate", "maxUnavailable")
    yield from positive_int_or_percent(max_unavailable, path)
    if amount(max_unavailable) == 0:
        yield invalid(path, int_or_string(max_unavailable), "cannot be 0")
    yield from at_most_all(max_unavailable, path)


def not_negative(spec: Value, *names: str, path: Path = _SPEC) -> Sequence[Cause]:
    return [invalid((*path, name), spec[name], _NEGATIVE) for name in names if spec.get(name, 0) < 0]


def positive_int_or_percent(value: int | str, path: Path) -> Iterator[Cause]:
    if isinstance(value, str):
        for detail in percent(value):
            yield invalid(path, int_or_string(value), detail)
    elif value < 0:
        yield invalid(path, value, _NEGATIVE)


def at_most_all(value: int | str, path: Path) -> Iterator[Cause]:
    if isinstance(value, str) and not percent(value) and (go_int(value[:-1]) or 0) > 100:
        yield invalid(path, int_or_string(value), "must not be greater than 100%")


def amount(value: int | str) -> int:
    """Return the number of an int or percentage like ``getIntOrPercentValue``; text without a number counts as 0."""
    if isinstance(value, int):
        return value
    return go_int(value if percent(value) else value[:-1]) or 0


def int_or_string(value: int | str) -> int | Raw:
    """Return an IntOrString as a message shows it."""
    return value if isinstance(value, int) else named(value)
