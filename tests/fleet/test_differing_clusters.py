"""What only some clusters of a fleet have is said with their names: notes, questions, skipped rules, errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kubesched_lint.cli.app import app

WEB = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname}
      containers: [{name: web, image: "web:1", resources: {requests: {cpu: "3"}}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: typed, namespace: shop}
spec: {replicas: three, selector: {matchLabels: {app: a}}, template: {}}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
"""
SKETCH = """apiVersion: kubesched-lint/v1
kind: ClusterSketch
capturedAt: {date}
nodes:
- {{name: worker, count: 2, allocatable: {{cpu: "4", memory: 16Gi, pods: "110"}}}}
"""


def _node(name: str, **labels: str) -> dict[str, Any]:
    status = {
        "allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    labels = {"kubernetes.io/hostname": name, **labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Clusters: ``eks`` with a node group, ``old`` from 2020, ``new`` without a date and ``cut``, which is no JSON."""
    folder = tmp_path / "clusters"
    folder.mkdir()
    (tmp_path / "web.yaml").write_text(WEB)
    nodes = [_node(f"ip-{n}", **{"eks.amazonaws.com/nodegroup": "general"}) for n in range(2)]
    (folder / "eks.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
    (folder / "old.yaml").write_text(SKETCH.format(date="'2020-01-01T00:00:00Z'"))
    (folder / "new.yaml").write_text(SKETCH.format(date="''"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fleet(*args: str) -> Result:
    return CliRunner().invoke(app, ["fleet", "web.yaml", "--clusters", "clusters", "--executor", "serial", *args])


def labelled(text: str, wanted: str) -> list[str]:
    """The sentences of the footer with this label."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if line.lstrip().startswith("checked  "))
    room = lines[first].index("checked") + len("checked")
    found: dict[str, list[str]] = {}
    label = ""
    for line in lines[first:]:
        label = line[:room].strip() or label
        found.setdefault(label, []).append(line[room + 2 :])
    return found.get(wanted, [])


def test_notes_and_questions_name_their_cluster(repo: Path) -> None:
    shown = fleet().stdout
    notes = [note for note in labelled(shown, "note") if "eks.amazonaws.com/nodegroup" in note]
    assert [note.endswith("(in eks)") for note in notes] == [True]
    (question,) = labelled(shown, "decide")
    assert question.startswith("is the node group seen (general) all there is?")
    assert question.endswith("(in eks)")


def test_every_cluster_asks_its_own_question(repo: Path) -> None:
    other = (repo / "clusters" / "eks.json").read_text().replace("general", "spot")
    (repo / "clusters" / "aws.json").write_text(other)
    questions = labelled(fleet().stdout, "decide")
    assert [question.rpartition(" (in ")[2] for question in questions] == ["aws)", "eks)"]
    done = fleet("--require-node-groups", "--fail-on", "never")
    assert (done.exit_code, done.stderr.count("error: is the node group seen")) == (2, 2)


def test_what_all_clusters_share_is_said_once(repo: Path) -> None:
    shown = fleet().stdout
    assert labelled(shown, "not read") == ["1 Widget"]
    (checked,) = (line for line in shown.splitlines() if "checked  " in line)
    assert "1 file (3 documents), 1 workload" in checked
    (typed,) = (line for line in shown.splitlines() if "expected an integer" in line)
    assert "error[api-would-reject]: spec.replicas" in typed
    assert "(in " not in typed, "what holds everywhere names no cluster"


def test_an_old_snapshot_is_an_error_of_its_cluster(repo: Path) -> None:
    (repo / "web.yaml").write_text(WEB.partition("---")[0])
    assert fleet("--fail-on", "never").exit_code == 0
    done = fleet("--fail-on", "never", "--max-age", "7d")
    assert done.exit_code == 2
    (error,) = (line for line in done.stdout.splitlines() if "older than --max-age" in line)
    assert error.startswith("clusters/old.yaml: error: ")
    assert error.endswith("(in old)")
    (undated,) = (note for note in labelled(done.stdout, "note") if "no date" in note)
    assert undated.endswith("(in eks, new)")
    verdicts = {line.partition(": ")[0]: line for line in labelled(done.stdout, "cluster")}
    assert [name for name, line in verdicts.items() if line.endswith("1 problem with the input")] == ["old"]


def test_rules_that_one_cluster_skips_name_it(repo: Path) -> None:
    (repo / "clusters" / "cut.json").write_text("{")
    shown = fleet().stdout
    (skipped,) = labelled(shown, "skipped")
    assert "need a cluster (in cut), " in skipped
    assert "need running pods (in eks, new, old), " in skipped
    assert any(line.startswith("cut: clusters/cut.json could not be read: ") for line in labelled(shown, "cluster"))
    assert "rules need a cluster (--cluster) (in cut): " in fleet("--verbose").stdout


def test_json_counts_by_the_asked_severity(repo: Path) -> None:
    (repo / "web.yaml").write_text(WEB.partition("---")[0])
    codes = {}
    for severity in ("never", "note"):
        found = json.loads(fleet("--format", "json", "--fail-on", severity).stdout)
        codes[severity] = {cluster["exitCode"] for cluster in found["clusters"]}
    assert codes == {"never": {0}, "note": {1}}
