"""The matrix: one cell for each workload and event, with a verdict and its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.admission.decision import CREATED
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.limits import MOST_STEPS
from kubesched_lint.engine.base.text import first_few
from kubesched_lint.engine.bounds.counted import count, has_room, stuck_at_most
from kubesched_lint.engine.bounds.counting import Counting
from kubesched_lint.engine.bounds.devices import by_allocator
from kubesched_lint.engine.bounds.idle import idle
from kubesched_lint.engine.events.answers import cells as verdicts
from kubesched_lint.engine.events.answers import counted_cells
from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS, FINE, NOT_ASKED, Cell, Range, words
from kubesched_lint.engine.events.answers.counted_cells import doubted, range_of, why_open, with_counted
from kubesched_lint.engine.events.answers.event_bounds import Bound, EventBounds
from kubesched_lint.engine.events.limits import LEAST_STEPS, MOST_PODS
from kubesched_lint.engine.events.start import quotas
from kubesched_lint.engine.events.start.evictable_pods import guests_of
from kubesched_lint.engine.events.start.groups import (
    components,
    group_in,
    group_of,
    groups_of,
    template_variants,
    tries_all_templates,
)
from kubesched_lint.engine.events.start.preemption_scope import NONE, PreemptionScope, scope_of
from kubesched_lint.engine.events.start.quotas import capped, most_pods
from kubesched_lint.engine.events.start.simulated_set import LOSSES, UNREACHABLE_OF, SimulatedMember, SimulatedSet
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.runs.aims import Aim, AimedCourses
from kubesched_lint.engine.runs.courses import Courses, Effort, Wanted
from kubesched_lint.engine.runs.event_outcomes import EventOutcomes, FinalState
from kubesched_lint.engine.runs.judging import method, verdict_of, with_details
from kubesched_lint.engine.scenario.limits import MOST_NODES
from kubesched_lint.engine.verdicts import creation
from kubesched_lint.engine.verdicts.at_once import AtOnce
from kubesched_lint.engine.verdicts.premises import has_unknown_class, premises

EVENTS = ("deploy", "rollout", "hpa-max", "scale-down", "node-loss", "zone-loss", "drain")
COUNTED = 4 / 3
"""Steps of all cells per step of counting: what it decides needs no trace."""
SEARCH = 8 / 7
"""Steps of a cell per step of its search and its traces: the rest is for what is said where they are cut short."""
WITH_TRACES = 4 / 3
"""Steps of a search and of the traces that are followed if it does not end, per step of the search."""


class Row(Struct, frozen=True):
    number: int
    """The workload's place in the set."""
    cells: tuple[Cell, ...]
    at_once: tuple[AtOnce, ...] = ()
    """What the loss of one node, and of one zone, takes of its pods at once."""


