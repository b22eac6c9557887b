"""Judge what an apply starts, by the cells of ``simulate`` and the findings of ``lint``.

The apply is the event ``deploy`` on the cluster as it runs: what is new is created, what differs is rolled out or
scaled. The maximum of an autoscaler and drains come later; they block only where ``survive`` names them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import inf

from msgspec.structs import replace

from kubesched_lint.clock import now
from kubesched_lint.commands.check.check_result import Check, JudgedChange, ScaledOutside, Shared, Started
from kubesched_lint.commands.check.touched import touched, with_targets
from kubesched_lint.commands.lint.report_extras import effort_for
from kubesched_lint.commands.lint.run import report_on
from kubesched_lint.commands.plan.changes import METADATA, REPLACED, ROLLS_OUT, ObjectChange, beside_running
from kubesched_lint.commands.plan.judging import most_steps, placed
from kubesched_lint.commands.plan.room import added_changes, only_new
from kubesched_lint.commands.plan.running import as_it_runs
from kubesched_lint.commands.plan.scenes import Scene, scenes_of
from kubesched_lint.commands.plan.version import Version
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_options import SimulationOptions
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import first_few
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import NONE, REFUSED, UNKNOWN, Cell
from kubesched_lint.engine.model.policy import autoscaler_of
from kubesched_lint.engine.model.workloads.workload import (
    KINDS,
    Workload,
    asked_to_survive,
    broken_glass_of,
    is_made_anew,
)
from kubesched_lint.engine.scenario.premises.mutated import mutated
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scheduler.preemption.eviction import preempting_priority
from kubesched_lint.findings import Finding, Report, Severity
from kubesched_lint.linter.environments.environments import named_once, said_once
from kubesched_lint.project.baseline import KnownFinding, held_against
from kubesched_lint.rulebook.library import Rulebook

EVENTS = ("deploy", "rollout", "hpa-max", "drain")
_NEEDED = ("Node", "Pod")


def check(
    after: Version,
    cluster: Cluster,
    rulebook: Rulebook,
    least: Severity | None = Severity.ERROR,
    known: Sequence[KnownFinding] = (),
) -> Check:
    """Return what applying a version to the cluster starts, and how that ends; ``known`` are entries of a baseline.

    Raises UnknownRuleError, and ValueError for an environment that the manifests do not have.
    """
    checked = Check(after.name, cluster.describe(now), least=least, errors=after.manifests.errors)
    missing = tuple(_missing(after, cluster))
    if missing:
        return replace(checked, missing=missing)
    after = with_targets(after, cluster)
    with work.within(most_steps(after, after)):
        scenes, notes = scenes_of(as_it_runs(after, cluster), after, (cluster, cluster), running=True)
        objects = tuple(beside_running(after.manifests, cluster, after.options.namespace))
        parts = [_Part(scene, _started(scene, objects), rulebook, known) for scene in scenes]
        moving = [scene for scene in scenes if _may_move_others(scene.after.scenario)]
        ends, why_no_ends = placed(moving)
    names = [part.scene.name for part in parts]
    placements = [(scene.name, end) for scene, end in zip(moving, ends, strict=True) if end is not None]
    started = named_once(
        (((part.scene.name,), workload) for part in parts for workload in part.started()),
        names,
        lambda workload: workload.seen,
    )
    return replace(
        checked,
        started=started,
        objects=objects,
        unchanged=len({ref for part in parts for ref in part.unchanged} - {workload.object for workload in started}),
        shortages=tuple(dict.fromkeys(shortage for part in parts for shortage in part.shortages())),
        refused=tuple(dict.fromkeys(text for part in parts for text in part.simulation.refused)),
        nodes=named_once(
            (((name,), node_change) for name, end in placements for node_change in added_changes(*end)), names
        ),
        evictions=named_once((((name,), eviction) for name, end in placements for eviction in only_new(*end)), names),
        outside=tuple(dict.fromkeys(change for part in parts for change in part.outside())),
        mutations=tuple(
            {
                mutated_workload.object: mutated_workload
                for part in parts
                for mutated_workload in mutated(part.scene.after.scenario)
            }.values()
        ),
        missing=tuple(_unknown_for_gaps(started, cluster)),
        notes=(
            *notes,
            *said_once([(part.scene.name, part.simulation.notes) for part in parts]),
            *why_no_ends,
            *_absent_namespaces(started, after, cluster),
        ),
        environments=tuple(filter(None, names)),
    )


class _Part:
    """One environment: what the apply starts there, simulated and linted."""

    def __init__(
        self,
        scene: Scene,
        changes: Mapping[ObjectRef, ObjectChange | None],
        rulebook: Rulebook,
        known: Sequence[KnownFinding],
    ) -> None:
        self.scene = scene
        self._changes = changes
        side = scene.after
        manifests, options = side.once.manifests, side.once.options
        self.simulation = _simulated(scene, frozenset(changes))
        self._report = held_against(_linted(scene, rulebook), known).report
        self._written = {w.ref: w for w in manifests.inventory.workloads if w.ref in changes}
        self._survived = {ref: (*options.survive, *asked_to_survive(w)) for ref, w in self._written.items()}

    @property
    def unchanged(self) -> frozenset[ObjectRef]:
        return self.scene.subjects - self._changes.keys()

    def started(self) -> Iterator[Started]:
        """Yield the workloads, those that end worst first."""
        rows = {self.simulation.workloads[row.number].ref: row for row in self.simulation.rows}
        for ref, change in self._changes.items():
            findings = [f for f in self._report.findings if f.object == ref and f.severity >= Severity.WARNING]
            cells = rows[ref].cells if ref in rows else ()
            events = tuple(self._judged(ref, change, cell, findings) for cell in cells if _is_told(cell))
            open_ = tuple(finding for finding in findings if finding.suppressed is None)
            refused = _refused(change, self._written[ref]) if change is not None else None
            yield Started(ref, change, events, open_, broken_glass=broken_glass_of(self._written[ref]), refused=refused)

    def _judged(
        self, ref: ObjectRef, change: ObjectChange | None, cell: Cell, findings: Sequence[Finding]
    ) -> JudgedChange:
        starts = {"deploy"} if change is not None else set()
        if change is not None and ROLLS_OUT in change.actions:
            starts.add("rollout")
        is_started = cell.verdict == REFUSED or cell.event in (*starts, *self._survived.get(ref, ()))
        of_event = [f for f in findings if f.evidence.event == cell.event and f.severity is Severity.ERROR]
        is_waived = bool(of_event) and all(finding.suppressed for finding in of_event)
        reasons = [f.suppressed.reason for f in of_event if f.suppressed] if is_waived else []
        return JudgedChange(cell, self.simulation.place(cell), is_started, first_few(list(dict.fromkeys(reasons))))

    def shortages(self) -> Iterator[Shared]:
        """Yield what several workloads lack together, if the apply changes one of them."""
        for shortage in self.simulation.shortages:
            if any(self._changes.get(ref) is not None for ref in shortage.workloads):
                yield Shared(shortage.message, shortage.workloads, shortage.location)

    def outside(self) -> Iterator[ScaledOutside]:
        yield from scaled_outside(self.scene.after.written)


def scaled_outside(scenario: Scenario) -> Iterator[ScaledOutside]:
    """Yield the workloads of the manifests whose number of pods an autoscaler or somebody else sets in the cluster."""
    assert scenario.cluster is not None, "what runs is in a cluster"
    live_ones = scenario.cluster.inventory.autoscalers  # one that this apply brings has scaled nothing yet
    scalers = {(a.target.kind, a.namespace, a.target.name): a for a in live_ones}
    for workload in scenario.manifests.workloads:
        live = scenario.cluster.running.live(workload)
        if live is None or not live.stays or live.kind == "Pod":
            continue
        scaler = autoscaler_of(workload, scalers)
        by = "" if scaler is None else str(scaler.ref)
        by = by or scenario.cluster.scaled_by.get(workload.ref, "")
        written = workload.replicas if workload.replicas_written else None
        if by and live.replicas != written:
            yield ScaledOutside(workload.ref, live.replicas, written, by, is_automatic=scaler is not None)


def _started(scene: Scene, objects: Sequence[ObjectChange]) -> Mapping[ObjectRef, ObjectChange | None]:
    """Return the workloads that the apply starts something for; with None, those that another object concerns."""
    changes: dict[ObjectRef, ObjectChange | None] = {
        ref: change for ref, change in scene.changes.items() if change.actions != (METADATA,)
    }
    for ref in touched(scene.after.written, objects):
        if ref in scene.subjects:
            changes.setdefault(ref, None)
    return changes


def _refused(change: ObjectChange, written: Workload) -> Severity | None:
    """Return how sure it is that the API server refuses a change of what runs.

    A webhook may have changed the template of a Job when it was created, and change it again.
    """
    if REPLACED not in change.actions or is_made_anew(written):
        return None
    return Severity.WARNING if written.kind == "Job" else Severity.ERROR


def _may_move_others(scenario: Scenario) -> bool:
    """Return whether new pods may make pools add nodes, or evict pods: else no placement has to show how."""
    assert scenario.cluster is not None, "what runs is in a cluster"
    least = min((bound.pod.priority or 0 for bound in scenario.cluster.inventory.pods), default=inf)
    pods = (scenario.member(workload).pod for workload in scenario.manifests.workloads)
    return bool(scenario.pools) or any(preempting_priority(pod) > least for pod in pods)


def _is_told(cell: Cell) -> bool:
    return cell.verdict != NONE and (cell.event != "drain" or cell.stuck)


def _simulated(scene: Scene, refs: Collection[ObjectRef]) -> SimulationReport:
    side = scene.after
    if not refs:
        return SimulationReport((), EVENTS, ())
    scales = tuple(
        f"{scaled.object.kind}/{scaled.object.title}={scaled.running}"
        for scaled in scaled_outside(side.written)
        if scaled.is_automatic and scaled.object in refs
    )
    wishes = SimulationOptions(scale=scales)
    effort = effort_for(len(refs))
    once = side.once
    return simulate(
        once.manifests, side.cluster, once.options, EVENTS, effort, only=refs, wishes=wishes, written=side.written
    )


def _linted(scene: Scene, rulebook: Rulebook) -> Report:
    side = scene.after
    try:
        return report_on(side.once.manifests, side.cluster, (), side.once.options, rulebook, scenario=side.written)
    except work.OutOfWorkError:
        return Report()  # the cells say what is not established


def _absent_namespaces(started: Sequence[Started], after: Version, cluster: Cluster) -> Iterator[str]:
    """Yield a note on namespaces that neither the cluster nor the files have: a tool may create them, or the API server
    refuses what is in them.
    """
    if not cluster.has("Namespace"):
        return
    known = {namespace.name for part in (cluster.inventory, after.manifests.inventory) for namespace in part.namespaces}
    for name in dict.fromkeys(
        workload.object.namespace for workload in started if workload.object.namespace not in known
    ):
        whose = first_few([str(workload.object) for workload in started if workload.object.namespace == name])
        yield f"the namespace {name} does not exist: unless it is created first, the API server refuses {whose}"


# --- what has to be known ---------------------------------------------------------------------------------------------


def _missing(after: Version, cluster: Cluster) -> Iterator[str]:
    """Yield what the cluster does not tell, without which nobody knows what the apply starts."""
    kinds = {w.kind for w in after.manifests.inventory.workloads if w.kind in KINDS and w.custom is None}
    for kind in (*_NEEDED, *sorted(kinds - {"Pod"})):
        if not cluster.has(kind):
            gaps = [gap for gap in cluster.gaps if gap.lower().startswith(kind.lower())]
            yield f"no {kind} is known ({gaps[0] if gaps else f'{cluster.path} does not list them'})"


def _unknown_for_gaps(started: Sequence[Started], cluster: Cluster) -> Iterator[str]:
    """Yield what the API server did not return, if it is unknown how something ends for another reason than work."""
    cells = (event.cell for workload in started for event in workload.events if event.is_started)
    lacking = [m for cell in cells if cell.verdict == UNKNOWN for m in cell.missing if not m.endswith(work.WHY)]
    if cluster.gaps and lacking:
        yield from (f"not captured: {gap}" for gap in cluster.gaps)
