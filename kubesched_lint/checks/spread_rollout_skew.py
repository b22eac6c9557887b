"""During a rolling update old and new pods count together, so the new pods may be uneven at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from kubesched_lint.analysis.remedies.rollouts import count_by_revision
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._limits import MOST_NODES, MOST_WORKLOADS
from kubesched_lint.findings import Evidence, Hazard, ObjectRef, Severity, pattern, witness
from kubesched_lint.model.node import HOSTNAME
from kubesched_lint.model.pod import SpreadConstraint
from kubesched_lint.model.workload import Workload
from kubesched_lint.world.pod_labels import revision_label
from kubesched_lint.world.world import Member, World, once_per_world

if TYPE_CHECKING:
    from kubesched_lint.lifecycle.skew import Skew

_VERSION_WORDS = ("version", "revision", "release-id", "build", "commit", "sha", "hash", "tag", "rev")
_RUNS = 5
_REPLACED_IN_STEPS = 10
"""Replicas that a rollout surely replaces in several steps: real clusters end uneven although a simulation does not."""


def check(it: Member) -> Iterator[Hazard]:
    if it.workload.kind != "Deployment" or it.workload.strategy.type != "RollingUpdate" or it.workload.replicas < 2:
        return
    rollouts: Sequence[Skew] | None = None
    for constraint in it.workload.pod.spread:
        selector = constraint.selector
        if selector is None or not constraint.topology_key or not selector.matches(it.pod.labels):
            continue
        if selector.is_empty and not constraint.match_label_keys:
            continue
        if revision_label(it.workload) in constraint.match_label_keys or version_label(it.workload, constraint):
            continue
        if rollouts is None and constraint.topology_key != HOSTNAME:
            rollouts = _rollouts(it)
        evidence = _evidence(it, constraint, rollouts or ())
        is_mild = evidence.kind == "pattern" and (not constraint.is_hard or _ends_even(it, constraint, rollouts or ()))
        yield Hazard(
            at=constraint.path,
            evidence=evidence,
            values={"key": constraint.topology_key, "skew": constraint.max_skew},
            severity=Severity.NOTE if is_mild else None,
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Balance each revision separately."""
    yield from count_by_revision(it.workload, hazard.at)


def _rollouts(it: Member) -> Sequence[Skew]:
    """Skews after some rollouts, simulated with the exact scheduler and controller; empty if that is not possible."""
    if it.workload.suspended or it.world.cluster is None or len(it.world.index) > MOST_NODES:
        return ()
    from kubesched_lint.analysis.setting import setting_of  # the simulation, for which few sets ask
    from kubesched_lint.lifecycle.limits import MOST_PODS
    from kubesched_lint.lifecycle.skew import skews

    if it.replicas > MOST_PODS:
        return ()
    world = it.world
    if len(world.manifests.workloads) > MOST_WORKLOADS:
        if it.workload.ref not in _simulated_alone(world):
            return ()
        world = world.with_workloads((it.workload,))
    setting = setting_of(world)
    number = next(i for i, w in enumerate(setting.workloads) if w.ref == it.workload.ref)
    if setting.workloads[number].replicas > MOST_PODS:
        return ()
    return tuple(skews(setting, number, runs=_RUNS, only="rollout"))


@once_per_world
def _simulated_alone(world: World) -> frozenset[ObjectRef]:
    """The first workloads of a large set whose severity depends on a simulation."""
    open_ones = (w for w in world.manifests.workloads if w.kind == "Deployment" and _is_open(w))
    return frozenset(workload.ref for workload in islice(open_ones, MOST_WORKLOADS // 2))


def _is_open(workload: Workload) -> bool:
    return 2 < workload.replicas < _REPLACED_IN_STEPS and any(c.topology_key != HOSTNAME for c in workload.pod.spread)


def _ends_even(it: Member, constraint: SpreadConstraint, rollouts: Sequence[Skew]) -> bool:
    """Whether nothing suggests an uneven end: few replicas that no simulated rollout left uneven, or just two."""
    if it.workload.replicas >= _REPLACED_IN_STEPS:
        return False
    # Skews over nodes are not simulated: few replicas rarely fill them.
    return it.workload.replicas <= 2 or bool(rollouts) or constraint.topology_key == HOSTNAME


def _evidence(it: Member, constraint: SpreadConstraint, rollouts: Sequence[Skew]) -> Evidence:
    text = f"the selector {constraint.selector} matches the old revision and the new one alike"
    for skew in rollouts:
        if skew.topology_key == constraint.topology_key and skew.worst > constraint.max_skew:
            ends = ", ".join("/".join(map(str, counts)) for counts, _ in skew.ends[:3])
            domains = "/".join(skew.domains)
            return witness(
                f"after {_RUNS} simulated rollouts {domains} hold for example {ends}: a skew of up to {skew.worst}",
                trace=(f"{it.workload} is deployed and rolled out once", f"its pods end at {ends} in {domains}"),
            )
    return pattern(text)


def bumped_by_hand(workload: Workload) -> Iterator[tuple[SpreadConstraint, str]]:
    """Yield each constraint that tells revisions apart by a version label which no controller changes."""
    for constraint in workload.pod.spread:
        label = version_label(workload, constraint)
        if label is not None and revision_label(workload) not in constraint.match_label_keys:
            yield constraint, label


def version_label(workload: Workload, constraint: SpreadConstraint) -> str | None:
    """A label that distinguishes revisions: the constraint selects it, but the Deployment's own selector does not."""
    pinned = {r.key for r in workload.selector.requirements} if workload.selector else set()
    selected = [r.key for r in constraint.selector.requirements] if constraint.selector else []
    for key in (*selected, *constraint.match_label_keys):
        if key not in pinned and any(word in key.lower() for word in _VERSION_WORDS):
            return key
    return None
