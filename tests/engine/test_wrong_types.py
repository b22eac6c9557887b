"""A wrong type in any field that is read is one message at its place, and the other files are still linted."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from kubesched_lint.engine.linter import lint
from kubesched_lint.engine.options import Options
from kubesched_lint.engine.reading import manifest_set
from kubesched_lint.manifests.loader import documents
from kubesched_lint.model.decode.objects import is_read
from kubesched_lint.rulebook.library import Rulebook

SELECTOR = {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "b", "operator": "In", "values": ["c"]}]}
TERM = {"labelSelector": SELECTOR, "topologyKey": "zone", "namespaces": ["n"], "namespaceSelector": SELECTOR}
NODE_TERM = {
    "matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
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
    "nodeName": "n",
    "schedulerName": "s",
    "runtimeClassName": "r",
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "a", "namespace": "n", "labels": {"a": "b"}, "annotations": {"a": "b"}},
    "spec": {
        "replicas": 3,
        "selector": SELECTOR,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": POD},
    },
}
GOOD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "good"}, "spec": {"containers": []}}
FREE = {"image", "hostIP", "tolerationSeconds"}


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if path or key in ("metadata", "spec"):
            yield (*path, key)
        yield from places(item, (*path, key))


def broken(path: tuple[str | int, ...], wrong: object) -> dict[str, Any]:
    value: Any = copy.deepcopy(DEPLOYMENT)
    at = value
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = wrong
    found: dict[str, Any] = value
    return found


@pytest.mark.parametrize("wrong", ["text", 7, True, [], {}, [7], {"x": 7}, None], ids=repr)
def test_any_value_anywhere_is_decoded_or_one_located_error(wrong: object) -> None:
    """And the rules survive whatever could be decoded; the document behind it is always read."""
    rules = Rulebook.shipped().select("strict")
    tried = 0
    for path in places(DEPLOYMENT):
        text = json.dumps(broken(path, wrong), indent=1) + "\n---\n" + json.dumps(GOOD)
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
    assert tried > 150