class Matrix:
    """Computes cells; caches the searches and courses that several cells need."""

    def __init__(self, simulated: SimulatedSet, effort: Effort | None = None) -> None:
        self.whole = simulated
        self.simulated = simulated.created
        """Only the workloads whose pods the API server creates, renumbered."""
        kept = (i for i in range(len(simulated.workloads)) if i not in simulated.refused)
        self._places = {number: place for place, number in enumerate(kept)}
        self.effort = effort or Effort()
        self._searched: dict[tuple[tuple[int, ...], bool], EventOutcomes | None] = {}
        self.counting = Counting(self.simulated, narrates=self.effort.narrates)
        self._aimed = AimedCourses(self.counting, self.courses, lambda *asked: self.seeded.ends_again(*asked))
        self._rows = len(self.simulated.workloads)
        self._cut_short: set[tuple[int, ...]] = set()
        """Groups whose search stopped at the cap on states."""

    def place(self, number: int) -> int | None:
        """Return the place in ``simulated`` of workload ``number`` of ``whole``; None if its pods are refused."""
        return self._places.get(number)

    def count_first(self, events: Sequence[str], numbers: Sequence[int]) -> None:
        """Count before anything is searched, so that a costly search takes from no other cell what counting says."""
        asked = {place for number in numbers if (place := self._places.get(number)) is not None}
        self._rows = len(asked)
        try:
            with work.within(work.share(0, COUNTED)):
                for member, event in product(map(self.simulated.member, asked), events):
                    if self._wanted(event, member.number) >= Wanted.COUNTED and not idle(member, event):
                        self.counting.bounds(event, group_in(member, event), member.number)
        except work.OutOfWorkError:
            pass  # each of the other cells counts for itself, as far as the work allows

    def cell(self, event: str, number: int) -> Cell:
        """Return the cell of workload ``number`` of ``whole``; UNKNOWN if it exceeds its share of the work."""
        try:
            with work.within(min(work.share(LEAST_STEPS, 2), MOST_STEPS // 2)):
                return self._without_limit(event, number)
        except work.OutOfWorkError as reason:
            return verdicts.cut_short(event, self.whole.member(number).wanted, str(reason))

    def proven_bad(self, event: str, number: int) -> Cell | None:
        """Return the cell if it is proven to end badly; None for any other, mostly without computing it.

        A course that ends well refutes it, for less work than a search. Raises OutOfWorkError if no steps are left.
        """
        try:
            with work.within(min(work.share(LEAST_STEPS, 2), MOST_STEPS // 2)):
                if not self._may_be_proven_bad(event, number):
                    return None
        except work.OutOfWorkError:
            if work.share(0, 1) < LEAST_STEPS:  # nor are any steps left for the other cells: whoever asks has to say so
                raise
            return None  # the cell would be unknown
        cell = self.cell(event, number)
        return cell if cell.verdict == BAD and cell.proven else None

    def _may_be_proven_bad(self, event: str, number: int) -> bool:
        decision = self.whole.decisions.get(number, CREATED)
        if idle(self.whole.member(number), event) or decision.unknown:
            return False
        if decision.refusal is not None:
            return True
        place = self._places[number]
        members = group_in(self.simulated.member(place), event)
        if not self._is_searched(members) and has_room(self.simulated.member(place), event):
            return False
        if event == "hpa-max" and stuck_at_most(self.simulated.member(place)):
            return True
        if not self._is_searched(members):
            return self.counting.proves_bad_end(event, members, place)
        bounds = self.counting.bounds(event, members, place)
        if bounds.is_fine or bounds.is_bad:
            return bounds.is_bad
        scope = scope_of(self.simulated, members)
        if scope.strong or self._stays_open(scope, place):
            return False
        ends = self.courses(event, place)
        return not ends or verdict_of(event, ends)[0] == BAD

    def _without_limit(self, event: str, number: int) -> Cell:
        reason = idle(self.whole.member(number), event)
        if reason:
            return verdicts.nothing(event, reason)
        decision = self.whole.decisions.get(number, CREATED)
        if decision.refusal is not None:
            return creation.refused(self.whole.member(number), event, decision.refusal)
        place = self._places[number]
        if decision.unknown:
            return creation.undecided(self.simulated.member(place), event, decision)
        return creation.beside_undecided(self._cell(event, place), self.simulated.member(place))

    def _cell(self, event: str, number: int) -> Cell:
        cell = self._at_most(number) if event == "hpa-max" else self._answer(event, number)
        member = self.simulated.member(number)
        counted = partial(self.counting.bounds, event, group_in(member, event), number)
        if cell.verdict == BAD and quotas.may_be_freed(member, event, counted().most.pods):
            cell = doubted(cell, "how much of its quota pods of others free when their node is lost")
        workload = self.simulated.workloads[number]
        if cell.proven and event != "deploy" and has_unknown_class(workload):
            cell = replace(cell, proven=False)
        return verdicts.taking_turns(cell) if workload.kind == "Job" else cell

    def _at_most(self, number: int) -> Cell:
        """Return the cell of an autoscaler's maximum; it ends badly as well if no rollout at that size ever ends."""
        stuck = stuck_at_most(self.simulated.member(number))
        is_told = stuck is None or self.effort.narrates or self._is_searched(group_of(self.simulated.member(number)))
        cell = None if is_told else _without_least(self.simulated.member(number), self._premises(number))
        cell = cell or self._answer("hpa-max", number)
        if stuck is None or (cell.verdict == BAD and cell.proven):
            return cell
        return with_details(counted_cells.stuck_there(cell, stuck), (), self.simulated.member(number))

    def _answer(self, event: str, number: int) -> Cell:
        members = group_in(self.simulated.member(number), event)
        is_asked = self._wanted(event, number) >= Wanted.COUNTED or self._is_searched(members)
        if not is_asked and not self.counting.proves_bad_end(event, members, number):
            return verdicts.cut_short(event, self.simulated.member(number).wanted, NOT_ASKED)
        bounds = self.counting.bounds(event, members, number)
        if bounds.is_fine:
            return self._from_bounds(event, number, bounds)
        scope = scope_of(self.simulated, members)
        if self._stays_open(scope, number) and not bounds.is_bad:
            return self._as_counted(event, number, bounds, scope.open_)
        if bounds.is_bad and not bounds.most.pods and not self.effort.narrates:
            return self._as_counted(event, number, bounds, scope.open_, scope)
        try:
            with work.within(work.share(0, SEARCH)):
                return counted_cells.with_reason(self._followed(event, members, number, bounds), bounds)
        except work.OutOfWorkError as reason:
            bounds.leave_least_out()  # no steps may be left
            return self._as_counted(event, number, bounds, str(reason), scope)

    def _stays_open(self, scope: PreemptionScope, number: int) -> bool:
        """Whether traces cannot follow preemption that may change a cell."""
        return bool(scope.untold and (scope.strong or self._has_other_pods(scope, number)))

    def _has_other_pods(self, scope: PreemptionScope, number: int) -> bool:
        """Whether its real pods may be others than counted; new ones that no node may take wait whatever they are."""
        may_run = self.simulated.usable[number] and not self.simulated.pods[number].scheduling_gates
        return scope.uncounted and bool(may_run or self.simulated.running.get(number))

    def _followed(self, event: str, members: tuple[int, ...], number: int, bounds: EventBounds) -> Cell:
        scope, member = scope_of(self.simulated, members), self.simulated.member(number)
        if scope.strong and scope.open_:
            return self._from_bounds(event, number, bounds)
        # It is unknown which pods another scheduler preempts: the search over all schedulers models no preemption.
        any_ends = likely_ends = None
        if event in UNREACHABLE_OF and member.workload.kind == "StatefulSet":
            return self._from_bounds(event, number, bounds)  # its pods on other nodes stay: a trace shows it
        if not scope.strong and _is_made(member, event, members) and not by_allocator(self.simulated, members):
            any_ends = self._ends(members, event, number, expected=False)
        # A result for any scheduler also holds for the default one: skip the second search.
        surely = any_ends is not None and _says_all(member, event, any_ends) and self._is_followed(members)
        if _is_made(member, event, self._everybody) and not surely:
            likely_ends = self._ends(self._everybody, event, number, expected=True)
        if likely_ends is not None and self._is_followed(members):
            cell = self._from_ends(event, number, likely_ends, any_ends)
        elif any_ends is not None:
            cell = self._from_ends(event, number, any_ends, any_ends)
        else:
            cell = self._from_bounds(event, number, bounds)
        if not scope.open_:
            return cell
        if self._has_other_pods(scope, number):
            return doubted(with_counted(cell, bounds), scope.open_)
        return with_counted(cell, bounds) if cell.verdict == BAD and cell.proven else doubted(cell, scope.open_)

    def _has_courses(self, event: str, number: int, aim: Aim | None = None) -> bool:
        """Whether courses know how many pods the workloads in them have: of those that race for a quota, one result.

        None shows what becomes of a workload that is short of quota itself.
        """
        short = quotas.refused_in(self.simulated.member(number), event)
        if not short or number in short:
            return not short
        return quotas.have_shares(self.simulated, short.intersection(self.seeded.members(number, aim)))

    @cached_property
    def _everybody(self) -> tuple[int, ...]:
        return tuple(range(len(self.simulated.workloads)))

    @cached_property
    def _scopes(self) -> dict[tuple[int, ...], PreemptionScope]:
        """By group of workloads that can affect each other."""
        return {members: scope_of(self.simulated, members) for members in components(self.simulated)}

    def _is_followed(self, members: tuple[int, ...]) -> bool:
        """Whether to use the search over the whole set: other groups may have preemptions that it cannot follow."""
        return bool(scope_of(self.simulated, members).open_) or not any(c.open_ for c in self._scopes.values())

    def _is_played(self, members: tuple[int, ...]) -> bool:
        """Whether pods of these groups may preempt others, and a trace can follow every such preemption."""
        touched = self._touched(members)
        return any(c.strong for c in touched) and not any(c.untold for c in touched)

    def _touched(self, members: tuple[int, ...]) -> Sequence[PreemptionScope]:
        return [self._scopes[group] for group in groups_of(self.simulated, members)]

    # --- exact ------------------------------------------------------------------------------------------------------

    def _ends(self, members: tuple[int, ...], event: str, number: int, *, expected: bool) -> list[FinalState] | None:
        if (hypothesis := self.simulated.supposes(event)) is not None and not hypothesis.has_few_orders:
            return None
        event_outcomes = self._search(members, expected=expected)
        ends = event_outcomes.ends(event, number) if event_outcomes is not None else None
        if event_outcomes is not None and ends is None:
            self._cut_short.add(members)
        return ends

    def _search(self, members: tuple[int, ...], *, expected: bool) -> EventOutcomes | None:
        key = (members, expected)
        if key not in self._searched:
            if len(members) == 1:
                self._forget_others(members)
            self._searched[key] = work.tried(lambda: self._explored(members, expected=expected), None, WITH_TRACES)
        return self._searched[key]

    def _forget_others(self, members: tuple[int, ...]) -> None:
        """Forget the searches of each other workload that is alone in its group: no other workload needs them."""
        for key in [key for key in self._searched if len(key[0]) == 1 and key[0] != members]:
            del self._searched[key]

    def _is_searched(self, members: tuple[int, ...]) -> bool:
        """Whether a group has few enough nodes and pods for an exhaustive search."""
        are_many = len(self.simulated.nodes) > MOST_NODES or len(members) > MOST_PODS
        return not are_many and sum(most_pods(self.simulated.member(i)) for i in members) <= MOST_PODS

    def _explored(self, members: tuple[int, ...], *, expected: bool) -> EventOutcomes | None:
        if not self._is_searched(members):
            return None
        simulated = self.simulated
        driving = self._is_played(members) and expected and not any(c.open_ for c in self._touched(members))
        if self.counting.exceeds(members, self.effort.states, preempting=driving):
            self._cut_short.add(members)
            return None
        explore = partial(
            timeline_of,
            simulated,
            members,
            expected=expected,
            most_states=self.effort.states,
            preempting=driving,
            guests=guests_of(simulated).hosted,
        )
        timelines = [explore(changed=changed) for changed in template_variants(simulated, members)]
        if not all(timeline.sound for timeline in timelines):
            self._cut_short.add(members)
            return None
        unready = []
        if simulated.never_ready.intersection(members):
            unready = [explore(unready=True, changed=changed) for changed in template_variants(simulated, members)]
        return EventOutcomes(simulated, members, timelines, [n.name for n in simulated.nodes], unready)

    def _from_ends(self, event: str, number: int, ends: list[FinalState], any_ends: list[FinalState] | None) -> Cell:
        wanted = max(e.outcome.wanted for e in ends)
        verdict, stuck, always = verdict_of(event, ends)
        followed = any_ends is not None and tries_all_templates(self.simulated.member(number), event)
        proven = verdict != DEPENDS and followed and verdict_of(event, any_ends or ())[::2] == (verdict, always)
        if proven and any_ends:  # what no scheduler changes is said with the numbers of all of them
            ends = any_ends
            verdict, stuck, always = verdict_of(event, ends)
        counts = [e.filled(wanted) for e in ends]
        bound = Range(min(counts), max(counts), "search")
        ready = None
        if any(e.outcome.unready for e in ends):
            counts = [min(e.outcome.ready, wanted) for e in ends]
            ready = Range(min(counts), max(counts), "search")
        blocked = _budget(self.simulated.member(number), is_blocked=any(e.blocked for e in ends))
        cell = Cell(
            event,
            verdict,
            wanted,
            bound,
            stuck,
            always,
            proven,
            words(event, wanted, bound, stuck=stuck, always_stuck=always, blocked=blocked, ready=ready),
            method(ends, verdict, proven=proven) + (f"; {bound} of {wanted} run, {ready} are ready" if ready else ""),
            assumes=self._premises(number),
            ready=ready,
        )
        if verdict == BAD and ready is None:
            bounds = count(self.simulated.member(number), event)
            if (bounds.always_stuck and not self.simulated.drains(event)) or bounds.most.pods == bound.most < wanted:
                by_itself = not self.simulated.pods[number].required_affinity
                cell = counted_cells.bounded(cell, bounds.most, by_itself=by_itself)
        return cell if verdict == FINE else with_details(cell, ends, self.simulated.member(number))

    # --- counted ----------------------------------------------------------------------------------------------------

    def courses(self, event: str, number: int, aim: Aim | None = None, *, is_known: bool = False) -> list[FinalState]:
        """Return the ends of seeded courses (see Courses) for a workload; empty where none can follow it."""
        wanted = self._wanted(event, number)
        if wanted < Wanted.BAD_END or not self._has_courses(event, number, aim) or self._is_untold(number, aim):
            return []
        return self.seeded.ends(event, number, aim, is_known=is_known, needs_bad_end=wanted == Wanted.BAD_END)

    def _wanted(self, event: str, number: int) -> Wanted:
        return self.effort.wanted(self.simulated.workloads[number].ref, UNREACHABLE_OF.get(event, event))

    def _is_untold(self, number: int, aim: Aim | None) -> bool:
        """Whether pods that meet a workload in a course may preempt others, and no course can follow that."""
        touched = self._touched(self.seeded.members(number, aim))
        return any(c.strong and c.untold for c in touched)

    def _bad_ends(self, event: str, number: int) -> list[FinalState]:
        """Return ends of an event that counting proves bad; one lost node or zone shows that pods are missing."""
        may_block = event == "drain" and bool(self.simulated.member(number).budgets)
        lacks_pods = event in LOSSES and not may_block and number not in self.simulated.never_ready
        return self.courses(event, number, is_known=lacks_pods) if self.effort.has_examples else []

    @cached_property
    def seeded(self) -> Courses:
        return Courses(self.simulated, self.effort, self._is_played, self._rows)

    def _from_bounds(self, event: str, number: int, bounds: EventBounds) -> Cell:
        bound = range_of(bounds)
        may_block = self.simulated.drains(event) and not bounds.never_stuck
        blocked = _budget(self.simulated.member(number), is_blocked=may_block)
        fine, bad = bounds.is_fine, bounds.is_bad
        is_open = not (fine or bad) and self._has_courses(event, number)
        wanted = self._wanted(event, number)
        if is_open and wanted >= Wanted.BAD_END and self.seeded.always_ends_well(event, number):
            return self._from_runs(event, number, bounds, bound, blocked, (), good=1)
        ends = self._bad_ends(event, number) if bad else [] if fine else self.courses(event, number)
        # Counting says that no course ends well. If a course does, report less instead of something wrong.
        if fine or (bad and (not ends or verdict_of(event, ends)[0] == BAD)):
            cell = self._proven(event, number, bounds)
            return cell if fine else with_details(cell, ends, self.simulated.member(number))
        if number in quotas.refused_in(self.simulated.member(number), event):
            raced = creation.raced(self.simulated.member(number), event, bounds)
            if raced is not None:
                return replace(raced, assumes=self._premises(number))
        follow = self._aimed.ends if wanted == Wanted.ALL else self._aimed.until_bad
        ends, others = follow(event, number, ends)
        cell = self._from_runs(event, number, bounds, bound, blocked, ends, others)
        # Of one bad end, nobody asks whether a good one is possible, too.
        return replace(cell, verdict=DEPENDS) if wanted != Wanted.ALL and cell.verdict == BAD else cell

    def _proven(self, event: str, number: int, bounds: EventBounds) -> Cell:
        """Return the cell that counting decides, without details."""
        never_ends = bounds.always_stuck and not bounds.never_stuck and self.simulated.drains(event)
        blocked = _budget(self.simulated.member(number), is_blocked=never_ends)
        by_itself = not self.simulated.pods[number].required_affinity
        return counted_cells.decided(event, bounds, blocked, self._premises(number), by_itself=by_itself)

    def _as_counted(
        self, event: str, number: int, bounds: EventBounds, missing: str, scope: PreemptionScope = NONE
    ) -> Cell:
        """Return what counting alone says of a cell; ``missing`` is why nothing else was asked."""
        if bounds.is_bad and not self._has_other_pods(scope, number):
            cell = self._proven(event, number, bounds)
            return work.tried(lambda: with_details(cell, (), self.simulated.member(number)), cell, 1)
        return counted_cells.left_open(event, bounds, missing, self._premises(number))

    def _from_runs(
        self,
        event: str,
        number: int,
        bounds: EventBounds,
        bound: Range,
        blocked: str,
        ends: Sequence[FinalState],
        good: int = 0,
    ) -> Cell:
        """Return the cell that counting leaves open; ``good`` more traces end well than were followed."""
        followed = len(ends) + good
        missing = "" if followed else self._why_none(event, number)
        if followed and any(number in group for group in self._cut_short):
            missing = f"a search of more than {self.effort.states:,} states: --states raises the limit"
        verdict, stuck, _ = verdict_of(event, ends)
        cell = Cell(
            event,
            verdict,
            bounds.wanted,
            bound,
            stuck,
            text=words(event, bounds.wanted, bound, stuck=stuck, always_stuck=False, blocked=blocked if stuck else ""),
            why=why_open(bounds),
            missing=(missing,) * bool(missing),
            assumes=self._premises(number),
        )
        cell = counted_cells.followed(cell, followed)
        return cell if verdict == FINE else with_details(cell, ends, self.simulated.member(number))

    def _why_none(self, event: str, number: int) -> str:
        """Return why no trace is followed for a workload."""
        if self._wanted(event, number) < Wanted.BAD_END:
            return NOT_ASKED
        if not self._has_courses(event, number):
            return _refused_by_quota(self.simulated.member(number), event)
        untold = (c.untold for c in self._touched(self.seeded.members(number, None)) if c.strong and c.untold)
        return next(untold, "a proof; too many steps to follow a trace")

    # --- words ------------------------------------------------------------------------------------------------------

    def _premises(self, number: int) -> tuple[str, ...]:
        member = self.simulated.member(number)
        return tuple(premises(member, self._scopes[group_of(member)]))


def _budget(member: SimulatedMember, *, is_blocked: bool) -> str:
    names = [budget.name for budget in member.budgets] if is_blocked else ()
    return f"PDB {', '.join(names)}" if names else ""


def _is_made(member: SimulatedMember, event: str, members: Sequence[int]) -> bool:
    """Whether a search can follow the pods of ``members``; a workload capped by a quota has its capped number.

    A search can follow neither a workload that is short of quota itself, nor workloads that race for one quota; and of
    pods with gates it does not tell what else keeps them waiting.
    """
    short = quotas.refused_in(member, event)
    if member.number in short or member.pod.scheduling_gates:
        return False
    return not short or all(i in capped(member.set) for i in short.intersection(members))


def _says_all(member: SimulatedMember, event: str, any_ends: Sequence[FinalState]) -> bool:
    """Whether some of the ends for any scheduler cannot say anything else of a cell than all of them."""
    verdict, stuck, always = verdict_of(event, any_ends)
    if verdict == BAD:
        return stuck == always and tries_all_templates(member, event)
    return verdict == FINE


def _refused_by_quota(member: SimulatedMember, event: str) -> str:
    """Return which quota refuses pods of a workload, or of the first one that it does, and what is not known of it."""
    simulated = member.set
    refused = quotas.refused_in(member, event)
    short = member.number if member.number in refused else min(refused)
    granted = quotas.cap(simulated.member(short))
    quota, numbers = ("a quota", "") if granted is None else (granted.name, f" ({granted.allows})")
    jobs = _jobs_beside(simulated.member(short), event)
    if jobs:
        return f"whether the pods of {first_few(jobs)} have ended by then: {quota} counts them{numbers}"
    where = f" of namespace {simulated.workloads[short].namespace}" if granted is None else ""  # a name has it
    return f"a proof: {quota} may refuse pods{where}{numbers}"


def _jobs_beside(member: SimulatedMember, event: str) -> Sequence[str]:
    """Return the Jobs that share a quota with a workload, if that refuses it no pods once theirs have ended."""
    simulated = member.set
    own = member.quotas
    jobs = [
        i for i, w in enumerate(simulated.workloads) if w.kind == "Job" and not set(own).isdisjoint(simulated.quotas[i])
    ]
    if not jobs or member.number in jobs:
        return ()
    kept = [i for i in range(len(simulated.workloads)) if i not in jobs]
    place = kept.index(member.number)
    refused = place in quotas.refused_in(simulated.among(kept).member(place), event)
    return () if refused else [str(simulated.workloads[i]) for i in jobs]


def _without_least(member: SimulatedMember, assumes: tuple[str, ...]) -> Cell | None:
    """Return the cell of the maximum without the least pods, which cost most; None if pods surely stay missing."""
    bounds = count(member, "hpa-max")
    if bounds.most.pods < bounds.wanted:
        return None
    left_out = EventBounds(bounds.wanted, Bound(0, "not counted"), bounds.most)
    return counted_cells.left_open("hpa-max", left_out, "", assumes)
