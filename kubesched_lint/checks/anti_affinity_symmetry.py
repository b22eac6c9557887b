"""Anti-affinity works both ways: a pod that declares nothing is refused where somebody lives who repels it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint import work
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.neighbours import repelled_by_running
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import make_preferred
from kubesched_lint.findings import Hazard, Place, Severity, proof, witness
from kubesched_lint.model.pod import BoundPod
from kubesched_lint.model.workload import Workload

_STEPS = 20
REASON = "node(s) didn't satisfy existing pods anti-affinity rules"


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    """The workload under check holds the terms, or suffers from pods that run."""
    yield from _from_running(workload, facts)
    pod = facts.pod(workload)
    for term, original in zip(pod.required_anti_affinity, workload.pod.required_anti_affinity, strict=True):
        for other in facts.selected_workloads(workload, term):
            if other is not workload and other.stays and facts.surely_selects(workload, term, other):
                yield from _between(workload, other, original.topology_key, original.path, facts)


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Prefer to stand apart, so that both may share a node where room is short."""
    if hazard.variant != "running":
        yield from make_preferred(workload, hazard.at)


def _from_running(victim: Workload, facts: Facts) -> Iterator[Hazard]:
    """Running pods of others repel it everywhere: that holds for every order as long as they stay."""
    usable = facts.usable(victim)
    if not usable or victim.kind == "DaemonSet" or not facts.knows_running_pods:
        return
    blocked, holders = repelled_by_running(facts, victim, facts.staying(victim))
    if usable & ~blocked == 0:
        surely, _ = repelled_by_running(facts, victim, facts.staying_beside_set)
        names = tuple(sorted({f"{b.namespace}/{b.name}" for b in holders}))
        yield Hazard(
            at=("metadata", "name"),
            evidence=proof(
                f"{usable.bit_count()} of {usable.bit_count()} usable nodes: {REASON}",
                demand=1,
                supply=0,
                assumes=("the running pods that repel it stay where they are", *_held(holders)),
            ),
            severity=None if usable & ~surely == 0 else Severity.WARNING,
            values={"holders": names, "replicas": facts.replicas(victim)},
            variant="running",
        )


def _held(holders: Sequence[BoundPod]) -> tuple[str, ...]:
    return ("nobody takes their finalizers away",) if any(bound.held for bound in holders) else ()


def _between(holder: Workload, other: Workload, key: str, at: tuple[str | int, ...], facts: Facts) -> Iterator[Hazard]:
    """Who is created first may take every domain, and so may who preempts the other; the other one then waits."""
    first, victim = (holder, other) if facts.comes_before(holder, other) else (other, holder)
    why = "is created first"
    if facts.preempts(victim, first):
        first, victim, why = victim, first, "preempts them"
    work.spend(_STEPS)
    room = facts.room(victim, key)
    if not room.is_bounded or facts.replicas(first) < len(room.domains):
        return
    if not set(room.domains) <= set(facts.room(first, key).domains):
        return
    if not facts.replicas(victim):
        return
    trace = tuple(f"a pod of {first} is placed in {key}={d}" for d in room.domains)
    mutual = "symmetry" if victim is other else "own"
    yield Hazard(
        at=at,
        source=holder.source,
        victim=victim.ref,
        severity=Severity.WARNING,
        evidence=witness(
            f"{first} {why} and has {facts.replicas(first)} replicas for {len(room.domains)} {key} domains",
            trace=(*trace, f"every pod of {victim} stays Pending"),
        ),
        values={"victim": str(victim), "first": str(first), "why": why, "key": key, "domains": room.domains},
        related=(Place(("metadata", "name"), "stays Pending", victim.source, victim.ref),),
        variant=mutual,
    )
