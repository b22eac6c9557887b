"""A pool could make the nodes, but its limits forbid it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.growth import growth_plan
from kubesched_lint.analysis.plan import LIMITED
from kubesched_lint.findings import Hazard, Place, UncheckedError, witness
from kubesched_lint.model.node import NodePool
from kubesched_lint.model.quantity import show
from kubesched_lint.world.world import World


def check(world: World) -> Iterator[Hazard]:
    plan = growth_plan(world)
    if plan.skipped:
        raise UncheckedError(plan.skipped)
    pools = {pool.name: pool for pool in world.pools}
    for verdict in plan.verdicts:
        if verdict.kind != LIMITED:
            continue
        workload = verdict.workload
        limited = [pools[name] for name in verdict.limited]
        yield Hazard(
            at=workload.replicas_path,
            source=workload.source,
            victim=workload.ref,
            evidence=witness(
                f"{verdict.wanted} pods > {verdict.wanted - verdict.left} placed",
                trace=(
                    f"{verdict.today} of {verdict.wanted} pods of {workload} are placed on the nodes of today",
                    f"{verdict.grown} on new nodes: {', '.join(map(str, plan.added)) or 'none can be added'}",
                    f"for the next one {' and '.join(map(_limits, limited))} would help, but for the limits",
                ),
            ),
            values={
                "object": str(workload),
                "pending": verdict.left,
                "wanted": verdict.wanted,
                "pools": verdict.limited,
                "limits": tuple(map(_limits, limited)),
                "added": tuple(map(str, verdict.added)),
            },
            related=tuple(
                Place((*pool.path, "limits"), f"pool {pool.name}", pool.source) for pool in limited if pool.source
            ),
        )


def _limits(pool: NodePool) -> str:
    return f"{pool.name} ({', '.join(f'{name} {show(name, amount)}' for name, amount in pool.limits.items())})"
