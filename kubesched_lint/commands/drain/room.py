"""Whether all pods fit beside a wave, by counting: a necessary condition, wherever the pods stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kubesched_lint.commands.drain.replay import Rules, Wave, Waves
from kubesched_lint.commands.drain.running_cluster import RunningCluster
from kubesched_lint.engine.cluster.ledger import PODS
from kubesched_lint.engine.cluster.nodeset import NodeSet, of, positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.pod import Pod


class Room:
    """For each set of nodes that some workload can reach: what all pods that can be nowhere else request."""

    def __init__(self, now: RunningCluster, rules: Rules) -> None:
        self._rules = rules
        self._index = now.simulated.index
        simulated = now.simulated
        daemons = [i for i in now.members if simulated.workloads[i].kind == "DaemonSet"]
        stay = (*now.staying, *(bound for i in daemons for bound in simulated.running.get(i, ())))
        resident = ClusterState(simulated.index, replace(simulated.objects, pods=stay))
        # A bare pod needs no room: it stays where it is, or goes for good.
        movers = [i for i in now.members if simulated.workloads[i].kind not in ("DaemonSet", "Pod")]
        moving = [(simulated.reach[i], pod) for i in movers for pod in _pods(now, i)]
        reaches = dict.fromkeys(reach for reach, _ in moving)
        self._asked = {nodes: _total(pod for reach, pod in moving if not reach & ~nodes) for nodes in reaches}
        self._free = {r: resident.ledger.free(r) for asked in self._asked.values() for r in asked}
        every = _everything(now).ledger
        self._counts = all(free >= 0 for r in self._free for free in every.free(r))
        """Whether no node holds more than it has: pods that stay on such a node need no room elsewhere."""

    def fits(self, done: Waves, wave: Wave) -> bool:
        """Return whether the resources of the nodes that are open during a wave suffice for every pod."""
        if not self._counts:
            return True
        at = self._index.positions
        gone = [name for names in done for name in names] if self._rules.remove else []
        closed = of([at[name] for name in (*wave, *gone)])
        new = of([at[name] for name in wave[: self._rules.surge]])
        return all(self._suffices(nodes, closed, new) for nodes in self._asked)

    def _suffices(self, nodes: NodeSet, closed: NodeSet, new: NodeSet) -> bool:
        there = [*positions(nodes & ~closed), *positions(nodes & new)]
        asked = self._asked[nodes].items()
        return all(amount <= sum(max(self._free[r][p], 0) for p in there) for r, amount in asked)


def _everything(now: RunningCluster) -> ClusterState:
    """Return the nodes with all pods of today."""
    simulated = now.simulated
    running = (bound for i in now.members for bound in simulated.running.get(i, ()))
    return ClusterState(simulated.index, replace(simulated.objects, pods=(*simulated.objects.pods, *running)))


def _pods(now: RunningCluster, number: int) -> Iterator[Pod]:
    running = now.simulated.running.get(number, ())
    yield from (bound.pod for bound in running if bound.node)


def _total(pods: Iterator[Pod]) -> Mapping[str, int]:
    total: dict[str, int] = {}
    for pod in pods:
        for resource, amount in {PODS: 1, **pod.requests}.items():
            if amount:
                total[resource] = total.get(resource, 0) + amount
    return total
