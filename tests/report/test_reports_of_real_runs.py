"""What the command prints about real manifests is valid, whatever it found in them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jsonschema import Draft4Validator, Draft202012Validator

from kubesched_lint.report.findings.formats import FORMATS
from tests.program import called

ROOT = Path(__file__).parent.parent.parent
SEEDS = ROOT / "fixtures" / "seeds"
LINTED = [
    f"fixtures/seeds/{name}"
    for name in ("A1", "A2", "A3", "B1", "B2", "B3", "B8", "B9", "B13", "C1", "C2", "D2", "D4", "E4", "E5", "E6")
]
"""Those that do not compete for rooms, of which a matrix takes ten seconds."""


def lint(*arguments: str) -> subprocess.CompletedProcess[str]:
    return called("lint", *arguments, cwd=ROOT)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All formats of one run over seeds, with findings of every kind and a file that is not YAML."""
    folder = tmp_path_factory.mktemp("reports")
    broken = folder / "broken.yaml"
    broken.write_text("kind: [\n")
    files = [f"--format={name}={folder / name}" for name in FORMATS if name != "text"]
    done = lint(*LINTED, str(broken), "-c", "fixtures/seeds/B5/cluster.yaml", "--format", "text", *files)
    assert done.returncode == 2, done.stderr
    assert done.stderr == ""
    (folder / "text").write_text(done.stdout)
    return folder


def test_json_is_valid(written: Path) -> None:
    schema = json.loads((ROOT / "kubesched_lint/schemas/report.schema.json").read_bytes())
    document = json.loads((written / "json").read_bytes())
    assert len(document["findings"]) > 10
    assert document["errors"]
    assert list(Draft202012Validator(schema).iter_errors(document)) == []


def test_sarif_is_valid_and_every_rule_has_its_cards_help(written: Path) -> None:
    schema = json.loads((ROOT / "fixtures/sarif/sarif-schema-2.1.0.json").read_bytes())
    log = json.loads((written / "sarif").read_bytes())
    assert list(Draft4Validator(schema).iter_errors(log)) == []
    run = log["runs"][0]
    assert len(run["results"]) == len(json.loads((written / "json").read_bytes())["findings"])
    for rule in run["tool"]["driver"]["rules"]:
        assert "## What it finds" in rule["help"]["markdown"], rule["id"]


def test_every_place_that_is_reported_is_in_its_file(written: Path) -> None:
    for finding in json.loads((written / "json").read_bytes())["findings"]:
        for place in (finding["location"], *(related["location"] for related in finding["related"])):
            lines = (ROOT / place["path"]).read_text().split("\n")
            assert 1 <= place["line"] <= place["endLine"] <= len(lines)
            assert 1 <= place["column"] <= len(lines[place["line"] - 1]) + 1
            assert (place["endLine"], place["endColumn"]) >= (place["line"], place["column"])


def test_fingerprints_are_unique_and_do_not_change_when_lines_move(tmp_path: Path) -> None:
    case = SEEDS / "D2"
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, lead in ((first, ""), (second, "# a comment\n\n")):
        folder.mkdir()
        (folder / "pod.yaml").write_text(lead + (case / "pod.yaml").read_text())
    prints = []
    for folder in (first, second):
        done = lint(str(folder), "-c", "fixtures/seeds/B5/cluster.yaml", "--format", "json")
        findings = json.loads(done.stdout)["findings"]
        assert findings
        prints.append([finding["fingerprint"] for finding in findings])
        assert len(set(prints[-1])) == len(prints[-1])
    assert prints[0] == prints[1]


def test_text_and_the_log_of_github_show_what_counts(written: Path) -> None:
    report = json.loads((written / "json").read_bytes())
    counted = [f for f in report["findings"] if f["suppressed"] is None]
    text = (written / "text").read_text()
    log = (written / "github").read_text()
    for kind in ("error", "warning", "notice"):
        assert len(re.findall(f"^::{kind} ", log, re.MULTILINE)) <= 10, "GitHub drops further ones"
    for finding in counted:
        path, line = finding["location"]["path"], finding["location"]["line"]
        assert f"file={path},line={line}," in log or f"{path}:{line}: " in log
        assert f"{finding['location']['path']}:{finding['location']['line']}:{finding['location']['column']}" in text


def test_services_for_ci_get_every_finding_that_counts(written: Path) -> None:
    report = json.loads((written / "json").read_bytes())
    counted = [f for f in report["findings"] if f["suppressed"] is None]
    entries = json.loads((written / "gitlab").read_bytes())
    assert len(entries) == len(counted) + len(report["errors"])
    assert {f["fingerprint"] for f in counted} <= {entry["fingerprint"] for entry in entries}
    root = ElementTree.parse(written / "junit").getroot()
    errors = [f for f in counted if f["severity"] == "error"]
    beside = [part for f in errors for part in f.get("also", ()) if part["rule"] == f["rule"]]
    assert len(beside) > 3
    assert len(list(root.iter("failure"))) == len(errors) + len(beside), "a case is about one object"
    assert len(list(root.iter("error"))) == len(report["errors"])
    suites = {suite.get("name") for suite in root}
    silent = {"fixtures/seeds/A1/reader.yaml", "fixtures/seeds/B8/own.yaml"}
    assert silent <= suites, "files without findings are told too"
    assert len((written / "markdown").read_text()) < 65_536
    assert "### What happens when" in (written / "markdown").read_text()


def test_the_page_of_a_real_run_has_matrix_picture_and_findings(written: Path) -> None:
    page = (written / "html").read_text()
    report = json.loads((written / "json").read_bytes())
    assert page.count('<article class="finding') >= 10
    assert '<table class="matrix">' in page
    assert '<svg class="topology"' in page
    for finding in report["findings"]:
        assert finding["suppressed"] or f'id="rule-{finding["rule"]}"' in page


def test_a_format_that_is_not_there_is_a_usage_error() -> None:
    done = lint("fixtures/seeds/D2", "--format", "jsn")
    assert done.returncode == 2
    assert "did you mean json?" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_report_that_cannot_be_written_is_one_clear_message(tmp_path: Path) -> None:
    done = lint("fixtures/seeds/D2", "--format", f"json={tmp_path}/no/r.json")
    assert done.returncode == 2
    assert "No such file or directory" in done.stderr
    assert "Traceback" not in done.stderr
