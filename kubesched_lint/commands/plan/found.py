"""What ``plan`` found: the change of each workload and of what else it touches."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.analysis.plan import Added
from kubesched_lint.commands.plan.changes import ObjectChange
from kubesched_lint.commands.plan.room import Eviction, IdleChange, RoomChange
from kubesched_lint.commands.simulate.found import SimulationReport, seen
from kubesched_lint.findings import InputError, Location, ObjectRef, Severity
from kubesched_lint.lifecycle.verdict_order import BETTER, WORSE, direction
from kubesched_lint.lifecycle.verdicts import UNKNOWN, Cell
from kubesched_lint.linter.environments import named_once
from kubesched_lint.project.finding_changes import FindingChanges, worst


class CellChange(Struct, frozen=True):
    """A changed cell; ``before`` or ``after`` is None if the workload does not exist then."""

    event: str
    before: Cell | None
    after: Cell | None
    location: Location | None = None
    """The line to blame for the cell after the change."""

    @property
    def direction(self) -> str:
        return direction(self.before, self.after)

    @property
    def is_told(self) -> bool:
        """Whether reports show it: what is not established before and after is no change."""
        ends = [cell for cell in (self.before, self.after) if cell is not None]
        return len(ends) < 2 or any(cell.verdict != UNKNOWN for cell in ends)


class WorkloadPlan(Struct, frozen=True):
    """What the change does to one workload; ``change`` is None if the change touches others only."""

    object: ObjectRef
    change: ObjectChange | None = None
    cells: tuple[CellChange, ...] = ()
    environments: tuple[str, ...] = ()
    """Where this holds, if not in all environments that were judged."""
    is_open: bool = False
    """Whether it changes itself, and how some event ends for it afterwards is not established."""

    @property
    def is_told(self) -> bool:
        """Whether reports have a row for it: it changes itself, or an event is established to end better or worse."""
        return self.change is not None or bool(self.direction)

    @property
    def seen(self) -> Hashable:
        """What a reader sees of it; where it is written may differ."""
        change = None if self.change is None else replace(self.change, location=None)
        cells = ((c.event, *(each and seen(each) for each in (c.before, c.after))) for c in self.cells)
        return self.object, change, tuple(cells)

    @property
    def direction(self) -> str:
        """Return WORSE if a cell is, else BETTER if a cell is, else empty."""
        found = {cell.direction for cell in self.cells}
        return WORSE if WORSE in found else BETTER if BETTER in found else ""


def workloads_once(
    told: Iterable[tuple[Sequence[str], WorkloadPlan]], names: Sequence[str]
) -> tuple[WorkloadPlan, ...]:
    """Return what a reader sees of each workload once; all of one workload stands together."""
    found = named_once(told, names, lambda one: one.seen)
    order = {ref: place for place, ref in enumerate(dict.fromkeys(one.object for one in found))}
    return tuple(sorted(found, key=lambda one: order[one.object]))


class BudgetChange(Struct, frozen=True):
    """A disruption budget that blocks the drain of pods of a workload, in all orders of events or in some."""

    budget: str
    object: ObjectRef
    is_new: bool
    always: bool
    environments: tuple[str, ...] = ()


class StuckRollout(Struct, frozen=True):
    """A rollout that the change starts and that is proven never to end."""

    object: ObjectRef
    why: str
    location: Location | None
    """The line to blame."""
    environments: tuple[str, ...] = ()


class Plan(Struct, frozen=True):
    """Everything that a report of ``plan`` may show; ``before`` and ``after`` name the sides."""

    before: str
    after: str
    events: tuple[str, ...]
    workloads: tuple[WorkloadPlan, ...] = ()
    objects: tuple[ObjectChange, ...] = ()
    findings: FindingChanges = field(default_factory=FindingChanges)
    nodes: tuple[Added, ...] = ()
    """Nodes that pools add more than before; a negative count for fewer."""
    idle: tuple[IdleChange, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    """Pods of others that are preempted only after the change."""
    spared: tuple[Eviction, ...] = ()
    """Pods of others that are preempted only before the change."""
    budgets: tuple[BudgetChange, ...] = ()
    stuck: tuple[StuckRollout, ...] = ()
    room: tuple[RoomChange, ...] = ()
    untouched: frozenset[ObjectRef] = frozenset()
    """Workloads that the change neither touches nor affects."""
    open: frozenset[ObjectRef] = frozenset()
    """Workloads that it may affect: some of their cells are established on neither side."""
    cluster: str = ""
    errors: tuple[InputError, ...] = ()
    """What cannot be read after the change."""
    errors_before: tuple[InputError, ...] = ()
    notes: tuple[str, ...] = ()
    simulation: SimulationReport | None = None
    """The changed cells after the change that did not become better, to explain them."""
    environments: tuple[str, ...] = ()
    """The environments that were judged, if the manifests of a side have several."""

    @property
    def same(self) -> int:
        return len(self.untouched)

    @property
    def unknown(self) -> int:
        return len(self.open)

    @property
    def is_empty(self) -> bool:
        """Whether the change changes nothing that this command knows of."""
        unread, unread_before = (sorted(e.message for e in es) for es in (self.errors, self.errors_before))
        return not (self.workloads or self.objects or self.findings.changes or unread != unread_before)

    @property
    def worst_finding(self) -> Severity | None:
        """The highest severity of findings that are new or more severe."""
        return worst(self.findings.changes)

    @property
    def is_worse(self) -> bool:
        """Whether it is established that the change makes something worse: a cell, an error that is new, or a rollout
        that it starts and that never ends.
        """
        is_cell = any(workload.direction == WORSE for workload in self.workloads)
        return is_cell or bool(self.stuck) or self.worst_finding is Severity.ERROR
