"""The commands as a person types them: exit codes, formats, and bad input that hides nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.program import called

ROOT = Path(__file__).parents[2]
SHOP, ZONES = "fixtures/shop", "fixtures/clusters/three-zones.yaml"


def run(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return called(*args, cwd=ROOT, stdin=stdin)


def test_the_first_command_of_the_readme_finds_what_it_promises() -> None:
    readme = (ROOT / "README.md").read_text()
    assert f"kubesched-lint lint {SHOP} --cluster {ZONES}" in readme
    done = run("lint", SHOP, "--cluster", ZONES)
    assert done.returncode == 1
    assert "two errors, a warning and a note" in readme
    assert "2 errors, 1 warning, 1 note" in done.stdout


def test_the_matrix_of_the_readme_is_what_simulate_prints() -> None:
    readme = (ROOT / "README.md").read_text()
    done = run("simulate", SHOP, "--cluster", ZONES)
    rows = [line for line in readme.splitlines() if line.startswith("shop/")]
    assert len(rows) == 4
    for row in rows:
        assert row in done.stdout


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().split()) <= 900


def test_a_version_that_was_not_recorded_is_named() -> None:
    shown = run("lint", "fixtures/shop/db.yaml", "--kubernetes-version", "1.34", "-v").stdout
    assert "judged as Kubernetes 1.34: recordings test 1.36, and what differs is taken from the source" in shown
    assert "judged as" not in run("lint", "fixtures/shop/db.yaml", "-v").stdout


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["lint", "fixtures/shop/db.yaml"], 0),
        (["lint", SHOP, "-c", ZONES], 1),
        (["lint", SHOP, "-c", ZONES, "--fail-on", "never"], 0),
        (["lint", "fixtures/shop/web.yaml", "-c", ZONES], 0),
        (["lint", "fixtures/shop/web.yaml", "-c", ZONES, "--fail-on", "warning"], 1),
        (["lint", "fixtures/shop/db.yaml", "--strict-skips"], 1),
        (["lint", "no-such-file.yaml"], 2),
        (["lint", SHOP, "-c", "no-such-cluster.yaml"], 2),
        (["lint", SHOP, "--select", "no-such-rule"], 2),
        (["lint", SHOP, "--format", "xml"], 2),
        (["lint", SHOP, "--kubernetes-version", "newest"], 2),
        (["frobnicate"], 2),
        (["--version"], 0),
        (["--help"], 0),
    ],
)
def test_exit_codes(args: list[str], code: int) -> None:
    done = run(*args)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_standard_input_and_several_formats_at_once(tmp_path: Path) -> None:
    text = (ROOT / SHOP / "cache.yaml").read_text()
    sarif = tmp_path / "out.sarif"
    done = run("lint", "-", "-c", ZONES, "--format", "json", "--format", f"sarif={sarif}", stdin=text)
    found = json.loads(done.stdout)["findings"]
    assert [f["rule"] for f in found] == ["anti-affinity-exceeds-domains"]
    assert found[0]["location"]["path"] == "<stdin>"
    assert len(json.loads(sarif.read_text())["runs"][0]["results"]) == 1


HEAD = b"kind: Pod\napiVersion: v1\n"


def test_every_hostile_file_is_one_message_and_the_others_are_linted(tmp_path: Path) -> None:
    hostile = {
        "deep.yaml": HEAD + b"a: " + b"[" * 50_000,
        "bomb.yaml": HEAD
        + b"a: &a ["
        + b"x," * 999
        + b"x]\nb: &b ["
        + b"*a," * 999
        + b"*a]\nc: ["
        + b"*b," * 999
        + b"*b]\n",
        "nul.yaml": HEAD + b"spec: \x00\n",
        "tabs.yaml": HEAD + b"spec:\n\ta: b\n",
        "utf8.yaml": HEAD + b"name: \xff\n",
        "twice.yaml": HEAD + b"spec: {}\nspec: {}\n",
        "types.yaml": b"kind: Deployment\napiVersion: apps/v1\nmetadata: {name: a}\nspec: {replicas: three}\n",
        "huge.yaml": HEAD + b"# " + b"x" * 50_000_000,
    }
    for name, data in hostile.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "self.yaml").symlink_to(tmp_path / "self.yaml")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "good.yaml").write_text((ROOT / SHOP / "cache.yaml").read_text())
    done = run("lint", str(tmp_path), "-c", ZONES, "--format", "json")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    report = json.loads(done.stdout)
    assert [Path(f["location"]["path"]).name for f in report["findings"]] == ["good.yaml"]
    assert sorted(Path(e["path"]).name for e in report["errors"]) == sorted([*hostile, "loop", "self.yaml"])
    for error in report["errors"]:
        assert "\n" not in error["message"]
        if Path(error["path"]).name not in ("huge.yaml", "self.yaml", "loop"):
            assert error["line"] >= 1


def test_a_misspelt_rule_gets_a_guess() -> None:
    assert "did you mean" in run("lint", SHOP, "--select", "anti-afinity-exceeds-domains").stderr


def test_a_part_of_a_set_proves_no_absence() -> None:
    paths = ("fixtures/seeds/B6/nobody.yaml", "-c", "fixtures/seeds/B6/cluster.yaml")
    assert run("lint", *paths).returncode == 1
    partial = run("lint", *paths, "--partial")
    assert partial.returncode == 0
    assert "warning[affinity-selector-matches-nothing]" in partial.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full device")
@pytest.mark.parametrize(
    "command",
    [("lint", SHOP), ("simulate", SHOP, "-c", ZONES), ("why", "shop/web", SHOP, "-c", ZONES), ("rules", "list")],
)
def test_output_that_finds_no_room_is_one_message(command: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        program = [sys.executable, "-c", "from kubesched_lint.cli import main; main()", *command]
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr
