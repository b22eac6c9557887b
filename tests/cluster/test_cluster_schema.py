"""The shipped JSON Schema and the decoder say yes and no to the same sketches."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, settings
from jsonschema import Draft202012Validator

from kubesched_lint.engine.cluster.cluster import ClusterError
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.objects.schema import schema
from tests import drawn as st
from tests.drawn import given
from tests.share import examples

CLUSTERS = Path(__file__).parents[2] / "fixtures" / "clusters"
VALIDATOR = Draft202012Validator(schema())


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(schema())


def test_every_shipped_sketch_is_valid() -> None:
    for file in CLUSTERS.glob("*.yaml"):
        assert list(VALIDATOR.iter_errors(yaml.safe_load(file.read_text()))) == [], file.name


def test_a_sketch_that_is_right_costs_no_schema() -> None:
    """jsonschema takes longer to import than most runs take."""
    code = (
        "import sys; from kubesched_lint.sources.clusters.read import read_cluster; "
        f"read_cluster({str(CLUSTERS / 'three-zones.yaml')!r}); "
        "print([m for m in ('jsonschema',) if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_must_be_true_is_told_as_one_writes_it() -> None:
    line = {"driver": "d", "name": "g", "attributes": {"a": {"own": False}}}
    sketch = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": [{"name": "n", "devices": [line]}]}
    with pytest.raises(ClusterError, match=r"own: expected true, found the boolean false"):
        cluster_from([("c.json", json.dumps(sketch).encode())], "c.json")


_ANY = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from(["", "a", "ab"]),
    st.just([]),
    st.just({}),
    st.just([1]),
    st.just([None]),
)


def _or_any(right: st.Drawn[Any]) -> st.Drawn[Any]:
    """Mostly right: of several mistakes one is enough for both to say no."""
    return st.one_of(*[right] * 15, _ANY)


_TAINT = st.one_of(
    st.sampled_from(
        ["a=b:NoSchedule", "a:NoExecute", "a=:PreferNoSchedule", "a", "=b:NoSchedule", "a=b:Never", ":NoSchedule"]
    ),
    st.fixed_dictionaries(
        {},
        optional={
            "key": _or_any(st.just("a")),
            "value": _or_any(st.just("b")),
            "effect": _or_any(st.sampled_from(["NoSchedule", "Never"])),
            "extra": st.just(1),
        },
    ),
)
_LINE = st.fixed_dictionaries(
    {},
    optional={
        "class": _or_any(st.just("c")),
        "driver": _or_any(st.just("d")),
        "name": _or_any(st.just("g")),
        "count": _or_any(st.integers(0, 2)),
        "attributes": _or_any(
            st.dictionaries(
                st.sampled_from(["a", "b"]),
                st.sampled_from(
                    [
                        {"version": "1.2.3"},
                        {"version": "1.2"},
                        {"version": None},
                        {"own": True},
                        {"own": False},
                        {},
                        None,
                        "x",
                        1,
                        1.5,
                        [None],
                    ]
                ),
            )
        ),
        "capacity": _or_any(st.dictionaries(st.sampled_from(["m"]), st.sampled_from(["1", 2, 0.5, True, None]))),
        "taints": _or_any(st.just(["a=b:None", {"key": "a", "effect": "NoExecute"}])),
        "allowMultipleAllocations": _ANY,
        "cont": st.just(1),
    },
)
_NODE = st.fixed_dictionaries(
    {},
    optional={
        "name": _or_any(st.just("n")),
        "count": _or_any(st.integers(0, 2)),
        "zones": _or_any(
            st.one_of(
                st.lists(st.sampled_from(["x", "y", None]), unique=True, max_size=2),
                st.dictionaries(st.sampled_from(["x", "y"]), _or_any(st.integers(-1, 2)), max_size=2),
            )
        ),
        "labels": _or_any(
            st.dictionaries(st.sampled_from(["a", "b", "ab"]), st.sampled_from(["x", None, 1]), max_size=2)
        ),
        "taints": _or_any(st.lists(_or_any(_TAINT), max_size=2)),
        "allocatable": _or_any(
            st.dictionaries(st.sampled_from(["cpu", "memory"]), st.sampled_from(["1", 2, 0.5, True, None]))
        ),
        "elastic": _ANY,
        "unschedulable": _ANY,
        "ready": _ANY,
        "declaredFeatures": _or_any(st.just(["F"])),
        "devices": _or_any(st.lists(_or_any(_LINE), max_size=1)),
        "lables": st.just({}),
    },
)
_SKETCH = st.fixed_dictionaries(
    {"apiVersion": st.just("kubesched-lint/v1"), "kind": st.just("ClusterSketch")},
    optional={
        "nodes": _or_any(st.lists(_or_any(_NODE), max_size=1)),
        "kinds": _or_any(st.just(["Pod"])),
        "elastic": _ANY,
        "nodeGroups": _or_any(st.sampled_from(["complete", "open", "closed", ""])),
        "objects": st.just([]),
        "capturedAt": _or_any(st.just("2026-01-01T00:00:00Z")),
        "kubernetesVersion": _ANY,
        "zones": _or_any(st.just({"x": {"rack": "r"}})),
        "otherLabels": _or_any(st.just(["a/*"])),
        "nodez": st.just([]),
    },
)


@settings(
    max_examples=examples(1500),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(_SKETCH)
def test_schema_and_decoder_agree(sketch: dict[str, Any]) -> None:
    valid = VALIDATOR.is_valid(sketch)
    try:
        cluster_from([("c.json", json.dumps(sketch).encode())], "c.json")
    except ClusterError as error:
        assert not valid, error.message  # noqa: PT017 - the other half is below
    else:
        assert valid, [e.message for e in VALIDATOR.iter_errors(sketch)]
