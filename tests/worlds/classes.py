"""``with_classes(seed)``: worlds whose pods have a RuntimeClass that selects nodes, tolerates taints or takes room."""

from __future__ import annotations

import json
from itertools import count

from msgspec.structs import replace

from tests.worlds.clusters import Value, item
from tests.worlds.draw import Dice, Seeded
from tests.worlds.generator import World, seeded
from tests.worlds.wanted import WORKLOADS

LEFT_OUT = frozenset(["runs", "pools", "node-name", "twice", "absent-class"])
"""Features of the generator that say nothing about new pods on today's nodes."""
NAME = "sandbox"


def with_classes(seed: int) -> World:
    bases = (seeded(number) for number in count(500_000 + 50 * seed))
    world, dice = next(w for w in bases if LEFT_OUT.isdisjoint(w.features)), Dice(Seeded(30_000_000 + seed))
    manifests = [_daemon(v) if v["kind"] == "Deployment" and dice.chance(0.4) else v for v in world.manifests]
    manifests = json.loads(json.dumps(manifests))
    for value in (v for v in manifests if v["kind"] in WORKLOADS and dice.chance(0.7)):
        spec = value["spec"] if value["kind"] == "Pod" else value["spec"]["template"]["spec"]
        spec["runtimeClassName"] = NAME
    nodes = [_tainted(dice, v) if v["kind"] == "Node" else v for v in world.cluster]
    made = [_class(dice, nodes)] if dice.chance(0.9) else []
    if dice.chance(0.3):
        return replace(world, manifests=[*made, *manifests], cluster=nodes)
    return replace(world, manifests=manifests, cluster=[*nodes, *made])


def _daemon(value: Value) -> Value:
    spec = {key: value["spec"][key] for key in ("selector", "template")}
    return {**value, "kind": "DaemonSet", "spec": spec}


def _tainted(dice: Dice, node: Value) -> Value:
    if not dice.chance(0.3):
        return node
    taint = {"key": NAME, "value": "", "effect": dice.pick(["NoSchedule", "NoSchedule", "NoExecute"])}
    spec = node.get("spec", {})
    return {**node, "spec": {**spec, "taints": [*spec.get("taints", ()), taint]}}


def _class(dice: Dice, nodes: list[Value]) -> Value:
    scheduling: Value = {}
    if dice.chance(0.6):
        labels = [each for v in nodes if v["kind"] == "Node" for each in sorted(v["metadata"]["labels"].items())]
        scheduling["nodeSelector"] = dict([dice.pick(labels)])
    if dice.chance(0.6):
        scheduling["tolerations"] = [dice.pick([{"key": NAME, "operator": "Exists"}, {"operator": "Exists"}])]
    found: Value = {"handler": "x", "scheduling": scheduling}
    if dice.chance(0.3):
        found["overhead"] = {"podFixed": {"cpu": dice.pick(["250m", "500m"])}}
    return {**item("RuntimeClass", NAME, "", "node.k8s.io/v1"), **found}
