"""A HorizontalPodAutoscaler or ScaledObject whose target does not exist scales nothing, and only its status says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubesched_lint.engine.admission.reach import is_in_reach
from kubesched_lint.engine.base.places import ObjectRef, Path, Source
from kubesched_lint.engine.model.policy import Autoscaler
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.near_misses.nearest import correction, hint, nearest_class
from kubesched_lint.explaining.remedies.remedy import Remedy, written_at
from kubesched_lint.findings import Hazard, Severity, pattern
from kubesched_lint.sources.manifests.changes import Put
from kubesched_lint.sources.manifests.document import Document

_SCALABLE = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")
"""The kinds with replicas whose objects the linter reads; other kinds may exist in any cluster."""
_ENDINGS = ("-hpa", "-autoscaler", "-horizontalpodautoscaler")
_TARGET: Path = ("spec", "scaleTargetRef")


def check(scenario: Scenario) -> Iterator[Hazard]:
    live = () if scenario.cluster is None else scenario.cluster.inventory.workloads
    ours = [w for w in scenario.manifests.workloads if w.kind in _SCALABLE]
    existing = {w.ref for w in (*ours, *live)}
    named: dict[str, list[Workload]] = {}
    for workload in ours:
        named.setdefault(workload.name, []).append(workload)
    names: dict[tuple[str, str], list[str]] = {}
    for ref in existing:
        names.setdefault((ref.kind, ref.namespace), []).append(ref.name)
    for scaler in scenario.manifests.autoscalers:
        if scaler.target in existing or scaler.target.kind not in _SCALABLE or _is_unrendered(scaler.source):
            continue
        is_known = scenario.cluster_has(scaler.target.kind) and scenario.premises.set_is_complete
        meant = _meant(scaler, named, names.get((scaler.target.kind, scaler.namespace), ()), scenario)
        if meant is not None or is_known or (scenario.premises.set_is_complete and any(_near(scaler, ours))):
            yield _hazard(scaler, meant, is_known=is_known)


def fix(hazard: Hazard, source: Source, scenario: Scenario) -> Iterator[Remedy]:
    """Name the workload that is meant; never safe, because its replicas change then."""
    meant = hazard.values["meant"]
    if isinstance(meant, ObjectRef) and hazard.at[:2] == _TARGET:
        changes = (Put((*_TARGET, "kind"), meant.kind), Put((*_TARGET, "name"), meant.name))
        yield Remedy(f"scale {meant.kind} {meant.name}", safe=False, changes=changes)


def _is_unrendered(source: Source | None) -> bool:
    return isinstance(source, Document) and source.unrendered


def _near(scaler: Autoscaler, workloads: Iterable[Workload]) -> Iterator[ObjectRef]:
    """Yield the workloads that a user applies together with the autoscaler."""
    return (w.ref for w in workloads if is_in_reach(scaler.source, w.source, around=False))


def _meant(
    scaler: Autoscaler, named: Mapping[str, Sequence[Workload]], names: Iterable[str], scenario: Scenario
) -> ObjectRef | None:
    """The workload with that name and another kind, almost that name, the autoscaler's name, or another namespace.

    ``named``: the set's workloads by name; ``names``: those that exist, of the same kind and namespace.
    """
    kind, namespace = scaler.target.kind, scaler.namespace
    called = list(_near(scaler, named.get(scaler.target.name, ())))
    if other := next((ref for ref in called if ref.namespace == namespace), None):
        return other
    if name := nearest_class(scenario, kind, scaler.target.name, names):
        return ObjectRef(kind, namespace, name)
    own = next((scaler.name.removesuffix(e) for e in _ENDINGS if scaler.name.endswith(e)), scaler.name)
    same = (ref for ref in _near(scaler, named.get(own, ())) if ref.namespace == namespace)
    return next(same, None) or next((ref for ref in called if ref.kind == kind), None)


def _hazard(scaler: Autoscaler, meant: ObjectRef | None, *, is_known: bool) -> Hazard:
    target = scaler.target
    words = "" if meant is None else f"{meant.kind} {meant.name}"
    at: Path = (*_TARGET, "name")
    if meant is not None and meant.namespace != scaler.namespace:
        words, at = f"{words} in namespace {meant.namespace}", ("metadata", "namespace")
    elif meant is not None and meant.kind != target.kind and written_at(scaler.source, (*_TARGET, "kind")) is not None:
        at = (*_TARGET, "kind")  # a ScaledObject need not write it
    is_certain = is_known or (meant is not None and written_at(scaler.source, at) is not None)
    return Hazard(
        at=at,
        source=scaler.source,
        victim=scaler.ref,
        severity=None if is_certain else Severity.NOTE,
        evidence=pattern(f"0 {target.kind}s in namespace {scaler.namespace} have the name {target.name}"),
        values={
            "target": f"{target.kind} {target.name}",
            "nearest": hint(words, "there is "),
            "correction": correction(words),
            "meant": meant,
        },
        variant="default" if is_known else "likely" if is_certain else "elsewhere",
    )
