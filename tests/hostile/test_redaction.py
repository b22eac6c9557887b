"""A cluster has somebody's words wherever a word can be: none of them is left in a redacted snapshot."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from kubesched_lint import library
from kubesched_lint.sources.capture import capture, connect
from kubesched_lint.sources.capture.resources import RESOURCES, Resource
from kubesched_lint.sources.redaction.open_words import PLAIN_WORDS, open_version
from kubesched_lint.sources.redaction.redact import Redactor
from tests.capture.stand_in import TOKEN, ApiServer
from tests.share import some

ROOT = Path(__file__).parents[2]
NOW = "2026-11-21T04:00:00Z"
PARTS = {resource.kind: resource for resource in RESOURCES}
# Somebody's word, in every dress in which a name can come.
WORDS = (
    "canary",
    "Canary",
    "canary-0",
    "canary.example.com/canary",
    "kubernetes.io/canary",
    "canary.kubernetes.io/zone",
    "node-role.kubernetes.io/canary",
    "node-restriction.kubernetes.io/canary",
    "karpenter.k8s.aws/instance-canary",
    "canary.csi.k8s.io",
    "canary.ebs.csi.aws.com",
    "topology.canary.csi.k8s.io/zone",
    "nvidia.com/canary",
    "hugepages-canary",
    "count/canaries.canary.example.com",
    "requests.canary.example.com/canary",
    "requests.nvidia.com/canary",
    "requests.canary",
    "limits.canary",
    "canary.storageclass.storage.k8s.io/requests.storage",
    "gold.storageclass.storage.k8s.io/canary",
    "canary.volumeattributesclass.storage.k8s.io/requests.storage",
    "canary.deviceclass.resource.k8s.io/devices",
    "requests.deviceclass.resource.kubernetes.io/canary",
    "deviceclass.resource.kubernetes.io/canary",
    "attachable-volumes-csi-canary.example.com",
    "In canary",
    "2026-11-21T04:00:00Z canary",
    "10Gi-canary",
    "m5.canary",
    "Standard_canary",
    "registry.canary.com:5000/canary/app:canary@sha256:canary",
    "arn:aws:iam::123456789012:role/canary",
    "CANARY_CANARY",
    "κανάρι",
    "🐤canary🐤",
    "a\ncanary\u2028b",
    "kubernetes.io/aws-ebs,kubernetes.io/canary",
    "default/canary",
    "true-canary",
)
LEAK = re.compile("canar|κανάρι|🐤|123456789012", re.IGNORECASE)
TEMPLATED = {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicationController"}
"""What has the fields of a pod, which are tried with every word in pods."""
VALUE_KEYS = (
    *(
        "app",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "node.kubernetes.io/instance-type",
        "karpenter.sh/capacity-type",
    ),
    *("node-role.kubernetes.io/worker", "karpenter.k8s.aws/instance-family", "nvidia.com/gpu.product", "matchLabels"),
    *("pod-security.kubernetes.io/enforce", "eks.amazonaws.com/compute-type", "topology.kubernetes.io/zone", "key"),
    *("karpenter.azure.com/sku-family", "cloud.google.com/compute-class", "matchExpressions", "node.kubernetes.io/x"),
)


def filled(kind: Any, word: str) -> Any:
    """A value of a type of the trimmed objects with ``word`` wherever a string may be."""
    match kind:
        case msgspec.inspect.StructType():
            return {f.encode_name: filled(f.type, word) for f in kind.fields}
        case msgspec.inspect.ListType():
            return [filled(kind.item_type, word)]
        case msgspec.inspect.DictType(value_type=msgspec.inspect.UnionType()):
            return {word: "1", "cpu": word}
        case msgspec.inspect.DictType(value_type=msgspec.inspect.StructType() as of):
            return {word: filled(of, word), "memory": filled(of, word)}
        case msgspec.inspect.DictType():
            return {word: word, **dict.fromkeys(VALUE_KEYS, word)}
        case msgspec.inspect.UnionType(types=types):
            rank = ("StrType", "StructType", "ListType", "DictType", "IntType", "BoolType")
            return filled(
                min((t for t in types if type(t).__name__ in rank), key=lambda t: rank.index(type(t).__name__)), word
            )
        case msgspec.inspect.StrType():
            return word
        case msgspec.inspect.IntType():
            return 3
        case msgspec.inspect.BoolType():
            return True
    raise AssertionError(f"no value for {kind}")


def trimmed(resource: Resource, value: Any) -> dict[str, Any]:
    item = msgspec.json.decode(msgspec.json.encode(value), type=resource.part)
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(item))
    return found


def redacted(ours: Redactor, resource: Resource, value: Any) -> dict[str, Any]:
    return ours.item(trimmed(resource, value))


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda r: r.plural)
def test_no_word_of_anybody_is_left_in_any_field(resource: Resource) -> None:
    info = msgspec.inspect.type_info(resource.part)
    for word in some(WORDS, 3) if resource.kind in TEMPLATED else WORDS:
        value = filled(info, word)
        assert LEAK.search(json.dumps(trimmed(resource, value), ensure_ascii=False)), "it is there at first"
        left = json.dumps(redacted(Redactor(b"k"), resource, value), ensure_ascii=False)
        assert not LEAK.search(left), (word, LEAK.findall(left))


def strings(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """Every string of a value, keys too, with the field it stands in."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield at, key
            yield from strings(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, at)
    elif isinstance(value, str):
        yield at, value


