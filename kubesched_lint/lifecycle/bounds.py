"""What counting alone can tell, for every order in which any scheduler may act: at most, and at least, so many pods.

``most_placed`` counts what is necessary, ``least_placed`` what suffices; between the two lies what only a search can
tell. ``frame`` is what the controllers allow, whatever the scheduler does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kubesched_lint.cluster.nodeset import NodeSet, positions
from kubesched_lint.lifecycle import quotas
from kubesched_lint.lifecycle.controllers.bounds import rolling_bounds
from kubesched_lint.lifecycle.crowding import fillable, takers_of_ports
from kubesched_lint.lifecycle.motion import Motion
from kubesched_lint.lifecycle.outcomes import Outcome
from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.lifecycle.world import Wish
from kubesched_lint.model.pod import Pod, PodAffinityTerm, SpreadConstraint
from kubesched_lint.scheduler.capacity import copies, tightest_resource
from kubesched_lint.scheduler.framework import as_checked, diagnose
from kubesched_lint.scheduler.topology import counted_domains, is_short_of_domains, least_count, let_in


class Counted(NamedTuple):
    """A number of pods, and in words why."""

    pods: int
    why: str


def most_placed(setting: Setting, number: int, wanted: int, without: NodeSet = 0, *, mixed: bool = False) -> Counted:
    """No order binds more pods of a workload at once than this; ``without`` are nodes that are gone or cordoned.

    ``mixed``: some of the pods are of another revision, which not every selector reaches.
    """
    found = [Counted(wanted, "all that are wanted"), *_ceilings(setting, number, wanted, without, mixed)]
    return min(found, key=lambda c: c.pods)


def _ceilings(setting: Setting, number: int, wanted: int, without: NodeSet, mixed: bool) -> Iterator[Counted]:
    pod, cluster, index = as_checked(setting.pods[number]), setting.cluster, setting.index
    if pod.scheduling_gates:
        yield Counted(0, "scheduling gates hold its pods back")
        return
    granted = quotas.cap(setting, number)
    if granted is not None:
        yield Counted(granted.pods, granted.why)
    usable = setting.usable[number] & ~without
    if not usable:
        yield Counted(0, "no node that it may use")
        return
    room = dict(copies(pod, cluster, usable, wanted))
    apart = [
        t
        for t in pod.required_anti_affinity
        if setting.selects(t, pod, pod) and (not mixed or setting.reaches_old(t.selector, number))
    ]
    if any(index.one_node_each(t.topology_key) and not usable & ~index.with_key(t.topology_key) for t in apart):
        room = {position: min(here, 1) for position, here in room.items()}
    for term in apart:
        if not usable & ~index.with_key(term.topology_key):
            domains = [d for d in index.domains(term.topology_key).values() if d & usable]
            open_ = sum(any(room[p] for p in positions(d & usable)) for d in domains)
            yield Counted(open_, f"each needs a domain of {term.topology_key} to itself, and {open_} can hold one")
    # A DaemonSet's pod is pinned to one node, whose domain is then the only one that counts.
    for constraint in pod.spread if setting.workloads[number].kind != "DaemonSet" else ():
        if mixed and not setting.reaches_old(constraint.selector, number):
            continue
        ceiling = _spread_ceiling(setting, number, constraint, room, without)
        if ceiling is not None:
            yield ceiling
    for term in pod.required_affinity:
        if not any(_may_select(setting, term, pod, other) for other in setting.pods) and not _runs(setting, term, pod):
            yield Counted(0, f"no pod that its affinity on {term.topology_key} selects")
    total = sum(room.values())
    if total < wanted:
        what = "host ports" if pod.host_ports else tightest_resource(pod, cluster, usable)
        yield Counted(total, f"room for {total} by {what} on {usable.bit_count()} usable nodes")


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
    capacity = domain_room(setting, number, constraint, room, without)
    if not capacity:
        return Counted(0, f"no usable node counts for the spread over {constraint.topology_key}")
    least = least_count(constraint, capacity.values())
    total = sum(let_in(constraint, capacity).values())
    return Counted(total, f"spread over {constraint.topology_key} lets in {total}: the least domain holds {least}")


def _others_counted(setting: Setting, number: int, constraint: SpreadConstraint) -> bool:
    pod, selector = setting.pods[number], constraint.selector
    assert selector is not None
    ours = [p for i, p in enumerate(setting.pods) if i != number]
    theirs = {id(b.pod): b.pod for b in setting.objects.pods}
    return any(p.namespace == pod.namespace and selector.matches(p.labels) for p in (*ours, *theirs.values()))


def domain_room(
    setting: Setting, number: int, constraint: SpreadConstraint, room: dict[int, int], without: NodeSet
) -> dict[str, int]:
    """Per domain that counts, how many pods its nodes can hold; ``room`` is by node, ``without`` are gone."""
    domains = counted_domains(setting.pods[number], constraint, setting.index, setting.kubernetes_version, without)
    return {value: sum(room.get(p, 0) for p in positions(nodes)) for value, nodes in domains.items()}


# --- at least -------------------------------------------------------------------------------------------------------


def least_placed(
    setting: Setting,
    number: int,
    wanted: int,
    without: NodeSet = 0,
    *,
    nodes_fewer: int = 0,
    gone: bool = True,
    fresh: bool = False,
    mixed: bool = False,
) -> Counted:
    """Every order binds at least so many of ``wanted`` pods: as long as fewer stand, some node takes one more.

    All pods of the set together can fill only so many nodes that one more pod finds no room there (``fillable``);
    whichever nodes these are, the others stay open. ``without`` are nodes that are gone, ``nodes_fewer`` counts
    further ones, whichever they are, gone or, else, cordoned. ``fresh``: no pod of it ran before, so that its claims
    are still to be bound. ``mixed``: some pods are of another revision, which not every selector reaches.
    """
    pod, index = as_checked(setting.pods[number]), setting.index
    if pod.required_affinity:
        return Counted(0, "required pod affinity depends on where others land")
    templates = setting.workloads[number].claim_templates
    if any(v.claim for v in pod.volumes) or (templates and not (fresh and _made_anywhere(setting, number, wanted))):
        return Counted(0, "its volumes may tie it to where they are")
    hard = [c for c in pod.spread if c.is_hard]
    apart = [t for t in pod.required_anti_affinity if setting.selects(t, pod, pod)]
    if len(hard) + len(apart) > 1 or len(apart) < len(pod.required_anti_affinity):
        return Counted(0, "several constraints work together")
    open_ = diagnose(pod, setting.cluster).feasible & ~without
    if not open_:
        return Counted(0, "no node that it may use")
    if _is_repelled(setting, number):
        return Counted(0, "pods of others may repel it")
    if apart:
        # Its own pods have other domains than the one in question, as far as the selector reaches them.
        keyed = not open_ & ~index.with_key(apart[0].topology_key)
        seen = keyed and (not mixed or setting.reaches_old(apart[0].selector, number))
        closed = _closed(setting, number, 0 if seen else wanted - 1, open_)
        return _least_apart(setting, apart[0], open_, closed + nodes_fewer, wanted)
    if hard:
        if (
            hard[0].selector is None
            or not hard[0].selector.matches(pod.labels)
            or _others_counted(setting, number, hard[0])
        ):
            return Counted(0, "the spread counts pods of others too")
        single = index.one_node_each(hard[0].topology_key)
        if nodes_fewer and single and not gone:
            return Counted(0, f"a cordoned node is a domain of {hard[0].topology_key} that still counts")
        return _least_spread(setting, number, hard[0], open_, wanted, without, nodes_fewer, mixed=mixed)
    closed = _closed(setting, number, wanted - 1, open_)
    left = open_.bit_count() - closed - nodes_fewer
    why = f"all pods of the set can fill at most {closed} of {open_.bit_count()} usable nodes"
    return Counted(wanted if left > 0 else 0, why)


def _made_anywhere(setting: Setting, number: int, wanted: int) -> bool:
    """Whether each pod's claims are new, and their class makes a volume on whichever node the pod lands."""
    workload, objects = setting.workloads[number], setting.objects
    if objects.volumes or objects.csi_nodes or objects.storage_capacities:
        return False
    anywhere = {
        c.name
        for c in objects.storage_classes
        if c.binding_mode == "WaitForFirstConsumer" and not c.allowed_topologies and c.provisioner != _NO_PROVISIONER
    }
    taken = {c.name for c in objects.claims if c.namespace == workload.namespace}
    return all(
        t.storage_class in anywhere and f"{t.name}-{workload.name}-{i}" not in taken
        for t in workload.claim_templates
        for i in range(wanted)
    )


