"""Several pods use one claim that only one pod, or one node, may use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.placing.rollout import fenceposts, until_it_ends
from kubesched_lint.engine.scenario.storage.attachment import (
    has_known_class,
    is_attached,
    is_surely_attached,
    must_share_a_node,
)
from kubesched_lint.engine.scenario.storage.claim_names import claims_of_volumes
from kubesched_lint.engine.scenario.world import Member
from kubesched_lint.engine.scheduler.capacity import stands_alone
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.remedies.rollouts import use_recreate
from kubesched_lint.explaining.sizes.replicas import replicas_wanted_here
from kubesched_lint.findings import Hazard, Place, Severity, pattern, proof

_MULTI_ATTACH = "Multi-Attach error for volume"
"""How the attach/detach controller begins (``attachdetach/reconciler``, reportMultiAttachError); a name follows."""


def check(it: Member) -> Iterator[Hazard]:
    replicas = it.replicas
    rolls = it.workload.kind == "Deployment" and it.workload.strategy.type == "RollingUpdate"
    surge, unavailable = fenceposts(it.workload, replicas) if rolls else (0, 1)
    overlaps = rolls and replicas == 1 and unavailable == 0
    values = {"replicas": replicas, "surge": surge}
    one_node: list[tuple[Path, str]] = []
    is_known = is_sure = False
    for at, claim, is_mounted in claims_of_volumes(it):
        if set(claim.access_modes) == {"ReadWriteOncePod"} and it.workload.stays:
            yield from _one_pod(it, at, {**values, "claim": claim.name}, overlaps=overlaps)
            continue
        if is_mounted and set(claim.access_modes) == {"ReadWriteOnce"} and is_attached(it.world, claim):
            one_node.append((at, claim.name))
            is_known = is_known or has_known_class(it.world, claim)
            is_sure = is_sure or is_surely_attached(it.world, claim)
    is_shared = replicas > 1 and it.workload.kind != "StatefulSet"
    if one_node and (is_shared or overlaps) and not must_share_a_node(it):
        (at, _), *others = one_node  # one edit of the workload mends all its claims
        parted = _parted(it) if is_shared and is_sure else ""
        evidence = pattern(f"{replicas} pods, one node" if is_shared else "old pod and extra pod, one node")
        if parted:
            evidence = proof(f"each node holds one pod ({parted}), and the volume one node", demand=replicas, supply=1)
        yield Hazard(
            at=at,
            evidence=evidence,
            # k3s' default class keeps pods at one node.
            severity=None if parted else Severity.WARNING if is_known else Severity.NOTE,
            values={
                **values,
                "claims": _in_words([name for _, name in one_node]),
                "parted": parted,
                "pending": replicas - 1,
            },
            after_binding=_MULTI_ATTACH,
            related=(
                *(Place(also, f"the claim {name}") for also, name in others),
                *([replicas_wanted_here(it)] if is_shared else ()),
            ),
            variant="one_node_each" if parted else "one_node" if is_shared else "rollout_one_node",
            cause=" ".join(f"{it.workload.namespace}/{name}" for _, name in one_node),
        )


def _one_pod(it: Member, at: Path, values: dict[str, object], *, overlaps: bool) -> Iterator[Hazard]:
    replicas = it.replicas
    if replicas > 1:
        yield Hazard(
            at=at,
            evidence=proof(f"{replicas} replicas > 1 pod of a ReadWriteOncePod claim", demand=replicas, supply=1),
            values={**values, "pending": replicas - 1},
            related=(replicas_wanted_here(it),),
            variant="one_pod",
        )
    elif overlaps:
        yield Hazard(
            at=at,
            evidence=proof(
                "1 old pod + 1 extra pod > 1 pod of a ReadWriteOncePod claim", demand=2, supply=1, event="rollout"
            ),
            values={**values, "until": until_it_ends(it.workload, 1)},
            variant="rollout_one_pod",
        )


def _in_words(names: Sequence[str]) -> str:
    """``the claim a, which is ReadWriteOnce``, or ``the claims a and b, which are ReadWriteOnce``."""
    if len(names) == 1:
        return f"the claim {names[0]}, which is ReadWriteOnce"
    return f"the claims {', '.join(names[:-1])} and {names[-1]}, which are ReadWriteOnce"


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Delete the old pod, which holds the claim, before the new one needs it."""
    if hazard.variant.startswith("rollout"):
        yield use_recreate(it.workload)


def _parted(it: Member) -> str:
    """Return the rule that lets no two of its pods share a node; empty if none does."""
    if it.world.cluster is None or not it.usable or not stands_alone(it.pod, it.world.index, it.usable):
        return ""
    return "its host port" if it.pod.host_ports else "anti-affinity"
