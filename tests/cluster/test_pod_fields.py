"""The one list of fields that scheduling reads of a Pod: what each field changes is noticed wherever it must be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.cluster.collecting.pod_json import PodJsonDecoder
from kubesched_lint.engine.cluster.collecting.pods import PodReader
from kubesched_lint.engine.cluster.pods.known_pods import class_key
from kubesched_lint.engine.cluster.pods.template import difference
from kubesched_lint.engine.model import pod_fields
from kubesched_lint.engine.model.decode.pods import decode_pod
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.sources.capture.parts import Template
from kubesched_lint.sources.capture.resources import RESOURCES

Place = tuple[str, ...]
"""The names of fields from the spec to a leaf; items of lists have none."""
Value = dict[str, Any]

_VALUES: dict[str, tuple[Any, Any]] = {
    pod_fields.TEXT: ("a", "b"),
    pod_fields.NUMBER: (1, 2),
    pod_fields.FLAG: (True, False),
    pod_fields.TEXTS: (["a"], ["b"]),
    pod_fields.LABELS: ({"x": "a"}, {"x": "b"}),
    pod_fields.AMOUNTS: ({"cpu": "1"}, {"cpu": "2"}),
}
_WORDS = {"operator": ("In", "NotIn"), "restartPolicy": ("Always", "Never"), "action": ("RestartAllContainers", "x")}
"""Fields whose values have a meaning."""
_BESIDE: dict[Place, Value] = {
    ("hostUsers",): {"hostNetwork": True},
    ("containers", "ports", "containerPort"): {"hostNetwork": True},
    ("containers", "ports", "hostIP"): {"containers": [{"ports": [{"hostPort": 80}]}]},
    ("containers", "ports", "protocol"): {"containers": [{"ports": [{"hostPort": 80}]}]},
    ("volumes", "name"): {"volumes": [{"ephemeral": {}}]},
}
"""What a field needs beside it to mean anything; the same holds in initContainers, which must be sidecars."""

_OF_RUNNING = (
    *(
        "affinity.podAffinity",
        "affinity.podAntiAffinity",
        "volumes",
        "overhead",
        "resources",
        "priority",
        "resourceClaims",
    ),
    *("containers.ports", "containers.resources", "initContainers.ports", "initContainers.resources"),
)
"""Where those fields are that rules about running pods read: pods alike in them are one class
(``engine.cluster.pods.classes``)."""
_KEPT_ALONE = (
    *("containers.ports.name", "containers.resources.claims", "resources.claims"),
    *("initContainers.ports.name", "initContainers.resources.claims"),
)
"""Where those fields are that a capture keeps only to tell templates apart: no ``Pod`` has them."""


def leaves(shape: Any, at: Place = ()) -> Iterator[tuple[Place, str]]:
    if isinstance(shape, list):
        yield from leaves(shape[0], at)
    elif isinstance(shape, str):
        yield at, shape
    else:
        for name, inner in shape.items():
            yield from leaves(inner, (*at, name))


LEAVES = dict(leaves(pod_fields.POD))
PLACES = [pytest.param(place, id=".".join(place)) for place in LEAVES]


def written(shape: Any, at: Place, value: Any) -> Any:
    """A value of a shape with nothing but one leaf."""
    if isinstance(shape, list):
        return [written(shape[0], at, value)]
    return {at[0]: written(shape[at[0]], at[1:], value)} if at else value


def over(ours: Any, theirs: Any) -> Any:
    """Both values at once."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return [over(one, other) for one, other in zip(ours, theirs, strict=True)]
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return ours
    both = {name: over(ours[name], theirs[name]) for name in ours.keys() & theirs.keys()}
    return {**theirs, **ours, **both}


def pair(place: Place) -> tuple[Value, Value]:
    """Two specs that differ in one field alone."""
    values = _WORDS.get(place[-1], _VALUES[LEAVES[place]])
    beside = _BESIDE.get(("containers", *place[1:]) if place[0] == "initContainers" else place, {})
    if place[0] == "initContainers":
        sidecar = {} if place[-1] == "restartPolicy" else {"restartPolicy": "Always"}
        containers = [over(sidecar, container) for container in beside.get("containers", [{}])]
        beside = {**{k: v for k, v in beside.items() if k != "containers"}, "initContainers": containers}
    one, other = (over(written(pod_fields.POD, place, value), beside) for value in values)
    return one, other


def decoded(spec: Value) -> Pod:
    return decode_pod(spec, "default", {}, (), ())


def captured(spec: Value) -> Value:
    """What a capture keeps of a template."""
    kept = msgspec.json.decode(json.dumps({"spec": spec}).encode(), type=Template)
    found: Value = json.loads(msgspec.json.encode(kept))["spec"]
    return found


