"""A rollout that is proven never to end, in the words of the bound that proves it."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.placing.rollout import fenceposts
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.ends.bad_ends import BadEnd, bad_end, never_rolls_out
from kubesched_lint.explaining.ends.hazards import is_helped_by_going_first, rollout_places, surges_daemons, told
from kubesched_lint.explaining.ends.reasons import is_uncreated, needs_extra_pod, spread_blocked
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.remedies.rollouts import roll_without_surge
from kubesched_lint.findings import Hazard


def check(it: Member) -> Iterator[Hazard]:
    """Report the rollout that this apply starts; else the next one, unless pods stay missing before it."""
    deployed = bad_end(it, "deploy")
    if deployed is not None and deployed.cell.stuck:
        yield _hazard(it, deployed, f"the rollout of {it.workload} that this apply starts")
        if deployed.proven:
            return
    rolled = bad_end(it, "rollout")
    if rolled is None or (deployed is not None and (deployed.proven or not rolled.proven)):
        return
    size = "" if never_rolls_out(it) else f"with {many(it.replicas, 'replica')}, "
    yield _hazard(it, rolled, f"{size}the next rollout of {it.workload}")


def _hazard(it: Member, end: BadEnd, rollout: str) -> Hazard:
    variant = "surges" if surges_daemons(it) else "uncreated" if is_uncreated(it, end.cell) else "replaces"
    if needs_extra_pod(it, end.cell) and is_helped_by_going_first(it, end):
        variant = "default" if spread_blocked(it, end.cell) is None else "tainted"
    return told(it, end, variant, {"rollout": rollout}, *rollout_places(it))


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Delete an old pod first, if the controller may not do so now and the rollout ends then."""
    rolls = it.workload.kind == "Deployment" and it.workload.strategy.type == "RollingUpdate"
    surges = rolls and not it.workload.strategy.is_whole and not fenceposts(it.workload, it.replicas)[1]
    if surges and hazard.variant in ("default", "tainted"):
        yield roll_without_surge(it)
