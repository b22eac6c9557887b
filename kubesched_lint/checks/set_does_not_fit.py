"""Each workload fits alone, but together they do not."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.joint import Impossible, contradictions
from kubesched_lint.findings import Hazard, Place, Severity, proof
from kubesched_lint.world.premises import node_premise
from kubesched_lint.world.staying import staying_beside_set
from kubesched_lint.world.world import World


def check(world: World) -> Iterator[Hazard]:
    for found in contradictions(world):
        *others, last = found.demands
        yield Hazard(
            at=last.workload.replicas_path if last.workload.kind != "DaemonSet" else ("metadata", "name"),
            source=last.workload.source,
            victim=last.workload.ref,
            together=tuple(d.workload.ref for d in found.demands),
            # The order decides which one waits; it is proven that one does.
            severity=None if not staying_beside_set(world).pods else Severity.WARNING,
            evidence=proof(
                f"{found.wanted} pods > {found.placed}, the most by {' and '.join(found.because)}: {_sum(found)}",
                demand=found.wanted,
                supply=found.placed,
                assumes=(node_premise(world),)
                + (("the running pods of others stay where they are",) if staying_beside_set(world).pods else ()),
            ),
            values={
                "pending": found.wanted - found.placed,
                "wanted": found.wanted,
                "placed": found.placed,
                "workloads": tuple(str(d.workload) for d in found.demands),
                "because": found.because,
            },
            related=tuple(
                Place(d.workload.replicas_path, f"{d.count} pods of {d.workload}", d.workload.source, d.workload.ref)
                for d in others
            ),
        )


def _sum(found: Impossible) -> str:
    return " + ".join(f"{d.count} of {d.workload.kind} {d.workload.name}" for d in found.demands)