def within(place: Place, places: tuple[str, ...]) -> bool:
    return any(".".join(place[: one.count(".") + 1]) == one for one in places)


@pytest.mark.parametrize("place", PLACES)
def test_decoding_reads_it(place: Place) -> None:
    one, other = map(decoded, pair(place))
    if within(place, _KEPT_ALONE):
        assert same_values(one, other), f"a Pod differs by {'.'.join(place)}: remove it from _KEPT_ALONE"
    else:
        assert not same_values(one, other), f"decode_pod must read {'.'.join(place)} into a field of Pod"


@pytest.mark.parametrize("place", PLACES)
def test_no_two_pods_share_that_differ_in_it(place: Place) -> None:
    """Where a pod runs is its own, all else is of the shared part."""
    pods = [{"metadata": {"name": "p"}, "spec": spec} for spec in pair(place)]
    texts = [json.dumps(pod).encode() for pod in pods]
    decoder, reader = PodJsonDecoder(), PodReader()
    specs = [found.spec for found in map(decoder.pod, texts) if found is not None]
    for spec in specs:
        decoder.share(spec, "")
    assert len(set(map(decoder.apart, specs))) == (1 if place == ("nodeName",) else 2)
    assert same_values(list(map(reader.json, texts)), [PodReader().value(pod) for pod in pods])


@pytest.mark.parametrize("place", PLACES)
def test_a_capture_keeps_it(place: Place) -> None:
    for spec in pair(place):
        assert captured(spec) == spec
        assert pod_fields.read_of(spec, pod_fields.POD) == spec


@pytest.mark.parametrize("place", PLACES)
def test_a_template_that_changes_it_is_another_one(place: Place) -> None:
    one, other = pair(place)
    assert difference({"spec": one}, {"spec": captured(other)}, trimmed=True) is True
    assert difference({"spec": one}, {"spec": captured(one)}, trimmed=True) is None
    assert difference({"spec": one}, {"spec": one}) is False


@pytest.mark.parametrize("place", PLACES)
def test_running_pods_that_differ_in_what_rules_read_of_them_are_of_two_classes(place: Place) -> None:
    one, other = (class_key(decoded(spec), False) for spec in pair(place))
    if within(place, _OF_RUNNING) and not within(place, _KEPT_ALONE):
        assert one != other, f"class_key must distinguish pods by {'.'.join(place)}, because _OF_RUNNING has it"
    else:
        assert one == other, f"class_key distinguishes pods by {'.'.join(place)}: add it to _OF_RUNNING"


def test_what_is_not_of_the_list_is_kept_by_nobody() -> None:
    secret = {"name": "hunter2", "secret": {"secretName": "hunter2"}}
    beside = {"serviceAccountName": "hunter2", "volumes": [secret], "containers": [{"command": ["hunter2"]}]}
    one, other = {"containers": [{}], "volumes": []}, beside
    assert same_values(decoded(one), decoded(other))
    assert pod_fields.read_of(other, pod_fields.POD) == one
    assert difference({"spec": other}, {"spec": one}, trimmed=True) is None
    pod = next(resource for resource in RESOURCES if resource.kind == "Pod")
    kept = msgspec.json.decode(json.dumps({"metadata": {"name": "p"}, "spec": other}).encode(), type=pod.part)
    assert pod.cut is not None
    assert pod.cut(kept)
    assert b"hunter2" not in msgspec.json.encode(kept)


class _Asked(dict[str, Any]):
    """A mapping that remembers which fields somebody asked for."""

    def __init__(self, value: Value, at: Place, asked: set[Place]) -> None:
        super().__init__({name: _watched(inner, (*at, name), asked) for name, inner in value.items()})
        self.at, self.asked = at, asked

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add((*self.at, key))
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self.asked.add((*self.at, key))
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.asked.add((*self.at, str(key)))
        return super().__contains__(key)


def _watched(value: Any, at: Place, asked: set[Place]) -> Any:
    if isinstance(value, list):
        return [_watched(item, at, asked) for item in value]
    return _Asked(value, at, asked) if isinstance(value, dict) else value


@pytest.mark.parametrize("place", PLACES)
def test_decoding_reads_nothing_beside_the_list(place: Place) -> None:
    asked: set[Place] = set()
    named = [at for at, leaf in LEAVES.items() if leaf in (pod_fields.LABELS, pod_fields.AMOUNTS)]
    decoded(_Asked(pair(place)[0], (), asked))
    inner = {at[:i] for at in LEAVES for i in range(1, len(at) + 1)}
    missing = {".".join(at) for at in asked if at[:-1] not in named and at not in inner}
    assert not missing, f"decode_pod reads what engine/model/pod_fields.py does not list: {missing}"
