"""The part of a set that can influence one cell: whose pods may move in its event, and which pods stand meanwhile.

Counting over the whole set takes every pod for one that may be anywhere. Three arguments make the part smaller, each
valid for every order of events:

- *Only movers move.* An event makes new pods of few workloads. All others are quiet: their running pods stand where
  they are, unless a mover preempts them. A loss moves the pods of the lost nodes only.
- *Only who waits preempts.* If counting proves that a mover finds room in every state of the part, it never has to
  preempt anybody; so the first preemption would be that of another mover.
- *By force.* A pod that may preempt waits only if each node is closed to it by pods of at least its own priority:
  ``SelectVictimsOnNode`` of ``defaultpreemption/default_preemption.go`` removes all weaker pods of the node, and
  budgets only rank the candidates. Weaker pods may close a node from another one (a spread, anti-affinity over a
  zone), so those that such a constraint counts stay in the part.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import inf
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.engine.bounds.counted import count, stopped_by_budgets
from kubesched_lint.engine.bounds.least import returns
from kubesched_lint.engine.bounds.losses.taken import losses
from kubesched_lint.engine.bounds.losses.unreachable import leaves_empty
from kubesched_lint.engine.bounds.volumes.volume_constraints import have_volumes
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import NodeSet, of, positions
from kubesched_lint.engine.cluster.pods.alike import Alike
from kubesched_lint.engine.events.answers.event_bounds import Bound, EventBounds
from kubesched_lint.engine.events.search.node_events import cordoned
from kubesched_lint.engine.events.start.evictable_pods import comes_back, guests_of
from kubesched_lint.engine.events.start.overlooked import may_overlook, repels_unseen
from kubesched_lint.engine.events.start.preemption_scope import followed_guests
from kubesched_lint.engine.events.start.quiet import quiet
from kubesched_lint.engine.events.start.quotas import quota_short, refused_in, surely_granted
from kubesched_lint.engine.events.start.simulated_set import (
    LOSSES,
    SimulatedMember,
    SimulatedSet,
    once_per_member,
    once_per_set,
)
from kubesched_lint.engine.events.start.sizes import size_after
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import BoundPod, Pod, PodAffinityTerm
from kubesched_lint.engine.model.workloads.workload import SCALED, Workload
from kubesched_lint.engine.scheduler.framework import static_feasible
from kubesched_lint.engine.scheduler.preemption.eviction import may_evict, surely_preempts

_STANDS = "its pods run, and nothing that moves can preempt them"


class _Moves(NamedTuple):
    """Whose pods an event makes anew."""

    whole: frozenset[int]
    """The workloads of which any pod may be made anew."""
    some: tuple[tuple[int, int], ...] = ()
    """(workload, number of its pods that are made anew): its other pods stand."""
    lost: NodeSet = 0
    """The nodes that are lost or drained."""
    drained: bool = False
    event: str = ""
    """What happens to one workload: a rollout, or a change of its size."""
    number: int = -1
    """That workload."""
    others: frozenset[Pod] = frozenset()
    """The kinds of pods of others that may be preempted; their owners make them anew."""

    def has(self, number: int) -> bool:
        """Whether pods of a workload are made anew."""
        return number in self.whole or any(number == moved for moved, _ in self.some)


class _Mover(NamedTuple):
    """Pods that are made anew, of a workload of the set or of the owner of other pods."""

    place: int
    """In the part; -1 for pods with an old template."""
    number: int
    """In the set; -1 for other pods."""
    pod: Pod
    nodes: NodeSet
    """Where its pods may be, as positions in the whole set."""


class _Part(NamedTuple):
    simulated: SimulatedSet
    places: Mapping[int, int]
    """Number in the set → place in the part, of each mover."""
    movers: tuple[_Mover, ...]
    untied: frozenset[int]
    """Places of movers with volumes of which it is not known where they are."""


class _Pressed(NamedTuple):
    """What moves when pods that may have to preempt others do so."""

    moves: _Moves
    pressing: tuple[_Mover, ...]
    """The movers that may have to preempt."""


def surely_fine(member: SimulatedMember, event: str) -> Bound | None:
    """Return that all pods of a workload run after an event, whatever the order; None if the part does not tell.

    Where a drain ends is not asked: see ``stopped_by_budgets``.
    """
    simulated = member.set
    if not _is_asked(member, event) or (event in LOSSES and not _survives(member, event)):
        return None
    if not quiet(simulated) and _rank(member) <= _lowest(simulated) and not guests_of(simulated).weaker_kinds:
        return None  # everybody moves and nobody is left out or comes anew: the part is the whole
    why, met, rank = _STANDS, _met(member), _rank(member)
    is_refused = _is_refused(member, event)
    for start in _starts(member, event):
        if not start.has(member.number) and _highest(simulated, start) <= rank:
            continue
        # Where it finds no room even if nobody else is preempted, that need not be asked.
        if start.has(member.number) and (is_refused or not _finds_room(member, start, start, met)):
            return None
        pressed = _pressed(simulated, start, met.lowest)
        if not pressed.moves.has(member.number):
            continue
        part = None if is_refused else _part_for(simulated, met, pressed)
        if part is None or _may_not_return(member, part, pressed.pressing):
            return None
        if not _finds_room(member, start, pressed.moves, met):
            return None
        why = "it finds room beside all pods that stand, wherever those that move go"
    return Bound(member.wanted, why)


def _finds_room(member: SimulatedMember, start: _Moves, moves: _Moves, met: _Met) -> bool:
    """Whether counting proves that all pods of a workload run, if just these pods move."""
    part = _part(member.set, moves, met)
    return _is_fine(member.set, start, moves, met, part.movers[part.places[member.number]])


def sharpened(member: SimulatedMember, event: str, bounds: EventBounds) -> None:
    """Change bounds that leave a cell open where the part decides it."""
    fine = surely_fine(member, event)
    if fine is not None:
        bounds.least, bounds.never_stuck = fine._replace(pods=bounds.wanted), True
        if event == "drain":
            stopped_by_budgets(member, bounds)


# --- who is asked -----------------------------------------------------------------------------------------------------


def _is_asked(member: SimulatedMember, event: str) -> bool:
    """Whether the arguments hold for a workload in an event."""
    simulated = member.set
    plain = (
        simulated.supposed is None
        and simulated.rivals is None
        and not simulated.kept_on
        and not simulated.to_be_deleted
    )
    if not plain or simulated.need_devices((member.number,)):
        return False
    pod, workload = member.pod, member.workload
    return not (_follows_short(member) or workload.suspended or pod.group or member.never_ready)


def _follows_short(member: SimulatedMember) -> bool:
    """Whether a pod that its affinity asks for, or one for which that asks in turn, may lack quota."""
    simulated = member.set
    short = quota_short(simulated) if member.pod.required_affinity else frozenset[int]()
    met, left = {member.number}, [member.number]
    while short and left:
        leaders = _led_by(simulated, left.pop()) - met
        if not short.isdisjoint(leaders):
            return True
        met |= leaders
        left += leaders
    return False


def _led_by(simulated: SimulatedSet, number: int) -> set[int]:
    """Return the workloads of which required affinity of another one may select pods."""
    asking = ((pod, term) for pod in simulated.kinds[number] for term in pod.required_affinity)
    return {i for pod, term in asking for i in simulated.selection.of(term, pod.namespace)}


def _is_refused(member: SimulatedMember, event: str) -> bool:
    """Whether a quota may refuse pods that a workload needs: who is scaled down may have wanted more than it grants.

    Where pods run, some may be of an older template, and the quota may hold up their rollout before.
    """
    if event == "scale-down" and not member.running:
        return surely_granted(member, event) < size_after(member, event)
    return member.number in refused_in(member, event)


def _survives(member: SimulatedMember, event: str) -> bool:
    """Whether the pods of a workload come back after a loss, and see each deletion that helps them."""
    if member.workload.kind == "Pod" or may_overlook(member):
        return False
    if event != "drain" or member.workload.kind == "DaemonSet":
        return True
    return not (comes_back(member) or (member.set.objects.budgets and _depends_on_others(member)))


def _depends_on_others(member: SimulatedMember) -> bool:
    """Whether pods of others on a node may open or close other nodes: a budget may keep them on the drained one."""
    simulated = member.set
    pod, index = member.pod, simulated.index
    if pod.required_affinity:
        return True
    wide = [c.selector for c in pod.spread if c.is_hard and not index.one_node_each(c.topology_key)]
    selectors = [selector for selector in wide if selector is not None]
    others = chain((p for i, p in enumerate(simulated.pods) if i != member.number), (k.pod for k in simulated.others))
    return any(
        _repels_from_afar(simulated, pod, other)
        or (other.namespace == pod.namespace and any(s.matches(other.labels) for s in selectors))
        for other in others
    )


def _may_not_return(member: SimulatedMember, part: _Part, pressing: Iterable[_Mover]) -> bool:
    """Whether pods of a workload may be preempted and not be made again, miss that they fit, or be held by volumes."""
    if not any(_outranks(member, mover) for mover in pressing if mover.number != member.number):
        return False
    workload, there = member.workload, part.simulated.member(part.places[member.number])
    if workload.kind == "Pod" or may_overlook(member):
        return True
    is_known = not workload.claim_templates or there.number in part.simulated.returning
    return not is_known and not returns(there, there.wanted)


# --- who moves --------------------------------------------------------------------------------------------------------


@once_per_set
def _everybody(simulated: SimulatedSet) -> frozenset[int]:
    return frozenset(range(len(simulated.workloads)))


@once_per_set
def _restless(simulated: SimulatedSet) -> frozenset[int]:
    return _everybody(simulated) - quiet(simulated)


def _starts(member: SimulatedMember, event: str) -> Iterator[_Moves]:
    """Yield who moves at first in each case of an event: each node or zone may be the lost one."""
    simulated = member.set
    restless = _restless(simulated)
    if event in LOSSES:
        before = _after_deploy(simulated)
        if member.number in before.whole and not _counts_anywhere(member):
            yield _Moves(_everybody(simulated), event=event, number=member.number)
            return
        known = _known_losses(simulated)
        if event not in known:
            known[event] = tuple(_after_loss(simulated, event, lost) for lost in losses(simulated, event))
        yield from known[event]
        return
    grows = event == "rollout" or (event != "deploy" and size_after(member, event) > member.wanted)
    if event != "deploy" and (grows or member.number in restless):
        whole = restless if member.number in restless else restless | {member.number}
        yield _Moves(whole, event=event, number=member.number)
    else:
        yield _Moves(restless)


@once_per_set
def _known_losses(simulated: SimulatedSet) -> dict[str, tuple[_Moves, ...]]:
    return {}


def _after_loss(simulated: SimulatedSet, event: str, lost: NodeSet) -> _Moves:
    before = _after_deploy(simulated)
    some = tuple((i, pods) for i, pods in _on(simulated, lost) if i not in before.whole)
    return before._replace(some=some, lost=lost, drained=event == "drain")


@once_per_set
def _after_deploy(simulated: SimulatedSet) -> _Moves:
    """Return who moves before a loss: who is not quiet, and whom such pods may have to preempt."""
    return (
        _pressed(simulated, _Moves(_restless(simulated)), -inf).moves
        if quiet(simulated)
        else _Moves(_everybody(simulated))
    )


def stands_before_losses(member: SimulatedMember) -> bool:
    """Whether all pods of a workload run where they will be when nodes are lost: nothing moves them until then."""
    simulated = member.set
    plain = simulated.rivals is None and not simulated.kept_on and not simulated.to_be_deleted
    return plain and member.number in quiet(simulated) and not _after_deploy(simulated).has(member.number)


def _counts_anywhere(member: SimulatedMember) -> bool:
    """Whether it is enough to count its pods anywhere, although it is not known where they are at the time of a loss.

    It is not where they need pods that may be lost, or volumes that are where they were.
    """
    workload = member.workload
    is_plain = workload.kind in (*SCALED, "Job") and not workload.claim_templates
    return bool(quiet(member.set)) and is_plain and not member.pod.required_affinity


def _on(simulated: SimulatedSet, lost: NodeSet) -> Iterator[tuple[int, int]]:
    """Yield (quiet workload, number of its pods on some nodes); pods of a DaemonSet go with their node."""
    at = simulated.index.positions
    for i in sorted(quiet(simulated)):
        if simulated.workloads[i].kind != "DaemonSet":
            moved = sum(lost >> at[b.node] & 1 for b in simulated.running.get(i, ()))
            if moved:
                yield i, moved


def _highest(simulated: SimulatedSet, start: _Moves) -> float:
    """Return the highest priority of pods that move at first: who has it is preempted by nobody."""
    known = _known_highest(simulated)
    if start not in known:
        part = _part(simulated, start, _Met(_everybody(simulated), frozenset(), -inf))
        movers = (*part.movers, *_of_old_templates(simulated, start))
        known[start] = max((mover.pod.priority or 0 for mover in movers), default=-inf)
    return known[start]


@once_per_set
def _known_highest(simulated: SimulatedSet) -> dict[_Moves, float]:
    return {}


def _pressed(simulated: SimulatedSet, start: _Moves, lowest: float) -> _Pressed:
    """Return who moves in the end: also the pods that movers may have to preempt, those that these preempt, and so on.

    Only pods with priority ``lowest`` or more are asked about: who has no more preempts none of them.
    """
    if start.number >= 0:
        return _grown(simulated, start, lowest)  # nobody asks again
    known = _known_pressed(simulated)
    if (start, lowest) not in known:
        known[start, lowest] = _grown(simulated, start, lowest)
    return known[start, lowest]


@once_per_set
def _known_pressed(simulated: SimulatedSet) -> dict[tuple[_Moves, float], _Pressed]:
    return {}


def _grown(simulated: SimulatedSet, start: _Moves, lowest: float) -> _Pressed:
    moves, strong = start, list[_Mover]()
    if start.lost and quiet(simulated):
        strong += _pressed(simulated, _Moves(_restless(simulated)), -inf).pressing
    while True:
        strong, still = _pressing(simulated, start, moves, lowest, strong), quiet(simulated) - moves.whole
        for old in _of_old_templates(simulated, moves):
            if (old.pod.priority or 0) > lowest and (moves.lost or any(_may_evict(m, old) for m in strong)):
                strong.append(old)
        shaken = frozenset(k for k in still if any(_outranks(simulated.member(k), m) for m in strong))
        evicted = moves.others.union(k.pod for k in simulated.others if any(_may_evict(m, k) for m in strong))
        if not shaken and evicted == moves.others:
            return _Pressed(moves, tuple(strong))
        some = tuple((i, n) for i, n in moves.some if i not in shaken)
        moves = moves._replace(whole=moves.whole | shaken, some=some, others=evicted)


def _pressing(
    simulated: SimulatedSet, start: _Moves, moves: _Moves, lowest: float, before: Iterable[_Mover]
) -> list[_Mover]:
    """Return movers that may have to preempt, without those that preempt only whom others do: they are not asked.

    Who has to ``before`` has to as well where more pods move, or nodes are lost.
    """
    pressed = {(mover.number, mover.pod) for mover in before}

    def is_new(mover: _Mover) -> bool:
        return (mover.number, mover.pod) not in pressed

    met = _Met(_everybody(simulated), frozenset(), lowest)
    strong = [m for m in _part(simulated, moves, met).movers if (m.pod.priority or 0) > lowest]
    if not (quiet(simulated) - moves.whole or simulated.objects.pods):
        return strong  # there is nobody to protect, and the answer would not pay
    pressing, victims = list[_Mover](), set[Hashable]()
    for mover in sorted(strong, key=is_new):
        own = _victims(simulated, mover)
        if own <= victims or (is_new(mover) and _is_fine(simulated, start, moves, met, mover)):
            continue
        pressing.append(mover)
        victims |= own
    return pressing


def _victims(simulated: SimulatedSet, mover: _Mover) -> frozenset[Hashable]:
    """Return whom pods of a mover may preempt: workloads (and whether it is its own), other pods, old templates."""
    known, key = _known_victims(simulated), (mover.number, mover.pod)
    if key not in known:
        old = chain.from_iterable(map(_of_old_template, simulated.members))
        known[key] = frozenset(
            chain(
                ((m.number, m.number == mover.number) for m in simulated.members if _outranks(m, mover)),
                (-1 - n for n, other in enumerate(simulated.others) if _may_evict(mover, other)),
                ((other.number, other.pod) for other in old if _may_evict(mover, other)),
            )
        )
    return known[key]


@once_per_set
def _known_victims(simulated: SimulatedSet) -> dict[Hashable, frozenset[Hashable]]:
    return {}


def _of_old_templates(simulated: SimulatedSet, moves: _Moves) -> Sequence[_Mover]:
    """Return the running pods with old templates, the strongest first: until a rollout ends, they are made anew, too.

    No part counts where they find room then, so each of them may have to preempt if it is lost or preempted itself.
    """
    old = chain.from_iterable(_of_old_template(simulated.member(i)) for i in sorted(moves.whole))
    return sorted(old, key=lambda mover: -(mover.pod.priority or 0))


@once_per_member
def _of_old_template(member: SimulatedMember) -> Sequence[_Mover]:
    old = member.kinds[1:] if member.changes_template is not False else ()
    return [_Mover(-1, member.number, pod, static_feasible(pod, member.set.index)) for pod in old]


@once_per_set
def _lowest(simulated: SimulatedSet) -> float:
    """Return the lowest priority of all pods: who has no more preempts nobody."""
    ranks = [pod.priority or 0 for kinds in simulated.kinds for pod in kinds]
    return min([*ranks, *(kind.pod.priority or 0 for kind in simulated.others)], default=inf)


def _outranks(member: SimulatedMember, mover: _Mover) -> bool:
    """Whether pods of a mover may preempt those of a workload."""
    meet = bool(mover.nodes & member.reach)
    return meet and any(may_evict(mover.pod, pod) for pod in member.kinds)


# --- the part ---------------------------------------------------------------------------------------------------------


class _Met(NamedTuple):
    """Whose pods may keep those of one workload waiting."""

    workloads: frozenset[int]
    forced: frozenset[Pod]
    """The kinds of other pods that may not, because it can preempt them."""
    lowest: float
    """The lowest priority of all that may."""


def _met(member: SimulatedMember) -> _Met:
    known = _known_met(member.set)
    if member.number not in known:
        known[member.number] = _meeting(member)
    return known[member.number]


@once_per_set
def _known_met(simulated: SimulatedSet) -> dict[int, _Met]:
    return {}


def _meeting(member: SimulatedMember) -> _Met:
    simulated = member.set
    floor = _rank(member) if _may_force(member) else -inf
    meets = {i for i, kinds in enumerate(simulated.kinds) if any(_meets(member, p, floor) for p in kinds)}
    forced = frozenset(kind.pod for kind in simulated.others if not _meets(member, kind.pod, floor))
    if floor > -inf:
        forced = _helping(simulated, meets, forced)
    ranks = [pod.priority or 0 for i in meets | {member.number} for pod in simulated.kinds[i]]
    ranks += (kind.pod.priority or 0 for kind in simulated.others if kind.pod not in forced)
    return _Met(frozenset(meets | {member.number}), forced, min(ranks))


def _part_for(simulated: SimulatedSet, met: _Met, pressed: _Pressed) -> _Part | None:
    """Return the part that closes nodes to a workload; None if nobody knows what becomes of pods that it meets."""
    followed = followed_guests(simulated)
    for kind in simulated.others:
        if kind.pod in met.forced or not any(_may_evict(mover, kind) for mover in pressed.pressing):
            continue
        if not all(bound in followed for bound in kind.bound):
            return None
        if any(bound.owner is None for bound in kind.bound) and _is_sought(simulated, met.workloads, kind.pod):
            return None  # it may be gone, and the part counts it
    return _part(simulated, pressed.moves, met)


def _is_sought(simulated: SimulatedSet, workloads: Iterable[int], other: Pod) -> bool:
    """Whether affinity or a spread of one of these workloads counts a pod of others."""
    asking = ((pod, asked) for i in workloads for pod in simulated.kinds[i] for asked in _asks(pod))
    return any(_selects(simulated, asked, pod, other) for pod, asked in asking)


def _asks(pod: Pod) -> Iterator[PodAffinityTerm | Selector]:
    """Yield what selects the pods that may open nodes to a pod."""
    yield from pod.required_affinity
    yield from (c.selector for c in pod.spread if c.is_hard and c.selector is not None)


def _helping(simulated: SimulatedSet, meets: set[int], forced: frozenset[Pod]) -> frozenset[Pod]:
    """Add to ``meets`` whose pods open nodes to others of it, by affinity or a spread; return ``forced`` without such.

    Without them fewer pods would seem to take room.
    """
    left = [*meets]
    while left:
        for pod in simulated.kinds[left.pop()]:
            for asked in _asks(pod):
                more = set(simulated.selection.of(asked, pod.namespace)) - meets
                meets |= more
                left += more
                forced = frozenset(other for other in forced if not _selects(simulated, asked, pod, other))
    return forced


def _selects(simulated: SimulatedSet, asked: PodAffinityTerm | Selector, pod: Pod, other: Pod) -> bool:
    if isinstance(asked, PodAffinityTerm):
        return simulated.selects(asked, pod, other)
    return other.namespace == pod.namespace and asked.matches(other.labels)


def _may_evict(mover: _Mover, other: Alike | _Mover) -> bool:
    return may_evict(mover.pod, other.pod) and bool(other.nodes & mover.nodes)


def _rank(member: SimulatedMember) -> int:
    return member.pod.priority or 0


def _may_force(member: SimulatedMember) -> bool:
    """Whether weaker pods on a node never keep a pod of a workload from it.

    The claims of a StatefulSet do not: ``volume_constraints`` counts only nodes that reach their volumes, or where one
    can be made.
    """
    pod = member.pod
    is_held = any(v.claim or v.kind == "ephemeral" for v in pod.volumes)
    return surely_preempts(pod) and not (pod.required_affinity or is_held)


def _meets(member: SimulatedMember, other: Pod, floor: float) -> bool:
    """Whether a pod of others may keep one of a workload with rank ``floor`` waiting, even if that may preempt."""
    if (other.priority or 0) >= floor:
        return True
    pod, index = member.pod, member.set.index
    spread = (c for c in pod.spread if c.is_hard and not index.one_node_each(c.topology_key))
    if other.namespace == pod.namespace and any(
        c.selector is not None and c.selector.matches(other.labels) for c in spread
    ):
        return True
    return _repels_from_afar(member.set, pod, other) or repels_unseen(member.set, pod, other)


def _repels_from_afar(simulated: SimulatedSet, pod: Pod, other: Pod) -> bool:
    """Whether required anti-affinity of one of two pods keeps the other from further nodes than its own."""
    return any(
        simulated.selects(term, holder, seen)
        for holder, seen in ((pod, other), (other, pod))
        for term in holder.required_anti_affinity
        if not simulated.index.one_node_each(term.topology_key)
    )


def _part(simulated: SimulatedSet, moves: _Moves, met: _Met) -> _Part:
    """Return the set in which the movers that one of it has ``met`` are made anew beside all pods that stand.

    Its ``objects.pods`` are those that stand, of the set as well, without pods of others that can be forced out.
    """
    known, key = _known_parts(simulated), (moves._replace(event="", number=-1), met.workloads, met.forced)
    if key not in known:
        known[key] = _put_together(simulated, moves, met.workloads, met.forced)
    return known[key]


@once_per_set
def _known_parts(simulated: SimulatedSet) -> dict[Hashable, _Part]:
    return {}


def _put_together(simulated: SimulatedSet, moves: _Moves, meets: frozenset[int], forced: frozenset[Pod]) -> _Part:
    kept = sorted((moves.whole | dict(moves.some).keys()) & meets)
    index = _index_after(simulated, moves)
    lost = frozenset(simulated.nodes[p].name for p in positions(moves.lost))
    others = [b for b in simulated.objects.pods if b.pod not in forced or _outlasts_preemption(b)]
    anew = dict.fromkeys(
        b for b in others if not b.node or (b.node in lost and not b.outlasts_drains) or _is_preempted(b, moves)
    )
    standing = [b for b in others if b not in anew and (moves.drained or b.node not in lost)]
    made = _Made(simulated, moves, index, lost)
    for i in kept:
        standing += made.add(i)
    for i in sorted(meets.difference(kept)):
        own = simulated.running.get(i, ())
        standing += (b for b in own if b.node not in lost or (moves.drained and b.outlasts_drains))
    return made.part(kept, tuple(standing), _owners_of(anew))


def _is_preempted(bound: BoundPod, moves: _Moves) -> bool:
    """Whether a pod of others may be preempted, and its owner then makes it anew."""
    return bound.pod in moves.others and bound.owner is not None and not _outlasts_preemption(bound)


def _outlasts_preemption(bound: BoundPod) -> bool:
    """Whether a pod keeps its room after its deletion: a finalizer or the kubelet keeps it, as it does static pods."""
    is_static = bound.owner is not None and bound.owner.kind == "Node"
    return bound.kept_by_finalizers or bound.terminating or is_static


def _index_after(simulated: SimulatedSet, moves: _Moves) -> NodeIndex:
    """Return the nodes after a loss, in their order, or with the drained node cordoned."""
    if not moves.lost:
        return simulated.index
    if moves.drained:
        return simulated.index.with_taints({p: cordoned(simulated.nodes[p]) for p in positions(moves.lost)})
    kept = tuple(node for p, node in enumerate(simulated.nodes) if not moves.lost >> p & 1)
    return NodeIndex(kept, simulated.index.device_resources)


def _owners_of(pods: Iterable[BoundPod]) -> Sequence[Workload]:
    """Return owners that make these pods of others again; nobody makes a bare pod again once it had a node."""
    counts: dict[Pod, int] = {}
    owners: dict[Pod, str] = {}
    for bound in pods:
        if bound.owner is not None or not bound.node:
            counts[bound.pod] = counts.get(bound.pod, 0) + 1
            owners[bound.pod] = bound.name if bound.owner is None else bound.owner.name
    # Nobody counts on them as leaders of an affinity, as ``made_again`` would on a ReplicaSet.
    return [Workload("ReplicationController", pod.namespace, owners[pod], pod, replicas=n) for pod, n in counts.items()]


class _Made:
    """The movers of a part, while it is put together."""

    def __init__(self, simulated: SimulatedSet, moves: _Moves, index: NodeIndex, lost: frozenset[str]) -> None:
        self._simulated, self._moves, self._index, self._lost = simulated, moves, index, lost
        self._workloads: list[Workload] = []
        self._running: dict[int, tuple[BoundPod, ...]] = {}
        self._returning: dict[int, tuple[Pod, ...]] = {}
        self._untied: set[int] = set()

    def add(self, number: int) -> Sequence[BoundPod]:
        """Add a workload of the set. Return its pods that stand."""
        simulated, place, workload = self._simulated, len(self._workloads), self._simulated.workloads[number]
        own, is_whole = simulated.running.get(number, ()), number in self._moves.whole
        moved = own if is_whole else tuple(b for b in own if b.node in self._lost)
        if workload.claim_templates:
            pods = tuple(bound.pod for bound in moved)
            if number in quiet(simulated) and have_volumes(pods, simulated.cluster.storage):
                self._returning[place] = pods
            elif self._lost or own:
                self._untied.add(place)
        if is_whole and own and not self._is_made_as_it_was(number):
            self._running[place] = own
        is_sized = is_whole or workload.kind == "DaemonSet"
        self._workloads.append(workload if is_sized else replace(workload, replicas=len(moved)))
        return [b for b in own if b not in moved]

    def _is_made_as_it_was(self, number: int) -> bool:
        """Whether new pods of a quiet workload ask for what the running ones do, and may go where these are."""
        simulated = self._simulated
        if number not in quiet(simulated):
            return False
        pod, at = simulated.pods[number], simulated.index.positions
        own = simulated.running[number]
        running_on = of([at[b.node] for b in own])
        return not running_on & ~simulated.usable[number] and all(b.pod.requests == pod.requests for b in own)

    def part(self, kept: Sequence[int], standing: tuple[BoundPod, ...], guests: Sequence[Workload]) -> _Part:
        simulated, index = self._simulated, self._index
        part_set = simulated.part(
            kept,
            nodes=index.nodes,
            objects=simulated.objects.with_pods(standing, quotas=()),
            workloads=(*self._workloads, *guests),
            running={place: pods for place, pods in self._running.items() if pods},
            returning=self._returning,
        )
        pods = (*(simulated.pods[i] for i in kept), *(guest.pod for guest in guests))
        part_set.__dict__.update(index=index, admission=simulated.admission, pods=pods)
        movers = [_Mover(place, i, simulated.pods[i], simulated.usable[i]) for place, i in enumerate(kept)]
        for guest in guests:
            movers.append(_Mover(len(movers), -1, guest.pod, static_feasible(guest.pod, simulated.index)))
        return _Part(part_set, {i: place for place, i in enumerate(kept)}, tuple(movers), frozenset(self._untied))


def _is_fine(simulated: SimulatedSet, start: _Moves, moves: _Moves, met: _Met, mover: _Mover) -> bool:
    """Whether counting proves that all pods of a mover run: after its own event, or if they come one after another.

    Who finds room beside everybody finds it beside those whom it has ``met``. Where the drained node is nothing to it,
    it is counted as if that were lost.
    """
    if moves.drained and not (_is_drain_seen(simulated) or _sees_drained(simulated, moves, mover)):
        moves = moves._replace(drained=False)
    event = start.event if start.event and mover.number == start.number else "deploy"
    known, asked = _known_fine(simulated), (moves._replace(event="", number=-1), mover.number, mover.pod, event)
    if known.get((asked, _everybody(simulated), frozenset())):
        return True
    key = asked, met.workloads, met.forced
    if key not in known:
        part = _part(simulated, moves, met)
        is_known = mover.place not in part.untied and not (start.lost and part.simulated.running.get(mover.place))
        known[key] = is_known and count(part.simulated.member(mover.place), event).is_fine
    return known[key]


@once_per_set
def _known_fine(simulated: SimulatedSet) -> dict[Hashable, bool]:
    return {}


@once_per_set
def _is_drain_seen(simulated: SimulatedSet) -> bool:
    """Whether pods that stay on a drained node may open or close other nodes to anybody."""
    kinds = [pod for own in simulated.kinds for pod in own] + [kind.pod for kind in simulated.others]
    staying = [kind.pod for kind in simulated.others if any(bound.outlasts_drains for bound in kind.bound)]
    for i, workload in enumerate(simulated.workloads):
        staying += simulated.kinds[i] if workload.kind == "DaemonSet" else ()
    return any(
        _repels_from_afar(simulated, pod, other) or any(_selects(simulated, asked, pod, other) for asked in _asks(pod))
        for other in staying
        for pod in kinds
    )


def _sees_drained(simulated: SimulatedSet, moves: _Moves, mover: _Mover) -> bool:
    """Whether pods of a mover may be on a drained node, or a spread of them counts it as a domain without pods."""
    hard = [c for c in mover.pod.spread if c.is_hard]
    if mover.number < 0:
        return bool(hard)
    member = simulated.member(mover.number)
    return comes_back(member) or any(leaves_empty(member, constraint, [moves.lost]) for constraint in hard)
