"""The outcome of one event for one workload: numbers of pods, and a cell of the matrix with its evidence.

If it is affordable, a cell uses an exact search over the workloads that can affect each other, first for any scheduler
(*proof*), then for the default profile (*expected*). Otherwise counting gives bounds, and seeded runs are witnesses.
No cell claims more than its evidence shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.events.answers.event_bounds import ON_ALL
from kubesched_lint.engine.events.states.states import DesiredState, PodCounts, State
from kubesched_lint.engine.events.transitions.transitions import Transitions
from kubesched_lint.engine.model.pod import SchedulerProfile
from kubesched_lint.engine.model.policy import DisruptionBudget, ResourceQuota
from kubesched_lint.engine.model.workloads.workload import Workload

FINE = "fine"
LIKELY = "likely"
"""Every followed trace of the default scheduler ends well, also those aimed at a bad end; nothing is proven."""
BAD = "bad"
DEPENDS = "depends"
BY_SCORES = "by-scores"
"""Every tried course of the default scheduler ends well, but a course that chooses other feasible nodes ends badly.
Neither is proven: the default scheduler may have courses that were not tried.
"""
UNKNOWN = "unknown"
REFUSED = "refused"
"""The API server refuses the object, so no event finds any of its pods."""
NONE = "none"
"""The event does not concern the workload."""
NOT_ASKED = "an answer, which nobody asked for"
"""What is missing in a cell that is open because only a proof was asked for."""
UNREACHABLE = " unreachable"
"""The end of the text of a loss that is worse if the lost nodes are only unreachable, not deleted."""


class Witness(Struct, frozen=True):
    """One concrete course of events and where it ends."""

    bound: int
    complete: bool
    lines: tuple[str, ...]
    where: str = ""
    """Which node or zone was lost or drained."""


class Cell(Struct, frozen=True):
    event: str
    verdict: str
    wanted: int
    bound: Range
    """Number of pods bound in the end, over every order of events and every choice of the node or zone."""
    stuck: bool = False
    """A rollout gets stuck in some order, or a drain may not end."""
    always_stuck: bool = False
    """It does in every order, by a bound or a search of all states."""
    proven: bool = False
    """Whether it holds for every scheduler that respects the filters, not only for the default profile."""
    text: str = ""
    why: str = ""
    """The proof, or what is known, in one sentence with its numbers."""
    cause: str = ""
    """The cause in the words of the rule of ``lint`` that proves the cell; empty where none does."""
    resource: str = ""
    """The resource of nodes that is short, if counting proves a bad end by it; ``host ports`` is one."""
    rests_on: frozenset[str] = ON_ALL
    """The premises on which a proof of a bad end rests (see ``Bound``)."""
    near: tuple[Workload | str, ...] = ()
    """Whom the pods must be near, if a proof of a bad end counts the domains of these."""
    is_counted: bool = False
    """Whether counting alone proves it, so that other workloads of the set can only make it worse."""
    message: str = ""
    """The message of Kubernetes."""
    says: str = "the pods say"
    """Words before the message: its source."""
    blamed: Workload | DisruptionBudget | ResourceQuota | SchedulerProfile | None = None
    at: Path = ()
    at_key: bool = False
    """Whether ``at`` is the field itself, and not its value."""
    worst: Witness | None = None
    best: Witness | None = None
    missing: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    ready: Range | None = None
    """Number of ready pods, if an assumption makes it smaller than ``bound``."""
    deleted: Cell | None = None
    """Of a loss of nodes, of which the cell itself shows the worse end: the end if they are deleted."""
    unreachable: Cell | None = None
    """The end if their Node objects stay."""

    @property
    def ends_well(self) -> bool:
        """Whether every followed order ends well, proven or not."""
        return self.verdict in (FINE, LIKELY)

    @property
    def ends_badly(self) -> bool:
        """Whether a bound or a search of all states excludes that all pods run and the event ends.

        Of other ``BAD`` cells, a few traces alone say that pods are missing: another order may end well.
        """
        if self.verdict != BAD or self.proven:
            return self.verdict == BAD
        shown = self.unreachable if self.text.endswith(UNREACHABLE) else self.deleted
        ends = filter(None, (self, shown))  # after a loss, the cell has the bounds of both ends
        return not all(end.allows_all for end in ends)

    @property
    def allows_all(self) -> bool:
        """Whether no bound excludes that all pods run, and that a rollout or a drain ends."""
        return not self.always_stuck and self.ready is None and self.bound.most >= self.wanted

    @property
    def is_harmless(self) -> bool:
        """Whether it ends well, or the event does not concern the workload."""
        return self.ends_well or self.verdict == NONE

    @property
    def is_asked(self) -> bool:
        """Whether more than a proof was asked for (see ``Effort.wanted``)."""
        return NOT_ASKED not in self.missing


def nothing(event: str, text: str = "–") -> Cell:
    return Cell(event, NONE, 0, Range(0, 0, "closed-form"), text=text)


def refused(event: str, workload: Workload, at: Path, message: str, *, at_key: bool = False) -> Cell:
    """Return the cell of a workload that the API server refuses at a field, with the server's message."""
    return Cell(
        event,
        REFUSED,
        workload.replicas,
        Range(0, 0, "closed-form"),
        proven=True,
        text=REFUSED,
        why=f"the API server refuses {workload}: it is not applied, and makes no pods",
        message=message,
        says="the API server says",
        blamed=workload,
        at=at,
        at_key=at_key,
    )


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
    """Return ``3/3 ok``, ``stuck``, ``2–3/3`` or ``3/9 −6``; with ``ready``, if some are not, ``stuck, 2/3 ready``."""
    tail = "" if ready is None else f"{ready}/{wanted} ready"
    if blocked:
        return f"blocked ({blocked})" if always_stuck else f"may block ({blocked})"
    if stuck and event != "drain":
        return ("stuck" if always_stuck else "may get stuck") + (f", {tail}" if tail else "")
    if tail:
        return tail
    if bound.least >= wanted:
        return f"{wanted}/{wanted} ok"
    if bound.is_single:
        return f"{bound.least}/{wanted} −{wanted - bound.least}"
    return f"{bound.least}–{min(bound.most, wanted)}/{wanted}"


