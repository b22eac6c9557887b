"""One scheduling attempt: the nodes that pass every filter, and the first plugin that rejects each other node.

Mirrors ``pkg/scheduler/schedule_one.go`` and ``pkg/scheduler/framework/types.go`` (v1.36): findNodesThatFitPod and
FitError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.identity import while_it_lives
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, only
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.nodes.node import Node, Taint
from kubesched_lint.engine.model.pod import BoundPod, Pod, Toleration, profile_of
from kubesched_lint.engine.model.resources import is_ignored
from kubesched_lint.engine.scheduler.plugins import (
    dynamic_resources,
    inter_pod_affinity,
    node_volume_limits,
    pod_topology_spread,
    volume_binding,
    volume_restrictions,
    volume_zone,
)
from kubesched_lint.engine.scheduler.plugins.failing import Failing
from kubesched_lint.engine.scheduler.plugins.single_node import (
    NodeAffinity,
    NodeDeclaredFeatures,
    NodeName,
    NodePorts,
    NodeResourcesFit,
    NodeUnschedulable,
    TaintToleration,
)
from kubesched_lint.engine.scheduler.plugins.verdict import Plugin, PreFilterPlugin, PreFilterRefusal, Rejection
from kubesched_lint.engine.scheduler.tolerance import CORDON, repelled, tolerates_any, untolerated

_MODELLED: tuple[Plugin, ...] = (
    NodeUnschedulable,
    NodeName,
    TaintToleration,
    NodeAffinity,
    NodePorts,
    NodeResourcesFit,
    volume_restrictions,
    node_volume_limits,
    volume_binding,
    volume_zone,
    pod_topology_spread,
    inter_pod_affinity,
    dynamic_resources,
    NodeDeclaredFeatures,
)
KUBELET_FILTERS: tuple[Plugin, ...] = (NodeName, TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit)
"""The checks of the kubelet for a pod that names its node."""
_WITH_PREFILTER: tuple[PreFilterPlugin, ...] = (
    NodeAffinity,
    volume_restrictions,
    volume_binding,
    volume_zone,
    dynamic_resources,
)
_ASK_FOR: Mapping[str, Callable[[Pod], object]] = {
    NodeName.NAME: lambda pod: pod.node_name,
    NodePorts.NAME: lambda pod: pod.host_ports,
    volume_restrictions.NAME: lambda pod: pod.volumes,
    node_volume_limits.NAME: lambda pod: pod.volumes,
    volume_binding.NAME: lambda pod: pod.volumes,
    volume_zone.NAME: lambda pod: pod.volumes,
    pod_topology_spread.NAME: lambda pod: pod.spread,
    NodeDeclaredFeatures.NAME: lambda pod: pod.required_features,
}
"""Plugin → what a pod must have so that it may reject the pod. The others may reject any."""
_DEVICES = dynamic_resources.NAME
_LAST = NodeDeclaredFeatures.NAME

NO_NODES = "no nodes available to schedule pods"
UNASKED = "node(s) didn't satisfy plugin(s)"
"""Of nodes that PreFilter leaves out, so that no filter is asked about them; the plugins follow in brackets."""
GATED = "Scheduling is blocked due to non-empty scheduling gates"


class Diagnosis(Struct, frozen=True):
    """Why a pod fits on some nodes and not on others.

    Every node is in exactly one of: ``feasible``; the nodes of ``rejections``, where only NodeResourcesFit and
    VolumeBinding list a node twice; ``outside``. With a ``refusal`` no node was checked.
    """

    total: int
    """Number of nodes that it is about: those of the cluster, or of the pod group's placement."""
    feasible: NodeSet
    rejections: tuple[Rejection, ...] = ()
    outside: NodeSet = EMPTY
    """Nodes that a PreFilter excluded, by ``pinned_by``."""
    pinned_by: tuple[str, ...] = ()
    refusal: PreFilterRefusal | None = None
    percentage_of_nodes_to_score: int = 0
    """The setting of the pod's scheduler; 0: its default."""
    waits_for: str = ""
    """Why the scheduler does not try the pod: it has scheduling gates, or lacks a claim for devices."""

    kubelet_of: str = ""
    """The node that the pod names: its kubelet, not the scheduler, decides; empty if it names none."""

    @property
    def error(self) -> str:
        """What ended the attempt on all nodes; empty if nothing did. The pod is tried again without any event."""
        return next((r.reason for r in self.rejections if r.is_error), "")

    @property
    def resolvable(self) -> NodeSet:
        """Nodes on which removing pods might make room: the candidates of preemption, which never follows an error."""
        maybe = never = EMPTY
        if self.error:
            return EMPTY
        for rejection in self.rejections:
            if rejection.resolvable:
                maybe |= rejection.nodes
            else:
                never |= rejection.nodes
        return maybe & ~never

    @property
    def rejected_by(self) -> frozenset[str]:
        """The plugins whose events may make the pod fit; none after an error."""
        if self.error:
            return frozenset()
        if self.refusal is not None:
            return frozenset([self.refusal.plugin])
        return frozenset(r.plugin for r in self.rejections) | frozenset(self.pinned_by)

    def reasons(self, position: int) -> Iterator[Rejection]:
        """Return why one node was rejected."""
        return (r for r in self.rejections if r.nodes >> position & 1)


