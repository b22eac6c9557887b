"""Compare a written pod template with the stored one, which has defaults: would the API server see a new template?

Applying changes written values and leaves the rest, so a written value that differs is a change. A stored value that is
not written is a default, another tool's value, or a field that the manifest has just dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.pod_fields import POD, read_of
from kubesched_lint.engine.model.quantity import QuantityError, resource_value
from kubesched_lint.engine.model.workloads.workload import written_template as written_template

# pkg/apis/core/v1/defaults.go and zz_generated.defaults.go (v1.36), for the fields of a template.
_DEFAULTS: dict[str, tuple[object, ...]] = {
    "terminationMessagePath": ("/dev/termination-log",),
    "terminationMessagePolicy": ("File",),
    "imagePullPolicy": ("Always", "IfNotPresent"),
    "dnsPolicy": ("ClusterFirst",),
    "restartPolicy": ("Always",),
    "schedulerName": ("default-scheduler",),
    "terminationGracePeriodSeconds": (30,),
    "protocol": ("TCP",),
    "scheme": ("HTTP",),
    "timeoutSeconds": (1,),
    "periodSeconds": (10,),
    "successThreshold": (1,),
    "failureThreshold": (3,),
    "service": ("",),
    "defaultMode": (420,),
    "apiVersion": ("v1",),
    "expirationSeconds": (3600,),
    "volumeMode": ("Filesystem",),
    "fsType": ("ext4", "xfs"),
    "readOnly": (False,),
    "cachingMode": ("ReadWrite",),
    "kind": ("Shared",),
    "pool": ("rbd",),
    "user": ("admin",),
    "keyring": ("/etc/ceph/keyring",),
    "iscsiInterface": ("default",),
    "storageMode": ("ThinProvisioned",),
    "effect": ("",),
}
# The API server leaves out the value zero, because Go's field is no pointer: writing zero changes nothing.
_ZERO_IS_ABSENT = frozenset(
    ["hostNetwork", "hostPID", "hostIPC", "stdin", "stdinOnce", "tty", "readOnly", "hostPort", "initialDelaySeconds"]
)
_EMPTY_IS_NOT_ABSENT = frozenset(["labelSelector", "namespaceSelector"])
FOREIGN = frozenset(["pod-template-hash", "kubectl.kubernetes.io/restartedAt", "creationTimestamp"])
_QUANTITIES = frozenset(["requests", "limits", "overhead"])

AS_IT_RUNS = "as it runs"
"""Marks a template inferred from running pods: its revision is unknown."""


def difference(written: Mapping[str, Any], stored: Mapping[str, Any], *, trimmed: bool = False) -> bool | None:
    """Return True if applying ``written`` over ``stored`` makes a new revision, False if not, None if unknown.

    Both are pod templates as plain values. ``trimmed``: the stored one lacks what scheduling does not read.
    """
    ours = _trim(written) if trimmed else {k: written.get(k) for k in ("metadata", "spec")}
    if not trimmed:
        ours["metadata"] = _meta(written, "labels", "annotations")
    kept = ("labels",) if trimmed else ("labels", "annotations")
    theirs = {"metadata": _meta(stored, *kept), "spec": stored.get("spec")}
    if any(_changes(ours, theirs, "")):
        return True
    if trimmed or any(_unexplained(ours, theirs, "")):
        return None
    return False


def changed_fields(before: Any, after: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each value that two written objects set differently; a default that one writes is the same.

    Applying one template over the other makes a new revision if and only if there is such a value. ``path`` is where
    both stand in their object. A list of another length is one value.
    """
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    if isinstance(before, dict) and isinstance(after, dict):
        if "imagePullPolicy" in before or "imagePullPolicy" in after:
            before, after = _with_pull_policy(before), _with_pull_policy(after)
        for name in {**before, **after}:
            ours, theirs = before.get(name), after.get(name)
            if not (key in _QUANTITIES and _same_quantity(name, ours, theirs)):
                yield from changed_fields(ours, theirs, (*path, str(name)))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (entry, other) in enumerate(zip(before, after, strict=True)):
            yield from changed_fields(entry, other, (*path, number))
    elif before != after and not (_stands_for(before, after, key) or _stands_for(after, before, key)):
        yield path


def _stands_for(value: Any, other: Any, key: str) -> bool:
    """Return whether the API server stores ``other``, which is not written, as ``value``."""
    return _is_absent(other, key) and (_is_absent(value, key) or value in _DEFAULTS.get(key, ()))


def _with_pull_policy(container: dict[str, Any]) -> dict[str, Any]:
    """Return the container with the policy that its image implies: this default depends on another field."""
    image = container.get("image")
    if not isinstance(image, str) or container.get("imagePullPolicy"):
        return container
    tag = image.rpartition("/")[2].partition(":")[2]
    return {**container, "imagePullPolicy": "Always" if "@" not in image and tag in ("", "latest") else "IfNotPresent"}


def _meta(template: Mapping[str, Any], *kept: str) -> dict[str, Any]:
    meta = template.get("metadata") or {}
    return {key: meta.get(key) for key in kept}


def _trim(template: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a capture keeps of a template."""
    return {"metadata": _meta(template, "labels"), "spec": read_of(template.get("spec") or {}, POD)}


def _changes(ours: Any, theirs: Any, key: str) -> Iterator[bool]:
    """Yield True for every written value that is stored differently; null writes nothing."""
    if ours is None:
        return
    if isinstance(ours, dict) and (isinstance(theirs, dict) or (theirs is None and ours)):
        theirs = theirs or {}
        for name, value in ours.items():
            if key in _QUANTITIES and _same_quantity(name, value, theirs.get(name)):
                continue
            yield from _changes(value, theirs.get(name), str(name))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for entry, other in zip(ours, theirs, strict=True):
            yield from _changes(entry, other, key)
    elif not (ours == theirs or (theirs is None and _is_absent(ours, key))):
        yield True


def _is_absent(value: Any, key: str) -> bool:
    """Return whether the API server stores a written value by leaving the field out."""
    if value is None or value == "":
        return True
    if value in (False, 0) and not isinstance(value, (dict, list)):
        return key in _ZERO_IS_ABSENT
    return value in ({}, []) and key not in _EMPTY_IS_NOT_ABSENT


def _same_quantity(name: str, ours: Any, theirs: Any) -> bool:
    """Return whether the quantities are equal: ``1000m`` is stored as ``1``."""
    try:
        return resource_value(str(name), ours) == resource_value(str(name), theirs)
    except (QuantityError, TypeError):
        return False


def _unexplained(ours: Any, theirs: Any, key: str) -> Iterator[bool]:
    """Yield True for every stored value that is neither written nor a default."""
    if isinstance(theirs, dict):
        mine = ours if isinstance(ours, dict) else {}
        for name, value in theirs.items():
            if name in FOREIGN:
                continue
            if mine.get(name) is None and (name == "serviceAccount" or value in _DEFAULTS.get(name, ())):
                continue
            yield from _unexplained(mine.get(name), value, name)
    elif isinstance(theirs, list):
        mine_list = ours if isinstance(ours, list) else []
        for i, item in enumerate(theirs):
            yield from _unexplained(mine_list[i] if i < len(mine_list) else None, item, key)
    elif ours is None and theirs is not None:
        yield True
