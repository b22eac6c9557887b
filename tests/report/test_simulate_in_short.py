"""What ``simulate`` prints without ``-v``: the matrix, each reason once, the counts, and one line of premises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.simulate.found import SimulationReport
from kubesched_lint.lifecycle.verdicts import (
    BAD,
    BY_SCORES,
    DEPENDS,
    FINE,
    LIKELY,
    NONE,
    REFUSED,
    UNKNOWN,
    Cell,
    Range,
)
from kubesched_lint.report.cell_reasons import Reason, cause_of, said
from kubesched_lint.report.html.matrix import table
from kubesched_lint.report.simulation_report import as_html_fragment, as_text
from kubesched_lint.report.verdict_words import MEANINGS, mark, verdict_words, word
from tests.lifecycle.simulated import apart, asking, report_of, sketch, workload
from tests.program import called

ROOT = Path(__file__).parents[2]
COMPANY = ROOT / "fixtures/company"
GONE = re.compile(
    r"not established|not proven|always bad|forever|would be an error|elastic:|by scores|can close|usable nodes stay"
)
"""Words of earlier versions that nobody understood."""


def of(verdict: str, text: str, least: int, most: int, *, proven: bool = False, stuck: bool = False) -> Cell:
    return Cell("rollout", verdict, 4, Range(least, most, "bound"), stuck, proven=proven, text=text)


@pytest.mark.parametrize(("cell", "shown", "said"), [
    (of(FINE, "4/4 ok", 4, 4, proven=True), "ok", "ok"),
    (of(FINE, "4/4 ok *", 4, 4), "ok", "ok"),
    (of(FINE, "2/4 at once", 2, 4), "2/4 at once", "ok"),
    (of(LIKELY, "4/4 ok~", 0, 4), "ok~", "likely ok"),
    (of(BAD, "3/4 −1", 3, 3, proven=True), "3/4!", "fails"),
    (of(BAD, "3/4 −1", 3, 3), "3/4", "fails here"),
    (of(BAD, "0–2/4", 0, 2, proven=True), "≤2/4!", "fails"),
    (of(BAD, "0–4/4", 0, 4), "<4/4", "fails here"),
    (of(BAD, "stuck", 4, 4, proven=True, stuck=True), "stuck!", "fails"),
    (of(BAD, "blocked (PDB keep)", 4, 4, stuck=True), "blocked", "fails here"),
    (of(DEPENDS, "2–4/4", 2, 4), "2–4/4", "may fail"),
    (of(DEPENDS, "may get stuck", 4, 4, stuck=True), "ok/stuck", "may fail"),
    (of(DEPENDS, "may block (PDB keep)", 4, 4, stuck=True), "ok/blocked", "may fail"),
    (of(BY_SCORES, "4/4 by scores *", 3, 4), "3–4/4", "may fail"),
    (of(BY_SCORES, "4/4 by scores", 4, 4, stuck=True), "ok/stuck", "may fail"),
    (of(UNKNOWN, "0–4/4 ?", 0, 4), "?", "unknown"),
    (of(REFUSED, "refused", 0, 0, proven=True), "refused", "refused"),
    (of(NONE, "no HPA", 0, 0), "·", "not concerned"),
    (of(NONE, "OnDelete", 0, 0), "OnDelete", "not concerned"),
])  # fmt: skip
def test_each_verdict_has_one_mark_and_one_word(cell: Cell, shown: str, said: str) -> None:
    assert (mark(cell), word(cell)) == (shown, said)
    assert verdict_words(cell).startswith(said)
    assert said in MEANINGS or cell.verdict == NONE


@pytest.fixture(scope="module")
def healthy() -> SimulationReport:
    """Twenty-five workloads, of which one finds no room on a node that is left."""
    small = [workload("Deployment", f"app-{i}", 2, asking("10m")) for i in range(24)]
    return report_of(sketch(), *small, workload("Deployment", "wide", 6, apart("wide", "kubernetes.io/hostname")))


def test_of_many_workloads_those_that_are_ok_are_counted(healthy: SimulationReport) -> None:
    lines = as_text(healthy).splitlines()
    assert len(lines) < 20
    assert not any(line.startswith("default/app-3 ") for line in lines)
    assert any(line.startswith("24 more workloads are ok in every event") and "--all" in line for line in lines)
    every = as_text(healthy, every_row=True)
    assert "default/app-3 " in every
    assert "--all" not in every


def test_each_reason_is_told_once_and_no_trace_is(healthy: SimulationReport) -> None:
    text = as_text(healthy)
    assert text.count("each pod needs a node of its own") == 1
    assert "trace 1" not in text
    assert "the pods say" not in text
    assert "25 workloads: 1 fails" in text
    verbose = as_text(healthy, verbose=True)
    assert "one way it ends badly" in verbose
    assert "the pods say" in verbose


def test_workloads_that_may_fail_for_one_reason_share_a_line() -> None:
    crowd = [workload("Deployment", f"app-{i}", 2, asking("1")) for i in range(4)]
    result = report_of(sketch(1, "abc", "3"), *crowd, events=("deploy", "node-loss"))
    lines = [line for line in as_text(result).splitlines() if line.startswith("may fail ")]
    assert len(lines) == 1
    assert "and 1 more (node loss): " in lines[0]


@pytest.mark.parametrize("name", ["cluster.json", "repo/cluster/nodes.json"])
def test_the_company_is_read_on_one_screen(name: str) -> None:
    done = called("simulate", "repo", "--cluster", name, "--no-config", cwd=COMPANY)
    lines = list(filter(None, done.stdout.splitlines()))
    assert len(lines) <= 45
    assert len(set(lines)) == len(lines)
    assert not GONE.search(done.stdout)
    assert re.search(r"^fails +\S+: .*\(repo/\S+:\d+\)$", done.stdout, re.MULTILINE)


def test_the_matrix_fits_a_terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the rows with the columns that are left is no matrix; an environment is no workload of its own."""
    monkeypatch.setenv("COLUMNS", "80")
    done = called("simulate", "repo", "--cluster", "repo/cluster/nodes.json", "--no-config", cwd=COMPANY)
    heads = [line for line in done.stdout.splitlines() if re.fullmatch(r" +deploy .*drain", line)]
    assert len(heads) == 1
    assert "22 workloads in prod and staging: " in done.stdout
    assert done.stdout.count("unless an autoscaler adds a node") == 1