# --- The outcome of a final state for a workload, in numbers of pods, and ranges over many states ---------------------


class EventOutcome(NamedTuple):
    """Numbers of pods. Pods of every revision, surge included, count as bound or pending."""

    bound: int
    pending: int
    new: int
    """Pods of the newest revision, bound or not."""
    old: int
    wanted: int
    unready: int = 0
    """Bound pods that never become ready."""

    @property
    def ready(self) -> int:
        return self.bound - self.unready

    @property
    def created(self) -> int:
        return self.bound + self.pending

    @property
    def complete(self) -> bool:
        """Whether all replicas are of the new revision and available, and no pod is old."""
        return self.old == 0 and self.pending == 0 and self.new == self.ready == self.wanted


class Range(NamedTuple):
    """Least and most pods, and their source: closed-form, search or bound."""

    least: int
    most: int
    by: str

    @property
    def is_single(self) -> bool:
        return self.least == self.most

    def __str__(self) -> str:
        return str(self.least) if self.is_single else f"{self.least}–{self.most}"


def outcome(transitions: Transitions, desired: DesiredState, counts: PodCounts) -> EventOutcome:
    """Return the outcome for one workload of a state with these pods."""
    pod_types, (standing, waiting) = transitions.pod_types, counts
    bound = pending = new = unready = 0
    for slot in pod_types.slots_of.get(desired.workload, ()):
        if pod_types.ended[slot]:
            continue
        running, there = standing.get(slot, 0), waiting.get(slot, 0)
        bound += running
        pending += there
        unready += running * pod_types.unready[slot]
        new += (running + there) * (pod_types.slots[slot].revision == desired.revision)
    return EventOutcome(bound, pending, new, bound + pending - new, transitions.replicas_of(desired), unready)


def outcomes(transitions: Transitions, states: Iterable[State]) -> list[dict[int, EventOutcome]]:
    """Return, per state, number of a workload → its outcome, without duplicates."""
    by_state: dict[tuple[EventOutcome, ...], None] = {}
    for state in states:
        counts = transitions.counts(state)
        by_state[tuple(outcome(transitions, desired, counts) for desired in transitions.desired_states)] = None
    return [{w.workload: o for w, o in zip(transitions.desired_states, each, strict=True)} for each in by_state]


def cut_short(event: str, wanted: int, reason: str) -> Cell:
    """Return the cell of an event whose simulation was cut short."""
    bound = Range(0, wanted, "bound")
    text = f"{words(event, wanted, bound, stuck=False, always_stuck=False)} ?"
    return Cell(event, UNKNOWN, wanted, bound, text=text, why="it was not followed to its end", missing=(reason,))


def not_known(cell: Cell, missing: tuple[str, ...], why: str = "") -> Cell:
    """Return ``0–3/3 ?``: any number of pods may run."""
    text = f"0–{cell.wanted}/{cell.wanted} ?" if cell.wanted else "?"
    bound = Range(0, cell.wanted, "bound")
    return Cell(cell.event, UNKNOWN, cell.wanted, bound, text=text, why=why, missing=missing, assumes=cell.assumes)


def taking_turns(cell: Cell) -> Cell:
    """Return the cell of a Job: its pods end, so if one pod can always run, the others run after it."""
    if cell.verdict != BAD or not cell.bound.most:
        return cell
    if not cell.bound.least:
        return replace(cell, verdict=DEPENDS, proven=False)
    why = f"{cell.why}; a Job's pods end, and the others have their turn then"
    text = f"{cell.bound}/{cell.wanted} at once"
    return replace(cell, verdict=FINE, text=text, why=why, message="", blamed=None, at=(), worst=None)
