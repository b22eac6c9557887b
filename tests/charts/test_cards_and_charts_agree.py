"""What a values card reads proves nothing that the rendered chart does not; what a chart makes is judged as it stands.

The values and what Helm 4.1 made of them are recorded (``tests/custom/record_app_template.py``).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesched_lint.commands.lint.run import Request, check
from kubesched_lint.custom.kinds import Kinds
from kubesched_lint.findings import Report
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.charts import rendering
from kubesched_lint.sources.charts.folder import keep
from kubesched_lint.sources.charts.lock import Locked, Pinned, text_of
from kubesched_lint.sources.charts.rendering import Charts
from tests.charts.packing import WEB, packed, program
from tests.custom.record_app_template import NAME, NAMESPACE, RECORDED

RECORDINGS = json.loads(RECORDED.read_text())
ADDRESS = "oci://example.com/charts"
SKETCH = {
    "apiVersion": "kubesched-lint/v1",
    "kind": "ClusterSketch",
    "nodes": [
        {
            "name": "a",
            "count": 2,
            "labels": {"disk": "ssd", "zone": "a"},
            "allocatable": {"cpu": "1", "memory": "1Gi", "pods": 10},
        },
        {
            "name": "b",
            "count": 1,
            "labels": {"arch": "arm64"},
            "taints": ["dedicated=x:NoSchedule"],
            "allocatable": {"cpu": "150m", "memory": "100Mi", "pods": 10},
        },
    ],
    "objects": [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "low"}, "value": 1}
    ],
}
NAMED = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
    {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "OCIRepository",
        "metadata": {"name": "chart", "namespace": NAMESPACE},
        "spec": {"url": f"{ADDRESS}/app-template", "ref": {"tag": "4.1.1"}},
    },
]


def release(values: dict[str, Any]) -> dict[str, Any]:
    spec = {"chartRef": {"kind": "OCIRepository", "name": "chart"}, "values": values}
    meta = {"name": NAME, "namespace": NAMESPACE}
    return {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": meta, "spec": spec}


def judged(folder: Path, objects: list[dict[str, Any]], charts: Charts | None = None) -> Report:
    folder.mkdir(exist_ok=True)
    (folder / "set.yaml").write_text(yaml.safe_dump_all(objects))
    (folder / "sketch.yaml").write_text(yaml.safe_dump(SKETCH))
    options = Options(profile="strict", kinds=Kinds(reads_named=True, charts=charts))
    return check(Request((str(folder / "set.yaml"),), str(folder / "sketch.yaml")), options, Rulebook.shipped())


REFUSAL = "api-would-reject"


def errors(report: Report) -> set[tuple[str, str]]:
    return {(one.rule, str(one.object)) for one in report.findings if one.severity.word == "error"}


def all_of(report: Report) -> set[tuple[str, str, str, str]]:
    return {(one.rule, one.severity.word, str(one.object), one.message) for one in report.findings}


@pytest.fixture
def charts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Charts:
    """Charts with app-template in the lock, and a ``helm`` that nobody starts."""
    folder = tmp_path / "charts"
    digest = keep(str(folder), packed(WEB, "app-template"))
    (tmp_path / "lock").write_text(text_of([(Pinned(ADDRESS, "app-template", "4.1.1"), Locked(digest))]))
    monkeypatch.setenv("PATH", str(program(tmp_path / "bin", "exit 1")))
    return Charts(str(tmp_path / "lock"), str(folder))


@pytest.mark.parametrize("number", range(0, len(RECORDINGS), 2))
def test_three_readings_of_one_release(
    number: int, tmp_path: Path, charts: Charts, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = RECORDINGS[number]
    text = yaml.safe_dump_all(recorded["objects"])
    monkeypatch.setattr(rendering, "render", lambda *words, **more: text)
    installed = [*NAMED, release(recorded["values"])]
    by_card = judged(tmp_path / "card", installed)
    by_chart = judged(tmp_path / "chart", installed, charts)
    plain = judged(tmp_path / "plain", [NAMED[0], *recorded["objects"]])
    assert by_chart.summary.unread_releases == ()
    assert by_chart.summary.workloads == plain.summary.workloads
    if not any(rule == REFUSAL for rule, _ in errors(plain)):  # a card does not tell all fields that a server validates
        assert errors(by_card) <= errors(plain)
    assert errors(by_chart) == errors(plain)
    assert all_of(by_chart) == all_of(plain)


def test_the_sets_have_errors_at_all(tmp_path: Path) -> None:
    """Else the property would hold for nothing."""
    found = [errors(judged(tmp_path / "plain", [NAMED[0], *one["objects"]])) for one in RECORDINGS[::6]]
    assert len(set().union(*found)) > 5
