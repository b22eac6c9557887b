"""Jobs and CronJobs.

Mirrors ``pkg/apis/batch/validation/validation.go``, ``pkg/apis/batch/v1/defaults.go`` and the Job strategy's generated
selector (v1.36).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from kubesched_lint.engine.apiserver.objects.cron import schedule, time_zone
from kubesched_lint.engine.apiserver.objects.workloads import mismatch, not_negative
from kubesched_lint.engine.apiserver.pods.pods import template
from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    Raw,
    as_json,
    complaints,
    duplicate,
    field_of,
    invalid,
    named,
    not_supported,
    one_of,
    quoted,
    required,
    too_long,
    too_many,
)
from kubesched_lint.engine.apiserver.values.labels import UnusableSelectorError, label_selector, selector_value, selects
from kubesched_lint.engine.apiserver.values.metadata import object_meta
from kubesched_lint.engine.apiserver.values.names import dns_label, dns_subdomain, qualified_name, size
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.labels import go_int

Value = dict[str, Any]
_API_INDEXES = 100_000
_PODS_OF_A_LARGE_JOB = 10_000
_MODES = ("NonIndexed", "Indexed")
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_STATUSES = ("False", "True", "Unknown")
_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_UID = "00000000-0000-0000-0000-000000000000"
_NUMBERS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)


def job(value: Value) -> Iterator[Cause]:
    meta, spec = value.get("metadata", {}), value.get("spec", {})
    path: Path = ("spec",)
    if "completions" not in spec and "parallelism" not in spec:
        spec = spec | {"completions": 1}
    labelled, generated = _labelled_template(meta, spec)
    # A Job without labels takes its template's: the same map, to which the selector's labels are added.
    if generated is not None and not meta.get("labels"):
        meta = meta | {"labels": generated}
    own = value.get("spec", {}).get("template", {}).get("metadata", {}).get("labels", {})
    yield from _blaming_the_name(object_meta(meta), own)
    if not spec.get("manualSelector"):
        yield from _generated_selector(meta, spec, labelled)
    yield from _blaming_the_name(job_spec(spec, labelled, path), own)
    yield from _selector(spec, labelled)
    if spec.get("completionMode") == "Indexed" and spec.get("completions", 0) > 0:
        last = f"{meta.get('name', '')}-{spec['completions'] - 1}"
        if dns_label(last):
            detail = f"will not able to create pod with invalid DNS label: {last}"
            yield invalid(("metadata", "name"), meta.get("name", ""), detail)


def _blaming_the_name(causes: Iterator[Cause], own: Mapping[str, str]) -> Iterator[Cause]:
    """Yield the causes; a label generated from the Job's name has the name as its place."""
    for cause in causes:
        step = cause.path[-1]
        if step in _NAME_LABELS and step not in own:
            cause = replace(cause, path=("metadata", "name"))
        yield cause


def _labelled_template(meta: Value, spec: Value) -> tuple[Value, dict[str, str] | None]:
    """Return the template with the labels of ``generateSelector``, and its own label map if it had one."""
    pod_template = spec.get("template", {})
    own = pod_template.get("metadata", {}).get("labels")
    if spec.get("manualSelector"):
        return pod_template, own
    name = meta.get("name", "")
    labels = {**dict.fromkeys(_NAME_LABELS, name), **dict.fromkeys(_UID_LABELS, _uid(meta)), **(own or {})}
    changed = pod_template | {"metadata": pod_template.get("metadata", {}) | {"labels": labels}}
    return changed, None if own is None else labels


def _uid(meta: Value) -> str:
    """Return the uid: the server generates one, and a manifest read from a cluster has one, with matching labels."""
    return meta.get("uid") or _UID


