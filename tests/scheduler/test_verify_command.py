"""``kubesched-lint verify`` from the outside, and the recording script that docs/verify.md names."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kubesched_lint.cli.app import app

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures" / "conformance"


def verify(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["verify", *map(str, arguments)])


def record(path: Path, *cases: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))
    return path


def cluster(**more: Any) -> dict[str, Any]:
    node = {
        "metadata": {"name": "n0", "labels": {"kubernetes.io/hostname": "n0"}},
        "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10"}},
    }
    return {"id": "mine", "kubernetes": "v1.36.2", "namespaces": [], "nodes": [node], "pods": [], **more}


def pod(cpu: str) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": "p0", "namespace": "default"}, "spec": {"containers": [container]}}


TOO_BIG = (
    "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
    "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
)


def test_agreement_exits_with_zero_and_tells_what_only_the_sources_back() -> None:
    result = verify(FIXTURES / "preemption.jsonl.gz")
    assert result.exit_code == 0
    assert "preemption: 20 cases, 88 pods" in result.stdout
    assert re.search(r"nominated +86 of 88  \(2 more differ only by a random choice among equals\)", result.stdout)
    assert "disruption budgets of owned pods" in result.stdout


def test_a_difference_exits_with_one_and_is_explained(tmp_path: Path) -> None:
    decisions = [
        {"pod": pod("1"), "feasible": [], "message": "0/1 nodes are available: 1 Too many pods.", "node": None},
        {"pod": pod("3"), "feasible": ["n0"], "node": "n0"},
    ]
    result = verify(record(tmp_path / "c.jsonl", cluster(decisions=decisions)))
    assert result.exit_code == 1
    assert re.search(r"feasible +0 of 2", result.stdout)
    assert "we accept n0" in result.stdout
    assert "we reject n0: NodeResourcesFit: Insufficient cpu" in result.stdout
    assert "recorded   0/1 nodes are available: 1 Too many pods." in result.stdout


def test_predictions_are_one_line_a_decision(tmp_path: Path) -> None:
    cases = record(tmp_path / "c.jsonl", cluster(decisions=[{"pod": pod("1"), "node": "n0"}, {"pod": pod("3")}]))
    result = verify(cases, "--predictions", tmp_path / "ours.jsonl")
    assert result.exit_code == 0
    lines = [json.loads(line) for line in (tmp_path / "ours.jsonl").read_text().splitlines()]
    nothing = {"nominated": None, "victims": []}
    assert lines == [
        {"case": "mine", "pod": "default/p0", "rejected": False, "feasible": ["n0"], "message": None, **nothing},
        {"case": "mine", "pod": "default/p0", "rejected": False, "feasible": [], "message": TOO_BIG, **nothing},
    ]


def test_a_pod_that_the_api_server_refuses_is_predicted_in_its_words(tmp_path: Path) -> None:
    wrong = pod("1")
    wrong["spec"]["tolerations"] = [{"operator": "Equal", "value": "x"}]
    cases = record(tmp_path / "c.jsonl", cluster(decisions=[{"pod": wrong}]))
    verify(cases, "--predictions", tmp_path / "ours.jsonl")
    line = json.loads((tmp_path / "ours.jsonl").read_text())
    assert line["rejected"]
    assert line["message"].startswith('Pod "p0" is invalid: spec.tolerations[0].operator: Invalid value')


def test_json_has_the_same_account(tmp_path: Path) -> None:
    cases = record(tmp_path / "c.jsonl", cluster(decisions=[{"pod": pod("3"), "message": TOO_BIG, "node": None}]))
    account = json.loads(verify(cases, "--format", "json").stdout)["kinds"][0]
    assert account["kind"] == "decisions"
    assert account["questions"]["message"] == {"agreed": 1, "asked": 1, "explained": 0}
    assert account["disagreements"] == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"nodes": [], "namespaces": [], "decisions": [{}]}', "'pod' is missing"),
        (b'{"nodes": [{"metadata": 7}], "namespaces": [], "decisions": []}', "metadata: expected a mapping"),
        (b'{"nodes": [], "namespaces": [], "decisions": [], "kubernetes": "new"}', "not a Kubernetes version"),
        (b'{"id": "x", "files": [], "deploy": {}}', "files: expected a mapping"),
        (b'{"id": "x", "files": {}, "snapshot": "{", "deploy": {"workloads": {}}}', "snapshot.json"),
        (b'{"id": "x", "files": {}, "nodes": [], "deploy": {"workloads": []}}', "no nodes"),
        (b"\xff\xfe", "utf-8"),
        (gzip.compress(b'{"nodes": [], "namespaces": [], "decisions": []}\n' * 9, mtime=0)[:-9], "end-of-stream"),
    ],
)
def test_what_cannot_be_read_is_one_clear_error(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "c.jsonl").write_bytes(content)
    result = verify(tmp_path / "c.jsonl")
    assert result.exit_code == 2
    assert said in result.stderr
    assert "c.jsonl" in result.stderr
    assert "Traceback" not in result.output


def test_a_missing_file_is_named() -> None:
    result = verify("/no/such/file.jsonl")
    assert result.exit_code == 2
    assert "/no/such/file.jsonl: No such file or directory" in result.stderr


def test_a_kind_that_nobody_judges_is_an_error_with_its_line(tmp_path: Path) -> None:
    result = verify(record(tmp_path / "c.jsonl", cluster(decisions=[]), {"id": "x", "something": "else"}))
    assert result.exit_code == 2
    assert "unknown kind of record (fields: id, something)" in result.stderr
    assert "c.jsonl:2" in result.stderr


KUBECTL = """#!{python}
import json, sys
held = json.load(open({path!r}))
kinds = sys.argv[2].split(",") if sys.argv[1] == "get" else ["version"]
if kinds == ["version"]:
    print(json.dumps({{"serverVersion": {{"gitVersion": "v1.36.2"}}}}))
