"""What a user of 0.1 has in a repository (``fixtures/compat-0.1``) still means the same: see docs/versioning.md.

``answers.json`` is what 0.1.0 said, without words, which may get better. Never write it anew from a later version.
Rules that came later may add findings, and nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint import load_rules

ROOT = Path(__file__).parents[2]
HOME = ROOT / "fixtures" / "compat-0.1"
ANSWERS: dict[str, Any] = json.loads((HOME / "answers.json").read_text())


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(ROOT), str(HOME / "site-packages")))
    return subprocess.run(
        [sys.executable, "-m", "kubesched_lint", *arguments],
        cwd=HOME,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    pytest.importorskip("cel_expr_python")
    done = run("lint", "manifests", "--no-cache", "--format", "json")
    assert done.returncode == ANSWERS["exit code"], done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def verdict(finding: dict[str, Any]) -> list[Any]:
    """A finding without its words."""
    place, held = finding["location"], finding["suppressed"]
    waived = held and ("known" if held.get("known") else "waived")
    return [finding["rule"], finding["severity"], place["path"], place["line"], place["column"], waived]


def of_old_rules(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings of all rules but those whose cards say that a later version brought them."""
    later = {rule.slug for rule in load_rules().rules.values() if rule.since not in ("", "0.1.0")}
    return [finding for finding in report["findings"] if finding["rule"] not in later]


def test_configuration_baseline_waivers_and_rules_give_what_they_gave(report: dict[str, Any]) -> None:
    assert [verdict(finding) for finding in of_old_rules(report)] == ANSWERS["findings"]


def test_fingerprints_stay(report: dict[str, Any]) -> None:
    assert [finding["fingerprint"] for finding in of_old_rules(report)] == ANSWERS["fingerprints"]


def test_rules_that_came_later_are_in_preview_and_add_notes_at_most_here(report: dict[str, Any]) -> None:
    old = of_old_rules(report)
    added = [finding for finding in report["findings"] if finding not in old]
    assert [(finding["rule"], finding["severity"], finding["preview"]) for finding in added] == [
        ("pods-without-requests", "note", True)
    ]


def test_no_key_of_the_report_is_gone(report: dict[str, Any]) -> None:
    assert keys_of(report) >= set(ANSWERS["keys"])


def keys_of(value: Any, at: str = "") -> set[str]:
    """The paths of all keys; positions in lists do not count."""
    if isinstance(value, list):
        return {key for item in value for key in keys_of(item, at)}
    if not isinstance(value, dict):
        return set()
    inner = {key for name, item in value.items() for key in keys_of(item, f"{at}{name}.")}
    return {f"{at}{name}" for name in value} | inner


def test_a_fix_of_a_package_is_still_offered() -> None:
    done = run("lint", "manifests/edge.yaml", "--no-cache", "--diff", "--unsafe-fixes")
    assert "-  replicas: 2\n+  replicas: 3\n" in done.stdout


def test_no_key_of_the_sarif_log_is_gone() -> None:
    log = json.loads(run("lint", "manifests", "--no-cache", "--format", "sarif").stdout)
    assert keys_of(log) >= set(ANSWERS["keys of SARIF"])


def test_every_setting_is_still_read() -> None:
    done = run("config", "show", "manifests", "--format", "json")
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)["values"]
    assert {key: values.get(key) for key in ANSWERS["settings"]} == ANSWERS["settings"]
