"""Pods and pod templates to create, with the changes of defaulting and creation to a pod.

Mirrors ``ValidatePodCreate`` and ``ValidatePodTemplateSpec`` in ``pkg/apis/core/validation/validation.go``,
``SetDefaults_Pod`` in ``pkg/apis/core/v1/defaults.go`` and ``pkg/registry/core/pod/strategy.go`` (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kubesched_lint.engine.apiserver.pods.affinity import with_pod_labels
from kubesched_lint.engine.apiserver.pods.containers import image_spaces
from kubesched_lint.engine.apiserver.pods.podspec import pod_spec
from kubesched_lint.engine.apiserver.pods.resources import aggregate, allows_overcommit, is_huge_page
from kubesched_lint.engine.apiserver.values.causes import Cause, MapKey, descending, field_of, forbidden, invalid
from kubesched_lint.engine.apiserver.values.labels import annotation_map, are_sound, label_map
from kubesched_lint.engine.apiserver.values.metadata import object_meta
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.labels import go_int

Value = dict[str, Any]
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_MIRROR = "kubernetes.io/config.mirror"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_GROUPS = ("containers", "initContainers")


def pod(value: Value) -> Iterator[Cause]:
    """Yield the causes of a decoded Pod."""
    meta = value.get("metadata", {})
    spec = as_created(value.get("spec", {}), meta.get("labels", {}))
    path: Path = ("spec",)
    yield from object_meta(meta)
    if "annotations" in meta:
        yield from _annotations(meta["annotations"], spec, ("metadata", "annotations"), "metadata.annotations")
    yield from pod_spec(spec, path, pod=meta)
    for group in _GROUPS:
        for i, container in enumerate(spec.get(group, ())):
            yield from image_spaces(container, (*path, group, i))
    if spec.get("ephemeralContainers"):
        yield forbidden((*path, "ephemeralContainers"), "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden((*path, "nodeName"), "cannot be set until all schedulingGates have been cleared")


def template(value: Value, path: Path) -> Iterator[Cause]:
    """Yield the causes of a decoded PodTemplateSpec; upstream omits ``metadata`` in the fields it names."""
    yield from template_meta(value, path)
    spec = value.get("spec", {})
    yield from pod_spec(spec, (*path, "spec"))
    if spec.get("ephemeralContainers"):
        yield forbidden((*path, "spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template")


def template_meta(value: Value, path: Path) -> Iterator[Cause]:
    meta = value.get("metadata")
    if not meta:
        return
    meta_path = (*path, "metadata")
    if "labels" in meta and not are_sound(meta["labels"]):
        yield from label_map(meta["labels"], (*meta_path, "labels"), field=f"{field_of(path)}.labels")
    if "annotations" in meta:
        at, named_field = (*meta_path, "annotations"), f"{field_of(path)}.annotations"
        yield from annotation_map(meta["annotations"], at, field=named_field)
        yield from _annotations(meta["annotations"], value.get("spec", {}), at, named_field)


def as_created(spec: Value, labels: dict[str, str]) -> Value:
    """Return the spec after the changes that apply to pods only, not to templates."""
    changed = _with_requests(spec)
    if spec.get("hostNetwork"):
        changed = _with_host_ports(changed)
    if "topologySpreadConstraints" in spec or "affinity" in spec:
        changed = with_pod_labels(changed, labels)
    return changed


def _with_requests(spec: Value) -> Value:
    """Return the spec with each limit as the request if there is none, in containers and in the whole pod."""
    changed = dict(spec)
    for group in _GROUPS:
        if any("limits" in container.get("resources", ()) for container in spec.get(group, ())):
            changed[group] = [_with_own_requests(container) for container in spec[group]]
    resources = spec.get("resources", {})
    if resources.get("limits"):
        total = {
            name: str(amount) for name, amount in aggregate(changed, "requests").items() if allows_overcommit(name)
        }
        given = total | resources["limits"] | total | resources.get("requests", {})
        known = {name: amount for name, amount in given.items() if name in ("cpu", "memory") or is_huge_page(name)}
        changed["resources"] = resources | {"requests": known | resources.get("requests", {})}
    return changed


def _with_own_requests(container: Value) -> Value:
    resources = container.get("resources", {})
    if "limits" not in resources:
        return container
    requests = resources.get("requests", {})
    return container | {"resources": resources | {"requests": requests | (resources["limits"] | requests)}}


def _with_host_ports(spec: Value) -> Value:
    changed = dict(spec)
    for group in _GROUPS:
        if group in spec:
            changed[group] = [
                container
                | {
                    "ports": [
                        port | {"hostPort": port.get("hostPort") or port.get("containerPort", 0)}
                        for port in container["ports"]
                    ]
                }
                if "ports" in container
                else container
                for container in spec[group]
            ]
    return changed


def _annotations(annotations: Mapping[str, str], spec: Value, path: Path, field: str) -> Iterator[Cause]:
    """Yield the causes of ``ValidatePodSpecificAnnotations``."""
    if _MIRROR in annotations and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid((*path, MapKey(_MIRROR)), annotations[_MIRROR], detail, field=f"{field}[{_MIRROR}]")
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not _is_cost(cost):
        at = (*path, MapKey(_DELETION_COST))
        yield invalid(at, cost, "must be a 32bit integer", field=f"{field}[{_DELETION_COST}]")
    for key, profile in annotations.items():
        at = (*path, MapKey(key))
        if key == _SECCOMP_POD or key.startswith(_SECCOMP_CONTAINER):
            yield from _seccomp(profile, at, f"{field}.{key}")
        elif key.startswith(_APP_ARMOR):
            yield from _app_armor(key.removeprefix(_APP_ARMOR), profile, spec, at, f"{field}[{key}]")


def _is_cost(text: str) -> bool:
    """Return whether the text is a 32-bit integer without a plus sign or leading zeros."""
    cost = go_int(text) if re.fullmatch("0|-[0-9]+|[1-9][0-9]*", text) else None
    return cost is not None and -(1 << 31) <= cost < 1 << 31


def _seccomp(profile: str, path: Path, field: str) -> Iterator[Cause]:
    if profile.startswith("localhost/"):
        yield from descending(profile.removeprefix("localhost/"), path, field=field)
    elif profile not in ("runtime/default", "docker/default", "unconfined"):
        yield invalid(path, profile, "must be a valid seccomp profile", field=field)


def _app_armor(container: str, profile: str, spec: Value, path: Path, field: str) -> Iterator[Cause]:
    groups = (*_GROUPS, "ephemeralContainers")
    if not any(owner.get("name", "") == container for group in groups for owner in spec.get(group, ())):
        yield invalid(path, container, "container not found", field=field)
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith("localhost/"):
        yield invalid(path, profile, f'invalid AppArmor profile name: "{profile}"', field=field)
