"""A pool could make the nodes, but its limits forbid it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.model.nodes.node import NodePool
from kubesched_lint.engine.model.policy import Autoscaler
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.growth.growth import growth_plan
from kubesched_lint.engine.placing.growth.plan import LIMITED, Plan, Verdict
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.findings import Evidence, Hazard, Place, witness


def check(scenario: Scenario) -> Iterator[Hazard]:
    plan = growth_plan(scenario)
    if plan.skipped:
        raise UncheckedError(plan.skipped)
    limited = [verdict for verdict in plan.verdicts if verdict.kind == LIMITED]
    for verdict in limited:
        yield _hazard(scenario, verdict, verdict.workload, plan)
    if any(pool.limits for pool in scenario.pools):
        known = {verdict.workload.ref for verdict in limited}
        for workload in scenario.manifests.workloads:
            if workload.ref not in known:
                yield from _at_maximum(scenario, workload)


def _at_maximum(scenario: Scenario, workload: Workload) -> Iterator[Hazard]:
    """Yield the hazard of a workload that reaches the limit only at the maximum of its autoscaler."""
    scaler = scenario.member(workload).autoscaler
    if scaler is None or not 0 < scenario.member(workload).replicas < scaler.max_replicas:
        return
    full = replace(scaler, min_replicas=scaler.max_replicas)
    others = tuple(a for a in scenario.manifests.autoscalers if a is not scaler)
    plan = growth_plan(scenario.with_manifests(replace(scenario.manifests, autoscalers=(*others, full))))
    verdict = plan.of(workload)
    if verdict is not None and verdict.kind == LIMITED:
        yield _hazard(scenario, verdict, workload, plan, scaler)


def _hazard(
    scenario: Scenario, verdict: Verdict, workload: Workload, plan: Plan, scaler: Autoscaler | None = None
) -> Hazard:
    limited = [pool for pool in scenario.pools if pool.name in verdict.limited]
    places = [Place((*pool.path, "limits"), f"pool {pool.name}", pool.source) for pool in limited if pool.source]
    if scaler is not None and scaler.source is not None:
        places.append(Place(scaler.path, "the maximum", scaler.source))
    return Hazard(
        at=workload.replicas_path if scaler is None else ("metadata", "name"),
        source=workload.source,
        victim=workload.ref,
        evidence=replace(_evidence(verdict, plan, limited), event="deploy" if scaler is None else "hpa-max"),
        values={
            "object": str(workload),
            "pending": verdict.left,
            "wanted": verdict.wanted,
            "pools": verdict.limited,
            "limits": tuple(map(_limits, limited)),
            "added": tuple(map(str, verdict.added)),
        },
        related=tuple(places),
        variant="default" if scaler is None else "maximum",
    )


def _evidence(verdict: Verdict, plan: Plan, limited: Sequence[NodePool]) -> Evidence:
    return witness(
        f"{verdict.wanted} pods > {verdict.wanted - verdict.left} placed",
        trace=(
            f"{verdict.today} of {verdict.wanted} pods of {verdict.workload} are placed on the nodes of today",
            f"{verdict.grown} on new nodes: {', '.join(map(str, plan.added)) or 'none can be added'}",
            f"for the next one {' and '.join(map(_limits, limited))} would help, but for the limits",
        ),
    )


def _limits(pool: NodePool) -> str:
    return f"{pool.name} ({', '.join(f'{name} {show(name, amount)}' for name, amount in pool.limits.items())})"