def diagnose(pod: Pod, state: ClusterState, placement: NodeSet | None = None) -> Diagnosis:
    """Return the result of the pod's filter plugins over all nodes of ``state``, which is not changed.

    ``placement``: the nodes among which its pod group is tried. Plugins count the pods of the whole cluster even then.
    """
    index = state.index
    among = index.all if placement is None else placement
    total = among.bit_count()
    waits_for = GATED if pod.scheduling_gates else dynamic_resources.waits_for(pod, state)
    if waits_for:
        return Diagnosis(total, EMPTY, waits_for=waits_for)
    if pod.node_name:
        feasible, rejections = _admitted(pod, state, among)
        return Diagnosis(total, feasible, tuple(rejections), kubelet_of=pod.node_name)
    looked_at, pinned_by, refusal = _prefilter(pod, state, among)
    if refusal is not None:
        return Diagnosis(total, EMPTY, refusal=refusal)
    if not state.nominated:
        feasible, rejections = _filter(pod, state, looked_at)
    else:
        feasible, rejections = _filter_beside_nominated(pod, state, looked_at)
    percentage = profile_of(pod).percentage_of_nodes_to_score
    return Diagnosis(
        total, feasible, tuple(rejections), among & ~looked_at, pinned_by, percentage_of_nodes_to_score=percentage
    )


def _admitted(pod: Pod, state: ClusterState, among: NodeSet) -> tuple[NodeSet, list[Rejection]]:
    """Return the result for a pod that names its node: the kubelet, not the scheduler, checks the node alone.

    Spread, pod affinity (its own and others'), NoSchedule taints, cordons and volumes do not keep it away. Mirrors
    generalFilter of ``pkg/kubelet/lifecycle/predicate.go`` (v1.36), which checks NoExecute taints too.
    """
    feasible, rejections = _filter(_as_kubelet_sees(pod), state, among, KUBELET_FILTERS)
    return feasible, [r._replace(resolvable=False) for r in rejections]


def _as_kubelet_sees(pod: Pod) -> Pod:
    if not pod.node_name:
        return pod
    return replace(pod, tolerations=(*pod.tolerations, _ANY_NO_SCHEDULE), profile=None)


_ANY_NO_SCHEDULE = Toleration(operator="Exists", effect="NoSchedule")


def with_enforced_constraints(pod: Pod) -> Pod:
    """Return the pod without those conditions of its own that nobody checks.

    If it names its node, these are affinity and spreading; else what its scheduler's profile disables or ignores.
    """
    if pod.node_name:
        return replace(pod, required_affinity=(), required_anti_affinity=(), spread=())
    if pod.profile is None:
        return pod
    filters = pod.profile.filters
    unchecked: dict[str, Any] = {}
    if "InterPodAffinity" not in filters:
        unchecked |= {"required_affinity": (), "required_anti_affinity": ()}
    if "PodTopologySpread" not in filters:
        unchecked["spread"] = ()
    if "NodePorts" not in filters:
        unchecked["host_ports"] = ()
    if "NodeResourcesFit" not in filters:
        unchecked["requests"] = {}
    elif any(is_ignored(name, pod.profile) for name in pod.requests):
        unchecked["requests"] = {name: n for name, n in pod.requests.items() if not is_ignored(name, pod.profile)}
    return replace(pod, **unchecked) if unchecked else pod


def _prefilter(
    pod: Pod, state: ClusterState, looked_at: NodeSet
) -> tuple[NodeSet, tuple[str, ...], PreFilterRefusal | None]:
    """Return those of ``looked_at`` to check, and the plugins that narrowed them; or the refusal that ends the attempt.

    Mirrors RunPreFilterPlugins: an unresolvable refusal ends at once, a resolvable one waits for the other plugins.
    """
    plugins = _prefilters(pod, dynamic_resources.runs(pod, state))
    if not plugins:
        return looked_at, (), None
    pinned_by: list[str] = []
    waiting: PreFilterRefusal | None = None
    for plugin in plugins:
        answer = plugin.prefilter(pod, state)
        if answer is None:
            continue
        if isinstance(answer, PreFilterRefusal):
            if not answer.resolvable:
                return EMPTY, (), answer
            waiting = answer
            continue
        pinned_by.append(plugin.NAME)
        looked_at &= answer
    return looked_at, tuple(sorted(pinned_by)), waiting


