"""How far a rolling update may go above and below its replicas."""

from __future__ import annotations

from kubesched_lint.controllers.bounds import rolling_bounds
from kubesched_lint.model.labels import Selector
from kubesched_lint.model.pod import PodAffinityTerm
from kubesched_lint.model.workload import Workload
from kubesched_lint.world.world import Member

OLD_PODS = "the old pods stand on nodes that the new ones may use as well"
"""Premise of every proof about a rollout: a change that also moves the workload may find room elsewhere."""
_REVISION_LABELS = frozenset({"pod-template-hash", "controller-revision-hash"})


def fenceposts(workload: Workload, replicas: int) -> tuple[int, int]:
    """``(surge, unavailable)`` in pods, as the Deployment controller resolves them for this many replicas."""
    return rolling_bounds(workload.strategy, replicas)


def repels_across_revisions(it: Member, term: PodAffinityTerm) -> bool:
    """Whether an old pod repels a new one: not when the term, as written, holds for one revision only."""
    pinned = {r.key for r in it.workload.selector.requirements} if it.workload.selector else set()
    apart = {*term.mismatch_label_keys, *(key for key in term.match_label_keys if key not in pinned)}
    if apart & (_REVISION_LABELS | it.workload.pod.labels.keys()):
        return False
    return selects_every_revision(it.workload, term.selector) and it.repels_itself(term)


def selects_every_revision(workload: Workload, selector: Selector | None) -> bool:
    """Whether a selector looks only at labels that no change of the template may touch."""
    pinned = {r.key for r in workload.selector.requirements} if workload.selector else set()
    return selector is not None and {r.key for r in selector.requirements} <= pinned
