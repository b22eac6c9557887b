"""``plan``: compare the manifests before and after a change on one cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint import work
from kubesched_lint.analysis.pending import agreement
from kubesched_lint.analysis.plan import Added
from kubesched_lint.analysis.worlds import without_transient
from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.cluster.revisions import live_replicas
from kubesched_lint.commands.limits import MOST_CELLS
from kubesched_lint.commands.lint.report_extras import most_rows
from kubesched_lint.commands.plan.affected import affected
from kubesched_lint.commands.plan.changes import (
    ObjectChange,
    beside_running,
    other_changes,
    unseen_templates,
    workload_changes,
)
from kubesched_lint.commands.plan.judging import Side, judged, most_steps
from kubesched_lint.commands.plan.room import (
    Eviction,
    IdleChange,
    RoomChange,
    added_changes,
    idle_changes,
    room_changes,
)
from kubesched_lint.commands.plan.version import Version, as_far_as_read
from kubesched_lint.commands.simulate.run import SimulationReport, check_events, defined_once
from kubesched_lint.findings import InputError, Location, ObjectRef, Severity
from kubesched_lint.lifecycle.matrix import EVENTS
from kubesched_lint.lifecycle.verdict_order import BETTER, WORSE, differs, direction
from kubesched_lint.lifecycle.verdicts import BAD, UNKNOWN, Cell
from kubesched_lint.linter.running_set import running_set
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.policy import DisruptionBudget
from kubesched_lint.model.workload import Workload
from kubesched_lint.project.finding_changes import FindingChanges, worst
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.text import many
from kubesched_lint.world.former import rolled_out
from kubesched_lint.world.refused import accepted
from kubesched_lint.world.world import World

RUNNING = "what runs in the cluster"


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


class WorkloadPlan(Struct, frozen=True):
    """What the change does to one workload; ``change`` is None if the change touches others only."""

    object: ObjectRef
    change: ObjectChange | None = None
    cells: tuple[CellChange, ...] = ()

    @property
    def direction(self) -> str:
        """Return WORSE if a cell is, else BETTER if a cell is, else empty."""
        found = {cell.direction for cell in self.cells}
        return WORSE if WORSE in found else BETTER if BETTER in found else ""


class BudgetChange(Struct, frozen=True):
    """A disruption budget that blocks the drain of pods of a workload, in all orders of events or in some."""

    budget: str
    object: ObjectRef
    is_new: bool
    always: bool


class StuckRollout(Struct, frozen=True):
    """A rollout that the change starts and that is proven never to end."""

    object: ObjectRef
    why: str
    location: Location | None
    """The line to blame."""


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
    same: int = 0
    """Workloads that the change neither touches nor affects."""
    unknown: int = 0
    """Workloads that it may affect: some of their cells are established on neither side."""
    cluster: str = ""
    errors: tuple[InputError, ...] = ()
    """What cannot be read after the change."""
    errors_before: tuple[InputError, ...] = ()
    notes: tuple[str, ...] = ()
    simulation: SimulationReport | None = None
    """The changed cells after the change that did not become better, to explain them."""

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


def plan(
    before: Version,
    after: Version,
    cluster: Cluster,
    rulebook: Rulebook,
    events: Sequence[str] = EVENTS,
    *,
    running: bool = False,
) -> Plan:
    """Return the plan. With ``running``, ``before`` are the workloads that run in the cluster.

    Pods that run in the cluster belong to a workload of either side; they are gone where that side does not have it.
    Raises UnknownRuleError, and ValueError for an unknown event.
    """
    check_events(events, EVENTS)
    former = None if running else before.manifests.inventory
    after = replace(after, manifests=replace(after.manifests, before=former))
    (ours_once, chosen), (theirs_once, chosen_after) = _defined_once(before), _defined_once(after)
    sides = ours_once, theirs_once
    old, new = ({w.ref: w for w in side.manifests.inventory.workloads} for side in sides)
    created = [workload for ref, workload in new.items() if ref not in old]
    removed = [] if running else [workload for ref, workload in old.items() if ref not in new]
    clusters = _without(cluster, created), _without(cluster, removed)
    written = [_world(side, each) for side, each in zip(sides, clusters, strict=True)]
    ours, theirs = map(accepted, written)
    found = workload_changes(written[0], written[1], running=running)
    changes = {change.object: as_far_as_read(change, before, after) for change in found}
    everybody = {**old, **new}
    both = [Side(*each) for each in zip(sides, (before, after), clusters, written, strict=True)]
    with work.within(most_steps(before, after)):
        touched = work.tried(lambda: affected(ours, theirs), frozenset(everybody)) | changes.keys()
        shown, notes = _rows(touched, changes, len(cluster.inventory.nodes))
        judgement = judged(both, events, shown, rulebook, is_placed=bool(touched))
    rows, reports, ends = judgement.rows, judgement.reports, judgement.ends
    cells = dict(_cell_changes(*rows))
    open_ = _established_never(*rows) - changes.keys() - cells.keys()
    beside = _beside(before, after, cluster, changes.values(), running=running)
    told = [f"{side.name}: {why}" for side in (before, after) for why in side.manifests.without_pods]
    named = set(after.manifests.without_pods)
    told += [*chosen, *chosen_after, *_about_submodules(before, after), *notes]
    told += [note for note in _notes(rows[1]) if note not in named]
    told += _about_running(ours, theirs) if running else ()
    told += agreement(cluster, theirs.premises) if rows[1] is None else ()
    told += judgement.notes
    return Plan(
        before.name,
        after.name,
        tuple(events),
        tuple(
            WorkloadPlan(ref, changes.get(ref), cells.get(ref, ())) for ref in everybody if ref in {**changes, **cells}
        ),
        tuple(as_far_as_read(change, before, after) for change in beside),
        judgement.findings,
        tuple(added_changes(*ends)) if ends else (),
        tuple(idle_changes(*ends)) if ends else (),
        _only_first(ends[1].evictions, ends[0].evictions) if ends else (),
        _only_first(ends[0].evictions, ends[1].evictions) if ends else (),
        tuple(_budget_changes(cells)),
        tuple(_stuck_rollouts(rows[1], rolled_out(new.values(), () if running else old.values()))),
        tuple(room_changes(ends[0].room, ends[1].room)) if ends else (),
        len(everybody.keys() - changes.keys() - cells.keys() - open_ - (touched - shown)),
        len(open_),
        reports[1].summary.cluster,
        (*after.errors, *reports[1].errors),
        reports[0].errors,
        tuple(dict.fromkeys(told)),
        _explained(rows[1], cells),
    )


# --- the two sides --------------------------------------------------------------------------------------------------


def _defined_once(side: Version) -> tuple[Version, tuple[str, ...]]:
    """Return the side without alternatives, with one definition of each object, and notes on the choices."""
    inventory, notes = defined_once(side.manifests.inventory, side.options)
    return replace(side, manifests=replace(side.manifests, inventory=inventory)), notes


def _without(cluster: Cluster, workloads: Sequence[Workload]) -> Cluster:
    """Return the cluster without workloads and their pods."""
    refs, pods = {w.ref for w in workloads}, {b for w in workloads for b in cluster.running.pods_of(w)}
    inventory = cluster.inventory
    if not pods and refs.isdisjoint(w.ref for w in inventory.workloads):
        return cluster
    left = tuple(bound for bound in inventory.pods if bound not in pods)
    others = tuple(w for w in inventory.workloads if w.ref not in refs)
    return replace(cluster, inventory=replace(inventory, pods=left, workloads=others))


def _world(side: Version, cluster: Cluster) -> World:
    """Return the world that ``simulate`` uses."""
    return World(side.manifests.inventory, without_transient(cluster), side.manifests.premises(side.options))


# --- cells ----------------------------------------------------------------------------------------------------------


def _rows(
    touched: Collection[ObjectRef], changed: Collection[ObjectRef], nodes: int
) -> tuple[frozenset[ObjectRef], tuple[str, ...]]:
    """Return the workloads to simulate, and a note on those that are too many: changed ones come first."""
    most = most_rows(nodes, MOST_CELLS)
    if len(touched) <= most:
        return frozenset(touched), ()
    first = sorted(touched, key=lambda ref: (ref not in changed, str(ref)))[:most]
    note = f"cells of {most:,} of {len(touched):,} affected workloads were compared, changed ones first"
    return frozenset(first), (note,)


def _cell_changes(
    before: SimulationReport | None, after: SimulationReport | None
) -> Iterator[tuple[ObjectRef, tuple[CellChange, ...]]]:
    """Yield the workloads with changed cells."""
    old, new = _cells(before), _cells(after)
    for ref in {**old, **new}:
        ours, theirs = old.get(ref, {}), new.get(ref, {})
        pairs = ((event, ours.get(event), theirs.get(event)) for event in {**ours, **theirs})
        found = tuple(_cell_change(after, *pair) for pair in pairs if differs(*pair[1:]))
        if found:
            yield ref, found


def _cell_change(after: SimulationReport | None, event: str, ours: Cell | None, theirs: Cell | None) -> CellChange:
    place = after.place(theirs) if after is not None and theirs is not None else None
    return CellChange(event, ours, theirs, place)


def _established_never(before: SimulationReport | None, after: SimulationReport | None) -> frozenset[ObjectRef]:
    """Return the workloads with a cell that is established neither before nor after the change."""
    old, new = _cells(before), _cells(after)
    return frozenset(
        ref
        for ref, ours in old.items()
        for event, cell in ours.items()
        if cell.verdict == UNKNOWN and (other := new.get(ref, {}).get(event)) and other.verdict == UNKNOWN
    )


def _explained(
    after: SimulationReport | None, cells: Mapping[ObjectRef, Sequence[CellChange]]
) -> SimulationReport | None:
    """Return the simulation with its changed cells only, without those that became better."""
    if after is None or not cells:
        return None
    rows = []
    for row in after.rows:
        changes = cells.get(after.workloads[row.number].ref, ())
        changed = {change.event for change in changes if change.direction != BETTER}
        rows.append(replace(row, cells=tuple(cell for cell in row.cells if cell.event in changed)))
    return replace(after, rows=tuple(row for row in rows if row.cells), skews=(), notes=(), errors=())


def _cells(simulation: SimulationReport | None) -> Mapping[ObjectRef, Mapping[str, Cell]]:
    if simulation is None:
        return {}
    return {simulation.workloads[r.number].ref: {c.event: c for c in r.cells} for r in simulation.rows}


def _budget_changes(cells: Mapping[ObjectRef, Sequence[CellChange]]) -> Iterator[BudgetChange]:
    for ref, changes in cells.items():
        for change in changes:
            ends = ((_blocking(change.before), change.before, False), (_blocking(change.after), change.after, True))
            if ends[0][0] != ends[1][0]:
                for name, cell, is_new in ends:
                    if name and cell is not None:
                        yield BudgetChange(name, ref, is_new, cell.always_stuck)


def _stuck_rollouts(after: SimulationReport | None, started: Collection[ObjectRef]) -> Iterator[StuckRollout]:
    """Yield the rollouts of workloads whose template the change differs in, if they are proven never to end."""
    if after is None:
        return
    for row in after.rows:
        ref = after.workloads[row.number].ref
        for cell in row.cells:
            if ref in started and cell.event == "rollout" and cell.verdict == BAD and cell.proven and cell.always_stuck:
                yield StuckRollout(ref, cell.why, after.place(cell))


def _blocking(cell: Cell | None) -> str:
    """Return the budget that keeps a drain from ending; empty if none does."""
    is_stuck = cell is not None and cell.event == "drain" and cell.stuck
    return cell.blamed.name if is_stuck and cell is not None and isinstance(cell.blamed, DisruptionBudget) else ""


def _beside(
    before: Version, after: Version, cluster: Cluster, told: Iterable[ObjectChange], *, running: bool
) -> Iterator[ObjectChange]:
    """Yield the changes of objects that are no workloads; ``told`` are those of workloads."""
    if running:
        yield from beside_running(after.manifests, cluster, after.options.namespace)
    else:
        yield from other_changes(before.manifests, after.manifests, after.options.namespace, told)


# --- what runs in the cluster ---------------------------------------------------------------------------------------


def as_it_runs(after: Version, cluster: Cluster) -> Version:
    """Return the workloads of ``after`` as they run in the cluster; its other workloads stay where they are."""
    found = running_set(cluster)
    live = {workload.ref: workload for workload in found.inventory.workloads}
    written = after.manifests.inventory.workloads
    seen = (live.get(workload.ref) or _by_its_pods(workload, cluster) for workload in written)
    workloads = tuple({workload.ref: workload for workload in seen if workload is not None}.values())
    options = replace(after.options, partial=True)
    return Version(RUNNING, replace(found, inventory=Inventory(workloads=workloads)), options)


def _by_its_pods(workload: Workload, cluster: Cluster) -> Workload | None:
    """Return a workload whose pods run although the cluster file lists no such object; None if none runs."""
    if not cluster.running.pods_of(workload):
        return None
    replicas = live_replicas(workload, cluster) or workload.replicas
    return replace(workload, replicas=replicas, replicas_written=True, source=None)  # what runs was accepted


def _about_running(before: World, after: World) -> Iterator[str]:
    unseen = unseen_templates(before, after)
    if unseen:
        whose = many(unseen, "running workload")
        yield f"the snapshot does not show whether the templates of {whose} change in what scheduling does not read"
    yield "rules about the text of manifests do not judge running workloads: their findings count as new"


# --- the rest -------------------------------------------------------------------------------------------------------


def _only_first(ours: Sequence[Eviction], theirs: Sequence[Eviction]) -> tuple[Eviction, ...]:
    """Return the evictions of pods that the others do not evict."""
    known = {pod for eviction in theirs for pod in eviction.pods}
    left = (replace(one, pods=tuple(pod for pod in one.pods if pod not in known)) for one in ours)
    return tuple(one for one in left if one.pods)


def _about_submodules(*sides: Version) -> Iterator[str]:
    for path in dict.fromkeys(path for side in sides for path in side.submodules):
        yield f"{path} is a submodule: no commit of this repository has its files"


def _notes(after: SimulationReport | None) -> Sequence[str]:
    """Return the notes of the simulation after the change: those of pools say what holds then."""
    return () if after is None else after.notes
