"""``plan``: compare the manifests before and after a change on one cluster, in each of their environments."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint import work
from kubesched_lint.analysis.pending import agreement
from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.commands.plan.changes import ObjectChange, beside_running, other_changes
from kubesched_lint.commands.plan.comparing import (
    budget_changes,
    cell_changes,
    established_never,
    explained,
    stuck_rollouts,
    unknown_in,
)
from kubesched_lint.commands.plan.found import CellChange, Plan, StuckRollout, WorkloadPlan
from kubesched_lint.commands.plan.judging import Ends, Rows, linted, most_steps, placed, simulated
from kubesched_lint.commands.plan.room import Eviction, added_changes, idle_changes, room_changes
from kubesched_lint.commands.plan.running import about_running
from kubesched_lint.commands.plan.scenes import Scene, scenes_of
from kubesched_lint.commands.plan.version import Version, as_far_as_read
from kubesched_lint.commands.simulate.found import merged
from kubesched_lint.commands.simulate.run import check_events
from kubesched_lint.findings import ObjectRef
from kubesched_lint.lifecycle.matrix import EVENTS
from kubesched_lint.linter.environments import once_each, said_once, unless_all
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.world.former import rolled_out

T = TypeVar("T", bound=Hashable)


class _Judged(Struct, frozen=True):
    """What is known of one environment."""

    scene: Scene
    rows: Rows
    ends: Ends | None
    running: bool

    @property
    def name(self) -> str:
        return self.scene.name

    def cells(self) -> dict[ObjectRef, tuple[CellChange, ...]]:
        return dict(cell_changes(*self.rows))

    def plans(self) -> Iterator[WorkloadPlan]:
        """Yield what changes for each workload."""
        changes, cells = self.scene.changes, self.cells()
        unknown = unknown_in(self.rows[1])
        old, new = self.scene.workloads
        for ref in {**old, **new}:
            if ref in changes or ref in cells:
                yield WorkloadPlan(ref, changes.get(ref), cells.get(ref, ()), is_open=ref in changes and ref in unknown)

    def open(self) -> frozenset[ObjectRef]:
        """The workloads that may be affected: cells are established on neither side."""
        return established_never(*self.rows) - self.scene.changes.keys() - self.cells().keys()

    def notes(self) -> Iterator[str]:
        if self.rows[1] is not None:
            yield from self.rows[1].notes
        if self.running:
            yield from about_running(self.scene.before.world, self.scene.after.world)
        if self.rows[1] is None:
            yield from agreement(self.scene.after.cluster, self.scene.after.world.premises)


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
    Raises UnknownRuleError, and ValueError for an unknown event or environment.
    """
    check_events(events, EVENTS)
    former = None if running else before.manifests.inventory
    after = replace(after, manifests=replace(after.manifests, before=former))
    with work.within(most_steps(before, after)):
        scenes, notes = scenes_of(before, after, cluster, running=running)
        rows = simulated(scenes, events)
        lint = linted(before, after, scenes, cluster, rulebook, running=running)
        ends, why_no_ends = placed(scenes)
    parts = [_Judged(*each, running) for each in zip(scenes, rows, ends, strict=True)]
    names = tuple(filter(None, (scene.name for scene in scenes)))
    told = [f"{side.name}: {why}" for side in (before, after) for why in side.manifests.without_pods]
    named = set(after.manifests.without_pods)
    told += [*_about_submodules(before, after), *notes]
    own_notes = said_once([(part.name, [*part.notes()]) for part in parts])
    told += [note for note in own_notes if note not in named]
    told += [*lint.notes, *why_no_ends]
    found = _with_ends(_with_cells(Plan(before.name, after.name, tuple(events)), parts), parts)
    beside = _beside(before, after, cluster, _changes(parts), running=running)
    return replace(
        found,
        objects=tuple(as_far_as_read(change, before, after) for change in beside),
        findings=lint.findings,
        cluster=lint.reports[1].summary.cluster,
        errors=(*after.errors, *lint.reports[1].errors),
        errors_before=lint.reports[0].errors,
        notes=tuple(dict.fromkeys(told)),
        environments=names,
    )


# --- all environments together ----------------------------------------------------------------------------------------


def _changes(parts: Sequence[_Judged]) -> list[ObjectChange]:
    return [change for part in parts for change in part.scene.changes.values()]


