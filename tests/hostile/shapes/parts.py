"""What shapes are made of."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

Json = dict[str, object]
ZONES = ("a", "b", "c")


class Files(NamedTuple):
    """``asks`` is the workload that ``why`` is asked about."""

    manifests: str
    cluster: str
    asks: str = "w0"


def nodes(count: int, zones: int = 3, **more: object) -> str:
    """A sketch of so many nodes in all."""
    names = [f"z{i}" for i in range(zones)]
    allocatable = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    entry = {"name": "n", "zones": names, "count": -(-count // zones), "allocatable": allocatable, **more}
    return sketch([entry])


def sketch(entries: list[Json], **more: object) -> str:
    return json.dumps({"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": entries, **more})


def stream(objects: Iterable[Json]) -> str:
    """Documents of a stream, each in the flow style that JSON is."""
    return "\n---\n".join(map(json.dumps, objects)) + "\n"


def workload(
    name: str, spec: Json | None = None, *, kind: str = "Deployment", replicas: int | None = 1, **top: object
) -> Json:
    """A workload whose pods carry the label ``app``; ``spec`` is added to that of its pods."""
    labels = {"app": name, **(top.pop("labels", None) or {})}  # type: ignore[dict-item]
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    pod = {"containers": [container], **(spec or {})}
    body: Json = {
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": labels}, "spec": pod},
        **top,
    }
    if replicas is not None:
        body["replicas"] = replicas
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": body}


def job(name: str, spec: Json | None = None, **top: object) -> Json:
    pod = {"containers": [{"name": "c", "image": "i:1"}], "restartPolicy": "Never", **(spec or {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {**top, "template": {"spec": pod}},
    }


def term(app: str, key: str = "kubernetes.io/hostname") -> Json:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


def affinity(terms: list[Json], kind: str = "podAffinity") -> Json:
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def preferred(terms: list[Json], kind: str) -> Json:
    return {
        "affinity": {
            kind: {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1 + i % 100, "podAffinityTerm": t} for i, t in enumerate(terms)
                ]
            }
        }
    }


def required_nodes(terms: list[Json]) -> Json:
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    }


def isin(key: str, values: list[str], operator: str = "In") -> Json:
    return {"key": key, "operator": operator, "values": values}


def obj(kind: str, name: str, api: str = "v1", **more: object) -> Json:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **more}
