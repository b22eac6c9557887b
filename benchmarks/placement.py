"""The time to place 1,000 replicas of one workload one by one, with scores, on 1,000 nodes (goal: under 3 s of CPU).

Run from the repository: ``python benchmarks/placement.py``. Exit code 1 if the goal is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from time import process_time

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[1]))

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node, Taint
from kubesched_lint.engine.model.pod import (
    BoundPod,
    Container,
    Pod,
    PodAffinityTerm,
    SpreadConstraint,
    WeightedPodAffinityTerm,
)
from kubesched_lint.engine.placing.placing import Copies, Placing
from kubesched_lint.engine.scheduler.scoring import score

NODES, REPLICAS, RUNNING, CLASSES = 1_000, 1_000, 30_000, 3_000
GOAL = 3.0
GI = 1 << 30


def selector(app: str) -> Selector:
    return Selector((Requirement("app", "In", (app,)),))


def nodes() -> Iterator[Node]:
    for i in range(NODES):
        yield Node(
            f"node-{i:04}",
            {
                HOSTNAME: f"node-{i:04}",
                ZONE: f"zone-{'abc'[i % 3]}",
                "rack": f"r{i % 50}",
                "pool": "spot" if i % 4 == 0 else "steady",
            },
            taints=(Taint("spot", "", "PreferNoSchedule"),) if i % 4 == 0 else (),
            allocatable={"cpu": 32_000 + 16_000 * (i % 3), "memory": 128 * GI, "pods": 110},
        )


def pod(app: str, cpu: int, memory: int, **more: object) -> Pod:
    asked = {"cpu": cpu, "memory": memory}
    bare = Pod("shop", {"app": app}, containers=(Container("c", asked),), requests=asked)
    return replace(bare, **more)  # type: ignore[arg-type]


def running() -> Iterator[BoundPod]:
    """Pods of many applications; every tenth prefers to be near or far from its own kind."""
    for number in range(CLASSES):
        app = f"app-{number}"
        term = WeightedPodAffinityTerm(50, PodAffinityTerm(ZONE if number % 20 else HOSTNAME, selector(app)))
        more: dict[str, object] = {"preferred_anti_affinity": (term,)} if number % 10 == 0 else {}
        alike = pod(app, 50 + number % 7 * 50, (number % 5 + 1) * GI // 8, **more)
        for i in range(RUNNING // CLASSES):
            yield BoundPod(f"{app}-{i}", f"node-{(number * 7 + i * 131) % NODES:04}", alike)


def workloads() -> Iterator[tuple[str, Pod]]:
    web = selector("web")
    yield "requests alone", pod("web", 250, GI // 4)
    yield (
        "spread over zones and hosts",
        pod(
            "web",
            250,
            GI // 4,
            spread=(
                SpreadConstraint(1, ZONE, "DoNotSchedule", web),
                SpreadConstraint(1, HOSTNAME, "ScheduleAnyway", web),
            ),
        ),
    )
    yield (
        "preferred anti-affinity",
        pod(
            "web", 250, GI // 4, preferred_anti_affinity=(WeightedPodAffinityTerm(100, PodAffinityTerm(HOSTNAME, web)),)
        ),
    )
    everyone = PodAffinityTerm("rack", Selector(()))
    yield (
        "all of these, and away from every other pod",
        pod(
            "web",
            250,
            GI // 4,
            spread=(
                SpreadConstraint(1, ZONE, "DoNotSchedule", web),
                SpreadConstraint(5, "rack", "ScheduleAnyway", web),
                SpreadConstraint(1, HOSTNAME, "ScheduleAnyway", web),
            ),
            preferred_anti_affinity=(
                WeightedPodAffinityTerm(100, PodAffinityTerm(HOSTNAME, web)),
                WeightedPodAffinityTerm(1, everyone),
            ),
        ),
    )


def main() -> int:
    index = NodeIndex(tuple(nodes()))
    objects = Inventory(pods=tuple(running()))
    print(f"{REPLICAS:,} replicas on {NODES:,} nodes beside {RUNNING:,} running pods in {CLASSES:,} classes")
    worst = 0.0
    for name, copy in workloads():
        state = ClusterState(index, objects)
        begun = process_time()
        placed = len(Placing([Copies(copy, None, REPLICAS)], state, seed=1).run().placed)
        took = process_time() - begun
        worst = max(worst, took)
        print(f"  {name}: {placed:,} placed in {took:.2f} s of CPU")
        begun = process_time()
        score(copy, state, index.all)
        print(f"    scored once from scratch on all nodes: {(process_time() - begun) * 1000:.1f} ms")
    print(f"slowest {worst:.2f} s, goal {GOAL:.0f} s: {'met' if worst < GOAL else 'MISSED'}")
    return 0 if worst < GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
