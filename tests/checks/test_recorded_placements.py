"""lint held against recorded deployments of a real Kubernetes v1.36: no error where every pod ran, and no silence."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.findings import Finding
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents
from tests.share import every

RECORDED = Path(__file__).parents[2] / "fixtures" / "conformance"


def cases() -> Iterator[dict[str, Any]]:
    for name in ("lifecycles.jsonl.gz", "lifecycles-wide.jsonl.gz"):
        with gzip.open(RECORDED / name, "rt") as lines:
            yield from map(json.loads, lines)


def findings(case: dict[str, Any]) -> tuple[Finding, ...]:
    text = "\n---\n".join(map(json.dumps, case["objects"]))
    manifests = manifest_set(documents("m.yaml", text.encode(), is_read), "default")
    nodes = json.dumps({"apiVersion": "v1", "kind": "List", "items": case["nodes"]}).encode()
    cluster = cluster_from([("c.json", nodes)], "c.json", elastic=False)
    report, _ = lint(manifests, cluster, Options(), Rulebook.shipped().select("ci"))
    assert not report.errors
    return report.findings


@pytest.mark.parametrize("case", every(3, cases()), ids=lambda case: case["id"])
def test_what_lint_says_of_a_deployment_is_what_happened(case: dict[str, Any]) -> None:
    first = [run[0] for run in case["runs"] if run and run[0]["quiescent"]]
    pending = [sum(sum(w["pending"].values()) for w in phase["workloads"].values()) for phase in first]
    said = findings(case)
    errors = [f for f in said if f.severity.word == "error" and f.evidence.event == "deploy"]
    if pending and not any(pending):
        assert not errors, [f.message for f in errors]
    if pending and all(pending):
        assert said
    for error in errors:
        for phase in first:
            victim = phase["workloads"].get(f"{error.object.kind}/{error.object.name}")
            assert victim is None or error.rule == "set-does-not-fit" or victim["pending"], error.message
