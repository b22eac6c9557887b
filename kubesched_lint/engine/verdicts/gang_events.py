"""The cells of gangs that hold although the scheduler tries the pods of a gang together.

The cells themselves follow each pod alone. Two arguments carry them over:

- *Enough run.* While ``minCount`` pods of the group have nodes, kube-scheduler binds each further pod that finds one.
- *Every order ends well.* The pods of an attempt get nodes one after another, as they could alone. If each of them runs
  in the end whatever the order and the nodes, no attempt lacks a node for the last ones. That needs pods that no other
  pod helps: what an attempt takes back could else be missing.

Both need that nobody evicts anybody: a group preempts in its own ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from kubesched_lint.engine.controllers.bounds import rolling_bounds, scaled
from kubesched_lint.engine.events.answers.cells import BAD, FINE, NONE, Cell
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.placing.gangs.answers import CERTAIN, SCHEDULERS
from kubesched_lint.engine.placing.gangs.fit import answers
from kubesched_lint.engine.scenario.gangs import Gang, at_once, constraint, gangs_of, live_groups, lowest_live
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.verdicts.matrix import Row
from kubesched_lint.engine.verdicts.missing_facts import Lack, fate_of_group

_GROWING = ("hpa-max", "scale-to-")


Deployed = Callable[[int], Cell]
"""Number of a workload → its deploy cell."""


def gang_lacks(
    rows: Sequence[Row], deployed: Deployed, simulated: SimulatedSet, scenario: Scenario
) -> Mapping[int, tuple[Lack, ...]]:
    """Return what is unknown about the gangs of kube-scheduler, for the rows of their workloads.

    Number of a workload → one lack for each reason, with its events; empty if all its cells hold.
    """
    numbers = {w.ref: i for i, w in enumerate(simulated.workloads)}
    cells = {row.number: {cell.event: cell for cell in row.cells} for row in rows}
    lacks: dict[int, tuple[Lack, ...]] = {}
    facts = _Facts(simulated, scenario)
    for gang in gangs_of(scenario):
        if not gang.is_foreign:
            followed = [numbers[member.workload.ref] for member in gang.members if member.workload.ref in numbers]
            known = _Group(gang, followed, cells, deployed, facts)
            lacks |= {number: tuple(known.lacks(number)) for number in known.numbers}
    return lacks


class _Facts:
    """What all groups of a set share."""

    def __init__(self, simulated: SimulatedSet, scenario: Scenario) -> None:
        self.simulated, self.scenario = simulated, scenario
        lowest = lowest_live(scenario)
        priorities = {pod.priority or 0 for pod in simulated.pods}
        self.may_evict = len(priorities) > 1 or any(
            (pod.priority or 0) < least for pod in lowest for least in priorities
        )
        self._answers = {answer.gang: answer for answer in answers(scenario)}
        self._waiting = live_groups(scenario)

    def fits(self, gang: Gang) -> bool:
        """Whether all pods of a gang that is the whole set are bound in every order."""
        answer = self._answers[gang]
        members = {member.workload.ref for member in gang.members}
        is_whole = answer.verdict == CERTAIN and gang.needed == gang.pods
        return is_whole and all(workload.ref in members for workload in self.simulated.workloads)

    def waits(self, gang: Gang) -> bool:
        """Whether pods of the group are in the cluster, without a node."""
        return self._waiting.get((gang.group.namespace, gang.group.name), False)

    @cached_property
    def keeps_away(self) -> bool:
        """Whether a pod of the set or the cluster keeps others away."""
        running = (bound.pod for bound in self.simulated.objects.pods)
        return any(pod.required_anti_affinity for pod in (*self.simulated.pods, *running))


class _Group(Struct, frozen=True):
    gang: Gang
    numbers: Sequence[int]
    """The places of its workloads in the set, which leaves out CronJobs and others that are not simulated."""
    rows: Mapping[int, Mapping[str, Cell]]
    """Number of a workload → event → cell."""
    deployed: Deployed
    facts: _Facts

    def lacks(self, number: int) -> Iterator[Lack]:
        reasons: dict[str, list[str]] = {}
        for event, cell in self.rows.get(number, {}).items():
            runs_none = cell.verdict == BAD and cell.proven and not cell.bound.most
            if cell.verdict != NONE and not runs_none:
                reasons.setdefault(self._doubt(event), []).append(event)
        for reason, events in reasons.items():
            if reason:
                yield Lack(f"{fate_of_group(self.gang.group.name)}: {reason}", True, events=tuple(events))

    def _doubt(self, event: str) -> str:
        """Return why the cells of an event may not hold; empty if they hold."""
        always = self._doubt_of_set()
        if always:
            return always
        if self.facts.simulated.supposes(event) is not None:
            return "groups are not followed through hypotheses"
        if event != "deploy" and not self._is_deployed:
            return "it may not start whole"
        enough_run = event == "scale-down" or self._floor(event) >= self.gang.needed
        return "" if enough_run else self._doubt_of_orders(event)

    def _doubt_of_set(self) -> str:
        key = constraint(self.gang, self.facts.scenario)
        if key:
            return f"nodes with one {key} hold all its pods"
        if len(self.numbers) < len(self.gang.members):
            return "not all its workloads are simulated"
        if self.facts.scenario.pools:
            return "it is not known which nodes pools add for a group"
        if not self.gang.has_one_scheduler:
            return SCHEDULERS
        if self.facts.waits(self.gang):
            return "pods of the group wait in the cluster"
        if self.facts.may_evict:
            return "pods have different priorities, and a group evicts others in its own way"
        return "it has a priority of its own, and may evict pods" if self.gang.group.has_own_priority else ""

    @property
    def _is_deployed(self) -> bool:
        """Whether the deployment ends with all its pods on nodes."""
        return (not self._doubt("deploy") and self._all_fine("deploy")) or self.facts.fits(self.gang)

    def _all_fine(self, event: str) -> bool:
        """Whether every order of single pods ends with all pods on nodes, and at once."""
        cells = [self._cell(event, number) for number in self.numbers]
        return all(c is not None and c.verdict == FINE and c.proven and c.bound.least >= c.wanted for c in cells)

    def _cell(self, event: str, number: int) -> Cell | None:
        cell = self.rows.get(number, {}).get(event)
        return self.deployed(number) if cell is None and event == "deploy" else cell

    def _floor(self, event: str) -> int:
        """Return the number of its pods that have nodes at any time of an event."""
        if event.startswith(_GROWING):
            return self.gang.pods
        return sum(self._floor_of(event, number) for number in self.numbers) if event in ("deploy", "rollout") else 0

    def _floor_of(self, event: str, number: int) -> int:
        simulated = self.facts.simulated
        workload = simulated.workloads[number]
        running, wanted = simulated.running.get(number, ()), simulated.member(number).wanted
        are_ours = all(bound.ready and bound.pod.group == self.gang.group.name for bound in running)
        start = min(len(running) if are_ours else 0, wanted) if event == "deploy" else wanted
        if event == "deploy" and simulated.changes.get(number, True) is False:
            return start
        if workload.kind in ("Job", "ReplicaSet", "Pod", "ReplicationController"):
            return start
        if number in simulated.never_ready or workload.strategy.type != "RollingUpdate":
            return 0
        if workload.kind == "Deployment":
            return min(start, wanted - rolling_bounds(workload.strategy, wanted)[1])
        away = max(1, scaled(workload.strategy.max_unavailable, wanted, up=False))
        return max(0, min(start, wanted - away)) if workload.kind == "StatefulSet" else 0

    def _doubt_of_orders(self, event: str) -> str:
        starts_running = event == "deploy" and any(self.facts.simulated.running.get(number) for number in self.numbers)
        if event == "rollout" or starts_running:
            return f"fewer than {self.gang.needed} of its pods may run at a time"
        simulated = self.facts.simulated
        first = sum(at_once(simulated.workloads[number], simulated.member(number).wanted) for number in self.numbers)
        if first < self.gang.needed:
            return f"fewer than {self.gang.needed} pods exist before one has a node"
        if any(_is_helped(simulated.pods[number]) for number in self.numbers):
            return "its pods need others beside them, and an attempt may take these back"
        if event == "drain" and self.facts.keeps_away:
            return "pods keep others away until they are evicted"
        return "" if self._all_fine(event) else "not every order of its pods ends well"


def _is_helped(pod: Pod) -> bool:
    """Whether a pod on a node can help this one to find another."""
    return bool(pod.required_affinity) or any(constraint.is_hard for constraint in pod.spread)