@while_it_lives
def _filters(pod: Pod, needs_devices: bool) -> tuple[Plugin, ...]:
    """Return the filters of the pod's profile that may reject it."""
    profile = profile_of(pod)
    names = profile.filters
    if needs_devices:
        at = -1 if names[-1:] == (_LAST,) else len(names)  # feature gates add the others before it
        names = (*names[:at], _DEVICES, *names[at:])
    known = {plugin.NAME: plugin for plugin in _MODELLED}
    return tuple(
        Failing(name) if name in profile.failing else known[name]
        for name in names
        if name in profile.failing or _is_asked_for(name, pod)
    )


@while_it_lives
def _prefilters(pod: Pod, needs_devices: bool) -> tuple[PreFilterPlugin, ...]:
    names = (*profile_of(pod).prefilters, *([_DEVICES] if needs_devices else ()))
    known = {plugin.NAME: plugin for plugin in _WITH_PREFILTER}
    return tuple(known[name] for name in names if name in known and _is_asked_for(name, pod))


def _is_asked_for(plugin: str, pod: Pod) -> bool:
    return plugin not in _ASK_FOR or bool(_ASK_FOR[plugin](pod))


@while_it_lives
def _cost_of_fields(pod: Pod) -> tuple[int, int]:
    """Return the steps for what a pod asks for, and those for each 64 nodes."""
    terms = len(pod.required_affinity) + len(pod.required_anti_affinity)
    cost = work.PLACE + work.CALL * (terms + len(pod.volumes)) + work.LOOK * len(pod.host_ports)
    return cost + 8 * len(pod.spread), 1 + 4 * len(pod.spread)


def _cost(pod: Pod, state: ClusterState) -> int:
    """Return the steps of an attempt: who tries a pod pays for all that its plugins look up, and for placing it."""
    cost, each = _cost_of_fields(pod)
    cost += len(state.index) * each // 64
    if pod.resource_claims and state.devices is not None:
        known = len(state.devices.claims) // 8 + work.LOOK * len(state.devices.slices)
        cost += 3 * (work.SETUP + known)  # to filter, to place, and once more after each change of devices
    return cost


def _filter(
    pod: Pod, state: ClusterState, among: NodeSet, filters: tuple[Plugin, ...] | None = None
) -> tuple[NodeSet, list[Rejection]]:
    """Return feasible nodes and rejections; on each node the first plugin that rejects it counts (RunFilterPlugins).

    ``filters`` are those of the pod's profile if None.
    """
    work.spend(_cost(pod, state))
    rejections: list[Rejection] = []
    for plugin in _filters(pod, dynamic_resources.runs(pod, state)) if filters is None else filters:
        if not among:
            break
        gone = EMPTY
        for rejection in plugin.reject(pod, state, among):
            nodes = rejection.nodes & among
            if nodes:
                rejections.append(rejection if nodes == rejection.nodes else rejection._replace(nodes=nodes))
                gone |= nodes
        among &= ~gone
    return among, rejections


def _filter_beside_nominated(pod: Pod, state: ClusterState, among: NodeSet) -> tuple[NodeSet, list[Rejection]]:
    """Return the same as ``_filter``, but check the nodes nominated for other pods one by one."""
    feasible, rejections, aside = EMPTY, [], EMPTY
    for name in state.nominated:
        position = state.index.positions.get(name)
        if position is not None and among >> position & 1 and _guests(pod, state, position):
            aside |= only(position)
            turned_away = filter_node(pod, state, position)
            rejections += turned_away
            if not turned_away:
                feasible |= only(position)
    passed, turned_away = _filter(pod, state, among & ~aside)
    return feasible | passed, turned_away + rejections


def filter_node(pod: Pod, state: ClusterState, position: int) -> list[Rejection]:
    """Return why one node is rejected; empty if it passes.

    A node nominated for pods of equal or higher priority must accept this pod both with and without them. Mirrors
    RunFilterPluginsWithNominatedPods. For a pod that names its node, only the kubelet's checks apply, as in
    ``diagnose``.
    """
    if pod.node_name:
        return _admitted(pod, state, only(position))[1]
    guests = _guests(pod, state, position)
    if guests:
        with state.undone():
            for guest in guests:
                state.place(guest, position)
            _, rejections = _filter(pod, state, only(position))
        if rejections:
            return rejections
    return _filter(pod, state, only(position))[1]


