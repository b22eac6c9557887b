"""What ``simulate`` prints without ``-v``: the matrix, each reason once, the counts, and one line of premises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.bounds.least import _filled
from kubesched_lint.engine.events.answers.cells import (
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
from kubesched_lint.engine.events.answers.counted_cells import followed, what_is_open, why_open
from kubesched_lint.engine.events.answers.event_bounds import NOTHING_ELSE, Bound, EventBounds, Meanwhile
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.report.html.matrix import table
from kubesched_lint.report.simulation import cell_reasons
from kubesched_lint.report.simulation.cell_reasons import cause_of
from kubesched_lint.report.simulation.report import as_html_fragment, as_json, as_text, explained
from kubesched_lint.report.wording.verdict_words import MEANINGS, mark, signs, verdict_words, word
from tests.events.simulated import ZONE, apart, asking, report_of, sketch, workload
from tests.program import called, lines_on_a_terminal
from tests.share import first

ROOT = Path(__file__).parents[2]
COMPANY = ROOT / "fixtures/company"
GONE = re.compile(
    r"not established|not proven|always bad|forever|would be an error|elastic:|by scores|can close|usable nodes stay"
)
"""Words of earlier versions that nobody understood."""


def of(verdict: str, text: str, least: int, most: int, *, proven: bool = False, stuck: bool = False) -> Cell:
    always_stuck = text.startswith(("stuck", "blocked"))
    return Cell("rollout", verdict, 4, Range(least, most, "bound"), stuck, always_stuck, proven, text)


def ends_of_loss(text: str, unreachable: Cell) -> Cell:
    """Return the cell of a loss after which all pods run if the nodes are deleted; it has the bounds of both ends."""
    bound = Range(unreachable.bound.least, 4, "bound")
    return replace(unreachable, text=text, bound=bound, deleted=of(FINE, "4/4 ok", 4, 4), unreachable=unreachable)


@pytest.mark.parametrize(("cell", "shown", "said"), [
    (of(FINE, "4/4 ok", 4, 4, proven=True), "ok", "ok"),
    (of(FINE, "4/4 ok *", 4, 4), "ok", "ok"),
    (of(FINE, "2/4 at once", 2, 4), "2/4 at once", "ok"),
    (of(LIKELY, "4/4 ok~", 0, 4), "ok~", "likely ok"),
    (of(BAD, "3/4 −1", 3, 3, proven=True), "3/4!", "fails"),
    (of(BAD, "3/4 −1", 3, 3), "3/4", "fails here"),
    (of(BAD, "0–2/4", 0, 2, proven=True), "≤2/4!", "fails"),
    (of(BAD, "0–4/4", 0, 4), "0–4/4", "may fail"),
    (replace(of(BAD, "0–1/1", 0, 1), wanted=1), "0–1/1", "may fail"),
    (of(BAD, "may get stuck", 4, 4, stuck=True), "ok/stuck", "may fail"),
    (of(BAD, "may block (PDB keep)", 4, 4, stuck=True), "ok/blocked", "may fail"),
    (of(BAD, "may get stuck", 3, 3, stuck=True), "stuck", "fails here"),
    (of(BAD, "stuck", 4, 4, stuck=True), "stuck", "fails here"),
    (of(BAD, "0–3/4", 0, 3), "≤3/4", "fails here"),
    (ends_of_loss("2–3/4 unreachable", of(BAD, "2–3/4", 2, 3)), "≤3/4 u", "fails here"),
    (ends_of_loss("2–4/4 unreachable", of(BAD, "2–4/4", 2, 4)), "2–4/4 u", "may fail"),
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
    assert "not shown: 24 workloads ok in every event (--all)" in lines
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
    lines = as_text(result).splitlines()
    told = lines[lines.index("may fail") + 1 :]
    assert told[0].startswith("  4 workloads (node loss): ")
    assert not told[1].startswith("  ")


def test_a_search_that_finds_good_ends_and_bad_ones_has_a_reason_in_words() -> None:
    """The message of one end has the numbers of that end: after a drain, other nodes are there than after a loss."""
    ports = {"containers": [{"name": "c", "image": "nginx:1", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    edge = workload("Deployment", "edge", 3, {**ports, "nodeSelector": {ZONE: "a"}})
    result = report_of(sketch(3, "ab"), edge, events=("node-loss", "drain"))
    cells = result.rows[0].cells
    assert {cell.verdict for cell in cells} == {DEPENDS}
    told = "other pods may fill at most 2 of its 3 nodes, and 1 may be {}"
    assert [cause_of(cell) for cell in cells] == [told.format("lost"), told.format("drained")]
    assert all("finds good ends and bad ones; 2–3 of 3 pods run: other pods" in cell.why for cell in cells)
    assert "nodes are available" not in as_text(result)
    assert "nodes are available" in as_text(result, verbose=True)


def test_beside_one_that_fails_a_long_matrix_leaves_out_what_is_only_unknown(healthy: SimulationReport) -> None:
    """A row of question marks tells nothing that the reason below does not; a bad cell keeps its row."""
    rows = [
        replace(row, cells=(of(UNKNOWN, "0–2/2 ?", 0, 2), *row.cells[1:])) if number < 3 else row
        for number, row in enumerate(healthy.rows)
    ]
    text = as_text(replace(healthy, rows=tuple(rows)))
    assert "not shown: 21 workloads ok in every event and 3 ok or unknown (--all)" in text.splitlines()
    assert "default/wide " in text
    assert "default/app-0 " not in text
    alone = as_text(replace(healthy, rows=tuple(row for row in rows if row.number != 24)))
    assert "default/app-0 " in alone, "where nothing fails, what is unknown comes first"


def test_while_rollouts_fail_the_matrix_alone_tells_who_fails_later(healthy: SimulationReport) -> None:
    fine = of(FINE, "2/2 ok", 2, 2, proven=True)
    stuck = replace(of(BAD, "stuck", 2, 2, stuck=True), why="first cause")
    loss = replace(of(BAD, "≤1/2", 0, 1), event="node-loss", why="later cause")
    drain = replace(of(BAD, "blocked", 0, 1), event="drain", why="another cause")
    cells = ((stuck, fine, fine), (fine, loss, drain), (fine, fine, fine))
    rows = [replace(row, cells=each) for row, each in zip(healthy.rows, cells, strict=False)]
    lines = as_text(replace(healthy, rows=tuple(rows), events=("rollout", "node-loss", "drain"))).splitlines()
    assert "  default/app-0: first cause" in lines
    assert "3 workloads: 2 fail here (1 after a loss, -v says why), 1 ok" in lines
    assert any("default/app-1 " in line for line in lines)
    assert not any("later cause" in line for line in lines)


def test_a_reason_says_when_unless_it_is_of_the_deploy_or_the_rollout(healthy: SimulationReport) -> None:
    """A workload that deploys well stood below "fails (!)" with no more than its quota."""
    fine = of(FINE, "2/2 ok", 2, 2, proven=True)
    most = replace(of(BAD, "1/2", 1, 1, proven=True), event="hpa-max", why="a quota")
    row = replace(healthy.rows[0], cells=(fine, most))
    lines = as_text(replace(healthy, rows=(row,), events=("rollout", "hpa-max"))).splitlines()
    assert "  default/app-0 (HPA max): a quota" in lines


def test_two_reasons_of_one_workload_say_when_each_is_one(healthy: SimulationReport) -> None:
    """A line stood twice but for "(only in orders that the default scores avoid)", and no event told them apart."""
    full = replace(of(DEPENDS, "0–2/2", 0, 2), why="0–2 of 2 pods run: zone a may fill up")
    cells = (replace(full, event="deploy", verdict=BY_SCORES), *(replace(full, event=e) for e in healthy.events[1:]))
    text = as_text(replace(healthy, rows=(replace(healthy.rows[0], cells=cells),)))
    told = "  default/app-0 ({}): zone a may fill up{}"
    assert told.format("deploy", " (only in orders that the default scores avoid)") in text
    assert told.format("rollout, HPA max, scale down and 3 more", "") in text


def test_beside_a_rollout_that_may_fail_nobody_is_told_who_does_so_only_after_a_loss(healthy: SimulationReport) -> None:
    """ "4 workloads: other pods may fill all nodes" hid the one whose rollout may fail."""
    fine = of(FINE, "2/2 ok", 2, 2, proven=True)
    why = "0–2 of 2 pods run: other pods may fill all nodes that it may use"
    rollout, loss = (replace(of(DEPENDS, "0–2/2", 0, 2), event=e, why=why) for e in ("rollout", "node-loss"))
    cells = ((rollout, loss), *[(fine, loss)] * 3)
    rows = tuple(replace(row, cells=each) for row, each in zip(healthy.rows, cells, strict=False))
    lines = as_text(replace(healthy, rows=rows, events=("rollout", "node-loss"))).splitlines()
    assert "  default/app-0: other pods may fill all nodes that it may use" in lines
    assert "4 workloads may fail (3 after a loss, -v says why)" in lines


@pytest.mark.parametrize(("nodes", "event", "told"), [
    (3, NOTHING_ELSE, "other pods may fill all nodes that they may use"),
    (2, Meanwhile(fewer=1), "other pods may fill at most 2 of their 3 nodes, and 1 may be lost"),
    (2, Meanwhile(fewer=1, cordoned=True), "other pods may fill at most 2 of their 3 nodes, and 1 may be drained"),
])  # fmt: skip
def test_a_reason_of_several_workloads_speaks_of_them(
    healthy: SimulationReport, nodes: int, event: Meanwhile, told: str
) -> None:
    why = f"0–2 of 2 pods run: {_filled(nodes, 0b111, event)}"
    cell = replace(of(DEPENDS, "0–2/2", 0, 2), why=why)
    rows = tuple(replace(row, cells=(cell,)) for row in healthy.rows[:2])
    assert f"  default/app-0, default/app-1: {told}" in as_text(replace(healthy, rows=rows, events=("rollout",)))
    alone = as_text(replace(healthy, rows=rows[:1], events=("rollout",)))
    assert f"  default/app-0: {told}".replace("they", "it").replace("their", "its") in alone


def test_the_long_report_blames_the_budget_of_a_drain_that_may_never_end(healthy: SimulationReport) -> None:
    """It blamed nodes that other pods may fill, above the line of the budget and the refusal of the eviction."""
    why = "2 random traces of the default scheduler end well and badly; {} of 4 pods run: other pods may fill 2 nodes"
    drain = replace(of(DEPENDS, "may block (PDB keep)", 4, 4, stuck=True), event="drain", why=why.format("4"))
    drain = replace(drain, blamed=DisruptionBudget("default", "keep"))
    waits = replace(drain, bound=Range(0, 4, "bound"), why=why.format("0–4"))

    def texts(cell: Cell) -> tuple[str, ...]:
        told = replace(healthy, rows=(replace(healthy.rows[0], cells=(cell,)),), events=("drain",))
        return explained(told), as_text(told, verbose=True), as_json(told)

    for text in texts(drain):
        assert "end well and badly; PDB keep allows no further eviction" in text
        assert "other pods" not in text
    for text in texts(waits):
        assert "other pods may fill 2 nodes, and then PDB keep allows no further eviction" in text


def test_one_trace_ends_and_two_end() -> None:
    cell = replace(of(FINE, "2/2 ok", 2, 2), why="0–2 of 2 pods run: other pods may fill 2 nodes")
    assert followed(cell, 1).why.startswith("1 random trace of the default scheduler ends well")
    assert followed(cell, 2).why.startswith("2 random traces of the default scheduler end well")


def test_one_pod_runs_and_not_one_pods() -> None:
    """The summary takes its reason from these words."""
    full = Bound(0, "other pods may fill 2 nodes")
    for wanted, told in ((1, "0–1 of 1 pod run: "), (2, "0–2 of 2 pods run: ")):
        why = why_open(EventBounds(wanted, full, Bound(wanted, "")))
        assert (why, what_is_open(why)) == (told + full.why, full.why)


def test_the_counts_of_a_long_matrix_add_up(healthy: SimulationReport) -> None:
    """Of the rows that it leaves out it says what the summary counts them as; what fails before a loss has a reason."""
    fine, stuck = of(FINE, "2/2 ok", 2, 2, proven=True), replace(of(BAD, "stuck", 2, 2, stuck=True), why="first cause")
    most = replace(of(BAD, "≤1/2", 0, 1), event="hpa-max", why="too many")
    loss = replace(of(BAD, "≤1/2", 0, 1), event="node-loss", why="later cause")
    perhaps = replace(of(DEPENDS, "1–2/2", 1, 2), event="node-loss")
    open_ = replace(of(UNKNOWN, "0–2/2 ?", 0, 2), missing=("a fact",))
    cells = ((stuck, open_, fine), (fine, most, fine), (fine, fine, loss), (fine, fine, perhaps), (open_, fine, fine))
    rows = [replace(row, cells=each) for row, each in zip(healthy.rows, cells, strict=False)]
    every = [*rows, *(replace(row, cells=(fine, fine, fine)) for row in healthy.rows[5:])]
    events = ("rollout", "hpa-max", "node-loss")
    lines = as_text(replace(healthy, rows=tuple(every), events=events)).splitlines()
    left_out = "20 workloads ok, 1 ok or unknown and 2 ok until a loss"
    assert f"not shown: {left_out} (--all)" in lines
    counts = "3 fail here (1 after a loss, -v says why), 1 may fail (1 after a loss), 1 unknown, 20 ok"
    assert f"25 workloads: {counts}" in lines
    assert "  default/app-1 (HPA max): too many" in lines
    assert not any("later cause" in line for line in lines)
    assert any(line.startswith("unknown (?), 2 of 75 cells") for line in lines)


def test_what_a_drain_alone_leaves_short_is_no_word_of_losses(healthy: SimulationReport) -> None:
    fine, stuck = of(FINE, "2/2 ok", 2, 2, proven=True), replace(of(BAD, "stuck", 2, 2, stuck=True), why="first cause")
    loss, drain = (replace(of(DEPENDS, "1–2/2", 1, 2), event=e, why="another cause") for e in ("node-loss", "drain"))
    cells = ((stuck, fine, fine), (fine, fine, drain), *[(fine, fine, fine)] * 23)
    both = ((stuck, fine, fine), (fine, fine, drain), (fine, loss, drain), *[(fine, fine, fine)] * 22)
    told = []
    for each in (cells, both):
        rows = tuple(replace(row, cells=of_row) for row, of_row in zip(healthy.rows, each, strict=True))
        told.append(as_text(replace(healthy, rows=rows, events=("rollout", "node-loss", "drain"))))
    assert "not shown: 23 workloads ok and 1 ok until a drain (--all)" in told[0]
    assert "25 workloads: 1 fails here, 1 may fail (1 after a drain, -v says why), 23 ok" in told[0]
    assert "not shown: 22 workloads ok, 1 ok until a loss and 1 ok until a drain (--all)" in told[1]
    assert "25 workloads: 1 fails here, 2 may fail (2 after a loss or drain, -v says why), 22 ok" in told[1]


def test_a_cell_that_is_alike_in_two_environments_counts_once(healthy: SimulationReport) -> None:
    open_ = of(UNKNOWN, "0–2/2 ?", 0, 2)
    row = replace(healthy.rows[0], cells=(open_,))
    other = replace(row, number=len(healthy.workloads), cells=(replace(open_, why="other words"),))
    workloads, environments = (*healthy.workloads, healthy.workloads[0]), ("a", "b")
    twice = replace(healthy, workloads=workloads, rows=(row, other), events=("rollout",), environments=environments)
    lines = as_text(replace(twice, holds_in={row.number: ("a",), other.number: ("b",)})).splitlines()
    assert any(line.startswith("unknown (?), 1 of 1 cell") for line in lines)


def test_two_workloads_with_numbers_of_their_own_share_no_range(healthy: SimulationReport) -> None:
    """ "The 2 to 9 nodes that it may use have host ports for 2 to 9" was true of neither."""
    why = "the {0} nodes that it may use have host ports for {0}"

    def causes(*numbers: int) -> list[str]:
        cells = [replace(of(BAD, "1/2", 1, 1), why=why.format(number)) for number in numbers]
        rows = tuple(replace(row, cells=(cell,)) for row, cell in zip(healthy.rows, cells, strict=False))
        text = as_text(replace(healthy, rows=rows, events=("deploy",)))
        return [line for line in text.splitlines() if "host ports" in line]

    assert causes(2, 9) == [f"  default/app-{n}: {why.format(count)}" for n, count in ((0, 2), (1, 9))]
    theirs = why.replace("it", "they")
    assert causes(2, 2) == [f"  default/app-0, default/app-1: {theirs.format(2)}"]
    assert causes(2, 3, 4, 9) == [f"  4 workloads: {theirs.format('2 to 9')}"]


def test_a_message_of_the_scheduler_is_never_changed(healthy: SimulationReport) -> None:
    """Causes that differ in numbers become one with a range; a quoted message stays word for word."""
    said = "0/9 nodes are available: {} node(s) had untolerated taint(s), {} Insufficient cpu."
    rows = [
        replace(row, cells=(replace(of(BAD, "0/2", 0, 0), message=said.format(n, 9 - n)),))
        for n, row in enumerate(healthy.rows[:5])
    ]
    text = as_text(replace(healthy, rows=tuple(rows), events=("deploy",)))
    assert said.format(0, 9).removesuffix(".") in text
    assert " to " not in text


@pytest.mark.parametrize(
    ("ask", "most"),
    first(
        1,
        [
            ((), 45),
            (("--cluster", "../cluster.json"), 45),  # eight workloads fail
            (("--no-config", "--cluster", "cluster/nodes.json"), 45),
            (("--no-config", "--cluster", "../cluster.json"), 45),
        ],
    ),
)
def test_the_company_is_read_on_one_screen(ask: tuple[str, ...], most: int) -> None:
    lines = lines_on_a_terminal("simulate", *ask, cwd=COMPANY / "repo")
    text = "\n".join(lines)
    assert lines[-1].startswith("assumes that ")
    assert len(lines) <= most
    assert max(map(len, lines)) <= 80
    assert len(text.encode()) <= 4_096
    assert len(set(filter(None, lines))) == len(list(filter(None, lines)))
    assert not GONE.search(text)
    told = text.partition("\nfails (!)\n")[2].partition("\nfails here")[0]
    assert re.search(r"^  \S+: .*\(\S+:\d+\)$", re.sub(r"\n {4}", " ", told), re.MULTILINE)


@pytest.mark.thorough
def test_the_matrix_fits_a_terminal_of_80_columns() -> None:
    """Twice the rows with the columns that are left is no matrix; an environment is no workload of its own."""
    ask = ("repo", "--cluster", "repo/cluster/nodes.json", "--no-config")
    text = "\n".join(lines_on_a_terminal("simulate", *ask, cwd=COMPANY))
    heads = [line for line in text.splitlines() if re.fullmatch(r" +deploy .*drain", line)]
    assert len(heads) == 1
    assert "22 workloads (prod, staging): " in text
    assert text.count("unless an autoscaler adds a node") == 1


def test_columns_move_together_before_names_leave_their_lines(healthy: SimulationReport) -> None:
    """A line above each namespace took three lines of a company's screen, where four cells were missing."""
    wide = max(map(len, as_text(healthy, every_row=True, matrix_only=True).splitlines()))
    lines = as_text(healthy, every_row=True, matrix_only=True, room=wide - 3).splitlines()
    assert max(map(len, lines)) < wide - 3
    assert any(line.startswith("default/app-3 ") for line in lines)


