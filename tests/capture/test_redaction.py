"""With pseudonyms for names a cluster still schedules as it did, and none of its names is left."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesched_lint.engine.scheduler.replay import replay
from kubesched_lint.sources.capture import capture, connect
from kubesched_lint.sources.capture.resources import RESOURCES
from kubesched_lint.sources.redaction.redact import Redactor
from tests.capture.stand_in import ApiServer

DECISIONS = Path(__file__).parents[2] / "fixtures" / "conformance" / "decisions.jsonl.gz"
PARTS = {resource.kind: resource for resource in RESOURCES}
NAMES = st.text("ab1-./:", min_size=1, max_size=12)


def redactor(secret: bytes = b"of the tests") -> Redactor:
    return Redactor(secret)


@given(NAMES, NAMES)
def test_different_names_have_different_pseudonyms_and_equal_ones_the_same(one: str, other: str) -> None:
    ours = redactor()
    assert (ours.name(one) == ours.name(other)) == (one == other)


@given(st.text("abc", min_size=1), st.text("abc", min_size=1), st.integers(0, 9999))
def test_names_that_are_built_from_names_still_are(one: str, other: str, ordinal: int) -> None:
    ours = redactor()
    assert ours.name(f"{one}-{other}") == f"{ours.name(one)}-{ours.name(other)}"
    assert ours.name(f"{one}-{other}-{ordinal}") == f"{ours.name(f'{one}-{other}')}-{ordinal}"


def test_the_key_decides_about_the_pseudonyms() -> None:
    assert redactor().name("payments") == redactor().name("payments") != redactor(b"other").name("payments")
    assert re.fullmatch("[a-z]{7}", redactor().name("payments"))


def test_what_belongs_to_kubernetes_and_clouds_stays() -> None:
    ours = redactor()
    for name in ("default", "kube-system", "system-node-critical", "default-scheduler", "", "3", "131072"):
        assert ours.name(name) == name
    for key in ("app", "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type", "nvidia.com/gpu"):
        assert ours.label_key(key) == key
    assert ours.label_value("kubernetes.io/arch", "amd64") == "amd64"
    assert ours.resource("requests.cpu") == "requests.cpu"


def test_what_belongs_to_somebody_does_not() -> None:
    ours = redactor()
    for text in (
        *(ours.name("10.0.2.49"), ours.name("ip-10-0-2-49.eu-west-1.compute.internal"), ours.name("fe80::1")),
        *(ours.label_key("acme.com/team"), ours.label_key("mykubernetes.io/x"), ours.label_value("app", "payments")),
        *(ours.resource("gold.storageclass.storage.k8s.io/requests.storage"), ours.resource("requests.acme.com/fpga")),
    ):
        for leak in ("10", "49", "compute", "acme", "team", "payments", "gold", "fpga", "mykubernetes", "fe80"):
            assert leak not in re.split("[^a-z0-9]+", text), text


def test_words_of_a_vertical_autoscaler_stay_and_its_names_do_not() -> None:
    policy = {"containerName": "payments", "mode": "Off", "controlledResources": ["cpu"], "minAllowed": {"cpu": "1"}}
    redacted = Redactor(b"key").item({"spec": {"updateMode": "Initial", "containerPolicies": [policy]}})["spec"]
    (kept,) = redacted["containerPolicies"]
    assert redacted["updateMode"] == "Initial"
    assert kept.pop("containerName") not in ("payments", "*")
    assert kept == {"mode": "Off", "controlledResources": ["cpu"], "minAllowed": {"cpu": "1"}}


def test_zones_of_a_region_stay_zones_of_a_region() -> None:
    ours = redactor()
    region = ours.name("eu-west-1")
    assert ours.name("eu-west-1a") == f"{region}a"
    assert ours.name("eu-west-1b") == f"{region}b"
    assert "west" not in region


@pytest.mark.parametrize("name", ["ebs.csi.aws.com", "disks.acme.example"])
def test_a_driver_has_one_name_wherever_it_is_named(name: str) -> None:
    ours = redactor()
    driver = ours.item({"metadata": {"name": name}, "spec": {"preventPodSchedulingIfMissing": True}})
    node = ours.item({"metadata": {"name": "n0"}, "spec": {"drivers": [{"name": name}]}})
    assert {driver["metadata"]["name"], node["spec"]["drivers"][0]["name"]} == {
        ours.item({"provisioner": name})["provisioner"]
    }


def redacted(ours: Redactor, value: dict[str, Any]) -> dict[str, Any]:
    resource = PARTS[value["kind"]]
    item = msgspec.json.decode(json.dumps(value).encode(), type=resource.part)
    plain = ours.item(msgspec.json.decode(msgspec.json.encode(item)))
    return {"apiVersion": value["apiVersion"], "kind": value["kind"], **plain}


def redacted_case(ours: Redactor, case: dict[str, Any]) -> dict[str, Any]:
    def all_of(values: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [redacted(ours, value) for value in values]

    decisions = []
    for record in case["decisions"]:
        new = {"pod": redacted(ours, record["pod"]), "node": record.get("node") and ours.name(record["node"])}
        if record.get("volumes_after"):
            new["volumes_after"] = all_of(record["volumes_after"])
        decisions.append(new)
    lists = {key: all_of(case[key]) for key in ("nodes", "pods", "objects", "namespaces")}
    return {"id": case["id"], "kubernetes": case["kubernetes"], **lists, "decisions": decisions}


def test_recorded_pods_fit_the_same_nodes_under_pseudonyms() -> None:
    cases = [json.loads(line) for line in gzip.decompress(DECISIONS.read_bytes()).decode().splitlines()]
    compared = turned_away = 0
    for case in cases[::2]:
        ours = redactor()
        case["decisions"] = [r for r in case["decisions"] if "rejected" not in r]
        for (_, open_one), (_, hidden) in zip(replay(case), replay(redacted_case(ours, case)), strict=True):
            assert hidden.feasible == tuple(map(ours.name, open_one.feasible))
            assert hidden.total == {ours.name(node): points for node, points in open_one.total.items()}
            assert _counts(hidden.message) == _counts(open_one.message)
            compared += 1
            turned_away += not hidden.feasible
    assert compared > 150
    assert turned_away > 30


def _counts(message: str | None) -> str | None:
    """A message but for the names in it: of claims, of taints and of resources that somebody made up."""
    return message and re.sub(r'"[^"]*"|\{[^}]*\}|[a-z]+\.[a-z]+/[a-z]+', "_", message)


@pytest.mark.usefixtures("kubeconfig")
def test_no_name_of_the_recorded_cluster_is_left(api: ApiServer) -> None:
    open_one = capture(connect(), "2026-11-21T04:00:00Z")
    hidden = capture(connect(), "2026-11-21T04:00:00Z", redactor=redactor())
    assert hidden.counts == open_one.counts
    assert hidden.metadata["redacted"] is True
    text = b"".join(hidden.pieces()).decode()
    names = re.compile(r'"name":"([^"]+)"|"namespace":"([^"]+)"|"(?:app|region)":"([^"]+)"')
    words = {
        w for found in names.findall(b"".join(open_one.pieces()).decode()) for w in re.split(r"\W", "".join(found))
    }
    own = {w for w in words if not w.isdigit() and len(w) > 3} - {"default", "kube", "system", "cluster", "node"}
    own -= {"public", "lease", "critical"}  # Kubernetes' own names
    own -= {"amazonaws", "kubernetes"}  # they are in keys that stay
    assert {"shop", "cache", "compute", "internal"} <= own
    left = {word for word in re.split(r"\W", text) if word in own}
    assert not left
    for address in ("10-0-0", "10.0.0", "eu-west", "registry", "i-0000"):
        assert address not in text, address
    ours, theirs = hidden.cluster("h").inventory, open_one.cluster("o").inventory
    assert sorted(len(p.pod.labels) for p in ours.pods) == sorted(len(p.pod.labels) for p in theirs.pods)
    assert _owned(hidden) == _owned(open_one), "pods still belong to their Deployments and StatefulSets"


def _owned(snapshot: Any) -> list[tuple[str, int]]:
    cluster = snapshot.cluster("c")
    return sorted((w.kind, len(cluster.running.pods_of(w))) for w in cluster.inventory.workloads)
