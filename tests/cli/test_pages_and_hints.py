"""``-h`` is a page, ``--help`` everything; a wrong name gets a hint, and a wrong input one line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kubesched_lint.cli.parsing.pages import USUAL
from kubesched_lint.engine.base.text import did_you_mean, meant
from tests.program import called as started

ROOT = Path(__file__).parents[2]
SHOP, NODES = str(ROOT / "fixtures/shop"), str(ROOT / "fixtures/clusters/three-zones.yaml")


@pytest.mark.parametrize("command", ["", *USUAL])
def test_a_page_has_no_more_lines_than_a_screen(command: str) -> None:
    done = started(*filter(None, [command]), "-h")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 120
    if command:
        assert f"{command} --help` lists all " in lines[-1]
        assert len(started(command, "--help").stdout.splitlines()) > len(lines)


def test_the_first_page_names_every_command() -> None:
    every = re.findall(r"^  ([a-z]+)  ", started("--help").stdout, re.MULTILINE)
    assert "fit" in every
    assert set(every) <= set(started("-h").stdout.replace(",", " ").split())


def test_the_usual_options_exist() -> None:
    for command, names in USUAL.items():
        everything = started(command, "--help").stdout
        page = started(command, "-h").stdout
        assert page.count("\n  -") == len(names), command
        for line in (line.split()[0].rstrip(",") for line in page.splitlines() if line.startswith("  -")):
            assert line in everything, (command, line)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fix"], "error: no command 'fix'; use: kubesched-lint lint --fix\n"),
        (["explain", "x"], "error: no command 'explain'; use: kubesched-lint rules explain\n"),
        (["version"], "error: no command 'version'; use: kubesched-lint --version\n"),
        (["help"], "error: no command 'help'; use: kubesched-lint -h\n"),
        (["lint", "nosuch", "--no-config"], "error: nosuch: no such file or folder\n"),
        (["lint", SHOP, "-c", "nosuch.json"], "error: nosuch.json: there is no such file\n"),
    ],
)
def test_what_is_wrong_is_one_line_on_stderr(arguments: list[str], said: str) -> None:
    done = started(*arguments)
    program = done.stderr.partition("use: ")[2].partition(" ")[0]
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.replace(f"use: {program} ", "use: kubesched-lint ") == said


def test_what_a_name_begins_comes_before_what_it_resembles() -> None:
    rules = ["device-selector-error", "nodeselector-matches-nothing", "node-loss-leaves-pending"]
    assert did_you_mean("nodeselector", rules) == "; did you mean `nodeselector-matches-nothing`?"
    assert meant("wbe", ["web", "worker", "db"]) == ["web"]
    assert "did you mean `nodeselector-matches-nothing`" in started("rules", "explain", "nodeselector").stderr


def test_a_misspelt_workload_gets_a_guess_and_no_list() -> None:
    done = started("why", "cahce", SHOP, "-c", NODES)
    assert (done.returncode, done.stderr) == (2, "error: nothing is named 'cahce'; did you mean shop/cache?\n")


def test_lint_means_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text((ROOT / "fixtures/shop/cache.yaml").read_text())
    alone, named = (started("lint", *paths, "-c", NODES, "--format", "concise", cwd=tmp_path) for paths in ([], ["."]))
    assert alone.stdout == named.stdout
    assert alone.returncode == 1
    assert "web.yaml:18:15: error anti-affinity-exceeds-domains 3 of 6 pods" in alone.stdout


def test_concise_has_a_line_for_each_finding_and_counts_on_stderr() -> None:
    done = started("lint", SHOP, "-c", NODES, "--format", "concise")
    found = json.loads(started("lint", SHOP, "-c", NODES, "--format", "json").stdout)["findings"]
    assert len(done.stdout.splitlines()) == len(found)
    assert done.stderr.startswith("2 errors, 1 warning, 1 note in ")


def test_below_the_findings_are_three_lines() -> None:
    done = started("lint", SHOP, "-c", NODES)
    *_, last = done.stdout.split("\n\n")
    first, checked, *more = last.splitlines()
    assert first.startswith("2 errors, 1 warning, 1 note in ")
    assert first.endswith("; --diff proposes fixes")
    assert checked == f"checked 4 workloads on 6 nodes ({NODES}, a sketch)"
    assert len(more) <= 1
