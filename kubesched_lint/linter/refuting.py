"""The last check of an error: exact runs of the scheduler's model try to refute its proof.

A refuted proof becomes a warning that asks for a bug report; under tests it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kubesched_lint import work
from kubesched_lint.analysis import attempts
from kubesched_lint.analysis.attempts import is_followed, orders, pods_left
from kubesched_lint.analysis.wanted import pods_wanted
from kubesched_lint.findings import Severity, pattern
from kubesched_lint.lifecycle.event_outcomes import EventOutcomes
from kubesched_lint.lifecycle.judging import is_stuck
from kubesched_lint.lifecycle.limits import MOST_IN_COURSE
from kubesched_lint.lifecycle.quotas import quota_short
from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.lifecycle.stories import story_of
from kubesched_lint.linter.limits import FEW_ERRORS
from kubesched_lint.verdicts.limits import MOST_DECISIONS
from kubesched_lint.world.running import lasting_state

if TYPE_CHECKING:
    from kubesched_lint.findings import ObjectRef
    from kubesched_lint.linter.judged import Judged
    from kubesched_lint.model.workload import Workload
    from kubesched_lint.world.world import World

ALONE_RUNS = 3
"""Runs with the workload's pods alone, each in another order."""
SET_RUNS = 6
"""Runs of the whole set."""


def established(judged: Iterable[Judged], world_of: Callable[[Judged], World]) -> Iterator[Judged]:
    """Yield the findings; an error that a run in its world refutes becomes a warning."""
    known: dict[World, _InWorld] = {}
    for one in judged:
        run = _refutation(one, world_of, known) if is_tried(one) else ""
        if run and attempts.raising:
            raise attempts.RefutedError(f"{one.finding.rule} on {one.finding.object}: {one.finding.message}; yet {run}")
        yield _not_established(one, run) if run else one


def is_from_table(one: Judged) -> bool:
    """Whether the table of verdicts proves it, and has tried: a verdict, or a warning that explains one."""
    return one.rule.about == "verdict" or one.hazard.severity is Severity.WARNING


def is_tried(one: Judged) -> bool:
    """Return whether runs try to refute a finding."""
    finding = one.finding
    return (
        finding.severity is Severity.ERROR
        and finding.evidence.kind == "proof"
        and one.rule.each in ("workload", "set")
        and not is_from_table(one)
    )


def _refutation(one: Judged, world_of: Callable[[Judged], World], known: dict[World, _InWorld]) -> str:
    """What a run does although the finding says that it is impossible, within a share of the work that is left."""
    try:
        with work.within(work.share(0)):
            world = world_of(one)
            if world not in known:
                known[world] = _InWorld(world)
            return known[world].against(one)
    except work.OutOfWorkError:
        return ""  # an unfinished run proves nothing


def _not_established(one: Judged, run: str) -> Judged:
    refuted = one.finding.evidence
    text = f"not established: {refuted.text}; yet {run}. Please report this bug in kubesched-lint"
    evidence = pattern(text, assumes=refuted.assumes)
    lowered = replace(one.finding, severity=Severity.WARNING, evidence=evidence, if_fixed=None, if_complete=None)
    return replace(one, finding=lowered)


