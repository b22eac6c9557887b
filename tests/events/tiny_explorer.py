"""A search without any reduction: pods with names, every order of every step, no canonical forms, no counting.

It shares only the scheduler and the controllers' single syncs with the real search.
"""

from __future__ import annotations

from itertools import combinations, permutations

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.admission.schedulers import owner_selector
from kubesched_lint.engine.base.releases import RECORDED
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.controllers import deployment, statefulset
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scheduler.framework import diagnose
from kubesched_lint.engine.scheduler.preemption.preemption import preempt
from kubesched_lint.engine.scheduler.scoring import score


class Named(Struct, frozen=True):
    """One pod; ``node`` -1 while it waits, ``ready`` whether it will be once it runs."""

    workload: int
    revision: int
    name: int
    node: int = -1
    ready: bool = True


Pods = frozenset[Named]


class TinyExplorer:
    def __init__(
        self, nodes, workloads: list[Workload], pods: list[list[Pod]], *, expected: bool, version: str = RECORDED
    ) -> None:
        self.version = version
        self.index = NodeIndex(nodes)
        self.workloads = workloads
        self.pods = pods
        self.expected = expected
        self.preempting = False
        self.unready: set[int] = set()
        """Workloads whose pods, as they are made now, never become ready."""

    def ends(self, start: set[Pods], newest: list[int], replicas: list[int]) -> set[Pods]:
        """All states in which nothing moves."""
        seen, stack, final = set(start), list(start), set()
        while stack:
            state = stack.pop()
            after = list(self._next(state, newest, replicas))
            if not after:
                final.add(state)
            for other in after:
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        return final

    def _next(self, state: Pods, newest: list[int], replicas: list[int]):
        for pod in state:
            if pod.node < 0:
                candidate_nodes = self._candidate_nodes(state, pod)
                for node in candidate_nodes:
                    yield state - {pod} | {replace(pod, node=node)}
                if self.preempting and not candidate_nodes:
                    for node, victims in self._preemptions(state, pod):
                        yield state - victims - {pod} | {replace(pod, node=node)}
        for number, workload in enumerate(self.workloads):
            mine = [p for p in state if p.workload == number]
            step = self._deployment if workload.kind == "Deployment" else self._stateful
            yield from step(state, mine, number, newest[number], replicas[number])

    def _candidate_nodes(self, state: Pods, pod: Named):
        cluster = ClusterState(self.index, Inventory())
        for other in sorted(state, key=repr):
            if other.node >= 0:
                cluster.place(self.pods[other.workload][other.revision], other.node)
        spec = self.pods[pod.workload][pod.revision]
        feasible = diagnose(spec, cluster).feasible
        if self.expected and feasible & (feasible - 1):
            owner = owner_selector(self.workloads[pod.workload], spec.labels)
            feasible = score(spec, cluster, feasible, owner).best
        return list(positions(feasible))

    def _preemptions(self, state: Pods, pod: Named):
        """What upstream's preemption, in full, may choose for any ages that the other pods might have."""
        standing = sorted((p for p in state if p.node >= 0), key=repr)
        spec = self.pods[pod.workload][pod.revision]
        for ages in permutations(range(len(standing))):
            cluster = ClusterState(self.index, Inventory())
            for number, (other, age) in enumerate(zip(standing, ages, strict=True)):
                kept = self.pods[other.workload][other.revision]
                name = self.index.names[other.node]
                cluster.place(BoundPod(str(number), name, kept, start_time=f"2026-01-01T00:00:{age:02}Z"), other.node)
            for candidate in preempt(spec, diagnose(spec, cluster), cluster).equals:
                yield candidate.position, frozenset(standing[int(v.bound.name)] for v in candidate.victims)

    def _deployment(self, state, mine, number, newest, replicas):
        revisions = sorted({p.revision for p in mine})
        sets = [
            deployment.ReplicaSetSize(
                r, sum(p.revision == r for p in mine), sum(p.revision == r and p.node >= 0 and p.ready for p in mine)
            )
            for r in revisions
        ]
        sizes = deployment.sync(self.workloads[number].strategy, replicas, newest, sets)
        if not sizes:
            return
        ends = {state}
        for revision, size in sizes.items():
            have = [p for p in mine if p.revision == revision]
            if size > len(have):
                fresh = self._names(state, number, size - len(have))
                ends = {s | {self._fresh(number, revision, n) for n in fresh} for s in ends}
            else:
                ends = {s - gone for s in ends for gone in self._victims(mine, have, len(have) - size)}
        yield from ends

    def _victims(self, mine, have, count):
        """Waiting pods first, then unready ones, then those with the most siblings on their node; equals are drawn."""

        def rank(pod: Named) -> tuple[int, bool, int]:
            if pod.node < 0:
                return (0, False, 0)
            return (1, pod.ready, -sum(p.node == pod.node for p in mine))

        worst = sorted(map(rank, have))[:count]
        for gone in combinations(sorted(have, key=repr), count):
            if sorted(map(rank, gone)) == worst:
                yield frozenset(gone)

    def _stateful(self, state, mine, number, newest, replicas):
        members = {p.name: statefulset.OrdinalPod(p.revision, p.node >= 0 and p.ready) for p in mine}
        workload = self.workloads[number]
        budget = statefulset.budget(workload, replicas, self.version)
        ordered = workload.pod_management != "Parallel"
        decided = statefulset.sync(members, replicas, newest, ordered=ordered, budget=budget)
        if decided.create:
            yield state | {self._fresh(number, newest, o) for o in decided.create}
        gone = decided.delete or decided.update
        if gone:
            yield frozenset(p for p in state if p.workload != number or p.name not in gone)

    def _fresh(self, number: int, revision: int, name: int) -> Named:
        return Named(number, revision, name, ready=number not in self.unready)

    def _names(self, state, number, count):
        taken = {p.name for p in state if p.workload == number}
        return [n for n in range(len(taken) + count) if n not in taken][:count]


def outcome(state: Pods, number: int, newest: int) -> tuple[int, int, int, int]:
    """Bound, pending and new pods of a workload, and those that run and are not ready."""
    mine = [p for p in state if p.workload == number]
    bound = sum(p.node >= 0 for p in mine)
    unready = sum(p.node >= 0 and not p.ready for p in mine)
    return bound, len(mine) - bound, sum(p.revision == newest for p in mine), unready
