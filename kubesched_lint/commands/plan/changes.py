"""What a change does to each object: created, removed, rolled out, scaled, updated, replaced, or only metadata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, ObjectRef, Path
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.pods.template import changed_fields
from kubesched_lint.engine.model.inventory import identity
from kubesched_lint.engine.model.workloads.workload import KINDS, ROLLED_OUT, Workload, written_template
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.linter.reading.manifest_set import ManifestSet, ref_of
from kubesched_lint.sources.manifests.document import Document, location_of

CREATED, REMOVED, REPLACED = "created", "removed", "replaced"
ROLLS_OUT, SCALED, UPDATED, METADATA = "rolled out", "scaled", "updated", "only metadata"
MAY_ROLL_OUT = "may be rolled out"
"""The snapshot does not show the whole running template."""
UNREAD = "unread on one side"
"""Its file cannot be read before or after the change, so nobody knows what happens to it."""

_SHOWN = frozenset(
    {
        *("replicas", "minReplicas", "maxReplicas", "parallelism", "completions", "partition", "value", "hostPort"),
        *("maxSurge", "maxUnavailable", "minAvailable", "maxSkew", "minDomains", "topologyKey", "whenUnsatisfiable"),
        *("priorityClassName", "storageClassName", "schedulerName"),
    }
)
_SHOWN_BELOW = frozenset({"requests", "limits", "hard", "nodeSelector", "capacity"})
_SECRET = frozenset({"env", "data", "stringData", "args", "command", "annotations"})
"""Fields whose values may be secrets: no report shows them."""
_STATEFULSET_MAY_CHANGE = frozenset(
    {
        *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "minReadySeconds"),
        "persistentVolumeClaimRetentionPolicy",
    }
)
_MANAGEMENT = ("spec", "podManagementPolicy")
_POD_MAY_CHANGE = frozenset({"image", "activeDeadlineSeconds", "tolerations", "schedulingGates"})
_JOB_IS_FIXED = frozenset(
    ["selector", "completionMode", "podFailurePolicy", "successPolicy", "backoffLimitPerIndex", "managedBy"]
)


class FieldChange(Struct, frozen=True):
    """A changed field; ``before`` and ``after`` are empty for values that no report shows."""

    path: Path
    text: str
    before: str = ""
    after: str = ""


class ObjectChange(Struct, frozen=True):
    """What happens to one object; ``actions`` are the words of this module, the most important first."""

    object: ObjectRef
    actions: tuple[str, ...]
    fields: tuple[FieldChange, ...] = ()
    replicas: tuple[int, int] | None = None
    """Pods wanted before and after, where the kind has a number of them; 0 where the workload does not exist."""
    remark: str = ""
    location: Location | None = None
    """Where it is written: after the change, or before it if it is removed."""
    line: Location | None = None
    """Where the first changed field is written, or the nearest line of one that is gone; None for a whole object."""


def workload_changes(before: Scenario, after: Scenario, *, running: bool = False) -> Iterator[ObjectChange]:
    """Yield the changed workloads in the order of ``after``, then the removed ones.

    With ``running``, ``before`` are the workloads that run in the cluster: its other workloads are not removed, and
    the cluster shows whether a template changes, as for ``simulate``.
    """
    old = {workload.ref: workload for workload in before.manifests.workloads}
    new = {workload.ref: workload for workload in after.manifests.workloads}
    for ref, workload in new.items():
        if ref not in old:
            yield _whole(CREATED, workload, (0, after.member(workload).replicas))
        else:
            change = _changed(old[ref], workload, before, after, running=running)
            if change is not None:
                yield change
    for ref, workload in old.items():
        if ref not in new and not running:
            yield _whole(REMOVED, workload, (before.member(workload).replicas, 0))


def other_changes(
    before: ManifestSet, after: ManifestSet, namespace: str, told: Iterable[ObjectChange] = ()
) -> Iterator[ObjectChange]:
    """Yield the changes of objects that are no workloads, such as budgets, quotas and claims.

    ``told`` are the changes of workloads. Of a custom resource that stands for some, only what these do not tell.
    """
    old, new = _others(before, namespace), _others(after, namespace)
    known: dict[ObjectRef, set[str]] = {}
    for manifests in (before, after):
        known.update((w.custom.resource, set()) for w in manifests.inventory.workloads if w.custom is not None)
    for change in told:
        name = change.object.name.partition(":")[0]
        known.get(replace(change.object, name=name), set()).update(field.text for field in change.fields)
    for ref, document in new.items():
        place = document.location(())
        if ref not in old:
            if ref not in known:
                yield ObjectChange(ref, (CREATED,), location=place)
        elif not old[ref].is_same_text(document):
            changed = _fields(old[ref].value, document.value, document)
            fields = tuple(field for field in changed if field.text not in known.get(ref, ()))
            if fields:
                is_meta = all(field.path[:1] == ("metadata",) for field in fields)
                action, line = METADATA if is_meta else UPDATED, document.location(fields[0].path)
                yield ObjectChange(ref, (action,), fields, location=place, line=line)
    for ref, document in old.items():
        if ref not in new and ref not in known:
            yield ObjectChange(ref, (REMOVED,), location=document.location(()))


_LIVE: Mapping[str, Mapping[Path, str]] = {
    "budgets": {("spec", "minAvailable"): "min_available", ("spec", "maxUnavailable"): "max_unavailable"},
    "autoscalers": {("spec", "minReplicas"): "min_replicas", ("spec", "maxReplicas"): "max_replicas"},
    "quotas": {("spec", "hard"): "hard"},
    "priority_classes": {("value",): "value"},
}
"""List of an inventory → path → attribute: what is compared of the objects in a cluster, which has defaults for more.
"""


def beside_running(after: ManifestSet, cluster: Cluster, namespace: str) -> Iterator[ObjectChange]:
    """Yield the objects that are no workloads and differ from the cluster's, of kinds that its file lists."""
    live = dict(cluster.inventory.lists())
    for name, items in after.inventory.lists():
        known = {identity(item): item for item in live[name]}
        for item in items if name != "workloads" else ():
            source = getattr(item, "source", None)
            if not isinstance(source, Document) or not cluster.has(source.kind):
                continue
            ref, place = ref_of(source, namespace), source.location(())
            running = known.get(identity(item))
            if running is None:
                yield ObjectChange(ref, (CREATED,), location=place)
            elif fields := tuple(_live_fields(name, running, item, source)):
                line = source.location(fields[0].path)
                yield ObjectChange(ref, (UPDATED,), fields, location=place, line=line)


