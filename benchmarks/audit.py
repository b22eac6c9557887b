"""The CPU time of ``audit`` on a large cluster, part by part.

Run from the repository: ``python -m benchmarks.audit [PODS NODES]``; default: 30,000 pods on 1,000 nodes. The pods are
those of ``benchmarks/snapshot.py``, with their Deployments: a third spreads over zones, a third keeps apart. Each
thousandth pod waits for a node.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.snapshot import lean, nodes, pods
from kubesched_lint.commands.audit.run import audit
from kubesched_lint.linter.options import Options
from kubesched_lint.report.audit.as_text import verdict
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from

KINDS = (
    "Node", "Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "Namespace", "PersistentVolumeClaim",
    "PersistentVolume", "StorageClass", "CSINode", "PriorityClass", "PodDisruptionBudget", "HorizontalPodAutoscaler",
    "LimitRange", "ResourceQuota", "Service", "RuntimeClass",
)  # fmt: skip


def with_owners(placed_pods: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the pods and their Deployments; constraints depend on the number of the Deployment."""
    owners: dict[tuple[str, str], dict[str, Any]] = {}
    for number, pod in enumerate(placed_pods):
        meta, spec = pod["metadata"], pod["spec"]
        app = meta["labels"]["app"]
        if app.startswith("app-"):
            _constrain(spec, app)
            template = {"metadata": {"labels": {"app": app}}, "spec": {**spec, "nodeName": None}}
            owner = owners.setdefault((meta["namespace"], app), _deployment(meta["namespace"], app, template))
            owner["spec"]["replicas"] += 1
            if number % 1000 == 1:
                del spec["nodeName"]
                spec["containers"][0]["resources"]["requests"]["cpu"] = "64"
                text = "0/1 nodes are available: 1 Insufficient cpu. preemption: …"
                pod["status"] = {
                    "phase": "Pending",
                    "conditions": [
                        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": text}
                    ],
                }
        yield pod
    yield from owners.values()


def _constrain(spec: dict[str, Any], app: str) -> None:
    selector = {"matchLabels": {"app": app}}
    match int(app.removeprefix("app-")) % 3:
        case 0:
            spread = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
            spec["topologySpreadConstraints"] = [{**spread, "topologyKey": "topology.kubernetes.io/zone"}]
        case 1:
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
            apart = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            spec["affinity"] = {"podAntiAffinity": apart}


def _deployment(namespace: str, app: str, template: dict[str, Any]) -> dict[str, Any]:
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": app}}, "template": template}
    meta = {"name": app, "namespace": namespace}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


def main() -> None:
    pod_count, node_count = map(int, sys.argv[1:3]) if len(sys.argv) == 3 else (30_000, 1_000)
    made = list(nodes(node_count))
    names = [node["metadata"]["name"] for node in made]
    items = [*made, *with_owners(list(map(lean, pods(pod_count, names))))]
    meta = {"kinds": KINDS, "kubernetesVersion": "v1.36.0", "capturedAt": "2026-01-02T00:00:00Z"}
    head = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSnapshot", "metadata": meta}
    data = json.dumps({**head, "items": items}).encode()
    before = time.process_time()
    cluster = cluster_from([("snapshot.json", data)], "snapshot.json")
    read = time.process_time()
    report = audit(cluster, Options(), Rulebook.shipped())
    end = time.process_time()
    print(f"{pod_count:,} pods on {node_count:,} nodes: read {read - before:.2f} s, audit {end - read:.2f} s CPU")
    print(f"  {verdict(report)}; not followed: {'; '.join(report.unfollowed) or 'nothing'}")


if __name__ == "__main__":
    main()
