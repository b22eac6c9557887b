"""What is true of a manifest set on a cluster: every question a check may ask, computed once.

Facts judge nothing. Whatever concerns the fit of a pod on a node is asked of ``scheduler``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kubesched_lint import work
from kubesched_lint.analysis.namespaces import Namespaces
from kubesched_lint.analysis.nearest import Miss, nearest_key, nearest_name, node_miss
from kubesched_lint.analysis.order import apply_order
from kubesched_lint.analysis.pod_labels import (
    REVISION_LABELS,
    controller_labels,
    labels_of_ordinal,
    read_labels,
    standing_for_all,
)
from kubesched_lint.analysis.reachability import Blocked, Circles, blocked_workloads
from kubesched_lint.analysis.selection import Selection
from kubesched_lint.cluster.nodeset import first, only, positions
from kubesched_lint.model.decode.objects import kinds_in
from kubesched_lint.record import record, replace

if TYPE_CHECKING:
    from kubesched_lint.admission.admission import Admission
    from kubesched_lint.analysis.joint import Demand, Impossible
    from kubesched_lint.analysis.others import Others, Staying
    from kubesched_lint.analysis.plan import Plan
    from kubesched_lint.analysis.potential import Potential
    from kubesched_lint.analysis.spread import SpreadRoom
    from kubesched_lint.analysis.trial import Tried
    from kubesched_lint.cluster.cluster import Cluster
    from kubesched_lint.cluster.index import NodeIndex
    from kubesched_lint.cluster.nodeset import NodeSet
    from kubesched_lint.cluster.state import ClusterState
    from kubesched_lint.cluster.storage import Storage
    from kubesched_lint.findings import ObjectRef, Path
    from kubesched_lint.lifecycle.setting import Setting
    from kubesched_lint.manifests.document import Document
    from kubesched_lint.model.inventory import Inventory
    from kubesched_lint.model.node import Node, Taint
    from kubesched_lint.model.nodepool import NodePool
    from kubesched_lint.model.pod import BoundPod, Pod, PodAffinityTerm, SpreadConstraint
    from kubesched_lint.model.policy import Autoscaler, PriorityClass
    from kubesched_lint.model.workload import Workload
    from kubesched_lint.scheduler.capacity import Shortage
    from kubesched_lint.validation.refusals import Refusals


_EVERYWHERE = ("kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch")


@record
class Premises:
    """What the user told us beside manifests and snapshot."""

    apply_order: str = "kubectl"
    kubernetes_version: str = "1.36"
    set_is_complete: bool = True
    """False when documents were met that make pods we cannot see: Helm sources, patches, custom resources."""


@record
class Room:
    """Where the replicas of a workload can stand when each needs a topology domain to itself."""

    topology_key: str
    domains: tuple[str, ...]
    """Values of the key on the nodes the pod can use."""
    usable: int
    """How many nodes the pod can use."""
    unlabelled: tuple[str, ...]
    """Usable nodes without the key: each takes any number of replicas."""

    @property
    def is_bounded(self) -> bool:
        return self.usable > 0 and not self.unlabelled


@record
class Reach:
    """How far the nodes let a pod in, each set inside the one before; NodeSets of ``facts.index``."""

    matching: NodeSet
    """nodeName, nodeSelector and required node affinity agree."""
    tolerated: NodeSet
    """… and the pod tolerates the taints."""
    usable: NodeSet
    """… and the node is not cordoned and its bare allocatable holds the pod: what any replica may ever use."""


class Facts:
    """``cluster`` None: only what manifests say. Needs of a rule are checked before its check runs."""

    def __init__(self, manifests: Inventory, cluster: Cluster | None = None, premises: Premises | None = None) -> None:
        self.manifests = manifests
        self.cluster = cluster
        self.premises = premises or Premises()
        self._pods: dict[int, Pod] = {}
        self._reach: dict[int, Reach] = {}
        self._staying_against: dict[int, Others] = {}
        self._in_domains: dict[tuple[NodeSet, str], tuple[NodeSet, tuple[str, ...]]] = {}
        self._copies: dict[tuple[object, int, NodeSet], tuple[int, int]] = {}
        self.spread_rooms: dict[tuple[int, int, int | None], tuple[Workload, SpreadConstraint, SpreadRoom | None]] = {}
        """What ``analysis.spread`` has found."""
        self.refused: Mapping[int, Refusals] | None = None
        """What the API server refuses, by the ``id`` of the document, where all have been judged already."""

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Of which the set or the cluster holds an object."""
        ours = kinds_in(self.manifests)
        return ours if self.cluster is None else ours | kinds_in(self.cluster.inventory)

    def refusals(self, document: Document) -> Refusals:
        """What the API server of this version says against a document."""
        if self.refused is not None:
            return self.refused.get(id(document), ())
        from kubesched_lint.validation.refusals import refusals

        return tuple(refusals(document.value, self.premises.kubernetes_version))

    @cached_property
    def objects(self) -> Inventory:
        """The manifests laid over the cluster: of two objects that are one, the manifest's."""
        return self.manifests if self.cluster is None else self.manifests.over(self.cluster.inventory)

    @cached_property
    def admission(self) -> Admission:
        """Which pods the API server creates, and how it stores them."""
        from kubesched_lint.admission.admission import Admission

        known = frozenset() if self.cluster is None else self.cluster.kinds
        is_snapshot = self.cluster is not None and self.cluster.origin == "snapshot"
        return Admission(self.objects, known, self.premises.kubernetes_version, is_snapshot=is_snapshot)

    def is_created(self, workload: Workload) -> bool:
        """Whether the API server creates its pods, as far as we know; quotas count them and are asked elsewhere."""
        return self.admission.decision(workload).refusal is None

    # -- workloads and their pods ------------------------------------------------------------------------------------

    def pod(self, workload: Workload) -> Pod:
        """The pod as the API server would store it: defaults, admission, and the labels that its controller adds."""
        found = self._pods.get(id(workload))
        if found is None:
            found = self._admitted(workload, controller_labels(workload))
            if self.varying_labels:
                found = standing_for_all(found, workload, self.replicas(workload), self.varying_labels)
            self._pods[id(workload)] = found
        return found

    def pod_of_ordinal(self, workload: Workload, ordinal: int) -> Pod:
        """The pod of one replica: of a StatefulSet with the labels that only this one has; counted from 0."""
        own = labels_of_ordinal(workload, ordinal)
        return self._admitted(workload, {**controller_labels(workload), **own}) if own else self.pod(workload)

    def _admitted(self, workload: Workload, extra_labels: Mapping[str, str]) -> Pod:
        return self._without_devices(self.admission.stored(workload.pod, extra_labels, workload.source))

    @cached_property
    def varying_labels(self) -> frozenset[str]:
        """Labels that differ between pods of one workload, and that a selector of the set or of a running pod reads."""
        running = () if self.cluster is None else {id(b.pod): b.pod for b in self.cluster.inventory.pods}.values()
        # A stored pod has the revision that its matchLabelKeys chose in its selectors: nobody typed it.
        stored = read_labels(running) - REVISION_LABELS if running else frozenset()
        return read_labels(w.pod for w in self.manifests.workloads) | stored

    @cached_property
    def _barring_no_node(self) -> frozenset[str]:
        """Extended resources that DRA may allocate, and what every kubelet reports and a sketch need not write."""
        if self.cluster is None or self.cluster.origin != "sketch":
            return self.device_resources
        told = {name for node in self.cluster.inventory.nodes for name in node.allocatable or ()}
        return self.device_resources | (frozenset({"ephemeral-storage"}) - told)

    def _without_devices(self, pod: Pod) -> Pod:
        if self._barring_no_node.isdisjoint(pod.requests):
            return pod
        kept = {name: n for name, n in pod.requests.items() if name not in self._barring_no_node}
        return replace(pod, requests=kept)

    @cached_property
    def device_resources(self) -> frozenset[str]:
        """Extended resources that a DeviceClass of the set or of the cluster offers."""
        from kubesched_lint.model.resources import device_class_resources

        live = () if self.cluster is None else self.cluster.inventory.device_classes
        return device_class_resources((*live, *self.manifests.device_classes))

    def replicas(self, workload: Workload) -> int:
        """How many pods it starts with: as written, else as it runs, within the bounds of its autoscaler."""
        if workload.replicas_written and not self._autoscalers:
            return workload.replicas
        from kubesched_lint.cluster.revisions import starting_replicas

        return starting_replicas(workload, self.cluster, self.autoscaler(workload))

    def autoscaler(self, workload: Workload) -> Autoscaler | None:
        return self._autoscalers.get((workload.kind, workload.namespace, workload.name))

    def running_pods(self, workload: Workload) -> tuple[BoundPod, ...]:
        """Pods of its previous revision in the snapshot: they are replaced, never added to."""
        if self.cluster is None:
            return ()
        from kubesched_lint.cluster.revisions import running_pods_of

        return running_pods_of(workload, self.cluster)

    @cached_property
    def other_pods(self) -> tuple[BoundPod, ...]:
        """Running pods that no workload of the set owns."""
        if self.cluster is None:
            return ()
        ours = {id(p) for w in self.manifests.workloads for p in self.running_pods(w)}
        return tuple(p for p in self.cluster.inventory.pods if id(p) not in ours)

    @cached_property
    def others(self) -> Others:
        """``other_pods``, and what stands where they do."""
        from kubesched_lint.analysis.others import Others

        return Others(self, self.other_pods)

    @cached_property
    def lasting(self) -> Others:
        """Those of ``others`` that do not terminate, or are held by a finalizer: beside them a deployment ends."""
        from kubesched_lint.analysis.others import Others

        stay = tuple(bound for bound in self.other_pods if bound.held or not bound.terminating)
        return self.others if len(stay) == len(self.other_pods) else Others(self, stay)

    @cached_property
    def running(self) -> Others:
        """All running pods, those of the set included."""
        from kubesched_lint.analysis.others import Others

        pods = () if self.cluster is None else self.cluster.inventory.pods
        return self.others if len(pods) == len(self.other_pods) else Others(self, tuple(pods))

    def staying(self, workload: Workload) -> Others:
        """Running pods of others that stay against its pods in every order: neither does it preempt them, nor do they
        terminate already.
        """
        found = self._staying_against.get(id(workload))
        if found is None:
            found = self._staying_against[id(workload)] = self._staying.against((workload,))
        return found

    @cached_property
    def drawing(self) -> Mapping[int, tuple[Workload, ...]]:
        """Per ``id`` of a quota the workloads that draw on it; ask ``quota_demand.drawing``."""
        from kubesched_lint.analysis.quota_demand import drawers

        return drawers(self)

    @property
    def staying_beside_set(self) -> Others:
        """Running pods of others that no workload of the set preempts: an error holds against these alone."""
        return self._staying.beside_set

    def may_be_preempted(self, workload: Workload) -> bool:
        """Whether another workload of the set may evict its pods once they run: then what they met may hold no more."""
        from kubesched_lint.analysis.others import may_preempt

        return may_preempt(self._staying.highest, self.pod(workload))

    def preempts(self, workload: Workload, other: Workload) -> bool:
        """Whether pods of the workload may evict pods of another one of the set."""
        from kubesched_lint.analysis.others import may_preempt, preempting_priority

        return may_preempt(preempting_priority(self.pod(workload)), self.pod(other))

    @cached_property
    def _staying(self) -> Staying:
        from kubesched_lint.analysis.others import Staying

        return Staying(self)

    # -- premises ----------------------------------------------------------------------------------------------------

    def running_premises(self, workload: Workload) -> tuple[str, ...]:
        """On what a proof about free room stands."""
        premises = self.node_premises(workload)
        stay = self.staying(workload).pods
        if not stay:
            return premises
        if any(bound.held for bound in stay):
            premises = (*premises, "nobody takes the finalizers away that hold terminating pods")
        if len(stay) == len(self.other_pods):
            return (*premises, "the running pods of others stay where they are")
        return (*premises, "the running pods of others stay that it cannot preempt and that do not terminate")

    def node_premises(self, workload: Workload) -> tuple[str, ...]:
        """On what a proof about the nodes of a workload stands."""
        return (self.node_premise,)

    @cached_property
    def node_premise(self) -> str:
        """What every proof that counts nodes assumes of them."""
        if self.pools:
            names = ", ".join(pool.name for pool in self.pools)
            room = " (their DaemonSets deducted)" if any(o.daemons for o in self.potential.offers) else ""
            return f"the nodes of the snapshot stay, and others come only from the pools {names}{room}"
        return "the nodes stay as in the snapshot"

    @property
    def proves_absence(self) -> bool:
        """Whether we may say that no pod matches: all running pods and all manifests were seen."""
        return self.knows_running_pods and self.premises.set_is_complete

    @property
    def set_premises(self) -> tuple[str, ...]:
        return ("no other pods are made than those of the manifests and the snapshot",)

    def cluster_has(self, kind: str) -> bool:
        """Whether the snapshot tells all objects of a kind, though there may be none."""
        return self.cluster is not None and self.cluster.has(kind)

    @property
    def knows_running_pods(self) -> bool:
        return self.cluster_has("Pod")

    # -- nodes -------------------------------------------------------------------------------------------------------

    @cached_property
    def index(self) -> NodeIndex:
        """The nodes that exist, then those that pools could add."""
        from kubesched_lint.cluster.index import NodeIndex

        assert self.cluster is not None, "a rule that reads nodes runs only with a cluster"
        nodes = self.cluster.inventory.nodes
        return NodeIndex((*nodes, *self.potential.nodes) if self.pools else nodes)

    @cached_property
    def today(self) -> NodeSet:
        """The nodes of ``index`` that exist."""
        return first(0 if self.cluster is None else len(self.cluster.inventory.nodes))

    @cached_property
    def distinct(self) -> NodeSet:
        """The nodes that exist, and one of each kind that pools could add."""
        found = self.today
        for position in self.potential.first if self.pools else ():
            found |= only(self.today.bit_count() + position)
        return found

    @cached_property
    def pools(self) -> tuple[NodePool, ...]:
        """The pools of the cluster and of the manifests; of two with one name the manifest's."""
        live = () if self.cluster is None else self.cluster.inventory.node_pools
        return tuple({pool.name: pool for pool in (*live, *self.manifests.node_pools)}.values())

    @cached_property
    def potential(self) -> Potential:
        """What pools could add. Where there are none, not even the module is imported by those who ask first."""
        from kubesched_lint.analysis.potential import potential_of

        return potential_of(self)

    @cached_property
    def growth(self) -> Plan:
        """What the pools would add for this set; empty without pools."""
        from kubesched_lint.analysis.growth import growth_plan

        return growth_plan(self)

    @cached_property
    def without_pools(self) -> Facts:
        """The same on the nodes of today alone; itself without pools."""
        if not self.pools or self.cluster is None:
            return self
        objects = replace(self.cluster.inventory, node_pools=())
        cluster = replace(self.cluster, inventory=objects)
        return Facts(replace(self.manifests, node_pools=()), cluster, self.premises)

    @property
    def is_elastic(self) -> bool:
        """Whether nodes may come that neither the cluster nor its pools tell of: then nothing about nodes is proven."""
        if self.cluster is None:
            return False
        beside = self.cluster.is_elastic_beside(self.manifests.node_pools)
        return beside or (bool(self.pools) and not self.potential.complete)

    @property
    def elastic_premise(self) -> str:
        """What a proof about nodes assumes where they are elastic."""
        assert self.cluster is not None
        return self.cluster.elastic_premise

    def reach(self, workload: Workload) -> Reach:
        found = self._reach.get(id(workload))
        if found is None:
            from kubesched_lint.scheduler.framework import static_reach

            matching, tolerated, usable = static_reach(self.pod(workload), self.index)
            if workload.kind == "DaemonSet":
                usable &= self.today  # on nodes to come its room is deducted
            found = Reach(matching, tolerated, usable)
            self._reach[id(workload)] = found
        return found

    def usable(self, workload: Workload) -> NodeSet:
        """Nodes that a pod of the workload may ever use, whatever other pods do."""
        return self.reach(workload).usable

    def room(
        self, workload: Workload, topology_key: str, term: PodAffinityTerm | None = None, beside: Others | None = None
    ) -> Room:
        """The topology domains of a key among the usable nodes, without those held against ``term``.

        They are held by the running pods of others that stay, unless other ones are given.
        """
        usable = self.usable(workload)
        lacking, domains = self._domains(usable, topology_key)
        others = beside or self.staying(workload)
        if term is not None and others.pods:
            from kubesched_lint.analysis.neighbours import held_domains

            held = held_domains(self, workload, term, others)
            domains = tuple(d for d in domains if d not in held)
        return Room(topology_key, domains, usable.bit_count(), self.names(lacking))

    def _domains(self, usable: NodeSet, topology_key: str) -> tuple[NodeSet, tuple[str, ...]]:
        """Of nodes, those without a key, and the values that the others have."""
        found = self._in_domains.get((usable, topology_key))
        if found is None:
            every = self.index.domains(topology_key)
            work.spend(len(every) // 8)
            domains = tuple(v for v, nodes in every.items() if nodes & usable)
            found = self._in_domains[usable, topology_key] = usable & ~self.index.with_key(topology_key), domains
        return found

    def names(self, nodes: NodeSet) -> tuple[str, ...]:
        return tuple(self.index.names_of(nodes))

    @cached_property
    def setting(self) -> Setting:
        """What a simulation of events starts from."""
        from kubesched_lint.analysis.setting import setting_of

        return setting_of(self)

    @property
    def _nodes(self) -> Sequence[Node]:
        return () if self.cluster is None else self.index.nodes if self.pools else self.cluster.inventory.nodes

    def node_miss(self, workload: Workload) -> Miss:
        """Why no node has the labels asked for, and what comes nearest."""
        return node_miss(self.pod(workload), self._nodes)

    def nearest_key(self, key: str) -> str:
        """A label key of the nodes that reads like ``key``; empty without one."""
        return nearest_key(key, self._nodes)

    def nearest_node(self, name: str) -> str:
        """A node whose name reads like ``name``; empty without one."""
        return nearest_name(name, (node.name for node in self._nodes))

    def taints_in_the_way(self, workload: Workload, nodes: NodeSet) -> Mapping[Taint, int]:
        """The taint that turns the pod away, with the number of ``nodes`` where it does, most frequent first."""
        from kubesched_lint.scheduler.framework import untolerated_taint

        counts: dict[Taint, int] = {}
        for node in self.index.nodes_of(nodes):
            taint = untolerated_taint(self.pod(workload), node)
            if taint is not None:
                counts[taint] = counts.get(taint, 0) + 1
        return dict(sorted(counts.items(), key=lambda item: -item[1]))

    def shortage(self, workload: Workload, nodes: NodeSet) -> Shortage | None:
        """The resource of which none of ``nodes`` offers enough for one pod."""
        from kubesched_lint.scheduler.capacity import shortage

        return shortage(self.pod(workload), self.index, nodes)

    def too_small(self, workload: Workload, nodes: NodeSet) -> Iterator[tuple[Shortage, NodeSet]]:
        """Those of ``nodes`` that never hold one pod, however empty, parted by the resource that lacks."""
        from kubesched_lint.scheduler.capacity import too_small

        return too_small(self.pod(workload), self.index, nodes & ~self.index.unknown_resources)

    def nodes_carry(self, key: str) -> bool:
        """Whether some node of the snapshot has the label key: then it is somebody's own, however odd it reads."""
        return self.cluster is not None and bool(self.index.with_key(key))

    @property
    def state(self) -> ClusterState:
        """The nodes with the running pods that no workload of the set owns and that stay. Undo what you place."""
        return self.lasting.state

    @cached_property
    def place_names(self) -> Mapping[str, str]:
        """Other names of zone and region that no node of a sketch tells → the stable ones, which stand for them."""
        if self.cluster is None or self.cluster.origin != "sketch":
            return {}
        from kubesched_lint.model.node import PLACE_LIKE

        told = {key for node in self.cluster.inventory.nodes for key in node.labels}
        return {other: stable for other, stable in PLACE_LIKE.items() if other not in told}

    @cached_property
    def storage(self) -> Storage:
        """Claims, volumes and classes of the set and of the cluster, once the volume controller has seen them."""
        from kubesched_lint.analysis.claims import settled_storage

        return settled_storage(self)

    @cached_property
    def storage_to_be(self) -> Storage:
        """The same with the claims that controllers make for the pods of StatefulSets."""
        from kubesched_lint.analysis.claims import claims_to_be_made

        return self.storage.with_objects(claims_to_be_made(self))

    @cached_property
    def demands(self) -> tuple[Demand, ...]:
        """What the set asks for all at once."""
        from kubesched_lint.analysis.joint import demands_of

        return demands_of(self)

    @cached_property
    def contradictions(self) -> tuple[Impossible, ...]:
        """Small sets of workloads that cannot all run together, each of which could by itself; the first few."""
        from kubesched_lint.analysis.joint import impossible

        return tuple(impossible(self))

    @cached_property
    def trials(self) -> tuple[dict[int, tuple[int, str]], ...]:
        """The whole set placed under each seed: ``id(workload)`` → pods left over, and why."""
        return tuple(one.left for one in self._tried)

    @property
    def trials_evict(self) -> tuple[dict[int, tuple[BoundPod, ...]], ...]:
        """The same: ``id(workload)`` → running pods of others that its pods drive out."""
        return tuple(one.evicted for one in self._tried)

    @cached_property
    def _tried(self) -> tuple[Tried, ...]:
        from kubesched_lint.analysis.trial import SEEDS, tried

        return tuple(tried(self, seed) for seed in SEEDS)

    @cached_property
    def at_rest(self) -> Others:
        """The running pods that a trial begins with."""
        from kubesched_lint.analysis.trial import at_rest

        return at_rest(self)

    @cached_property
    def empty(self) -> ClusterState:
        """The nodes without any pod. Undo what you place."""
        from kubesched_lint.cluster.state import ClusterState

        return ClusterState(self.index)

    def copies(
        self,
        workload: Workload,
        most: int,
        among: NodeSet | None = None,
        *,
        bare: bool = False,
        beside: Others | None = None,
    ) -> int:
        """Upper bound of pods that fit on ``among`` (the usable nodes), at most ``most``, by counting.

        Beside the running pods of others that stay unless other ones are given, or on ``bare`` nodes.
        """
        from kubesched_lint.scheduler.capacity import total_copies

        nodes = self.usable(workload) if among is None else among
        state = self.empty if bare and self.other_pods else (beside or self.staying(workload)).state
        pod = self.pod(workload)
        # Only who asks for a port or repels may differ from another pod with the same requests.
        kind = id(workload) if pod.host_ports or pod.required_anti_affinity else tuple(pod.requests.items())
        key = (kind, id(state), nodes)
        asked, found = self._copies.get(key, (-1, -1))
        if found == asked < most:  # no more were asked for
            found = total_copies(pod, state, nodes, most)
            self._copies[key] = most, found
        return min(found, most)

    def tightest_resource(self, workload: Workload, among: NodeSet | None = None) -> str:
        """The resource that bounds ``copies`` most."""
        from kubesched_lint.scheduler.capacity import tightest_resource

        nodes = self.usable(workload) if among is None else among
        return tightest_resource(self.pod(workload), self.staying(workload).state, nodes)

    def most_free(self, workload: Workload, resource: str, among: NodeSet) -> int:
        """The largest amount of a resource, 0 at least, that the running pods which stay leave on one of ``among``."""
        free = self.staying(workload).state.ledger.free(resource)
        return int(max(0, *(free[i] for i in positions(among))))

    def tolerated(self, workload: Workload) -> NodeSet:
        """All nodes without a taint in the way, whatever their labels."""
        from kubesched_lint.scheduler.tolerance import repelled

        return self.index.all & ~repelled(self.index, self.pod(workload).tolerations)

    def surely_selects(self, workload: Workload, term: PodAffinityTerm, other: Workload) -> bool:
        """Whether a term of the workload selects the pods of another, as far as namespace labels are known."""
        return self.namespaces.selects(term, workload.namespace, self.pod(other), unknown=False)

    def template_changed(self, workload: Workload) -> bool | None:
        """Whether the manifest differs from what runs; None when that cannot be told."""
        if self.cluster is None:
            return None
        from kubesched_lint.cluster.revisions import template_changed

        return template_changed(workload, self.cluster)

    # -- who selects whom --------------------------------------------------------------------------------------------

    @cached_property
    def namespaces(self) -> Namespaces:
        live = () if self.cluster is None else self.cluster.inventory.namespaces
        return Namespaces.of(live, self.manifests.namespaces)

    @cached_property
    def selection(self) -> Selection:
        return Selection(self.manifests.workloads, self.pod, self.namespaces)

    def repels_itself(self, workload: Workload, term: PodAffinityTerm) -> bool:
        """Whether a term of the workload surely selects pods of the same revision."""
        return self.namespaces.selects(term, workload.namespace, self.pod(workload), unknown=False)

    def selected_workloads(self, workload: Workload, term: PodAffinityTerm) -> Iterator[Workload]:
        """Workloads of the set, itself included, that a term may select."""
        return self.selection.selected_by(term, workload.namespace)

    def running_match(self, terms: Sequence[PodAffinityTerm], holder: str) -> BoundPod | None:
        """A pod of the snapshot, waiting ones excluded, that all the terms may select."""
        if self.cluster is None:
            return None
        seen: set[int] = set()
        for bound in self.cluster.inventory.pods:
            if bound.node and id(bound.pod) not in seen:
                seen.add(id(bound.pod))
                if all(self.namespaces.selects(t, holder, bound.pod, unknown=True) for t in terms):
                    return bound
        return None

    @cached_property
    def blocked(self) -> Mapping[int, Blocked]:
        """Workloads whose required pod affinity nothing can ever answer, by ``id(workload)``."""
        needy = [w for w in self.manifests.workloads if w.pod.required_affinity]

        def targets(workload: Workload) -> tuple[Workload, ...]:
            terms = self.pod(workload).required_affinity
            return tuple(t for t in self.selection.selected_by_all(terms, workload.namespace) if t is not workload)

        def answered(workload: Workload) -> bool:
            pod = self.pod(workload)
            itself = all(
                self.namespaces.selects(t, workload.namespace, pod, unknown=True) for t in pod.required_affinity
            )
            return itself or self.running_match(pod.required_affinity, workload.namespace) is not None

        return blocked_workloads(needy, targets, answered)

    @cached_property
    def circles(self) -> Circles:
        """The ways by which blocked workloads wait for themselves."""
        return Circles(self.blocked)

    # -- order -------------------------------------------------------------------------------------------------------

    @cached_property
    def in_order(self) -> tuple[Workload, ...]:
        """The workloads in the order in which they are created."""
        return apply_order(self.manifests.workloads, self.premises.apply_order)

    @cached_property
    def as_deployed(self) -> tuple[Workload, ...]:
        """The same, but of several variants of one object only the last: that is what applying them all leaves."""
        if not self.manifests.has_namesakes:
            return self.in_order
        last = {workload.ref: workload for workload in self.in_order}
        return tuple(workload for workload in self.in_order if last[workload.ref] is workload)

    @cached_property
    def as_created(self) -> tuple[Workload, ...]:
        """Those of ``as_deployed`` whose pods the API server creates."""
        return tuple(workload for workload in self.as_deployed if self.is_created(workload))

    @cached_property
    def _ranks(self) -> Mapping[int, int]:
        return {id(w): rank for rank, w in enumerate(self.in_order)}

    def comes_before(self, one: Workload, other: Workload) -> bool:
        """Whether the apply order creates ``one`` before ``other``."""
        return self._rank(one) < self._rank(other)

    def _rank(self, workload: Workload) -> int:
        """Its place in ``in_order``; where another definition of it is of the set, the place of that one."""
        found = self._ranks.get(id(workload))
        return self._ranks_by_ref[workload.ref] if found is None else found

    @cached_property
    def _ranks_by_ref(self) -> Mapping[ObjectRef, int]:
        return {workload.ref: rank for rank, workload in enumerate(self.in_order)}

    @cached_property
    def host_port_users(self) -> Mapping[tuple[str, int], tuple[Workload, ...]]:
        """(protocol, port) → workloads whose pods take it on their node."""
        found: dict[tuple[str, int], tuple[Workload, ...]] = {}
        for workload in self.manifests.workloads:
            for key in {(p.protocol, p.port) for p in workload.pod.host_ports}:
                found[key] = (*found.get(key, ()), workload)
        return found

    @cached_property
    def daemon_sets(self) -> tuple[Workload, ...]:
        return tuple(w for w in self.manifests.workloads if w.kind == "DaemonSet")

    def daemons_for(self, dedication: Mapping[str, str]) -> Iterator[Workload]:
        """The DaemonSets that are sent, by name, to nodes among those of ``dedication``, in the order of the set."""
        found = [at for item in dedication.items() for at in self._dedicated.get(item, ())]
        for at in sorted(found):
            daemon = self.daemon_sets[at]
            if dedicated_to(daemon).items() <= dedication.items():
                yield daemon

    @cached_property
    def _dedicated(self) -> Mapping[tuple[str, str], Sequence[int]]:
        """One item of what they are dedicated to → numbers of DaemonSets: a set may have hundreds for other nodes."""
        found: dict[tuple[str, str], list[int]] = {}
        for at, daemon in enumerate(self.daemon_sets):
            for item in sorted(dedicated_to(daemon).items())[:1]:
                found.setdefault(item, []).append(at)
        return found

    # -- lookups -----------------------------------------------------------------------------------------------------

    @cached_property
    def _autoscalers(self) -> Mapping[tuple[str, str, str], Autoscaler]:
        live = () if self.cluster is None else self.cluster.inventory.autoscalers
        return {(a.target.kind, a.namespace, a.target.name): a for a in (*live, *self.manifests.autoscalers)}

    @property
    def priority_classes(self) -> Mapping[str, PriorityClass]:
        """Those of the cluster, of the set, and Kubernetes' own, by name."""
        return self.admission.priority_classes

    def nearest_priority_class(self, name: str) -> str:
        """A class whose name reads like ``name``; empty without one."""
        return nearest_name(name, self.priority_classes)


def dedicated_to(workload: Workload) -> Mapping[str, str]:
    """The group of nodes that its node selector names; architecture and system name none."""
    return {k: v for k, v in workload.pod.node_selector.items() if k not in _EVERYWHERE}


def request_path(workload: Workload, resource: str) -> Path:
    """Where the largest request of a resource is written: of the pod, of a container, or its limit instead."""
    pod = workload.pod
    if pod.pod_requests and resource in pod.pod_requests:
        return (*pod.path, "resources", "requests", resource)
    asking = [c for c in (*pod.containers, *pod.init_containers) if c.requests.get(resource)]
    if not asking:
        return (*pod.path, "overhead") if resource in pod.overhead else pod.path
    largest = max(asking, key=lambda c: c.requests[resource])
    where: Path = (*largest.path, "resources", "requests", resource)
    if workload.source is not None and workload.source.span(where) == workload.source.span(where[:-1]):
        return (*largest.path, "resources", "limits", resource)  # only a limit is written: it is the request too
    return where
