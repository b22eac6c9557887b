"""The last step before an error is printed: an exact run tries to beat the proof behind it.

What a run beats is no proof. It is shown as a warning that asks for a report, and under tests it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kubesched_lint import work
from kubesched_lint.analysis.attempts import is_followed, orders, pods_left
from kubesched_lint.analysis.wanted import pods_wanted
from kubesched_lint.findings import Severity, pattern
from kubesched_lint.lifecycle.judging import is_stuck
from kubesched_lint.lifecycle.quotas import quota_short
from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.lifecycle.stories import story_of
from kubesched_lint.lifecycle.telling import Telling
from kubesched_lint.record import replace
from kubesched_lint.world.running import lasting_state

if TYPE_CHECKING:
    from kubesched_lint.findings import ObjectRef
    from kubesched_lint.linter.judged import Judged
    from kubesched_lint.model.workload import Workload
    from kubesched_lint.world.world import World

ALONE_RUNS = 3
"""Runs of the workload by itself: the orders in which its pods come before all others."""
FEW = 100
"""So many errors are tried that often; further ones of the same report once each."""
SET_RUNS = 6
"""Runs of the whole set."""
MOST_DECISIONS = 5_000
"""Pods times nodes: larger sets are not run as a whole."""
MOST_ALONE = 50_000
"""Pods times nodes of one workload: a run of more would take too long."""

raising = False
"""Set by tests: a refuted proof is a failure there."""


class RefutedError(AssertionError):
    """A run of the model contradicts what was called proven."""


def established(judged: Iterable[Judged], as_meant: Callable[[Judged], World]) -> Iterator[Judged]:
    """The findings, errors that a run of the model beats as warnings; ``as_meant`` gives the world of a finding."""
    attempts: dict[int, _Attempts] = {}
    for one in judged:
        run = ""
        if _is_tried(one):
            try:
                with work.within(work.share(0)):
                    world = as_meant(one)
                    run = attempts.setdefault(id(world), _Attempts(world)).against(one)
            except work.OutOfWorkError:
                run = ""  # a run that is cut short says nothing
        if run and raising:
            raise RefutedError(f"{one.finding.rule} on {one.finding.object}: {one.finding.message}; yet {run}")
        yield _not_established(one, run) if run else one


def _is_tried(one: Judged) -> bool:
    finding = one.finding
    return (
        finding.severity is Severity.ERROR and finding.evidence.kind == "proof" and one.rule.each in ("workload", "set")
    )


def _not_established(one: Judged, run: str) -> Judged:
    said = one.finding.evidence
    text = f"not established: {said.text}; yet {run}. Please report this: it is a fault of kubesched-lint"
    evidence = pattern(text, assumes=said.assumes)
    return replace(one, finding=replace(one.finding, severity=Severity.WARNING, evidence=evidence, if_fixed=None))


class _Attempts:
    """Runs against the claims of one set on one cluster."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._tried = 0

    def against(self, one: Judged) -> str:
        """What a run does that the finding says cannot be; empty where none is found."""
        self._tried += 1
        of = self._named(one)
        if not of or not all(is_followed(self._world.member(w)) for w in of):
            return ""
        if one.finding.evidence.event == "deploy":
            return self._deployed(of, one)
        return self._rolled_out(of[0]) if one.finding.evidence.event == "rollout" else ""

    def _named(self, one: Judged) -> Sequence[Workload]:
        together = one.hazard.together
        if not together:
            return () if one.workload is None else (one.workload,)
        return [self._by_ref[ref] for ref in together] if self._by_ref.keys() >= set(together) else ()

    @cached_property
    def _by_ref(self) -> Mapping[ObjectRef, Workload]:
        return {workload.ref: workload for workload in self._world.as_deployed}

    def _deployed(self, of: Sequence[Workload], one: Judged) -> str:
        wanted = sum(pods_wanted(self._world.member(w)) for w in of)
        pending = _pending(one, wanted)
        for members, runs in ((of, self._alone_runs), (self._whole(of), SET_RUNS)):
            if self._cost(members) > MOST_ALONE:
                continue
            for ordered, choose, random in orders(members, of, runs) if members else ():
                left = pods_left(self._world, ordered, choose, random)
                if left is None:
                    continue
                waiting = sum(left[id(w)] for w in of)
                if waiting < pending:
                    return f"in a run of the model {wanted - waiting} of {wanted} pods find a node"
                if waiting == wanted and members is of:
                    break  # not even the first pod has a choice
        return ""

    @property
    def _alone_runs(self) -> int:
        return ALONE_RUNS if self._tried <= FEW else 1

    def _cost(self, members: Sequence[Workload]) -> int:
        return len(self._world.index) * sum(pods_wanted(self._world.member(w)) for w in members)

    def _whole(self, of: Sequence[Workload]) -> Sequence[Workload]:
        """The whole set with these definitions, where others may help, and where it is small; else nothing."""
        if not any(w.pod.required_affinity for w in of):
            return ()
        refs = {w.ref for w in of}
        return [*of, *(w for w in self._set if w.ref not in refs)] if self._set else ()

    @cached_property
    def _set(self) -> Sequence[Workload]:
        """The workloads that a run can place, in apply order; none where they are many."""
        members = self._world.as_deployed
        if len(members) > MOST_DECISIONS or self._cost(members) > MOST_DECISIONS:
            return ()
        return [w for w in members if is_followed(self._world.member(w))]

    def _rolled_out(self, workload: Workload) -> str:
        if self._cost((workload,)) > MOST_ALONE:
            return ""
        setting = self._alone(workload)
        if quota_short(setting):
            return ""  # the claim is about an update of pods that are all made
        for seed in range(self._alone_runs):
            deployed = story_of(setting, [0], expected=False, most_states=0, runs=1, seed=seed, preempting=True)
            ends = Telling(setting, [0], [deployed], ()).ends("deploy", 0)
            if not ends or any(end.lack for end in ends):
                return ""  # the claim is about an update of pods that all run
            ends = Telling(setting, [0], [deployed], ()).ends("rollout", 0)
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
    """How many pods the finding says wait: what its message calls ``pending``, else all that are wanted.

    At least one: an error says that something is wrong.
    """
    pending = one.hazard.values.get("pending", wanted)
    return max(pending, 1) if isinstance(pending, int) else wanted
