"""The cluster as it runs: its pods in groups of equal replicas, and states of its nodes with all of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec.structs import asdict, replace

from kubesched_lint.commands.limits import MOST_PLACES
from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.base.places import ObjectRef, Path, Source
from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.cluster.pods.alike import Alike, with_more
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.pod import BoundPod, Pod, knows_scheduler
from kubesched_lint.engine.model.resources import made_anew, request_path
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.scenarios import without_transient
from kubesched_lint.engine.scenario.devices.devices import needs_devices
from kubesched_lint.engine.scenario.others.running import all_running_pods
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scenario.settings.user_settings import Premises
from kubesched_lint.engine.scheduler.framework import Diagnosis, diagnose, static_reach
from kubesched_lint.explaining.pending import is_waiting
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.linter.reading.running_set import Running
from kubesched_lint.sources.manifests.document import location_of

_FIELDS = {
    "TaintToleration": "tolerations",
    "NodePorts": "containers",
    "PodTopologySpread": "topologySpreadConstraints",
    "InterPodAffinity": "affinity",
    "VolumeBinding": "volumes",
    "VolumeRestrictions": "volumes",
    "VolumeZone": "volumes",
    "NodeVolumeLimits": "volumes",
    "DynamicResources": "resourceClaims",
    "NodeName": "nodeName",
}
_MIRROR = "Node"
"""Kind of the owner of static pods, which the kubelet itself makes."""


class ReplicaGroup(Alike, frozen=True, kw_only=True, eq=False):
    """Running pods that stay, and the workload that makes them. ``pod`` is that of a copy made now."""

    workload: Workload | None
    ref: ObjectRef
    """The workload, else the controller that the pods name, else the pod itself."""

    @property
    def comes_back(self) -> bool:
        """Whether a controller makes its pods again, on any node."""
        owner = self.bound[0].owner
        return owner is not None and owner.kind not in (_MIRROR, "DaemonSet")


class RunningCluster:
    """One cluster and the workloads that run in it. ``today`` has its cordons and transient taints; ``lasting`` not."""

    def __init__(self, cluster: Cluster, running: ManifestSet, premises: Premises) -> None:
        self.cluster = cluster
        self.running = running
        self.today = Scenario(Inventory(), cluster, premises).without_pools
        self._open: dict[ReplicaGroup, NodeSet] = {}
        self.lasting = self.today.on(without_transient(cluster)) if cluster.transient_states else self.today

    @cached_property
    def groups(self) -> tuple[ReplicaGroup, ...]:
        """The pods that run and stay."""
        groups_by_ref: dict[ObjectRef, list[ReplicaGroup]] = {}
        for group in self._groups():
            mine = groups_by_ref.setdefault(group.ref, [])
            at = next((n for n, c in enumerate(mine[:MOST_PLACES]) if same_values(c.pod, group.pod)), None)
            if at is None:
                mine.append(group)
            else:
                mine[at] = with_more(mine[at], group)
        return tuple(group for groups in groups_by_ref.values() for group in groups)

    def _groups(self) -> Iterator[ReplicaGroup]:
        workloads = {w.key: w for w in self.running.inventory.workloads}
        for alike in all_running_pods(self.today).alike:
            if alike.terminating:
                continue
            live = self.cluster.running.workload_of(alike.bound[0])
            workload = None if live is None else workloads.get(live.key)
            pod = self.today.admission.schedulers.for_next_copy(
                made_anew(alike.pod, live.pod if live else None), workload
            )
            ref = ref_of(alike.bound[0], workload)
            yield ReplicaGroup(**asdict(replace(alike, pod=pod)), workload=workload, ref=ref)

    def follows(self, group: ReplicaGroup) -> bool:
        """Whether the model knows which nodes the pods of a group could use."""
        return not self._unknown(group)

    def _unknown(self, group: ReplicaGroup) -> str:
        if not knows_scheduler(group.pod):
            return f"the scheduler {group.pod.scheduler_name} places them"
        if group.pod.group:
            return "they start in pod groups"
        return "devices that they claim" if needs_devices(group.pod, self.today) else ""

    @property
    def unfollowed(self) -> Iterator[str]:
        """Yield whose pods return and loss leave out, and why."""
        refs_by_reason: dict[str, dict[str, None]] = {}
        for group in self.groups:
            if group.comes_back and (why := self._unknown(group)):
                refs_by_reason.setdefault(why, {})[str(group.ref)] = None
        for why, refs in refs_by_reason.items():
            yield f"whether pods of {first_few(list(refs))} would find another node: {why}"

    @property
    def assumed(self) -> str:
        """What proofs about pods that have to come back assume."""
        growing = ", no autoscaler adds a node" if self.today.is_elastic else ""
        return f"all other pods stay{growing}, and cordons and other passing states of nodes are over"

    @cached_property
    def state(self) -> ClusterState:
        """All running pods on the nodes without transient states. Undo what you change."""
        return all_running_pods(self.lasting).state

    def open_to(self, group: ReplicaGroup) -> NodeSet:
        """Return the nodes that take one more pod of a group, whatever its spread constraints."""
        if group not in self._open:
            pod = replace(group.pod, spread=()) if group.pod.spread else group.pod
            self._open[group] = diagnose(pod, self.state).feasible
        return self._open[group]

    @cached_property
    def state_today(self) -> ClusterState:
        """All running pods on the nodes as they are. Undo what you change."""
        return self.state if self.lasting is self.today else all_running_pods(self.today).state

    def without(self, names: frozenset[str]) -> Scenario:
        """Return the scenario after nodes and their pods are gone, without transient states."""
        assert self.lasting.cluster is not None
        live = self.lasting.cluster.inventory
        nodes = tuple(node for node in live.nodes if node.name not in names)
        pods = tuple(bound for bound in live.pods if bound.node and bound.node not in names)
        return self.lasting.on(replace(self.lasting.cluster, inventory=replace(live, nodes=nodes, pods=pods)))

    @cached_property
    def waiting(self) -> tuple[BoundPod, ...]:
        """The pods that kube-scheduler tries today."""
        return tuple(filter(is_waiting, self.cluster.unbound))


def ref_of(bound: BoundPod, workload: Workload | None) -> ObjectRef:
    """Return the object to name for a pod: its workload, else its controller, else itself."""
    if workload is not None:
        return workload.ref
    kind, name = ("Pod", bound.name) if bound.owner is None else (bound.owner.kind, bound.owner.name)
    return ObjectRef(kind, bound.namespace, name)


def pods_of(ref: ObjectRef, count: int) -> str:
    """Return ``3 pods of Deployment shop/web``, or the pod itself."""
    return str(ref) if ref.kind == "Pod" else f"{many(count, 'pod')} of {ref}"


def decisive(pod: Pod, diagnosis: Diagnosis, state: ClusterState) -> str:
    """Return the plugin that keeps a pod from most of the nodes that it could use if they were empty.

    If there are none, the first condition that no node meets.
    """
    if diagnosis.refusal is not None:
        return diagnosis.refusal.plugin
    reach = static_reach(pod, state.index)
    among = reach.usable or reach.tolerated or reach.matching or state.index.all
    counts: dict[str, int] = {}
    for rejection in diagnosis.rejections:
        counts[rejection.plugin] = counts.get(rejection.plugin, 0) + (rejection.nodes & among).bit_count()
    return max(counts, key=lambda plugin: counts[plugin], default="NodeAffinity")


def place(pod: Pod, workload: Workload | None, plugin: str, ref: ObjectRef) -> str:
    """Return the field that a plugin reads, in the workload or else in the pod."""
    source = workload.source if workload is not None else None
    return place_in(source or Running(ref), _path(pod if workload is None else workload.pod, workload, plugin))


def place_in(source: Source, path: Path) -> str:
    """Return a place in words, or the line of a file."""
    location = location_of(source, path)
    return f"{location.path}:{location.span.line}" if location.span.line else location.path


def _path(pod: Pod, workload: Workload | None, plugin: str) -> Path:
    if plugin == "NodeAffinity":
        return (*pod.path, "nodeSelector" if pod.node_selector else "affinity")
    if plugin == "NodeResourcesFit" and workload is not None:
        return request_path(workload, max(pod.requests, key=lambda r: (r == "cpu", pod.requests[r]), default="cpu"))
    field = _FIELDS.get(plugin)
    return (*pod.path, field) if field else pod.path
