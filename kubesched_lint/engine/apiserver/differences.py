"""What the API servers of other versions refuse more or less than the recorded one; ``quirks`` has the sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesched_lint.engine.apiserver.objects.autoscalers import autoscaler
from kubesched_lint.engine.apiserver.objects.workloads import max_unavailable_of_stateful_set
from kubesched_lint.engine.apiserver.values.causes import Cause, required
from kubesched_lint.engine.base import quirks
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.quirks import has

Value = dict[str, Any]
_TEMPLATES: dict[str, Path] = {
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    **dict.fromkeys(
        ("DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"),
        ("spec", "template", "spec"),
    ),
}
_ALWAYS: Path = ("restartPolicy",)
"""The part of a StatefulSet's pod spec that every version checks."""


def as_in(version: str, value: Value, causes: tuple[Cause, ...]) -> tuple[Cause, ...]:
    """Return the causes of ``version`` for an object, from those of the recorded version."""
    if value["kind"] == "HorizontalPodAutoscaler" and has(version, quirks.HPA_SCALES_TO_ZERO):
        return tuple(autoscaler(value, floor=0))
    kept = (cause for cause in causes if not _is_later(version, value, cause))
    return (*kept, *_added(version, value))


def _is_later(version: str, value: Value, cause: Cause) -> bool:
    """Return whether only later versions refuse this."""
    if cause.path == ("spec", "serviceName") and value["kind"] == "StatefulSet":
        return not has(version, quirks.SERVICE_NAME_OF_STATEFUL_SETS)
    if value["kind"] == "StatefulSet" and cause.path[:3] == _TEMPLATES["StatefulSet"] and cause.path[3:4] != _ALWAYS:
        return not has(version, quirks.TEMPLATES_OF_STATEFUL_SETS)
    if cause.message.endswith("for non-sidecar initContainers"):
        return not has(version, quirks.RESIZE_POLICY_OF_INIT_CONTAINERS)
    return False


def _added(version: str, value: Value) -> Iterator[Cause]:
    on = (quirks.STATEFUL_SET_MAX_UNAVAILABLE, quirks.STATEFUL_SET_MAX_UNAVAILABLE_AT_FIRST)
    if value["kind"] == "StatefulSet" and has(version, *on):
        yield from max_unavailable_of_stateful_set(value)
    if value["kind"] in _TEMPLATES and has(version, quirks.IMAGE_VOLUMES_OF_TEMPLATES):
        yield from _image_volumes(value, _TEMPLATES[value["kind"]])


def _image_volumes(value: Value, path: Path) -> Iterator[Cause]:
    spec = value
    for step in path:
        spec = spec.get(str(step), {})
    for i, volume in enumerate(spec.get("volumes", ())):
        if "image" in volume and not volume["image"].get("reference"):
            yield required((*path, "volumes", i, "image", "reference"))
