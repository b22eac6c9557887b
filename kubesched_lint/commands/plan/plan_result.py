"""What ``plan`` found: the change of each workload and of what else it touches."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.commands.plan.changes import ObjectChange
from kubesched_lint.commands.plan.pools import NodeLoss, PoolChange
from kubesched_lint.commands.plan.room import Eviction, IdleChange, RoomChange
from kubesched_lint.commands.simulate.simulation_report import SimulationReport, seen
from kubesched_lint.engine.answers.cells import REFUSED, UNKNOWN, Cell
from kubesched_lint.engine.answers.order import BETTER, WORSE, direction
from kubesched_lint.engine.base.places import Location, ObjectRef
from kubesched_lint.engine.placing.growth.plan import Added
from kubesched_lint.engine.verdicts.at_once import AtOnce
from kubesched_lint.findings import InputError, Severity
from kubesched_lint.linter.environments import named_once
from kubesched_lint.notebook import Shown
from kubesched_lint.project.finding_changes import FindingChanges, worst
from kubesched_lint.sources.manifests.document import Unread


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

    @property
    def is_lost(self) -> bool:
        """Whether it was ok, and nobody knows how it ends now."""
        was_ok = self.before is not None and self.before.ends_well
        return was_ok and self.after is not None and self.after.verdict == UNKNOWN

    def becomes_bad(self, *, proven: bool) -> bool:
        """Whether it ends badly now: for certain, or with these nodes; and did not, or not for certain, before."""
        after, before = self.after, self.before
        if after is None or not after.ends_badly or after.proven is not proven:
            return False
        was_bad = before is not None and (before.ends_badly or before.verdict == REFUSED)
        return not was_bad or (after.proven and before is not None and not before.proven)


class WorkloadPlan(Struct, frozen=True):
    """What the change does to one workload; ``change`` is None if the change touches others only."""

    object: ObjectRef
    change: ObjectChange | None = None
    cells: tuple[CellChange, ...] = ()
    environments: tuple[str, ...] = ()
    """Where this holds, if not in all environments that were judged."""
    is_open: bool = False
    """Whether it changes itself, and how some event ends for it afterwards is not established."""

    zones: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """Its pods per zone in one placement before and after the change, if these differ."""
    weakened: tuple[tuple[AtOnce, AtOnce], ...] = ()
    """Losses that may take a larger part of its pods at once than before the change: before, after."""
    is_compared: bool = False
    """Whether its events were simulated before and after the change."""
    mend: str = ""
    """An edit, in words, with which its rollouts end again; empty if none is known."""

    @property
    def is_told(self) -> bool:
        """Whether reports have a row for it: it changes itself, or an event is established to end better or worse."""
        return self.change is not None or bool(self.direction)

    @property
    def seen(self) -> Hashable:
        """What a reader sees of it; where it is written may differ."""
        change = None if self.change is None else replace(self.change, location=None, line=None)
        cells = ((c.event, *(each and seen(each) for each in (c.before, c.after))) for c in self.cells)
        return self.object, change, tuple(cells), self.zones, self.weakened

    @property
    def is_refused(self) -> bool:
        """Whether the API server refuses it after the change, and did not before."""
        ends = ((c.before, c.after) for c in self.cells)
        return any(a is not None and a.verdict == REFUSED and (b is None or b.verdict != REFUSED) for b, a in ends)

    def hangs(self, *, proven: bool) -> bool:
        """Whether its rollouts end no more, for certain or on these nodes; a new workload rolls nothing out yet."""
        return any(
            c.event == "rollout" and c.before is not None and c.becomes_bad(proven=proven) and c.after.always_stuck
            for c in self.cells
            if c.after is not None
        )

    def waiting(self, *, proven: bool) -> CellChange | None:
        """The deploy that leaves pods Pending, or more of them, for certain or on these nodes; None if none does."""
        ends_badly = (c for c in self.cells if c.event == "deploy" and c.after is not None and c.after.ends_badly)
        worse = (c for c in ends_badly if c.becomes_bad(proven=proven) or c.direction == WORSE)
        return next((c for c in worse if c.after is not None and c.after.proven is proven), None)

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


class Plan(Shown, Struct, frozen=True):
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
    pools: tuple[PoolChange, ...] = ()
    """What becomes of nodes and pools, if the change edits the cluster's files or its pools."""
    losses: tuple[NodeLoss, ...] = ()
    """The workloads that may use fewer nodes."""
    untouched: frozenset[ObjectRef] = frozenset()
    """Workloads that the change neither touches nor affects."""
    open: frozenset[ObjectRef] = frozenset()
    """Workloads that it may affect: some of their cells are established on neither side."""
    cluster: str = ""
    errors: tuple[InputError, ...] = ()
    """What cannot be read after the change."""
    errors_before: tuple[InputError, ...] = ()
    unread: tuple[Unread, ...] = ()
    """What makes objects, is not read and changes."""
    notes: tuple[str, ...] = ()
    background: tuple[str, ...] = ()
    """Notes of ``notes`` that tell what is assumed or left out in any plan of these files: a short report has none."""
    simulation: SimulationReport | None = None
    """The changed cells after the change that did not become better, to explain them."""
    environments: tuple[str, ...] = ()
    """The environments that were judged, if the manifests of a side have several."""
    shadow: tuple[ObjectRef, ...] | None = None
    """The objects that would have failed the run; None if it is not in shadow."""
    blocks: bool | None = None
    """Whether the run exits with 1, were it not in shadow; None: as the default of ``--fail-on`` says."""

    @property
    def is_blocked(self) -> bool:
        return self.is_worse if self.blocks is None else self.blocks

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
        known = self.workloads or self.objects or self.pools or self.findings.changes
        return not (known or self.unread or unread != unread_before)

    @property
    def never_end(self) -> list[StuckRollout | WorkloadPlan]:
        """The rollouts that end no more after the change: those that it starts, and those that it makes so."""
        started = {one.object for one in self.stuck}
        return [*self.stuck, *(w for w in self.workloads if w.object not in started and w.hangs(proven=True))]

    @property
    def worst_finding(self) -> Severity | None:
        """The highest severity of findings that are new or more severe."""
        return worst(self.findings.changes)

    @property
    def is_worse(self) -> bool:
        """Whether it is established that the change makes something worse: a cell, an error that is new, or pods that
        stay Pending or a rollout that never ends, whatever was known of them before.
        """
        return bool(self._worse or self.never_end) or self.worst_finding is Severity.ERROR

    @property
    def _worse(self) -> list[WorkloadPlan]:
        return [one for one in self.workloads if one.direction == WORSE or one.waiting(proven=True) is not None]

    def failing(self, least: Severity | None) -> tuple[ObjectRef, ...]:
        """Return the objects that fail a run: whose findings of at least ``least`` are new, or whose rollout never
        ends; with None, those for which something becomes worse.
        """
        found = [c.after for c in self.findings.changes if c.is_more_severe and c.after is not None]
        named = [one.object for one in found if one.severity >= (least or Severity.ERROR)]
        worse = self._worse if least is None else []
        return tuple(dict.fromkeys([*(one.object for one in (*worse, *self.never_end)), *named]))
