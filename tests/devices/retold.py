"""Upstream's table tests, retold: read ``fixtures/devices/*.yaml``, whose heads explain their form."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.model.decode.devices import decode_device_claim, decode_device_class, decode_resource_slice
from kubesched_lint.engine.model.devices.devices import (
    AllocatedDevice,
    Allocation,
    DeviceClaim,
    DeviceClass,
    ResourceSlice,
)
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import NodeSelectorTerm, Pod, PodClaim
from kubesched_lint.engine.model.quantity import nanos
from kubesched_lint.engine.scheduler.devices.attempt import Attempt, OnNode

Value = dict[str, Any]
NODES = {"n1": "east", "n2": "west"}


@cache
def cases(name: str = "allocator") -> Mapping[str, Value]:
    text = (Path(__file__).parents[2] / "fixtures" / "devices" / f"{name}.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Value] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return found


def answer(case: Value) -> OnNode:
    """What our allocator gives on the node of a case."""
    index = NodeIndex([Node(name, labels={"region": region, "planet": "earth"}) for name, region in NODES.items()])
    claims = [claim_of(each) for each in case.get("claims", ())]
    pod = Pod("default", {}, resource_claims=tuple(PodClaim(claim.name, claim=claim.name) for claim in claims))
    devices = Devices(
        {name: class_of(name, what) for name, what in case["classes"].items()},
        tuple(slice_of(each) for each in case.get("slices", ())),
        claims={(claim.namespace, claim.name): claim for claim in (*claims, _held(case))},
    )
    return Attempt(pod, devices, index).on(index.position(case.get("node", "n1")))


def gives(found: OnNode) -> list[Value]:
    """The answer in the form of a case; devices sorted, because their order within a claim does not matter."""
    return [_told(claim.allocation) for claim in found.claims if claim.allocation is not None]


def _told(allocation: Allocation) -> Value:
    return {"nodes": _nodes(allocation.terms), "devices": sorted(map(_told_device, allocation.devices), key=str)}


def _told_device(held: AllocatedDevice) -> Any:
    text = f"{held.request} {'/'.join(held.id)}{' admin' if held.admin_access else ''}"
    return {text: {name: str(amount) for name, amount in held.consumed.items()}} if held.is_share else text


def _nodes(terms: tuple[NodeSelectorTerm, ...] | None) -> Any:
    if terms is None:
        return "all"
    (term,) = terms
    found = {r.key: list(r.values) for r in term.expressions} | {f".{r.key}": list(r.values) for r in term.fields}
    return found[".metadata.name"][0] if list(found) == [".metadata.name"] else found


def expected(case: Value) -> list[Value]:
    return [{**each, "devices": sorted(map(_exact, each["devices"]), key=str)} for each in case.get("gives", ())]


def _exact(held: Any) -> Any:
    if isinstance(held, str):
        return held
    ((text, amounts),) = held.items()
    return {text: {name: str(Fraction(*nanos(str(amount)))) for name, amount in amounts.items()}}


# --- from the short form to objects of the API ------------------------------------------------------------------------


def class_of(name: str, what: str | list[str] | Value) -> DeviceClass:
    expressions = [f'device.driver == "{what}"'] if isinstance(what, str) else what
    served = what["resource"] if isinstance(what, dict) else None
    spec = {"selectors": [] if served else _selectors(list(expressions)), "extendedResourceName": served}
    return decode_device_class({"metadata": {"name": name}, "spec": spec}, "", None)


def _selectors(expressions: list[str]) -> list[Value]:
    return [{"cel": {"expression": text}} if text else {} for text in expressions]


def slice_of(short: Value) -> ResourceSlice:
    driver, _, pool = short["pool"].partition("/")
    generation, count = short.get("generation", 1), short.get("of", 1)
    spec: Value = {
        "driver": driver,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
        "devices": [_device({"name": each} if isinstance(each, str) else each) for each in short.get("devices", ())],
        "sharedCounters": [
            {"name": name, "counters": _valued(counters)}
            for each in short.get("counters", ())
            for name, counters in each.items()
        ],
        **_place(short.get("at")),
    }
    return decode_resource_slice({"metadata": {"name": short["name"]}, "spec": spec}, "", None)


def _valued(amounts: Value) -> Value:
    return {name: {"value": str(amount)} for name, amount in amounts.items()}


def _place(where: Any) -> Value:
    if where is None:
        return {}
    if isinstance(where, str):
        return {"all": {"allNodes": True}, "each": {"perDeviceNodeSelection": True}}.get(where, {"nodeName": where})
    labels = [{"key": key, "operator": "In", "values": values} for key, values in where.items() if key[0] != "."]
    fields = [{"key": key[1:], "operator": "In", "values": values} for key, values in where.items() if key[0] == "."]
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": labels, "matchFields": fields}]}}


def _device(short: Value) -> Value:
    return {
        "name": short["name"],
        "attributes": {name: _attribute(value) for name, value in short.get("attributes", {}).items()},
        "capacity": {name: _capacity(value) for name, value in short.get("capacity", {}).items()},
        "consumesCounters": [
            {"counterSet": name, "counters": _valued(used)} for name, used in short.get("consumes", {}).items()
        ],
        "allowMultipleAllocations": short.get("shared"),
        "taints": [_taint(text) for text in short.get("taints", ())],
        "bindingConditions": ["ready"] if "waits" in short else [],
        "bindsToNode": short.get("binds"),
        **_place(short.get("at")),
    }


def _attribute(value: Any) -> Value:
    if isinstance(value, dict):
        return value
    kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "string"
    return {kind: value}


def _capacity(value: Any) -> Value:
    if not isinstance(value, dict):
        return {"value": str(value)}
    policy: Value = {"default": str(value["default"])}
    if "range" in value:
        policy["validRange"] = dict(zip(("min", "max", "step"), map(str, value["range"]), strict=True))
    if "values" in value:
        policy["validValues"] = [str(each) for each in value["values"]]
    return {"value": str(value["value"]), "requestPolicy": policy}


def _taint(text: str) -> Value:
    key, _, rest = text.partition("=")
    value, _, effect = rest.partition(":")
    return {"key": key, "value": value, "effect": effect}


def claim_of(short: Value) -> DeviceClaim:
    constraints = [
        {"matchAttribute": each.get("same"), "distinctAttribute": each.get("distinct"), "requests": each.get("of", [])}
        for each in short.get("constraints", ())
    ]
    devices = {"requests": [_request(each) for each in short["requests"]], "constraints": constraints}
    meta = {"name": short["name"], "deletionTimestamp": "2026-01-01T00:00:00Z" if "deleting" in short else None}
    status = _status(short["held"]) if "held" in short else {}
    return decode_device_claim({"metadata": meta, "spec": {"devices": devices}, "status": status}, "default", None)


def _status(held: Value) -> Value:
    results = []
    for text in held.get("devices", ()):
        request, device, *admin = text.split(" ")
        results.append({**_result(device), "request": request, "adminAccess": bool(admin)})
    place = held["nodes"] if isinstance(held["nodes"], dict) else {".metadata.name": [held["nodes"]]}
    reserved = [{"resource": "pods", "name": name} for name in held.get("by", ())]
    return {"allocation": {"devices": {"results": results}, **_place(place)}, "reservedFor": reserved}


def _request(short: Value) -> Value:
    if "first" in short:
        alternatives = [{"name": each["name"], **_exactly(each)} for each in short["first"]]
        return {"name": short["name"], "firstAvailable": alternatives}
    return {"name": short["name"], "exactly": _exactly(short)}


def _exactly(short: Value) -> Value:
    is_all = short.get("count") == "all"
    return {
        "deviceClassName": short["class"],
        "allocationMode": "All" if is_all else short.get("mode", "ExactCount"),
        "count": None if is_all else short.get("count", 1),
        "selectors": _selectors(short.get("select", [])),
        "tolerations": short.get("tolerate", []),
        "adminAccess": short.get("admin"),
        "capacity": {"requests": {name: str(amount) for name, amount in short.get("capacity", {}).items()}},
    }


def _held(case: Value) -> DeviceClaim:
    """One claim that holds all that others have taken."""
    results: list[Value] = [_result(held) for held in case.get("taken", ())]
    results += [
        {**_result(held), "shareID": "x", "consumedCapacity": {name: str(n) for name, n in amounts.items()}}
        for held, amounts in case.get("shares", {}).items()
    ]
    status = {"allocation": {"devices": {"results": results}}}
    return decode_device_claim({"metadata": {"name": "others"}, "status": status}, "default", None)


def _result(held: str) -> Value:
    return dict(zip(("driver", "pool", "device"), held.split("/"), strict=True)) | {"request": "r"}