def _generated_selector(meta: Value, spec: Value, labelled: Value) -> Iterator[Cause]:
    """Yield the causes of ``validateGeneratedSelector``: a manifest must not change the generated labels."""
    labels, field = labelled["metadata"]["labels"], "spec.template.metadata.labels"
    name, uid = meta.get("name", ""), _uid(meta)
    expected = dict(zip((*_UID_LABELS, *_NAME_LABELS), (uid, uid, name, name), strict=True))
    for key, wanted in expected.items():
        if labels[key] != wanted:
            at, shown = ("spec", "template", "metadata", "labels", key), Raw(as_json(dict(sorted(labels.items()))))
            yield invalid(at, shown, f"must be '{wanted}'", field=f"{field}[{key}]")
    selector = spec.get("selector")
    if selector is None:
        return
    try:
        fits = selects(selector, expected)
    except UnusableSelectorError:
        return
    if not fits:
        yield invalid(("spec", "selector"), selector_value(selector), "`selector` not auto-generated")


def _selector(spec: Value, labelled: Value) -> Iterator[Cause]:
    """Yield the causes of ``ValidateJobSpec``.

    The generated selector, merged with the written one, matches the template.
    """
    selector = spec.get("selector")
    if selector is None:
        if spec.get("manualSelector"):
            yield required(("spec", "selector"))
            yield from mismatch(labelled, False)
        return
    yield from label_selector(selector, ("spec", "selector"))
    try:
        yield from mismatch(labelled, selects(selector, labelled.get("metadata", {}).get("labels", {})))
    except UnusableSelectorError:
        pass


def job_spec(spec: Value, labelled: Value, path: Path) -> Iterator[Cause]:
    """Yield the causes of ``validateJobSpec``; ``labelled`` is the template after labelling."""
    for name in _NUMBERS:
        yield from not_negative(spec, name, path=path)
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        yield required((*path, "backoffLimitPerIndex"), "when maxFailedIndexes is specified")
    if "managedBy" in spec:
        yield from _managed_by(spec["managedBy"], (*path, "managedBy"))
    mode = spec.get("completionMode", "NonIndexed")
    yield from one_of((*path, "completionMode"), mode, _MODES)
    if mode == "Indexed":
        yield from _indexed(spec, path)
    elif mode == "NonIndexed":
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if name in spec:
                yield invalid((*path, name), spec[name], "requires indexed completion mode")
    if "podFailurePolicy" in spec:
        yield from _failure_policy(spec, (*path, "podFailurePolicy"))
    if "successPolicy" in spec:
        yield from _success_policy(spec, mode, (*path, "successPolicy"))
    yield from _replacement_policy(spec, (*path, "podReplacementPolicy"))
    yield from template(labelled, (*path, "template"))
    yield from _restart_policy(spec, (*path, "template", "spec", "restartPolicy"))


def _restart_policy(spec: Value, path: Path) -> Iterator[Cause]:
    policy = spec.get("template", {}).get("spec", {}).get("restartPolicy") or "Always"
    if policy == "Always":
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(path, named(policy), ("OnFailure", "Never"))
    elif "podFailurePolicy" in spec and policy != "Never":
        yield invalid(path, named(policy), 'only "Never" is supported when podFailurePolicy is specified')


