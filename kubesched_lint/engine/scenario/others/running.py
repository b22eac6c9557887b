"""Running pods in groups of equal ones: those of others, those of others that stay, and all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kubesched_lint.engine.admission.quotas import Charged
from kubesched_lint.engine.cluster.nodeset import NodeSet, positions
from kubesched_lint.engine.cluster.pods.alike import Alike, alike
from kubesched_lint.engine.cluster.selecting.labelled import LabelIndex, PodIndex
from kubesched_lint.engine.cluster.selecting.postings import Posted, post, posted_for
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import BoundPod, Pod, PodAffinityTerm
from kubesched_lint.engine.scenario.scenario import Scenario, once_per_scenario
from kubesched_lint.engine.scheduler import topology

if TYPE_CHECKING:
    from kubesched_lint.engine.cluster.nodes.index import NodeIndex
    from kubesched_lint.engine.cluster.state import ClusterState


class RunningPods:
    """Some of the running pods, and the nodes on which they run."""

    def __init__(self, scenario: Scenario, pods: tuple[BoundPod, ...]) -> None:
        self._scenario = scenario
        self.pods = pods

    @property
    def index(self) -> NodeIndex:
        return self._scenario.index

    @cached_property
    def alike(self) -> tuple[Alike, ...]:
        """The pods on known nodes, in groups of equal ones."""
        cluster = self._scenario.cluster
        if cluster is None or self.pods is not cluster.inventory.pods or self._scenario.pools:
            return alike(self.pods, self._scenario.index.positions) if self.pods else ()
        return cluster.alike

    def in_reach(self, term: PodAffinityTerm, holder: str) -> Iterable[Alike]:
        """Return a superset of the groups of ``alike`` that a term of a pod in namespace ``holder`` may select."""
        selected = self._index.selected_by(term.selector)
        if term.namespace_selector is None:
            selected &= self._index.in_namespaces(term.namespaces or (holder,))
        return map(self.alike.__getitem__, positions(selected))

    def selected_by(self, selector: Selector | None) -> Iterator[Alike]:
        """Return the groups of ``alike`` that a selector matches by their labels, in their order."""
        return map(self.alike.__getitem__, positions(self._index.selected_by(selector)))

    @cached_property
    def _index(self) -> PodIndex:
        return PodIndex(group.pod for group in self.alike)

    @cached_property
    def charged(self) -> Charged:
        """What these pods use of quotas."""
        return Charged(self.pods)

    @cached_property
    def at_ports(self) -> Mapping[tuple[str, int], Sequence[tuple[int, BoundPod]]]:
        """(protocol, port) → the pods that have a node and take the port of it, numbered."""
        pods_at_ports: dict[tuple[str, int], list[tuple[int, BoundPod]]] = {}
        for number, bound in enumerate(self.pods):
            for port in bound.pod.host_ports if bound.node else ():
                pods_at_ports.setdefault((port.protocol, port.port), []).append((number, bound))
        return pods_at_ports

    @cached_property
    def waiting(self) -> Mapping[Pod, int]:
        """The pods that wait for a node: template → number."""
        return Counter(bound.pod for bound in self.pods if not bound.node)

    @cached_property
    def _terms(self) -> Posted[tuple[int, int]]:
        """The required anti-affinity of ``alike``: each term as its group's number, and its own in the group."""
        posted: Posted[tuple[int, int]] = {}
        for number, group in enumerate(self.alike):
            for term_number, term in enumerate(group.pod.required_anti_affinity):
                post((number, term_number), term, group.pod.namespace, posted)
        return posted

    def repelling(self, pod: Pod) -> Iterator[tuple[Alike, PodAffinityTerm]]:
        """Yield the groups of ``alike``, in their order, with the terms of anti-affinity that may select a pod.

        All terms for a pod that stands for several with varying labels.
        """
        if pod.varying:
            yield from ((group, term) for group in self.alike for term in group.pod.required_anti_affinity)
            return
        for number, term_number in sorted(posted_for(pod, self._terms)):
            group = self.alike[number]
            yield group, group.pod.required_anti_affinity[term_number]

    @cached_property
    def state(self) -> ClusterState:
        """The nodes with these pods alone. Undo your placements."""
        from kubesched_lint.engine.cluster.state import ClusterState  # without a cluster there are no nodes
        from kubesched_lint.engine.scenario.devices.devices import allocator_of
        from kubesched_lint.engine.scenario.storage.claims import settled_storage, storage_to_be

        cluster, ours = self._scenario.cluster, self._scenario.manifests
        assert cluster is not None, "a rule that reads nodes runs only with a cluster"
        live = cluster.inventory
        objects = replace(
            live,
            pods=self.pods,
            claims=tuple(storage_to_be(self._scenario).claims.values()),
            volumes=tuple(settled_storage(self._scenario).volumes.values()),
            storage_classes=tuple(settled_storage(self._scenario).classes.values()),
            csi_drivers=self._scenario.objects.csi_drivers,
            services=(*live.services, *ours.services),
            namespaces=(*live.namespaces, *ours.namespaces),
            allocator=allocator_of(self._scenario),
        )
        version = self._scenario.premises.kubernetes_version
        return ClusterState(self._scenario.index, objects, self.alike, kubernetes_version=version)


