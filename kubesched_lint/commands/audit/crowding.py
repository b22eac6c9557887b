"""Whether lost pods leave each other room: proven by counting, for every order and wherever each of them goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kubesched_lint.commands.audit.running_cluster import ReplicaGroup
from kubesched_lint.engine.cluster.ledger import PODS
from kubesched_lint.engine.cluster.nodeset import NodeSet, of, positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.nodes.node import HOSTNAME, REGION, ZONE
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm
from kubesched_lint.engine.scheduler.plugins.inter_pod_affinity import selected_classes, selects_pod

_WHOLE = 1 << 60
"""What all lost pods together ask for of one resource: shares of it are integers, so that nothing is rounded up."""
_AMPLE = 1 << 80
"""Free on a node of unknown resources."""


_Kind = tuple[tuple[str, int], ...]
"""What pods ask for."""


class Crowding:
    """The lost pods of one loss, and what they can take from each other.

    A pod weighs as much as the largest of its shares in what all lost pods ask for of one resource. A node is closed to
    a pod once it lacks some resource, which takes others of at least the share that may be missing; or once another pod
    on it repels the pod. So if the nodes that are open now weigh more than all lost pods, and than those that repel,
    one of them is open whenever the pod comes.
    """

    def __init__(self, gone: Sequence[tuple[ReplicaGroup, int]], lost: NodeSet, state: ClusterState) -> None:
        self._gone = gone
        self._lost = lost
        self._state = state
        self._all: Counter[str] = Counter()
        for group, count in gone:
            for resource, amount in _asked(group.pod).items():
                self._all[resource] += count * amount
        self._weight = sum(count * self._weight_of(group.pod) for group, count in gone)
        places = map(state.index.positions.get, state.nominated)
        self._promised = of(position for position in places if position is not None)
        """Nodes on which waiting pods count as well."""
        self._weights: dict[_Kind, dict[int, int]] = {}
        """What pods ask for → the weights of nodes for them, by position."""
        self._known: dict[object, bool] = {}
        self.looks = 0
        """How many nodes were weighed."""

    def leaves_open(self, pod: Pod, rooms: Sequence[NodeSet]) -> bool:
        """Return whether some node of each of ``rooms`` is open whenever a lost pod like this one comes.

        All of them are open to it now, and only pods on the same node can change that. Without rooms, nothing is known.
        """
        repelling = self._repelling(pod) if rooms else None
        if repelling is None:
            return False
        asked = _asked(pod)
        kind = tuple(asked.items())
        return all(self._is_kept(asked, kind, room & ~self._promised, repelling) for room in rooms)

    def _is_kept(self, asked: Mapping[str, int], kind: _Kind, room: NodeSet, repelling: int) -> bool:
        key = (kind, repelling, room)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._outweighs(asked, self._weights.setdefault(kind, {}), room, repelling)
        return known

    def _outweighs(self, asked: Mapping[str, int], weights: dict[int, int], room: NodeSet, repelling: int) -> bool:
        """Return whether nodes of a room weigh more than all lost pods, even without those that repelling pods take.

        ``weights`` are those of nodes that were looked at before.
        """
        free = self._state.ledger.free
        rows = [(free(resource), amount - 1, self._all[resource]) for resource, amount in asked.items()]
        weight = largest = 0
        for position in positions(room):
            node_weight = weights.get(position)
            if node_weight is None:
                self.looks += 1
                missing = [int(min(row[position], _AMPLE) - less) * _WHOLE // whole for row, less, whole in rows]
                node_weight = weights[position] = max(min(missing), 0)
            weight += node_weight
            if node_weight > largest:
                largest = node_weight
            if weight - repelling * largest > self._weight:
                break
        return weight - repelling * largest > self._weight

    def _weight_of(self, pod: Pod) -> int:
        return max(-(-amount * _WHOLE // self._all[resource]) for resource, amount in _asked(pod).items())

    def _repelling(self, pod: Pod) -> int | None:
        """Return at most how many lost pods close a node to a pod by being on it; None if one may close several."""
        state, repelling = self._state, 0
        if pod.host_ports:
            repelling += sum(count for group, count in self._gone if group.pod.host_ports)
        for term in pod.required_anti_affinity:
            if _selects_by_place(term):
                return None
            repelling += state.classes.tally_of(selected_classes(term, pod.namespace, state)).total(self._lost)
        for holders in state.classes.repelling.possible(pod):
            if selects_pod(holders.term, holders.namespace, pod, state):
                repelling += sum(held.tally.total(self._lost) for held in holders.items)
        return None if repelling and not state.index.one_node_each(HOSTNAME) else repelling


def _asked(pod: Pod) -> Mapping[str, int]:
    """Return what a pod takes from a node: its requests, and the place of one pod."""
    taken = Counter({PODS: 1})
    taken.update({resource: amount for resource, amount in pod.requests.items() if amount > 0})
    return taken


def _selects_by_place(term: PodAffinityTerm) -> bool:
    """Return whether a term selects pods by labels that they get where they are bound."""
    return term.selector is not None and any(
        requirement.key in (ZONE, REGION) for requirement in term.selector.requirements
    )