def test_of_a_workload_that_fails_no_unknown_cell_is_explained(healthy: SimulationReport) -> None:
    fine = replace(of(FINE, "2/2 ok", 2, 2, proven=True), event="deploy")
    fails = replace(of(BAD, "0/2", 0, 0, proven=True), why="first cause", event="deploy")
    unknown = replace(of(UNKNOWN, "0–2/2 ?", 0, 2), event="rollout", missing=("another thing",))

    def text(*cells: tuple[Cell, Cell]) -> str:
        rows = [replace(row, cells=each) for row, each in zip(healthy.rows, cells, strict=False)]
        return as_text(replace(healthy, rows=tuple(rows), events=("deploy", "rollout")))

    alone = text((fails, unknown), (fine, replace(fine, event="rollout")))
    assert "another thing" not in alone
    assert "unknown (?), 1 of 4 cells: of workloads that fail; -v says why" in alone.splitlines()
    beside = text((fails, unknown), (fine, unknown))
    assert "unknown (?), 2 of 4 cells: default/app-1 (rollout): another thing" in beside.splitlines()
    assert "unknown (?), 1 of 2 cells: another thing" in text((fine, unknown)).splitlines()


def test_names_stand_below_their_namespace_where_they_do_not_fit(healthy: SimulationReport) -> None:
    lines = as_text(healthy, every_row=True, room=52).splitlines()
    assert max(map(len, lines)) <= 52
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


