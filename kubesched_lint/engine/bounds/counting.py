"""What counting says of each cell, asked once: bounds, with what preemption and devices leave of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice
from math import prod

from kubesched_lint.engine.bounds.counted import count, lets_nobody_go
from kubesched_lint.engine.bounds.devices import with_devices
from kubesched_lint.engine.bounds.idle import idle
from kubesched_lint.engine.bounds.least import returns
from kubesched_lint.engine.bounds.losses.taken import most_taken
from kubesched_lint.engine.bounds.losses.unreachable import if_unreachable, why_apart
from kubesched_lint.engine.bounds.parts import sharpened
from kubesched_lint.engine.bounds.stranded import REPLICATED, lessened
from kubesched_lint.engine.events.answers.event_bounds import Bound, EventBounds
from kubesched_lint.engine.events.start.evictable_pods import guests_of
from kubesched_lint.engine.events.start.groups import group_in, group_of
from kubesched_lint.engine.events.start.overlooked import may_overlook
from kubesched_lint.engine.events.start.preemption_scope import are_others_stronger, outranks, scope_of
from kubesched_lint.engine.events.start.simulated_set import LOSSES, UNREACHABLE_OF, SimulatedSet
from kubesched_lint.engine.model.pod import Pod


class Counting:
    def __init__(self, simulated: SimulatedSet, *, narrates: bool = True) -> None:
        """``narrates``: as in ``Effort``."""
        self.simulated = simulated
        self._narrates = narrates
        self._known: dict[tuple[str, int], EventBounds] = {}
        self._presses: dict[tuple[str, tuple[int, ...]], Sequence[int]] = {}
        self._preemptors: dict[tuple[str, tuple[int, ...]], Sequence[int]] = {}

    def bounds(self, event: str, members: tuple[int, ...], number: int) -> EventBounds:
        """Return the bounds of a workload; ``members`` are those that can affect it."""
        bounds = self._known.get((event, number))
        if bounds is None and event in UNREACHABLE_OF:
            deleted = self.bounds(UNREACHABLE_OF[event], members, number)
            bounds = self._known[event, number] = if_unreachable(self.simulated.member(number), event, deleted)
            lessened(self.simulated.member(number), event, bounds)
            self._raise_to_survivors(event, members, number, bounds)
        if bounds is None:
            bounds = count(self.simulated.member(number), event)
            doubt = self._doubt(event, members, number, bounds.wanted) if bounds.is_fine else ""
            if doubt:
                bounds.least, bounds.never_stuck = Bound(0, doubt), False
            with_devices(bounds, self.simulated.member(number), members, event)
            if not (bounds.is_fine or bounds.is_bad):
                sharpened(self.simulated.member(number), event, bounds)
                self._raise_to_survivors(event, members, number, bounds)
            if not self._narrates:
                bounds.leave_least_out()
            self._known[event, number] = bounds
        return bounds

    def proves_bad_end(self, event: str, members: tuple[int, ...], number: int) -> bool:
        """Whether counting proves that an event ends badly: unlike ``bounds``, mostly without the least pods."""
        bounds, member = self._known.get((event, number)), self.simulated.member(number)
        if bounds is None:
            bounds = count(member, event)
            with_devices(bounds, member, members, event)
            if event == "drain" and not bounds.is_bad and lets_nobody_go(member, bounds.wanted):
                bounds = self.bounds(event, members, number)  # it never ends if all pods are sure to be healthy
        return bounds.is_bad

    def _raise_to_survivors(self, event: str, members: tuple[int, ...], number: int, bounds: EventBounds) -> None:
        """Raise the least pods after a loss to those on other nodes: they stay, unless somebody may preempt them."""
        member = self.simulated.member(number)
        if event not in LOSSES or member.workload.kind not in REPLICATED or bounds.is_fine or bounds.is_bad:
            return
        survivors = bounds.wanted - most_taken(member, event)
        if survivors <= bounds.least.pods or not self.bounds("deploy", group_in(member, "deploy"), number).is_fine:
            return
        if not are_others_stronger(member) and not self._is_pressed(event, members, number):
            bounds.least = bounds.least._replace(pods=survivors)

    def tells_apart(self, event: str, members: tuple[int, ...], number: int) -> bool:
        """Whether a workload may end otherwise on unreachable nodes (``event``) than without deleted ones.

        Counting asks only what concerns the workload itself; to a search it may matter what others do.
        """
        deleted = self.bounds(UNREACHABLE_OF[event], members, number)
        return not (deleted.is_fine or deleted.is_bad) or bool(why_apart(self.simulated.member(number), event))

    def exceeds(self, members: Collection[int], states: int, *, preempting: bool) -> bool:
        """Whether a search over members surely meets more states of a deploy.

        Pods of other groups change neither whether a pod is bound nor how many are, and any of them may come first.
        So for each group, every number of its new pods up to the least is met with every number of the others. In a
        group, this holds of each workload whose pods ask nothing of where other pods are. If the search is
        ``preempting``, those pods count for which nobody has to be preempted.
        """
        simulated, met = self.simulated, 1
        for group in dict.fromkeys(group_of(simulated.member(i)) for i in members) if simulated.together else ():
            if met > states:
                break
            if preempting and simulated.need_devices(group):
                continue
            new = [
                i
                for i in group
                if i in members and not simulated.running.get(i) and not idle(simulated.member(i), "deploy")
            ]
            least = {i: self._least_bound(group, i, preempting=preempting) for i in new}
            apart = prod(1 + pods for i, pods in least.items() if _asks_for_nobody(simulated.pods[i]))
            met *= max(1 + sum(least.values()), apart)
        return met > states

    def _least_bound(self, group: tuple[int, ...], number: int, *, preempting: bool) -> int:
        """Return the least pods after a deploy; if preemption is followed, without those that have to preempt."""
        bounds = count(self.simulated.member(number), "deploy") if preempting else self.bounds("deploy", group, number)
        return bounds.least.pods

    def _doubt(self, event: str, members: tuple[int, ...], number: int, wanted: int) -> str:
        """Return why preemption may leave pods missing although each waiting pod finds a node; empty if it cannot."""
        simulated, scope = self.simulated, scope_of(self.simulated, members)
        if len(members) < 2 or not (scope.strong or scope.uncounted):
            return ""
        workload, lost = simulated.workloads[number], ""
        if workload.kind == "Pod":
            lost = "a preempted pod is not recreated"
        elif workload.claim_templates and not returns(simulated.member(number), wanted):
            lost = "a preempted pod can only return to where its volume is"
        elif may_overlook(simulated.member(number)):
            lost = "the replacement of a preempted pod may not be requeued when that pod is gone"
        if lost and self._is_pressed(event, members, number):
            return lost
        if guests_of(simulated).weaker_kinds and any(i != number for i in self._preempting_owned(event, members)):
            return "preempted pods of others may be recreated on these nodes"
        return ""

    def _is_pressed(self, event: str, members: tuple[int, ...], number: int) -> bool:
        """Whether other workloads of the set may have to preempt pods of this workload."""
        pressing = self._pressing(event, members)
        return any(i != number and outranks(self.simulated.member(i), self.simulated.member(number)) for i in pressing)

    def _preempting_owned(self, event: str, members: tuple[int, ...]) -> Sequence[int]:
        """Return up to two members that may have to preempt pods whose controllers recreate them."""
        preemptors = self._preemptors.get((event, members))
        if preemptors is None:
            weaker, pressing = guests_of(self.simulated).weaker, self._pressing(event, members)
            preemptors = list(islice((i for i in pressing if any(w.bound.owner is not None for w in weaker((i,)))), 2))
            self._preemptors[event, members] = preemptors
        return preemptors

    def _pressing(self, event: str, members: tuple[int, ...]) -> Sequence[int]:
        """Return the members whose pods may have to wait and then preempt others."""
        pressing = self._presses.get((event, members))
        if pressing is None:
            pressing = self._presses[event, members] = [
                i for i in members if not count(self.simulated.member(i), event).is_fine
            ]
        return pressing


def _asks_for_nobody(pod: Pod) -> bool:
    """Whether fewer other pods leave a pod no fewer nodes."""
    return not pod.required_affinity and not any(c.is_hard for c in pod.spread)
