"""During a rolling update old and new pods count together, so the new pods may be uneven at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kubesched_lint.engine.model.nodes.node import HOSTNAME, domain_word
from kubesched_lint.engine.model.pod import SpreadConstraint
from kubesched_lint.engine.scenario.pods.pod_labels import revision_label
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.remedies.rollouts import count_by_revision
from kubesched_lint.explaining.spreading.limits import MOST_AT_ONCE
from kubesched_lint.explaining.spreading.version_labels import version_label
from kubesched_lint.findings import Evidence, Hazard, Severity, pattern, witness

if TYPE_CHECKING:
    from kubesched_lint.engine.runs.skew import Skew


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
        evidence = _evidence(constraint, rollouts or ())
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
    """The skews after simulated rollouts: the gate of the simulation, which no set without a cluster needs."""
    if it.scenario.cluster is None:
        return ()
    from kubesched_lint.explaining.spreading.skews import rollouts_of

    return rollouts_of(it)


def _ends_even(it: Member, constraint: SpreadConstraint, rollouts: Sequence[Skew]) -> bool:
    """Whether nothing suggests an uneven end: few replicas that no simulated rollout left uneven, or just two."""
    if it.workload.replicas >= MOST_AT_ONCE:
        return False
    # Skews over nodes are not simulated: few replicas rarely fill them.
    return it.workload.replicas <= 2 or bool(rollouts) or constraint.topology_key == HOSTNAME


def _evidence(constraint: SpreadConstraint, rollouts: Sequence[Skew]) -> Evidence:
    text = f"the selector {constraint.selector} matches the old revision and the new one alike"
    for skew in rollouts:
        if skew.topology_key == constraint.topology_key and skew.worst > constraint.max_skew:
            ends = ", ".join("/".join(map(str, counts)) for counts, _ in skew.ends[:3])
            word, domains = domain_word(skew.topology_key, 1), "/".join(skew.domains)
            return witness(f"pods per {word} after {skew.runs} simulated rollouts, for example: {ends} ({domains})")
    return pattern(text)
