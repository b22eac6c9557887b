"""A wrong type in any field that is read is one message at its place, and the other files are still linted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice, product
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading import ManifestSet, manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.loader import documents
from tests.share import every

SELECTOR = {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "b", "operator": "In", "values": ["c"]}]}
TERM = {"labelSelector": SELECTOR, "topologyKey": "zone", "namespaces": ["shop"], "namespaceSelector": SELECTOR}
NODE_TERM = {
    "matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["shop"]}],
}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
CONTAINER = {
    "name": "c",
    "image": "i",
    "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
    "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP", "hostIP": "1.2.3.4"}],
    "restartPolicy": "Always",
}
POD = {
    "affinity": {
        "nodeAffinity": {
            REQUIRED: {"nodeSelectorTerms": [NODE_TERM]},
            PREFERRED: [{"weight": 1, "preference": NODE_TERM}],
        },
        "podAffinity": {REQUIRED: [TERM], PREFERRED: [{"weight": 1, "podAffinityTerm": TERM}]},
        "podAntiAffinity": {REQUIRED: [TERM], PREFERRED: [{"weight": 1, "podAffinityTerm": TERM}]},
    },
    "containers": [CONTAINER],
    "initContainers": [CONTAINER],
    "nodeSelector": {"a": "b"},
    "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule", "tolerationSeconds": 1}],
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": SELECTOR,
            "minDomains": 2,
            "nodeAffinityPolicy": "Honor",
            "nodeTaintsPolicy": "Honor",
            "matchLabelKeys": ["x"],
        }
    ],
    "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c", "readOnly": True}}],
    "priorityClassName": "p",
    "hostNetwork": False,
    "schedulingGates": [{"name": "g"}],
    "overhead": {"cpu": "1m"},
    "resources": {"requests": {"cpu": "1"}},
    "nodeName": "shop",
    "schedulerName": "s",
    "runtimeClassName": "r",
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "a", "namespace": "shop", "labels": {"a": "b"}, "annotations": {"a": "b"}},
    "spec": {
        "replicas": 3,
        "selector": SELECTOR,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": POD},
    },
}
GOOD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "good"}, "spec": {"containers": []}}
MARK = "WRONG"
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if path or key in ("metadata", "spec"):
            yield (*path, key)
        yield from places(item, (*path, key))


def broken(path: tuple[str | int, ...], wrong: object) -> dict[str, Any]:
    value: Any = json.loads(json.dumps(DEPLOYMENT))  # nothing shared: one wrong value is one
    at = value
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = wrong
    found: dict[str, Any] = value
    return found


WRONG = ("text", 7, True, [], {}, [7], {"x": 7}, None)
PARTS = 4


@pytest.mark.parametrize(("wrong", "part"), every(PARTS + 1, product(WRONG, range(PARTS))), ids=repr)
def test_any_value_anywhere_is_decoded_or_one_located_error(wrong: object, part: int) -> None:
    """And the rules survive whatever could be decoded; the document behind it is always read.

    A part is every fourth place: CI tries each of them with one or two values.
    """
    rules = Rulebook.shipped().select("strict")
    tried = 0
    for path in islice(places(DEPLOYMENT), part, None, PARTS):
        text = marked(path).replace(MARK, json.dumps(wrong).replace('"', ""))
        manifests = manifest_set(documents("m.yaml", text.encode(), is_read), "default")
        assert len(manifests.errors) <= 1
        assert [w.name for w in manifests.inventory.workloads][-1:] == ["good"]
        if manifests.errors:
            error = manifests.errors[0]
            assert error.line > 1, (path, error)
            assert "expected" in error.message or "quantities must match" in error.message, (path, error)
        else:
            report, _ = lint(manifests, None, Options(profile="strict"), rules)
            assert not report.errors, (path, wrong, report.errors)
        tried += 1
    assert tried > 150 / PARTS


@cache
def marked(path: tuple[str | int, ...]) -> str:
    """Two documents as people write them, which both readers of YAML take, the first with a mark at the path.

    To write them takes as long as to read them, and each of the wrong values has the same places.
    """
    text: str = yaml.dump_all([broken(path, MARK), GOOD], Dumper=DUMPER, sort_keys=False)
    return text


def several(*wrong: tuple[tuple[str | int, ...], object]) -> dict[str, Any]:
    value: Any = json.loads(json.dumps(DEPLOYMENT))
    for path, item in wrong:
        at = value
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = item
    found: dict[str, Any] = value
    return found


def read(text: str) -> ManifestSet:
    return manifest_set(documents("m.yaml", text.encode(), is_read), "default")


def test_every_wrong_type_of_a_document_is_told_at_its_place() -> None:
    pod = ("spec", "template", "spec")
    value = several(
        (("metadata", "annotations"), {"a": 1}),
        (("spec", "replicas"), "three"),
        ((*pod, "tolerations"), ["x", 5, {"key": 4}]),
        ((*pod, "nodeSelector"), {"a": True, "b": 5}),
        ((*pod, "containers", 0, "resources", "requests"), {"cpu": "lots", "memory": "5Zi"}),
    )
    lines = json.dumps(value, indent=1).split("\n")
    found = read("\n".join(lines))
    shown = [lines[error.line - 1][error.column - 1 :].rstrip(",") for error in found.errors]
    assert shown == ["1", '"three"', '"lots"', '"5Zi"', "true", "5", '"x"', "5", "4"]
    assert [path[-1] for _, paths in found.undecoded for path in paths]


def test_what_the_model_does_not_read_is_told_beside_its_wrong_types_and_nothing_twice() -> None:
    value = several(
        (("spec", "replicas"), "three"),
        (("spec", "paused"), "maybe"),
        (("spec", "template", "spec", "hostPID"), 3),
        (("spec", "template", "spec", "nodeselectors"), {}),
    )
    manifests = read(json.dumps(value, indent=1))
    assert ["spec.replicas" in error.message for error in manifests.errors] == [True]
    report, _ = lint(manifests, None, Options(), Rulebook.shipped().select("ci"))
    refused = [finding.message for finding in report.findings if finding.rule == "api-would-reject"]
    assert len(refused) == 3
    for name in ("hostPID", "paused", "nodeselectors"):
        assert sum(name in message for message in refused) == 1


def test_a_document_that_decodes_and_has_several_wrong_types_elsewhere_tells_all_of_them() -> None:
    value = several((("spec", "paused"), "maybe"), (("spec", "template", "spec", "hostPID"), 3))
    report, _ = lint(read(json.dumps(value, indent=1)), None, Options(), Rulebook.shipped().select("ci"))
    refused = [f.location.span.line for f in report.findings if f.rule == "api-would-reject"]
    assert len(refused) == len(set(refused)) == 2


TEMPLATES = ["${REPLICAS:-1}", "${REPLICAS}", "$REPLICAS", "$(REPLICAS)", "{{ .Values.replicas }}", "<how-many>"]


@pytest.mark.parametrize("text", TEMPLATES)
def test_a_placeholder_where_a_number_must_be_is_a_template_and_no_error(text: str) -> None:
    manifests = read(json.dumps(broken(("spec", "replicas"), text), indent=1) + "\n---\n" + json.dumps(GOOD))
    assert manifests.errors == ()
    (skipped,) = manifests.skipped
    assert text in skipped.reason
    assert "a template, render it first" in skipped.reason
    assert not manifests.is_complete
    assert [workload.name for workload in manifests.inventory.workloads] == ["good"]


def test_beside_a_placeholder_a_wrong_type_is_an_error_all_the_same() -> None:
    value = several((("spec", "replicas"), "${REPLICAS}"), (("spec", "template", "spec", "hostNetwork"), 3))
    manifests = read(json.dumps(value, indent=1))
    assert ["hostNetwork" in error.message for error in manifests.errors] == [True]
    assert manifests.skipped == ()


def test_text_that_holds_a_template_elsewhere_excuses_no_wrong_type() -> None:
    value = several((("metadata", "annotations"), {"summary": "{{ $labels.pod }}"}), (("spec", "replicas"), "three"))
    manifests = read(json.dumps(value, indent=1))
    assert ["spec.replicas" in error.message for error in manifests.errors] == [True]


UNRENDERED = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, annotations: {a: 1440, b: yes, c: true}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, shown: on}}
    spec:
      containers: [{name: web, image: web, env: [{name: A, value: yes}]}]
"""


