"""``simulate``: compute the matrix of events and workloads from a manifest set and a cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache

from kubesched_lint import work
from kubesched_lint.analysis.growth import growth_plan
from kubesched_lint.analysis.setting import setting_of
from kubesched_lint.analysis.well_known import unknown_nodes
from kubesched_lint.analysis.worlds import (
    WhatIf,
    amid_rollout,
    grown_world,
    surviving,
    with_known_growth,
    without_suspended,
    without_transient,
)
from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.commands.simulate.refuting_cells import established_cells
from kubesched_lint.commands.simulate.scaling import scale_events, sizes
from kubesched_lint.commands.simulate.weighing import weighed
from kubesched_lint.commands.simulate.what_if_cells import MEANWHILE, of_cluster, of_unknown_nodes
from kubesched_lint.findings import InputError, Location, ObjectRef
from kubesched_lint.lifecycle.by_scores import with_scores
from kubesched_lint.lifecycle.courses import Effort
from kubesched_lint.lifecycle.event_outcomes import scaled_to, size_after
from kubesched_lint.lifecycle.matrix import EVENTS, Matrix, Row, cut_short
from kubesched_lint.lifecycle.picture import Picture, picture
from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.lifecycle.skew import Skew, skews
from kubesched_lint.lifecycle.verdicts import BAD, Cell
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading import ManifestSet
from kubesched_lint.manifests.document import location_of
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.pod import Pod
from kubesched_lint.model.policy import DisruptionBudget, ResourceQuota
from kubesched_lint.model.workload import Workload, service_account
from kubesched_lint.record import record, replace
from kubesched_lint.text import first_few
from kubesched_lint.world.gangs import gangs_of
from kubesched_lint.world.pod_labels import not_followed
from kubesched_lint.world.world import World

MOST_STEPS, STEPS_EACH = 6_000_000, 80_000
"""Steps of the simulation of an ordinary set (see ``work``), and further steps per workload."""
MOST_STEPS_OF_LARGE = 2_500_000
"""Steps of the simulation of any other set."""
ORDINARY_WORKLOADS, ORDINARY_NODES, ORDINARY_PARTS = 200, 500, 30
"""The most that an ordinary set has; parts are those of the average pod."""

_FEW = 5
"""Number of objects of a kind that a note names."""
_SKEW_NODES = 200
"""Largest cluster for which skews are computed: they take twenty runs per workload."""


@record
class WorkloadSkew:
    workload: Workload
    skew: Skew


@record
class SimulationReport:
    """Everything that a report of ``simulate`` may show."""

    workloads: tuple[Workload, ...]
    events: tuple[str, ...]
    rows: tuple[Row, ...]
    skews: tuple[WorkloadSkew, ...] = ()
    before: Picture | None = None
    after: Picture | None = None
    pictured: str = ""
    """The event between ``before`` and ``after``."""
    errors: tuple[InputError, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_bad(self) -> bool:
        """Whether a cell is proven bad for every scheduler."""
        return any(c.verdict == BAD and c.proven for row in self.rows for c in row.cells)

    def place(self, cell: Cell) -> Location | None:
        """Return the manifest line to blame; None if there is none."""
        source = cell.blamed.source if cell.blamed is not None else None
        return None if source is None or not cell.at else location_of(source, cell.at)


def simulate(
    manifests: ManifestSet,
    cluster: Cluster,
    options: Options,
    events: Sequence[str] = EVENTS,
    effort: Effort | None = None,
    pictured: str = "",
    only: Collection[ObjectRef] | None = None,
    never_ready: Collection[str] = (),
    scale: Collection[str] = (),
) -> SimulationReport:
    """Return the matrix, or its rows for the workloads in ``only``.

    ``never_ready`` names workloads, as NAMESPACE/NAME, whose new pods never become ready. ``scale`` has numbers of
    replicas, as ``web=15``; each adds an event. Transient states of nodes (cordons, taints that controllers remove)
    count as over, as in ``lint``. Raises ValueError for an unknown event or workload.
    """
    inventory, chosen = defined_once(manifests.inventory, options)
    world = World(inventory, without_transient(cluster), manifests.premises(options))
    effort = effort or Effort()
    try:
        with work.within(_steps(effort, inventory, len(cluster.inventory.nodes))):
            return _simulated(manifests, cluster, world, chosen, events, effort, pictured, only, never_ready, scale)
    except work.OutOfWorkError as reason:
        return _cut_short(manifests, world, events, only, pictured, f"{reason}: nothing was simulated")


def _steps(effort: Effort, manifests: Inventory, nodes: int) -> int:
    """Return the limit of steps (see ``work``); a larger ``effort`` raises it.

    An ordinary set has few workloads, whose pods have few parts, and few nodes. There, more steps establish more cells.
    In any other set a trace is so long that more steps would allow only a few more traces and cost many seconds.
    """
    workloads = manifests.workloads
    few = len(workloads) <= ORDINARY_WORKLOADS and nodes <= ORDINARY_NODES
    is_ordinary = few and sum(_parts(w.pod) for w in workloads) <= ORDINARY_PARTS * len(workloads)
    steps = MOST_STEPS + STEPS_EACH * len(workloads) if is_ordinary else MOST_STEPS_OF_LARGE
    return steps * max(1, effort.states // Effort().states)


def _parts(pod: Pod) -> int:
    """Return the number of parts that the scheduler compares with nodes, pods and volumes."""
    terms = (pod.required_affinity, pod.required_anti_affinity, pod.preferred_affinity, pod.preferred_anti_affinity)
    node_terms = (pod.required_node_terms or (), pod.preferred_node_terms)
    own = (pod.spread, pod.tolerations, pod.volumes, pod.containers, pod.init_containers)
    return sum(map(len, (*terms, *node_terms, *own)))


def _cut_short(
    manifests: ManifestSet,
    world: World,
    events: Sequence[str],
    only: Collection[ObjectRef] | None,
    pictured: str,
    reason: str,
) -> SimulationReport:
    """Return a report in which every event is unknown."""
    workloads = tuple(w for w in world.order.workloads if w.kind != "CronJob")
    rows = [
        Row(i, tuple(cut_short(event, w.replicas, reason) for event in events))
        for i, w in enumerate(workloads)
        if only is None or w.ref in only
    ]
    return SimulationReport(
        workloads, tuple(events), tuple(rows), pictured=pictured, errors=manifests.errors, notes=(reason,)
    )


def _simulated(
    manifests: ManifestSet,
    cluster: Cluster,
    world: World,
    chosen: Sequence[str],
    events: Sequence[str],
    effort: Effort,
    pictured: str,
    only: Collection[ObjectRef] | None,
    never_ready: Collection[str],
    scale: Collection[str],
) -> SimulationReport:
    grown = grown_world(world)
    setting = _with_options(setting_of(grown), never_ready, scale)
    events = tuple(dict.fromkeys((*events, *scale_events(setting.scaled))))
    _check_events((*events, *([pictured] if pictured else [])), (*EVENTS, *scale_events(setting.scaled)))
    matrix = Matrix(setting, effort)
    numbers = [i for i, w in enumerate(setting.workloads) if only is None or w.ref in only]
    rows = tuple(established_cells(tuple(_rows(matrix, events, numbers)), matrix, grown))
    standing = without_suspended(world)
    missing, names = dict(_missing(setting, world)), [str(workload) for workload in setting.workloads]
    every = with_known_growth(world)
    tables = {r.number: of_cluster(cluster, every.member(setting.workloads[r.number])) for r in rows}
    other = cache(lambda other: Matrix(_with_options(setting_of(other), never_ready, scale), effort))
    tested = (_tested(r, world, (*tables[r.number], *of_unknown_nodes(r.number, missing, names)), other) for r in rows)
    rows = _with_gangs(tuple(weighed(tuple(tested), matrix, setting, world)), setting, world)
    drawn = work.tried(lambda: _pictures(matrix, pictured), None) if pictured else (None, None)
    before, after = drawn or (None, None)
    unmissing = [i for i in numbers if i not in missing]
    skewed = work.tried(lambda: tuple(_skews(setting, effort, unmissing)), None, 4 / 3)  # little work follows
    if not world.pools:  # with pools, the nodes that the scheduler can choose are unknown
        rows = tuple(
            replace(row, cells=tuple(_placed(cell, world) for cell in row.cells)) for row in with_scores(rows, matrix)
        )
    if any(workload.custom is not None for workload in setting.workloads):
        from kubesched_lint.commands.simulate.custom_cells import with_custom

        rows = tuple(with_custom(rows, matrix))
    left_out = [part for part, result in (("the picture", drawn), ("the skews", skewed)) if result is None]
    return SimulationReport(
        setting.workloads,
        tuple(events),
        rows,
        skewed or (),
        before,
        after,
        pictured,
        manifests.errors,
        (
            *chosen,
            *_notes(setting, cluster, world),
            *_pool_notes(standing, rows, pictured),
            *(f"left out: {part}, because {work.WHY}" for part in left_out),
        ),
    )


def _with_gangs(rows: tuple[Row, ...], setting: Setting, world: World) -> tuple[Row, ...]:
    if not gangs_of(world):
        return rows
    from kubesched_lint.commands.simulate.gang_cells import with_gangs

    return tuple(with_gangs(rows, setting, world))


def defined_once(manifests: Inventory, options: Options) -> tuple[Inventory, tuple[str, ...]]:
    """Return the inventory without alternatives, with one definition per object, and notes on the choices."""
    if not (manifests.has_duplicates or manifests.has_namesakes):
        return manifests, ()
    from kubesched_lint.linter.variants import as_applied

    return as_applied(manifests, together=options.together)


def _rows(matrix: Matrix, events: Sequence[str], numbers: Sequence[int]) -> Iterator[Row]:
    for number in numbers:
        yield Row(number, tuple(matrix.cell(event, number) for event in events))


def _tested(row: Row, world: World, table: Sequence[WhatIf[Cell]], simulated: Callable[[World], Matrix]) -> Row:
    """Return the row with its cells tested in other worlds: see ``commands.simulate.what_if_cells``."""

    def again(cell: Cell, other: World) -> Cell:
        return simulated(other).cell(cell.event, row.number)

    cells = (surviving(_placed(cell, world), world, table, again) or cell for cell in row.cells)
    return replace(row, cells=tuple(cells))


def _placed(cell: Cell, world: World) -> Cell:
    """Return the cell without a place in the snapshot: only lines of manifests are blamed."""
    ours = (*world.manifests.budgets, *world.manifests.quotas)
    if isinstance(cell.blamed, (DisruptionBudget, ResourceQuota)) and all(cell.blamed is not o for o in ours):
        return replace(cell, blamed=None, at=())
    return cell


def _missing(setting: Setting, world: World) -> Iterator[tuple[int, str]]:
    """Yield (number of a workload, missing fact) for workloads whose possible nodes are unknown."""
    for i, key in not_followed(setting.workloads).items():
        yield i, f"simulate does not follow the label {key}, whose value differs from pod to pod"
    for i, pod in enumerate(setting.pods):
        fact = unknown_nodes(pod, world)
        if fact:
            yield i, fact


def _check_events(events: Sequence[str], known: Sequence[str]) -> None:
    unknown = [event for event in events if event not in known]
    if unknown:
        hint = "; --scale web=15 adds scale-to-15" if scaled_to(unknown[0]) is not None else ""
        raise ValueError(f"unknown event {unknown[0]!r}: one of {', '.join(known)}{hint}")


def _with_options(setting: Setting, never_ready: Collection[str], scale: Collection[str]) -> Setting:
    """Return the setting with ``--never-ready`` and ``--scale``."""
    setting = _with_never_ready(setting, never_ready)
    return replace(setting, scaled=sizes(scale, setting)) if scale else setting


def _with_never_ready(setting: Setting, never_ready: Collection[str]) -> Setting:
    names = {f"{w.namespace}/{w.name}" for w in setting.workloads}
    for name in never_ready:
        if name not in names:
            raise ValueError(f"no workload {name} in the manifests: --never-ready takes NAMESPACE/NAME")
    held = [i for i, w in enumerate(setting.workloads) if f"{w.namespace}/{w.name}" in never_ready]
    return replace(setting, never_ready=frozenset(held)) if held else setting


def _pool_notes(world: World, rows: Sequence[Row], pictured: str) -> Iterator[str]:
    if world.pools:
        from kubesched_lint.analysis.pool_notes import pool_notes

        yield from pool_notes(world)
        if growth_plan(world).nodes:
            names = [node.name for node in growth_plan(world).nodes]
            yield f"events are simulated with the added nodes: {_first(names)}"
        if any(cell.event == pictured and MEANWHILE in cell.assumes for row in rows for cell in row.cells):
            yield f"pods that wait after {pictured} in the picture fit on nodes that pools add (not drawn)"


def _skews(setting: Setting, effort: Effort, numbers: Sequence[int]) -> Iterator[WorkloadSkew]:
    if len(setting.nodes) > _SKEW_NODES:
        return
    kept = {w.ref for i, w in enumerate(setting.workloads) if i in set(numbers)}
    for number, workload in enumerate(setting.created.workloads):
        if workload.ref in kept:
            for skew in skews(setting.created, number, seed=effort.seed):
                yield WorkloadSkew(workload, skew)


def _first(names: Sequence[str]) -> str:
    return first_few(names, _FEW)


def _pictures(matrix: Matrix, event: str) -> tuple[Picture | None, Picture | None]:
    """Return the cluster before and after an event in one random trace."""
    story, after = matrix.course(event)
    if story is None or after is None:
        return None, None
    places = {w.key: i for i, w in enumerate(matrix.whole.workloads)}
    numbers = {number: places[key] for key, number in after.numbers.items() if key in places}
    return picture(story, story.states[0], numbers), picture(after, after.states[0], numbers)


def _notes(setting: Setting, cluster: Cluster, world: World) -> Iterator[str]:
    yield from cluster.notes
    if cluster.has_messages:
        from kubesched_lint.analysis.pending import agreement

        yield from agreement(cluster, world.premises)
    yield from world.node_groups.notes
    left_out = [str(w) for w in world.manifests.workloads if w.kind == "CronJob"]
    if left_out:
        yield f"not simulated (schedule unknown): {_first(left_out)}"
    amid = [str(w) for w in amid_rollout(world)]
    if amid:
        yield f"not simulated (paused amid a rollout): {_first(amid)}; their pods stay where they are"
    for number, wanted in setting.scaled.items():
        scaler = setting.scalers.get(number)
        if scaler is not None:
            bounds = f"{size_after(setting, 'scale-down', number)} to {scaler.max_replicas}"
            counts = " and ".join(map(str, wanted))
            yield f"{setting.workloads[number]} has an autoscaler ({bounds}), which may not leave it at {counts}"
    kept = [str(w) for w in setting.workloads if w.suspended and w.replicas]
    if kept:
        yield f"paused: simulated with the running template, not with that of the manifests: {_first(kept)}"
    accounts = {f"{w.namespace}/{name}": None for w in setting.workloads if (name := service_account(w))}
    if accounts:
        yield f"ServiceAccounts are not read and assumed to exist: {_first(list(accounts))}"
    if not cluster.resources_known:
        yield "some nodes declare no resources: every request fits there"
