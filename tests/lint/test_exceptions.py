"""Exceptions with an end and an owner: they warn when they have ended, and count again for changes of their owners."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kubesched_lint.cli.app import app
from kubesched_lint.clock import VARIABLE, ClockError, now, today
from kubesched_lint.explaining.waivers.exceptions import Terms, ends_soon, has_ended, terms_of
from kubesched_lint.linter.waivers.waivers import find_waivers
from tests.teams import MISTAKE, workload

BEFORE, LAST, AFTER = "2027-02-14", "2027-03-01", "2027-03-02"
CLUSTER = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes: [{name: worker, count: 3, labels: {pool: general}, allocatable: {cpu: 3920m, memory: 14Gi, pods: "58"}}]
"""


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("it comes until 2027-03-01 @org/shop", Terms("it comes", "2027-03-01", "@org/shop")),
        ("it comes, until 2027-03-01", Terms("it comes", "2027-03-01")),
        ("until 2027-03-01 @a @b", Terms("", "2027-03-01", "@a @b")),
        ("it comes @org/shop", Terms("it comes", "", "@org/shop")),
        ("it comes until 2027/3/1", Terms("it comes", "2027/3/1")),
        ("until the nodes come", Terms("until the nodes come")),
        ("until 2027-03-01 or so", Terms("until 2027-03-01 or so")),
        ("mail a@b.example", Terms("mail a@b.example")),
        ("", Terms("")),
    ],
)
def test_the_terms_stand_at_the_end_of_the_reason(text: str, terms: Terms) -> None:
    assert terms_of(text) == terms


def test_a_waiver_has_its_terms() -> None:
    (waiver,) = find_waivers("a: 1 # kubesched: ignore[one] why until 2027-03-01 @org/shop\n")
    assert (waiver.reason, waiver.until, waiver.owner) == ("why", "2027-03-01", "@org/shop")


def test_the_last_day_counts_and_a_day_that_does_not_exist_is_over() -> None:
    assert [has_ended(LAST, day) for day in (BEFORE, LAST, AFTER, "")] == [False, False, True, False]
    assert has_ended("2027-02-30", BEFORE)
    assert has_ended("2027/12/1", BEFORE)
    assert [ends_soon(LAST, day) for day in ("2027-01-29", "2027-01-30", AFTER, "")] == [False, True, True, False]


def test_the_clock_is_an_input() -> None:
    assert today({VARIABLE: "2027-03-01T23:30:00-05:00"}) == "2027-03-02"
    assert now({VARIABLE: "2027-03-01"}).isoformat() == "2027-03-01T00:00:00+00:00"
    with pytest.raises(ClockError, match="no time such as"):
        now({VARIABLE: "tomorrow"})


# --- runs -----------------------------------------------------------------------------------------------------------


def git(*args: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *args], check=True, capture_output=True)


