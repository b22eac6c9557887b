"""One cell of the matrix: what one event may do to one workload, and how we know.

A cell rests on an exact search where one is affordable: over the workloads that can get into each other's way, first
for any scheduler (*proof*), then for the default profile (*expected*). Beyond that, bounds by counting enclose what is
possible, and seeded runs are witnesses. No cell is narrower than what was established.
"""

from __future__ import annotations

from kubesched_lint.findings import Path
from kubesched_lint.lifecycle.outcomes import Range
from kubesched_lint.model.policy import DisruptionBudget, ResourceQuota
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import record

FINE = "fine"
BAD = "bad"
DEPENDS = "depends"
BY_SCORES = "by-scores"
"""Fine in each course of the default scheduler that was tried; where other nodes are chosen among those that fit, some
course ends badly. No proof of either: the default scheduler may have courses that nobody tried.
"""
UNKNOWN = "unknown"
NONE = "none"
"""The event does not concern the workload."""


@record
class Witness:
    """One concrete course of events and where it ends."""

    bound: int
    complete: bool
    lines: tuple[str, ...]
    where: str = ""
    """Which node or zone was lost or drained."""


@record
class Cell:
    event: str
    verdict: str
    wanted: int
    bound: Range
    """Bound pods in the end, over every order of events and every choice of the node or zone."""
    stuck: bool = False
    """A rollout that ends stuck in some order, a drain that may not end."""
    always_stuck: bool = False
    proven: bool = False
    """Holds for every scheduler that respects the filters, not only for the default profile."""
    text: str = ""
    why: str = ""
    """The proof or what is known, in one sentence with its numbers."""
    message: str = ""
    """What Kubernetes says of it."""
    says: str = "the pods say"
    """Whose words the message is, and where they are found."""
    blamed: Workload | DisruptionBudget | ResourceQuota | None = None
    at: Path = ()
    worst: Witness | None = None
    best: Witness | None = None
    missing: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    ready: Range | None = None
    """Ready ones, where they are fewer by assumption."""


def nothing(event: str, text: str = "–") -> Cell:
    return Cell(event, NONE, 0, Range(0, 0, "closed-form"), text=text)


def words(
    event: str,
    wanted: int,
    bound: Range,
    *,
    stuck: bool,
    always_stuck: bool,
    blocked: str = "",
    ready: Range | None = None,
) -> str:
    """``3/3 ok``, ``stuck``, ``2–3/3``, ``3/9 −6``; with ``ready``, where some are not, ``stuck, 2/3 ready``."""
    tail = "" if ready is None else f"{ready}/{wanted} ready"
    if blocked:
        return f"blocked ({blocked})" if always_stuck else f"may block ({blocked})"
    if event in ("deploy", "rollout") and stuck:
        return ("stuck" if always_stuck else "may get stuck") + (f", {tail}" if tail else "")
    if tail:
        return tail
    if bound.least >= wanted:
        return f"{wanted}/{wanted} ok"
    if bound.is_single:
        return f"{bound.least}/{wanted} −{wanted - bound.least}"
    return f"{bound.least}–{min(bound.most, wanted)}/{wanted}"