def _guests(pod: Pod, state: ClusterState, position: int) -> list[BoundPod]:
    waiting = state.nominated.get(state.index.names[position], ())
    return [b for b in waiting if (b.pod.priority or 0) >= (pod.priority or 0)]


# --- the message ----------------------------------------------------------------------------------------------------


def message(diagnosis: Diagnosis, postfilter: str = "") -> str:
    """Return the text of the PodScheduled condition; ``postfilter`` is preemption's part. Mirrors FitError.Error.

    No condition tells of a pod that names its node: the text is ours then.
    """
    if diagnosis.kubelet_of:
        reasons = sorted({r.reason for r in diagnosis.rejections if r.plugin != NodeName.NAME})
        who = f"the kubelet of {diagnosis.kubelet_of} refuses it"
        return f"{who}: {', '.join(reasons)}" if reasons else f"there is no node {diagnosis.kubelet_of}"
    if diagnosis.waits_for:
        return diagnosis.waits_for
    if not diagnosis.total:
        return NO_NODES
    if diagnosis.error:
        return diagnosis.error
    text = f"0/{diagnosis.total} nodes are available:"
    if diagnosis.refusal is not None:
        text += f" {diagnosis.refusal.message}."
    else:
        histogram = dict(_histogram(diagnosis))
        if histogram:
            text += f" {counted_reasons(histogram)}."
    return f"{text} {postfilter}" if postfilter else text


def counted_reasons(histogram: dict[str, int]) -> str:
    """Return ``2 Insufficient cpu, 3 node(s) were unschedulable``: sorted as strings, so 10 comes before 2."""
    return ", ".join(sorted(f"{count} {reason}" for reason, count in histogram.items()))


def _histogram(diagnosis: Diagnosis) -> Iterator[tuple[str, int]]:
    counts: dict[str, int] = {}
    for rejection in diagnosis.rejections:
        counts[rejection.reason] = counts.get(rejection.reason, 0) + rejection.nodes.bit_count()
    if diagnosis.outside:
        counts[f"{UNASKED} [{' '.join(diagnosis.pinned_by)}]"] = diagnosis.outside.bit_count()
    return iter(counts.items())


# --- what other pods do not affect
# -------------------------------------------------------------------------------------


class Reach(NamedTuple):
    """The nodes open to a pod when they are empty; each set is a subset of the one before."""

    matching: NodeSet
    """nodeName, nodeSelector and required node affinity match."""
    tolerated: NodeSet
    """… and the pod tolerates the taints."""
    usable: NodeSet
    """… and the node is not cordoned and its bare allocatable holds the pod: any replica may use it at some time."""


def static_reach(pod: Pod, index: NodeIndex) -> Reach:
    """Return the nodes open to a pod when they are empty.

    A pod that names its node ignores cordons and NoSchedule taints.
    """
    pod = _as_kubelet_sees(pod)
    profile = profile_of(pod)
    judging = profile.filters
    matching = index.all
    if "NodeAffinity" in judging:
        matching = index.matching(pod.node_selector, pod.required_node_terms)
        if profile.added_node_terms is not None:
            matching &= index.matching({}, profile.added_node_terms)
    if pod.node_name:
        matching &= index.named([pod.node_name])
    tolerated = matching & ~repelled(index, pod.tolerations) if "TaintToleration" in judging else matching
    usable = tolerated
    if "NodeUnschedulable" in judging and usable & index.cordoned and not tolerates_any(pod.tolerations, CORDON):
        usable &= ~index.cordoned
    if "NodeResourcesFit" in judging:
        usable &= ~index.short_of("pods", 1)
        for resource, amount in pod.requests.items():
            if amount > 0 and not is_ignored(resource, profile):
                usable &= ~index.short_of(resource, amount)
    if profile.failing:
        usable = EMPTY
    return Reach(matching, tolerated, usable)


def static_feasible(pod: Pod, index: NodeIndex) -> NodeSet:
    """Return the nodes that no filter excludes permanently: any replica may use them at some time."""
    return static_reach(pod, index).usable


def reaching_volumes(pod: Pod, state: ClusterState, among: NodeSet) -> NodeSet:
    """Return the nodes that reach the volumes of a pod, as VolumeBinding and VolumeZone decide."""
    for plugin in (volume_binding, volume_zone):
        for rejection in plugin.reject(pod, state, among):
            among &= ~rejection.nodes
    return among


def untolerated_taints(pod: Pod, node: Node) -> tuple[Taint, ...]:
    """Return the taints of the node that exclude the pod; the scheduler's message has the first."""
    return tuple(untolerated(pod.tolerations, node.taints))