# --- a whole cluster ----------------------------------------------------------------------------------------------


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    server = ApiServer()
    context = {"name": "canary", "context": {"cluster": "canary", "user": "canary"}}
    parts = {
        "clusters": [{"name": "canary", "cluster": {"server": server.url}}],
        "users": [{"name": "canary", "user": {"token": TOKEN}}],
        "contexts": [context],
        "current-context": "canary",
    }
    (tmp_path / "kubeconfig").write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **parts}))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    yield server
    server.close()


def test_no_word_of_anybody_is_left_in_the_file(api: ApiServer, tmp_path: Path) -> None:
    for resource in RESOURCES:
        info = msgspec.inspect.type_info(resource.part)
        items = [filled(info, word) for word in WORDS]
        for version in resource.versions:
            api.extra[resource.path(version, None)] = (200, {"items": items})
    groups = [{"name": "apps", "versions": [{"version": "vcanary"}]}]
    api.extra["/apis"] = (200, {"groups": groups})
    api.extra["/version"] = (200, {"gitVersion": "v1.36.2-canary+canary"})
    found = capture(connect("canary"), NOW, redactor=Redactor(b"k"))
    text = b"".join(found.pieces()).decode()
    assert not LEAK.search(text), LEAK.findall(text)
    assert found.metadata["kubernetesVersion"] == "v1.36.2"
    assert any("an odd one" in gap for gap in found.gaps)
    found.write(str(tmp_path / "c.json.gz"))
    assert not LEAK.search(" ".join(found.gaps))


def test_objects_do_not_stand_in_the_order_of_their_names(api: ApiServer) -> None:
    names = [f"{letter}-team" for letter in ("alpha", "bravo", "cesar", "delta", "emil", "felix", "georg", "heinz")]
    items = [{"metadata": {"name": name}} for name in names]
    api.extra["/api/v1/namespaces"] = (200, {"items": items})
    ours = Redactor(b"k")
    found = b"".join(capture(connect(), NOW, redactor=ours).pieces()).decode()
    shown = re.findall(r'"kind":"Namespace","metadata":\{"name":"([a-z-]+)"', found)
    assert sorted(map(ours.name, names)) == shown != list(map(ours.name, names))


