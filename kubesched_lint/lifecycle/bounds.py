"""Frames that hold whatever happens, for when a search would be too long."""

from __future__ import annotations

from kubesched_lint.lifecycle.controllers.bounds import rolling_bounds
from kubesched_lint.lifecycle.motion import Motion
from kubesched_lint.lifecycle.outcomes import Outcome
from kubesched_lint.lifecycle.world import Wish


def frame(motion: Motion, wish: Wish) -> set[Outcome]:
    """Outcomes whose least and greatest numbers enclose every possible one; controllers alone bound them."""
    wanted = motion.desired(wish)
    workload = wish.spec
    most = wanted
    if workload.kind == "Deployment":
        most += rolling_bounds(workload.strategy, wanted)[0]
    elif workload.kind == "DaemonSet":
        most *= 2
    return {
        Outcome(0, 0, 0, 0, wanted),
        Outcome(most, 0, wanted, 0, wanted),
        Outcome(0, most, 0, most, wanted),
        Outcome(wanted, 0, wanted, 0, wanted),
    }