def test_below_the_matrix_stands_what_its_signs_mean(healthy: SimulationReport) -> None:
    """Only the signs of the rows that it shows: the headings explain ``!`` and ``?``, and ``-v`` has a legend."""
    cells = (
        of(BAD, "10/12", 10, 10, proven=True),
        of(BAD, "0/2", 0, 0),
        of(BAD, "stuck", 4, 4, proven=True, stuck=True),
        of(DEPENDS, "may block (PDB keep)", 4, 4, stuck=True),
        of(LIKELY, "4/4 ok~", 0, 4),
        of(BAD, "1/2 unreachable", 1, 1),
        of(NONE, "no HPA", 0, 0),
        of(BAD, "0–2/4", 0, 2),
        of(DEPENDS, "1–4/4", 1, 4),
    )
    meanings = (
        "10/12: 10 of 12 pods run",
        "0/2: 0 of 2 pods run",
        "stuck: never ends",
        "blocked: by a budget",
        "~ likely",
        "1/2: 1 of 2 pods run, u worse if unreachable",
        "· n/a",
        "≤2/4: at most 2 of 4 pods run",
        "1–4/4: 1 to 4 run",
    )
    for cell, meaning in zip(cells, meanings, strict=True):
        assert signs([cell]) == meaning
    assert signs(cells[:-1]).startswith("0/2: 0 of 2 pods run, stuck: never ends, blocked: by a budget, ~ likely, u ")
    assert signs(cells).startswith("1–4/4: 1 to 4 run, stuck: never ends, "), "a range explains a number, too"
    rows = [replace(row, cells=(each,)) for row, each in zip(healthy.rows, (cells[0], cells[2]), strict=False)]
    shown = replace(healthy, rows=tuple(rows), events=("rollout",))
    assert "10/12: 10 of 12 pods run, stuck: never ends" in as_text(shown).splitlines()
    assert "10 of 12 pods run" not in as_text(shown, verbose=True)
    assert "10 of 12 pods run" not in as_text(shown, matrix_only=True)


