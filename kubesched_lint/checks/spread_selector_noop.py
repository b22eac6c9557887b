"""A spread constraint without a selector counts no pod, so it balances nothing."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.placement import own_selector
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.remedies.rollouts import count_revisions_apart
from kubesched_lint.findings import Hazard, Severity, pattern
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    for constraint in it.workload.pod.spread:
        if constraint.selector is not None and not constraint.selector.is_empty:
            continue
        if constraint.selector is not None and constraint.match_label_keys:
            continue  # the keys become requirements, so pods count
        null = constraint.selector is None
        is_harmless = it.replicas <= 1 and it.autoscaler is None and not constraint.is_hard  # one pod needs no balance
        yield Hazard(
            at=constraint.path if null else (*constraint.path, "labelSelector"),
            evidence=pattern("labelSelector is absent" if null else "labelSelector is empty"),
            severity=Severity.NOTE if is_harmless else None,
            values={"key": constraint.topology_key, "what": "no labelSelector" if null else "an empty labelSelector"},
            cause=f"{constraint.topology_key} {null}",
            variant="hard" if constraint.is_hard else "soft",
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Count the pods of the workload."""
    selector = own_selector(it.workload)
    constraint = next((c for c in it.workload.pod.spread if hazard.at[: len(c.path)] == c.path), None)
    if selector is None or constraint is None:
        return
    at = (*constraint.path, "labelSelector")
    select: tuple[Put, ...] = (Put(at, selector),)
    if constraint.selector is not None:  # it is present but empty
        select = tuple(Put((*at, key), value) for key, value in selector.items())
    changes = (*select, *count_revisions_apart(it.workload, constraint.path))
    yield Remedy("select the pods of the workload", safe=False, changes=changes)
