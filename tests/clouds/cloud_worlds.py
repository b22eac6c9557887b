"""The manifests of ``fixtures/clouds`` in the words of each cloud, and the clusters, each read once."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from kubesched_lint import Report, lint, load_cluster
from kubesched_lint.cluster.cluster import Cluster
from scripts.cloud_fixtures import FOLDER, descriptions

CLOUDS = descriptions()
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


def manifests(kind: str) -> dict[str, Path]:
    """Return name → template; ``kind`` is ``mistakes`` or ``healthy``."""
    return {path.stem: path for path in sorted((FOLDER / "manifests" / kind).glob("*.yaml"))}


def text_for(cloud: str, kind: str, name: str) -> str:
    template = manifests(kind)[name].read_text(encoding="utf-8")
    return Template(template).substitute(CLOUDS[cloud]["values"])


@cache
def cluster_of(cloud: str) -> Cluster:
    return load_cluster(FOLDER / cloud / "nodes.json")


def report_of(cloud: str, kind: str, name: str, **options: Any) -> Report:
    report = lint(text={f"{name}.yaml": text_for(cloud, kind, name)}, cluster=cluster_of(cloud), **options)
    assert not report.errors, report.errors
    return report
