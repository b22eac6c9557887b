"""Disruption budgets that refuse every eviction today, and pods that a drain cannot make again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.commands.audit.found import DRAINS, FACT, Found
from kubesched_lint.commands.audit.now import Now, place_in
from kubesched_lint.controllers.bounds import covers
from kubesched_lint.findings import ObjectRef, Severity
from kubesched_lint.linter.running_set import Running
from kubesched_lint.model.pod import BoundPod
from kubesched_lint.model.policy import DisruptionBudget
from kubesched_lint.scheduler.preemption import allowed_disruptions
from kubesched_lint.text import first_few, many, plural

_MOST_NAMED = 3


def blocking(now: Now) -> Iterator[Found]:
    """Yield budgets that allow no eviction today although they cover running pods, then bare pods."""
    by_namespace: dict[str, list[BoundPod]] = {}
    for bound in now.cluster.inventory.pods:
        by_namespace.setdefault(bound.namespace, []).append(bound)
    for budget in now.running.inventory.budgets:
        covered = [b for b in by_namespace.get(budget.namespace, ()) if covers(budget, budget.namespace, b.pod.labels)]
        running = [b for b in covered if b.node and not b.terminating]
        if running and not allowed_disruptions(budget, covered):
            yield _of(budget, running, covered)
    yield from _bare(now)


def _of(budget: DisruptionBudget, running: Sequence[BoundPod], covered: Sequence[BoundPod]) -> Found:
    ref = ObjectRef("PodDisruptionBudget", budget.namespace, budget.name)
    nodes = list(dict.fromkeys(bound.node for bound in running))
    unready = sum(1 for bound in covered if not (bound.node and bound.ready))
    wait = f", and {unready:,} of its {len(covered):,} pods {plural(unready, 'is', 'are')} not ready" if unready else ""
    count = len(running)
    stay = f"{many(count, 'pod')} {plural(count, 'stays', 'stay')} where {plural(count, 'it is', 'they are')}"
    text = f"{ref} allows no eviction today ({budget.bound}{wait}): {stay}"
    on = f"kubectl drain does not end on {many(len(nodes), 'node')}: {first_few(nodes, _MOST_NAMED)}"
    return Found(
        DRAINS,
        Severity.WARNING,
        ref,
        text,
        place_in(budget.source or Running(ref), budget.path),
        FACT,
        len(running),
        (("note", on),),
    )


def _bare(now: Now) -> Iterator[Found]:
    bare = [b for b in now.cluster.inventory.pods if b.owner is None and b.node and not b.terminating]
    if bare:
        names = [f"{b.namespace}/{b.name}" for b in bare]
        first = ObjectRef("Pod", bare[0].namespace, bare[0].name)
        have = f"{many(len(bare), 'pod')} {plural(len(bare), 'has', 'have')} no controller"
        text = f"{have}: {first_few(names, _MOST_NAMED)}"
        them = plural(len(bare), "it", "them")
        what = ("note", f"kubectl drain stops at {them} without --force, and with --force nobody makes {them} again")
        yield Found(DRAINS, Severity.NOTE, first, text, evidence=FACT, pods=len(bare), details=(what,))
