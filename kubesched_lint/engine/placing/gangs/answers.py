"""The answers of ``engine.placing.gangs.fit`` and their words, without the search, which costs a run without gangs its
import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kubesched_lint.engine.scenario.gangs import Gang

if TYPE_CHECKING:
    from kubesched_lint.engine.events.transitions.gangs import Rest

FEWER, IMPOSSIBLE, CERTAIN, MAY_MISS, UNKNOWN = "too few", "impossible", "certain", "may miss", "unknown"
SCHEDULERS = "its pods name different schedulers, and an attempt takes those of one only"
ORDERED = "a StatefulSet with podManagementPolicy OrderedReady creates its pods one after another"

Places = tuple[tuple[str, str], ...]
"""(pod, node) of each placed pod."""


class Answer(Struct, frozen=True):
    """What becomes of a gang that is deployed alone."""

    verdict: str
    gang: Gang
    most: int = 0
    """With ``IMPOSSIBLE``: the most pods that can run at the same time, fewer than the gang needs."""
    placement: Places = ()
    """Enough pods, with ``MAY_MISS`` and ``CERTAIN``."""
    missed: Rest | None = None
    """With ``MAY_MISS``: the end of a course in which too few pods are bound."""
    reason: str = ""
    """With ``UNKNOWN``: why nothing is known."""
    key: str = ""
    """The label of which all its nodes must have one value; empty without such a constraint."""

    @property
    def shortage(self) -> str:
        """With ``IMPOSSIBLE``: ``at most 2 fit``, with the domain if there is one."""
        fit = f"at most {self.most} fit" if self.most else "none fits"
        return f"{fit} in one {self.key}" if self.key else fit


def because(answer: Answer) -> str:
    """Return why a gang starts, may miss its placement or never starts; empty if that is not known."""
    gang, group = answer.gang, f"PodGroup {answer.gang}"
    if answer.verdict == FEWER:
        ordered = "" if gang.pods < gang.needed else f" before one is ready: {ORDERED}"
        return f"{group} needs {gang.needed} pods before any is tried, and the manifests create {gang.at_once}{ordered}"
    if answer.verdict == IMPOSSIBLE:
        return f"{group} needs {gang.needed} pods at the same time, and {answer.shortage}"
    if answer.verdict == MAY_MISS:
        return f"{group} fits, but the scheduler may miss the placement"
    return f"every course of the scheduler binds {gang.needed} pods of {group}" if answer.verdict == CERTAIN else ""


def placed(places: Places) -> str:
    """Return ``a-0 and a-1 on n1; b-0 on n2``."""
    on: dict[str, list[str]] = {}
    for pod, node in places:
        on.setdefault(node, []).append(pod)
    return "; ".join(f"{' and '.join(pods)} on {node}" for node, pods in on.items())


def course(missed: Rest) -> tuple[str, ...]:
    """Return how an attempt ends that misses the placement."""
    with_node = {pod for pod, _ in missed.tried}
    left = ((pod, told) for pod, told in missed.messages if pod not in with_node)
    start = (f"one course tries {placed(missed.tried)}",) if missed.tried else ()
    return (*start, *(f"{pod} finds no room: {told}" for pod, told in list(left)[:1]))
