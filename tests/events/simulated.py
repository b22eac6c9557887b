"""Manifests in a few words, and what ``simulate`` says of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_options import SimulationOptions
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import Cell
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.verdicts.matrix import EVENTS
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

Value = dict[str, Any]
FIXTURES = Path(__file__).parents[2] / "fixtures"
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def workload(kind: str, name: str, replicas: int | None, spec: Value | None = None, **more: Any) -> Value:
    pod = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}], **(spec or {})}
    template = {"metadata": {"labels": {"app": name}}, "spec": pod}
    body: Value = {"selector": {"matchLabels": {"app": name}}, "template": template, **more}
    if replicas is not None:
        body["replicas"] = replicas
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": body}


def asking(cpu: str, **more: Any) -> Value:
    return {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **more}


def apart(app: str, key: str = ZONE) -> Value:
    """Required anti-affinity to pods of an app."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def other(kind: str, name: str, api: str = "v1", **more: Any) -> Value:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **more}


def sketch(count: int = 2, zones: str = "abc", cpu: str = "4", pods: str = "110", *objects: Value) -> Cluster:
    nodes = [
        {"name": "w", "count": count, "zones": list(zones), "allocatable": {"cpu": cpu, "memory": "16Gi", "pods": pods}}
    ]
    value = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": nodes, "objects": list(objects)}
    return cluster_from([("cluster.yaml", yaml.dump(value, Dumper=yaml.CSafeDumper).encode())], "cluster.yaml")


def snapshot(*objects: Value, kinds: Iterable[str]) -> Cluster:
    """A snapshot that holds ``kinds`` whole; what kubectl prints of the objects where there are none."""
    body: Value = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    if kinds:
        meta = {"capturedAt": "2026-01-01T00:00:00Z", "kubernetesVersion": "v1.36.2", "kinds": list(kinds), "gaps": []}
        body = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSnapshot", "metadata": meta, "items": list(objects)}
    return cluster_from([("cluster.json", json.dumps(body).encode())], "cluster.json")


def report_of(
    cluster: Cluster,
    *objects: Value,
    events=EVENTS,
    pictured: str = "",
    never_ready=(),
    scale=(),
    suppose=(),
    group_by="",
    version="",
    skews=True,
    **effort: Any,
) -> SimulationReport:
    text = "---\n".join(yaml.dump(o, Dumper=yaml.CSafeDumper) for o in objects)
    found = manifest_set(documents("set.yaml", text.encode(), is_read), "default")
    options = Options(kubernetes_version=version)
    wishes = SimulationOptions(tuple(never_ready), tuple(scale), tuple(suppose), group_by, skews)
    return simulate(found, cluster, options, events, Effort(**effort), pictured, wishes=wishes)


def cell(result: SimulationReport, name: str, event: str) -> Cell:
    row = next(r for r in result.rows if result.workloads[r.number].name == name)
    return next(c for c in row.cells if c.event == event)
