"""What a loss leaves if the lost nodes are only unreachable: their Node objects stay, and so do the pods on them.

The node lifecycle controller taints such nodes, and the taint eviction controller deletes their pods; but no kubelet
ends these, so they terminate until somebody deletes the Node, taints it out-of-service or repairs it. Cloud providers
delete the Node of a machine that is gone, mostly within minutes; elsewhere nobody does. Until then

- a StatefulSet makes no replacement (``stateful_set_control.go``: the pod with that name is still there);
- a spread counts the nodes as empty, unless its nodeTaintsPolicy is Honor (``podtopologyspread/common.go``,
  countPodsMatchSelector passes over terminating pods), and an empty domain holds the others at maxSkew;
- inter-pod affinity and anti-affinity count the pods (``interpodaffinity`` passes over nobody), and so do claims that
  serve one pod at a time, devices, and Jobs with podReplacementPolicy Failed;
- pods that tolerate the taints stay, and may even be bound there.

What counting says of deleted nodes holds of unreachable ones where none of these concerns a workload: the same pods
move, from and to the same nodes. Its upper bounds hold anyhow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from kubesched_lint.engine.base import work
from kubesched_lint.engine.bounds.competition.contenders import counted, repelling
from kubesched_lint.engine.bounds.least import least_placed
from kubesched_lint.engine.bounds.losses.taken import losses, most_taken, stands
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.events.answers.event_bounds import FRESH, Bound, EventBounds
from kubesched_lint.engine.events.start.preemption_scope import may_be_preempted
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.model.pod import Pod, SpreadConstraint
from kubesched_lint.engine.scheduler.framework import with_enforced_constraints
from kubesched_lint.engine.scheduler.tolerance import FILTERING, UNREACHABLE, leaves, tolerates_any
from kubesched_lint.engine.scheduler.topology import counted_domains, is_short_of_domains

_LET_GO = "deleting the Node, or its taint node.kubernetes.io/out-of-service, ends that"
STATEFUL = f"a StatefulSet makes no replacement while its old pod terminates: {_LET_GO}; a spare replica bridges it"
_TOLERATED = "its pods tolerate the taints, and stay there"
_ONE_USER = f"a pod that terminates keeps its claim or its devices: {_LET_GO}"
_LATE = f"the Job waits until its pods have terminated: {_LET_GO}"
_NEAR = f"pods that terminate still count for its affinity: {_LET_GO}"
_CLOSED = f"pods that terminate still keep new pods away: {_LET_GO}"
_EMPTY = "their zones or nodes count as empty and hold the others at maxSkew; nodeTaintsPolicy: Honor leaves them out"
"""What makes the difference, and what helps."""


def why_apart(member: SimulatedMember, event: str) -> str:
    """Return why unreachable nodes may leave a workload with other pods than deleted ones; empty if they do not.

    ``event``: of ``UNREACHABLE_OF``.
    """
    known = _known(member.set)
    if (event, member.number) not in known:
        reason = next(_reasons(member, event), "")
        known[event, member.number] = reason and f"if the nodes are only unreachable, {reason}"
    return known[event, member.number]


@once_per_set
def _known(simulated: SimulatedSet) -> dict[tuple[str, int], str]:
    return {}


def _reasons(member: SimulatedMember, event: str) -> Iterator[str]:
    simulated = member.set
    workload, pod = member.workload, with_enforced_constraints(member.pod)
    if workload.kind in ("Pod", "DaemonSet"):
        return  # the first is lost anyhow, the second has its pods on the other nodes already
    if any(map(stays_there, member.kinds)):
        yield _TOLERATED
    if workload.kind == "StatefulSet":
        yield STATEFUL
    if workload.replaces_late:
        yield _LATE
    if pod.required_affinity:
        yield _NEAR
    if simulated.need_devices((member.number,)) or _is_exclusive(simulated, pod):
        yield _ONE_USER
    keys = dict.fromkeys(_repelling_keys(member))
    if any(_is_partly_lost(simulated, event, key) for key in keys):
        yield _CLOSED
    if any(leaves_empty(member, constraint, losses(simulated, event)) for constraint in pod.spread):
        yield _EMPTY


def stays_there(pod: Pod) -> bool:
    """Whether a pod may stay on an unreachable node, or be bound to it."""
    is_let_in = any(tolerates_any(pod.tolerations, taint) for taint in UNREACHABLE if taint.effect == FILTERING[0])
    return is_let_in or not any(leaves(pod.tolerations, taint) for taint in UNREACHABLE)


def _is_exclusive(simulated: SimulatedSet, pod: Pod) -> bool:
    """Whether a claim of a pod may serve one pod at a time."""
    claims = simulated.cluster.storage.claims
    own = [claims.get((pod.namespace, v.claim)) for v in pod.volumes if v.claim]
    return any(claim is None or "ReadWriteOncePod" in claim.access_modes for claim in own)


def _repelling_keys(member: SimulatedMember) -> Iterator[str]:
    """Yield the topology keys by which other pods may keep those of a workload from further nodes than their own."""
    pod = member.pod
    yield from (term.topology_key for term in pod.required_anti_affinity)
    yield from (key for key, _, _ in repelling(member))
    for group in member.set.others:
        for term in group.pod.required_anti_affinity:
            if member.set.selects(term, group.pod, pod):
                yield term.topology_key


def _is_partly_lost(simulated: SimulatedSet, event: str, key: str) -> bool:
    """Whether the loss may take some nodes of a domain and leave others."""
    index = simulated.index
    if index.one_node_each(key):
        return False
    every = index.domains(key).values()
    return any(lost & nodes not in (0, nodes) for nodes in every for lost in losses(simulated, event))


def leaves_empty(member: SimulatedMember, constraint: SpreadConstraint, taken: Iterable[NodeSet]) -> bool:
    """Whether one of the losses takes all nodes of a domain that still counts for a spread."""
    if not constraint.is_hard or constraint.honors_taints:
        return False
    every = counted_domains(with_enforced_constraints(member.pod), constraint, member.set.index).values()
    return any(not nodes & ~lost for nodes in every for lost in taken)


def if_unreachable(member: SimulatedMember, event: str, deleted: EventBounds) -> EventBounds:
    """Return the bounds of an event of ``UNREACHABLE_OF`` from those of ``deleted`` nodes."""
    why = why_apart(member, event)
    if not why:
        return deleted
    least, most = _least(member, event, deleted), _most(member, event, deleted)
    is_fine = least >= deleted.wanted
    bounds = EventBounds(deleted.wanted, Bound(least, deleted.least.why if is_fine else why), most)
    bounds.never_stuck = deleted.never_stuck and is_fine
    bounds.always_stuck = deleted.always_stuck
    return bounds


def _least(member: SimulatedMember, event: str, deleted: EventBounds) -> int:
    """Return the least pods that run; 0 where several reasons set the two ends apart, or one that is not counted."""
    pod, wanted = with_enforced_constraints(member.pod), deleted.wanted
    reasons = list(_reasons(member, event))
    if len(reasons) > 1 or deleted.least.pods < wanted:
        return 0
    if reasons == [STATEFUL]:
        lost = most_taken(member, event)
        in_order = member.workload.pod_management != "Parallel"
        return 0 if lost and in_order and _may_lack_others(member, event) else wanted - lost
    spread = [c for c in pod.spread if c.is_hard]
    if reasons == [_EMPTY] and len(spread) == 1 and _counts_only_own(member, spread[0]):
        return _least_beside_empty(member, event, spread[0])
    return 0


def _may_lack_others(member: SimulatedMember, event: str) -> bool:
    """Whether further pods may be missing after a loss: made in order, none comes while one before it terminates.

    Preempted ones are missing, and those that did not run before: a hypothesis may take what kept them waiting.
    """
    if may_be_preempted(member):
        return True
    wanted = member.wanted
    asked = member.set.supposes(event) is not None and not stands(member)
    return asked and least_placed(member, wanted, FRESH).pods < wanted


def _counts_only_own(member: SimulatedMember, constraint: SpreadConstraint) -> bool:
    """Whether a spread counts all pods of a workload, and no others."""
    selector, pod = constraint.selector, member.pod
    if selector is None or selector.is_empty or not all(selector.matches(kind.labels) for kind in member.kinds):
        return False
    others = (group.pod for group in member.set.others)
    return not counted(member, constraint) and not any(
        other.namespace == pod.namespace and selector.matches(other.labels) for other in others
    )


def _least_beside_empty(member: SimulatedMember, event: str, constraint: SpreadConstraint) -> int:
    """Return the least pods if a domain without any holds the others at maxSkew.

    That the deleted end is fine shows that none of the others can fill up: so each gets as many.
    """
    simulated = member.set
    wanted, skew = member.wanted, constraint.max_skew
    if wanted <= skew:
        return wanted
    if simulated.index.one_node_each(constraint.topology_key):
        return 0
    every = (counted_domains(member.pod, constraint, simulated.index, lost) for lost in losses(simulated, event))
    return min(wanted, skew * min(map(len, every), default=0))


def _most(member: SimulatedMember, event: str, deleted: EventBounds) -> Bound:
    """Return the most pods that run: those of deleted nodes, or fewer beside a domain that counts as empty.

    Until the loss no domain has more than maxSkew pods more than another one: none of them goes before. What is lost
    is a whole domain; the others keep what they have, and get more only up to maxSkew.
    """
    simulated = member.set
    pod, wanted = with_enforced_constraints(member.pod), deleted.wanted
    moves = member.running or may_be_preempted(member)
    moves = moves or _TOLERATED in _reasons(member, event)
    best = deleted.most
    for constraint in pod.spread if not moves else ():
        if not leaves_empty(member, constraint, losses(simulated, event)) or not _counts_only_own(member, constraint):
            continue
        domains = counted_domains(pod, constraint, simulated.index)
        whole = frozenset(domains.values())
        takes_one = all(_takes_one(lost, whole) for lost in losses(simulated, event))
        if takes_one and not is_short_of_domains(constraint, len(domains)):
            pods = _most_beside_empty(wanted, len(domains), constraint.max_skew)
            if pods < best.pods:
                best = Bound(pods, why_apart(member, event))
    return best


def _takes_one(lost: NodeSet, domains: Collection[NodeSet]) -> bool:
    """Whether a loss takes all nodes of a domain."""
    if lost in domains:
        return True
    work.spend(len(domains) // 4)
    return any(not nodes & ~lost for nodes in domains)


def _most_beside_empty(wanted: int, domains: int, skew: int) -> int:
    """Return the most pods in all domains but one after that one is lost, whatever the least number in any was."""
    others = domains - 1
    if not others:
        return 0

    def beside(least: int) -> int:
        if least >= skew:
            return min(wanted - least, others * (least + skew))
        # Up to maxSkew they come anew, beyond it they were there before.
        return others * skew + min(others * least, max(0, wanted - domains * least - (skew - least)))

    # Each of the two rises to where its terms meet and falls from there: the most is beside that place, or at an end.
    meeting = (wanted - skew) // (2 * others), (wanted - others * skew) // domains
    places = {0, skew - 1, skew, *meeting, *(place + 1 for place in meeting)}
    return min(max(beside(least) for least in places if 0 <= least <= wanted // domains), wanted)