_NO_PROVISIONER = "kubernetes.io/no-provisioner"


def least_daemons(setting: Setting, number: int, wanted: int) -> Counted:
    """Every order binds at least so many of a DaemonSet's pods: one on each node that others cannot fill."""
    pod = setting.pods[number]
    if pod.required_affinity or pod.required_anti_affinity or any(c.is_hard for c in pod.spread):
        return Counted(0, "its pods look at where others are")
    if any(v.claim for v in pod.volumes):
        return Counted(0, "its volumes may tie it to where they are")
    if _is_repelled(setting, number):
        return Counted(0, "pods of others may repel it")
    open_ = diagnose(pod, setting.cluster).feasible
    closed = _closed(setting, number, 0, open_)
    sure = max(min(open_.bit_count() - closed, wanted), 0)
    return Counted(sure, f"others can fill at most {closed} of its {open_.bit_count()} nodes")


def _is_repelled(setting: Setting, number: int) -> bool:
    """Whether a pod of another workload may repel this one's, either way round."""
    pod = setting.pods[number]
    if pod.node_name:
        return False
    others = [p for i, p in enumerate(setting.pods) if i != number]
    others += [b.pod for i, pods in setting.running.items() if i != number for b in pods[:1]]
    return any(setting.selects(t, o, pod) for o in others for t in o.required_anti_affinity) or any(
        setting.selects(t, pod, o) for t in pod.required_anti_affinity for o in others
    )


