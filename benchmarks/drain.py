"""A plan to drain every node of a cluster that runs 100 workloads on 1,000 nodes (goal: under 30 s of CPU).

Run from the repository: ``python benchmarks/drain.py [NODES…]``; with several sizes it prints how CPU time grows. Exit
code 1 if the goal is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import log
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))

from msgspec.structs import replace

from benchmarks.lifecycle import manifest
from kubesched_lint.commands.drain.plan import DrainPlan
from kubesched_lint.commands.drain.run import drain
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node
from kubesched_lint.engine.model.pod import BoundPod, Owner, Pod
from kubesched_lint.engine.model.policy import ReplicaSet
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.placing import Copies, Placing
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet

NODES, WORKLOADS, GOAL = 1_000, 100, 30.0
_HASH = "5d4f9"


def cluster(count: int, workloads: int) -> Cluster:
    """Return a cluster of ``count`` nodes, half full, with its pods where the scheduler put them."""
    index = NodeIndex(
        tuple(
            Node(
                f"n{i}",
                {HOSTNAME: f"n{i}", ZONE: f"z{i % 3}", "pool": "ab"[i % 2]},
                allocatable={"cpu": 4000, "memory": 32 << 30, "pods": 110},
            )
            for i in range(count)
        )
    )
    made = tuple(_workload(number, 3 * count // workloads) for number in range(workloads))
    state = ClusterState(index)
    pods = tuple(bound for made_workload in made for bound in _running(made_workload, index, state))
    sets = tuple(
        ReplicaSet("default", f"{w.name}-{_HASH}", w.name, w.replicas, _HASH, 1, "Deployment")
        for w in made
        if w.kind == "Deployment"
    )
    inventory = Inventory(nodes=index.nodes, pods=pods, workloads=made, replica_sets=sets)
    kinds = {"Node", "Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "PodDisruptionBudget", "Namespace"}
    return Cluster(inventory, "made.yaml", "snapshot", frozenset(kinds))


def _workload(number: int, replicas: int) -> Workload:
    workload = decode_workload(manifest(number), "default", None, number)
    by_zone = any(term.topology_key == ZONE for term in workload.pod.required_anti_affinity)
    return replace(workload, replicas=2 if by_zone else replicas) if workload.kind != "DaemonSet" else workload


def _running(workload: Workload, index: NodeIndex, state: ClusterState) -> Iterator[BoundPod]:
    owner = Owner(workload.kind, workload.name)
    pod: Pod = workload.pod
    if workload.kind == "Deployment":
        owner = Owner("ReplicaSet", f"{workload.name}-{_HASH}")
        pod = replace(pod, labels={**pod.labels, "pod-template-hash": _HASH})
    if workload.kind == "DaemonSet":
        for position in positions(index.matching(pod.node_selector, None)):
            state.place(pod, position)
            yield BoundPod(f"{workload.name}-{position}", index.names[position], pod, owner)
        return
    for number, placement in enumerate(Placing([Copies(pod, None, workload.replicas)], state).run().placed):
        yield BoundPod(f"{workload.name}-{number}", index.names[placement.position], pod, owner)


def planned(count: int) -> tuple[DrainPlan, float, int]:
    made = cluster(count, WORKLOADS)
    began = process_time()
    plan = drain(ManifestSet(), made, Options())
    return plan, process_time() - began, len(made.inventory.pods)


def main() -> int:
    sizes = list(map(int, sys.argv[1:])) or [NODES]
    spent: list[float] = []
    for count in sizes:
        plan, seconds, pods = planned(count)
        spent.append(seconds)
        waves = "+".join(str(len(wave.nodes)) for wave in plan.waves)
        print(f"{WORKLOADS} workloads, {pods:,} pods, {count:,} nodes: {seconds:.2f} s of CPU; {plan.verdict} {waves}")
    for small, large, before, after in zip(sizes, sizes[1:], spent, spent[1:], strict=False):
        print(f"  {small:,} to {large:,} nodes: exponent {log(after / before) / log(large / small):.2f}")
    return 0 if max(spent) < GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
