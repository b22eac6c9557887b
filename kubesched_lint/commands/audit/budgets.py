"""Disruption budgets that refuse every eviction today, and pods that a drain cannot make again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.commands.audit.findings import DRAINS, FACT, AuditFinding
from kubesched_lint.commands.audit.running_cluster import RunningCluster, place_in, pods_of, ref_of
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import first_few, many, plural
from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.cluster.selecting.labelled import PodIndex
from kubesched_lint.engine.controllers.bounds import lets_unready_go
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.scheduler.preemption.preemption import allowed_disruptions
from kubesched_lint.findings import Severity
from kubesched_lint.linter.reading.running_set import Running


def blocking(now: RunningCluster) -> Iterator[AuditFinding]:
    """Yield budgets that allow no eviction today although they cover running pods, then pods that drains wait for."""
    for budget, covered in _covered(now, now.running.inventory.budgets):
        kept = [b for b in covered if b.node and not b.terminating and not b.outlasts_drains]
        kept = [b for b in kept if b.ready or not _lets_unready_go(budget, covered)]
        if kept and not allowed_disruptions(budget, covered):
            yield _of(budget, kept, covered)
    yield from _held(now)
    yield from _bare(now)


def unknown_budgets(now: RunningCluster) -> Iterator[str]:
    """Yield the budgets of which nobody knows whether they allow any eviction."""
    for budget, covered in _covered(now, [b for b in now.running.inventory.budgets if b.may_fail("")]):
        owners = {str(ref_of(b, None)) for b in covered if b.owner is not None and budget.may_fail(b.owner.kind)}
        if owners:
            names = first_few(sorted(owners))
            ref = ObjectRef("PodDisruptionBudget", budget.namespace, budget.name)
            yield f"whether {ref} ({budget.bound}) allows any eviction: it needs the scale subresource of {names}"


def _covered(
    now: RunningCluster, budgets: Sequence[DisruptionBudget]
) -> Iterator[tuple[DisruptionBudget, Sequence[BoundPod]]]:
    names = {budget.namespace for budget in budgets}
    pods = [bound for bound in now.cluster.inventory.pods if bound.namespace in names]
    index = PodIndex(bound.pod for bound in pods)
    for budget in budgets:
        chosen = index.selected_by(budget.selector) & index.in_namespace(budget.namespace)
        yield budget, [pods[at] for at in positions(chosen)]


def _lets_unready_go(budget: DisruptionBudget, covered: Sequence[BoundPod]) -> bool:
    scales = ((b.owner.kind if b.owner is not None else "Pod", 1) for b in covered)
    healthy = sum(b.ready and bool(b.node) and not b.terminating for b in covered)
    return lets_unready_go(budget, budget.expected(len(covered), scales), healthy)


def _of(budget: DisruptionBudget, running: Sequence[BoundPod], covered: Sequence[BoundPod]) -> AuditFinding:
    ref = ObjectRef("PodDisruptionBudget", budget.namespace, budget.name)
    nodes = list(dict.fromkeys(bound.node for bound in running))
    unready = sum(1 for bound in covered if not (bound.node and bound.ready))
    wait = f", and {unready:,} of its {len(covered):,} pods {plural(unready, 'is', 'are')} not ready" if unready else ""
    count = len(running)
    stay = f"{many(count, 'pod')} {plural(count, 'stays', 'stay')} where {plural(count, 'it is', 'they are')}"
    text = f"{ref} allows no eviction today ({budget.bound}{wait}): {stay}"
    on = f"kubectl drain does not end on {many(len(nodes), 'node')}: {first_few(nodes)}"
    return AuditFinding(
        DRAINS,
        Severity.WARNING,
        ref,
        text,
        place_in(budget.source or Running(ref), budget.path),
        FACT,
        len(running),
        (("note", on),),
    )


def _held(now: RunningCluster) -> Iterator[AuditFinding]:
    """Yield the pods that terminate until somebody removes their finalizers."""
    by_owner: dict[ObjectRef, list[BoundPod]] = {}
    for bound in now.cluster.inventory.pods:
        if bound.node and bound.kept_by_finalizers and not bound.outlasts_drains:
            by_owner.setdefault(ref_of(bound, now.cluster.running.workload_of(bound)), []).append(bound)
    for ref, held in by_owner.items():
        count = len(held)
        text = f"{pods_of(ref, count)} {plural(count, 'terminates', 'terminate')}, and a finalizer keeps "
        text += plural(count, "it", "them")
        on = f"kubectl drain waits for {plural(count, 'it', 'them')} on {first_few([b.node for b in held])}"
        yield AuditFinding(DRAINS, Severity.WARNING, ref, text, evidence=FACT, pods=count, details=(("note", on),))


def _bare(now: RunningCluster) -> Iterator[AuditFinding]:
    bare = [b for b in now.cluster.inventory.pods if b.owner is None and b.node and not b.terminating]
    if bare:
        names = [f"{b.namespace}/{b.name}" for b in bare]
        first = ObjectRef("Pod", bare[0].namespace, bare[0].name)
        have = f"{many(len(bare), 'pod')} {plural(len(bare), 'has', 'have')} no controller"
        text = f"{have}: {first_few(names)}"
        whom = plural(len(bare), "it", "them")
        what = ("note", f"kubectl drain stops at {whom} without --force, and with --force nobody makes {whom} again")
        yield AuditFinding(DRAINS, Severity.NOTE, first, text, evidence=FACT, pods=len(bare), details=(what,))
