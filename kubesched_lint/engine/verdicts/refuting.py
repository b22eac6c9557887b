"""Try to refute proofs by exact runs before anybody reads them; one that a run beats is told as a bug.

A ``Claim`` is what a proof says of the end of an event, whether a cell of the table or a rule has it. Two kinds of run
may beat it: placements of workloads as Kubernetes would place them (``engine.placing.attempts``), for a first deploy,
and random traces of the lifecycle model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base import work
from kubesched_lint.engine.events.answers.cells import BAD, FINE, Cell, not_known
from kubesched_lint.engine.events.limits import MOST_IN_COURSE
from kubesched_lint.engine.events.start.groups import group_of
from kubesched_lint.engine.events.start.preemption_scope import scope_of
from kubesched_lint.engine.events.start.quotas import most_pods, quota_short
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing import attempts
from kubesched_lint.engine.placing.attempts import is_followed, is_modelled, order, pods_left
from kubesched_lint.engine.placing.limits import MOST_PODS_TRIED
from kubesched_lint.engine.placing.wanted import pods_wanted
from kubesched_lint.engine.runs.event_outcomes import EventOutcomes, FinalState
from kubesched_lint.engine.runs.judging import verdict_of
from kubesched_lint.engine.scenario.devices.devices import needs_devices
from kubesched_lint.engine.scenario.others.running import lasting_state
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.verdicts.limits import FEW_ERRORS, MOST_DECISIONS
from kubesched_lint.engine.verdicts.matrix import Matrix, Row

ALONE_RUNS = 3
"""Runs with the counted pods alone, each in another order."""
SET_RUNS = 6
"""Runs of the whole set for the pods of a rule that may need others near them."""
RUNS = 3
"""Runs of the whole set for all its cells."""


class Claim(Struct, frozen=True):
    """What a proof says of the end of an event, for every run that Kubernetes may make."""

    why: str
    """The proof in words."""
    event: str
    wanted: int
    """The number of pods that it counts."""
    least: int = 0
    """The least of them that have a node in the end."""
    most: int = 0
    verdict: str = ""
    """BAD or FINE if every run ends like that."""
    of: tuple[Workload, ...] = ()
    """The workloads whose pods a rule counts: its proof holds for them alone, too."""
    number: int = -1
    """The workload whose cell it is: its proof holds for the whole set; -1 if a rule says it."""
    by_search: bool = False
    """Whether a search has followed all traces: they say nothing new."""
    is_of_rollout_there: bool = False
    """Whether a rollout never ends once the event has brought all wanted pods."""


def of_cell(cell: Cell, number: int) -> Claim:
    """Return what a proven cell of a workload says."""
    least, most = cell.bound.least, cell.bound.most
    searched = cell.bound.by == "search"
    if searched:  # for the default scheduler: how many find a node with another one is not known
        least = cell.wanted if cell.verdict == FINE else 0
        most = cell.wanted - 1 if cell.verdict == BAD else cell.wanted
    there = cell.event == "hpa-max" and cell.stuck
    return Claim(cell.why, cell.event, cell.wanted, least, most, cell.verdict, (), number, searched, there)


class _Left(NamedTuple):
    """What a run leaves: the pods of each workload without a node at its end."""

    pods: Mapping[Workload, int]
    is_everything: bool
    """Whether no pod has found a node."""


class Refuter:
    """Runs in one scenario that may beat claims; claims about the same workloads share them."""

    def __init__(self, scenario: Scenario, matrix: Matrix | None = None) -> None:
        """``matrix``: the one whose cells make claims; ``scenario`` then has no pools, and all nodes of the matrix."""
        self._scenario = scenario
        self._matrix = matrix
        self._tried = 0
        """Number of claims of rules that have had runs."""
        self._followed: dict[Workload, bool] = {}
        """Workload → whether a run can follow its pods."""
        self._left: dict[tuple[object, ...], _Left | None] = {}
        """A run → what it leaves; None if it takes too many steps."""

    def doubt(self, claim: Claim) -> str:
        """Return what is told of a claim that a run beats, within a share of the work; empty if none does."""
        try:
            with work.within(work.share(0)):
                run = self._of_table(claim) if claim.number >= 0 else self._of_rule(claim)
        except work.OutOfWorkError:
            return ""  # an unfinished run refutes nothing
        if run and attempts.raising:
            raise attempts.RefutedError(f"{claim.event} of {self._whose(claim)}: {claim.why}; yet {run}")
        return f"{claim.why}; yet {run}. Please report this bug in kubesched-lint" if run else ""

    def _whose(self, claim: Claim) -> str:
        of_cell = (self._matrix.whole.workloads[claim.number],) if self._matrix is not None else ()
        return ", ".join(map(str, claim.of or of_cell))

    # --- what a cell says -------------------------------------------------------------------------------------------

    def _of_table(self, claim: Claim) -> str:
        assert self._matrix is not None, "a cell is one of a matrix"
        placed = self._of_set.get(claim.number) if claim.event == "deploy" else None
        run = placed and _miscounted(claim, self._left_of((placed,), self._set, self._set[-1:], RUNS))
        if run:
            return run
        place = self._matrix.place(claim.number)
        if place is None or claim.by_search or self._matrix.whole.never_ready or self._is_long:
            return ""
        if scope_of(self._matrix.simulated, group_of(self._matrix.simulated.member(place))).uncounted:
            return ""  # the pods of its traces may differ from those that run
        if claim.is_of_rollout_there:
            return _contradicted(replace(claim, event="rollout"), self._rolled_out_at(claim.wanted, place))
        return _contradicted(claim, self._matrix.courses(claim.event, place))

    @cached_property
    def _is_long(self) -> bool:
        assert self._matrix is not None
        simulated = self._matrix.simulated
        return len(simulated.nodes) * sum(map(most_pods, simulated.members)) > MOST_DECISIONS

    def _rolled_out_at(self, size: int, place: int) -> Sequence[FinalState]:
        """Return the ends of rollouts of a workload of the matrix that was deployed with ``size`` pods."""
        assert self._matrix is not None
        simulated = self._matrix.simulated
        sized = (replace(w, replicas=size) if i == place else w for i, w in enumerate(simulated.workloads))
        return Matrix(replace(simulated, workloads=tuple(sized)), self._matrix.effort).courses("rollout", place)

    @cached_property
    def _of_set(self) -> Mapping[int, Workload]:
        """Number in the matrix → workload that a first deploy of the whole set can place; empty if pods run already."""
        assert self._matrix is not None
        simulated, scenario = self._matrix.whole, self._scenario
        if simulated.never_ready or any(scenario.member(w).running_pods for w in scenario.manifests.workloads):
            return {}
        if self._pods(self._set) > MOST_PODS_TRIED:
            return {}
        placed = {w.ref: w for w in self._set if is_modelled(scenario.member(w)) and self._has_devices(w, simulated)}
        return {i: placed[w.ref] for i, w in enumerate(simulated.workloads) if w.ref in placed}

    def _has_devices(self, workload: Workload, simulated: SimulatedSet) -> bool:
        """Whether the matrix does not leave out devices of a workload."""
        return not needs_devices(workload.pod, self._scenario) or bool(simulated.objects.allocator)

    # --- what a rule says -------------------------------------------------------------------------------------------

    def _of_rule(self, claim: Claim) -> str:
        self._tried += 1
        runs = ALONE_RUNS if self._tried <= FEW_ERRORS else 1
        of = claim.of
        if not of or not all(map(self._is_followed, of)):
            return ""
        if claim.event == "rollout":
            return next(filter(None, (_contradicted(claim, ends) for ends in self._rolled_out(of[0], runs))), "")
        if self._cost(of) <= MOST_IN_COURSE:
            run = _miscounted(claim, self._left_of(of, of, of, runs))
            if run:
                return run
        around = self._around(of) if any(w.pod.required_affinity for w in of) else ()
        return _miscounted(claim, self._left_of(of, around, of, SET_RUNS)) if around else ""

    def _around(self, of: Sequence[Workload]) -> Sequence[Workload]:
        """The whole set with these definitions, if it is small; else ()."""
        refs = {w.ref for w in of}
        around = [*of, *(w for w in self._set if w.ref not in refs)]
        return around if self._cost(around) <= MOST_DECISIONS else ()

    def _rolled_out(self, workload: Workload, runs: int) -> Iterator[Sequence[FinalState]]:
        """Yield the ends of rollouts of a workload alone, all of whose pods ran before."""
        if self._cost((workload,)) > MOST_IN_COURSE:
            return
        simulated = self._alone(workload)
        if quota_short(simulated):
            return
        for seed in range(runs):
            deployed = timeline_of(simulated, [0], expected=False, most_states=0, runs=1, seed=seed, preempting=True)
            outcomes = EventOutcomes(simulated, [0], [deployed], ())
            ends = outcomes.ends("deploy", 0)
            if not ends or any(end.lack for end in ends):
                return
            yield outcomes.ends("rollout", 0) or ()

    def _alone(self, workload: Workload) -> SimulatedSet:
        scenario = self._scenario
        assert scenario.cluster is not None
        of_daemons = workload.kind == "DaemonSet"
        sized = workload if of_daemons else replace(workload, replicas=scenario.member(workload).replicas)
        # The admission names the quotas that count a pod, so these must be its own.
        objects = replace(lasting_state(scenario).objects, quotas=scenario.admission.objects.quotas)
        alone = SimulatedSet(
            scenario.index.nodes, objects, (sized,), kubernetes_version=scenario.premises.kubernetes_version
        )
        alone.__dict__["admission"] = scenario.admission  # webhooks and schedulers add to its pods what they add there
        return alone

    # --- runs -------------------------------------------------------------------------------------------------------

    @cached_property
    def _set(self) -> Sequence[Workload]:
        """The workloads that a run of the whole set can place, in apply order; none if no run takes so many pods.

        If it has others, pods with affinity may wait for pods that no run creates, so they are left out.
        """
        members, followed, pods = [w for w in self._scenario.as_deployed if not w.suspended], list[Workload](), 0
        for workload in members:
            if self._is_followed(workload):
                followed.append(workload)
                pods += pods_wanted(self._scenario.member(workload))
                if pods > MOST_DECISIONS:
                    return ()
        return followed if len(followed) == len(members) else [w for w in followed if not w.pod.required_affinity]

    def _is_followed(self, workload: Workload) -> bool:
        if workload not in self._followed:
            self._followed[workload] = is_followed(self._scenario.member(workload))
        return self._followed[workload]

    def _left_of(
        self, of: Sequence[Workload], members: Sequence[Workload], favoured: Sequence[Workload], runs: int
    ) -> Iterator[int]:
        """Yield for each run of ``members`` how many pods ``of`` these find no node."""
        for seed in range(runs):
            run = (seed, len(members), *favoured)
            if run not in self._left:
                self._left[run] = self._made(members, favoured, seed)
            left = self._left[run]
            if left is None:
                continue
            yield sum(left.pods[workload] for workload in of)
            if left.is_everything:
                return  # not even the first pod fits

    def _made(self, members: Sequence[Workload], favoured: Sequence[Workload], seed: int) -> _Left | None:
        ordered, choose = order(members, favoured, seed)
        pods = work.tried(partial(pods_left, self._scenario, ordered, choose), None, 2)
        return None if pods is None else _Left(pods, sum(pods.values()) >= self._pods(members))

    def _cost(self, members: Iterable[Workload]) -> int:
        return len(self._scenario.index) * self._pods(members)

    def _pods(self, members: Iterable[Workload]) -> int:
        return sum(pods_wanted(self._scenario.member(w)) for w in members)


def _miscounted(claim: Claim, left: Iterable[int]) -> str:
    """Return what a run binds although the claim counts otherwise; ``left`` are the waiting pods of each run."""
    bound = (claim.wanted - waiting for waiting in left)
    wrong = next((count for count in bound if not claim.least <= count <= claim.most), None)
    return "" if wrong is None else f"a run of the model binds {wrong} of {claim.wanted}"


def _contradicted(claim: Claim, ends: Sequence[FinalState]) -> str:
    ends = [end for end in ends if not end.blocked]  # a trace may give up a drain that would continue later
    verdicts = {verdict_of(claim.event, [end])[0] for end in ends}
    if claim.verdict == FINE and BAD in verdicts:
        return "a trace of the model ends badly"
    if claim.verdict == BAD and FINE in verdicts:
        return "a trace of the model ends well"
    counts = [end.filled(claim.wanted) for end in ends]
    wrong = next((n for n in counts if not claim.least <= n <= claim.most), None)
    return "" if wrong is None else f"a trace of the model binds {wrong} of {claim.wanted}"


# --- cells ------------------------------------------------------------------------------------------------------------


def established(row: Row, refuter: Refuter) -> Row:
    """Return the row; cells that a run contradicts are unknown."""
    doubts = [refuter.doubt(of_cell(cell, row.number)) if cell.proven else "" for cell in row.cells]
    cells = zip(row.cells, doubts, strict=True)
    return replace(
        row, cells=tuple(not_known(cell, (f"a proof: {doubt}",)) if doubt else cell for cell, doubt in cells)
    )
