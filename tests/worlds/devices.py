"""Devices, for worlds and for their exhaustive reference.

``with_devices(seed)`` is a world of the generator whose nodes announce devices and whose pods have claims;
in those of ``with_shared_claims(seed)`` most pods share claims, also with pods that run. In the other kinds it matters
which devices a pod gets: because of what it asks for, or because devices are partitions, or several claims share one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count

from msgspec.structs import replace

from tests.worlds.clusters import Value, item
from tests.worlds.draw import Dice, Seeded
from tests.worlds.generator import World, seeded
from tests.worlds.inventory import PAIR, RESOURCE, SHARED, SHARED_CLAIMS, TEMPLATES, Held, Inventory

API, DRIVER = "resource.k8s.io/v1", "gpu.example.com"
LEFT_OUT = frozenset(["pools", "node-name", "twice", "ephemeral"])
"""Features of the generator that say nothing about devices."""
STYLES = (["one"], ["two", "two"], ["an-a", "a-b"], ["one", "an-a", "either"], ["one", SHARED])
"""What the pods of one world ask for."""
SHARING = ([SHARED], ["one", SHARED], [SHARED, PAIR], ["one", SHARED, PAIR])
VARIED = (["alike", "one"], ["all", "one"], ["a-or-b"], ["a-or-b", "alike"], ["all", SHARED], ["alike", SHARED])
CHOOSING = (
    ["one", "an-a"],
    ["an-a", "either"],
    ["one", "alike"],
    ["unlike", "one"],
    ["a-or-b", "an-a"],
    ["an-a", SHARED],
)
"""Where it matters which device a pod gets."""
PARTED = (["one"], ["one", "an-a"], ["a-b", "an-a"], ["a-or-b", "one"])
SPLIT = (["share", "shares"], ["share", "one"], ["share", "shares", "an-a"])


def with_devices(
    seed: int, styles: Sequence[list[str]] = STYLES, kind: str = "any", *, resources: bool = False
) -> World:
    """The world of a seed with devices; of those of the generator one that leaves room for them."""
    bases = (seeded(number) for number in count(100_000 + 50 * seed))
    world, dice = next(w for w in bases if LEFT_OUT.isdisjoint(w.features)), Dice(Seeded(20_000_000 + seed))
    manifests = json.loads(json.dumps(world.manifests))
    names = [v["metadata"]["name"] for v in world.cluster if v["kind"] == "Node"]
    found: list[Value] = [_class(serves=resources), *_slices(dice, names, kind)]
    live = [_plugged(dice, v) if resources and v["kind"] == "Node" else v for v in world.cluster]
    used: set[tuple[str, str]] = set()
    style = dice.pick(list(styles))
    for value in manifests:
        if value["kind"] in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Pod") and dice.chance(0.8):
            spec = value["spec"] if value["kind"] == "Pod" else value["spec"]["template"]["spec"]
            if resources and dice.chance(0.7):
                _ask(dice, spec)
                continue
            chosen = [dice.pick(style) for _ in range(dice.pick([1, 1, 1, 2]))]
            spec["resourceClaims"] = [_reference(i, name) for i, name in enumerate(dict.fromkeys(chosen))]
            used |= {(value["metadata"]["namespace"], name) for name in chosen}
    made = [_object(namespace, name) for namespace, name in sorted(used) if dice.chance(0.97)]
    cluster = _with_claims_of_running_pods(dice, [*live, *found], manifests, made)
    return replace(world, manifests=[*made, *manifests], cluster=cluster, snapshot=True)


def with_shared_claims(seed: int) -> World:
    return with_devices(seed, SHARING, "plain")


def with_varied_claims(seed: int) -> World:
    return with_devices(seed, VARIED, "plain")


def with_choices(seed: int) -> World:
    return with_devices(seed, CHOOSING, "mixed")


def with_resources(seed: int) -> World:
    return with_devices(seed, (["one"],), "plain", resources=True)


def with_contested_resources(seed: int) -> World:
    """Some pods ask for a certain device, so that it matters which one serves a resource."""
    return with_devices(seed, (["an-a"], ["an-a", "one"]), "mixed", resources=True)


def with_failing_selectors(seed: int) -> World:
    """Some devices do not say their model, so that a selector of it ends the attempt on all nodes."""
    return with_devices(seed, (["one", "an-a"], ["two", "an-a"], ["an-a", "a-b"]), "failing")


def with_partitions(seed: int) -> World:
    return with_devices(seed, PARTED, "partitions")


def with_shares(seed: int) -> World:
    return with_devices(seed, SPLIT, "shares")


def _with_claims_of_running_pods(
    dice: Dice, cluster: list[Value], manifests: list[Value], made: list[Value]
) -> list[Value]:
    """The cluster where what runs of most apps has the claims of its manifest, if the devices suffice."""
    inventory, holders = Inventory([*cluster, *made]), list[Held]()
    users: dict[str, list[str]] = {}
    for value in manifests:
        spec = _pod_spec(value) if "spec" in value else {}
        if not (spec.get("resourceClaims") or _requested(spec)) or not dice.chance(0.7):
            continue
        of = value["metadata"]["namespace"], value["metadata"]["name"]
        live = [v for v in cluster if _app(v) == of]
        changed = [{**v, "spec": _wanting_as(spec, v)} for v in live]
        held = list(_held(changed, inventory, holders))
        if all(one is not None for _, one in held):
            cluster = [next((c for v, c in zip(live, changed, strict=True) if v is each), each) for each in cluster]
            holders += [one for _, one in held if one]
            cluster += [c for pod, one in held if one for c in _claims(pod, one, inventory)]
            for pod, one in held:
                for shared in (claim for claim, _ in one or () if claim):
                    users.setdefault(shared, []).append(pod["metadata"]["name"])
    known = {shared: devices for one in holders for shared, devices in one if shared}
    return [*cluster, *(_shared(shared, pods, known[shared], inventory) for shared, pods in users.items())]


def _shared(full_name: str, pods: Sequence[str], devices: Sequence[str], inventory: Inventory) -> Value:
    """An allocated claim that running pods share."""
    namespace, _, name = full_name.partition("/")
    made = item("ResourceClaim", name, namespace, API, spec={"devices": _devices(TEMPLATES[SHARED_CLAIMS[name]])})
    return {**made, "status": _status(devices, pods, inventory)}


def _held(live: Sequence[Value], inventory: Inventory, holders: Sequence[Held]) -> Iterator[tuple[Value, Held | None]]:
    taken = list(holders)
    for pod in (v for v in live if v["kind"] == "Pod"):
        wants = inventory.wants(pod["spec"], pod["metadata"]["namespace"])
        plugged = pod["spec"]["nodeName"] in inventory.plugged
        one = inventory.allocated([w for w in wants if w.of_node or not plugged], pod["spec"]["nodeName"], taken)
        taken += [one] if one else []
        yield pod, one


def _claims(pod: Value, held: Held, inventory: Inventory) -> Iterator[Value]:
    """The allocated claims of a running pod."""
    meta = pod["metadata"]
    references = pod["spec"].get("resourceClaims", ())
    for i, (shared, devices) in enumerate(held):
        if shared:
            continue
        name = references[i]["name"] if i < len(references) else "extended-resources"
        wanted = TEMPLATES[references[i]["resourceClaimTemplateName"]] if i < len(references) else TEMPLATES["one"]
        made = item("ResourceClaim", f"{meta['name']}-{name}-x", meta["namespace"], API)
        made["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": meta["name"], "controller": True}]
        made["spec"] = {"devices": _devices(wanted)}
        made["status"] = _status(devices, [meta["name"]], inventory)
        yield made


def _result(pool: str, device: str, units: int, *, split: bool) -> Value:
    found: Value = {"request": "gpu", "driver": DRIVER, "pool": pool, "device": device}
    return {**found, "shareID": "a", "consumedCapacity": {"memory": str(units)}} if split else found


def _status(devices: Sequence[str], pods: Sequence[str], inventory: Inventory) -> Value:
    """As createNodeSelector: one device of a node ties the claim to that node, and a device of the network does not."""
    split = inventory.is_split
    results = [_result(*device.split("/"), units, split=split) for device, units in Counter(devices).items()]
    allocation: Value = {"devices": {"results": results}}
    if node := next(filter(None, map(inventory.node_of, devices)), ""):
        fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": fields}]}
    return {"allocation": allocation, "reservedFor": [{"resource": "pods", "name": pod, "uid": ""} for pod in pods]}


def _app(value: Value) -> tuple[str, str]:
    """The namespace and the app label of a live object with pods."""
    if value["kind"] not in ("Pod", "Deployment", "ReplicaSet", "StatefulSet"):
        return "", ""
    labels = (
        value["metadata"].get("labels") if value["kind"] == "Pod" else value["spec"]["template"]["metadata"]["labels"]
    )
    return value["metadata"]["namespace"], (labels or {}).get("app", "")


def _wanting_as(wanted: Value, value: Value) -> Value:
    """The spec of a live object whose pods want the same devices."""
    found: Value = json.loads(json.dumps(value["spec"]))
    spec = found if value["kind"] == "Pod" else found["template"]["spec"]
    if "resourceClaims" in wanted:
        spec["resourceClaims"] = wanted["resourceClaims"]
    if amount := _requested(wanted):
        _request(spec["containers"][0], amount)
    return found


def _requested(spec: Value) -> str:
    found: str = spec.get("containers", [{}])[0].get("resources", {}).get("requests", {}).get(RESOURCE, "")
    return found


def _request(container: Value, amount: str) -> None:
    for what in ("requests", "limits"):
        container.setdefault("resources", {}).setdefault(what, {})[RESOURCE] = amount


def _ask(dice: Dice, spec: Value) -> None:
    """Let the pods of a spec request the extended resource, some of them for an init container too."""
    _request(spec["containers"][0], dice.pick(["1", "1", "2"]))
    if dice.chance(0.2):
        first = {**json.loads(json.dumps(spec["containers"][0])), "name": "first"}
        first.pop("ports", None)
        _request(first, dice.pick(["1", "2"]))
        spec.setdefault("initContainers", []).append(first)


def _plugged(dice: Dice, node: Value) -> Value:
    """The node, perhaps with a device plugin."""
    if not dice.chance(0.4):
        return node
    allocatable = {**node["status"]["allocatable"], RESOURCE: dice.pick(["1", "2", "3"])}
    return {**node, "status": {**node["status"], "allocatable": allocatable}}


def _pod_spec(value: Value) -> Value:
    spec: Value = value["spec"]
    return spec if value["kind"] == "Pod" else spec.get("template", {}).get("spec", {})


def _class(*, serves: bool) -> Value:
    spec: Value = {"selectors": [_cel(f'device.driver == "{DRIVER}"')]}
    return item("DeviceClass", "gpu", "", API, spec={**spec, "extendedResourceName": RESOURCE} if serves else spec)


def _cel(expression: str) -> Value:
    return {"cel": {"expression": expression}}


def _slices(dice: Dice, names: Sequence[str], kind: str) -> Iterator[Value]:
    mixed = dice.chance(0.5) or kind not in ("any", "plain")
    for name in (name for name in names if dice.chance(0.8)):
        if kind == "partitions":
            yield from _partitions(dice, name)
            continue
        devices = [_device(dice, f"gpu-{i}", mixed) for i in range(dice.pick([1, 2, 1, 3]))]
        if kind == "plain" and dice.chance(0.8):  # one model on each node
            devices = [{**each, "attributes": devices[0]["attributes"]} for each in devices]
        if kind == "failing":
            devices = [_silent(dice, each) for each in devices]
        if kind == "shares":
            devices = [_shared_device(dice, each) for each in devices]
        yield _slice(name, {"nodeName": name, "devices": devices})
    if (kind == "mixed" and dice.chance(0.3)) or (kind == "any" and dice.chance(0.15)):
        yield _slice("network", {"allNodes": True, "devices": [_device(dice, "far-0", mixed)]})


def _slice(pool: str, what: Value, name: str = "gpus", count: int = 1) -> Value:
    spec = {"driver": DRIVER, "pool": {"name": pool, "generation": 1, "resourceSliceCount": count}, **what}
    return item("ResourceSlice", f"{pool}-{name}", "", API, spec=spec)


def _partitions(dice: Dice, node: str) -> Iterator[Value]:
    """A card of three or four units, and its partitions: those of model a take one unit, of model b two."""
    amounts = {"counters": {"memory": {"value": str(dice.pick([3, 4]))}}}
    yield _slice(node, {"nodeName": node, "sharedCounters": [{"name": "card", **amounts}]}, "counters", 2)
    devices = [{**_device(dice, f"gpu-{i}", True), "taints": []} for i in range(dice.pick([2, 3, 4]))]
    for each in devices:
        units = {"a": "1", "b": "2"}[each["attributes"]["model"]["string"]]
        each["consumesCounters"] = [{"counterSet": "card", "counters": {"memory": {"value": units}}}]
        del each["taints"]
    yield _slice(node, {"nodeName": node, "devices": devices}, count=2)


def _shared_device(dice: Dice, device: Value) -> Value:
    capacity = {"memory": {"value": str(dice.pick([2, 3]))}}
    return {**device, "allowMultipleAllocations": True, "capacity": capacity}


def _device(dice: Dice, name: str, mixed: bool) -> Value:
    model = dice.pick(["a", "b"]) if mixed else "a"
    found: Value = {"name": name, "attributes": {"model": {"string": model}}}
    if dice.chance(0.1):
        found["taints"] = [{"key": "worn", "effect": "NoSchedule"}]
    return found


def _silent(dice: Dice, device: Value) -> Value:
    """The device without its taint, perhaps without its model."""
    return {"name": device["name"], "attributes": {} if dice.chance(0.25) else device["attributes"]}


def _reference(number: int, name: str) -> Value:
    key = "resourceClaimName" if name in SHARED_CLAIMS else "resourceClaimTemplateName"
    return {"name": f"gpu{number}", key: name}


def _object(namespace: str, name: str) -> Value:
    if name in SHARED_CLAIMS:
        wanted = TEMPLATES[SHARED_CLAIMS[name]]
        return item("ResourceClaim", name, namespace, API, spec={"devices": _devices(wanted)})
    return item("ResourceClaimTemplate", name, namespace, API, spec={"spec": {"devices": _devices(TEMPLATES[name])}})


def _devices(wanted: Value) -> Value:
    request: Value = {"name": "gpu"}
    if "exactly" in wanted:
        request["exactly"] = _asked(wanted["exactly"])
    else:
        asked = enumerate(wanted["firstAvailable"])
        request["firstAvailable"] = [{"name": f"choice{i}", **_asked(each)} for i, each in asked]
    rule = {"matched": "matchAttribute", "distinct": "distinctAttribute"}.get(wanted.get("models", ""))
    return {"requests": [request], **({"constraints": [{rule: f"{DRIVER}/model"}]} if rule else {})}


def _asked(wanted: Value) -> Value:
    amount = {"count": wanted["count"]} if wanted["count"] else {"allocationMode": "All"}
    found: Value = {"deviceClassName": "gpu", **amount}
    if "share" in wanted:
        found["capacity"] = {"requests": {"memory": str(wanted["share"])}}
    if "model" in wanted:
        found["selectors"] = [_cel(f'device.attributes["{DRIVER}"].model == "{wanted["model"]}"')]
    return found
