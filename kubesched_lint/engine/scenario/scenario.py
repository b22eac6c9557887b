"""One scenario: a manifest set laid over a cluster, and each workload in it.

Its methods, and functions that take a Scenario or a Member, answer every question about them; ``once_per_scenario``
caches an answer. A scenario judges nothing: ``scheduler`` decides whether a pod fits a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from kubesched_lint.engine.admission.admission import Admission
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import first, of
from kubesched_lint.engine.cluster.revisions import starting_replicas, template_changed
from kubesched_lint.engine.controllers.bounds import rolling_bounds
from kubesched_lint.engine.controllers.daemonset import made_for
from kubesched_lint.engine.model.decode.objects import kinds_in
from kubesched_lint.engine.model.policy import autoscaler_of
from kubesched_lint.engine.model.resources import device_class_resources
from kubesched_lint.engine.scenario.applying.order import CreationOrder
from kubesched_lint.engine.scenario.pods.pod_labels import (
    REVISION_LABELS,
    controller_labels,
    labels_of_ordinal,
    read_by,
    read_labels,
    standing_for_all,
)
from kubesched_lint.engine.scenario.pods.selection import Namespaces, Selection
from kubesched_lint.engine.scenario.settings.user_settings import Premises
from kubesched_lint.engine.scheduler.tolerance import repelled

if TYPE_CHECKING:
    from kubesched_lint.engine.apiserver.refusals import Refusals
    from kubesched_lint.engine.cluster.cluster import Cluster
    from kubesched_lint.engine.cluster.nodepools.known import KnownGroups
    from kubesched_lint.engine.cluster.nodeset import NodeSet
    from kubesched_lint.engine.cluster.pods.mutations import Mutation
    from kubesched_lint.engine.model.inventory import Inventory
    from kubesched_lint.engine.model.nodes.node import Node, NodePool
    from kubesched_lint.engine.model.pod import BoundPod, Pod, PodAffinityTerm
    from kubesched_lint.engine.model.policy import Autoscaler, PriorityClass
    from kubesched_lint.engine.model.workloads.workload import Workload
    from kubesched_lint.engine.scenario.pools.potential import Potential
    from kubesched_lint.engine.scheduler.framework import Reach

T = TypeVar("T")


def once_per_scenario(build: Callable[[Scenario], T]) -> Callable[[Scenario], T]:
    """Return a function of a scenario that computes its result once per scenario."""

    @wraps(build)
    def remembered(scenario: Scenario) -> T:
        answers = scenario.answers
        if build not in answers:
            answers[build] = build(scenario)
        return answers[build]  # type: ignore[return-value]

    return remembered


def _objects_in(manifests: Inventory) -> tuple[tuple[int, ...], ...]:
    """Return the identities of the objects, which whoever remembers them must keep."""
    return tuple(tuple(map(id, objects)) for _, objects in manifests.lists())


class Scenario:
    """``cluster`` None: only the manifests are known. A rule's requirements are checked before its check runs."""

    def __init__(self, manifests: Inventory, cluster: Cluster | None = None, premises: Premises | None = None) -> None:
        self.cluster = cluster
        self.premises = (premises or Premises()).settled(cluster)
        self.unserved = self.premises.unserved(manifests.budgets)
        """Budgets of an API version that is gone: they are not among the manifests."""
        if self.unserved:
            manifests = replace(manifests, budgets=tuple(b for b in manifests.budgets if b not in self.unserved))
        self.manifests = manifests
        self._members: dict[Workload, Member] = {}
        self.answers: dict[object, object] = {}
        """What ``once_per_scenario`` has computed."""
        self._parts: dict[object, Scenario] = {}
        """Objects → the scenario of them: this one, if anybody has asked for a part, and its parts, which share it."""
        self.reaches: dict[Reach, Reach] = {}
        """What ``Member.reach`` has computed: thousands of workloads reach the same nodes, and share one answer."""
        self.refused: Mapping[Any, Refusals] | None = None
        """Source → the API server's refusals, if all of them have been judged already."""
        self.answered: dict[Any, Refusals] = {}
        """Source → the API server's refusals, if somebody has asked for them."""
        self.is_told = True
        """Whether anybody reads what is proven here; else no run shows it, and none tries to refute it."""

    # -- other scenarios ---------------------------------------------------------------------------------------------

    def on(self, cluster: Cluster) -> Scenario:
        """Return the scenario of the same manifests on another cluster."""
        return self._judged_already(Scenario(self.manifests, cluster, self.premises))

    def with_manifests(self, manifests: Inventory) -> Scenario:
        """Return the scenario of other manifests on the same cluster; without pools both share one index of nodes."""
        other = self._judged_already(Scenario(manifests, self.cluster, self.premises))
        if self.cluster is not None and not self.pools:
            other.index = self.index
        return other

    def part(self, manifests: Inventory) -> Scenario:
        """Return the scenario of a part of the manifests, or of all from one of its parts.

        For the same objects it is the same one, so that what one asker has computed the next one knows.
        """
        if manifests is self.manifests:
            return self
        objects = _objects_in(manifests)
        if not self._parts:
            self._parts[_objects_in(self.manifests)] = self
        if objects not in self._parts:
            part = self._parts[objects] = self.with_manifests(manifests)
            part._parts = self._parts
        return self._parts[objects]

    def with_workloads(self, workloads: tuple[Workload, ...]) -> Scenario:
        """Return the scenario of other workloads on the same cluster, whose pods the same admission stores.

        A scheduler's profile asks which workload owns a pod, so with profiles each scenario has its own.
        """
        other = self.with_manifests(replace(self.manifests, workloads=workloads))
        if not self.objects.schedulers:
            other.admission = self.admission
        return other

    def _judged_already(self, other: Scenario) -> Scenario:
        """Return another scenario of the same documents, or of some of them, which the API server answers alike."""
        other.is_told = self.is_told
        if other.premises.kubernetes_version == self.premises.kubernetes_version:
            other.refused, other.answered = self.refused, self.answered
        return other

    @cached_property
    def without_pools(self) -> Scenario:
        """The same scenario with today's nodes only; itself if there are no pools."""
        if not self.pools or self.cluster is None:
            return self
        cluster = replace(self.cluster, inventory=replace(self.cluster.inventory, node_pools=()))
        return self._judged_already(Scenario(replace(self.manifests, node_pools=()), cluster, self.premises))

    # -- objects -----------------------------------------------------------------------------------------------------

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of all objects in the manifests and the cluster."""
        ours = kinds_in(self.manifests)
        return ours if self.cluster is None else ours | kinds_in(self.cluster.inventory)

    @cached_property
    def objects(self) -> Inventory:
        """The manifests laid over the cluster: the manifest's definition of an object wins."""
        return self.manifests if self.cluster is None else self.manifests.over(self.cluster.inventory)

    @cached_property
    def admission(self) -> Admission:
        """The admission that decides which pods the API server creates, and how it stores them."""
        known = frozenset() if self.cluster is None else self.cluster.kinds
        is_snapshot = self.cluster is not None and self.cluster.origin == "snapshot"
        version, mutated = self.premises.kubernetes_version, self._mutated if self.knows_running_pods else None
        return Admission(self.objects, version, known, is_snapshot=is_snapshot, mutated=mutated)

    def mutation_of(self, workload: Workload) -> Mutation | None:
        """Return what webhooks add to the pods of a workload, as pods that run show; None if that is nothing."""
        if self.cluster is None or not self.knows_running_pods:
            return None
        return self.cluster.mutations.of(workload, in_changed_namespace=workload.namespace in self._changed_namespaces)

    @cached_property
    def _changed_namespaces(self) -> frozenset[str]:
        """The namespaces that the manifests define with other labels than the cluster shows."""
        live = (
            {}
            if self.cluster is None
            else {namespace.name: namespace.labels for namespace in self.cluster.inventory.namespaces}
        )
        return frozenset(
            namespace.name for namespace in self.manifests.namespaces if namespace.labels != live.get(namespace.name)
        )

    def _mutated(self, workload: Workload) -> Pod:
        mutated = self._mutated_pods.get(workload)
        if mutated is None:
            mutation = self.mutation_of(workload)
            mutated = self._mutated_pods[workload] = (
                workload.pod if mutation is None else mutation.applied(workload.pod)
            )
        return mutated

    @cached_property
    def _mutated_pods(self) -> dict[Workload, Pod]:
        return {}

    def cluster_has(self, kind: str) -> bool:
        """Return whether the snapshot lists all objects of a kind; there may be none."""
        return self.cluster is not None and self.cluster.has(kind)

    @cached_property
    def autoscalers(self) -> Mapping[tuple[str, str, str], Autoscaler]:
        """(kind, namespace, name) of the scaled object → autoscaler; the manifest's wins."""
        live = () if self.cluster is None else self.cluster.inventory.autoscalers
        return {(a.target.kind, a.namespace, a.target.name): a for a in (*live, *self.manifests.autoscalers)}

    @property
    def priority_classes(self) -> Mapping[str, PriorityClass]:
        """Name → class: the cluster's, the manifests' and Kubernetes' own."""
        return self.admission.priority_classes

    @cached_property
    def namespaces(self) -> Namespaces:
        """The namespaces whose labels are known."""
        live = () if self.cluster is None else self.cluster.inventory.namespaces
        return Namespaces.of(live, self.manifests.namespaces)

    # -- workloads ---------------------------------------------------------------------------------------------------

    def member(self, workload: Workload) -> Member:
        """Return a workload in this scenario: of the manifests, of the cluster, or a variation of one."""
        member = self._members.get(workload)
        if member is None:
            member = self._members[workload] = Member(workload, self)
        return member

    @cached_property
    def varying_labels(self) -> frozenset[str]:
        """Labels that differ between pods of one workload, and that a selector of a manifest or a running pod uses."""
        running = () if self.cluster is None else dict.fromkeys(b.pod for b in self.cluster.inventory.pods)
        # The selectors of a stored pod hold the revision label from matchLabelKeys: no user wrote it.
        stored = read_labels(running) - REVISION_LABELS if running else frozenset()
        return read_by(self.manifests.workloads) | stored

    @cached_property
    def device_resources(self) -> frozenset[str]:
        """Extended resources that a DeviceClass of the manifests or of the cluster offers."""
        return device_class_resources(self.objects.device_classes, self.premises.kubernetes_version)

    @cached_property
    def selection(self) -> Selection:
        """The pods of the manifests by their labels."""
        return Selection(self.manifests.workloads, lambda workload: self.member(workload).pod, self.namespaces)

    @cached_property
    def order(self) -> CreationOrder:
        """The order in which the workloads are created."""
        return CreationOrder(self.manifests.workloads, self.premises.apply_order)

    @cached_property
    def as_deployed(self) -> tuple[Workload, ...]:
        """The workloads in creation order; of several variants of one object only the last, which is applied last."""
        return self.order.last_of_each if self.manifests.has_duplicates else self.order.workloads

    @cached_property
    def as_created(self) -> tuple[Workload, ...]:
        """The workloads of ``as_deployed`` whose pods the API server creates."""
        return tuple(workload for workload in self.as_deployed if self.member(workload).is_created)

    # -- running pods ------------------------------------------------------------------------------------------------

    @property
    def knows_running_pods(self) -> bool:
        """Whether the snapshot lists all pods."""
        return self.cluster_has("Pod")

    @cached_property
    def other_pods(self) -> tuple[BoundPod, ...]:
        """Running pods that no workload of the manifests owns."""
        if self.cluster is None or not self.cluster.inventory.pods:
            return ()
        ours = {p for w in self.manifests.workloads for p in self.member(w).running_pods}
        pods = self.cluster.inventory.pods
        return tuple(p for p in pods if p not in ours) if ours else pods

    # -- nodes -------------------------------------------------------------------------------------------------------

    @cached_property
    def index(self) -> NodeIndex:
        """The existing nodes, then those that pools could add."""
        assert self.cluster is not None, "a rule that reads nodes runs only with a cluster"
        nodes = self.cluster.inventory.nodes
        return NodeIndex((*nodes, *self.potential.nodes) if self.pools else nodes, self.device_resources)

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes of ``index``; none without a cluster."""
        return () if self.cluster is None else self.index.nodes if self.pools else self.cluster.inventory.nodes

    @cached_property
    def today(self) -> NodeSet:
        """The nodes of ``index`` that exist."""
        return first(0 if self.cluster is None else len(self.cluster.inventory.nodes))

    @cached_property
    def distinct(self) -> NodeSet:
        """The existing nodes, and one of each kind that pools could add."""
        new = self.potential.first if self.pools else ()
        return self.today | of(self.today.bit_count() + position for position in new)

    def names(self, nodes: NodeSet) -> tuple[str, ...]:
        """Return the names of nodes."""
        return tuple(self.index.names_of(nodes))

    @cached_property
    def pools(self) -> tuple[NodePool, ...]:
        """The pools of the cluster and of the manifests; of two with one name the manifest's."""
        live = () if self.cluster is None else self.cluster.inventory.node_pools
        return tuple({pool.name: pool for pool in (*live, *self.manifests.node_pools)}.values())

    @cached_property
    def potential(self) -> Potential:
        """The nodes that pools could add to a cluster. Callers check ``pools`` first: that avoids an import."""
        from kubesched_lint.engine.scenario.pools.potential import Asked, Potential, potential_of

        if (cluster := self.cluster) is None:
            return Potential()
        asked = Asked(
            tuple((m.pod, m.most) for w in self.manifests.workloads if w.kind != "DaemonSet" for m in [self.member(w)]),
            self.daemons,
            (*self.manifests.volumes, *cluster.inventory.volumes),
            (*self.manifests.storage_classes, *cluster.inventory.storage_classes),
            frozenset(quota.namespace for quota in self.objects.quotas),
            self.device_resources,
        )
        return potential_of(self.pools, cluster.inventory, asked, self.objects.node_overlays)

    @cached_property
    def daemons(self) -> Mapping[tuple[str, str], Pod]:
        """(namespace, name) of each DaemonSet → its pod; the manifest's definition wins."""
        daemons = {w.ref: w for w in self.objects.workloads if w.kind == "DaemonSet"}
        return {(w.namespace, w.name): self.member(w).pod for w in daemons.values()}

    @cached_property
    def node_groups(self) -> KnownGroups:
        """The node groups of the cluster, and whether there may be others."""
        from kubesched_lint.engine.cluster.nodepools.known import KnownGroups

        assert self.cluster is not None, "node groups are those of a cluster"
        return KnownGroups(self.cluster, self.manifests.node_pools)

    @cached_property
    def is_elastic(self) -> bool:
        """Whether nodes may appear from outside the cluster and its pools; then nothing about nodes is proven."""
        if self.cluster is None:
            return False
        return self.node_groups.is_elastic or (bool(self.pools) and not self.potential.complete)


