"""What docs/simulate.md says, done: its commands print what it shows, its tables name what there is."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from kubesched_lint.lifecycle.courses import Effort
from kubesched_lint.lifecycle.limits import MOST_PODS
from kubesched_lint.lifecycle.matrix import EVENTS
from kubesched_lint.world.limits import MOST_NODES
from tests.program import called

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/simulate.md").read_text()
SHOWN = re.findall(r"^```console\n(.*?)\n```\n(?:\n```text\n(.*?)\n```\n)?", PAGE, re.MULTILINE | re.DOTALL)


@cache
def run(command: str) -> subprocess.CompletedProcess[str]:
    name, *arguments = command.split()
    assert name == "kubesched-lint"
    return called(*arguments, cwd=ROOT)


@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[c.split("three-zones.yaml")[1] for c, _ in SHOWN])
def test_each_command_of_the_page_prints_what_it_shows(command, shown):
    done = run(command)
    assert done.returncode == 1, done.stderr
    printed = done.stdout.splitlines()
    for line in shown.splitlines():
        assert any(one.startswith(line) for one in printed), line


def test_the_page_has_as_many_commands_as_it_had():
    assert len(SHOWN) == 5


def test_the_table_of_fields_names_exactly_those_of_the_json():
    (command,) = (command for command, _ in SHOWN if command.endswith("--format json"))
    value = json.loads(run(command).stdout)
    table = PAGE.split("One object:")[1]
    for name in value:
        assert f"`{name}" in table
    cell = value["workloads"][0]["cells"][0]
    documented = set(re.findall(r"`(?:cells\[\])?\.(\w+)`", table))
    assert documented == set(cell)


def test_events_and_limits_of_the_page_are_those_of_the_code():
    for event in EVENTS:
        assert f"| `{event}` |" in PAGE
    assert f"up to {MOST_NODES} nodes and {MOST_PODS} pods, and within `--states` ({Effort().states:,})" in PAGE
