"""Anti-affinity works both ways: a pod without any is refused where a running pod repels it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint import work
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import make_preferred
from kubesched_lint.findings import Hazard, Place, Severity, proof, witness
from kubesched_lint.model.pod import BoundPod
from kubesched_lint.model.workload import Workload
from kubesched_lint.text import many
from kubesched_lint.world.neighbours import repelled_by_running
from kubesched_lint.world.room import domain_room
from kubesched_lint.world.staying import preempts, staying, staying_beside_set
from kubesched_lint.world.world import Member, World

_STEPS = 10
REASON = "node(s) didn't satisfy existing pods anti-affinity rules"


def check(it: Member) -> Iterator[Hazard]:
    """The workload under check holds the terms, or suffers from pods that run."""
    yield from _from_running(it.workload, it.world)
    pod = it.pod
    for term, original in zip(pod.required_anti_affinity, it.workload.pod.required_anti_affinity, strict=True):
        for other in it.selected_workloads(term):
            if other is not it.workload and other.stays and it.surely_selects(term, other):
                yield from _between(it.workload, other, original.topology_key, original.path, it.world)


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Make the term preferred, so that both may share a node if room is short."""
    if hazard.variant != "running":
        yield from make_preferred(it.workload, hazard.at)


def _from_running(victim: Workload, world: World) -> Iterator[Hazard]:
    """Running pods of others repel it everywhere: a proof for every order as long as they stay."""
    usable = world.member(victim).usable
    if not usable or victim.kind == "DaemonSet" or not world.knows_running_pods:
        return
    blocked, holders = repelled_by_running(world.member(victim), staying(world.member(victim)))
    if usable & ~blocked == 0:
        surely, _ = repelled_by_running(world.member(victim), staying_beside_set(world))
        names = tuple(sorted({f"{b.namespace}/{b.name}" for b in holders}))
        yield Hazard(
            at=("metadata", "name"),
            evidence=proof(
                f"{usable.bit_count()} of {many(usable.bit_count(), 'usable node')}: {REASON}",
                demand=1,
                supply=0,
                assumes=("the running pods that repel it stay where they are", *_held(holders)),
            ),
            severity=None if usable & ~surely == 0 else Severity.WARNING,
            values={"holders": names, "replicas": world.member(victim).replicas},
            variant="running",
        )


def _held(holders: Sequence[BoundPod]) -> tuple[str, ...]:
    return ("nothing removes their finalizers",) if any(bound.kept_by_finalizers for bound in holders) else ()


def _between(holder: Workload, other: Workload, key: str, at: tuple[str | int, ...], world: World) -> Iterator[Hazard]:
    """The workload that is created first, or preempts the other, may take every domain; the other one then waits."""
    first, victim = (holder, other) if world.order.comes_before(holder, other) else (other, holder)
    why = "is created first"
    if preempts(world.member(victim), first):
        first, victim, why = victim, first, "preempts them"
    work.spend(_STEPS)
    room = domain_room(world.member(victim), key)
    if not room.is_bounded or world.member(first).replicas < len(room.domains):
        return
    if not set(room.domains) <= set(domain_room(world.member(first), key).domains):
        return
    if not world.member(victim).replicas:
        return
    trace = tuple(f"a pod of {first} is placed in {key}={d}" for d in room.domains)
    mutual = "symmetry" if victim is other else "own"
    yield Hazard(
        at=at,
        source=holder.source,
        victim=victim.ref,
        severity=Severity.WARNING,
        evidence=witness(
            f"{first} {why} and has {many(world.member(first).replicas, 'replica')} "
            f"for {many(len(room.domains), f'{key} domain')}",
            trace=(*trace, f"every pod of {victim} stays Pending"),
        ),
        values={"victim": str(victim), "first": str(first), "why": why, "key": key, "domains": room.domains},
        related=(Place(("metadata", "name"), "stays Pending", victim.source, victim.ref),),
        variant=mutual,
    )
