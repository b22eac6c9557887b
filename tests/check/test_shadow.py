"""``shadow = true``: a gate that only tells what it would have blocked."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from tests.program import called

ROOT = Path(__file__).parents[2]
TOO_LARGE = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: a, image: b, resources: {requests: {cpu: "900"}}}]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.yaml").write_text(TOO_LARGE)
    (tmp_path / "kubesched.toml").write_text("shadow = true\n")
    return tmp_path


def test_lint_exits_with_0_counts_and_lists(folder: Path) -> None:
    command = ("lint", "a.yaml", "-c", str(ROOT / "fixtures" / "clusters" / "three-zones.yaml"))
    done = called(*command, cwd=folder)
    assert done.returncode == 0
    assert "1 error" in done.stdout
    assert "shadow: 1 would have blocked, exit 0" in done.stdout
    found = json.loads(called(*command, "-f", "json", cwd=folder).stdout)
    schema = json.loads((ROOT / "kubesched_lint" / "schemas" / "report.schema.json").read_text())
    jsonschema.validate(found, schema)
    assert found["summary"]["wouldHaveBlocked"] == [found["findings"][0]["fingerprint"]]
    assert called(*command, "--no-config", cwd=folder).returncode == 1
    assert "makes the gate weaker: shadow = true" in called(*command, "-v", cwd=folder).stdout


def test_what_cannot_be_read_is_exit_2_in_shadow_too(folder: Path) -> None:
    (folder / "a.yaml").write_text("kind: [\n")
    assert called("lint", "a.yaml", cwd=folder).returncode == 2


def test_init_makes_a_gate_of_a_repository_with_old_findings(folder: Path) -> None:
    """What is there is known; from then on, a new fault of the same kind blocks."""
    (folder / "kubesched.toml").unlink()
    nodes = {"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}
    listed = {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Node", **nodes}]}
    (folder / "nodes.json").write_text(json.dumps(listed))
    command = ("init", "nodes.json", "--node-groups", "complete", "-o", "cluster.yaml", "--gate", "a.yaml")
    done = called(*command, cwd=folder)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "kubesched-baseline.json: 1 known finding (1 error), which do not block" in done.stderr
    assert "blocks from now on (exit 1): each new error, by " in done.stderr
    assert called("lint", "a.yaml", cwd=folder).returncode == 0
    (folder / "b.yaml").write_text(TOO_LARGE.replace("name: a}", "name: b}", 1))
    assert called("lint", "a.yaml", "b.yaml", cwd=folder).returncode == 1
    again = called(*command, "--force", cwd=folder)
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize(
    ("existing", "words"), [("kubesched-baseline.json", "exists; --force"), ("", "is not written")]
)
def test_init_replaces_no_baseline_and_makes_none_of_half_the_files(folder: Path, existing: str, words: str) -> None:
    (folder / "nodes.json").write_text('{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}')
    (folder / (existing or "a.yaml")).write_text("kind: [\n")
    done = called("init", "nodes.json", "-o", "cluster.yaml", "--gate", "a.yaml", cwd=folder)
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.parametrize("has_settings", [False, True])
def test_a_gate_hides_no_settings_and_writes_any_name(folder: Path, has_settings: bool) -> None:
    """A kubesched.toml beside a pyproject.toml with our table would hide it."""
    (folder / "kubesched.toml").unlink()
    if has_settings:
        (folder / "pyproject.toml").write_text('[tool.kubesched-lint]\nprofile = "strict"\n')
    (folder / "nodes.json").write_text('{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}')
    done = called("init", "nodes.json", "-o", 'the "nodes".yaml', "--gate", "a.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "kubesched.toml").exists() is not has_settings
    named = {"cluster": 'the "nodes".yaml', "baseline": "kubesched-baseline.json"}
    if has_settings:
        told = next(line for line in done.stderr.splitlines() if line.startswith("add to pyproject.toml: "))
        assert tomllib.loads(told.partition(": ")[2].replace(" and ", "\n")) == named
    else:
        assert tomllib.loads((folder / "kubesched.toml").read_text()) == named


def test_a_gate_of_what_cannot_be_read_writes_only_the_sketch(folder: Path) -> None:
    (folder / "kubesched.toml").unlink()
    (folder / "nodes.json").write_text('{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}')
    done = called("init", "nodes.json", "-o", "cluster.yaml", "--gate", "nowhere", cwd=folder)
    assert (done.returncode, "error: nowhere: no such file or folder" in done.stderr) == (2, True)
    assert {file.name for file in folder.iterdir()} == {"a.yaml", "nodes.json", "cluster.yaml"}


def test_a_gate_needs_the_name_of_its_sketch(folder: Path) -> None:
    done = called("init", "nodes.json", "--gate", "a.yaml", cwd=folder)
    assert (done.returncode, "--gate needs the name of the sketch" in done.stderr) == (2, True)


@pytest.fixture
def changed(folder: Path) -> Path:
    (folder / "before").mkdir()
    (folder / "before" / "a.yaml").write_text(TOO_LARGE.replace("900", "1"))
    return folder


PLAN = ("plan", "before/a.yaml", "a.yaml", "-c", str(ROOT / "fixtures" / "clusters" / "three-zones.yaml"))


@pytest.mark.parametrize("gate", ["worse", "error"])
def test_plan_exits_with_0_counts_and_lists(changed: Path, gate: str) -> None:
    command = (*PLAN, "--fail-on", gate)
    for form in ("text", "markdown", "html"):
        done = called(*command, "-f", form, cwd=changed)
        assert (done.returncode, "1 thing would have blocked (default/a); exit 0" in done.stdout) == (0, True), form
    found = json.loads(called(*command, "-f", "json", cwd=changed).stdout)
    schema = json.loads((ROOT / "kubesched_lint" / "schemas" / "plan.schema.json").read_text())
    jsonschema.validate(found, schema)
    assert found["wouldHaveBlocked"] == [{"kind": "Pod", "namespace": "default", "name": "a"}]
    assert called(*command, "--no-config", cwd=changed).returncode == 1


def test_plan_tells_where_nothing_would_have_blocked(changed: Path) -> None:
    done = called(*PLAN, "--fail-on", "never", cwd=changed)
    assert (done.returncode, "shadow: nothing would have blocked" in done.stdout) == (0, True), done.stdout
    assert "shadow" not in called(*PLAN, "--fail-on", "never", "--no-config", cwd=changed).stdout
    (changed / "a.yaml").write_text("kind: [\n")
    assert called(*PLAN, cwd=changed).returncode == 2
