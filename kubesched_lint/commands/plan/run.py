"""``plan``: compare the manifests before and after a change on one cluster, in each of their environments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.clock import now
from kubesched_lint.commands.plan.changes import UNREAD, ObjectChange, beside_running, other_changes
from kubesched_lint.commands.plan.comparing import (
    budget_changes,
    cell_changes,
    established_never,
    explained,
    stuck_rollouts,
    unknown_in,
)
from kubesched_lint.commands.plan.judging import Ends, Rows, linted, most_steps, placed, simulated
from kubesched_lint.commands.plan.mending import mended
from kubesched_lint.commands.plan.plan_result import CellChange, Plan, StuckRollout, WorkloadPlan, workloads_once
from kubesched_lint.commands.plan.pools import PoolChange, node_changes, with_terraform
from kubesched_lint.commands.plan.room import Placement, added_changes, idle_changes, only_new, room_changes
from kubesched_lint.commands.plan.running import about_running
from kubesched_lint.commands.plan.scenes import Clusters, Scene, scenes_of
from kubesched_lint.commands.plan.version import Version, as_far_as_read, changed_unread
from kubesched_lint.commands.simulate.run import check_events
from kubesched_lint.commands.simulate.simulation_report import merged
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.releases import not_modelled
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.placing.scenarios import grown_scenario
from kubesched_lint.engine.scenario.former import rolled_out
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.verdicts.at_once import AtOnce, at_once, weakened
from kubesched_lint.engine.verdicts.matrix import EVENTS
from kubesched_lint.explaining.pending import agreement
from kubesched_lint.linter.environments.environments import named_once, said_once
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.terraform import TerraformPools


class _Judged(Struct, frozen=True):
    """What is known of one environment."""

    scene: Scene
    rows: Rows
    ends: Ends | None
    running: bool
    cells: Mapping[ObjectRef, tuple[CellChange, ...]]
    """The changed cells of each workload that has some."""

    @property
    def name(self) -> str:
        return self.scene.name

    def plans(self) -> Iterator[WorkloadPlan]:
        """Yield what changes for each workload."""
        changes, cells = self.scene.changes, self.cells
        unknown = unknown_in(self.rows[1])
        old, new = self.scene.workloads
        for ref in {**old, **new}:
            if ref in changes or ref in cells:
                is_open = ref in changes and (ref in unknown or UNREAD in changes[ref].actions)
                cells_of_it, both = cells.get(ref, ()), ref in self.scene.shown and ref in old and ref in new
                yield WorkloadPlan(
                    ref,
                    changes.get(ref),
                    cells_of_it,
                    is_open=is_open,
                    zones=self.zones(ref),
                    weakened=tuple(self.weakened(ref)) if both and ref in changes else (),
                    is_compared=both,
                )

    def zones(self, ref: ObjectRef) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """The pods of a changed workload per zone on both sides, if it is there on both and they differ."""
        if self.ends is None:
            return None
        old, new = (end.zones for end in self.ends)
        there = ref in old and ref in new and all(ref in side for side in self.scene.workloads)
        return (old[ref], new[ref]) if there and old[ref] != new[ref] else None

    def weakened(self, ref: ObjectRef) -> Iterator[tuple[AtOnce, AtOnce]]:
        """Yield losses that may take a larger part of a changed workload at once than before: before, after."""
        old, new = (list(_at_once(side.scenario, ref)) for side in self.scene.sides)
        yield from weakened(old, new)

    def open(self) -> frozenset[ObjectRef]:
        """The workloads that may be affected: cells are established on neither side."""
        return established_never(*self.rows) - self.scene.changes.keys() - self.cells.keys()

    def background(self) -> Sequence[str]:
        """Notes that tell what is assumed, or what is so on both sides; that another version judges is none."""
        old, new = (() if side is None else side.notes for side in self.rows)
        simulated = () if self.rows[1] is None else self.rows[1].background
        side = self.scene.after
        versions = [*not_modelled(side.once.options.kubernetes_version, side.cluster.server_version)]
        both = [note for note in new if note in old and note not in versions]
        return [*both, *simulated, *agreement(self.scene.after.cluster, self.scene.after.scenario.premises)]

    def notes(self) -> Iterator[str]:
        yield from self.scene.left_out
        if self.rows[1] is not None:
            yield from self.rows[1].notes
        if self.running:
            yield from about_running(self.scene.before.scenario, self.scene.after.scenario)
        if self.rows[1] is None:
            side = self.scene.after
            yield from not_modelled(side.once.options.kubernetes_version, side.cluster.server_version)
            yield from agreement(side.cluster, side.scenario.premises)


def _at_once(scenario: Scenario, ref: ObjectRef) -> Iterator[AtOnce]:
    simulated = simulated_set_of(grown_scenario(scenario))
    for number, workload in enumerate(simulated.workloads):
        if workload.ref == ref:
            yield from at_once(simulated.member(number))


def plan(
    before: Version,
    after: Version,
    cluster: Cluster,
    rulebook: Rulebook,
    events: Sequence[str] = EVENTS,
    *,
    running: bool = False,
    former: Cluster | None = None,
    terraform: TerraformPools | None = None,
    rows: int = 0,
) -> Plan:
    """Return the plan. With ``running``, ``before`` are the workloads that run in the cluster.

    ``former`` is the cluster before the change, if the change edits its files; ``terraform`` changes node groups.
    The matrices of this and other plans of a run have about so many ``rows`` together.

    Pods that run in the cluster belong to a workload of either side; they are gone where that side does not have it.
    Raises UnknownRuleError, and ValueError for an unknown event or environment.
    """
    check_events(events, EVENTS)
    first = None if running else before.manifests.inventory
    after = replace(after, manifests=replace(after.manifests, before=first))
    clusters, pools, about_pools = _changed_cluster(former, cluster, terraform)
    with work.within(most_steps(before, after)):
        scenes, notes = scenes_of(before, after, clusters, running=running)
        cells = simulated(scenes, events, rows)
        lint = linted(before, after, scenes, clusters, rulebook, running=running)
        ends, why_no_ends = placed(scenes)
    parts = [
        _Judged(scene, both, placements, running, dict(cell_changes(*both)))
        for scene, both, placements in zip(scenes, cells, ends, strict=True)
    ]
    names = tuple(filter(None, (scene.name for scene in scenes)))
    told = [f"{side.name}: {why}" for side in (before, after) for why in side.manifests.without_pods]
    named = set(after.manifests.without_pods)
    told += [*_about_submodules(before, after), *about_pools, *notes]
    own_notes = said_once([(part.name, [*part.notes()]) for part in parts])
    background = said_once([(part.name, part.background()) for part in parts])
    told += [note for note in own_notes if note not in named]
    told += [*lint.notes, *why_no_ends]
    whole_plan = _with_ends(_with_cells(Plan(before.name, after.name, tuple(events)), parts), parts)
    beside = _beside(before, after, cluster, _changes(parts), running=running)
    whole_plan = replace(
        whole_plan,
        objects=tuple(as_far_as_read(change, before, after) for change in beside),
        findings=lint.findings,
        cluster=lint.reports[1].summary.cluster or lint.cluster.describe(now),  # nothing is linted of an empty set
        errors=(*after.errors, *lint.reports[1].errors),
        errors_before=lint.reports[0].errors,
        unread=() if running else tuple(changed_unread(before.manifests, after.manifests)),
        notes=tuple(dict.fromkeys(told)),
        background=(*background, *notes) if len(names) > 1 else background,
        environments=names,
        pools=(*pools, *_once(parts, lambda part: part.scene.pools)),
        losses=_once(parts, lambda part: part.scene.losses),
    )
    return whole_plan if running else mended(whole_plan, after, lint, rulebook)


def _changed_cluster(
    former: Cluster | None, cluster: Cluster, terraform: TerraformPools | None
) -> tuple[Clusters, tuple[PoolChange, ...], tuple[str, ...]]:
    """Return the cluster of both sides, what differs in its nodes and pools, and notes.

    A file that was only written anew, such as with another indentation, is the same cluster.
    """
    if former is not None and _holds_the_same(former, cluster):
        former = None
    old = cluster if former is None else former
    pools = () if former is None else tuple(node_changes(former, cluster))
    if terraform is None:
        return (old, cluster), pools, ()
    later, further, notes = with_terraform(cluster, terraform)
    return (old, later), (*pools, *further), notes


def _holds_the_same(cluster: Cluster, other: Cluster) -> bool:
    ours, theirs = cluster.inventory.lists(), other.inventory.lists()
    return all(same_values(mine, other_list) for (_, mine), (_, other_list) in zip(ours, theirs, strict=True))


# --- all environments together ----------------------------------------------------------------------------------------


def _changes(parts: Sequence[_Judged]) -> list[ObjectChange]:
    return [change for part in parts for change in part.scene.changes.values()]


def _once(parts: Sequence[_Judged], pick: Callable[[_Judged], Iterable[Any]]) -> tuple[Any, ...]:
    told = (((part.name,), picked) for part in parts for picked in pick(part))
    return named_once(told, [part.name for part in parts])


def _with_cells(bare_plan: Plan, parts: Sequence[_Judged]) -> Plan:
    """Return the plan with what becomes of workloads; what is the same in several environments stands once."""
    everybody = {ref for part in parts for ref in part.scene.subjects}
    left_out = {ref for part in parts for ref in part.scene.touched - part.scene.shown}
    open_ = {ref for part in parts for ref in part.open()}
    names = [part.name for part in parts]
    workloads = workloads_once((((part.name,), workload) for part in parts for workload in part.plans()), names)
    changed = {workload.object for workload in workloads}
    explain = [
        (part.name, each)
        for part in parts
        if (each := explained(part.rows[1], part.cells, part.scene.changes)) is not None
    ]
    return replace(
        bare_plan,
        workloads=workloads,
        budgets=_once(parts, lambda part: budget_changes(part.cells)),
        stuck=_once(parts, _stuck),
        untouched=frozenset(everybody - changed - open_ - left_out),
        open=frozenset(open_ - changed),
        simulation=merged(explain, (), names) if explain else None,
    )


def _stuck(part: _Judged) -> Iterator[StuckRollout]:
    old, new = part.scene.workloads
    yield from stuck_rollouts(part.rows[1], rolled_out(new.values(), () if part.running else old.values()))


def _with_ends(bare_plan: Plan, parts: Sequence[_Judged]) -> Plan:
    """Return the plan with what the placements of both sides differ in."""

    def once(pick: Callable[[Placement, Placement], Iterable[Any]]) -> tuple[Any, ...]:
        return _once(parts, lambda part: () if part.ends is None else pick(*part.ends))

    return replace(
        bare_plan,
        nodes=once(added_changes),
        idle=once(idle_changes),
        evictions=once(only_new),
        spared=once(lambda old, new: only_new(new, old)),
        room=once(lambda old, new: room_changes(old.room, new.room)),
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


def _about_submodules(*sides: Version) -> Iterator[str]:
    for path in dict.fromkeys(path for side in sides for path in side.submodules):
        yield f"{path} is a submodule: no commit of this repository has its files"
