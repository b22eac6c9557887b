"""``kubesched-lint rules`` as one types it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kubesched_lint.rulebook._generated import RULES
from tests.program import called

CardText = Callable[..., str]
COMMAND = [sys.executable, "-m", "kubesched_lint", "rules"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return called("rules", *arguments)


def test_list_names_every_rule_with_its_severity() -> None:
    done = run("list")
    assert done.returncode == 0
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.startswith("  ")}
    assert set(lines) == {rule.slug for rule in RULES}
    assert all(f"  {rule.severity.word}" in lines[rule.slug] for rule in RULES)


def test_list_can_be_narrowed_and_read_by_machines() -> None:
    done = run("list", "--family", "anti-affinity", "--format", "json")
    found = {rule["slug"]: rule for rule in json.loads(done.stdout)}
    assert set(found) == {rule.slug for rule in RULES if rule.family == "anti-affinity"}
    assert found["anti-affinity-exceeds-domains"]["params"] == {"reserve": 0}
    assert found["anti-affinity-exceeds-domains"]["severity"] == "error"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("list", "--family", "anti-afinity"), "did you mean `anti-affinity`?"),
        (("explain", "anti-affinity-exceeds-domain"), "did you mean `anti-affinity-exceeds-domains`?"),
        (("test", "--only", "anti-affinity-exceeds-domain"), "did you mean `anti-affinity-exceeds-domains`?"),
        (("test", "/nowhere/at/all"), "is not a folder"),
    ],
)
def test_a_wrong_name_is_a_usage_error(arguments: tuple[str, ...], hint: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert hint in done.stderr
    assert done.stdout == ""


def test_explain_prints_the_card_as_plain_markdown_into_a_pipe() -> None:
    done = run("explain", "anti-affinity-exceeds-domains")
    assert done.returncode == 0
    assert done.stdout.startswith("# anti-affinity-exceeds-domains\n")
    for part in (
        "- **Severity:** error",
        "## What it finds",
        "# finding: each needs a zone",
        "## What it cannot see",
        "40358",
    ):
        assert part in done.stdout
    assert "\x1b[" not in done.stdout


def test_explain_renders_the_card_on_a_terminal() -> None:
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen([*COMMAND, "explain", "untolerated-taints"], stdout=follower, env=environment) as process:
        os.close(follower)
        shown = b""
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:  # Linux says so when the other side has closed
                break
            if not chunk:
                break
            shown += chunk
    os.close(leader)
    assert process.returncode == 0
    text = shown.decode()
    assert "\x1b[" in text
    assert "What it finds" in text
    assert "## What it finds" not in text


def test_a_broken_card_of_ones_own_is_one_error_at_its_line(tmp_path: Path, card_text: CardText) -> None:
    (tmp_path / "some-rule.md").write_text(card_text({"severity: error": "severity: fatal"}))
    done = run("test", str(tmp_path))
    assert done.returncode == 2
    assert f"{tmp_path}/some-rule.md:4: severity: 'fatal' is not one of" in done.stdout


def test_a_folder_without_cards_is_an_error(tmp_path: Path) -> None:
    done = run("test", str(tmp_path))
    assert (done.returncode, "has no cards" in done.stderr) == (2, True)
