"""In every trial with the scheduler's own filters and scores, some pods of the set find no node."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.joint import contradictions
from kubesched_lint.analysis.trial import SEEDS, waiting_everywhere
from kubesched_lint.analysis.wanted import pods_of_the_set
from kubesched_lint.findings import Hazard, UncheckedError, witness
from kubesched_lint.hints import TYPE_CHECKING
from kubesched_lint.model.workload import Workload
from kubesched_lint.world.claims import class_without_volumes
from kubesched_lint.world.devices import devices_unknown, needs_devices
from kubesched_lint.world.world import World

if TYPE_CHECKING:
    from kubesched_lint.analysis.plan import Verdict


def check(world: World, *, most_pods: int) -> Iterator[Hazard]:
    now = world.without_pools
    wanted = pods_of_the_set(now)
    if wanted > most_pods:
        raise UncheckedError(f"tries out at most {most_pods:,} pods (param most_pods); these manifests make {wanted:,}")
    if now.index.unknown_resources:
        raise UncheckedError("needs the resources of every node (allocatable)")
    if not wanted:
        return
    reported = {id(demand.workload) for found in contradictions(now) for demand in found.demands}
    for waiting in waiting_everywhere(now):
        workload, ref = waiting.workload, waiting.workload.ref
        if id(workload) in reported and not world.pools:
            continue  # set-does-not-fit reports it: the order decides which one waits
        if world.pools and needs_devices(workload.pod, world) and devices_unknown(world):
            continue  # nobody knows the devices of the nodes that the pools could add
        verdict = _planned(workload, world) if world.pools else None
        pending = waiting.fewest if verdict is None else min(waiting.fewest, verdict.left)
        if not pending:
            continue  # the pools add nodes for them
        message = waiting.message if verdict is None else verdict.message or waiting.message
        placed = waiting.wanted - pending
        yield Hazard(
            at=workload.replicas_path if workload.kind != "DaemonSet" else ("metadata", "name"),
            source=workload.source,
            victim=workload.ref,
            evidence=witness(
                f"in {len(SEEDS)} of {len(SEEDS)} trials pods were left over",
                trace=(
                    f"the set is deployed in {world.premises.apply_order} order",
                    f"{placed} of {waiting.wanted} pods of {workload} are placed",
                    f"the next one: {message}",
                ),
            ),
            values={
                "object": str(workload),
                "name": f"{ref.kind.lower()}/{ref.namespace}/{ref.name}{_replica(workload, placed)}",
                "pending": pending,
                "wanted": waiting.wanted,
                "reason": (message.partition(": ")[2].partition(". ")[0] or message).rstrip("."),
                "pools": tuple(pool.name for pool in world.pools),
            },
            variant="pools" if verdict is not None else "default",
            cause=class_without_volumes(now.member(workload), message),
        )


def _planned(workload: Workload, world: World) -> Verdict | None:
    """Return what the pools add for a workload."""
    from kubesched_lint.analysis.growth import growth_plan  # most clusters have no pools

    return growth_plan(world).of(workload)


def _replica(workload: Workload, placed: int) -> str:
    """The option of ``why`` for the first waiting pod."""
    return f" --replica {placed + 1}" if placed and workload.kind != "DaemonSet" else ""