def entries(text: str) -> Iterator[Any]:
    for entry in documents("m.yaml", text.encode(), is_read):
        yield replace(entry, unrendered=True) if isinstance(entry, Document) else entry


def test_what_kustomize_writes_quoted_is_no_wrong_type_in_what_it_builds_on() -> None:
    """``kubectl kustomize`` 1.32 writes ``a: "1440"``, ``b: "yes"``, ``c: "true"``, ``shown: "on"``."""
    assert read(UNRENDERED).errors
    manifests = manifest_set(entries(UNRENDERED), "default")
    assert manifests.errors == ()
    (web,) = manifests.inventory.workloads
    assert web.pod.labels["shown"] == "on"
    report, _ = lint(manifests, None, Options(), Rulebook.shipped().select("ci"))
    assert report.findings == ()


@pytest.mark.parametrize("kept", ["labels: {app: web, shown: 5}", "labels: {app: web}, annotations: {a: 5}"])
def test_what_kustomize_keeps_is_a_wrong_type_before_and_after(kept: str) -> None:
    """A label's and a template annotation's number: ``kubectl kustomize`` 1.32 leaves both as they are."""
    text = UNRENDERED.replace("labels: {app: web, shown: on}", kept)
    assert text != UNRENDERED
    manifests = manifest_set(entries(text), "default")
    report, _ = lint(manifests, None, Options(), Rulebook.shipped().select("ci"))
    problems = [*manifests.errors, *report.findings]
    assert len(problems) == 1
    assert "number" in problems[0].message