def waived(text: str) -> str:
    old = "      nodeSelector: {pool: genral}"
    return workload("web", "shop", pool="genral").replace(old, f"{old}  # kubesched: ignore[{MISTAKE}] {text}")


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two teams; that of the shop has an exception, for a mistake that is an error."""
    monkeypatch.chdir(tmp_path)
    for name in ("shop", "data"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "api.yaml").write_text(workload("api", name))
    (tmp_path / "shop" / "web.yaml").write_text(waived(f"the nodes come until {LAST} @org/shop"))
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "kubesched.toml").write_text('cluster = "cluster.yaml"\nnode-groups = "complete"\n')
    (tmp_path / "CODEOWNERS").write_text("/shop/ @org/shop\n/data/ @org/data\n")
    (tmp_path / "shop" / "README.md").write_text("the shop\n")
    git("init", "-q")
    commit()
    return tmp_path


def commit() -> None:
    git("add", "-A")
    git("commit", "-qm", "x")


def lint(day: str, *args: str) -> Result:
    return CliRunner().invoke(app, ["lint", "shop", "data", "--no-cache", *args], env={VARIABLE: day})


def report(day: str, *args: str) -> Any:
    return json.loads(lint(day, "--format", "json", *args).stdout)


def open_rules(day: str, *args: str) -> list[str]:
    return sorted(f["rule"] for f in report(day, *args)["findings"] if not f["suppressed"])


def test_until_its_last_day_an_exception_is_one_and_then_it_warns(repo: Path) -> None:
    assert open_rules(LAST) == []
    assert open_rules(AFTER) == ["waiver-expired"]
    assert (lint(LAST).exit_code, lint(AFTER).exit_code) == (0, 0), "a day alone makes nobody's gate red"
    (finding,) = (f for f in report(AFTER)["findings"] if f["rule"] == MISTAKE)
    assert finding["suppressed"]["until"] == LAST
    assert finding["suppressed"]["owner"] == "@org/shop"


@pytest.mark.parametrize("changed", ["shop/api.yaml", "shop/README.md"])
def test_it_counts_again_for_a_change_of_any_file_of_its_owner(repo: Path, changed: str) -> None:
    with (repo / changed).open("a") as file:
        file.write("# more\n")
    assert MISTAKE not in open_rules(LAST, "--changed")
    assert MISTAKE in open_rules(AFTER, "--changed")
    done = lint(AFTER, "--changed")
    assert done.exit_code == 1
    assert f"its exception has ended (until {LAST}) (@org/shop)" in " ".join(done.stdout.split())


def test_it_does_not_count_for_the_changes_of_others(repo: Path) -> None:
    with (repo / "data" / "api.yaml").open("a") as file:
        file.write("# more\n")
    assert MISTAKE not in open_rules(AFTER, "--changed")
    assert lint(AFTER, "--changed").exit_code == 0
    done = lint(AFTER, "--changed", "-v")
    assert done.exit_code == 0
    assert f"{LAST}, has ended: {MISTAKE} at shop/web.yaml:10 (@org/shop)" in done.stdout


def test_without_owners_it_counts_for_changes_of_its_file(repo: Path) -> None:
    (repo / "CODEOWNERS").unlink()
    (repo / "shop" / "web.yaml").write_text(waived(f"the nodes come until {LAST}"))
    commit()
    with (repo / "shop" / "api.yaml").open("a") as file:
        file.write("# more\n")
    assert MISTAKE not in open_rules(AFTER, "--changed")
    with (repo / "shop" / "web.yaml").open("a") as file:
        file.write("# more\n")
    assert MISTAKE in open_rules(AFTER, "--changed")


def test_an_annotation_has_terms_too(repo: Path) -> None:
    key = f"ignore.kubesched-lint.io/{MISTAKE}"
    text = workload("web", "shop", pool="genral").replace(
        "namespace: shop}", f'namespace: shop, annotations: {{{key}: "nodes come until {LAST} @org/shop"}}}}', 1
    )
    (repo / "shop" / "web.yaml").write_text(text)
    assert (open_rules(LAST), open_rules(AFTER)) == ([], ["waiver-expired"])


def test_an_entry_of_a_baseline_has_terms_that_stay_when_it_is_updated(repo: Path) -> None:
    (repo / "shop" / "web.yaml").write_text(workload("web", "shop", pool="genral"))
    file = repo / "known.json"
    run = CliRunner().invoke
    assert run(app, ["baseline", "write", ".", "-o", "known.json"]).exit_code == 0
    written = json.loads(file.read_text())
    (entry,) = written["findings"]
    entry |= {"reason": "the nodes come", "until": LAST, "owner": "@org/shop"}
    file.write_text(json.dumps(written))
    commit()
    known = ("--baseline", "known.json")
    assert (open_rules(LAST, *known), open_rules(AFTER, *known)) == ([], ["waiver-expired"])
    with (repo / "shop" / "api.yaml").open("a") as manifest:
        manifest.write("# more\n")
    assert MISTAKE in open_rules(AFTER, "--changed", *known)
    assert MISTAKE not in open_rules(LAST, "--changed", *known)
    env = {VARIABLE: AFTER}
    assert run(app, ["baseline", "update", ".", *known], env=env).exit_code == 0
    assert json.loads(file.read_text())["findings"] == [entry], "and what has ended cannot be made known"
    entry["until"] = "soon"
    file.write_text(json.dumps(written | {"findings": [entry]}))
    assert "expected a day such as 2027-03-01" in lint(LAST, *known).stderr


def test_a_report_lists_what_ends_within_30_days(repo: Path) -> None:
    assert "exceptions" not in report("2027-01-29")["summary"]
    (one,) = report(BEFORE)["summary"]["exceptions"]
    assert one == {
        "until": LAST,
        "hasEnded": False,
        "rule": MISTAKE,
        "object": "Deployment shop/web",
        "location": {"path": "shop/web.yaml", "line": 10},
        "owner": "@org/shop",
    }
    line = f"{LAST}: {MISTAKE} at shop/web.yaml:10 (@org/shop)"
    assert f"ends: {line}" in lint(BEFORE).stdout
    assert f"ends  {line}" in " ".join(lint(BEFORE, "-v").stdout.split("\n"))


def test_a_time_that_is_none_ends_the_run(repo: Path) -> None:
    done = lint("tomorrow")
    assert done.exit_code == 2
    assert f"error: {VARIABLE}: 'tomorrow' is no time such as 2027-03-01" in done.stderr
