"""The bad ends that are proven: what rules explain, and what ``lint`` reports if no rule does.

``simulate`` shows the same cells of the same table, so that both prove the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base import work
from kubesched_lint.engine.bounds.counted import stuck_at
from kubesched_lint.engine.events.answers.cells import BAD, Cell
from kubesched_lint.engine.events.answers.event_bounds import GATES
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.from_scenario import simulated
from kubesched_lint.engine.placing.scenarios import cron_runs, with_cron_runs
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.scenario.others.neighbours import open_beside
from kubesched_lint.engine.scenario.others.room import most_apart
from kubesched_lint.engine.scenario.others.staying import staying
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.verdicts.table import Table
from kubesched_lint.engine.verdicts.what_if import UNTRIED
from kubesched_lint.explaining.objects.refused import accepted

EFFORT = Effort(states=1_000, runs=1, narrates=False)
"""How far the cells of ``lint`` are searched."""


class BadEnd(Struct, frozen=True):
    """A cell that is proven to end badly on the nodes and pods as they are."""

    cell: Cell
    unless: tuple[str, ...] = ()
    """Premises without which the proof does not hold; empty if it holds whatever is not known."""

    @property
    def proven(self) -> bool:
        return not self.unless

    @property
    def missing(self) -> int:
        """Number of pods that never run; 0 if all run and only the rollout never ends."""
        return max(self.cell.wanted - self.cell.bound.most, 0)


def bad_end(it: Member, event: str, *, is_told: bool = True) -> BadEnd | None:
    """Return the proven bad end of an event for a workload; None if there is none, or if it is not simulated.

    Unless ``is_told``, it only answers what a remedy would change: no run shows it, and none tries to refute it.

    What the API server refuses is not there, as in ``simulate``. Who removes a scheduling gate is not in these files:
    the rule about gates tells of it.
    """
    scenario = accepted(it.scenario)
    if it.workload.kind != "CronJob":
        end = (_ends if is_told else _untold_ends)(scenario).of(it, event)
    else:
        end = _end_of_run(scenario.member(it.workload)) if event == "deploy" else None
    is_gated = bool(it.pod.scheduling_gates) and end is not None and GATES in end.cell.rests_on
    return None if is_gated else end


def _end_of_run(it: Member) -> BadEnd | None:
    """Return the proven bad end of a CronJob's run beside all else, as far as the rest concerns it."""
    runs = cron_runs(it.scenario)
    run = runs.get(it.workload)
    if run is None:
        return None
    scenario = (
        with_cron_runs(it.scenario) if _concerns_others(it, is_only=len(runs) == 1) else _runs_without_room(it.scenario)
    )
    if run not in scenario.manifests.workloads:
        return None
    end = _ends(scenario).of(scenario.member(run), "deploy")
    return end if end is not None and holds_alone(end.cell, runs) else None


@once_per_scenario
def _runs_without_room(scenario: Scenario) -> Scenario:
    """Return the scenario of the runs for which counting finds too little room, without any other workload.

    The running pods of the others, which may leave, are gone with them: else they would count as pods that stay.
    """
    runs = tuple(run for job, run in cron_runs(scenario).items() if _lacks_room(scenario.member(job)))
    cluster = scenario.cluster
    if runs and cluster is not None and len(scenario.other_pods) < len(cluster.inventory.pods):
        scenario = scenario.on(replace(cluster, inventory=replace(cluster.inventory, pods=scenario.other_pods)))
    return scenario.with_workloads(runs)


def _lacks_room(it: Member) -> bool:
    return most_apart(it, it.replicas, open_beside(it, staying(it))) < it.replicas


def _concerns_others(it: Member, *, is_only: bool) -> bool:
    """Whether more than the nodes, running pods and its own pods may prove that a run ends badly.

    Most need no scenario of their own. ``is_only``: whether there is no other CronJob, so that a search may prove it,
    too.
    """
    pod, scenario = it.pod, it.scenario
    asks = pod.required_affinity or pod.volumes or pod.host_ports or pod.scheduling_gates or pod.node_name or pod.group
    if asks or pod.resource_claims or any(c.is_hard for c in pod.spread) or scenario.pools:
        return True
    decision = scenario.admission.decision(it.workload)
    if decision.refusal is not None or decision.unknown or scenario.admission.quotas_of(it.workload, pod):
        return True
    return is_only and bool(pod.required_anti_affinity)


def holds_alone(cell: Cell, runs: Collection[Workload]) -> bool:
    """Whether the proof of a bad end of a CronJob's run holds without the runs of other CronJobs."""
    return cell.is_counted or len(runs) == 1


def never_rolls_out(it: Member) -> bool:
    """Whether a rollout is stuck at every number of pods that its autoscaler may choose; True without one.

    Fewer pods leave more room, and a larger number lets maxUnavailable resolve to more: both ends decide.
    """
    if it.autoscaler is None:
        return True
    sizes = max(it.autoscaler.min_replicas, 1), it.autoscaler.max_replicas
    return _ends(accepted(it.scenario)).is_stuck_at(it, sizes)


class _Ends:
    """The bad ends of one scenario, each computed when it is asked for."""

    def __init__(self, scenario: Scenario, *, is_told: bool = True) -> None:
        assert scenario.cluster is not None, "without a cluster there are no verdicts about nodes"
        work.spend(work.SETUP * len(scenario.manifests.workloads))
        self._is_told = is_told
        effort = EFFORT._replace(has_examples=is_told)
        self._table = Table(scenario, scenario.cluster, effort, _as_it_is, None)
        self._numbers: Mapping[Workload, int] = {w: i for i, w in enumerate(simulated(scenario))}
        self._known: dict[str, dict[int, BadEnd | None]] = {}

    def of(self, it: Member, event: str) -> BadEnd | None:
        number = self._numbers.get(it.workload)
        if number is None:
            return None
        known = self._known.setdefault(event, {})
        if number not in known:
            known[number] = self._found(event, number)
        return known[number]

    def is_stuck_at(self, it: Member, sizes: Iterable[int]) -> bool:
        """Whether counting proves that no rollout of a workload ends at any of these numbers of pods."""
        number = self._numbers.get(it.workload)
        place = None if number is None else self._table.matrix.place(number)
        simulated = self._table.matrix.simulated
        return place is not None and all(stuck_at(simulated.member(place), size) for size in sizes)

    def _found(self, event: str, number: int) -> BadEnd | None:
        cells = self._table.bad_end(event, number, is_told=self._is_told)
        if cells is None:
            return None
        as_it_is, left = cells
        if left.verdict != BAD or UNTRIED in left.assumes:
            return None
        if left.proven:
            return BadEnd(left)
        known = {*as_it_is.assumes, *as_it_is.missing}
        unless = tuple(fact for fact in (*left.missing, *left.assumes) if fact not in known)
        return BadEnd(left, unless) if unless else None


def _as_it_is(simulated: SimulatedSet) -> SimulatedSet:
    return simulated


@once_per_scenario
def _ends(scenario: Scenario) -> _Ends:
    return _Ends(scenario) if scenario.is_told else _untold_ends(scenario)


@once_per_scenario
def _untold_ends(scenario: Scenario) -> _Ends:
    return _Ends(scenario, is_told=False)