def test_the_only_reason_of_unknown_cells_takes_as_few_lines_as_it_can(healthy: SimulationReport) -> None:
    """The number of cells stands there where it takes no line, and the event where others are known."""
    fine = replace(of(FINE, "2/2 ok", 2, 2, proven=True), event="deploy")
    fails = replace(of(BAD, "0/2", 0, 0, proven=True), why="first cause", event="deploy")
    unknown = replace(of(UNKNOWN, "0–2/2 ?", 0, 2), missing=("a reason of some words",))
    rows = [replace(r, cells=c) for r, c in zip(healthy.rows, ((fails, unknown), (fine, unknown)), strict=False)]
    told = replace(healthy, rows=tuple(rows), events=("deploy", "rollout"))

    def line(room: int) -> str:
        return next(each for each in as_text(told, room=room).splitlines() if each.startswith("unknown"))

    assert line(80) == "unknown (?), 2 of 4 cells: default/app-1 (rollout): a reason of some words"
    assert line(70) == "unknown (?): default/app-1 (rollout): a reason of some words"


def test_what_only_tells_of_premises_is_for_the_long_report(healthy: SimulationReport) -> None:
    told = replace(
        healthy,
        notes=("left out: the picture", "an autoscaler may add nodes"),
        background=("an autoscaler may add nodes",),
    )
    assert "note: left out" in as_text(told)
    assert "autoscaler may" not in as_text(told)
    assert "note: an autoscaler may add nodes" in as_text(told, verbose=True)
    assert "more (-v)" in as_text(told)
    premise = "no autoscaler adds a node (all nodes are elastic; --fixed if none does)"
    row = replace(healthy.rows[0], cells=tuple(replace(c, assumes=(premise,)) for c in healthy.rows[0].cells))
    once = as_text(replace(told, rows=(row,)), verbose=True)
    assert premise in once
    assert "autoscaler may" not in once, "the premise says it of the cells that rest on it"
    assert as_text(replace(told, rows=(row,))).splitlines()[-3] == f"assumes that {premise}"


