"""Anti-affinity works both ways: a pod without any is refused where a running pod repels it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.engine.model.nodes.node import domain_word
from kubesched_lint.engine.model.pod import PodAffinityTerm
from kubesched_lint.engine.scenario.others.neighbours import repelled_by_running
from kubesched_lint.engine.scenario.others.staying import staying, staying_beside_set
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.crowding.repelled import Conflict, conflicts
from kubesched_lint.explaining.remedies.placement import make_preferred
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Place, Severity, proof, witness

REASON = "node(s) didn't satisfy existing pods anti-affinity rules"


def check(it: Member) -> Iterator[Hazard]:
    """The workload under check suffers from pods that run, or holds the terms."""
    if it.usable and it.workload.kind != "DaemonSet" and it.scenario.knows_running_pods:
        yield from _from_running(it)
    for term, original in zip(it.pod.required_anti_affinity, it.workload.pod.required_anti_affinity, strict=True):
        clashes = conflicts(it, term)
        if kept_out := [conflict for conflict in clashes if conflict.victim is not it.workload]:
            yield _between(it, kept_out, original, "symmetry")
        if keeping_out := [conflict for conflict in clashes if conflict.victim is it.workload]:
            yield _between(it, keeping_out, original, "own")


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Make the term preferred, so that both may share a node if room is short."""
    if hazard.variant != "running":
        yield from make_preferred(it.workload, hazard.at)


def _from_running(it: Member) -> Iterator[Hazard]:
    """Running pods of others repel it everywhere: a proof for every order as long as they stay."""
    blocked, holders = repelled_by_running(it, staying(it))
    if it.usable & ~blocked:
        return
    surely, _ = repelled_by_running(it, staying_beside_set(it.scenario))
    finalizers = ("nothing removes their finalizers",) if any(b.kept_by_finalizers for b in holders) else ()
    yield Hazard(
        at=("metadata", "name"),
        evidence=proof(
            f"{it.usable.bit_count()} of {many(it.usable.bit_count(), 'node')}: {REASON}",
            demand=1,
            supply=0,
            assumes=("the running pods that repel it stay where they are", *finalizers),
        ),
        severity=Severity.WARNING if it.usable & ~surely else None,
        values={
            "holders": tuple(sorted({f"{b.namespace}/{b.name}" for b in holders})),
            "replicas": it.replicas,
        },
        variant="running",
    )


def _between(it: Member, clashes: Sequence[Conflict], term: PodAffinityTerm, variant: str) -> Hazard:
    """Return the hazard of the first conflict; the others are related places."""
    conflict, key = clashes[0], term.topology_key
    partners = [each.victim if variant == "symmetry" else each.first for each in clashes]
    firsts = [str(each.first) for each in (clashes if variant == "own" else clashes[:1])]
    replicas = it.scenario.member(conflict.first).replicas
    return Hazard(
        at=term.path,
        source=it.workload.source,
        victim=conflict.victim.ref,
        severity=Severity.WARNING,
        evidence=witness(
            f"{conflict.first} {conflict.why} and has {many(replicas, 'replica')} for {len(conflict.domains)} "
            f"{domain_word(key, len(conflict.domains))}",
            trace=(
                *(f"a pod of {conflict.first} is placed in {key}={domain}" for domain in conflict.domains),
                f"every pod of {conflict.victim} stays Pending",
            ),
        ),
        values={
            "victims": tuple(dict.fromkeys(str(each.victim) for each in clashes)),
            "first": firsts[0] if len(firsts) == 1 else f"each of {first_few(firsts)}",
            "why": conflict.why,
            "key": key,
            "domains": conflict.domains,
        },
        related=tuple(
            Place(("metadata", "name"), conflict.why if w is conflict.first else "stays Pending", w.source, w.ref)
            for w in partners
        ),
        variant=variant,
    )
