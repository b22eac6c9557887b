"""``shadow = true``: a gate that only tells what it would have blocked."""

from __future__ import annotations

import json
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
