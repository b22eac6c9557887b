"""Which events requeue a waiting pod: the queueing hints of the filter plugins that rejected it.

If the rejecting plugins find an event irrelevant, the pod is not retried until the five-minute flush, even if it would
fit now. Mirrors isSchedulableAfter… of ``pkg/scheduler/framework/plugins`` (v1.36) for the events that can be missed:
deletions of pods that InterPodAffinity finds irrelevant.

A waiting pod that found no node is ``UnschedulableCache``, and needs no retry until an event may open a node to it. A
new pod opens a node only to pods that need it: by required affinity, or by a hard spread whose least domain it may
raise. A deleted pod opens its own node, and other nodes to pods that it repels or that repel it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from kubesched_lint.engine.base.identity import while_it_lives
from kubesched_lint.engine.base.quirks import HINTS_ASK_FOR_ALL_TERMS, HINTS_WITHOUT_NAMESPACE_LABELS, has
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.pod import DEVICES_PLUGIN, Pod, PodAffinityTerm
from kubesched_lint.engine.scheduler.framework import Diagnosis
from kubesched_lint.engine.scheduler.plugins.inter_pod_affinity import named_namespaces, selects_incoming

AFFINITY = "InterPodAffinity"
SPREAD = "PodTopologySpread"
RESOURCES = "NodeResourcesFit"
PORTS = "NodePorts"
VOLUMES = ("VolumeBinding", "VolumeRestrictions", "VolumeZone", "NodeVolumeLimits")


def may_miss(pods: Iterable[Pod], state: ClusterState) -> bool:
    """Whether any of these pods can miss an event that would let it run.

    Causes: several anti-affinity terms, if an event concerns only one; a namespaceSelector; or affinity to itself,
    where a first pod may start after the last matching pod is gone.
    """
    return any(
        may_repel_unseen(pod, state)
        or is_blind(pod.required_affinity, state)
        or (pod.required_affinity and _draws_itself(pod, state))
        for pod in pods
    )


def _draws_itself(pod: Pod, state: ClusterState) -> bool:
    """Whether its affinity selects the pod itself, so that a first one may start where no other matches."""
    return all(selects_incoming(term, pod, pod, state) for term in pod.required_affinity)


def may_repel_unseen(pod: Pod, state: ClusterState) -> bool:
    """Whether a pod can miss that another one whom its anti-affinity kept away has gone, and that one, that it has."""
    asks_all = has(state.kubernetes_version, HINTS_ASK_FOR_ALL_TERMS)
    return (asks_all and len(pod.required_anti_affinity) > 1) or is_blind(pod.required_anti_affinity, state)


def is_blind(terms: Iterable[PodAffinityTerm], state: ClusterState) -> bool:
    """Whether the hint may miss that a pod matches a term, because the term needs labels of namespaces."""
    chosen = (t.namespace_selector for t in terms)
    return any(c is not None and not c.is_empty for c in chosen) and has(
        state.kubernetes_version, HINTS_WITHOUT_NAMESPACE_LABELS
    )


def wakes_on_delete(pod: Pod, rejected_by: frozenset[str], gone: Pod, state: ClusterState) -> bool:
    """Whether the deletion of a bound pod puts a waiting pod back into the queue."""
    if RESOURCES in rejected_by or (DEVICES_PLUGIN in rejected_by and state.may_serve(gone)):
        return True
    if PORTS in rejected_by and any(
        a.port == b.port and a.protocol == b.protocol for a in pod.host_ports for b in gone.host_ports
    ):
        return True
    if SPREAD in rejected_by and _is_counted(pod, gone):
        return True
    return AFFINITY in rejected_by and (
        _repels(pod.required_anti_affinity, pod, gone, state) or _repels(gone.required_anti_affinity, gone, pod, state)
    )


def wakes_on_bind(pod: Pod, rejected_by: frozenset[str], come: Pod, state: ClusterState) -> bool:
    """Whether the binding of another pod puts a waiting pod back into the queue."""
    if SPREAD in rejected_by and _is_counted(pod, come):
        return True
    return AFFINITY in rejected_by and _selects_by_all(pod.required_affinity, pod, come, state)


def wakes_on_node_change(pod: Pod, rejected_by: frozenset[str], labels: Iterable[str]) -> bool:
    """Whether adding or removing a taint on a node with these label keys requeues a waiting pod (spread only)."""
    keys = set(labels)
    return SPREAD in rejected_by and all(c.topology_key in keys for c in pod.spread if c.is_hard)


def wakes_on_new_node(pod: Pod, rejected_by: frozenset[str], labels: Collection[str]) -> bool:
    """Whether a new node with these label keys requeues a waiting pod that fits there."""
    if rejected_by - {AFFINITY, SPREAD}:
        return True
    drawn = any(t.topology_key in labels for t in pod.required_affinity)
    near = AFFINITY in rejected_by and (bool(pod.required_anti_affinity) or drawn)
    return near or wakes_on_node_change(pod, rejected_by, labels)


def wakes_on_lost_label(pod: Pod, rejected_by: frozenset[str], keys: Collection[str]) -> bool:
    """Whether a node that loses labels with these keys requeues a waiting pod.

    Plugins that look at one node requeue a pod that fits there now. Those that look at domains ask whether the key is
    one of theirs.
    """
    if rejected_by - {AFFINITY, SPREAD}:
        return True
    apart = AFFINITY in rejected_by and any(t.topology_key in keys for t in pod.required_anti_affinity)
    return apart or (SPREAD in rejected_by and any(c.topology_key in keys for c in pod.spread if c.is_hard))


def _is_counted(pod: Pod, other: Pod) -> bool:
    return pod.namespace == other.namespace and any(
        c.selector is not None and c.selector.matches(other.labels) for c in pod.spread if c.is_hard
    )


def _repels(terms: Sequence[PodAffinityTerm], holder: Pod, pod: Pod, state: ClusterState) -> bool:
    if has(state.kubernetes_version, HINTS_ASK_FOR_ALL_TERMS):
        return _selects_by_all(terms, holder, pod, state)
    return any(_selects(term, holder, pod, state) for term in terms)


def _selects_by_all(terms: Sequence[PodAffinityTerm], holder: Pod, pod: Pod, state: ClusterState) -> bool:
    """Whether all terms select the pod (podMatchesAllAffinityTerms); False without terms."""
    return bool(terms) and all(_selects(term, holder, pod, state) for term in terms)


def _selects(term: PodAffinityTerm, holder: Pod, pod: Pod, state: ClusterState) -> bool:
    """Whether the hint finds that a term selects a pod: it knows names of namespaces, but not their labels."""
    if not is_blind((term,), state):
        return selects_incoming(term, holder, pod, state)
    named = pod.namespace in named_namespaces(term, holder.namespace)
    seen = named or (term.namespace_selector is not None and term.namespace_selector.matches({}))
    return seen and term.selector is not None and term.selector.matches(pod.labels)


# --- Waiting pods that found no node, and need no retry until an event may open a node to them ------------------------

ANYWHERE = -1


class UnschedulableCache:
    """A cache of pods without a node; callers must report each pod that comes or goes.

    A node rejects a pod by its first reason: while that is room or a port, another pod cannot help there.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._alone: dict[int, dict[tuple[int, int], NodeSet]] = {}
        """Position or ANYWHERE → (kind, position) of waiting pods that only the departure of a pod can help → the nodes
        from which it has to go."""
        self._sociable: dict[int, dict[int, bool]] = {}
        """Kind → positions of its waiting pods (the pinned node or ANYWHERE), for pods that depend on other pods →
        whether the departure of any pod may help them."""
        self._helped: dict[tuple[str, str] | None, set[int]] = {}
        """Label → the kinds of ``_sociable`` that a pod with it may help; None: those that any pod may help."""
        self._pods: dict[int, Pod] = {}

    def add(self, kind: int, pod: Pod, position: int, diagnosis: Diagnosis) -> bool:
        """Record that pods of a kind, pinned to ``position`` if that is a node, found no node.

        Return whether they wait. Others may find a node at any time: a pod that goes elsewhere may free their volume or
        device.
        """
        held = bool(pod.volumes) and not diagnosis.rejected_by.isdisjoint(VOLUMES)
        if held or self._cluster.may_serve(pod) or diagnosis.refusal is not None:
            return False
        # No preemption helps a pod that names its node, but each departure may: the kubelet tries again.
        opened = self._cluster.index.all if pod.node_name or diagnosis.error else diagnosis.resolvable
        plugins = {r.plugin for r in diagnosis.rejections}
        if plugins.isdisjoint((AFFINITY, SPREAD)):
            self._alone.setdefault(position, {})[kind, position] = opened
        elif pod.required_affinity or any(c.is_hard for c in pod.spread):
            self._pods[kind] = pod
            starts_alone = bool(pod.required_affinity) and _draws_itself(pod, self._cluster)
            self._sociable.setdefault(kind, {})[position] = bool(opened) or starts_alone
            for label in _helpful(pod):
                self._helped.setdefault(label, set()).add(kind)
        else:
            self._alone.setdefault(ANYWHERE, {})[kind, position] = self._cluster.index.all
        return True

    def has(self, kind: int, position: int) -> bool:
        key = kind, position
        return (
            position in self._sociable.get(kind, ())
            or key in self._alone.get(position, ())
            or key in self._alone.get(ANYWHERE, ())
        )

    def comes(self, pod: Pod, position: int) -> list[int]:
        """Record that a pod is bound to a node. Return the kinds to which it may open one."""
        if not self._helped:
            return []
        kinds = set[int]().union(*(self._helped.get(label, ()) for label in (None, *pod.labels.items())))
        woken = []
        for kind in kinds:
            near = self._near(self._pods[kind], pod, position)
            if near:
                woken.append(kind)
                left = self._sociable[kind].items()
                self._sociable[kind] = {p: helped for p, helped in left if p != ANYWHERE and not near >> p & 1}
                self._forget_helpers(kind)
        return woken

    def goes(self, position: int) -> None:
        """Record that a pod leaves a node."""
        for kind, waiting in self._sociable.items():
            if any(waiting.values()):
                self._sociable[kind] = {p: False for p, helped in waiting.items() if not helped}
                self._forget_helpers(kind)
        for place in (position, ANYWHERE):
            alone = self._alone.get(place, {})
            for key in [key for key, nodes in alone.items() if nodes >> position & 1]:
                del alone[key]

    def _forget_helpers(self, kind: int) -> None:
        """Forget who may help pods of a kind if none of them waits."""
        if not self._sociable[kind]:
            for label in _helpful(self._pods[kind]):
                self._helped[label].discard(kind)

    def _near(self, pod: Pod, come: Pod, position: int) -> NodeSet:
        """Return the nodes that may be open to a pod after another pod was bound to a node."""
        index, open_nodes = self._cluster.index, 0
        if any(c.is_hard and c.selector is not None and c.selector.matches(come.labels) for c in pod.spread):
            return index.all
        for term in pod.required_affinity:
            if selects_incoming(term, pod, come, self._cluster):
                open_nodes |= index.domain_of(term.topology_key, position)
        return open_nodes


def may_help(come: Pod, pod: Pod) -> bool:
    """Whether a pod that is bound may open any node to another one: only to those whose terms select it."""
    if not (pod.required_affinity or pod.spread):
        return False
    labels = come.labels.items()
    return any(label is None or label in labels for label in _helpful(pod))


@while_it_lives
def _helpful(pod: Pod) -> Sequence[tuple[str, str] | None]:
    """Return labels: a pod that helps this one by coming has one of them; None if it may have none."""
    selectors = (*(t.selector for t in pod.required_affinity), *(c.selector for c in pod.spread if c.is_hard))
    return [label for s in selectors if s is not None for label in s.labels_of_selected() or (None,)]
