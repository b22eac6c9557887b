"""The cells, the findings and the placement of both sides, which share one limit of work and what they know of a world.

The sides come one after the other, and each has at least the same part of the limit: what is left out on one side only
compares with nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint import work
from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.commands.lint.report_extras import effort_for
from kubesched_lint.commands.lint.run import report_on
from kubesched_lint.commands.plan.room import Placement, placement, resources_of
from kubesched_lint.commands.plan.version import Version
from kubesched_lint.commands.simulate.run import SimulationReport, simulate
from kubesched_lint.findings import ObjectRef, Report
from kubesched_lint.limits import MOST_STEPS, STEPS_EACH
from kubesched_lint.progress import titled
from kubesched_lint.project.finding_changes import FindingChanges, finding_changes
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.text import first_few, many
from kubesched_lint.world.refused import accepted
from kubesched_lint.world.world import World

T = TypeVar("T")


class Side(Struct, frozen=True):
    """One version of the manifests on its cluster."""

    once: Version
    """With one definition of each object: what is simulated."""
    whole: Version
    """What is linted."""
    cluster: Cluster
    written: World
    """The world of ``once``, with what the API server refuses; ``simulate`` and ``lint`` know it by now."""

    @property
    def world(self) -> World:
        """The same without what the API server refuses."""
        return accepted(self.written)


class Judgement(Struct, frozen=True):
    """What is known of the two sides, the first one before the change; ``ends`` is None if it is not known."""

    rows: tuple[SimulationReport | None, SimulationReport | None]
    reports: tuple[Report, Report]
    findings: FindingChanges
    ends: tuple[Placement, Placement] | None
    notes: tuple[str, ...]


def most_steps(*sides: Version) -> int:
    """Return the limit of the work for both sides."""
    return MOST_STEPS + STEPS_EACH * sum(len(side.manifests.documents) for side in sides)


def judged(
    sides: Sequence[Side], events: Sequence[str], shown: Collection[ObjectRef], rulebook: Rulebook, *, is_placed: bool
) -> Judgement:
    """Simulate the workloads in ``shown``, lint everything, and place all pods if ``is_placed``."""
    resources = resources_of(side.world for side in sides)
    # Each side has a quarter for its cells, and a sixth for its findings; what one leaves, those after it may use.
    old, new = (_part(4 - turn, partial(_simulated, side, events, shown)) for turn, side in enumerate(sides))
    reports = [_linted(3 - turn, side, rulebook) for turn, side in enumerate(sides)]
    ends, why_no_ends = _ends(sides, resources) if is_placed else (None, ())
    before, after = (report or Report() for report in reports)
    notes = tuple(_uncompared(reports))
    findings = FindingChanges() if None in reports else _established(finding_changes(before, after), before, after)
    return Judgement((old, new), (before, after), findings, ends, (*notes, *why_no_ends))


def _part(parts: int, compute: Callable[[], T]) -> T:
    """Return ``compute()``, within a share of the steps that are left."""
    with work.within(work.share(0, parts)):
        return compute()


def _simulated(side: Side, events: Sequence[str], rows: Collection[ObjectRef]) -> SimulationReport | None:
    if not rows:
        return None
    once = side.once
    titled(f"simulating {many(len(rows), 'workload')} of {once.name}")
    effort = effort_for(len(rows))
    return simulate(once.manifests, side.cluster, once.options, events, effort, only=rows, written=side.written)


def _linted(parts: int, side: Side, rulebook: Rulebook) -> Report | None:
    """Return the findings; None where the work ends before rules run."""
    manifests = side.whole.manifests
    if manifests.is_empty and not manifests.inventory.workloads:
        return Report()  # everything is created or removed, which is no error
    titled(f"linting {side.whole.name}")
    options, world = side.whole.options, side.written
    is_same = (
        manifests.inventory is world.manifests and manifests.premises(options).settled(side.cluster) == world.premises
    )
    try:
        return _part(
            parts,
            lambda: report_on(manifests, side.cluster, (), options, rulebook, world=world if is_same else None),
        )
    except work.OutOfWorkError:
        return None


def _ends(
    sides: Sequence[Side], resources: Sequence[str]
) -> tuple[tuple[Placement, Placement] | None, tuple[str, ...]]:
    """Return one placement of each side; None, and a note that says why, where it is not known what pods get."""
    try:
        old, new = (_part(2 - turn, partial(placement, side.world, resources)) for turn, side in enumerate(sides))
    except work.OutOfWorkError as reason:
        return None, (f"what the change does to room, evictions and added nodes is not established: {reason}",)
    return (old, new), ()


# --- what is left out -------------------------------------------------------------------------------------------------


def _cut(report: Report) -> frozenset[str]:
    """Return the rules that did not look at everything."""
    return frozenset(skip.rule for skip in report.skipped if skip.cut)


def _established(found: FindingChanges, before: Report, after: Report) -> FindingChanges:
    """Return the changes without those that may only seem so, because a rule did not look at all of the other side."""
    old, new = _cut(before), _cut(after)
    left = tuple(
        change
        for change in found.changes
        if not (change.before is None and change.finding.rule in old)
        and not (change.after is None and change.finding.rule in new)
    )
    return replace(found, changes=left)


def _uncompared(reports: Sequence[Report | None]) -> Iterator[str]:
    if None in reports:
        yield f"findings are not compared: {work.WHY}"
        return
    rules = sorted({rule for report in reports if report is not None for rule in _cut(report)})
    if rules:
        yield f"findings of {first_few(rules)} are compared only in part: {work.WHY}"