def _managed_by(name: str, path: Path) -> Iterator[Cause]:
    domain, _, rest = name.partition("/")
    if not name:
        yield required(path)
    elif not domain or not rest:
        yield invalid(path, name, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from complaints(path, domain, dns_subdomain(domain))
    if size(name) > 63:
        yield too_long(path, 63)


def _indexed(spec: Value, path: Path) -> Iterator[Cause]:
    completions, parallelism = spec.get("completions"), spec.get("parallelism", 1)
    if completions is None:
        yield required((*path, "completions"), "when completion mode is Indexed")
    if parallelism > _API_INDEXES:
        detail = f"must be less than or equal to {_API_INDEXES} when completion mode is Indexed"
        yield invalid((*path, "parallelism"), parallelism, detail)
    most = spec.get("maxFailedIndexes")
    if most is not None and completions is not None and most > completions:
        yield invalid((*path, "maxFailedIndexes"), most, "must be less than or equal to completions")
    if most is not None and most > _API_INDEXES:
        yield invalid((*path, "maxFailedIndexes"), most, f"must be less than or equal to {_API_INDEXES}")
    if completions is None or completions <= _API_INDEXES or "backoffLimitPerIndex" not in spec:
        return
    if most is None:
        yield required((*path, "maxFailedIndexes"), f"must be specified when completions is above {_API_INDEXES}")
    for name, number in (("parallelism", parallelism), ("maxFailedIndexes", most or 0)):
        if number > _PODS_OF_A_LARGE_JOB:
            limit = f"must be less than or equal to {_PODS_OF_A_LARGE_JOB} when completions are above {_API_INDEXES}"
            yield invalid((*path, name), number, f"{limit} and used with backoff limit per index")


def _replacement_policy(spec: Value, path: Path) -> Iterator[Cause]:
    policy = spec.get("podReplacementPolicy", "Failed")
    allowed = ("Failed",) if "podFailurePolicy" in spec else ("Failed", "TerminatingOrFailed")
    yield from one_of(path, policy, allowed)


def _failure_policy(spec: Value, path: Path) -> Iterator[Cause]:
    rules = spec["podFailurePolicy"].get("rules", ())
    if len(rules) > 20:
        yield too_many((*path, "rules"), len(rules), 20)
    pod = spec.get("template", {}).get("spec", {})
    names = {
        container.get("name", "") for group in ("containers", "initContainers") for container in pod.get(group, ())
    }
    for i, rule in enumerate(rules):
        yield from _failure_rule(rule, spec, names, (*path, "rules", i))


def _failure_rule(rule: Value, spec: Value, names: Collection[str], path: Path) -> Iterator[Cause]:
    action, at = rule.get("action", ""), (*path, "action")
    if not action:
        yield required(at, f"valid values: {_listed(_ACTIONS)}")
    elif action not in _ACTIONS:
        yield not_supported(at, named(action), _ACTIONS)
    elif action == "FailIndex" and "backoffLimitPerIndex" not in spec:
        yield invalid(at, named(action), "requires the backoffLimitPerIndex to be set")
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions", ())
    if codes is not None:
        yield from _exit_codes(codes, names, (*path, "onExitCodes"))
    if len(conditions) > 20:
        yield too_many((*path, "onPodConditions"), len(conditions), 20)
    for j, condition in enumerate(conditions):
        condition_path = (*path, "onPodConditions", j)
        yield from complaints(
            (*condition_path, "type"), condition.get("type", ""), qualified_name(condition.get("type", ""))
        )
        status = condition.get("status") or "True"
        yield from one_of((*condition_path, "status"), status, _STATUSES)
    if codes is not None and conditions:
        yield _without_value(path, "specifying both OnExitCodes and OnPodConditions is not supported")
    if codes is None and not conditions:
        yield _without_value(path, "specifying one of OnExitCodes and OnPodConditions is required")


def _without_value(path: Path, detail: str) -> Cause:
    return Cause(field_of(path), "FieldValueInvalid", f"Invalid value: {detail}", path)


def _exit_codes(codes: Value, names: Collection[str], path: Path) -> Iterator[Cause]:
    operator, values = codes.get("operator", ""), codes.get("values", [])
    if not operator:
        yield required((*path, "operator"), f"valid values: {_listed(('In', 'NotIn'))}")
    elif operator not in ("In", "NotIn"):
        yield not_supported((*path, "operator"), named(operator), ("In", "NotIn"))
    if "containerName" in codes and codes["containerName"] not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        yield invalid((*path, "containerName"), codes["containerName"], detail)
    at = (*path, "values")
    if not values:
        yield invalid(at, Raw("[]" if "values" in codes else "null"), "at least one value is required")
    elif len(values) > 255:
        yield too_many(at, len(values), 255)
    for j, code in enumerate(values):
        if operator == "In" and code == 0:
            yield invalid((*at, j), code, "must not be 0 for the In operator")
        if code in values[:j]:
            yield duplicate((*at, j), code)
    if any(before > after for before, after in pairwise(values)):
        yield invalid(at, values, "must be ordered")


def _listed(values: Sequence[str]) -> str:
    return f"[{' '.join(map(quoted, values))}]"


def _success_policy(spec: Value, mode: str, path: Path) -> Iterator[Cause]:
    rules = spec["successPolicy"].get("rules", ())
    if mode != "Indexed":
        shown = [
            {"SucceededIndexes": rule.get("succeededIndexes"), "SucceededCount": rule.get("succeededCount")}
            for rule in rules
        ]
        yield invalid(path, {"Rules": shown or None}, "requires indexed completion mode")
        return
    if not rules:
        yield required((*path, "rules"), "at least one rules must be specified when the successPolicy is specified")
    if len(rules) > 20:
        yield too_many((*path, "rules"), len(rules), 20)
    completions = spec.get("completions", 1)
    for i, rule in enumerate(rules):
        yield from _success_rule(rule, completions, (*path, "rules", i))


def _success_rule(rule: Value, completions: int, path: Path) -> Iterator[Cause]:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if indexes is None and count is None:
        yield required(path, "at least one of succeededCount or succeededIndexes must be specified")
    total = 0
    if indexes is not None:
        if len(indexes) > 64 * 1024:
            yield too_long((*path, "succeededIndexes"), 64 * 1024)
        try:
            total = _count_indexes(indexes, completions)
        except ValueError as error:
            yield invalid((*path, "succeededIndexes"), indexes, f"error parsing succeededIndexes: {error}")
    if count is None:
        return
    at = (*path, "succeededCount")
    yield from not_negative(rule, "succeededCount", path=path)
    if count > completions:
        yield invalid(at, count, f"must be less than or equal to {completions} (the number of specified completions)")
    if indexes is not None and count > total:
        limit = f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        yield invalid(at, count, limit)


def _count_indexes(text: str, completions: int) -> int:
    """Return how many indexes ``1,3-5`` names. Raises ValueError with upstream's message."""
    total, last = 0, -1
    for interval in text.split(",") if text else ():
        parts = interval.split("-")
        if len(parts) > 2:
            rule = "violates the requirement that an index interval can have at most two parts separated by '-'"
            raise ValueError(f"the fragment {quoted(interval)} {rule}")
        ends = []
        for part in parts:
            index = go_int(part) if part.isdigit() else None
            if index is None:
                raise ValueError(f"cannot convert string to integer for index: {quoted(part)}")
            if index >= completions:
                raise ValueError(f"too large index: {quoted(part)}")
            ends.append(index)
        if len(ends) == 2 and ends[0] >= ends[1]:
            raise ValueError(f"non-increasing order, previous: {ends[0]}, current: {ends[1]}")
        if last >= ends[0]:
            raise ValueError(f"non-increasing order, previous: {last}, current: {ends[0]}")
        total, last = total + ends[-1] - ends[0] + 1, ends[-1]
    return total


def cron_job(value: Value) -> Iterator[Cause]:
    meta, spec = value.get("metadata", {}), value.get("spec", {})
    path: Path = ("spec",)
    yield from object_meta(meta)
    yield from schedule(spec.get("schedule", ""), (*path, "schedule"))
    yield from not_negative(spec, "startingDeadlineSeconds", path=path)
    if "timeZone" in spec:
        yield from time_zone(spec["timeZone"], (*path, "timeZone"))
    policy = spec.get("concurrencyPolicy") or "Allow"
    yield from one_of((*path, "concurrencyPolicy"), policy, ("Allow", "Forbid", "Replace"))
    inner, job_path = spec.get("jobTemplate", {}).get("spec", {}), (*path, "jobTemplate", "spec")
    yield from job_spec(inner, inner.get("template", {}), job_path)
    if "selector" in inner:
        detail = "`selector` will be auto-generated"
        yield invalid((*job_path, "selector"), selector_value(inner["selector"]), detail)
    if inner.get("manualSelector"):
        yield not_supported((*job_path, "manualSelector"), True, ("nil", "false"))
    yield from not_negative(spec, "successfulJobsHistoryLimit", "failedJobsHistoryLimit", path=path)
    if size(meta.get("name", "")) > 52:
        yield invalid(("metadata", "name"), meta["name"], "must be no more than 52 characters")