def _once(parts: Sequence[_Judged], each: Iterable[tuple[str, Iterable[T]]]) -> Iterator[tuple[T, tuple[str, ...]]]:
    names = [part.name for part in parts]
    return once_each((((name,), thing) for name, things in each for thing in things), names)


def _with_cells(found: Plan, parts: Sequence[_Judged]) -> Plan:
    """Return the plan with what becomes of workloads; what is the same in several environments stands once."""
    everybody = {ref for part in parts for ref in part.scene.subjects}
    left_out = {ref for part in parts for ref in part.scene.touched - part.scene.shown}
    open_ = {ref for part in parts for ref in part.open()}
    plans: dict[Hashable, tuple[WorkloadPlan, list[str]]] = {}
    names = [part.name for part in parts]
    for part in parts:
        for one in part.plans():
            plans.setdefault(one.seen, (one, []))[1].append(part.name)
    workloads = [replace(one, environments=unless_all(where, names)) for one, where in plans.values()]
    order = {ref: place for place, ref in enumerate(dict.fromkeys(one.object for one in workloads))}
    explain = [
        (part.name, each)
        for part in parts
        if (each := explained(part.rows[1], part.cells(), part.scene.changes)) is not None
    ]
    budgets = _once(parts, [(part.name, budget_changes(part.cells())) for part in parts])
    stuck = _once(parts, [(part.name, _stuck(part)) for part in parts])
    return replace(
        found,
        workloads=tuple(sorted(workloads, key=lambda one: order[one.object])),
        budgets=tuple(replace(one, environments=where) for one, where in budgets),
        stuck=tuple(replace(one, environments=where) for one, where in stuck),
        untouched=frozenset(everybody - order.keys() - open_ - left_out),
        open=frozenset(open_ - order.keys()),
        simulation=merged(explain, (), names) if explain else None,
    )


def _stuck(part: _Judged) -> Iterator[StuckRollout]:
    old, new = part.scene.workloads
    yield from stuck_rollouts(part.rows[1], rolled_out(new.values(), () if part.running else old.values()))


def _with_ends(found: Plan, parts: Sequence[_Judged]) -> Plan:
    """Return the plan with what the placements of both sides differ in."""
    known = [(part.name, part.ends) for part in parts if part.ends is not None]
    nodes = _once(parts, [(name, added_changes(*ends)) for name, ends in known])
    idle = _once(parts, [(name, idle_changes(*ends)) for name, ends in known])
    new = _once(parts, [(name, _only_first(ends[1].evictions, ends[0].evictions)) for name, ends in known])
    gone = _once(parts, [(name, _only_first(ends[0].evictions, ends[1].evictions)) for name, ends in known])
    room = _once(parts, [(name, room_changes(ends[0].room, ends[1].room)) for name, ends in known])
    return replace(
        found,
        nodes=tuple(replace(one, environments=where) for one, where in nodes),
        idle=tuple(replace(one, environments=where) for one, where in idle),
        evictions=tuple(replace(one, environments=where) for one, where in new),
        spared=tuple(replace(one, environments=where) for one, where in gone),
        room=tuple(replace(one, environments=where) for one, where in room),
    )


# --- the rest ---------------------------------------------------------------------------------------------------------


def _beside(
    before: Version, after: Version, cluster: Cluster, told: Iterable[ObjectChange], *, running: bool
) -> Iterator[ObjectChange]:
    """Yield the changes of objects that are no workloads; ``told`` are those of workloads."""
    if running:
        yield from beside_running(after.manifests, cluster, after.options.namespace)
    else:
        yield from other_changes(before.manifests, after.manifests, after.options.namespace, told)


def _only_first(ours: Sequence[Eviction], theirs: Sequence[Eviction]) -> tuple[Eviction, ...]:
    """Return the evictions of pods that the others do not evict."""
    known = {pod for eviction in theirs for pod in eviction.pods}
    left = (replace(one, pods=tuple(pod for pod in one.pods if pod not in known)) for one in ours)
    return tuple(one for one in left if one.pods)


def _about_submodules(*sides: Version) -> Iterator[str]:
    for path in dict.fromkeys(path for side in sides for path in side.submodules):
        yield f"{path} is a submodule: no commit of this repository has its files"