class _InWorld:
    """Runs that try to refute findings of one set on one cluster."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._tried = 0
        """The number of findings that have had runs."""
        self._followed: dict[Workload, bool] = {}
        """Workload → whether a run can follow its pods."""
        self._waiting: dict[tuple[object, ...], int | None] = {}
        """Of a run: the pods without a node at its end. Errors about the same workloads ask for the same runs."""

    def against(self, one: Judged) -> str:
        """What a run does although the finding says that it is impossible; empty if none does."""
        self._tried += 1
        runs = ALONE_RUNS if self._tried <= FEW_ERRORS else 1
        of = self._named(one)
        if not of or not all(map(self._is_followed, of)):
            return ""
        if one.finding.evidence.event == "deploy":
            return self._deployed(of, one, runs)
        return self._rolled_out(of[0], runs) if one.finding.evidence.event == "rollout" else ""

    def _is_followed(self, workload: Workload) -> bool:
        if workload not in self._followed:
            self._followed[workload] = is_followed(self._world.member(workload))
        return self._followed[workload]

    def _named(self, one: Judged) -> Sequence[Workload]:
        together = one.hazard.together
        if not together:
            return () if one.workload is None else (one.workload,)
        return [self._by_ref[ref] for ref in together] if self._by_ref.keys() >= set(together) else ()

    @cached_property
    def _by_ref(self) -> Mapping[ObjectRef, Workload]:
        return {workload.ref: workload for workload in self._world.as_deployed}

    def _deployed(self, of: Sequence[Workload], one: Judged, runs: int) -> str:
        wanted = sum(pods_wanted(self._world.member(w)) for w in of)
        pending = _pending(one, wanted)
        for members, most in ((of, runs), (self._whole(of), SET_RUNS)):
            if self._cost(members) > MOST_IN_COURSE:
                continue
            for waiting in self._runs(of, members, most) if members else ():
                if waiting is None:
                    continue
                if waiting < pending:
                    return f"in a run of the model {wanted - waiting} of {wanted} pods find a node"
                if waiting == wanted and members is of:
                    break  # not even the first pod fits
        return ""

    def _runs(self, of: Sequence[Workload], members: Sequence[Workload], most: int) -> Iterator[int | None]:
        """Yield for each run how many pods ``of`` these find no node; None if it takes too many steps."""
        for seed, (ordered, choose) in enumerate(orders(members, of, most)):
            run = (seed, members is of, *of)
            if run not in self._waiting:
                left = pods_left(self._world, ordered, choose)
                self._waiting[run] = None if left is None else sum(left[w] for w in of)
            yield self._waiting[run]

    def _cost(self, members: Sequence[Workload]) -> int:
        return len(self._world.index) * sum(pods_wanted(self._world.member(w)) for w in members)

    def _whole(self, of: Sequence[Workload]) -> Sequence[Workload]:
        """The whole set with these definitions, if it is small and their affinity may need other pods; else ()."""
        if not any(w.pod.required_affinity for w in of):
            return ()
        refs = {w.ref for w in of}
        return [*of, *(w for w in self._set if w.ref not in refs)] if self._set else ()

    @cached_property
    def _set(self) -> Sequence[Workload]:
        """The workloads that a run can place, in apply order; () if they are too many."""
        members = self._world.as_deployed
        if len(members) > MOST_DECISIONS or self._cost(members) > MOST_DECISIONS:
            return ()
        return [w for w in members if self._is_followed(w)]

    def _rolled_out(self, workload: Workload, runs: int) -> str:
        if self._cost((workload,)) > MOST_IN_COURSE:
            return ""
        setting = self._alone(workload)
        if quota_short(setting):
            return ""  # the proof is about an update whose pods all exist
        for seed in range(runs):
            deployed = story_of(setting, [0], expected=False, most_states=0, runs=1, seed=seed, preempting=True)
            ends = EventOutcomes(setting, [0], [deployed], ()).ends("deploy", 0)
            if not ends or any(end.lack for end in ends):
                return ""  # the proof is about an update whose pods all run
            ends = EventOutcomes(setting, [0], [deployed], ()).ends("rollout", 0)
            if ends and not all(is_stuck("rollout", end) for end in ends):
                return "in a run of the model a rolling update of it ends"
        return ""

    def _alone(self, workload: Workload) -> Setting:
        world = self._world
        assert world.cluster is not None
        sized = (
            workload if workload.kind == "DaemonSet" else replace(workload, replicas=world.member(workload).replicas)
        )
        objects = lasting_state(world).objects
        return Setting(world.index.nodes, objects, (sized,), kubernetes_version=world.premises.kubernetes_version)


def _pending(one: Judged, wanted: int) -> int:
    """The number of pods that the finding says wait: its value ``pending``, else all wanted pods. At least one."""
    pending = one.hazard.values.get("pending", wanted)
    return max(pending, 1) if isinstance(pending, int) else wanted