def test_names_stand_below_their_namespace_where_they_do_not_fit(healthy: SimulationReport) -> None:
    lines = as_text(healthy, every_row=True, room=60).splitlines()
    assert max(map(len, lines)) <= 60
    assert lines.count("default") == 1
    assert any(line.startswith("  app-3 ") for line in lines)


def test_the_words_are_those_of_all_reports(healthy: SimulationReport) -> None:
    page = "".join(table(healthy, ()))
    for text in (as_text(healthy, verbose=True), as_html_fragment(healthy), page):
        assert not GONE.search(text)
    assert "</b> ok: every order of events ends well</li>" in page


def test_a_question_mark_stands_once_in_a_cell_of_the_page() -> None:
    crowd = [workload("Deployment", f"app-{i}", 2, asking("1")) for i in range(2)]
    result = report_of(sketch(1, "abc", "3"), *crowd, events=("deploy",))
    row = replace(result.rows[0], cells=(of(UNKNOWN, "0–4/4 ?", 0, 4),))
    page = "".join(table(replace(result, rows=(row,)), ()))
    assert "<b>?</b> </button>" in page


def test_one_workload_is_explained_alone() -> None:
    shop = ("simulate", "fixtures/shop", "--cluster", "fixtures/clusters/three-zones.yaml")
    done = called(*shop, "--explain", "cache", "--events", "deploy", cwd=ROOT)
    assert done.returncode == 1
    assert done.stdout.startswith("Deployment shop/cache\n  deploy 3/6!: fails\n    because: each pod needs a zone ")
    assert "shop/web" not in done.stdout
    wrong = called(*shop, "--explain", "cahce", "--events", "deploy", cwd=ROOT)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("error: --explain: nothing is named 'cahce'")


def test_what_only_tells_of_premises_is_for_the_long_report(healthy: SimulationReport) -> None:
    told = replace(
        healthy,
        notes=("left out: the picture", "an autoscaler may add nodes"),
        background=("an autoscaler may add nodes",),
    )
    assert "note: left out" in as_text(told)
    assert "autoscaler may" not in as_text(told)
    assert "note: an autoscaler may add nodes" in as_text(told, verbose=True)


def test_a_cell_without_a_trace_tells_why_and_not_what_each_lacks() -> None:
    cell = of(UNKNOWN, "0–4/4 ?", 0, 4)
    for lacking in ("a proof; too many steps to follow a trace", "a proof: too many steps to follow a trace"):
        assert cause_of(replace(cell, missing=(lacking,))) == "too many steps to follow a trace"


def test_numbers_of_nodes_in_one_reason_are_a_range():
    def told(*numbers: int) -> str:
        cause = "|".join(f"0/{number}" for number in numbers)
        return said(Reason("may fail", f"{cause} nodes are available", {}))

    assert told(22, 23) == "0/22 or 0/23 nodes are available"
    assert told(9, 23, 13) == "0/9 to 0/23 nodes are available"
