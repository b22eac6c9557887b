"""A redacted cluster gives the same devices to the same pods, and selectors tell no name."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched_lint.engine.model.decode.objects import decode_object
from kubesched_lint.engine.scheduler.devices.failures import SelectorError, UndecidedError
from kubesched_lint.engine.scheduler.devices.selectors.selectors import Selectors, has_cel
from kubesched_lint.engine.scheduler.replay import replay
from kubesched_lint.sources.capture import capture, connect
from kubesched_lint.sources.capture.resources import RESOURCES
from kubesched_lint.sources.redaction.redact import Redactor
from kubesched_lint.sources.redaction.redact_cel import UNREADABLE
from tests.capture.stand_in import ApiServer

RECORDED = Path(__file__).parents[2] / "fixtures" / "conformance" / "dra.jsonl.gz"
PARTS = {resource.kind: resource for resource in RESOURCES}
needs_cel = pytest.mark.skipif(not has_cel(), reason="needs the extra cel")


def trimmed(value: dict[str, Any]) -> dict[str, Any]:
    item = msgspec.json.decode(json.dumps(value).encode(), type=PARTS[value["kind"]].part)
    kept: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(item))
    return kept


def redacted(ours: Redactor, value: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": value["apiVersion"], "kind": value["kind"], **ours.item(trimmed(value))}


def redacted_case(ours: Redactor, case: dict[str, Any]) -> dict[str, Any]:
    for value in case["objects"]:
        ours.notice(trimmed(value))
    decisions = []
    for record in case["decisions"]:
        new = {"pod": redacted(ours, record["pod"]), "node": record.get("node") and ours.name(record["node"])}
        if "claims_after" in record:
            new["claims_after"] = [redacted(ours, value) for value in record["claims_after"]]
        decisions.append(new)
    lists = {key: [redacted(ours, value) for value in case[key]] for key in ("nodes", "pods", "objects", "namespaces")}
    return {"id": case["id"], "kubernetes": case["kubernetes"], **lists, "decisions": decisions}


@needs_cel
def test_recorded_pods_get_the_same_devices_under_pseudonyms() -> None:
    compared = turned_away = 0
    for line in gzip.decompress(RECORDED.read_bytes()).decode().splitlines()[::3]:
        case = json.loads(line)
        ours = Redactor(b"of the tests")
        for (_, open_one), (_, hidden) in zip(replay(case), replay(redacted_case(ours, case)), strict=True):
            assert hidden.feasible == tuple(map(ours.name, open_one.feasible)), case["id"]
            assert hidden.total == {ours.name(node): points for node, points in open_one.total.items()}
            assert _counts(hidden.message) == _counts(open_one.message)
            compared += 1
            turned_away += not hidden.feasible
    assert compared > 30
    assert turned_away > 10


def _counts(message: str | None) -> str | None:
    """Return a message without names."""
    return message and re.sub(
        r'"[^"]*"|no such key: .*|(?:claim|class|request) [^:]*|[\w.-]+/[\w.-]+|\{[^}]*\}', "_", message
    )


# --- selectors ----------------------------------------------------------------------------------------------------

A = 'device.attributes["gpu.acme.com"]'
SELECTORS = (
    'device.driver == "gpu.acme.com"',
    "'gpu.acme.com' == device.driver",
    'device.driver in ["gpu.acme.com", "x"]',
    f'{A}.model == "a100"',
    f'{A}.model in ["a100", "h100"] // the secret ones',
    f"{A}.model != {A}.brand",
    f'{A}.model.startsWith("a")',
    f'{A}.model.lowerAscii().matches("^A.*|a\\\\d+")',
    f'{A}.brand < "nvidia"',
    f"{A}.index > 1 && {A}.healthy",
    'device.capacity["gpu.acme.com"].memory.compareTo(quantity("40Gi")) >= 0',
    f'{A}.firmware.isGreaterThan(semver("1.2.0-beta"))',
    f'"brand" in {A} && {A}["brand"] == "nvidia"',
    f'"gpu.acme.com" in device.attributes && has({A}.brand)',
    f'{A}.exists(key, key == "brand")',
    'cel.bind(theirs, device.attributes["gpu.acme.com"], theirs.model == "a100")',
    f'{A}.?model.orValue("none") == "h100"',
    f'device.driver == "gpu.acme.com" && {A}.model.contains("100")',
    f'{A}[{A}.brand] == "x"',
    f"{A}.nothing == 1",
    f"{A}.firmware.isGreaterThan({A}.bios)",
    "device.allowMultipleAllocations",
    "true",
)
TEXTS = st.sampled_from(["a100", "h100", "nvidia", "acme", "A1", "gpu.acme.com"])
DEVICES = st.fixed_dictionaries(
    {
        "model": TEXTS.map(lambda text: {"string": text}),
        "index": st.integers(0, 3).map(lambda number: {"int": number}),
        "healthy": st.booleans().map(lambda flag: {"bool": flag}),
    },
    optional={
        "brand": TEXTS.map(lambda text: {"string": text}),
        "bios": st.sampled_from(["1.2.0-alpha", "1.2.0-zulu", "1.2.0-mike"]).map(lambda text: {"version": text}),
        "gpu.acme.com/firmware": st.sampled_from(
            ["1.2.0-alpha", "1.2.0-beta.2", "1.3.1", "1.2.0-zulu", "1.2.0-mike"]
        ).map(lambda text: {"version": text}),
    },
)


def verdict(expression: str, value: dict[str, Any]) -> object:
    each = decode_object(value, "")[1]
    try:
        return Selectors().matches(expression, each.driver, each.devices[0])
    except SelectorError as error:
        return re.sub(r"no such key: .*", "no such key", str(error))
    except UndecidedError:
        return "undecided"


@needs_cel
@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(SELECTORS), min_size=1, max_size=4), DEVICES, st.sampled_from(["gpu.acme.com", "x"]))
def test_selectors_choose_the_same_devices_under_pseudonyms(
    expressions: list[str], attributes: dict[str, Any], driver: str
) -> None:
    """Whatever other selectors the cluster has: these decide which texts stay."""
    device = {"name": "g0", "attributes": attributes, "capacity": {"memory": {"value": "80Gi"}}}
    spec = {"driver": driver, "pool": {"name": "n1"}, "nodeName": "n1", "devices": [device]}
    whole = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}
    selectors = [{"cel": {"expression": each}} for each in expressions]
    ours = Redactor(b"of the tests")
    ours.notice({"spec": {"selectors": selectors}})
    hidden = redacted(ours, whole)
    for each, shown in zip(expressions, ours.item({"selectors": selectors})["selectors"], strict=True):
        if shown["cel"]["expression"] == UNREADABLE:
            assert "exists" in each or f"[{A}" in each, each
            continue
        found = verdict(shown["cel"]["expression"], hidden)
        assert found == verdict(each, whole), (each, shown, hidden)


@pytest.mark.parametrize("expression", SELECTORS)
def test_no_name_of_a_driver_or_an_attribute_is_left_in_a_selector(expression: str) -> None:
    shown = Redactor(b"k").item({"expression": expression})["expression"]
    assert shown != UNREADABLE
    words = set(re.findall(r"\w+", shown))
    assert not words & {
        "gpu",
        "acme",
        "com",
        "model",
        "brand",
        "index",
        "memory",
        "firmware",
        "bios",
        "secret",
        "theirs",
    }, shown
    examines = re.search("startsWith|matches|contains|semver|<", expression)
    assert examines or not words & {"a100", "h100", "nvidia"}, shown


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver.startsWith("gpu.acme.com")',
        "acme(device.driver)",
        'device.driver == "gpu\\u002eacme.com"',
        '"acme" == "acme"',
        'device.attributes["gpu.acme.com"].`acme`',
        'device.driver == """acme"""',
    ],
)
def test_what_no_pseudonym_can_replace_is_left_out_whole(expression: str) -> None:
    """What such a selector chooses is unknown then; it is never taken as satisfied."""
    assert Redactor(b"k").item({"expression": expression})["expression"] == UNREADABLE
    device = {"name": "g0", "attributes": {}}
    spec = {"driver": "d", "pool": {"name": "n"}, "nodeName": "n", "devices": [device]}
    whole = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}
    assert verdict(UNREADABLE, whole) == "undecided"


def test_an_attribute_stays_readable_only_if_a_selector_looks_into_it() -> None:
    ours = Redactor(b"k")
    ours.notice([{"expression": f'{A}.model.startsWith("NV")'}, {"expression": f'{A}.model == "NVA100"'}])
    found = ours.item({"attributes": {"model": {"string": "NVA100"}, "uuid": {"string": "GPU-123456"}}})["attributes"]
    assert found[ours.name("model")] == {"string": "NVA100"}
    assert "GPU" not in json.dumps(found)
    assert '"NVA100"' in ours.item({"expression": f'{A}.model == "NVA100"'})["expression"], "it meets a readable value"


@pytest.mark.usefixtures("kubeconfig")
def test_a_page_of_slices_waits_for_the_selectors_of_the_claims(api: ApiServer) -> None:
    """Slices are listed before claims, and still keep what a claim looks into."""
    api.extra["/apis"] = (200, {"groups": [{"name": "resource.k8s.io", "versions": [{"version": "v1"}]}]})
    device = {"name": "g0", "attributes": {"model": {"string": "NVA100"}, "rack": {"string": "cellar"}}}
    spec = {"driver": "gpu.acme.com", "pool": {"name": "n1"}, "nodeName": "n1", "devices": [device]}
    selector = {"cel": {"expression": f'{A}.model.startsWith("NV")'}}
    wanted = {"requests": [{"name": "a", "exactly": {"deviceClassName": "gpu", "selectors": [selector]}}]}
    meta = {"name": "secret", "namespace": "n"}
    api.extra["/apis/resource.k8s.io/v1/resourceslices"] = (200, {"items": [{"metadata": {"name": "s"}, "spec": spec}]})
    api.extra["/apis/resource.k8s.io/v1/resourceclaims"] = (
        200,
        {"items": [{"metadata": meta, "spec": {"devices": wanted}}]},
    )
    ours = Redactor(b"k")
    found = capture(connect(), "2026-11-23T19:00:00Z", redactor=ours)
    text = b"".join(found.pieces()).decode()
    for leak in ("acme", "secret", "cellar", "rack", "g0"):
        assert leak not in text, leak
    inventory = found.cluster("c").inventory
    assert inventory.resource_slices[0].devices[0].attributes[ours.name("model")] == ("string", "NVA100")
    assert 'startsWith("NV")' in inventory.device_claims[0].requests[0].selectors[0]