OPEN = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 7
  selector: {matchLabels: {app: "${APP}"}}
  template:
    metadata: {labels: {app: "${APP}"}}
    spec:
      affinity:
        podAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {labelSelector: {matchLabels: {app: "${OTHER}"}}, topologyKey: "${KEY}"}
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {labelSelector: {matchLabels: {app: "${APP}"}}, topologyKey: "${KEY:-topology.kubernetes.io/zone}"}
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: "${ZONE}", whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}}
      volumes: [{name: data, persistentVolumeClaim: {claimName: "${CLAIM}"}}]
      containers: [{name: web, image: "${IMAGE}", args: [$(POD_NAME)]}]
"""
SKETCH = b"""apiVersion: kubesched-lint/v1
kind: ClusterSketch
kinds: [Pod, PersistentVolumeClaim, PersistentVolume, StorageClass]
nodes:
- {name: worker, count: 2, zones: [a, b, c], allocatable: {cpu: "16", memory: 64Gi}}
"""


def test_what_hangs_on_text_still_to_be_filled_in_is_skipped_and_never_an_error() -> None:
    cluster = cluster_from([("c.yaml", SKETCH)], "c.yaml")
    report, _ = lint(read(OPEN), cluster, Options(), Rulebook.shipped().select("ci"))
    assert {f.rule for f in report.findings} == {"spread-selector-misses-self"}
    skipped = {skip.rule: skip.reason for skip in report.skipped if "is a placeholder" in skip.reason}
    assert skipped.keys() >= {"api-would-reject", "affinity-selector-matches-nothing", "topology-key-missing-on-nodes"}
    assert skipped["pvc-missing"] == "m.yaml:19: ${CLAIM} is a placeholder, render the template first"


def test_filled_in_the_same_text_is_judged() -> None:
    cluster = cluster_from([("c.yaml", SKETCH)], "c.yaml")
    text = re.sub(r"\$\{(\w+)[^}]*\}", lambda found: found[1].lower(), OPEN)
    report, _ = lint(read(text), cluster, Options(), Rulebook.shipped().select("ci"))
    spoken = {(f.rule, f.severity.word) for f in report.findings}
    assert spoken >= {("affinity-selector-matches-nothing", "error"), ("topology-key-missing-on-nodes", "error")}