def _live_fields(name: str, running: object, item: object, source: Document) -> Iterator[FieldChange]:
    for path, attribute in _LIVE.get(name, {}).items():
        before, after = getattr(running, attribute), getattr(item, attribute)
        if before != after:
            yield _field(path, before, after, source)


def unseen_templates(before: Scenario, after: Scenario) -> int:
    """Return the number of running workloads whose template may change in what the snapshot does not hold."""
    running = {workload.ref for workload in before.manifests.workloads}
    members = (after.member(workload) for workload in after.manifests.workloads if workload.ref in running)
    return sum(member.template_changed is None and _is_trimmed(member) for member in members)


def _is_trimmed(it: Member) -> bool:
    """Whether the cluster holds of its template only what scheduling reads."""
    return it.scenario.cluster is not None and it.scenario.cluster.trims(it.workload)


def _others(manifests: ManifestSet, namespace: str) -> Mapping[ObjectRef, Document]:
    """Return the documents of other objects; the last of several definitions."""
    return {ref_of(d, namespace): d for d in manifests.documents if d.kind not in KINDS and not d.moves}


def _whole(action: str, workload: Workload, replicas: tuple[int, int]) -> ObjectChange:
    counted = None if workload.kind == "DaemonSet" else replicas
    return ObjectChange(workload.ref, (action,), replicas=counted, location=_place(workload))


def _place(workload: Workload) -> Location | None:
    return None if workload.source is None else location_of(workload.source, ())


def _changed(old: Workload, new: Workload, before: Scenario, after: Scenario, *, running: bool) -> ObjectChange | None:
    """Return the change of a workload that is there before and after; None if nothing changes."""
    fields = tuple(_fields_of(old, new, before, running=running))
    at = new.pod.path[:-1]
    template = [f for f in fields if at and f.path[: len(at)] == at]
    actions: list[str] = []
    fixed = next(_fixed(new, [f for f in fields if f not in template], template), None)
    is_rolled = after.member(new).template_changed if running else bool(template)
    remark = ""
    if fixed is not None and new.custom is None:
        remark = f"the API server refuses to change {_words(fixed.path, {})}: the {new.kind} has to be created anew"
        actions.append(REPLACED)
    elif fixed is not None:
        remark = f"its controller decides what becomes of {fixed.text}"
        actions.append(UPDATED)
    elif is_rolled or (is_rolled is None and (template or not _is_trimmed(after.member(new)))):
        remark = _delay(new)
        actions.append(UPDATED if remark else ROLLS_OUT if is_rolled else MAY_ROLL_OUT)
    wanted = before.member(old).replicas, after.member(new).replicas
    if wanted[0] != wanted[1] and new.kind not in ("DaemonSet", "Pod"):
        actions.append(SCALED)
    rest = [f for f in fields if f not in template and f.path != new.replicas_path]
    if not actions and fields:
        actions.append(METADATA if all(f.path[:1] == ("metadata",) for f in rest) and rest else UPDATED)
    if not actions:
        return None
    counted = None if new.kind in ("DaemonSet", "Pod") else wanted
    line = location_of(new.source, fields[0].path) if fields and new.source is not None else None
    return ObjectChange(new.ref, tuple(actions), fields, counted, remark, _place(new), line)


