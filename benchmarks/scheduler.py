"""One pod against 5,000 nodes and 150,000 running pods in some 3,000 classes: CPU time to filter, printed.

Run from the repository: ``python benchmarks/scheduler.py``. Exit code 1 if the goal (under 5 ms) is missed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[1]))

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, REGION, ZONE, Node, Taint
from kubesched_lint.engine.model.pod import (
    BoundPod,
    Container,
    HostPort,
    Pod,
    PodAffinityTerm,
    SpreadConstraint,
    Toleration,
)
from kubesched_lint.engine.scheduler.framework import diagnose

ZONES = ("a", "b", "c")
GOAL = 5.0


def selecting(**labels: str) -> Selector:
    return Selector(tuple(Requirement(key, "In", (value,)) for key, value in labels.items()))


def nodes(count: int) -> list[Node]:
    """Every tenth node is tainted, every fiftieth cordoned; three zones and 500 racks."""
    return [
        Node(
            f"node-{i}",
            {
                HOSTNAME: f"node-{i}",
                ZONE: f"region-{ZONES[i % 3]}",
                REGION: "region",
                "rack": f"rack-{i // 10}",
                "pool": f"pool-{i % 7}",
                "kubernetes.io/os": "linux",
            },
            taints=(Taint("dedicated", "batch"),) if i % 10 == 0 else (),
            unschedulable=i % 50 == 7,
            allocatable={"cpu": 64_000, "memory": 256 << 30, "ephemeral-storage": 500 << 30, "pods": 110},
        )
        for i in range(count)
    ]


def app(number: int, namespaces: int) -> Pod:
    """One workload's pod: half of them repel their own kind, a third spread, a few hold host ports."""
    name = f"app-{number}"
    own = selecting(app=name)
    requests = {"cpu": 100 + number % 5 * 50, "memory": (128 + number % 7 * 64) << 20}
    return Pod(
        f"ns-{number % namespaces}",
        {"app": name, "tier": ("front", "back")[number % 2], "team": f"team-{number % 40}"},
        containers=(Container("main", requests=requests),),
        requests=requests,
        required_anti_affinity=(PodAffinityTerm(HOSTNAME, own),) if number % 2 else (),
        spread=(SpreadConstraint(1, ZONE, "DoNotSchedule", own),) if number % 3 == 0 else (),
        host_ports=(HostPort(9000 + number),) if number % 100 == 0 else (),
        tolerations=(Toleration("dedicated", "Exists"),) if number % 20 == 0 else (),
    )


def incoming(number: int, namespaces: int) -> dict[str, Pod]:
    """Pods that use more and more filters."""
    plain = replace(app(number, namespaces), required_anti_affinity=(), spread=())
    own = selecting(app=f"app-{number}")
    return {
        "plain": plain,
        "anti-affinity on hostname and zone spread": replace(
            plain,
            required_anti_affinity=(PodAffinityTerm(HOSTNAME, own),),
            spread=(SpreadConstraint(1, ZONE, "DoNotSchedule", own),),
        ),
        "everything": replace(
            plain,
            node_selector={"kubernetes.io/os": "linux"},
            required_affinity=(PodAffinityTerm(ZONE, selecting(tier="front")),),
            required_anti_affinity=(
                PodAffinityTerm(HOSTNAME, own),
                PodAffinityTerm(HOSTNAME, selecting(team="team-3"), namespace_selector=Selector()),
            ),
            spread=(
                SpreadConstraint(1, ZONE, "DoNotSchedule", own),
                SpreadConstraint(20, HOSTNAME, "DoNotSchedule", selecting(tier="front"), node_taints_policy="Honor"),
                SpreadConstraint(80, "rack", "DoNotSchedule", selecting(tier="back")),
            ),
            host_ports=(HostPort(9006),),
        ),
    }


def cpu(work: Callable[[], object], repeats: int) -> float:
    """Milliseconds of CPU per call."""
    start = time.process_time()
    for _ in range(repeats):
        work()
    return (time.process_time() - start) / repeats * 1000


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--nodes", type=int, default=5_000)
    arguments.add_argument("--pods", type=int, default=150_000)
    arguments.add_argument("--apps", type=int, default=3_000)
    chosen = arguments.parse_args()
    draw = random.Random(1)
    apps = [app(n, 60) for n in range(chosen.apps)]
    bound = [
        BoundPod(f"pod-{i}", f"node-{draw.randrange(chosen.nodes)}", apps[i % chosen.apps]) for i in range(chosen.pods)
    ]
    start = time.process_time()
    index = NodeIndex(nodes(chosen.nodes))
    print(f"index of {chosen.nodes:,} nodes: {(time.process_time() - start) * 1000:.0f} ms CPU")
    start = time.process_time()
    state = ClusterState(index, Inventory(pods=tuple(bound)))
    print(f"state of {chosen.pods:,} pods in {len(state.classes):,} classes: {time.process_time() - start:.2f} s CPU")
    diagnose(app(0, 60), state)  # builds the index of labels
    worst = 0.0
    for name in incoming(6, 60):
        # Pods of many workloads, so that no cached result of one serves another.
        pods = [incoming(n, 60)[name] for n in range(6, 306, 6)]
        pods = [replace(p, requests={r: a + n for r, a in p.requests.items()}) for n, p in enumerate(pods)]
        spent = cpu(lambda pods=pods: [diagnose(p, state) for p in pods], 1) / len(pods)  # type: ignore[misc]
        again = cpu(lambda pod=pods[0]: diagnose(pod, state), 50)  # type: ignore[misc]
        feasible = diagnose(pods[0], state).feasible.bit_count()
        worst = max(worst, spent)
        print(f"filter, {name}: {spent:.2f} ms CPU a pod, {again:.2f} ms for one like it, {feasible:,} feasible")
    print(f"goal: under {GOAL:.0f} ms; {'met' if worst < GOAL else 'MISSED'}")
    return 0 if worst < GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
