"""PodGroups and Workloads of scheduling.k8s.io, and the ``schedulingGroup`` of pods.

Mirrors ``pkg/apis/scheduling/v1alpha2/zz_generated.validations.go`` and ``validateSchedulingGroup`` of
``pkg/apis/core/validation`` (v1.36). For v1beta1 and v1alpha3 (v1.37) it follows the ``+k8s:`` markers of
``k8s.io/api/scheduling``. Rules about updates are left out: the stored object is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    complaints,
    duplicate,
    invalid,
    named,
    not_supported,
    required,
    required_name,
    too_many,
)
from kubesched_lint.engine.apiserver.values.metadata import object_meta
from kubesched_lint.engine.apiserver.values.names import Complaints, dns_label, dns_subdomain, label_key, path_segment
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.feature_gates import GROUPS, PREEMPTION, TOPOLOGY

Value = dict[str, Any]
_SPEC: Path = ("spec",)
_HIGHEST_PRIORITY = 1_000_000_000
_ALPHA = "scheduling.k8s.io/v1alpha2"
_FIELDS = ("name", "schedulingPolicy", "schedulingConstraints", "resourceClaims", "disruptionMode")
_FIELDS_OF_CLAIMS = ("name", "resourceClaimName", "resourceClaimTemplateName")
_GATES = {"schedulingConstraints": TOPOLOGY, "resourceClaims": "DRAWorkloadResourceClaims"}
_GATES_OF_ALPHA = dict.fromkeys(("disruptionMode", "priorityClassName", "priority"), PREEMPTION)


def gate_of(value: Value, path: Path) -> str:
    """Return the feature gate without which the API server drops the field at ``path``; empty if it keeps it."""
    if "schedulingGroup" in path:
        return GROUPS
    version = str(value.get("apiVersion"))
    if value.get("kind") not in ("PodGroup", "Workload") or not version.startswith("scheduling.k8s.io/"):
        return ""
    gates = _GATES | (_GATES_OF_ALPHA if version == _ALPHA else {})
    return next((gates[step] for step in path if isinstance(step, str) and step in gates), "")


def pod_group(value: Value) -> Iterator[Cause]:
    spec, is_alpha = value.get("spec", {}), value["apiVersion"] == _ALPHA
    yield from object_meta(value.get("metadata", {}))
    if is_alpha and "podGroupTemplateRef" in spec:
        yield from _template_reference(spec["podGroupTemplateRef"], (*_SPEC, "podGroupTemplateRef"))
    elif not is_alpha and "workloadRef" in spec:
        yield from _workload_reference(spec["workloadRef"], (*_SPEC, "workloadRef"), "templateName")
    yield from _group(spec, _SPEC, is_alpha)


def workload(value: Value) -> Iterator[Cause]:
    spec, is_alpha = value.get("spec", {}), value["apiVersion"] == _ALPHA
    yield from object_meta(value.get("metadata", {}))
    templates, at = spec.get("podGroupTemplates") or [], (*_SPEC, "podGroupTemplates")
    if not is_alpha:
        yield from _one_of(spec, _SPEC, "podGroupTemplates", "compositePodGroupTemplates")
    if "controllerRef" in spec:
        yield from _controller(spec["controllerRef"], (*_SPEC, "controllerRef"))
    if is_alpha and not templates:
        yield required(at)
    yield from _listed(
        templates, at, 8, _FIELDS, lambda template, template_path: _template(template, template_path, is_alpha)
    )


def scheduling_group(value: Value, path: Path) -> Iterator[Cause]:
    """Yield what is wrong with ``spec.schedulingGroup`` of a pod."""
    name = value.get("podGroupName")
    if name is None:
        yield invalid((*path, "podGroupName"), None, "must specify one of: `podGroupName`")
    else:
        yield from complaints((*path, "podGroupName"), name, dns_subdomain(name))


def _template_reference(reference: Value, path: Path) -> Iterator[Cause]:
    if reference.get("workload") is None:
        yield invalid(path, "", "must specify one of: `workload`")
    else:
        yield from _workload_reference(reference["workload"], (*path, "workload"), "podGroupTemplateName")


def _workload_reference(reference: Value, path: Path, template: str) -> Iterator[Cause]:
    yield from required_name((*path, "workloadName"), reference.get("workloadName", ""), _long)
    yield from required_name((*path, template), reference.get(template, ""), _short)


def _controller(reference: Value, path: Path) -> Iterator[Cause]:
    if reference.get("apiGroup"):
        yield from complaints((*path, "apiGroup"), reference["apiGroup"], _long(reference["apiGroup"]))
    yield from required_name((*path, "kind"), reference.get("kind", ""), path_segment)
    yield from required_name((*path, "name"), reference.get("name", ""), path_segment)


def _template(template: Value, path: Path, is_alpha: bool) -> Iterator[Cause]:
    yield from required_name((*path, "name"), template.get("name", ""), _short)
    yield from _group(template, path, is_alpha)


def _group(spec: Value, path: Path, is_alpha: bool) -> Iterator[Cause]:
    """Yield what is wrong with the fields that PodGroups and templates of them have in common."""
    yield from _policy(spec.get("schedulingPolicy", {}), (*path, "schedulingPolicy"))
    topology = spec.get("schedulingConstraints", {}).get("topology") or []
    yield from _topology(topology, (*path, "schedulingConstraints", "topology"))
    claims = spec.get("resourceClaims") or []
    yield from _listed(claims, (*path, "resourceClaims"), 4, _FIELDS_OF_CLAIMS, _claim)
    if "disruptionMode" in spec:
        yield from _disruption(spec["disruptionMode"], (*path, "disruptionMode"))
    if spec.get("priorityClassName"):
        at = (*path, "priorityClassName")
        yield from complaints(at, spec["priorityClassName"], _long(spec["priorityClassName"]))
    if spec.get("priority", 0) > _HIGHEST_PRIORITY:
        text = f"must be less than or equal to {_HIGHEST_PRIORITY}"
        yield invalid((*path, "priority"), spec["priority"], text)


def _policy(policy: Value, path: Path) -> Iterator[Cause]:
    yield from _one_of(policy, path, "basic", "gang")
    if policy.get("gang") is not None:
        at, least = (*path, "gang", "minCount"), policy["gang"].get("minCount", 0)
        if least == 0:
            yield required(at)
        elif least < 1:
            yield invalid(at, least, "must be greater than or equal to 1")


def _topology(constraints: Sequence[Value], path: Path) -> Iterator[Cause]:
    if len(constraints) > 1:
        yield too_many(path, len(constraints), 1)
        return
    for i, constraint in enumerate(constraints):
        yield from required_name((*path, i, "key"), constraint.get("key", ""), label_key)


def _claim(claim: Value, path: Path) -> Iterator[Cause]:
    yield from _one_of(claim, path, "resourceClaimName", "resourceClaimTemplateName")
    yield from required_name((*path, "name"), claim.get("name", ""), _short)
    for field in ("resourceClaimName", "resourceClaimTemplateName"):
        if claim.get(field) is not None:
            yield from complaints((*path, field), claim[field], _long(claim[field]))


def _disruption(mode: str | Value, path: Path) -> Iterator[Cause]:
    if isinstance(mode, dict):
        yield from _one_of(mode, path, "single", "all")
    elif mode not in ("Pod", "PodGroup"):
        yield not_supported(path, named(mode), ("Pod", "PodGroup"))


def _listed(
    entries: Sequence[Value],
    path: Path,
    most: int,
    order: Sequence[str],
    rules: Callable[[Value, Path], Iterator[Cause]],
) -> Iterator[Cause]:
    """Yield what is wrong with a list whose entries have distinct names; ``order``: of fields in a message."""
    if len(entries) > most:
        yield too_many(path, len(entries), most)
        return
    names = [entry.get("name", "") for entry in entries]
    for i, entry in enumerate(entries):
        if names[i] in names[:i]:
            first = {field: entry[field] for field in order if field in entry}
            yield duplicate((*path, i), first | entry)
    for i, entry in enumerate(entries):
        yield from rules(entry, (*path, i))


def _one_of(value: Value, path: Path, *members: str) -> Iterator[Cause]:
    """Yield the refusal of a union without exactly one member (``validate.Union``)."""
    given = [member for member in members if value.get(member) is not None]
    shown = ", ".join(f"`{member}`" for member in members)
    if not given:
        yield invalid(path, "", f"must specify one of: {shown}")
    elif len(given) > 1:
        yield invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {shown}")


def _short(name: str) -> Complaints:
    return dns_label(name, "bytes")


def _long(name: str) -> Complaints:
    return dns_subdomain(name, "bytes")
