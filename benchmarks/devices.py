"""Pods with claims for devices, one after another: CPU time beside the same pods without claims, and its growth.

Run from the repository: ``python benchmarks/devices.py``. Every node has 8 devices with an id of their own; every pod
has its own claim, for one to four of them, by templates with selectors and a constraint. A pod is filtered, scored and
bound to the best node, the first of equals. Exit code 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from math import log2
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import lowest
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.devices.devices import (
    Device,
    DeviceClaimTemplate,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    NodeAccess,
    ResourceSlice,
)
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import Container, Pod, PodClaim
from kubesched_lint.engine.scheduler.devices.life import bound_devices, with_made_claims
from kubesched_lint.engine.scheduler.framework import diagnose
from kubesched_lint.engine.scheduler.scoring import score

DRIVER, PER_NODE = "gpu.example.com", 8
GOAL_SECONDS, GOAL_RATIO, GOAL_GROWTH = 3.0, 4.0, 1.2
CLASS = DeviceClass("gpu", selectors=(f'device.driver == "{DRIVER}"',))


def slices(nodes: int) -> Iterator[ResourceSlice]:
    """One slice per node, of one of three models; ids differ everywhere."""
    draw = random.Random(3)
    for n in range(nodes):
        devices = tuple(
            Device(
                f"gpu-{i}",
                {
                    "model": ("string", ("a100", "h100", "l40")[n % 3]),
                    "numa": ("int", i // 4),
                    "uuid": ("string", f"{draw.getrandbits(64):016x}"),
                },
            )
            for i in range(PER_NODE)
        )
        yield ResourceSlice(f"slice-{n}", DRIVER, f"node-{n}", 1, 1, NodeAccess(f"node-{n}"), devices=devices)


def templates() -> Iterator[DeviceClaimTemplate]:
    """Any device, one of a model, four of a NUMA node, and four of the best model at hand."""
    model = f'device.attributes["{DRIVER}"].model'
    any_, h100 = DeviceRequest("r", "gpu"), DeviceRequest("r", "gpu", selectors=(f'{model} == "h100"',))
    four = DeviceRequest("r", "gpu", count=4, selectors=(f'{model} != "l40"',))
    best = tuple(DeviceRequest(name, "gpu", selectors=(f'{model} == "{name}"',)) for name in ("h100", "a100", "l40"))
    yield DeviceClaimTemplate("default", "any", (any_,))
    yield DeviceClaimTemplate("default", "model", (h100,))
    yield DeviceClaimTemplate("default", "numa", (four,), (DeviceConstraint(f"{DRIVER}/numa"),))
    yield DeviceClaimTemplate("default", "best", (DeviceRequest("r", alternatives=best),))


def schedule(nodes: int, claims: int, *, with_devices: bool = True) -> tuple[float, int]:
    """CPU seconds to schedule as many pods as claims, and how many were bound."""
    index = NodeIndex([Node(f"node-{n}", {}, allocatable={"cpu": 64_000, "pods": 110}) for n in range(nodes)])
    made = list(templates())
    state = ClusterState(index, Inventory(nodes=index.nodes))
    by_name = {(template.namespace, template.name): template for template in made}
    state.devices = Devices({"gpu": CLASS}, tuple(slices(nodes)), by_name) if with_devices else None
    bound = 0
    begun = time.process_time()
    for i in range(claims):
        wanted = (PodClaim("x", template=made[i % len(made)].name),) if with_devices else ()
        pod = Pod("default", {}, containers=(Container("main"),), requests={"cpu": 100}, resource_claims=wanted)
        before = state.devices
        if before is not None:
            pod, state.devices = with_made_claims(pod, f"pod-{i}", before)
        feasible = diagnose(pod, state).feasible
        if not feasible:
            continue
        total = score(pod, state, feasible).total
        best = max(total.values(), default=0)
        chosen = next((index.position(name) for name, n in total.items() if n == best), lowest(feasible))
        if before is not None:
            state.devices = bound_devices(pod, f"pod-{i}", chosen, before, index)
        bound += 1
    return time.process_time() - begun, bound


def growth(name: str, sizes: list[tuple[int, int]]) -> bool:
    """Print CPU at three sizes, each twice the one before, and the exponent from the first to the last."""
    times = [schedule(nodes, claims)[0] for nodes, claims in sizes]
    exponent = log2(times[-1] / times[0]) / (len(times) - 1)
    met = exponent <= GOAL_GROWTH
    shown = "  ".join(f"{seconds:.2f} s" for seconds in times)
    print(f"{name:28} {shown}  exponent {exponent:.2f}  goal {GOAL_GROWTH}: {'met' if met else 'MISSED'}", flush=True)
    return met


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--nodes", type=int, default=1_000)
    arguments.add_argument("--claims", type=int, default=200)
    chosen = arguments.parse_args()
    nodes, claims = chosen.nodes, chosen.claims
    (ours, bound), (plain, _) = schedule(nodes, claims), schedule(nodes, claims, with_devices=False)
    is_fast = ours <= GOAL_SECONDS and ours / plain <= GOAL_RATIO
    goals = f"goals {GOAL_SECONDS:.0f} s, {GOAL_RATIO:.0f} x: {'met' if is_fast else 'MISSED'}"
    said = f"{ours:.2f} s CPU, {bound:,} bound, {ours / plain:.1f} x the pods without claims  {goals}"
    print(f"{f'{nodes:,} nodes, {claims:,} claims':28} {said}", flush=True)
    more_nodes = growth("four times the nodes", [(nodes // 4, claims), (nodes // 2, claims), (nodes, claims)])
    more_claims = growth("four times the claims", [(nodes, claims // 4), (nodes, claims // 2), (nodes, claims)])
    return 0 if is_fast and more_nodes and more_claims else 1


if __name__ == "__main__":
    sys.exit(main())