def test_what_is_said_of_one_pod_is_no_more_than_it_is() -> None:
    """One pod cannot be uneven, and the loss that takes it takes it whole."""
    made = []
    for name, count in (("one", 1), ("two", 2)):
        uneven = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
        uneven["labelSelector"] = {"matchLabels": {"app": name}}
        made.append(workload("Deployment", name, count, {**asking("10m"), "topologySpreadConstraints": [uneven]}))
    text = as_text(report_of(sketch(1, "abc", "2"), *made), verbose=True)
    assert f"Deployment default/two: pods per {ZONE}" in text
    assert "Deployment default/one: pods per" not in text
    told = explained(report_of(sketch(1, "abc", "2"), *made))
    assert "  deploy, rollout, node loss, drain: ok\n" in told, 'not "deploy ok, rollout ok: ok"'
    assert told.count("the loss of one node may take 2 of 2 pods, and no hard rule keeps them apart") == 1
    assert "1 of 1 pod" not in told


def test_a_cell_without_a_trace_tells_why_and_not_what_each_lacks() -> None:
    cell = of(UNKNOWN, "0–4/4 ?", 0, 4)
    for lacking in ("a proof; too many steps to follow a trace", "a proof: too many steps to follow a trace"):
        assert cause_of(replace(cell, missing=(lacking,))) == "too many steps to follow a trace"


