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

from collections.abc import Iterator, Mapping

from kubesched_lint.cluster.nodeset import NodeSet, of
from kubesched_lint.lifecycle.contenders import counted, repelling
from kubesched_lint.lifecycle.event_bounds import Counted, EventBounds
from kubesched_lint.lifecycle.event_outcomes import zones
from kubesched_lint.lifecycle.hypotheses import leaves
from kubesched_lint.lifecycle.setting import Setting, once_per_setting
from kubesched_lint.model.pod import Pod, SpreadConstraint
from kubesched_lint.scheduler.framework import as_checked
from kubesched_lint.scheduler.tolerance import FILTERING, UNREACHABLE, tolerates_any
from kubesched_lint.scheduler.topology import counted_domains

STATEFUL = "a StatefulSet makes no replacement while its old pod terminates"
TOLERATED = "its pods tolerate the taints of unreachable nodes, and stay there"
_ONE_USER = "a pod that terminates keeps its claim or its devices"
_LATE = "the Job waits until its pods have terminated"
_NEAR = "pods that terminate still count for its affinity"


_LET_GO = "deleting the Node or its taint node.kubernetes.io/out-of-service lets them go"
_HONOR = "nodeTaintsPolicy: Honor leaves unreachable nodes out"
_EMPTY = "domains that are unreachable count as empty for its spread and hold the others at maxSkew"
HELP: Mapping[str, str] = {
    "": _LET_GO,
    STATEFUL: "deleting the Node or its taint node.kubernetes.io/out-of-service lets it make one, a spare bridges it",
    _EMPTY: _HONOR,
}
"""What makes the difference → what helps; empty: any other."""


def why_apart(setting: Setting, event: str, number: int) -> str:
    """Return why unreachable nodes may leave a workload with other pods than deleted ones; empty if they do not.

    ``event``: of ``UNREACHABLE_OF``.
    """
    known = _known(setting)
    if (event, number) not in known:
        known[event, number] = next(_reasons(setting, event, number), "")
    return known[event, number]


@once_per_setting
def _known(setting: Setting) -> dict[tuple[str, int], str]:
    return {}


def _reasons(setting: Setting, event: str, number: int) -> Iterator[str]:
    workload, pod = setting.workloads[number], as_checked(setting.pods[number])
    if workload.kind in ("Pod", "DaemonSet"):
        return  # the first is lost anyhow, the second has its pods on the other nodes already
    if any(map(_stays, setting.kinds[number])):
        yield TOLERATED
    if workload.kind == "StatefulSet":
        yield STATEFUL
    if workload.replaces_late:
        yield _LATE
    if pod.required_affinity:
        yield _NEAR
    if setting.need_devices((number,)) or _is_exclusive(setting, pod):
        yield _ONE_USER
    keys = dict.fromkeys(_repelling_keys(setting, number))
    if any(_is_partly_lost(setting, event, key) for key in keys):
        yield "pods that terminate still close their domains to it"
    if any(_leaves_empty(setting, event, pod, constraint) for constraint in pod.spread):
        yield _EMPTY


def _stays(pod: Pod) -> bool:
    """Whether a pod may stay on an unreachable node, or be bound to it."""
    is_let_in = any(tolerates_any(pod.tolerations, taint) for taint in UNREACHABLE if taint.effect == FILTERING[0])
    return is_let_in or not any(leaves(pod, taint) for taint in UNREACHABLE)


def _is_exclusive(setting: Setting, pod: Pod) -> bool:
    """Whether a claim of a pod may serve one pod at a time."""
    claims = setting.cluster.storage.claims
    own = [claims.get((pod.namespace, v.claim)) for v in pod.volumes if v.claim]
    return any(claim is None or "ReadWriteOncePod" in claim.access_modes for claim in own)


