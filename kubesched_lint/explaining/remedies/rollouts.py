"""Remedies for rollouts that do not end: who goes first, and which revisions count."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.pods.pod_labels import revision_label
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy, written_at
from kubesched_lint.sources.manifests.changes import Append, Change, Put, Remove

_BEFORE_TEMPLATE = ("replicas", "selector", "revisionHistoryLimit", "minReadySeconds")


def roll_without_surge(it: Member) -> Remedy:
    """Delete an old pod before its successor comes. Safe if some replica stays and the manifest does not need all."""
    at = (*it.workload.strategy.path, "rollingUpdate")
    scaler = it.autoscaler
    least = it.workload.replicas if scaler is None else scaler.min_replicas
    none_may_go = written_at(it.workload.source, (*at, "maxUnavailable")) in (0, "0", "0%")
    return Remedy(
        "set maxSurge: 0 and maxUnavailable: 1; then an old pod makes room",
        safe=it.workload.kind == "Deployment" and least > 1 and not none_may_go,
        changes=(
            Put((*at, "maxSurge"), 0, after=_BEFORE_TEMPLATE),
            Put((*at, "maxUnavailable"), 1, after=_BEFORE_TEMPLATE),
        ),
        source=it.workload.source,
    )


def use_recreate(workload: Workload) -> Remedy:
    """Delete all old pods before new ones come, and drop ``rollingUpdate``. Never safe: none runs then."""
    at = workload.strategy.path
    has_bounds = written_at(workload.source, (*at, "rollingUpdate")) is not None
    change = Put((*at, "type"), "Recreate", after=_BEFORE_TEMPLATE)
    return Remedy(
        "use strategy type Recreate, so that the old pod lets go of the claim first",
        safe=False,
        changes=(change, Remove((*at, "rollingUpdate"))) if has_bounds else (change,),
    )


def count_by_revision(workload: Workload, term: Path) -> Iterator[Remedy]:
    """Let the spread constraint or (anti-)affinity term at ``term`` count each revision separately.

    Nothing for a custom resource whose card names no label of a revision.
    """
    if label := revision_label(workload):
        title = f"add matchLabelKeys: [{label}], so that each revision counts by itself"
        yield Remedy(title, safe=True, changes=(Append((*term, "matchLabelKeys"), label, after=("labelSelector",)),))


def count_revisions_apart(workload: Workload, at: Path) -> tuple[Change, ...]:
    """Return changes that keep a rollout even after the constraint at ``at`` counts the pods of a Deployment."""
    has_keys = any(c.path == at and c.match_label_keys for c in workload.pod.spread)
    label = revision_label(workload)
    if workload.kind != "Deployment" or has_keys or not label:
        return ()
    return (Append((*at, "matchLabelKeys"), label, after=("labelSelector",)),)