@pytest.mark.parametrize("reasons", [
    "1 Insufficient cpu, 1 node(s) were unschedulable",
    "1 node(s) were unschedulable, 1 Insufficient cpu",
])  # fmt: skip
def test_the_cordon_of_a_drain_is_no_reason_and_leaves_no_comma(reasons: str) -> None:
    told = f"0/2 nodes are available: {reasons}. preemption: 0/2 nodes are available"
    cell = replace(of(BAD, "0/1 −1", 0, 0), message=told, why="no node that it may use")
    assert cause_of(cell) == "0/2 nodes are available: 1 Insufficient cpu"


def test_numbers_of_nodes_in_one_reason_are_a_range() -> None:
    def told(*numbers: int) -> str:
        cause = "|".join(f"0/{number}" for number in numbers)
        return cell_reasons.said(cell_reasons.Reason("may fail", f"{cause} nodes are available", {}))

    assert told(22, 23) == "0/22 or 0/23 nodes are available"
    assert told(9, 23, 13) == "0/9 to 0/23 nodes are available"


def test_rows_that_look_the_same_in_several_environments_are_one_row_of_the_page(healthy: SimulationReport) -> None:
    """Half of a page repeated the other half."""
    bad, worse = of(BAD, "1/2", 1, 1, proven=True), of(BAD, "0/2", 0, 0, proven=True)
    first, *_ = healthy.rows
    cells = (replace(bad, why="with 3 nodes"), replace(bad, why="with 4 nodes"), worse)
    rows = tuple(replace(first, number=number, cells=(cell,)) for number, cell in enumerate(cells))
    workloads = (healthy.workloads[0],) * 3
    where = {number: (name,) for number, name in enumerate(("dev", "prod", "test"))}
    told = replace(
        healthy,
        workloads=workloads,
        rows=rows,
        events=("deploy",),
        environments=("dev", "prod", "test"),
        holds_in=where,
    )
    page = "".join(table(told, ()))
    assert page.count('<th scope="row"') == 2
    assert "Deployment · 2 environments: dev, prod</small>" in page
    assert page.count("the details are of dev") == 1
    assert "with 4 nodes" not in page
    assert "A row that names none holds in all 3 environments: dev, prod, test." in page


