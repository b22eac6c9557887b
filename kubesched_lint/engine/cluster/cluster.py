"""The known part of a cluster: its objects, the age of the data, and what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.engine.admission.admission import Admission
from kubesched_lint.engine.base.partly_compared import PartlyCompared
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.releases import judged_by
from kubesched_lint.engine.base.text import first_few, joined, many, one_line, plural
from kubesched_lint.engine.cluster.nodes.skew import newer_kubelets, newest_kubelet, old_kubelets
from kubesched_lint.engine.cluster.nodes.transient import (
    TransientSize,
    TransientState,
    transient_state_of,
    without_transient_state,
)
from kubesched_lint.engine.cluster.pods.alike import alike
from kubesched_lint.engine.cluster.pods.mutations import Mutations
from kubesched_lint.engine.cluster.pods.running import Running
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import CLUSTER_AUTOSCALER, ZONE
from kubesched_lint.engine.model.resources import settled

if TYPE_CHECKING:
    from kubesched_lint.engine.base.places import Source
    from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
    from kubesched_lint.engine.cluster.pods.alike import Alike
    from kubesched_lint.engine.model.nodes.node import NodePool
    from kubesched_lint.engine.model.pod import BoundPod
    from kubesched_lint.engine.model.workloads.workload import Workload

LIVE = "live"
"""The prefix for a live cluster; a file of that name is ``./live``."""
NO_MORE_NODES = "no autoscaler adds a node"
"""How the assumption about the nodes of an elastic cluster begins."""
MAY_ADD_NODES = "an autoscaler may add nodes"
"""How the note begins that says the same of a whole report."""
STATES_LAST = "the transient states of today last"
"""How the assumption of a verdict on the cluster with its transient states begins."""
# Kinds whose absence changes a verdict, in the order of the footer.
_WANTED = (
    "Node",
    "Pod",
    "Namespace",
    "ReplicaSet",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "CSINode",
    "PriorityClass",
    "RuntimeClass",
    "LimitRange",
    "ResourceQuota",
    "Service",
    "HorizontalPodAutoscaler",
    "PodDisruptionBudget",
)


class Live(Struct, frozen=True):
    """What to ask a live cluster for, besides what a snapshot holds."""

    wholly: frozenset[ObjectRef] = frozenset()
    """Workloads whose whole template, and who scales them, is asked for."""
    read_seconds: float = 60.0
    """How long one answer may take."""
    list_seconds: float = 600.0
    """How long a list with all its pages may take; all lists together have three times that."""


class ClusterError(Exception):
    """A cluster cannot be read: one message with its position (line and column count from 1; 0: none)."""

    def __init__(self, path: str, line: int, column: int, message: str) -> None:
        message = one_line(message)
        place = f"{path}:{line}:{column}" if line else path
        super().__init__(f"{place}: {message}")
        self.path = path
        self.line = line
        self.column = column
        self.message = message


class Cluster(PartlyCompared, frozen=True, dict=True):
    """The contents of a snapshot, kubectl's output or a sketch.

    ``kinds`` are the kinds that it holds; any other kind is unknown, not absent. ``captured_at`` is RFC 3339, empty if
    unknown; for kubectl's output it is the newest time in it, so the capture is no older than that.
    """

    uncompared: ClassVar[tuple[str, ...]] = ("source",)

    inventory: Inventory = field(default_factory=Inventory)
    path: str = ""
    origin: str = "kubectl"
    """``snapshot`` (our own file), ``kubectl`` or ``sketch``."""
    kinds: frozenset[str] = frozenset()
    captured_at: str = ""
    version: str = ""
    """Kubernetes version, such as ``v1.36.2``, if known."""
    gaps: tuple[str, ...] = ()
    """What could not be captured, as sentences: ``pods: forbidden (403)``."""
    elastic_because: str = ""
    """The evidence that an autoscaler creates and removes nodes: a label, a field of the sketch, or --elastic."""
    is_elastic_by_option: bool = False
    """The user says that nodes come and go: then no list of node groups counts."""
    unread_kinds: Mapping[str, int] = field(default_factory=dict)
    pools_written: bool = False
    """There are no pools besides those of the inventory and those that nodes show: a user listed them."""
    node_groups: str = ""
    """``complete``: every node group is known, also those without a node now; ``open``: not so; empty: undecided."""
    other_labels: frozenset[str] = frozenset()
    """Labels of nodes whose values a sketch leaves out: keys, and ``domain/*`` for all keys of a domain."""
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    """What a sketch states, or the API server of a snapshot showed."""
    stale: str = ""
    """How old the running pods are, if they may have changed by now: ``captured 2026-11-20T08:00:00Z``; else empty."""
    grown: bool = False
    """The groups that only nodes show are among the pools, and there are no others: see ``scenarios.with_groups``."""
    group_sizes: Mapping[str, int] = field(default_factory=dict)
    """Each node group in the status of cluster-autoscaler → its registered nodes; empty without a status."""
    has_unshown: bool = False
    """The status counts nodes whose group no label shows."""
    whole_templates: frozenset[ObjectRef] = frozenset()
    """The workloads of a snapshot whose template is there with all its fields, not only with what scheduling reads."""
    scaled_by: Mapping[ObjectRef, str] = field(default_factory=dict)
    """Workload → who sets its replicas beside its manifest, such as ``kubectl``, as far as somebody asked."""
    expects_mutations: bool = True
    """Whether pods of a workload of which nothing runs get what webhooks add to all others of its namespace."""
    source: Source | None = None
    """Resolves ``Node.path`` for a sketch."""

    def has(self, kind: str) -> bool:
        """Return whether all objects of the kind are known; there may be none."""
        return kind in self.kinds

    def leaves_out(self, key: str) -> bool:
        """Return whether a sketch says that nodes have the label, with values that it does not state."""
        if self.other_labels.isdisjoint((key, f"{key.rpartition('/')[0]}/*")):
            return False
        return not any(key in node.labels for node in self.inventory.nodes)

    @property
    def knows_nodes(self) -> bool:
        """Whether the nodes were captured (there may be none); False if a snapshot could not list them."""
        return self.has("Node") or (self.origin != "snapshot" and bool(self.inventory.node_pools))

    @cached_property
    def _elsewhere(self) -> tuple[BoundPod, ...]:
        """The pods on none of the nodes."""
        names = {node.name for node in self.inventory.nodes if node.name}
        return tuple(pod for pod in self.inventory.pods if pod.node not in names)

    @cached_property
    def stranded(self) -> tuple[BoundPod, ...]:
        """Running pods on nodes that the cluster does not hold."""
        return tuple(pod for pod in self._elsewhere if pod.node) if self.knows_nodes else ()

    @cached_property
    def alike(self) -> tuple[Alike, ...]:
        """The pods on the nodes, in groups of equal ones: many scenarios may ask for them."""
        nodes = self.inventory.nodes
        return alike(self.inventory.pods, {node.name: position for position, node in enumerate(nodes)})

    @cached_property
    def unbound(self) -> tuple[BoundPod, ...]:
        """The pods without a node."""
        return tuple(pod for pod in self._elsewhere if not pod.node)

    def with_whole(self, templates: Mapping[ObjectRef, object], scaled_by: Mapping[ObjectRef, str]) -> Cluster:
        """Return the cluster with the templates of some of its workloads as the API server stores them, and scalers."""
        if not templates:
            return self
        ours = (replace(w, template=templates.get(w.ref, w.template)) for w in self.inventory.workloads)
        inventory = replace(self.inventory, workloads=tuple(ours))
        return replace(self, inventory=inventory, whole_templates=frozenset(templates), scaled_by=scaled_by)

    def trims(self, workload: Workload) -> bool:
        """Return whether the template of a workload is there only as far as scheduling reads it."""
        return self.origin == "snapshot" and workload.ref not in self.whole_templates

    # -- node groups -------------------------------------------------------------------------------------------------

    def as_stated(self, cluster_options: ClusterOptions) -> Cluster:
        """Return the cluster with the node groups that the user declares, his word on whether they are all, and age."""
        stale = self._age_of_pods(cluster_options.fresh_since)
        return replace(self, stale=stale)._with_groups(cluster_options) if stale else self._with_groups(cluster_options)

    def _age_of_pods(self, since: str) -> str:
        """Return how old the running pods are, if older than ``since``; empty if they are not, or if none runs."""
        if not since or not self.inventory.pods:
            return ""
        if not self.captured_at:
            return "of unknown age"
        try:
            then, limit = map(datetime.fromisoformat, (self.captured_at, since))
        except ValueError:
            return "of unknown age"
        then = then if then.tzinfo else then.replace(tzinfo=UTC)
        return "" if then >= limit else f"captured {self.captured_at}"

    def _with_groups(self, cluster_options: ClusterOptions) -> Cluster:
        stated = cluster_options.node_groups or self.node_groups
        if stated == self.node_groups and not cluster_options.declared:
            return self
        zones = tuple(sorted({node.labels[ZONE] for node in self.inventory.nodes if ZONE in node.labels})) or None
        declared = () if cluster_options.elastic is False else cluster_options.declared
        taken = {pool.name for pool in self.inventory.node_pools if pool.maker != CLUSTER_AUTOSCALER}
        declared = tuple(
            replace(
                pool, zones=pool.zones or zones, name=f"{pool.name} (declared)" if pool.name in taken else pool.name
            )
            for pool in declared
        )
        return replace(self.with_pools(declared), node_groups=stated)

    def with_pools(self, pools: Iterable[NodePool]) -> Cluster:
        """Return the cluster with further pools; a pool replaces one of the same name."""
        by_name = {pool.name: pool for pool in (*self.inventory.node_pools, *pools)}
        return replace(self, inventory=replace(self.inventory, node_pools=tuple(by_name.values())))

    @cached_property
    def resources_left_out(self) -> frozenset[str]:
        """Resources that a sketch need not write, and that this one does not: they exclude no node."""
        if self.origin != "sketch":
            return frozenset()
        listed = {name for node in self.inventory.nodes for name in node.allocatable or ()}
        return frozenset({"ephemeral-storage"}) - listed

    @property
    def resources_known(self) -> bool:
        """Whether the allocatable resources of every node are known."""
        return all(node.allocatable is not None for node in self.inventory.nodes)

    @cached_property
    def transient_states(self) -> tuple[TransientState | TransientSize, ...]:
        """States of nodes and pods that end by themselves."""
        return (*self.states_of_nodes, *self.sizes_of_pods)

    @cached_property
    def states_of_nodes(self) -> tuple[TransientState, ...]:
        """Nodes that are cordoned or have a taint that disappears by itself."""
        return tuple(filter(None, map(transient_state_of, self.inventory.nodes)))

    @cached_property
    def sizes_of_pods(self) -> tuple[TransientSize, ...]:
        """Pods that are resized in place and hold more than they will."""
        pods = self.inventory.pods
        kinds = {pod for pod in {bound.pod for bound in pods} if settled(pod) is not pod}
        return tuple(TransientSize(f"{b.namespace}/{b.name}") for b in pods if b.pod in kinds) if kinds else ()

    def without_transient(self) -> Cluster:
        """Return the cluster after all transient states have ended; itself if there are none."""
        if not self.transient_states:
            return self
        nodes, pods = tuple(map(without_transient_state, self.inventory.nodes)), self.inventory.pods
        if self.sizes_of_pods:
            kinds = {pod: settled(pod) for pod in {bound.pod for bound in pods}}
            pods = tuple(b if (pod := kinds[b.pod]) is b.pod else replace(b, pod=pod) for b in pods)
        return replace(self, inventory=replace(self.inventory, nodes=nodes, pods=pods))

    @property
    def transient_premise(self) -> str:
        """The assumption of a verdict on the cluster with its transient states."""
        return f"{STATES_LAST}: {_listed(map(str, self.transient_states))}"

    @property
    def elastic_premise(self) -> str:
        """The assumption of a proof about the nodes of an elastic cluster."""
        return f"{NO_MORE_NODES} ({self.elastic_because}; --fixed if none does)"

    @cached_property
    def running(self) -> Running:
        """The owners of the running pods."""
        return Running(self.inventory)

    @cached_property
    def mutations(self) -> Mutations:
        """What webhooks add to the pods of its workloads."""
        version, is_snapshot = judged_by("", self.server_version), self.origin == "snapshot"
        admission = Admission(self.inventory, version, self.kinds, is_snapshot=is_snapshot)
        return Mutations(self.inventory, self.running, admission, is_expecting=self.expects_mutations)

    @cached_property
    def has_messages(self) -> bool:
        """Whether kube-scheduler says of some pod why it waits."""
        return any(bound.unscheduled is not None for bound in self.unbound)

    @cached_property
    def skew(self) -> str:
        """One sentence on kubelets newer than the API server, which suggest a stale file; empty if there are none."""
        return newer_kubelets(self.version, self.inventory.nodes)

    @cached_property
    def server_version(self) -> str:
        """Version of the API server; if the file names none, the minor of its newest kubelet; empty if unknown."""
        return self.version or newest_kubelet(self.inventory.nodes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines for the footer: what is not known, and transient states."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        if not self.knows_nodes:
            yield "the snapshot holds no nodes (they were not captured): nothing is reported about where pods run"
        if self.version:
            yield from filter(None, [self.skew, old_kubelets(self.version, self.inventory.nodes)])
        if self.stranded:
            few = (f"{pod.namespace}/{pod.name} on {pod.node}" for pod in self.stranded)
            count = len(self.stranded)
            are = f"{many(count, 'running pod')} {plural(count, 'is', 'are')}"
            yield f"{are} on nodes that the cluster does not hold, and are not counted: {_listed(few)}"
        if self.states_of_nodes:
            count = len(self.states_of_nodes)
            yield (
                f"{count} of {len(self.inventory.nodes)} nodes {plural(count, 'is', 'are')} in a transient state "
                f"({_listed(map(str, self.states_of_nodes))}): errors do not rest on it"
            )
        if self.sizes_of_pods:
            are = f"{many(len(self.sizes_of_pods), 'pod')} {plural(len(self.sizes_of_pods), 'is', 'are')}"
            yield (
                f"{are} resized in place and will hold less ({_listed(each.pod for each in self.sizes_of_pods)}): "
                "errors do not rest on it"
            )

    def describe(self, now: Callable[[], datetime]) -> str:
        """Return one sentence for the footer: the source, its age, and what is missing.

        ``now`` returns a timezone-aware time; it is not called if the age is unknown.
        """
        return self.description.at(now)

    @property
    def description(self) -> Description:
        """The same, with the age still open."""
        parts = [f"{many(len(self.inventory.nodes), 'node')}"]
        if self.has("Pod"):
            parts.append(many(len(self.inventory.pods), "pod"))
        if self.inventory.node_pools:
            parts.append(many(len(self.inventory.node_pools), "pool"))
        what = f"{joined(parts)} from {self.path or 'a cluster'}"
        if self.origin == "sketch":
            what += " (a sketch)"
        files = dict.fromkeys(
            profile.source.path if profile.source else self.path for profile in self.inventory.schedulers
        )
        if files:
            what += f", scheduled as {' and '.join(files)} configures"
        lacks = ""
        held = [kind for kind in _WANTED if self.has(kind)]
        if len(held) <= len(_WANTED) // 2:
            lacks += f"; holds only {', '.join(held) or 'what no rule reads'}"
        elif len(held) < len(_WANTED):
            lacks += f"; holds no {', '.join(kind for kind in _WANTED if kind not in held)}"
        if self.gaps:
            lacks += f"; gaps: {'; '.join(self.gaps)}"
        return Description(what, lacks, self.captured_at, self.origin == "snapshot")


class Description(Struct, frozen=True):
    """What a snapshot holds and lacks.

    ``captured_at`` is the exact time, or with ``exact`` false the time of the newest entry; empty if unknown.
    """

    what: str
    lacks: str
    captured_at: str
    exact: bool

    def at(self, now: Callable[[], datetime]) -> str:
        age = f", {_age(self.captured_at, now(), exact=self.exact)}" if self.captured_at else ""
        return f"{self.what}{age}{self.lacks}"


def _listed(texts: Iterator[str]) -> str:
    """Return the first few texts, and how many more there are."""
    return first_few(list(texts), "; ")


def _age(captured_at: str, now: datetime, *, exact: bool) -> str:
    try:
        then = datetime.fromisoformat(captured_at)
    except ValueError:
        return f"captured at {captured_at}"
    seconds = int((now - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds())
    if seconds < -300:
        return f"captured at {captured_at}, which is in the future"
    for name, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * size:
            return f"{'captured' if exact else 'newest entry'} {seconds // size} {name}s ago"
    return "captured just now" if exact else "newest entry just now"
