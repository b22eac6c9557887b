"""A drain of pods that claim devices is that of pods that request as many CPUs, on nodes with as many of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.drain.plan import DrainPlan
from kubesched_lint.commands.drain.replay import Rules
from kubesched_lint.commands.drain.run import drain
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from tests.devices.inventories import DRIVER
from tests.devices.sets import API, GPU_CLASS, devices_on, template, wanting
from tests.devices.sets import KINDS as OF_DEVICES
from tests.drain.made import KINDS, _nodes, _objects, cluster_of, drawn
from tests.drain.reference import App, Node, Reference
from tests.events.simulated import other, snapshot

Value = dict[str, Any]


def with_devices(made: Reference) -> Cluster:
    objects = json.loads(json.dumps([*_nodes(made), *(o for app in made.apps for o in _objects(app, made))]))
    free = {node.name: count() for node in made.nodes}
    found: list[Value] = [{**GPU_CLASS, "metadata": {**GPU_CLASS["metadata"], "namespace": "default"}}]
    for value in objects:
        if value["kind"] == "Node":
            cpus = int(value["status"]["allocatable"]["cpu"])
            value["status"]["allocatable"]["cpu"] = "100"
            found.append(devices_on(value["metadata"]["name"], cpus))
        elif value["kind"] != "PodDisruptionBudget":
            spec = value["spec"] if value["kind"] == "Pod" else value["spec"]["template"]["spec"]
            requests = spec["containers"][0]["resources"]["requests"]
            amount, requests["cpu"] = int(requests["cpu"]), "10m"
            if amount:
                spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": f"of-{amount}"}]
                found += _held(value, amount, free) if value["kind"] == "Pod" else ()
    for value in [*(template(f"of-{n}", n) for n in (1, 2)), *found]:
        value["metadata"].setdefault("namespace", "default")
        objects.append(value)
    return snapshot(*objects, kinds=(*KINDS, *OF_DEVICES))


def _held(pod: Value, amount: int, free: dict[str, Iterator[int]]) -> Iterator[Value]:
    """The claim of a running pod, with the next devices of its node."""
    name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
    claim = other("ResourceClaim", f"{name}-gpu-x", API, spec={"devices": wanting(amount)})
    claim["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": name, "controller": True}]
    held = {"request": "gpu", "driver": DRIVER, "pool": node}
    results = [{**held, "device": f"gpu-{next(free[node])}"} for _ in range(amount)]
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    selector = {"nodeSelectorTerms": [{"matchFields": fields}]}
    claim["status"] = {
        "allocation": {"devices": {"results": results}, "nodeSelector": selector},
        "reservedFor": [{"resource": "pods", "name": name, "uid": name}],
    }
    yield claim


def planned(cluster: Cluster, *, remove: bool = False) -> DrainPlan:
    return drain(ManifestSet(), cluster, Options(), nodes="n0" if remove else "", rules=Rules(remove=remove))


def told(plan: DrainPlan) -> tuple[object, ...]:
    """What must agree; which of several obstacles are the smallest set is not sought for devices."""
    return plan.verdict, plan.evidence, len(plan.waves), plan.is_fewest


@pytest.mark.parametrize("seed", range(14))
def test_devices_are_drained_as_cpus(seed: int) -> None:
    made = drawn(seed, most_nodes=3)
    ours, same = (planned(each, remove=made.remove) for each in (with_devices(made), cluster_of(made)))
    assert told(ours) == told(same)
    assert ours.evidence == "proven"


def test_where_numbers_do_not_decide_nothing_is_established() -> None:
    made = Reference([Node("n0", "a", 2), Node("n1", "b", 2)], [App("web", 1, (1, 0))])
    cluster = with_devices(made)
    assert planned(cluster).verdict == "possible"
    inventory = cluster.inventory
    mixed = [
        replace(each, devices=(replace(each.devices[0], is_shared=True), *each.devices[1:]))
        for each in inventory.resource_slices
    ]
    open_ = replace(cluster, inventory=replace(inventory, resource_slices=tuple(mixed)))
    plan = planned(open_)
    assert plan.verdict == "unknown"
    assert plan.missing == ("Deployment default/web claims devices: which ones its next pods get is unknown",)
