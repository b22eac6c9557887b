"""What counting alone can tell, for every order in which any scheduler may act: at most, and at least, so many pods.

``most_placed`` counts what is necessary, ``least_placed`` what suffices; between the two lies what only a search can
tell. ``frame`` is what the controllers allow, whatever the scheduler does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kubesched_lint.cluster.nodeset import NodeSet, positions
from kubesched_lint.lifecycle.controllers.bounds import rolling_bounds
from kubesched_lint.lifecycle.motion import Motion
from kubesched_lint.lifecycle.outcomes import Outcome
from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.lifecycle.world import Wish
from kubesched_lint.model.pod import Pod, PodAffinityTerm, SpreadConstraint
from kubesched_lint.scheduler.capacity import copies, tightest_resource
from kubesched_lint.scheduler.framework import diagnose


class Counted(NamedTuple):
    """A number of pods, and in words why."""

    pods: int
    why: str


def most_placed(setting: Setting, number: int, wanted: int, without: NodeSet = 0) -> Counted:
    """No order binds more pods of a workload at once than this; ``without`` are nodes that are gone or cordoned."""
    found = [Counted(wanted, "all that are wanted"), *_ceilings(setting, number, wanted, without)]
    return min(found, key=lambda c: c.pods)


def _ceilings(setting: Setting, number: int, wanted: int, without: NodeSet) -> Iterator[Counted]:
    pod, cluster, index = setting.pods[number], setting.cluster, setting.index
    if pod.scheduling_gates:
        yield Counted(0, "scheduling gates hold its pods back")
        return
    usable = setting.usable[number] & ~without
    if not usable:
        yield Counted(0, "no node that it may use")
        return
    room = dict(copies(pod, cluster, usable, wanted))
    total = sum(room.values())
    if total < wanted:
        what = "host ports" if pod.host_ports else tightest_resource(pod, cluster, usable)
        yield Counted(total, f"room for {total} by {what} on {usable.bit_count()} usable nodes")
    for term in pod.required_anti_affinity:
        if setting.selects(term, pod, pod) and not usable & ~index.with_key(term.topology_key):
            domains = [d for d in index.domains(term.topology_key).values() if d & usable]
            open_ = sum(any(room[p] for p in positions(d & usable)) for d in domains)
            yield Counted(open_, f"each needs a domain of {term.topology_key} to itself, and {open_} can hold one")
    for constraint in pod.spread:
        ceiling = _spread_ceiling(setting, number, constraint, room, without)
        if ceiling is not None:
            yield ceiling
    for term in pod.required_affinity:
        if not any(_may_select(setting, term, pod, other) for other in setting.pods) and not _runs(setting, term, pod):
            yield Counted(0, f"no pod that its affinity on {term.topology_key} selects")


def _may_select(setting: Setting, term: PodAffinityTerm, holder: Pod, other: Pod) -> bool:
    return setting.selects(term, holder, other)


def _runs(setting: Setting, term: PodAffinityTerm, holder: Pod) -> bool:
    seen = {id(b.pod): b.pod for b in setting.objects.pods}
    return any(setting.selects(term, holder, pod) for pod in seen.values())


def _spread_ceiling(
    setting: Setting, number: int, constraint: SpreadConstraint, room: dict[int, int], without: NodeSet
) -> Counted | None:
    """Every placement keeps a domain within maxSkew of the least full one, which is no fuller than it can get.

    Domains of cordoned nodes count as well; those in ``without`` are left out of the count, which bounds a loss. For
    others that the selector counts too there is no ceiling.
    """
    pod, selector = setting.pods[number], constraint.selector
    if not constraint.is_hard or selector is None or selector.is_empty or not selector.matches(pod.labels):
        return None
    if _others_counted(setting, number, constraint):
        return None
    capacity = _domain_room(setting, number, constraint, room, without)
    if not capacity:
        return Counted(0, f"no usable node counts for the spread over {constraint.topology_key}")
    least = 0 if len(capacity) < (constraint.min_domains or 1) else min(capacity.values())
    total = sum(min(c, least + constraint.max_skew) for c in capacity.values())
    return Counted(total, f"spread over {constraint.topology_key} lets in {total}: the least domain holds {least}")


def _others_counted(setting: Setting, number: int, constraint: SpreadConstraint) -> bool:
    pod, selector = setting.pods[number], constraint.selector
    assert selector is not None
    ours = [p for i, p in enumerate(setting.pods) if i != number]
    theirs = {id(b.pod): b.pod for b in setting.objects.pods}
    return any(p.namespace == pod.namespace and selector.matches(p.labels) for p in (*ours, *theirs.values()))


def _domain_room(
    setting: Setting, number: int, constraint: SpreadConstraint, room: dict[int, int], without: NodeSet
) -> dict[str, int]:
    """Per domain that counts, how many pods its nodes can hold."""
    index, pod = setting.index, setting.pods[number]
    counted = index.all & ~without
    for hard in pod.spread:
        if hard.is_hard:
            counted &= index.with_key(hard.topology_key)
    if constraint.node_affinity_policy != "Ignore":
        counted &= index.matching(pod.node_selector, pod.required_node_terms)
    if constraint.node_taints_policy == "Honor":
        counted &= setting.usable[number] | ~_tainted(setting)
    return {
        value: sum(room.get(p, 0) for p in positions(nodes & counted))
        for value, nodes in index.domains(constraint.topology_key).items()
        if nodes & counted
    }


def _tainted(setting: Setting) -> NodeSet:
    found = 0
    for taint, nodes in setting.index.taints.items():
        if taint.effect != "PreferNoSchedule":
            found |= nodes
    return found


# --- at least -------------------------------------------------------------------------------------------------------


def least_placed(
    setting: Setting, number: int, wanted: int, without: NodeSet = 0, *, nodes_fewer: int = 0, gone: bool = True
) -> Counted:
    """Every order binds at least so many of ``wanted`` pods: as long as fewer stand, some node has room for one more.

    Whatever others ask for is taken away first: each of their pods costs the most room that it can cost. ``without``
    are nodes that are gone, ``nodes_fewer`` counts further ones, whichever they are, gone or, else, cordoned.
    """
    pod = setting.pods[number]
    if pod.required_affinity:
        return Counted(0, "required pod affinity depends on where others land")
    if any(_repels(setting, term, other, pod) for other in _foreign(setting) for term in other.required_anti_affinity):
        return Counted(0, "pods of others repel it")
    usable = diagnose(pod, setting.cluster).feasible & ~without
    room = dict(copies(pod, setting.cluster, usable, wanted))
    lost = _lost_to_others(setting, number, max(room.values(), default=0))
    if lost is None:
        return Counted(0, "others of the set repel it, or need the same host ports")
    lost += sum(sorted(room.values())[len(room) - nodes_fewer :]) if nodes_fewer else 0
    hard = [c for c in pod.spread if c.is_hard and c.selector is not None and c.selector.matches(pod.labels)]
    if len(hard) < sum(c.is_hard for c in pod.spread) or len(hard) + len(pod.required_anti_affinity) > 1:
        return Counted(0, "several constraints work together")
    if pod.required_anti_affinity:
        return _least_apart(setting, number, pod.required_anti_affinity[0], room, lost, wanted, usable)
    if hard:
        if nodes_fewer and not gone and setting.index.one_node_each(hard[0].topology_key):
            return Counted(0, f"a cordoned node is a domain of {hard[0].topology_key} that still counts")
        return _least_spread(setting, number, hard[0], room, lost, wanted, without, nodes_fewer)
    left = sum(room.values()) - lost
    return Counted(max(min(left, wanted), 0), f"room for {left} more even when others take what they can")


def _foreign(setting: Setting) -> list[Pod]:
    return list({id(b.pod): b.pod for b in setting.objects.pods}.values())


def _repels(setting: Setting, term: PodAffinityTerm, holder: Pod, pod: Pod) -> bool:
    return setting.selects(term, holder, pod)


def _lost_to_others(setting: Setting, number: int, cap: int) -> int | None:
    """How many pods' worth of room all other pods of the set can take at most; None where it is not bounded so."""
    pod = setting.pods[number]
    total = 0
    others = [(p, setting.most(i)) for i, p in enumerate(setting.pods) if i != number]
    others = [(p, count) for (p, count), nodes in zip(others, _usable_of_others(setting, number), strict=True) if nodes]
    others += [(bound.pod, 1) for running in setting.running.values() for bound in running]
    for other, count in others:
        if any(_repels(setting, t, other, pod) for t in other.required_anti_affinity):
            return None
        if any(_repels(setting, t, pod, other) for t in pod.required_anti_affinity):
            return None
        if {(p.protocol, p.port) for p in pod.host_ports} & {(p.protocol, p.port) for p in other.host_ports}:
            return None
        each = 1
        for resource, amount in pod.requests.items():
            if amount:
                each = max(each, -(-other.requests.get(resource, 0) // amount))
        total += min(each, cap) * count
    return total


def _usable_of_others(setting: Setting, number: int) -> Iterator[NodeSet]:
    for i, nodes in enumerate(setting.usable):
        if i != number:
            yield nodes & setting.usable[number]


def _least_apart(
    setting: Setting,
    number: int,
    term: PodAffinityTerm,
    room: dict[int, int],
    lost: int,
    wanted: int,
    usable: NodeSet,
) -> Counted:
    """Domains that others cannot fill, when each pod of the workload needs one to itself."""
    index = setting.index
    if not setting.selects(term, setting.pods[number], setting.pods[number]):
        return Counted(0, "its anti-affinity concerns others")
    rooms = sorted(
        sum(room[p] for p in positions(d & usable)) for d in index.domains(term.topology_key).values() if d & usable
    )
    free = len([r for r in rooms if r])
    for size in filter(None, rooms):
        if lost < size:
            break
        lost -= size
        free -= 1
    return Counted(min(free, wanted), f"{free} domains of {term.topology_key} keep room for one")


def _least_spread(
    setting: Setting,
    number: int,
    constraint: SpreadConstraint,
    room: dict[int, int],
    lost: int,
    wanted: int,
    without: NodeSet,
    nodes_fewer: int,
) -> Counted:
    """While the least full domain has room, the next pod fits there."""
    if _others_counted(setting, number, constraint):
        return Counted(0, "the spread counts pods of others too")
    capacity = _domain_room(setting, number, constraint, room, without)
    if not capacity:
        return Counted(0, "no node counts for the spread")
    level = max(min(capacity.values()) - lost, 0)
    if len(capacity) < (constraint.min_domains or 1):
        level = min(level, constraint.max_skew)
    domains = len(capacity) - nodes_fewer if setting.index.one_node_each(constraint.topology_key) else len(capacity)
    sure = min(wanted, level * domains)
    return Counted(sure, f"each of {len(capacity)} domains of {constraint.topology_key} keeps room for {level}")


# --- controllers ----------------------------------------------------------------------------------------------------


def frame(motion: Motion, wish: Wish) -> set[Outcome]:
    """Outcomes whose least and greatest numbers enclose every possible one; controllers alone bound them."""
    wanted = motion.desired(wish)
    most = wanted
    if wish.spec.kind == "Deployment":
        most += rolling_bounds(wish.spec.strategy, wanted)[0]
    elif wish.spec.kind == "DaemonSet":
        most *= 2
    return {
        Outcome(0, 0, 0, 0, wanted),
        Outcome(most, 0, wanted, 0, wanted),
        Outcome(0, most, 0, most, wanted),
        Outcome(wanted, 0, wanted, 0, wanted),
    }