def _fields_of(old: Workload, new: Workload, before: Scenario, *, running: bool) -> Iterator[FieldChange]:
    ours, theirs = old.source, new.source
    if isinstance(ours, Document) and isinstance(theirs, Document) and not running:
        if not ours.is_same_text(theirs):
            yield from _fields(ours.value, theirs.value, theirs)
        return
    source = theirs if isinstance(theirs, Document) else None
    is_open = source is not None and value_at(source.value, _MANAGEMENT) is None  # then an apply leaves it as it is
    compared: tuple[tuple[str, object, object], ...] = (
        ("selector", old.selector, new.selector),
        (_MANAGEMENT[-1], old.pod_management, None if is_open else new.pod_management),
        ("volumeClaimTemplates", _claims_of(old), _claims_of(new)),
    )
    for name, was, becomes in compared:
        if was is not None is not becomes and was != becomes:
            yield _field(("spec", name), "", "", source)
    at = new.pod.path[:-1]
    template, written = _template(old), _template(new)
    if template and written:
        for path in changed_fields(template, written, at):
            if value_at(written, path[len(at) :]) is not None:  # what only runs is a default, or set by another tool
                was, becomes = (value_at(side, path[len(at) :]) for side in (template, written))
                yield _field(path, was, becomes, source)


def _claims_of(workload: Workload) -> object:
    """Return what no default fills in of the claim templates; None without any, or if the cluster shows none."""
    claims = [(c.name, c.request, tuple(sorted(c.access_modes)), c.volume_mode) for c in workload.claim_templates]
    return sorted(claims) or None


def _template(workload: Workload) -> dict[str, Any]:
    """Return the labels and the spec of a template; empty if it is unknown."""
    template = written_template(workload)
    if not isinstance(template, dict):
        return {}
    meta = template.get("metadata")
    return {
        "metadata": {"labels": meta.get("labels") if isinstance(meta, dict) else None},
        "spec": template.get("spec"),
    }


def _fields(before: Mapping[str, Any], after: Mapping[str, Any], document: Document) -> Iterator[FieldChange]:
    """Yield the changed fields of an object, as its manifest writes them."""
    for path in changed_fields(before, after):
        if path[:1] != ("status",) and path != ("metadata", "namespace"):
            yield _field(path, value_at(before, path), value_at(after, path), document)


def _field(path: Path, before: object, after: object, document: Document | None) -> FieldChange:
    move = None if document is None else document.moved(path)
    text = _words(path, {}) if move is None else _words(move.at, move.document.value)
    shown = _is_shown(path)
    return FieldChange(path, text, *(_value(value) if shown else "" for value in (before, after)))


def _is_shown(path: Path) -> bool:
    names = [part for part in path if isinstance(part, str)]
    if not names or _SECRET.intersection(names):
        return False
    return names[-1] in _SHOWN or bool(_SHOWN_BELOW.intersection(names))


def _value(value: object) -> str:
    """Return a number or a text; empty for lists and objects, ``unset`` for nothing."""
    if value is None:
        return "unset"
    return "" if isinstance(value, (dict, list)) else str(value).lower() if isinstance(value, bool) else str(value)


def _words(path: Path, value: object) -> str:
    """Return ``spec.template.spec.containers[web].image``: items of lists by name where they have one."""
    text = ""
    for part in path:
        value = value_at(value, (part,))
        if isinstance(part, int):
            name = value.get("name") if isinstance(value, dict) else None
            text += f"[{name if isinstance(name, str) else part}]"
        else:
            text += f".{part}" if text else part
    return text


# --- what the API server and the controllers do with the change -------------------------------------------------------


def _delay(workload: Workload) -> str:
    """Return why a changed template replaces no running pod; empty if the controller rolls it out."""
    if workload.kind == "CronJob":
        return "the next run uses the new template"
    if workload.kind == "Pod":
        return "the pod keeps its node"
    if workload.kind not in ROLLED_OUT:
        return "only new pods use the new template"
    if workload.suspended:
        return "paused: nothing is rolled out"
    return "OnDelete: pods are replaced when somebody deletes them" if workload.strategy.type == "OnDelete" else ""


def _fixed(workload: Workload, others: Sequence[FieldChange], template: Sequence[FieldChange]) -> Iterator[FieldChange]:
    """Yield the changes that the API server refuses, so that the object has to be created anew.

    Mirrors ``pkg/apis/apps/validation``, ``pkg/apis/batch/validation`` and ``pkg/apis/core/validation`` (v1.36).
    """
    spec = [change for change in others if change.path[:1] == ("spec",) and len(change.path) > 1]
    match workload.kind:
        case "Deployment" | "DaemonSet" | "ReplicaSet":
            yield from (change for change in spec if change.path[1] == "selector")
        case "StatefulSet":
            yield from (change for change in spec if change.path[1] not in _STATEFULSET_MAY_CHANGE)
        case "Job":
            yield from template if not workload.suspended else ()
            yield from (change for change in spec if change.path[1] in _JOB_IS_FIXED)
        case "Pod":
            yield from (change for change in spec if not _POD_MAY_CHANGE.intersection(map(str, change.path)))
