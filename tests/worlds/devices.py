"""Devices, for worlds and for their exhaustive reference.

``with_devices(seed)`` is a world of the generator whose nodes announce devices and whose pods have claims;
in those of ``with_shared_claims(seed)`` most pods share claims, also with pods that run.
``Inventory`` allocates for the reference, by trying every choice in the scheduler's order; it shares nothing with the
product but field names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count
from typing import Any

from tests.worlds.clusters import Value, item
from tests.worlds.draw import Dice, Seeded
from tests.worlds.generator import World, seeded

API, DRIVER = "resource.k8s.io/v1", "gpu.example.com"
LEFT_OUT = frozenset(["pools", "node-name", "twice", "ephemeral"])
"""Features of the generator that say nothing about devices."""
TEMPLATES: Mapping[str, Value] = {  # a count of 0: all devices
    "one": {"exactly": {"count": 1}},
    "two": {"exactly": {"count": 2}},
    "an-a": {"exactly": {"count": 1, "model": "a"}},
    "a-b": {"exactly": {"count": 1, "model": "b"}},
    "alike": {"exactly": {"count": 2}, "matched": True},
    "all": {"exactly": {"count": 0}},
    "a-or-b": {"firstAvailable": [{"count": 1, "model": "a"}, {"count": 1, "model": "b"}]},
    "either": {"firstAvailable": [{"count": 2, "model": "a"}, {"count": 1}]},
}
SHARED, PAIR = "shared-gpu", "shared-pair"
SHARED_CLAIMS = {SHARED: "one", PAIR: "two"}
"""Claim → the template that asks for the same."""
STYLES = (["one"], ["two", "two"], ["an-a", "a-b"], ["one", "an-a", "either"], ["one", SHARED])
"""What the pods of one world ask for."""
SHARING = ([SHARED], ["one", SHARED], [SHARED, PAIR], ["one", SHARED, PAIR])
VARIED = (["alike", "one"], ["all", "one"], ["a-or-b"], ["a-or-b", "alike"], ["all", SHARED], ["alike", SHARED])
Held = tuple[tuple[str, tuple[str, ...]], ...]
"""(shared claim, or empty for a claim of its own; its devices), for each claim of a pod."""


# --- worlds ---------------------------------------------------------------------------------------------------------


def with_devices(seed: int, styles: Sequence[list[str]] = STYLES, plain: bool = False) -> World:
    """The world of a seed with devices; of those of the generator one that leaves room for them."""
    bases = (seeded(number) for number in count(100_000 + 50 * seed))
    world, dice = next(w for w in bases if LEFT_OUT.isdisjoint(w.features)), Dice(Seeded(20_000_000 + seed))
    manifests = json.loads(json.dumps(world.manifests))
    names = [v["metadata"]["name"] for v in world.cluster if v["kind"] == "Node"]
    found: list[Value] = [_class(), *_slices(dice, names, plain=plain)]
    used: set[tuple[str, str]] = set()
    style = dice.pick(list(styles))
    for value in manifests:
        if value["kind"] in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Pod") and dice.chance(0.8):
            spec = value["spec"] if value["kind"] == "Pod" else value["spec"]["template"]["spec"]
            chosen = [dice.pick(style) for _ in range(dice.pick([1, 1, 1, 2]))]
            spec["resourceClaims"] = [_reference(i, name) for i, name in enumerate(dict.fromkeys(chosen))]
            used |= {(value["metadata"]["namespace"], name) for name in chosen}
    made = [_object(namespace, name) for namespace, name in sorted(used) if dice.chance(0.97)]
    cluster = _with_claims_of_running_pods(dice, [*world.cluster, *found], manifests, made)
    return replace(world, manifests=[*made, *manifests], cluster=cluster, snapshot=True)


def with_shared_claims(seed: int) -> World:
    return with_devices(seed, SHARING, plain=True)


def with_varied_claims(seed: int) -> World:
    return with_devices(seed, VARIED, plain=True)


def _with_claims_of_running_pods(
    dice: Dice, cluster: list[Value], manifests: list[Value], made: list[Value]
) -> list[Value]:
    """The cluster where what runs of most apps has the claims of its manifest, if the devices suffice."""
    inventory, holders = Inventory([*cluster, *made]), list[Held]()
    users: dict[str, list[str]] = {}
    for value in manifests:
        references = _pod_spec(value).get("resourceClaims") if "spec" in value else None
        if not references or not dice.chance(0.7):
            continue
        of = value["metadata"]["namespace"], value["metadata"]["name"]
        live = [v for v in cluster if _app(v) == of]
        changed = [{**v, "spec": _with_references(v, references)} for v in live]
        held = list(_held(changed, inventory, holders))
        if all(one is not None for _, one in held):
            cluster = [next((c for v, c in zip(live, changed, strict=True) if v is each), each) for each in cluster]
            holders += [one for _, one in held if one]
            cluster += [c for pod, one in held if one for c in _claims(pod, one)]
            for pod, one in held:
                for shared in (claim for claim, _ in one or () if claim):
                    users.setdefault(shared, []).append(pod["metadata"]["name"])
    known = {shared: devices for one in holders for shared, devices in one if shared}
    return [*cluster, *(_shared(shared, pods, known[shared], inventory) for shared, pods in users.items())]


def _shared(full_name: str, pods: Sequence[str], devices: Sequence[str], inventory: Inventory) -> Value:
    """An allocated claim that running pods share."""
    namespace, _, name = full_name.partition("/")
    made = item("ResourceClaim", name, namespace, API, spec={"devices": _devices(TEMPLATES[SHARED_CLAIMS[name]])})
    return {**made, "status": _status(devices, inventory.node_of(devices[0]), pods)}


def _held(live: Sequence[Value], inventory: Inventory, holders: Sequence[Held]) -> Iterator[tuple[Value, Held | None]]:
    taken = list(holders)
    for pod in (v for v in live if v["kind"] == "Pod"):
        wants = inventory.wants(pod["spec"], pod["metadata"]["namespace"])
        one = inventory.allocated(wants, pod["spec"]["nodeName"], taken)
        taken += [one] if one else []
        yield pod, one


def _claims(pod: Value, held: Held) -> Iterator[Value]:
    """The allocated claims of a running pod."""
    meta, node = pod["metadata"], pod["spec"]["nodeName"]
    for reference, (shared, devices) in zip(pod["spec"]["resourceClaims"], held, strict=True):
        if shared:
            continue
        made = item("ResourceClaim", f"{meta['name']}-{reference['name']}-x", meta["namespace"], API)
        made["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": meta["name"], "controller": True}]
        made["spec"] = {"devices": _devices(TEMPLATES[reference["resourceClaimTemplateName"]])}
        made["status"] = _status(devices, node, [meta["name"]])
        yield made


def _status(devices: Sequence[str], node: str, pods: Sequence[str]) -> Value:
    pairs = (device.split("/") for device in devices)
    results = [{"request": "gpu", "driver": DRIVER, "pool": pool, "device": name} for pool, name in pairs]
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    allocation = {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": fields}]}}
    return {"allocation": allocation, "reservedFor": [{"resource": "pods", "name": pod, "uid": ""} for pod in pods]}


def _app(value: Value) -> tuple[str, str]:
    """The namespace and the app label of a live object with pods."""
    if value["kind"] not in ("Pod", "Deployment", "ReplicaSet", "StatefulSet"):
        return "", ""
    labels = (
        value["metadata"].get("labels") if value["kind"] == "Pod" else value["spec"]["template"]["metadata"]["labels"]
    )
    return value["metadata"]["namespace"], (labels or {}).get("app", "")


def _with_references(value: Value, references: list[Value]) -> Value:
    spec: Value = json.loads(json.dumps(value["spec"]))
    (spec if value["kind"] == "Pod" else spec["template"]["spec"])["resourceClaims"] = references
    return spec


def _pod_spec(value: Value) -> Value:
    spec: Value = value["spec"]
    return spec if value["kind"] == "Pod" else spec.get("template", {}).get("spec", {})


def _class() -> Value:
    return item("DeviceClass", "gpu", "", API, spec={"selectors": [_cel(f'device.driver == "{DRIVER}"')]})


def _cel(expression: str) -> Value:
    return {"cel": {"expression": expression}}


def _slices(dice: Dice, names: Sequence[str], *, plain: bool) -> Iterator[Value]:
    mixed = dice.chance(0.5)
    for name in (name for name in names if dice.chance(0.8)):
        devices = [_device(dice, f"gpu-{i}", mixed) for i in range(dice.pick([1, 2, 1, 3]))]
        if plain and dice.chance(0.8):  # one model on each node
            devices = [{**each, "attributes": devices[0]["attributes"]} for each in devices]
        yield _slice(name, devices, {"nodeName": name})
    if not plain and dice.chance(0.15):
        yield _slice("network", [_device(dice, "far-0", mixed)], {"allNodes": True})


def _slice(pool: str, devices: list[Value], place: Value) -> Value:
    spec = {"driver": DRIVER, "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1}, "devices": devices}
    return item("ResourceSlice", f"{pool}-gpus", "", API, spec={**spec, **place})


def _device(dice: Dice, name: str, mixed: bool) -> Value:
    model = dice.pick(["a", "b"]) if mixed else "a"
    found: Value = {"name": name, "attributes": {"model": {"string": model}}}
    if dice.chance(0.1):
        found["taints"] = [{"key": "worn", "effect": "NoSchedule"}]
    return found


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
    matched = {"constraints": [{"matchAttribute": f"{DRIVER}/model"}]} if "matched" in wanted else {}
    return {"requests": [request], **matched}


def _asked(wanted: Value) -> Value:
    amount = {"count": wanted["count"]} if wanted["count"] else {"allocationMode": "All"}
    found: Value = {"deviceClassName": "gpu", **amount}
    if "model" in wanted:
        found["selectors"] = [_cel(f'device.attributes["{DRIVER}"].model == "{wanted["model"]}"')]
    return found


# --- the reference --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Want:
    """One claim of a pod: any of ``options``, (count, model or empty); ``shared`` names a claim of several pods."""

    options: tuple[tuple[int, str], ...]
    shared: str = ""
    exists: bool = True
    matched: bool = False
    """All its devices are of one model."""


class Inventory:
    """All devices; a device has the name ``pool/device`` and the node that can use it, empty for all."""

    def __init__(self, objects: Sequence[Value]) -> None:
        slices = sorted((v for v in objects if v["kind"] == "ResourceSlice"), key=lambda v: v["spec"]["pool"]["name"])
        self._devices = [
            (f"{each['spec']['pool']['name']}/{d['name']}", each["spec"].get("nodeName", ""), _model(d))
            for each in slices
            for d in each["spec"]["devices"]
            if "taints" not in d
        ]
        self._worn = {each["spec"].get("nodeName") for each in slices for d in each["spec"]["devices"] if "taints" in d}
        self._node_of = {name: node for name, node, _ in self._devices}
        allocated = [v for v in objects if v["kind"] == "ResourceClaim" and "status" in v]
        self._held = {_owner(v): _names(v) for v in allocated if "ownerReferences" in v["metadata"]}
        self._shared = {_full_name(v): _names(v) for v in allocated if "ownerReferences" not in v["metadata"]}
        self._claims = {(v["kind"], v["metadata"].get("namespace"), v["metadata"]["name"]) for v in objects}

    def wants(self, spec: Value, namespace: str) -> tuple[Want, ...]:
        return tuple(self._want(reference, namespace) for reference in spec.get("resourceClaims", ()))

    def _want(self, reference: Value, namespace: str) -> Want:
        shared = reference.get("resourceClaimName", "")
        name = shared or reference["resourceClaimTemplateName"]
        kind = "ResourceClaim" if shared else "ResourceClaimTemplate"
        wanted = TEMPLATES[SHARED_CLAIMS.get(name, name)]
        options = [wanted["exactly"]] if "exactly" in wanted else wanted["firstAvailable"]
        exists = (kind, namespace, name) in self._claims
        key = f"{namespace}/{shared}" if shared else ""
        counts = tuple((each["count"], each.get("model", "")) for each in options)
        return Want(counts, key, exists, "matched" in wanted)

    def held_by(self, pod: Value) -> Held:
        """What a running pod holds."""
        meta, found = pod["metadata"], list[tuple[str, tuple[str, ...]]]()
        for reference in pod["spec"].get("resourceClaims", ()):
            shared = reference.get("resourceClaimName", "")
            key = f"{meta['namespace']}/{shared}" if shared else ""
            own = meta["namespace"], meta["name"], reference["name"]
            if key in self._shared or own in self._held:
                found.append((key, self._shared[key] if shared else self._held[own]))
        return tuple(found)

    def node_of(self, device: str) -> str:
        return self._node_of[device]

    def allocated(self, wants: Sequence[Want], node: str, holders: Sequence[Held]) -> Held | None:
        """What the wants get on a node beside what others hold; None if they cannot have it."""
        if not all(want.exists for want in wants):
            return None
        taken = {device for held in holders for _, devices in held for device in devices}
        known = {claim: devices for held in holders for claim, devices in held if claim}
        if any(self._node_of[d] not in ("", node) for w in wants if w.shared in known for d in known[w.shared]):
            return None
        usable = [(name, model) for name, where, model in self._devices if where in ("", node) and name not in taken]
        here = sum(where in ("", node) for _, where, _ in self._devices)
        return _chosen(tuple(wants), usable, known, 0 if node in self._worn else here)


def _owner(claim: Value) -> tuple[str, str, str]:
    """Namespace, pod and reference of a claim of a running pod."""
    meta = claim["metadata"]
    pod = meta["ownerReferences"][0]["name"]
    return meta["namespace"], pod, meta["name"].removeprefix(f"{pod}-").removesuffix("-x")


def _full_name(value: Value) -> str:
    return f"{value['metadata']['namespace']}/{value['metadata']['name']}"


def _names(claim: Value) -> tuple[str, ...]:
    return tuple(f"{one['pool']}/{one['device']}" for one in claim["status"]["allocation"]["devices"]["results"])


def _model(device: Value) -> str:
    found: Any = device["attributes"]["model"]["string"]
    return str(found)


def _chosen(
    wants: tuple[Want, ...], usable: list[tuple[str, str]], known: Mapping[str, tuple[str, ...]], whole: int
) -> Held | None:
    """What the wants get of the usable devices; ``whole`` devices are all of the node, 0 if nobody gets all."""
    if not wants:
        return ()
    first, *rest = wants
    if first.shared in known:
        after = _chosen(tuple(rest), usable, known, whole)
        return None if after is None else ((first.shared, known[first.shared]), *after)
    model_of = dict(usable)
    for number, model in first.options:
        if not number and (not whole or len(usable) < whole):
            continue
        for devices in combinations([name for name, own in usable if model in ("", own)], number or whole):
            if first.matched and len({model_of[each] for each in devices}) > 1:
                continue
            left = [each for each in usable if each[0] not in devices]
            after = _chosen(tuple(rest), left, known, whole)
            if after is not None:
                return ((first.shared, devices), *after)
    return None
