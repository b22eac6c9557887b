"""Several pods use one claim that only one pod, or one node, may use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import joined
from kubesched_lint.engine.model.storage import Claim
from kubesched_lint.engine.placing.rollout import fenceposts, until_it_ends
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scenario.storage import attachment
from kubesched_lint.engine.scenario.storage.claim_names import claims_of_volumes
from kubesched_lint.engine.scheduler.capacity import stands_alone
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.remedies.rollouts import use_recreate
from kubesched_lint.explaining.sizes.replicas import replicas_wanted_here
from kubesched_lint.findings import Hazard, Place, Severity, pattern, proof

_MULTI_ATTACH = "Multi-Attach error for volume"
"""How the attach/detach controller begins (``attachdetach/reconciler``, reportMultiAttachError); a name follows."""


def check(it: Member) -> Iterator[Hazard]:
    rolls = it.workload.kind == "Deployment" and it.workload.strategy.type == "RollingUpdate"
    surge, unavailable = fenceposts(it.workload, it.replicas) if rolls else (0, 1)
    overlaps = rolls and it.replicas == 1 and unavailable == 0
    attached: list[tuple[Path, Claim]] = []
    for at, claim, is_mounted in claims_of_volumes(it):
        if set(claim.access_modes) == {"ReadWriteOncePod"} and it.workload.stays:
            yield from _one_pod(it, at, claim, surge, overlaps=overlaps)
        elif is_mounted and set(claim.access_modes) == {"ReadWriteOnce"} and attachment.is_attached(it.scenario, claim):
            attached.append((at, claim))
    is_shared = it.replicas > 1 and it.workload.kind != "StatefulSet"
    if attached and (is_shared or overlaps) and not attachment.must_share_a_node(it):
        yield _one_node(it, attached, surge, is_shared=is_shared)


def _one_node(it: Member, attached: Sequence[tuple[Path, Claim]], surge: int, *, is_shared: bool) -> Hazard:
    """One edit of the workload mends all its claims."""
    replicas, (at, _), claims = it.replicas, attached[0], [claim for _, claim in attached]
    is_sure = any(attachment.is_surely_attached(it.scenario, claim) for claim in claims)
    parted = _parted(it) if is_shared and is_sure else ""
    evidence = pattern(f"{replicas} pods, one node" if is_shared else "old pod and extra pod, one node")
    if parted:
        evidence = proof(f"each node holds one pod ({parted}), and the volume one node", demand=replicas, supply=1)
    named, others = _in_words(claims), tuple(Place(also, f"the claim {claim.name}") for also, claim in attached[1:])
    # k3s' default class keeps pods at one node.
    is_known = any(attachment.has_known_class(it.scenario, claim) for claim in claims)
    milder = Severity.WARNING if is_known else Severity.NOTE
    return Hazard(
        at=at,
        evidence=evidence,
        severity=None if parted else milder,
        values={"replicas": replicas, "surge": surge, "claims": named, "parted": parted, "pending": replicas - 1},
        after_binding=_MULTI_ATTACH,
        related=(*others, replicas_wanted_here(it)) if is_shared else others,
        variant="one_node_each" if parted else "one_node" if is_shared else "rollout_one_node",
        cause=" ".join(f"{it.workload.namespace}/{claim.name}" for claim in claims),
    )


def _one_pod(it: Member, at: Path, claim: Claim, surge: int, *, overlaps: bool) -> Iterator[Hazard]:
    replicas = it.replicas
    values = {"replicas": replicas, "surge": surge, "claim": claim.name}
    if replicas > 1:
        yield Hazard(
            at=at,
            evidence=proof(f"{replicas} replicas > 1 pod of a ReadWriteOncePod claim", demand=replicas, supply=1),
            values={**values, "pending": replicas - 1},
            related=(replicas_wanted_here(it),),
            variant="one_pod",
        )
    elif overlaps:
        text = "1 old pod + 1 extra pod > 1 pod of a ReadWriteOncePod claim"
        yield Hazard(
            at=at,
            evidence=proof(text, demand=2, supply=1, event="rollout"),
            values={**values, "until": until_it_ends(it.workload, 1)},
            variant="rollout_one_pod",
        )


def _in_words(claims: Sequence[Claim]) -> str:
    """``the claim a, which is ReadWriteOnce``, or ``the claims a and b, which are ReadWriteOnce``."""
    claim, is_ = ("claim", "is") if len(claims) == 1 else ("claims", "are")
    return f"the {claim} {joined([each.name for each in claims])}, which {is_} ReadWriteOnce"


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Delete the old pod, which holds the claim, before the new one needs it."""
    if hazard.variant.startswith("rollout"):
        yield use_recreate(it.workload)


def _parted(it: Member) -> str:
    """Return the rule that lets no two of its pods share a node; empty if none does."""
    if it.scenario.cluster is None or not it.usable or not stands_alone(it.pod, it.scenario.index, it.usable):
        return ""
    return "its host port" if it.pod.host_ports else "anti-affinity"
