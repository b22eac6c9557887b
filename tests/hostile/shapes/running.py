"""Shapes as a cluster that runs them, and as a change: what ``audit``, ``drain`` and ``plan`` are asked about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import kubesched_lint
from kubesched_lint.sources.manifests.loader import documents
from tests.hostile.shapes.parts import Files

_MAKERS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")
_MOST_PODS = 4
"""Pods of one workload: the shapes are large in other ways."""
_OF_CLUSTERS = ("Node", "Pod", "Namespace", "ReplicaSet", "PersistentVolumeClaim", "PersistentVolume")


def running(files: Files) -> str:
    """A sketch of the same nodes with all objects of the manifests and pods of each workload, node after node."""
    sketch, here = _cluster(files.cluster)
    objects = list(_objects(files.manifests))
    nodes = [node.name for node in kubesched_lint.load_cluster(text={"c.yaml": files.cluster}).inventory.nodes]
    at = cycle(nodes)
    pods = [pod for one in objects if one["kind"] in _MAKERS for pod in _pods(one, at)] if nodes else []
    kinds = sorted({one["kind"] for one in objects} | set(_OF_CLUSTERS))
    return json.dumps({**sketch, "kinds": kinds, "objects": [*objects, *here, *pods]})


def changed(files: Files) -> str:
    """The manifests before a change of all workloads: with other replicas and requests."""
    return files.manifests.replace('"replicas": 1', '"replicas": 2').replace("100m", "150m")


def _cluster(text: str) -> tuple[dict[str, Any], list[Any]]:
    """The keys of a sketch, and the objects of the cluster: its list, or all documents if it is a stream of objects."""
    try:
        sketch = json.loads(text)
    except ValueError:
        return {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch"}, list(_objects(text))
    return sketch, list(sketch.pop("objects", []))


def _objects(text: str) -> Iterator[dict[str, Any]]:
    return (d.value for d in documents("m.yaml", text.encode(), lambda *_: True) if _is_object(d))


def _is_object(document: Any) -> bool:
    value = getattr(document, "value", None)
    return isinstance(value, dict) and isinstance(value.get("kind"), str) and isinstance(value.get("metadata"), dict)


def _pods(workload: dict[str, Any], at: Iterator[str]) -> Iterator[dict[str, Any]]:
    spec = workload.get("spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    if not isinstance(template, dict):
        return
    name, kind = str(workload["metadata"].get("name")), workload["kind"]
    owner = {"Deployment": "ReplicaSet"}.get(kind, kind)
    made_by = f"{name}-7d9f" if kind == "Deployment" else name
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), **({"pod-template-hash": "7d9f"} if kind == "Deployment" else {})}
    many = spec.get("replicas", 1)
    for number in range(min(many, _MOST_PODS) if isinstance(many, int) else 1):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{made_by}-{number}",
                "namespace": workload["metadata"].get("namespace", "default"),
                "labels": labels,
                "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": owner, "name": made_by, "uid": made_by, "controller": True}
                ],
            },
            "spec": {**(template.get("spec") or {}), "nodeName": next(at)},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }
