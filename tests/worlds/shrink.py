"""``python -m tests.worlds.shrink SEED KIND [FOLDER]``: the smallest world that still shows a contradiction.

``--devices`` and the other options of ``tests.worlds.run`` say what makes the world.

Takes away whole objects, then fields and items of lists, then makes replicas fewer, for as long as the same kind of
contradiction is found. With a folder, writes ``manifests.yaml``, ``cluster.yaml`` and ``said.txt`` into it.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from msgspec.structs import replace

from tests.worlds.admission import merge_label_keys
from tests.worlds.agreement import Reading, contradictions
from tests.worlds.generator import World
from tests.worlds.reference import course, outcomes, why_not
from tests.worlds.run import MAKERS, add_makers

_KEPT = frozenset(
    {
        "apiVersion",
        "kind",
        "metadata",
        "name",
        "namespace",
        "uid",
        "labels",
        "containers",
        "image",
        "selector",
        "matchLabels",
        "labelSelector",
        "topologyKey",
        "maxSkew",
        "whenUnsatisfiable",
        "template",
        "conditions",
        "status",
        "allocatable",
        "pods",
        "cpu",
        "phase",
        "limits",
        "requests",
        "type",
        "replicas",
        "serviceName",
        "resources",
        "storage",
        "accessModes",
        "capacity",
        "hard",
        "volumeClaimTemplate",
        "containerPort",
        "protocol",
        "effect",
        "key",
        "operator",
        "values",
        "nodeName",
        "priority",
        "preemptionPolicy",
        "owner",
        "annotations",
        "deployment.kubernetes.io/revision",
        "restartPolicy",
        "ownerReferences",
        "controller",
        "spec",
        "parallelism",
        "driver",
        "pool",
        "generation",
        "resourceSliceCount",
        "allNodes",
        "devices",
        "device",
        "exactly",
        "firstAvailable",
        "deviceClassName",
        "count",
        "allocationMode",
        "matchAttribute",
        "distinctAttribute",
        "request",
        "attributes",
        "model",
        "string",
        "selectors",
        "cel",
        "expression",
        "sharedCounters",
        "counters",
        "counterSet",
        "value",
        "memory",
        "allowMultipleAllocations",
        "shareID",
        "consumedCapacity",
        "resourceClaimName",
        "resourceClaimTemplateName",
        "allocation",
        "results",
        "nodeSelector",
        "nodeSelectorTerms",
        "matchFields",
        "reservedFor",
        "resource",
        "extendedResourceName",
    }
)
"""Fields that are not taken away by themselves: without them an object is another, or none."""


def marks(world: World, kind: str) -> frozenset[str]:
    """What is said, without names and numbers, where it contradicts something in this way."""
    thorough = not kind.startswith(("lint", "deploy", "_against"))
    if not _is_whole(world):
        return frozenset()
    reading = Reading(world)
    if "api-would-reject" not in kind and any(f.rule == "api-would-reject" for f in reading.report.findings):
        return frozenset()
    found = [c for c in contradictions(world, thorough=thorough) if c.kind == kind]
    return frozenset(re.sub(r"\d+|\S*/\S*|[a-c]\b", "", c.said.rpartition("): ")[2]) for c in found)


def _is_whole(world: World) -> bool:
    """Whether pods stand on nodes that exist, and owners exist, as they do in a cluster."""
    named = {(v["kind"], v["metadata"]["name"]) for v in world.cluster}
    running = {p["metadata"]["name"]: p for p in world.cluster if p["kind"] == "Pod"}
    owners = [
        (o["kind"], o["name"])
        for v in world.cluster
        for o in v["metadata"].get("ownerReferences", ())
        if not o["name"].startswith("stranger")
    ]
    on_nodes = all(("Node", p["spec"]["nodeName"]) in named for p in running.values())
    made = Counter(owner for owner in owners if owner[0] == "ReplicaSet")
    sizes = {("ReplicaSet", v["metadata"]["name"]): v["spec"]["replicas"] for v in world.objects("ReplicaSet")}
    if any(count > sizes.get(owner, count) for owner, count in made.items()):
        return False
    return on_nodes and all(owner in named for owner in owners) and world == _as_owned(world)


def _as_owned(world: World) -> World:
    """With what owners keep equal: a Deployment has its newest ReplicaSet's template, pods have that of their owner."""
    newest: dict[str, Any] = {}
    for value in sorted(filter(_is_revision, world.cluster), key=_revision):
        newest[value["metadata"]["ownerReferences"][0]["name"]] = value["spec"]["template"]
    templates = {
        (v["kind"], v["metadata"]["name"]): v["spec"]["template"]
        for v in world.cluster
        if v["kind"] in ("ReplicaSet", "StatefulSet")
    }
    return replace(world, cluster=[_as_made(_as_rolled_out(v, newest), templates) for v in world.cluster])


def _is_revision(value: Any) -> bool:
    return value["kind"] == "ReplicaSet" and bool(value["metadata"].get("ownerReferences"))


def _revision(value: Any) -> int:
    return int(value["metadata"]["annotations"]["deployment.kubernetes.io/revision"])