@once_per_scenario
def pods_of_others(scenario: Scenario) -> RunningPods:
    """Return the running pods that no workload of the manifests owns."""
    return RunningPods(scenario, scenario.other_pods)


@once_per_scenario
def lasting_pods(scenario: Scenario) -> RunningPods:
    """Return those of others that do not terminate, or are kept by finalizers: they remain after a deployment."""
    stay = tuple(bound for bound in scenario.other_pods if bound.kept_by_finalizers or not bound.terminating)
    return pods_of_others(scenario) if len(stay) == len(scenario.other_pods) else RunningPods(scenario, stay)


@once_per_scenario
def all_running_pods(scenario: Scenario) -> RunningPods:
    """Return all running pods, also those of the manifests."""
    pods = () if scenario.cluster is None else scenario.cluster.inventory.pods
    return pods_of_others(scenario) if len(pods) == len(scenario.other_pods) else RunningPods(scenario, tuple(pods))


def lasting_state(scenario: Scenario) -> ClusterState:
    """Return the nodes with the running pods of others that stay. Undo your placements."""
    return lasting_pods(scenario).state


@once_per_scenario
def empty_state(scenario: Scenario) -> ClusterState:
    """Return the nodes without any pod. Undo your placements."""
    from kubesched_lint.engine.cluster.state import ClusterState

    return ClusterState(scenario.index)


def matching_by_domain(
    others: RunningPods, namespace: str, selector: Selector, topology_key: str, among: NodeSet
) -> Mapping[str, int]:
    """Return domain → number of running pods of others on its nodes of ``among`` that a spread constraint counts.

    It has only the domains with such a pod: there may be a domain for each node.
    """
    groups = others.in_reach(PodAffinityTerm("", selector), namespace)
    selected = (group for group in groups if selector.matches(group.pod.labels))
    return topology.counted_pods(selected, topology_key, among, others.index)


def running_match(scenario: Scenario, terms: Sequence[PodAffinityTerm], holder: str) -> BoundPod | None:
    """Return a bound pod of the snapshot that all the terms of a pod in namespace ``holder`` may select; else None."""
    pods, labels = _bound_pods(scenario)
    selected = labels.all
    for term in terms:
        selected &= labels.selected_by(term.selector)
    for bound in map(pods.__getitem__, positions(selected)):
        if all(scenario.namespaces.selects(t, holder, bound.pod, unknown=True) for t in terms):
            return bound
    return None


@once_per_scenario
def _bound_pods(scenario: Scenario) -> tuple[Sequence[BoundPod], LabelIndex]:
    """Return the bound pods of the snapshot, one for each template, and the index of their labels."""
    first: dict[Pod, BoundPod] = {}
    for bound in () if scenario.cluster is None else scenario.cluster.inventory.pods:
        if bound.node:
            first.setdefault(bound.pod, bound)
    return tuple(first.values()), LabelIndex.of([bound.pod.labels for bound in first.values()])
