"""The position of every pod, with counts that make each scheduling query cheap, and undo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kubesched_lint.engine.base.releases import RECORDED
from kubesched_lint.engine.cluster.ledger import PODS, Ledger
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, of, only
from kubesched_lint.engine.cluster.pods.alike import Alike, alike
from kubesched_lint.engine.cluster.pods.classes import PodClass, PodClasses
from kubesched_lint.engine.cluster.pods.known_pods import KnownPods
from kubesched_lint.engine.cluster.selecting.labelled import PodIndex
from kubesched_lint.engine.cluster.storage.storage import Storage
from kubesched_lint.engine.cluster.topology import NodeCounter
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Labels, Selector
from kubesched_lint.engine.model.pod import BoundPod, HostPort, Pod

if TYPE_CHECKING:
    from kubesched_lint.engine.cluster.devices import Devices

NAMESPACE_NAME = "kubernetes.io/metadata.name"
_EVERY = "0.0.0.0"
"""The address that stands for every address of a node."""


class Placement:
    """One pod on one node: the result of ``place`` and the argument of ``remove``."""

    __slots__ = ("bound", "holder", "pod_class", "position")

    def __init__(self, pod_class: PodClass, position: int, bound: BoundPod | None) -> None:
        self.pod_class = pod_class
        self.position = position
        self.bound = bound
        """Its identity, if the caller gave one."""
        self.holder = "" if bound is None else bound.name
        """The name for which its claims for devices are reserved."""

    @property
    def pod(self) -> Pod:
        return self.pod_class.pod if self.bound is None else self.bound.pod

    def __repr__(self) -> str:
        return f"Placement({self.bound.name if self.bound else self.pod_class.number} at {self.position})"


class ClusterState:
    """Mutable: pods by class and node, requested resources, host ports, claims in use, and the storage objects.

    ``objects.pods`` that name a node of the index are placed; waiting pods and pods on unknown nodes are not. A caller
    that has those that are placed in ``groups`` passes them. If ``objects.namespaces`` is empty, namespace labels are
    unknown except for the label that every namespace has. Claims for devices that pods held which are not among
    ``objects.pods`` are released.
    """

    def __init__(
        self,
        index: NodeIndex,
        objects: Inventory | None = None,
        groups: Iterable[Alike] | None = None,
        *,
        kubernetes_version: str = RECORDED,
        known: KnownPods | None = None,
    ) -> None:
        objects = objects or Inventory()
        self.index = index
        self.objects = objects
        """Services, ReplicaSets, budgets and classes as given; pods and storage change, so read them below."""
        self.kubernetes_version = kubernetes_version
        self.classes = PodClasses(known)
        self.ledger = Ledger(index)
        self.nonzero_cpu: list[int] = [0] * len(index)
        """Millicores per node as scoring counts them (see model.resources.nonzero_requests)."""
        self.nonzero_memory: list[int] = [0] * len(index)
        self.namespaces: dict[str, Labels] = {n.name: n.labels for n in objects.namespaces}
        self._selected: dict[Selector, dict[str, bool]] = {}
        """Selector of namespaces → namespace → whether it selects it."""
        self._storage = Storage.of(objects)
        self._ports: dict[tuple[str, int], dict[str, NodeCounter]] = {}
        self._claims: dict[tuple[str, str], NodeCounter] = {}
        self.mounted = NodeCounter()
        """Volumes of pods that may count against a limit of their driver; one that several pods use counts for each."""
        self.volume_limits: Any = None
        """What the NodeVolumeLimits plugin keeps."""
        self.offers: dict[Hashable, Any] = {}
        """Where volumes can be provisioned, by what the VolumeBinding plugin asks."""
        self._on: dict[int, list[Placement]] = {}
        """The pods of each node, in order; without those of ``objects`` until somebody asks for them."""
        self._read: set[int] = set()
        """The nodes for which somebody has."""
        self._log: list[tuple[str, Any]] = []
        self.nominated: dict[str, list[BoundPod]] = {}
        """Waiting pods by the node that preemption nominated for them."""
        self.labelled: dict[Hashable, Pod] = {} if known is None else known.labelled
        """Pods as scheduler.binding labels them, so that equal ones stay one object."""
        self.alike: dict[Hashable, Sequence[NodeSet]] = {}
        """Nodes that the VolumeBinding plugin need not tell apart, by what it asks of volumes."""
        self.scored: dict[Hashable, Any] = {}
        """What ``engine.scheduler.scores`` keeps for pods that ask the same."""
        self.removed_in_cycle: list[Placement] = []
        """Pods that preemption removed on trial: PodTopologySpread subtracts even those that it had not counted."""
        self._devices: Devices | None = None
        for devices in objects.allocator:
            self._devices = devices.announced_on(index.nodes).held_by((pod.namespace, pod.name) for pod in objects.pods)
        self._place_first(alike(objects.pods, index.positions) if groups is None else groups)
        for pod in objects.pods:
            if not pod.node and pod.nominated_node:
                self.nominated.setdefault(pod.nominated_node, []).append(pod)

    # --- placing ----------------------------------------------------------------------------------------------------

    def _place_first(self, groups: Iterable[Alike]) -> None:
        asking = dict[Hashable, tuple[PodClass, Counter[int]]]()
        for group in groups:
            pod_class = self.classes.of(group.pod, group.terminating)
            if group.nodes.bit_count() == len(group.positions):
                pod_class.come(group.nodes)
            else:
                pod_class.come_each(group.positions)
            self._hold(group.pod, group.positions, 1)
            # Most classes ask for the same as others: their pods are counted by node before numbers are added.
            kind = tuple(pod_class.requests.items()), pod_class.nonzero
            asking.setdefault(kind, (pod_class, Counter()))[1].update(group.positions)
        for pod_class, counts in asking.values():
            self._book(pod_class, counts.items())

    @cached_property
    def _first(self) -> dict[int, list[BoundPod]]:
        """The pods of ``objects`` by position."""
        positions, pods_by_position = self.index.positions, dict[int, list[BoundPod]]()
        for pod in self.objects.pods:
            position = positions.get(pod.node)
            if position is not None:
                pods_by_position.setdefault(position, []).append(pod)
        return pods_by_position

    def place(self, pod: Pod | BoundPod, position: int) -> Placement:
        """Put a pod on a node, whether it fits or not. A Pod is anonymous; a BoundPod keeps name, age and owner."""
        placement = self._placement(pod, position)
        self._enter(placement)
        self._log.append(("place", placement))
        return placement

    def place_many(self, pod: Pod, counts: Mapping[int, int]) -> None:
        """Put equal anonymous pods on nodes, whether they fit or not: position → how many, which are more than 0."""
        pod_class = self.classes.of(pod)
        for position, count in counts.items():
            self._on.setdefault(position, []).extend(Placement(pod_class, position, None) for _ in range(count))
        self._move_many(pod_class, counts, 1)
        self._log.append(("place many", (pod_class, counts)))

    def _move_many(self, pod_class: PodClass, counts: Mapping[int, int], sign: int) -> None:
        move = pod_class.come if sign > 0 else pod_class.leave
        for step in range(max(counts.values(), default=0)):
            move(of([position for position, count in counts.items() if count > step]))
        self._book(pod_class, [(position, sign * count) for position, count in counts.items()])
        self._hold(pod_class.pod, [position for position, count in counts.items() for _ in range(count)], sign)

    def remove(self, placement: Placement) -> None:
        """Remove a pod, with its claims for devices. Raises ValueError if it is not there."""
        self.set_aside(placement)
        if self._devices is not None and placement.holder:
            self.devices = self._devices.without_pod(placement.pod.namespace, placement.holder)

    def set_aside(self, placement: Placement) -> None:
        """Remove a pod on trial: its claims keep their devices. Raises ValueError if it is not there."""
        self._log.append(("remove", (placement, self._leave(placement))))

    def restore(self, placement: Placement) -> None:
        """Put back a pod that ``set_aside`` took away."""
        self._enter(placement)
        self._log.append(("place", placement))

    def mark(self) -> int:
        """Return a token for ``undo``. Marks nest: undoing an outer one undoes the inner ones."""
        return len(self._log)

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Undo at the end what is done inside, and forget what was removed there."""
        mark, removed = self.mark(), len(self.removed_in_cycle)
        try:
            yield
        finally:
            self.undo(mark)
            del self.removed_in_cycle[removed:]

    def undo(self, mark: int) -> None:
        """Undo every place, remove and change of storage and devices since ``mark``."""
        moved: dict[Placement, int] = {}
        many: list[tuple[PodClass, Mapping[int, int]]] = []
        while len(self._log) > mark:
            what, value = self._log.pop()
            if what == "place":
                self._unlist(value)
                moved[value] = moved.get(value, 0) - 1
            elif what == "place many":
                many.append(value)
                for position, count in value[1].items():
                    del self._on[position][-count:]
            elif what == "remove":
                placement, at = value
                self._list_at(placement, at)
                moved[placement] = moved.get(placement, 0) + 1
            elif what == "storage":
                self._storage = value
            else:
                self._devices = value
        # A dry run of preemption put most pods back itself: their counts are as before. Of the others, those that come
        # back are counted first, since no count may be negative.
        for placement, sign in sorted(moved.items(), key=lambda move: -move[1]):
            if sign:
                self._count(placement, sign)
        for pod_class, counts in many:
            self._move_many(pod_class, counts, -1)

    def _placement(self, pod: Pod | BoundPod, position: int) -> Placement:
        if isinstance(pod, BoundPod):
            return Placement(self.classes.of(pod.pod, pod.terminating), position, pod)
        return Placement(self.classes.of(pod), position, None)

    def _enter(self, placement: Placement) -> None:
        self._on.setdefault(placement.position, []).append(placement)
        self._count(placement, 1)

    def _here(self, position: int) -> list[Placement]:
        """Return the pods of a node, in order. Only what a caller does next may change the list."""
        pods = self._on.setdefault(position, [])
        if position not in self._read:
            self._read.add(position)
            pods[:0] = [self._placement(pod, position) for pod in self._first.get(position, ())]
        return pods

    def _leave(self, placement: Placement) -> int:
        at = self._unlist(placement)
        self._count(placement, -1)
        return at

    def _list_at(self, placement: Placement, at: int) -> None:
        """Undo ``_unlist``, which returned the place ``at``."""
        pods = self._on[placement.position]
        pods.append(placement)
        pods[at], pods[-1] = pods[-1], pods[at]

    def _unlist(self, placement: Placement) -> int:
        """Take a pod from its node's list, where the last pod moves to its place, as in NodeInfo.RemovePod.

        Return that place, counted from the end, to which the pods of ``objects`` never come.
        """
        pods = self._on.get(placement.position, [])
        at = pods.index(placement) - len(pods)
        pods[at], pods[-1] = pods[-1], pods[at]
        pods.pop()
        return at

    def _count(self, placement: Placement, sign: int) -> None:
        """Count a pod that comes to (sign 1) or leaves (sign -1) its node."""
        pod_class, position = placement.pod_class, placement.position
        (pod_class.come if sign > 0 else pod_class.leave)(only(position))
        self._book(pod_class, ((position, sign),))
        if pod_class.pod.host_ports or pod_class.pod.volumes:
            self._hold(pod_class.pod, (position,), sign)

    def _book(self, pod_class: PodClass, counts: Collection[tuple[int, int]]) -> None:
        """Add the requests of pods of a class: (position, how many come, or if negative, leave)."""
        self.ledger.book(counts, pod_class.requests)
        cpu, memory = pod_class.nonzero
        for position, count in counts:
            self.nonzero_cpu[position] += count * cpu
            self.nonzero_memory[position] += count * memory

    def _hold(self, pod: Pod, at: Sequence[int], sign: int) -> None:
        """Note the ports and claims of pods that come to or leave these nodes; a node may occur twice."""
        for port in pod.host_ports:
            by_ip = self._ports.setdefault((port.protocol, port.port), {})
            _bump(by_ip.setdefault(port.host_ip, NodeCounter()), at, sign)
        for volume in pod.volumes:
            if volume.kind == "persistentVolumeClaim":
                _bump(self._claims.setdefault((pod.namespace, volume.claim), NodeCounter()), at, sign)
            if volume.kind in ("persistentVolumeClaim", "ephemeral"):
                _bump(self.mounted, at, sign)

    # --- answers ----------------------------------------------------------------------------------------------------

    @property
    def storage(self) -> Storage:
        return self._storage

    @storage.setter
    def storage(self, storage: Storage) -> None:
        self._log.append(("storage", self._storage))
        self._storage = storage

    @property
    def devices(self) -> Devices | None:
        """Device classes, slices and claims; None: they are not modelled, and DynamicResources accepts every node."""
        return self._devices

    @devices.setter
    def devices(self, devices: Devices | None) -> None:
        if devices is not self._devices:
            self._log.append(("devices", self._devices))
            self._devices = devices

    def may_serve(self, pod: Pod) -> bool:
        """Return whether devices may serve a pod: it has claims, or requests a resource that a DeviceClass serves."""
        return bool(pod.resource_claims) or (self._devices is not None and self._devices.may_serve(pod))

    def pods_on(self, position: int) -> list[Placement]:
        """Return the pods of a node, in the order of the scheduler's cache (framework.NodeInfo.Pods)."""
        return list(self._here(position))

    def placements(self) -> Iterator[Placement]:
        for position in sorted({*self._on, *self._first}):
            yield from self._here(position)

    def pod_count(self, position: int) -> int:
        return self.ledger.requested(PODS)[position]

    def requested(self, position: int, resource: str) -> int:
        return self.ledger.requested(resource)[position]

    def port_conflicts(self, port: HostPort) -> NodeSet:
        """Return the nodes where a pod holds the port on the same address, or either side means every address."""
        by_ip = self._ports.get((port.protocol, port.port), {})
        ips = by_ip if port.host_ip == _EVERY else {port.host_ip, _EVERY} & by_ip.keys()
        conflicting = EMPTY
        for ip in ips:
            conflicting |= by_ip[ip].nodes
        return conflicting

    def claim_users(self, namespace: str, claim: str) -> NodeCounter:
        """Return how many pods of each node use a claim."""
        return self._claims.get((namespace, claim)) or NodeCounter()

    def namespace_labels(self, name: str) -> Labels:
        """Return the labels of a namespace; for an unknown one, the label that every namespace has."""
        return self.namespaces.get(name) or {NAMESPACE_NAME: name}

    def knows_namespace(self, name: str) -> bool:
        """Return whether a namespace is known, or a pod of it was placed."""
        return name in self.namespaces or name in self.classes.index.namespaces

    def in_selected_namespaces(self, pods: PodIndex, selector: Selector) -> NodeSet:
        """Return those of some pods whose namespaces a selector matches by their labels."""
        known = self._selected.setdefault(selector, {})
        pods_of_namespaces = EMPTY
        for name in pods.namespaces:
            if name not in known:
                known[name] = selector.matches(self.namespace_labels(name))
            if known[name]:
                pods_of_namespaces |= pods.in_namespace(name)
        return pods_of_namespaces


def _bump(tally: NodeCounter, at: Sequence[int], sign: int) -> None:
    if sign > 0:
        tally.add_each(at)
    else:
        for position in at:
            tally.subtract(only(position))
