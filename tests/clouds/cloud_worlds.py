"""The manifests of ``fixtures/clouds`` in the words of each cloud, and the clusters, each read once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Template

from kubesched_lint import Report, lint, load_cluster
from kubesched_lint.engine.cluster.cluster import Cluster
from scripts.cloud_fixtures import FOLDER, descriptions

CLOUDS = descriptions()


@cache
def templates(kind: str) -> dict[str, str]:
    """Return name → text with placeholders; ``kind`` is ``mistakes`` or ``healthy``."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted((FOLDER / "manifests" / kind).iterdir())}


def nodes_of(cloud: str) -> Path:
    return FOLDER / cloud / "nodes.json"


def text_for(cloud: str, kind: str, name: str) -> str:
    return Template(templates(kind)[name]).substitute(CLOUDS[cloud]["values"])


@cache
def cluster_of(cloud: str, decision: str) -> Cluster:
    return load_cluster(nodes_of(cloud), node_groups=decision)


def report_of(cloud: str, decision: str, kind: str, name: str) -> Report:
    report = lint(text={f"{name}.yaml": text_for(cloud, kind, name)}, cluster=cluster_of(cloud, decision))
    assert not report.errors, report.errors
    return report