class Member:
    """A workload in a scenario."""

    def __init__(self, workload: Workload, scenario: Scenario) -> None:
        self.workload = workload
        self.scenario = scenario

    def __repr__(self) -> str:
        return f"Member({self.workload})"

    @property
    def world(self) -> Scenario:
        """The name of ``scenario`` in rules of version 0.1; to go with the next minor version."""
        return self.scenario

    # -- its pods ----------------------------------------------------------------------------------------------------

    @cached_property
    def pod(self) -> Pod:
        """The pod as the API server would store it: with defaults, admission, and its controller's labels."""
        made_pod = self._made_by(controller_labels(self.workload))
        varying = self.scenario.varying_labels
        return standing_for_all(made_pod, self.workload, self.replicas, varying) if varying else made_pod

    def pod_of_ordinal(self, ordinal: int) -> Pod:
        """Return the pod of one replica, counted from 0; for a StatefulSet with the labels of this ordinal."""
        own = labels_of_ordinal(self.workload, ordinal)
        return self._made_by({**controller_labels(self.workload), **own}) if own else self.pod

    def _made_by(self, extra_labels: Mapping[str, str]) -> Pod:
        admission = self.scenario.admission
        pod = admission.stored(admission.pod_of(self.workload), extra_labels, self.workload.source)
        cluster = self.scenario.cluster
        if cluster is None or cluster.resources_left_out.isdisjoint(pod.requests):
            return pod
        kept = pod.requests.keys() - cluster.resources_left_out
        return replace(pod, requests={name: n for name, n in pod.requests.items() if name in kept})

    @property
    def is_created(self) -> bool:
        """Whether the API server creates its pods, as far as known; quotas are checked elsewhere."""
        return self.scenario.admission.decision(self.workload).refusal is None

    @property
    def autoscaler(self) -> Autoscaler | None:
        """The HorizontalPodAutoscaler that scales it."""
        return autoscaler_of(self.workload, self.scenario.autoscalers)

    @cached_property
    def replicas(self) -> int:
        """The number of pods at the start: as written, else as running, within the bounds of its autoscaler."""
        if self.workload.replicas_written and not self.scenario.autoscalers:
            return self.workload.replicas
        return starting_replicas(self.workload, self.scenario.cluster, self.autoscaler)

    @property
    def most_wanted(self) -> int:
        """The largest number of pods that it wants: at the maximum of its autoscaler."""
        return max(self.replicas, 0 if self.autoscaler is None else self.autoscaler.max_replicas)

    @property
    def most(self) -> int:
        """The largest number of pods at any time: ``most_wanted``, with surge."""
        surge = rolling_bounds(self.workload.strategy, self.most_wanted)[0] if self.workload.kind == "Deployment" else 0
        return self.most_wanted + surge

    @property
    def running_pods(self) -> tuple[BoundPod, ...]:
        """Pods of its previous revision in the snapshot: they are replaced, not added to."""
        if self.scenario.cluster is None:
            return ()
        return self.scenario.cluster.running.pods_of(self.workload)

    @cached_property
    def template_changed(self) -> bool | None:
        """Whether the manifest differs from the running revision; None if that is unknown."""
        if self.scenario.cluster is None:
            return None
        return template_changed(self.workload, self.scenario.cluster)

    # -- where they may run ------------------------------------------------------------------------------------------

    @cached_property
    def reach(self) -> Reach:
        """The nodes that are open to its pods; the room on future nodes is already reduced by those of a DaemonSet."""
        from kubesched_lint.engine.scheduler.framework import static_reach

        reach = static_reach(self.pod, self.scenario.index)
        if self.workload.kind == "DaemonSet":
            reach = reach._replace(usable=reach.usable & self.daemon_nodes)
        return self.scenario.reaches.setdefault(reach, reach)

    @cached_property
    def daemon_nodes(self) -> NodeSet:
        """Today's nodes for which the DaemonSet controller makes a pod; it ignores resources and other pods."""
        return made_for(self.pod, self.scenario.index) & self.scenario.today

    @property
    def usable(self) -> NodeSet:
        """Nodes that its pods may use at some time, whatever other pods do."""
        return self.reach.usable

    @property
    def tolerated(self) -> NodeSet:
        """All nodes without a taint that excludes it, whatever their labels."""
        return self.scenario.index.all & ~repelled(self.scenario.index, self.pod.tolerations)

    # -- with which other pods ---------------------------------------------------------------------------------------

    def surely_selects(self, term: PodAffinityTerm, other: Workload) -> bool:
        """Return whether one of its terms selects the pods of another, as far as namespace labels are known."""
        return self.scenario.namespaces.selects(
            term, self.workload.namespace, self.scenario.member(other).pod, unknown=False
        )

    def repels_itself(self, term: PodAffinityTerm) -> bool:
        """Return whether one of its terms certainly selects pods of the same revision."""
        return self.surely_selects(term, self.workload)

    @property
    def kept_apart(self) -> tuple[PodAffinityTerm, ...]:
        """The terms of anti-affinity by which any two of its pods repel each other."""
        return tuple(term for term in self.pod.required_anti_affinity if self.repels_itself(term))

    def selected_workloads(self, term: PodAffinityTerm) -> Iterator[Workload]:
        """Yield the workloads of the manifests, itself included, that one of its terms may select."""
        return self.scenario.selection.selected_by(term, self.workload.namespace)
