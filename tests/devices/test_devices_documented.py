"""What docs/devices.md shows is what the commands print."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.report.findings.explanation import as_text as why_text
from kubesched_lint.report.simulation.report import as_text as simulate_text
from kubesched_lint.sources.clusters.read import cluster_from
from tests.devices.sets import manifests_of
from tests.worlds.agreement import rulebook

PAGE = (Path(__file__).parents[2] / "docs/devices.md").read_text()
FILES = dict(re.findall(r"^```yaml\n# (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
SHOWN = dict(
    re.findall(r"^```console\nkubesched-lint (\w+).*?\n```\n\n```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
)


def cluster() -> Cluster:
    return cluster_from([("devices.yaml", FILES["devices.yaml"].encode())], "devices.yaml")


def manifests() -> ManifestSet:
    return manifests_of(*yaml.safe_load_all(FILES["train.yaml"]))


def printed(command: str, text: str) -> None:
    for line in SHOWN[command].splitlines():
        assert line in text


def test_why_prints_what_the_page_shows() -> None:
    printed("why", why_text(answer(Question("train"), manifests().inventory, cluster())))


def test_lint_prints_what_the_page_shows() -> None:
    report, _ = lint(manifests(), cluster(), Options(), rulebook().select("strict"))
    printed("lint", "\n".join(finding.message for finding in report.findings))


def test_simulate_prints_what_the_page_shows() -> None:
    found = simulate(manifests(), cluster(), Options(), ("deploy", "rollout", "node-loss"))
    printed("simulate", simulate_text(found))


def test_the_page_has_three_commands() -> None:
    assert list(SHOWN) == ["why", "lint", "simulate"]
