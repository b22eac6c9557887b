"""Inputs that ended a run, or a rule, with an exception of ours; what each says today."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesched_lint import lint, load_cluster, simulate
from kubesched_lint.engine.model.decode.objects import READ_KINDS, decode_object, is_read
from kubesched_lint.engine.scheduler.devices import allocator
from kubesched_lint.findings import Report
from kubesched_lint.report.findings.formats import FORMATS
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.loader import documents
from tests.garbage.commands import command
from tests.garbage.garbage import FIXTURES, ZONES

MANIFESTS = FIXTURES / "garbage" / "manifests.yaml"
OBJECTS = {
    value["kind"]: value
    for entry in documents("m.yaml", MANIFESTS.read_bytes(), is_read)
    if isinstance(entry, Document)
    for value in [entry.value]
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a"},
    "spec": {"nodeSelector": {"a": "b"}, "containers": [{"name": "c", "image": "i"}]},
}
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "q"},
    "spec": {"hard": {"requests.cpu": "1", "limits.cpu": "1"}},
}


def text_of(*objects: Any) -> str:
    return str(yaml.dump_all(objects, Dumper=yaml.CSafeDumper))


def linted(*objects: Any, with_nodes: bool = True) -> Report:
    report = lint(text=text_of(*objects), cluster=load_cluster(ZONES) if with_nodes else None, profile="strict")
    assert [error.message for error in report.errors if error.message.startswith("rule ")] == []
    return report


def test_one_object_of_each_kind_that_is_read_is_there() -> None:
    assert OBJECTS.keys() == READ_KINDS


@pytest.mark.parametrize("kind", sorted(READ_KINDS))
def test_every_object_may_be_defined_twice(kind: str) -> None:
    once, again = OBJECTS[kind], deepcopy(OBJECTS[kind])
    again["metadata"]["labels"] = {"differs": "yes"}
    assert "defined-twice" in {finding.rule for finding in linted(once, again).findings}
    assert "defined-twice" not in {finding.rule for finding in linted(once, once).findings}


@pytest.mark.parametrize("kind", sorted(READ_KINDS))
def test_every_object_knows_its_name_and_its_source(kind: str) -> None:
    (entry,) = documents("m.yaml", text_of(OBJECTS[kind]).encode(), is_read)
    _, decoded = decode_object(OBJECTS[kind], "default", entry)
    assert (decoded.name, decoded.source) == (OBJECTS[kind]["metadata"]["name"], entry)


@pytest.mark.parametrize("shown", FORMATS)
@pytest.mark.parametrize("metadata", [None, {}, {"name": None}, {"generateName": ""}])
def test_an_object_without_a_name_is_reported_like_any_other(
    metadata: Any, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # of two alike, each report shows one and how the other differs
    Path("app.yaml").write_text(text_of({**POD, "metadata": metadata}, {**POD, "metadata": metadata}, POD), "utf-8")
    code, out, _ = command("lint", "app.yaml", "-c", str(ZONES), "--no-config", "--no-cache", "-f", shown)
    assert code == 1
    assert "nodeselector-matches-nothing" in out
    assert "Pod default/(no name)" in out


def test_an_object_without_a_name_has_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app.yaml").write_text(text_of({**POD, "metadata": {}}), "utf-8")
    assert "\ndefault/(no name)  refused" in command("simulate", "app.yaml", "-c", str(ZONES), "--no-config")[1]


def test_a_pool_of_the_manifests_adds_no_nodes_where_none_are_known() -> None:
    refused = {**POD, "metadata": {"name": "A_b"}}
    assert "api-would-reject" in {
        finding.rule for finding in linted(OBJECTS["NodePool"], refused, with_nodes=False).findings
    }


WRONG: list[Any] = [1.5, "a", [1], [["a"]], {"a": 1}, [None]]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
@pytest.mark.parametrize(
    "at",
    [
        ("Job", "containers", 0, "resources", "claims"),
        ("Job", "ephemeralContainers"),
        ("Deployment", "containers", 0, "volumeMounts"),
        ("Deployment", "containers", 0, "volumeDevices"),
    ],
    ids=str,
)
def test_what_rules_read_as_it_is_written_may_be_anything(at: tuple[Any, ...], wrong: Any) -> None:
    kind, *steps, last = at
    value = deepcopy(OBJECTS[kind])
    here = value["spec"]["template"]["spec"]
    for step in steps:
        here = here[step]
    here[last] = wrong
    linted(value, *(OBJECTS[kind] for kind in ("PersistentVolumeClaim", "ResourceClaimTemplate", "DeviceClass")))


@pytest.mark.parametrize("skew", [0, -1, None])
@pytest.mark.parametrize("with_nodes", [True, False])
def test_a_skew_that_no_api_server_takes_fails_no_rule(skew: Any, with_nodes: bool) -> None:
    pod = deepcopy(POD)
    spread = {"topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 9}
    pod["spec"]["topologySpreadConstraints"] = [{**spread, "maxSkew": skew, "labelSelector": {}}]
    assert "api-would-reject" in {finding.rule for finding in linted(pod, with_nodes=with_nodes).findings}


NEGATIVE = "must be greater than or equal to 0"


@pytest.mark.parametrize("amount", [-1, "-1m", "-0.5", -(2**63)])
@pytest.mark.parametrize("at", ["requests", "limits", "overhead", "of the pod"])
def test_no_pod_has_a_negative_amount(amount: Any, at: str) -> None:
    pod = deepcopy(POD)
    del pod["spec"]["nodeSelector"]
    if at == "overhead":
        pod["spec"]["overhead"] = {"cpu": amount}
    elif at == "of the pod":
        pod["spec"]["resources"] = {"requests": {"cpu": amount}}
    else:
        pod["spec"]["containers"][0]["resources"] = {at: {"cpu": amount}}
    (outcome,) = simulate(text=text_of(pod, QUOTA), cluster=load_cluster(ZONES), events=["deploy"]).outcomes
    assert outcome.verdict == "refused"
    assert NEGATIVE in outcome.message
    refused = [finding for finding in linted(pod, QUOTA).findings if NEGATIVE in finding.message]
    assert {finding.rule for finding in refused} == {"api-would-reject"}


def test_nothing_but_a_pod_has_one_either() -> None:
    for kind, at in (("ResourceQuota", "hard"), ("PersistentVolume", "capacity"), ("NodePool", "limits")):
        value = deepcopy(OBJECTS[kind])
        value["spec"][at] = dict.fromkeys(value["spec"][at], "-5")
        linted(*(value if each is OBJECTS[kind] else each for each in OBJECTS.values()))


@pytest.mark.parametrize("name", ["plan", "simulate", "drain", "audit", "why", "lint"])
def test_a_search_for_devices_that_is_given_up_is_an_unknown_answer(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(allocator, "MOST_TRIES", 0)
    pod = deepcopy(OBJECTS["Pod"])
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1"},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9", "hugepages-2Mi": "8Mi"}},
    }
    shared = [OBJECTS[kind] for kind in ("ResourceClaim", "DeviceClass", "ResourceSlice")]
    Path("after.yaml").write_text(text_of(pod, *shared), "utf-8")
    Path("cluster.yaml").write_text(
        text_of(node, *shared, {**pod, "metadata": {**pod["metadata"], "name": "b"}}), "utf-8"
    )
    pod["spec"]["priority"] = 7
    Path("before.yaml").write_text(text_of(pod, *shared), "utf-8")
    files = {"plan": ["before.yaml", "after.yaml"], "audit": [], "why": ["single", "after.yaml"]}.get(
        name, ["after.yaml"]
    )
    _, out, err = command(name, *files, "-c", "cluster.yaml", "--no-config")
    if name in ("plan", "simulate", "why"):
        assert "the search for devices takes more than" in out + err


def test_a_statefulset_has_only_pods_with_its_names() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "cache", "uid": "s", "controller": True}
    nodes = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": {"cpu": "4"}}}
        for name in ("n1", "n2")
    ]

    def running(name: str) -> dict[str, Any]:
        meta = {"name": name, "namespace": "shop", "labels": {"app": "cache"}, "ownerReferences": [owner]}
        spec = {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}

    stateful = deepcopy(OBJECTS["StatefulSet"])
    cluster = load_cluster(text=text_of(*nodes, *map(running, ["cache", "cache-a", "cache-9999999999", "cache-1"])))
    (own,) = cluster.running.pods_of(decoded(stateful))
    assert own.name == "cache-1"
    assert simulate(text=text_of(stateful), cluster=cluster).outcomes


@pytest.mark.parametrize("number", [-5, -(2**40), 2**64, 10**30])
@pytest.mark.parametrize(
    ("kind", "at"),
    [
        ("StatefulSet", ("ordinals", "start")),
        ("StatefulSet", ("replicas",)),
        ("StatefulSet", ("minReadySeconds",)),
        ("StatefulSet", ("updateStrategy", "rollingUpdate", "partition")),
        ("Job", ("completions",)),
        ("Job", ("parallelism",)),
    ],
    ids=str,
)
def test_numbers_of_things_may_be_anything(kind: str, at: tuple[str, ...], number: int) -> None:
    value = deepcopy(OBJECTS[kind])
    here = value["spec"]
    for step in at[:-1]:
        here = here[step]
    here[at[-1]] = number
    linted(value)
    assert simulate(text=text_of(value), cluster=load_cluster(ZONES), states=50).outcomes


def decoded(value: dict[str, Any]) -> Any:
    return decode_object(value, "default")[1]