def test_page_and_text_have_the_same_rows_in_all_environments(healthy: SimulationReport) -> None:
    """The marks of each workload and environment, and what they mean."""
    first, second, *_ = healthy.rows
    bad, likely = of(BAD, "1/2", 1, 1, proven=True), of(LIKELY, "2/2 ok~", 0, 2)
    cells = ((first, bad), (first, likely), (second, replace(bad, why="another thing")), (second, bad))
    rows = tuple(replace(row, number=number, cells=(cell,)) for number, (row, cell) in enumerate(cells))
    workloads = (healthy.workloads[0], healthy.workloads[0], healthy.workloads[1], healthy.workloads[1])
    where = {number: (name,) for number, name in enumerate(("prod", "test", "prod", "test"))}
    told = replace(
        healthy, workloads=workloads, rows=rows, events=("deploy",), environments=("prod", "test"), holds_in=where
    )
    lines = as_text(told, every_row=True).splitlines()
    of_text = {
        tuple(re.split(r" {2,}", line)) for line in lines if line.startswith("default/app-") and ": " not in line
    }
    page = "".join(table(told, ()))
    found = re.findall(r'<tr><th scope="row"[^>]*>(.*?)</th><td[^>]*><button[^>]*>(.*?)</button>', page)
    of_page = set()
    for name, cell in found:
        title, _, kind = re.sub("<[^>]*>", "", name).partition(" Deployment")
        environment = kind.removeprefix(" · ")
        whose = f"{title} ({environment})" if environment else title
        of_page.add((whose, re.sub("<[^>]*>", "", cell).split()[1]))
    assert of_page == of_text == {
        ("default/app-0 (prod)", "1/2!"),
        ("default/app-0 (test)", "ok~"),
        ("default/app-1", "1/2!"),
    }  # fmt: skip
    meanings = signs(cell for row in told.rows for cell in row.cells)
    assert meanings in lines
    assert f'<p class="premises">{meanings}</p>' in page


