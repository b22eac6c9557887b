"""Anti-affinity works both ways: a pod without any is refused where a running pod repels it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter

from msgspec import Struct

from kubesched_lint import work
from kubesched_lint.analysis.reachability import blocked_affinities, lacks_topology
from kubesched_lint.analysis.remedies.placement import make_preferred
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard, Place, Severity, proof, witness
from kubesched_lint.model.pod import BoundPod, PodAffinityTerm
from kubesched_lint.model.workload import Workload
from kubesched_lint.text import first_few, many
from kubesched_lint.world.neighbours import repelled_by_running
from kubesched_lint.world.room import bounding_domains, domain_room
from kubesched_lint.world.staying import preempts, staying, staying_beside_set
from kubesched_lint.world.world import Member, World, once_per_world

_STEPS = 10
REASON = "node(s) didn't satisfy existing pods anti-affinity rules"


def check(it: Member) -> Iterator[Hazard]:
    """The workload under check holds the terms, or suffers from pods that run."""
    yield from _from_running(it.workload, it.world)
    pod = it.pod
    for term, original in zip(pod.required_anti_affinity, it.workload.pod.required_anti_affinity, strict=True):
        may_conflict = partial(_crowding, it, term.topology_key)
        others = [
            other
            for other in it.world.selection.selected_by(term, it.workload.namespace, among=may_conflict)
            if other is not it.workload and other.stays and it.surely_selects(term, other)
        ]
        yield from _between(it, others, original)


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


def _between(it: Member, others: Sequence[Workload], term: PodAffinityTerm) -> Iterator[Hazard]:
    """Yield one hazard for all others that the term keeps out, and one for all that keep its own pods out."""
    kept_out: list[_Conflict] = []
    keeping_out: list[_Conflict] = []
    for other in others:
        conflict = _conflict(it.workload, other, term.topology_key, it.world)
        if conflict is not None:
            (keeping_out if conflict.victim is it.workload else kept_out).append(conflict)
    for found, variant in ((kept_out, "symmetry"), (keeping_out, "own")):
        if found:
            yield _hazard(it, found, term, variant)


class _Conflict(Struct, frozen=True):
    """The workload that comes first may take every domain of the other, the victim."""

    first: Workload
    victim: Workload
    why: str
    """Why it comes first."""
    domains: tuple[str, ...]


class _Crowd(Struct, frozen=True):
    """The workloads of a set by what it takes that one fills all domains of another."""

    by_replicas: Sequence[tuple[int, int]]
    """(replicas, number in the set), ascending."""
    by_domains: Sequence[tuple[int, int]]
    """(domains, number in the set) of each that has pods and a bounded number of domains, ascending."""


@once_per_world
def _crowds(world: World) -> dict[str, _Crowd]:
    """Topology key → the crowd."""
    return {}


def _crowd(world: World, key: str) -> _Crowd:
    known = _crowds(world)
    if key not in known:
        members = [world.member(workload) for workload in world.manifests.workloads]
        domains = [bounding_domains(member, key) if member.replicas else None for member in members]
        known[key] = _Crowd(
            sorted((member.replicas, number) for number, member in enumerate(members)),
            sorted((len(found), number) for number, found in enumerate(domains) if found is not None),
        )
    return known[key]


def _crowding(it: Member, key: str) -> Sequence[Workload]:
    """Return all workloads that may fill each domain of this one, or that it may fill each domain of."""
    crowd, domains = _crowd(it.world, key), bounding_domains(it, key)
    found = {number for _, number in crowd.by_domains[: bisect_right(crowd.by_domains, it.replicas, key=itemgetter(0))]}
    if domains is not None:
        found.update(n for _, n in crowd.by_replicas[bisect_left(crowd.by_replicas, len(domains), key=itemgetter(0)) :])
    return [it.world.manifests.workloads[number] for number in sorted(found)]


def _conflict(holder: Workload, other: Workload, key: str, world: World) -> _Conflict | None:
    """Return what the workload that is created first, or preempts the other, does to it; None if there is room."""
    first, victim = (holder, other) if world.order.comes_before(holder, other) else (other, holder)
    why = "is created first"
    if preempts(world.member(victim), first):
        first, victim, why = victim, first, "preempts them"
    work.spend(_STEPS)
    domains = bounding_domains(world.member(victim), key)
    if domains is None or world.member(first).replicas < len(domains) or not world.member(victim).replicas:
        return None
    if not set(domains) <= set(domain_room(world.member(first), key).domains):
        return None
    if id(first) in blocked_affinities(world) or lacks_topology(world.member(first)):
        return None  # it never runs
    return _Conflict(first, victim, why, domains)


def _hazard(it: Member, found: Sequence[_Conflict], term: PodAffinityTerm, variant: str) -> Hazard:
    """Return the hazard of the first conflict; the others are related places."""
    one, key = found[0], term.topology_key
    partners = [conflict.victim if variant == "symmetry" else conflict.first for conflict in found]
    firsts = [str(conflict.first) for conflict in (found if variant == "own" else found[:1])]
    replicas = it.world.member(one.first).replicas
    return Hazard(
        at=term.path,
        source=it.workload.source,
        victim=one.victim.ref,
        severity=Severity.WARNING,
        evidence=witness(
            f"{one.first} {one.why} and has {many(replicas, 'replica')} for {many(len(one.domains), f'{key} domain')}",
            trace=(
                *(f"a pod of {one.first} is placed in {key}={domain}" for domain in one.domains),
                f"every pod of {one.victim} stays Pending",
            ),
        ),
        values={
            "victims": tuple(dict.fromkeys(str(conflict.victim) for conflict in found)),
            "first": firsts[0] if len(firsts) == 1 else f"each of {first_few(firsts, 6)}",
            "why": one.why,
            "key": key,
            "domains": one.domains,
        },
        related=tuple(
            Place(
                ("metadata", "name"),
                "stays Pending" if partner is not one.first else one.why,
                partner.source,
                partner.ref,
            )
            for partner in partners
        ),
        variant=variant,
    )
