"""``just new-rule SLUG`` writes a rule that passes everything that a shipped rule must pass."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = (
    "kubesched_lint",
    "rules",
    "scripts",
    "tests/rulebook",
    "tests/conftest.py",
    "tests/share.py",
    "pyproject.toml",
)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with a new rule in it. Bytecode comes along, but for what is just being written."""
    folder = tmp_path_factory.mktemp("checkout")
    for part in PARTS:
        source, target = ROOT / part, folder / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.pyc.*"))
        else:
            shutil.copy(source, target)
    done = run(folder, "scripts/new_rule.py", "one-replica-is-none")
    assert done.returncode == 0, done.stderr
    return folder


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_its_examples_pass(checkout: Path) -> None:
    done = run(checkout, "-m", "kubesched_lint", "rules", "test", "--only", "one-replica-is-none")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 card" in done.stdout


def test_it_passes_the_tests_of_shipped_rules(checkout: Path) -> None:
    chosen = "one-replica-is-none or index or readme or every"
    module = "tests/rulebook/test_shipped_rules.py"
    done = run(checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", module, "-k", chosen)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_well_typed_and_well_formed(checkout: Path) -> None:
    module = "kubesched_lint/checks/one_replica_is_none.py"
    for command in (("ruff", "check", module), ("ruff", "format", "--check", module)):
        done = run(checkout, "-m", *command)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("slug", "why"),
    [
        ("one-replica-is-none", "there is a shipped rule"),
        ("One", "is no name of a rule"),
    ],
)
def test_a_name_that_cannot_be_used_writes_nothing(checkout: Path, slug: str, why: str) -> None:
    before = sorted((checkout / "rules").iterdir())
    done = run(checkout, "scripts/new_rule.py", slug)
    assert done.returncode == 2
    assert why in done.stderr
    assert sorted((checkout / "rules").iterdir()) == before
