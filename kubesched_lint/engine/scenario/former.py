"""The workloads before a change: which of them a workload was, and whether applying it starts a rollout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kubesched_lint.engine.base.places import Manifest, ObjectRef, Path
from kubesched_lint.engine.cluster.pods.template import changed_fields
from kubesched_lint.engine.model.workloads.workload import Workload, written_template
from kubesched_lint.engine.scenario.scenario import once_per_scenario

if TYPE_CHECKING:
    from kubesched_lint.engine.scenario.scenario import Member, Scenario


def former(it: Member) -> Workload | None:
    """Return the workload as it was before the change; None if it is new, or compared with nothing."""
    return _former(it.workload, _by_ref_of(it.scenario))


def maximum_is_raised(it: Member) -> bool:
    """Return whether the change raises the maximum of the workload's autoscaler, or brings the autoscaler."""
    before, scaler = it.scenario.premises.before, it.autoscaler
    if before is None or scaler is None or former(it) is None:
        return False
    ours = (each for each in before.autoscalers if (each.namespace, each.target) == (scaler.namespace, scaler.target))
    return scaler.max_replicas > max((each.max_replicas for each in ours), default=0)


def template_changes(applied: Workload, other: Workload) -> Iterator[Path]:
    """Yield the path of each value of the template that makes a new revision if one is applied over the other."""
    ours, theirs = applied.source, other.source
    if isinstance(ours, Manifest) and isinstance(theirs, Manifest) and ours.is_same_text(theirs):
        return
    yield from changed_fields(written_template(applied), written_template(other), other.pod.path[:-1])


def template_differs(applied: Workload, other: Workload) -> bool:
    """Return whether applying one over the other makes a new revision."""
    return any(True for _ in template_changes(applied, other))


def rolled_out(after: Iterable[Workload], before: Iterable[Workload]) -> frozenset[ObjectRef]:
    """Return the workloads whose template differs from the one before the change; new ones are not among them."""
    known = _by_ref(before)
    pairs = ((workload, _former(workload, known)) for workload in after)
    return frozenset(
        workload.ref for workload, other in pairs if other is not None and template_differs(other, workload)
    )


@once_per_scenario
def _by_ref_of(scenario: Scenario) -> Mapping[ObjectRef, Sequence[Workload]]:
    before = scenario.premises.before
    return _by_ref(before.workloads if before is not None else ())


def _by_ref(workloads: Iterable[Workload]) -> Mapping[ObjectRef, Sequence[Workload]]:
    by_ref: dict[ObjectRef, list[Workload]] = {}
    for workload in workloads:
        by_ref.setdefault(workload.ref, []).append(workload)
    return by_ref


def _former(workload: Workload, before: Mapping[ObjectRef, Sequence[Workload]]) -> Workload | None:
    """Return the definition in the same file, if several files define the object; else one with this template."""
    candidates = before.get(workload.ref, ())
    if len(candidates) < 2:
        return next(iter(candidates), None)
    path = getattr(workload.source, "path", "")
    same = next((candidate for candidate in candidates if getattr(candidate.source, "path", None) == path), None)
    return same or next(
        (candidate for candidate in candidates if not template_differs(candidate, workload)), candidates[0]
    )
