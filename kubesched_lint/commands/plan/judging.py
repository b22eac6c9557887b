"""The cells, findings and placement of both sides, which share one limit of work and what they know of a scenario.

The sides come one after the other, and each has at least the same part of the limit: what is left out on one side only
compares with nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.lint.report_extras import effort_for
from kubesched_lint.commands.lint.run import told
from kubesched_lint.commands.plan.room import Placement, placement, resources_of
from kubesched_lint.commands.plan.scenes import Clusters, Scene, Side, clusters_of
from kubesched_lint.commands.plan.version import Version
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.limits import MOST_STEPS, STEPS_EACH
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.engine.bounds.counting import Counting
from kubesched_lint.engine.bounds.idle import idle
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import BY_SCORES, DEPENDS, Cell
from kubesched_lint.engine.events.start.groups import group_in
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.placing.scenarios import grown_scenario
from kubesched_lint.engine.runs.courses import Effort, Wanted
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.findings import Report
from kubesched_lint.linter.linted import Linted
from kubesched_lint.linter.linted import linted as run_rules
from kubesched_lint.progress import titled
from kubesched_lint.project.finding_changes import FindingChanges, each_once, finding_changes, of_whole_findings
from kubesched_lint.project.owners import with_owners
from kubesched_lint.rulebook.library import Rulebook

T = TypeVar("T")


Rows = tuple[SimulationReport | None, SimulationReport | None]
"""The cells of both sides, the first one before the change; None where nothing was simulated."""
Ends = tuple[Placement, Placement]


class Findings(Struct, frozen=True):
    """The reports of both sides on all manifests, and how they differ."""

    reports: tuple[Report, Report]
    findings: FindingChanges
    notes: tuple[str, ...]
    cluster: Cluster
    """The cluster of the second report."""
    linted: Linted | None
    """What the second report tells of; None where nothing was linted."""


def most_steps(*sides: Version) -> int:
    """Return the limit of the work for both sides: most of their documents are the same."""
    return MOST_STEPS + STEPS_EACH * max(len(side.manifests.documents) for side in sides)


def simulated(scenes: Sequence[Scene], events: Sequence[str], rows: int = 0) -> list[Rows]:
    """Return the cells of each environment, for the workloads that the change may touch there; ``rows`` as in plan."""
    # With one environment, each side has a quarter for its cells, and a sixth for its findings; what one leaves, those
    # after it may use.
    left = 2 * len(scenes) + 2
    rows_of_scenes: list[Rows] = []
    for scene in scenes:
        effort = effort_for(len(scene.shown), rows)._replace(runs=1)  # two sides, with half the runs each
        telling = effort._replace(tries_scores=_tells(scene))
        last = _part(left, partial(_simulated, scene.after, scene, events, telling, len(scenes)))
        comparing = effort._replace(
            wanted=_compares(last, scene.changes), has_examples=False, tries_scores=lambda _ref, _event: False
        )
        first = _part(left - 1, partial(_simulated, scene.before, scene, events, comparing, len(scenes)))
        rows_of_scenes.append((first, last))
        left -= 2
    return rows_of_scenes


def _tells(scene: Scene) -> Callable[[ObjectRef, str], bool]:
    """Return whether it is news that an end, likely good after the change, is bad with other scores.

    It is none where a workload that does not change itself had no proof before, either: then a draw decides.
    """

    @cache
    def before() -> tuple[Counting, Mapping[ObjectRef, SimulatedMember]]:
        counted = Counting(simulated_set_of(grown_scenario(scene.before.scenario)).created)
        return counted, {member.workload.ref: member for member in counted.simulated.members}

    def is_news(ref: ObjectRef, event: str) -> bool:
        if ref in scene.changes:
            return True
        counted, members = before()
        member = members.get(ref)
        if member is None or idle(member, event):
            return True
        bounds = counted.bounds(event, group_in(member, event), member.number)
        return bounds.is_fine or bounds.is_bad

    return is_news


def _compares(after: SimulationReport | None, changed: Container[ObjectRef]) -> Callable[[ObjectRef, str], Wanted]:
    """Return what to ask of an end before the change.

    Where a workload that does not change itself ends well afterwards, that is news only if counting proves a bad end
    before; and where only the default scores avoid a bad end, only if counting proved a good one. Where one trace ends
    badly, that is news only if none does before, also of several more: which trace meets a bad end is luck.
    """
    rows = () if after is None else ((after.workloads[row.number].ref, row.cells) for row in after.rows)
    wanted = {
        (ref, cell.event): _compares_with(cell, is_changed=ref in changed) for ref, cells in rows for cell in cells
    }
    return lambda ref, event: wanted.get((ref, event), Wanted.PROVEN_BAD)


def _compares_with(cell: Cell, *, is_changed: bool) -> Wanted:
    """Return what to ask of the end before the change, whose cell after it is this one."""
    if cell.verdict == DEPENDS:
        return Wanted.BAD_END
    if is_changed or not (cell.is_harmless or cell.verdict == BY_SCORES):
        return Wanted.ALL
    return Wanted.COUNTED if cell.verdict == BY_SCORES else Wanted.PROVEN_BAD


def linted(
    before: Version, after: Version, scenes: Sequence[Scene], clusters: Clusters, rulebook: Rulebook, *, running: bool
) -> Findings:
    """Lint all manifests of both sides: each environment knows the cluster without what only the other side has."""
    if len(scenes) == 1:
        known: list[tuple[Cluster, Scenario | None]] = [(side.cluster, side.written) for side in scenes[0].sides]
    else:
        sides = zip(*(scene.sides for scene in scenes), strict=True)
        own = zip(clusters_of(before, after, clusters, running=running), sides, strict=True)
        known = [
            (cluster, next((side.whole for side in of_scenes if side.cluster is cluster), None))
            for cluster, of_scenes in own
        ]
    # The same limit for both: a proof that one side has no steps left for would seem to be gone, or new.
    steps = work.share(0, 3)
    if _read_the_same(before, after) and known[0][0] is known[1][0]:
        before_change = after_change = _linted(steps, after, *known[1], rulebook)
    else:
        before_change, after_change = (
            _linted(steps, side, *on, rulebook) for side, on in zip((before, after), known, strict=True)
        )
    (first, _), (last, told_of) = before_change, after_change
    reports = with_owners(first or Report()), with_owners(last or Report())
    notes = tuple(_uncompared((first, last)))
    if first is None or last is None:
        return Findings(reports, FindingChanges(), notes, known[1][0], told_of)
    changes = _established(finding_changes(*reports), *reports)
    changes = replace(changes, changes=of_whole_findings(each_once(changes.changes)))
    return Findings(reports, changes, notes, known[1][0], told_of)


def _read_the_same(*sides: Version) -> bool:
    """Whether nothing differs of what both sides read, so that the findings of one are those of the other."""
    texts = [[(document.path, document.text) for document in side.manifests.documents] for side in sides]
    read = [(side.manifests.errors, side.manifests.skipped, side.errors, side.options) for side in sides]
    return texts[0] == texts[1] and read[0] == read[1]


def placed(scenes: Sequence[Scene]) -> tuple[list[Ends | None], tuple[str, ...]]:
    """Place all pods of both sides in each environment that the change touches; notes say where that is not known."""
    ends_of_scenes: list[Ends | None] = []
    notes: list[str] = []
    for number, scene in enumerate(scenes):
        if not scene.touched:
            ends_of_scenes.append(None)
            continue
        resources = resources_of(side.scenario for side in scene.sides)
        ends, why_no_ends = _ends(scene, resources, 2 * (len(scenes) - number))
        ends_of_scenes.append(ends)
        notes.extend(why_no_ends)
    return ends_of_scenes, tuple(dict.fromkeys(notes))


def _part(parts: int, compute: Callable[[], T]) -> T:
    """Return ``compute()``, within a share of the steps that are left."""
    with work.within(work.share(0, parts)):
        return compute()


def _simulated(
    side: Side, scene: Scene, events: Sequence[str], effort: Effort, environments: int
) -> SimulationReport | None:
    once, rows = side.once, scene.shown
    if not rows:
        return None
    where = f" in {scene.name}" if scene.name else ""
    titled(f"simulating {many(len(rows), 'workload')} of {once.name}{where}")
    return simulate(
        once.manifests,
        side.cluster,
        once.options,
        events,
        effort,
        only=rows,
        written=side.written,
        of_environments=environments,
    )


def _linted(
    steps: float, side: Version, cluster: Cluster, scenario: Scenario | None, rulebook: Rulebook
) -> tuple[Report | None, Linted | None]:
    """Return the report, within so many steps, and what it tells of; None where the work ends before rules run.

    ``scenario`` may be that of the manifests.
    """
    manifests, options = side.manifests, side.options
    if manifests.is_empty and not manifests.inventory.workloads:
        return Report(), None  # everything is created or removed, which is no error
    titled(f"linting {side.name}")
    if scenario is not None and (
        manifests.inventory is not scenario.manifests
        or manifests.premises(options).settled(cluster) != scenario.premises
    ):
        scenario = None

    def run() -> tuple[Report, Linted]:
        judged = run_rules(manifests, cluster, options, rulebook, options.rules(rulebook), scenario=scenario)
        return told(judged, manifests, cluster, (), options, rulebook), judged

    try:
        with work.within(steps):
            return run()
    except work.OutOfWorkError:
        return None, None


def _ends(scene: Scene, resources: Sequence[str], parts: int) -> tuple[Ends | None, tuple[str, ...]]:
    """Return one placement of each side; None, and a note that says why, where it is not known what pods get."""
    try:
        old, new = (
            _part(parts - turn, partial(placement, side.scenario, resources, scene.changes))
            for turn, side in enumerate(scene.sides)
        )
    except work.OutOfWorkError as reason:
        return None, (f"what the change does to room, evictions and added nodes is unknown: {reason}",)
    return (old, new), ()


# --- what is left out -------------------------------------------------------------------------------------------------


def _cut(report: Report) -> frozenset[str]:
    """Return the rules that did not look at everything."""
    return frozenset(skip.rule for skip in report.skipped if skip.cut)


def _established(changes: FindingChanges, before: Report, after: Report) -> FindingChanges:
    """Return the changes without those that may only seem so, because a rule did not look at all of the other side."""
    old, new = _cut(before), _cut(after)
    left = tuple(
        change
        for change in changes.changes
        if not (change.before is None and change.finding.rule in old)
        and not (change.after is None and change.finding.rule in new)
    )
    return replace(changes, changes=left)


def _uncompared(reports: Sequence[Report | None]) -> Iterator[str]:
    if None in reports:
        yield f"findings are not compared: {work.WHY}"
        return
    rules = sorted({rule for report in reports if report is not None for rule in _cut(report)})
    if rules:
        yield f"findings of {first_few(rules)} are compared only in part: {work.WHY}"