def _closed(setting: Setting, number: int, own: int, among: NodeSet) -> int:
    """How many nodes at most others close, and ``own`` other pods of the workload, by room or by host ports."""
    if setting.pods[number].host_ports:
        closed = fillable(setting, number, 0, among) + takers_of_ports(setting, number, among) + own
    else:
        closed = fillable(setting, number, own, among)
    return min(closed, among.bit_count())


def _least_apart(setting: Setting, term: PodAffinityTerm, open_: NodeSet, closed: int, wanted: int) -> Counted:
    """Domains with a node that others cannot close, when each pod of the workload needs one to itself."""
    index, key = setting.index, term.topology_key
    unbounded = (open_ & ~index.with_key(key)).bit_count()
    if unbounded > closed:
        return Counted(wanted, f"nodes without {key} take any number")
    left = sorted((d & open_).bit_count() for d in index.domains(key).values() if d & open_)
    free = len(left)
    for size in left:
        if closed < size:
            break
        closed -= size
        free -= 1
    return Counted(
        min(free, wanted), f"{number_of_domains(free)} of {key} {'stays' if free == 1 else 'stay'} open for one each"
    )


def number_of_domains(number: int) -> str:
    return "1 domain" if number == 1 else f"{number or 'no'} domains"


def _least_spread(
    setting: Setting,
    number: int,
    constraint: SpreadConstraint,
    open_: NodeSet,
    wanted: int,
    without: NodeSet,
    nodes_fewer: int,
    *,
    mixed: bool,
) -> Counted:
    """While the least full domain has an open node, the next pod fits there."""
    index, key = setting.index, constraint.topology_key
    sizes = domain_room(setting, number, constraint, dict.fromkeys(positions(open_), 1), without)
    if not sizes:
        return Counted(0, "no node counts for the spread")
    single = index.one_node_each(key)
    domains = len(sizes) - nodes_fewer * single
    if domains <= 0:
        return Counted(0, f"no domain of {key} may be left")
    # The least full domain has no more than its share of the pods that are counted.
    shared = not mixed or setting.reaches_old(constraint.selector, number)
    share = (wanted - 1) // domains
    if is_short_of_domains(constraint, domains):
        share = max(share, constraint.max_skew - 1)
    own = min(share, wanted - 1) if shared else wanted - 1
    nodes = index.domains(key)
    for value, size in sizes.items():
        if size <= _closed(setting, number, own, nodes[value] & open_) + nodes_fewer * (not single):
            return Counted(0, f"domain {value} of {key} may fill up, and holds back the others")
    if is_short_of_domains(constraint, domains):
        most = domains * constraint.max_skew
        return Counted(min(wanted, most), f"fewer domains of {key} than minDomains: {constraint.max_skew} in each")
    return Counted(wanted, f"no domain of {key} can fill up")


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