def test_a_line_has_the_same_path_in_each_report() -> None:
    """``--explain`` named ``./platform/registry.yaml``, which the summary called ``platform/registry.yaml``."""
    ask = ("simulate", "platform", "--no-config", "-c", "cluster/nodes.json", "--events", "deploy")
    for path in (("./platform", "--explain", "registry"), ("./platform",)):
        text = called(ask[0], *path, *ask[2:], cwd=COMPANY / "repo").stdout
        assert re.search(r"[ (]platform/registry\.yaml:33", text)
        assert "./platform" not in text


def test_what_fails_here_is_told_in_the_words_of_lint_and_with_its_line() -> None:
    """With nodes only, on a cluster that may grow, most mistakes were told as counts of nodes that a plugin rejects."""
    ask = ("--no-config", "-c", "cluster/nodes.json")
    text = called("simulate", "--events", "deploy,rollout", *ask, cwd=COMPANY / "repo").stdout
    part = text.partition("fails here, unless an autoscaler adds a node\n")[2].partition("\nunknown")[0]
    told = dict(re.findall(r"^  (\S+)(?: \(prod\))?: (.*)$", part, re.MULTILINE))
    assert {"shop/checkout", "shop/search", "shop/web", "data/train", "platform/kafka"} <= told.keys()
    found = called("lint", ".", *ask, "--format", "concise", cwd=COMPANY / "repo").stdout
    for name, cause in told.items():
        why, _, place = cause.removesuffix(")").rpartition(" (")
        (line,) = [each for each in found.splitlines() if f" {name} " in each and "stay" in each]
        assert why.replace("host port 80,", "host port 80 of a node,") in line
        assert line.startswith(f"{place}:")
    assert "nodes are available" not in part