KUBE_SCHEDULER = (
    "0/60 nodes are available: 1 node(s) were unschedulable, 4 node(s) had untolerated taint(s), 55 node(s) didn't "
    "match pod anti-affinity rules. no new claims to deallocate, preemption: 0/60 nodes are available: 5 Preemption is "
    "not helpful for scheduling, 55 No preemption victims found for incoming pod."
)
"""The message about the pods that wait: counts, and reasons that kube-scheduler has for every cluster."""
# All that the recorded cluster keeps in clear, but for fields of the API, times, amounts and numbers.
STAYS = """
Available Bound ContainersReady DaemonSet Deployment DoNotSchedule Exists False Filesystem Immediate In Initialized
NoExecute NoSchedule OrderedReady Pending PodScheduled PreemptLowerPriority Progressing ReadWriteOnce Ready ReplicaSet
RollingUpdate Running StatefulSet True WaitForFirstConsumer amd64 app apps.kubernetes.io/pod-index c7g.xlarge
controller-revision-hash cpu ebs.csi.aws.com ephemeral-storage karpenter.sh/nodepool kubernetes.io/arch
kubernetes.io/hostname kubernetes.io/metadata.name kubernetes.io/os linux m6i.2xlarge m6i.large memory metadata.name
node.kubernetes.io/disk-pressure node.kubernetes.io/instance-type node.kubernetes.io/memory-pressure
node.kubernetes.io/not-ready node.kubernetes.io/pid-pressure node.kubernetes.io/unreachable
node.kubernetes.io/unschedulable pod-template-generation pod-template-hash pods statefulset.kubernetes.io/pod-name
topology.ebs.csi.aws.com/zone topology.kubernetes.io/region topology.kubernetes.io/zone Unschedulable v1.36.2
"""


def test_what_stays_in_clear_of_a_recorded_cluster_is_known(api: ApiServer) -> None:
    """Every word of a redacted snapshot is a pseudonym, a number, a field's name or one that is listed here."""
    found = capture(connect(), NOW, redactor=Redactor(b"k"))
    objects = [item for items in found.lists for page in items.texts() for item in json.loads(b"[" + page + b"]")]
    fields = {f for r in RESOURCES for f in all_fields(msgspec.inspect.type_info(r.part))}
    pseudonym = re.compile("[a-z]{7}|[0-9]{1,9}|[0-9]{1,2}[a-z]|")
    amount = re.compile(r"[0-9.]+[A-Za-z]{0,2}|20[0-9-]+T[0-9:]+Z")
    left = {
        text
        for item in objects
        for _, text in strings({k: v for k, v in item.items() if k not in ("apiVersion", "kind")})
        if text not in fields and not amount.fullmatch(text)
        if not all(pseudonym.fullmatch(word) or word in PLAIN_WORDS for word in re.split("[^A-Za-z0-9]+", text))
    }
    messages = {text for text in left if text.startswith("0/60 nodes are available: ")}
    assert left - messages == set(STAYS.split())
    assert messages == {KUBE_SCHEDULER}


def all_fields(kind: Any) -> Iterator[str]:
    match kind:
        case msgspec.inspect.StructType():
            for field in kind.fields:
                yield field.encode_name
                yield from all_fields(field.type)
        case msgspec.inspect.ListType():
            yield from all_fields(kind.item_type)
        case msgspec.inspect.UnionType():
            for one in kind.types:
                yield from all_fields(one)


# --- the key ------------------------------------------------------------------------------------------------------


