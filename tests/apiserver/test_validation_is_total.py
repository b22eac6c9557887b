"""Whatever is thrown at the validator, it answers: objects drawn from the schemas, and one with any value broken."""

from __future__ import annotations

import copy
import importlib.util
import random
from pathlib import Path

import pytest

from kubesched_lint.engine.apiserver.validate import validate
from kubesched_lint.engine.apiserver.values.causes import Cause
from kubesched_lint.engine.apiserver.values.schema import ROOTS, fields, knows

TEXTS = (
    *("", "a", "web", "Bad Name", "x" * 70, "a/b", "a/b/c", "..", "../x", "/abs", "é", "\n", "1", "50%", "120%", "-5%"),
    *("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Always", "Never", "OnFailure", "RollingUpdate", "OnDelete"),
    *("NoExecute", "None", "10.0.0.1", "::1", "10.0.0.0/8", "ClusterIP", "LoadBalancer", "ExternalName", "Localhost"),
    *(
        "Unmasked",
        "windows",
        "linux",
        "Indexed",
        "FailIndex",
        "ClientIP",
        "* * * * *",
        "@every 5m",
        "Resource",
        "Object",
    ),
    *("metadata.labels['a']", "metadata.name", "limits.cpu", "Container", "PersistentVolumeClaim", "BestEffort"),
)
NUMBERS = (0, 1, -1, 2, 80, 300, 70000, 2**31 - 1, -(2**31), 100001)
AMOUNTS = ("1", "100m", "1Gi", "-1", "0.5", "1e3", "0", 1, 0.5)
KEYS = ("cpu", "memory", "a", "Bad!", "example.com/gpu", "hugepages-2Mi", "storage", "pods")
JUNK = (None, "", 0, -1, 1.5, 2.0, True, [], {}, ["x"], [None], {"a": 1}, {"a": None}, {1: 2}, "x" * 300, 10**30, [[]])
DEEP = 9
LIKELY = ("spec", "template", "containers", "metadata", "volumes", "name", "affinity")


def drawn(code, rng, version, depth=0):
    match code[0]:
        case "s":
            return rng.choice(TEXTS)
        case "b":
            return rng.random() < 0.5
        case "i" | "l":
            return rng.choice(NUMBERS)
        case "q":
            return rng.choice(AMOUNTS)
        case "x":
            return rng.choice(NUMBERS + TEXTS)
        case "t":
            return "2006-01-02T15:04:05Z"
        case "[":
            return [drawn(code[1:], rng, version, depth + 1) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
        case "{":
            inner = code[1:].partition(":")[0]
            return {rng.choice(KEYS): drawn(inner, rng, version, depth + 1) for _ in range(rng.choice((0, 1, 2)))}
        case "*":
            share = rng.choice((0.15, 0.3, 0.6)) if depth < DEEP else 0.05
            known = fields(version, code[1:]).items()
            wanted = (pair for pair in known if rng.random() < (max(share, 0.7) if pair[0] in LIKELY else share))
            return {name: drawn(inner, rng, version, depth + 1) for name, inner in wanted if name != "status"}
    return {}


@pytest.mark.parametrize("root", sorted(ROOTS), ids=lambda root: "/".join(root))
def test_every_object_that_decodes_gets_an_answer_whose_causes_have_places(root):
    rng = random.Random(repr(root))
    api_version, kind = root
    version = next(one for one in ("1.36", "1.37") if knows(one, ROOTS[root]))
    for _ in range(60):
        value = drawn(f"*{ROOTS[root]}", rng, version) | {"apiVersion": api_version, "kind": kind}
        verdict = validate(value, version=version)
        assert verdict.code in (200, 422)
        for cause in verdict.causes:
            assert isinstance(cause, Cause)
            assert cause.field
            assert cause.reason
            assert all(isinstance(step, (str, int)) for step in cause.path)
        assert bool(verdict.message) is not verdict.accepted


DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"app": "web"}, "annotations": {"a": "b"}},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": "0%"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {
                        "name": "c",
                        "image": "nginx",
                        "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
                        "ports": [{"containerPort": 80}],
                        "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "64Mi"}},
                        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                        "readinessProbe": {"httpGet": {"port": 80}},
                    }
                ],
                "volumes": [{"name": "v", "configMap": {"name": "c"}}],
                "tolerations": [{"operator": "Exists"}],
                "affinity": {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "z", "labelSelector": {"matchLabels": {"app": "web"}}}
                        ]
                    }
                },
            },
        },
    },
}


def places(value):
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield value, key
        yield from places(inner)


def test_one_broken_value_anywhere_gets_an_answer():
    assert validate(DEPLOYMENT).accepted
    count = len(list(places(DEPLOYMENT)))
    for i in range(count):
        for junk in JUNK:
            broken = copy.deepcopy(DEPLOYMENT)
            holder, key = list(places(broken))[i]
            holder[key] = copy.deepcopy(junk)
            assert validate(broken).code in (200, 400, 404, 422)


def test_one_missing_value_anywhere_gets_an_answer():
    for i in range(len(list(places(DEPLOYMENT)))):
        broken = copy.deepcopy(DEPLOYMENT)
        holder, key = list(places(broken))[i]
        del holder[key]
        assert validate(broken).code in (200, 400, 404, 422)


def test_schemas_are_stripped_to_names_and_codes():
    path = Path(__file__).parents[2] / "scripts" / "build_schemas.py"
    spec = importlib.util.spec_from_file_location("build_schemas", path)
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    prefix, ref = "io.k8s.api.core.v1", "/api/_definitions.json#/$defs/"
    quantity = {"$ref": f"{ref}io.k8s.apimachinery.pkg.api.resource.Quantity"}
    thing = {
        "properties": {
            "name": {"type": ["string", "null"], "description": "long"},
            "kind": {"type": "string"},
            "count": {"type": ["integer", "null"], "format": "int32"},
            "parts": {"type": "array", "items": {"$ref": f"{ref}{prefix}.Part"}},
            "amounts": {"type": "object", "additionalProperties": quantity},
        }
    }
    definitions = {root: {"properties": {}} for root in build.ROOTS}
    definitions |= {f"{prefix}.Pod": thing, f"{prefix}.Part": {"properties": {"on": {"type": "boolean"}}}}
    tables = build.strip(definitions, {"v1.Pod.kind": "v1.Kind", "v1.Pod.amounts": "v1.ResourceList"})
    assert tables["v1.Pod"] == "name=s kind=s:v1.Kind count=i parts=[*v1.Part amounts={q:v1.ResourceList"
    assert tables["v1.Part"] == "on=b"
    clash = definitions | {f"{prefix}.Pod": {"properties": {"x": {"$ref": f"{ref}io.k8s.api.apps.v1.Part"}}}}
    clash |= {"io.k8s.api.apps.v1.Part": {"properties": {"y": {"$ref": f"{ref}{prefix}.Part"}}}}
    with pytest.raises(ValueError, match=r"two types are called v1\.Part"):
        build.strip(clash, {})