def _as_rolled_out(value: Any, newest: dict[str, Any]) -> Any:
    template = newest.get(value["metadata"]["name"]) if value["kind"] == "Deployment" else None
    if template is None:
        return value
    labels = {k: v for k, v in template["metadata"]["labels"].items() if k != "pod-template-hash"}
    template = {**copy.deepcopy(template), "metadata": {**template["metadata"], "labels": labels}}
    return {**value, "spec": {**value["spec"], "template": template}}


def _as_made(value: Any, templates: dict[tuple[str, str], Any]) -> Any:
    owner = next(iter(value["metadata"].get("ownerReferences", ())), None)
    template = None if owner is None or value["kind"] != "Pod" else templates.get((owner["kind"], owner["name"]))
    if template is None:
        return value
    of_revision = {k: v for k, v in value["metadata"]["labels"].items() if k == "controller-revision-hash"}
    labels = {**template["metadata"]["labels"], **of_revision}
    kept = {k: v for k, v in value["spec"].items() if k in ("nodeName", "priority", "preemptionPolicy")}
    spec = {**copy.deepcopy(template["spec"]), **kept}
    merge_label_keys(spec, labels)
    return {**value, "metadata": {**value["metadata"], "labels": labels}, "spec": spec}


def shows(world: World, kind: str, wanted: frozenset[str]) -> bool:
    try:
        why_not(world)  # raises where the reference cannot read it
        return not wanted.isdisjoint(marks(world, kind))
    except Exception:  # what is cut off may be what decoding needs
        return False


def smallest(world: World, kind: str) -> World:
    """A world that shows it; hardly any single part of it can be taken away."""
    wanted = marks(world, kind)
    if not wanted:
        return world
    for where in ("cluster", "manifests"):
        for number in reversed(range(len(getattr(world, where)))):
            world = _kept(world, world.without(where, number), kind, wanted)
    for where in ("manifests", "cluster"):
        for number in range(len(getattr(world, where))):
            world = _trimmed(world, where, number, kind, wanted)
    return world


def _kept(world: World, smaller: World, kind: str, wanted: frozenset[str]) -> World:
    return smaller if shows(smaller, kind, wanted) else world


def _trimmed(world: World, where: str, number: int, kind: str, wanted: frozenset[str]) -> World:
    """One object without the fields that do not matter, outermost first."""
    tried: set[tuple[str | int, ...]] = set()
    while True:
        value = getattr(world, where)[number]
        left = [path for path in sorted(_paths(value), key=len) if path not in tried]
        if not left:
            break
        tried.add(left[0])
        world = _kept(world, _with(world, where, number, _without(value, left[0])), kind, wanted)
    value = getattr(world, where)[number]
    for _ in range(value.get("spec", {}).get("replicas", 1) - 1):
        fewer = copy.deepcopy(getattr(world, where)[number])
        fewer["spec"]["replicas"] -= 1
        world = _kept(world, _with(world, where, number, fewer), kind, wanted)
    return world


def _with(world: World, where: str, number: int, value: Any) -> World:
    """The world with another value of one object, and pods that follow where it is their owner."""
    objects = list(getattr(world, where))
    objects[number] = value
    return _as_owned(replace(world, **{where: objects}))


def _without(value: Any, path: tuple[str | int, ...]) -> Any:
    smaller = copy.deepcopy(value)
    inner = smaller
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return smaller


def _paths(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in _KEPT:
                yield (*at, key)
            yield from _paths(inner, (*at, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            if len(value) > 1:
                yield (*at, number)
            yield from _paths(inner, (*at, number))


def written(world: World, kind: str) -> dict[str, str]:
    """File name → text of a reproduction."""
    said = [str(c) for c in contradictions(world, thorough=True) if c.kind == kind]
    truth = outcomes(world)
    lines = [
        *said,
        "",
        f"reference: {truth.of if truth else why_not(world)}",
        "",
        "courses to each end that the reference finds:",
    ]
    if truth is not None:
        for number, (name, ends) in enumerate(truth.of.items()):
            for end in sorted(ends.ends):
                lines.append(f"  {name} ends with {end}:")
                lines += [f"    {line}" for line in course(world, lambda c, s, n=number, e=end: c.end(s, n) == e)]
    dumped = [yaml.safe_dump(json.loads(json.dumps(v)), sort_keys=False) for v in world.manifests]
    value = json.loads(json.dumps(world.cluster_value()))
    return {
        "manifests.yaml": "---\n".join(dumped),
        "cluster.yaml": yaml.safe_dump(value, sort_keys=False),
        "said.txt": "\n".join(lines) + "\n",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("kind")
    parser.add_argument("folder", type=Path, nargs="?")
    add_makers(parser)
    args = parser.parse_args()
    world = smallest(MAKERS[args.maker](args.seed), args.kind)
    for name, text in written(world, args.kind).items():
        if args.folder:
            args.folder.mkdir(parents=True, exist_ok=True)
            (args.folder / name).write_text(text)
        if not args.folder or name == "said.txt":
            print(f"# {name}\n{text}")


if __name__ == "__main__":
    main()