def test_the_key_is_random_and_is_not_in_the_file(
    api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import secrets

    from kubesched_lint.cli.subcommands.snapshot import app

    asked: list[int] = []
    key = bytes(range(200, 232))

    def token_bytes(size: int) -> bytes:
        asked.append(size)
        return key[:size]

    monkeypatch.setattr(secrets, "token_bytes", token_bytes)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KUBESCHED_LINT_REDACT_KEY", raising=False)
    app(["--redact", "-o", "c.json"], standalone_mode=False)
    assert asked == [32], "256 bits of the operating system"
    text = (tmp_path / "c.json").read_bytes()
    assert b'"redacted":true' in text
    for leak in (key, key.hex().encode(), base64.b64encode(key), base64.urlsafe_b64encode(key), repr(key).encode()):
        assert leak not in text
    assert {f.name for f in tmp_path.iterdir()} == {"c.json", "kubeconfig"}, "nor in any other file"
    assert Redactor(key).name("shop").encode() in text, "the key is what decides about pseudonyms"
    assert Redactor(bytes(32)).name("shop") != Redactor(key).name("shop")


def test_a_word_of_ones_own_costs_each_guess() -> None:
    from kubesched_lint.cli.subcommands.snapshot import _redactor

    assert _redactor("k").name("shop") == _redactor("k").name("shop") != _redactor("l").name("shop")
    assert _redactor("k").name("shop") != Redactor(b"k").name("shop"), "the word itself is not the key"


# --- the same verdicts --------------------------------------------------------------------------------------------


def test_every_key_that_the_linter_knows_stays() -> None:
    """A label that some rule or some cloud's autoscaler is told by must not become a pseudonym."""
    from kubesched_lint.engine.cluster.nodes import elastic, transient
    from kubesched_lint.engine.model.nodes import node
    from kubesched_lint.explaining.near_misses.well_known import TAINTS

    known = {*TAINTS, *elastic._LABELS, *elastic._ANNOTATIONS, *transient._KEYS, *node.CSI_ZONES}
    known |= {prefix + "x" for prefix in transient._PREFIXES} | {"node.cilium.io/agent-not-ready"}
    ours = Redactor(b"k")
    for key in known:
        shown = ours.label_key(key)
        if key.endswith("/x"):
            assert shown.startswith(key[:-1]), key
        elif key.endswith("/agent-not-ready"):
            assert shown.endswith("/agent-not-ready"), key
        else:
            assert shown == key


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_all_addresses_stay_all_addresses(address: str) -> None:
    """Else a host port on all addresses would no longer clash with one on a single address."""
    assert Redactor(b"k").name(address) == address
    assert Redactor(b"k").name("10.0.0.1") != "10.0.0.1"


def test_a_resource_stays_native_or_extended() -> None:
    from kubesched_lint.engine.model.resources import is_extended

    ours = Redactor(b"k")
    for name in ("cpu", "acme.com/gpu", "kubernetes.io/x", "acme.kubernetes.io/x", "nvidia.com/gpu", "hugepages-2Mi"):
        assert is_extended(ours.resource(name)) == is_extended(name), name


def test_an_implicit_extended_resource_still_names_its_device_class() -> None:
    ours = Redactor(b"k")
    assert ours.resource("deviceclass.resource.kubernetes.io/gold") == (
        f"deviceclass.resource.kubernetes.io/{ours.name('gold')}"
    )


def manifests() -> Iterator[tuple[str, dict[str, Any]]]:
    for folder in ("fixtures/shop", "examples/shop-repo"):
        for file in sorted((ROOT / folder).rglob("*.yaml")):
            for document in yaml.safe_load_all(file.read_text()):
                if isinstance(document, dict) and document.get("kind") in PARTS and "{{" not in file.read_text():
                    yield file.stem, document


def test_manifests_under_the_same_pseudonyms_get_the_same_verdicts(api: ApiServer, tmp_path: Path) -> None:
    ours = Redactor(b"k")
    for name, redactor in (("open", None), ("hidden", ours)):
        capture(connect(), NOW, redactor=redactor).write(str(tmp_path / f"{name}.json"))
    found: dict[str, Counter[tuple[str, str]]] = {}
    for name in ("open", "hidden"):
        text = {}
        for i, (file, document) in enumerate(manifests()):
            resource = PARTS[document["kind"]]
            value = trimmed(resource, document)
            value = ours.item(value) if name == "hidden" else value
            head = {"apiVersion": document["apiVersion"], "kind": document["kind"]}
            text[f"{file}-{i}.json"] = json.dumps({**head, **value})
        report = library.lint(text=text, cluster=library.load_cluster(tmp_path / f"{name}.json"))
        assert not report.errors
        found[name] = Counter((f.rule, str(f.severity)) for f in report.findings)
    assert found["open"] == found["hidden"]
    assert sum(found["open"].values()) > 10


def test_versions_lose_what_a_build_adds() -> None:
    assert open_version("v1.36.2-eks-acme") == "v1.36.2"
    assert open_version("acme") == ""
