"""Placed by the scheduler's own filters and scores, some pods of the set are left without a node every time."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.trial import SEEDS, pods_wanted, waiting_everywhere
from kubesched_lint.findings import Hazard, UncheckedError, witness


def check(facts: Facts, *, most_pods: int) -> Iterator[Hazard]:
    wanted = pods_wanted(facts)
    if wanted > most_pods:
        raise UncheckedError(f"tries out at most {most_pods:,} pods (param most_pods); these manifests make {wanted:,}")
    if facts.index.unknown_resources:
        raise UncheckedError("needs the resources of every node (allocatable)")
    for waiting in waiting_everywhere(facts):
        workload = waiting.workload
        placed = waiting.wanted - waiting.fewest
        yield Hazard(
            at=workload.replicas_path if workload.kind != "DaemonSet" else ("metadata", "name"),
            source=workload.source,
            victim=workload.ref,
            evidence=witness(
                f"in {len(SEEDS)} of {len(SEEDS)} trials pods were left over",
                trace=(
                    f"the set is deployed in {facts.premises.apply_order} order",
                    f"{placed} of {waiting.wanted} pods of {workload} are placed",
                    f"the next one: {waiting.message}",
                ),
            ),
            values={
                "object": str(workload),
                "pending": waiting.fewest,
                "wanted": waiting.wanted,
                "reason": waiting.message.partition(": ")[2].partition(". ")[0] or waiting.message,
            },
        )