else:
    print(json.dumps({{"items": [item for kind in kinds for item in held.get(kind, [])]}}))
"""


def test_the_documented_script_records_cases_that_verify(tmp_path: Path) -> None:
    """It is run against a kubectl that lists a small cluster."""
    waiting = pod("3")
    waiting["metadata"]["uid"] = "u"
    waiting["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": TOO_BIG}],
    }
    running = {**pod("1"), "metadata": {"name": "b0", "namespace": "default"}, "status": {"phase": "Running"}}
    running["spec"] = {**running["spec"], "nodeName": "n0"}
    held = {"nodes": cluster()["nodes"], "namespaces": [], "pods": [waiting, running]}
    (tmp_path / "held.json").write_text(json.dumps(held))
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(KUBECTL.format(python=sys.executable, path=str(tmp_path / "held.json")))
    kubectl.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    made = subprocess.run(
        [sys.executable, ROOT / "examples" / "record.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    (tmp_path / "mine.jsonl").write_text(made.stdout)
    result = verify(tmp_path / "mine.jsonl")
    assert re.search(r"message +1 of 1", result.stdout), result.output
    assert result.exit_code == 0


ANSWERS = ("runs", "deploy", "refused", "quiet", "accepted", "code", "reason", "message", "causes")


def without_answers(case: dict[str, Any]) -> dict[str, Any]:
    bare = {name: value for name, value in case.items() if name not in ANSWERS}
    if "decisions" in case:
        bare["decisions"] = [{"pod": decision["pod"]} for decision in case["decisions"]]
    if isinstance(case.get("event"), dict):
        bare["event"] = {name: value for name, value in case["event"].items() if name != "workloads"}
    return bare


@pytest.mark.parametrize("kind", ["admission", "decisions", "dra", "families", "gangs", "preemption", "profiles"])
def test_predictions_read_no_answers(tmp_path: Path, kind: str) -> None:
    """Each case gets its rows, and the first row is the same: later decisions begin where the earlier ones led."""
    with gzip.open(FIXTURES / f"{kind}.jsonl.gz", "rt") as lines:
        cases = [json.loads(line) for line, _ in zip(lines, range(2), strict=False)]
    rows = []
    for name, records in (("whole", cases), ("bare", list(map(without_answers, cases)))):
        file = record(tmp_path / f"{name}.jsonl", *records)
        result = verify(file, "--predictions", tmp_path / "ours.jsonl")
        assert result.exit_code in ([0, 1] if name == "whole" else [0]), result.output
        rows.append([json.loads(line) for line in (tmp_path / "ours.jsonl").read_text().splitlines()])
    whole, bare = rows
    assert [row["case"] for row in bare] == [row["case"] for row in whole]
    assert {row["case"] for row in bare} == {case["id"] for case in cases}
    assert bare == whole if "decisions" not in cases[0] else bare[0] == whole[0]