def _repelling_keys(setting: Setting, number: int) -> Iterator[str]:
    """Yield the topology keys by which other pods may keep those of a workload from further nodes than their own."""
    pod = setting.pods[number]
    yield from (term.topology_key for term in pod.required_anti_affinity)
    yield from (key for key, _, _ in repelling(setting, number))
    for group in setting.others:
        for term in group.pod.required_anti_affinity:
            if setting.selects(term, group.pod, pod):
                yield term.topology_key


def _is_partly_lost(setting: Setting, event: str, key: str) -> bool:
    """Whether the loss may take some nodes of a domain and leave others."""
    index = setting.index
    if index.one_node_each(key):
        return False
    every = index.domains(key).values()
    return any(lost & nodes not in (0, nodes) for nodes in every for lost in losses(setting, event))


def _leaves_empty(setting: Setting, event: str, pod: Pod, constraint: SpreadConstraint) -> bool:
    """Whether the loss may take all nodes of a domain that still counts."""
    if not constraint.is_hard or constraint.node_taints_policy != "Ignore":
        return False
    every = counted_domains(pod, constraint, setting.index).values()
    return any(not nodes & ~lost for nodes in every for lost in losses(setting, event))


def losses(setting: Setting, event: str) -> list[NodeSet]:
    """Return what a loss may take: each node, or the nodes of each zone."""
    known = _losses(setting)
    if event not in known:
        at = setting.index.positions
        is_zone = event in ("zone-loss", "zone-unreachable")
        known[event] = (
            [of([at[name] for name in names]) for names in zones(setting).values()]
            if is_zone
            else [1 << position for position in range(len(setting.nodes))]
        )
    return known[event]


@once_per_setting
def _losses(setting: Setting) -> dict[str, list[NodeSet]]:
    return {}


def if_unreachable(setting: Setting, event: str, number: int, deleted: EventBounds) -> EventBounds:
    """Return the bounds of an event of ``UNREACHABLE_OF`` from those of ``deleted`` nodes."""
    why = why_apart(setting, event, number)
    if not why:
        return deleted
    least = _least(setting, event, number, deleted)
    pods = 0 if least is None else min(least, deleted.least.pods)
    told = Counted(pods, deleted.least.why if pods >= deleted.wanted else why)
    bounds = EventBounds(deleted.wanted, told, deleted.most)
    bounds.never_stuck = deleted.never_stuck and pods >= deleted.wanted
    bounds.always_stuck = deleted.always_stuck
    return bounds


def _least(setting: Setting, event: str, number: int, deleted: EventBounds) -> int | None:
    """Return the least pods that run, where one reason alone sets the two ends apart; None if it is not counted."""
    pod, wanted = as_checked(setting.pods[number]), deleted.wanted
    reasons = list(_reasons(setting, event, number))
    if len(reasons) > 1 or deleted.least.pods < wanted:
        return None
    hard = [c for c in pod.spread if c.is_hard]
    if len(hard) == 1 and _leaves_empty(setting, event, pod, hard[0]):
        return _least_beside_empty(setting, event, number, hard[0], wanted)
    return None


def _least_beside_empty(
    setting: Setting, event: str, number: int, constraint: SpreadConstraint, wanted: int
) -> int | None:
    """Return the least pods if a domain without any holds the others at maxSkew.

    That the deleted end is fine shows that none of the others can fill up: so each gets as many.
    """
    pod, index, selector = setting.pods[number], setting.index, constraint.selector
    alone = not counted(setting, number, constraint) and not any(
        selector is not None and group.pod.namespace == pod.namespace and selector.matches(group.pod.labels)
        for group in setting.others
    )
    if not alone or any(selector is not None and not selector.matches(p.labels) for p in setting.kinds[number]):
        return None
    if wanted <= constraint.max_skew:
        return wanted
    if index.one_node_each(constraint.topology_key):
        return None
    left = (len(counted_domains(pod, constraint, index, lost)) for lost in losses(setting, event))
    return min(wanted, constraint.max_skew * min(left, default=0))
