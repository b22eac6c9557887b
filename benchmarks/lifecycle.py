"""The full matrix of ``simulate`` for 100 workloads on 1,000 nodes (goal: under 10 s of CPU).

Also the questions of cluster-capacity: how many pods of one spec fit on 12 and on 1,002 nodes, and whether 600 pods
with hostname anti-affinity fit (it took 0.7 s, 1.45 s and 8.7 s). Run from the repository: ``python
benchmarks/lifecycle.py``. Exit code 1 if the goal is missed.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from random import Random
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))

from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.placing import Copies, Placing
from kubesched_lint.engine.verdicts.matrix import EVENTS, Matrix

NODES, WORKLOADS, GOAL = 1_000, 100, 10.0


def nodes(count: int) -> tuple[Node, ...]:
    return tuple(
        Node(
            f"n{i}",
            {HOSTNAME: f"n{i}", ZONE: f"z{i % 3}", "pool": "ab"[i % 2]},
            allocatable={"cpu": 8000, "memory": 32 << 30, "pods": 110},
        )
        for i in range(count)
    )


def workload(number: int) -> Workload:
    return decode_workload(manifest(number), "default", None, number)


def manifest(number: int) -> dict[str, object]:
    draw = Random(number)
    app = f"app{number}"
    kind = draw.choice(["Deployment"] * 6 + ["StatefulSet"] * 2 + ["DaemonSet"])
    selects = {"labelSelector": {"matchLabels": {"app": app}}}
    cpu = "100m" if kind == "DaemonSet" else f"{draw.choice([100, 250, 500, 1000])}m"
    spec: dict[str, object] = {
        "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "256Mi"}}}]
    }
    shape = draw.randrange(6)
    if shape == 1:
        hard = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "topologyKey": ZONE}
        spec["topologySpreadConstraints"] = [{**selects, **hard}]
    if shape in (2, 4):
        term = {**selects, "topologyKey": HOSTNAME if shape == 2 else ZONE}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if shape == 3:
        spec["nodeSelector"] = {"pool": "a"}
    body: dict[str, object] = {
        "selector": {"matchLabels": {"app": app}},
        "template": {"metadata": {"labels": {"app": app}}, "spec": spec},
    }
    if kind != "DaemonSet":
        body["replicas"] = draw.randrange(2, 12)
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": app}, "spec": body}


def capacity(count: int, chosen: Workload, most: int) -> int:
    setting = SimulatedSet(nodes(count), Inventory(), (chosen,))
    return len(Placing([Copies(setting.pods[0], None, most)], setting.cluster).run().placed)


def main() -> int:
    started = process_time()
    setting = SimulatedSet(nodes(NODES), Inventory(), tuple(map(workload, range(WORKLOADS))))
    matrix = Matrix(setting)
    verdicts = Counter(
        matrix.cell(event, number).verdict for number in range(len(setting.workloads)) for event in EVENTS
    )
    spent = process_time() - started
    print(f"{WORKLOADS} workloads, {NODES:,} nodes: {spent:.2f} s of CPU (goal {GOAL:.0f} s); {dict(verdicts)}")
    plain = next(w for w in map(workload, range(50)) if not w.pod.spread and not w.pod.required_anti_affinity)
    apart = next(
        w for w in map(workload, range(50)) if any(t.topology_key == HOSTNAME for t in w.pod.required_anti_affinity)
    )
    for count, chosen, most in ((12, plain, 1_000), (1_002, plain, 1_000), (1_002, apart, 600)):
        began = process_time()
        placed = capacity(count, chosen, most)
        print(f"{placed} of {most} pods placed one by one on {count:,} nodes: {process_time() - began:.2f} s of CPU")
    return 0 if spent < GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
