"""What docs/simulate.md says, done: its commands print what it shows, and a schema describes its JSON."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kubesched_lint.engine.events.limits import MOST_PODS
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.scenario.limits import MOST_NODES
from kubesched_lint.engine.verdicts.matrix import EVENTS
from tests.program import called

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/simulate.md").read_text()
SCHEMA = json.loads((ROOT / "kubesched_lint/schemas/simulate.schema.json").read_text())
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


REFUSED = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: -1}}"
SHOP = ("fixtures/shop", "--cluster", "fixtures/clusters/three-zones.yaml")


@pytest.mark.parametrize(
    "arguments",
    [
        SHOP,
        (*SHOP, "--never-ready", "shop/db", "--events", "deploy,rollout"),
        (*SHOP, "--events", "deploy", "--lose", "zone=eu-west-1a", "--scale", "cache=2"),
        ("fixtures/company/repo", "-c", "fixtures/company/cluster.json", "--no-config", "--events", "deploy,rollout"),
        ("REFUSED", *SHOP),
    ],
    ids=["all events", "never ready", "hypotheses", "environments", "refused"],
)
def test_the_schema_describes_every_key_of_the_json(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "refused.yaml").write_text(REFUSED)
    words = [str(tmp_path / "refused.yaml") if word == "REFUSED" else word for word in arguments]
    value = json.loads(called("simulate", *words, "--format", "json", cwd=ROOT).stdout)
    assert value["workloads"]
    assert bool(value["refused"]) >= ("REFUSED" in arguments)
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(closed(SCHEMA)).validate(value)


def closed(schema: Any) -> Any:
    """The schema, which takes no key that it does not describe."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    return {**found, "additionalProperties": False} if isinstance(found.get("properties"), dict) else found


def test_events_and_limits_of_the_page_are_those_of_the_code():
    for event in EVENTS:
        assert f"| `{event}` |" in PAGE
    assert f"up to {MOST_NODES} nodes and {MOST_PODS} pods, and within `--states` ({Effort().states:,})" in PAGE
