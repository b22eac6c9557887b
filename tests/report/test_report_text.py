"""The text report keeps its promises on any input: nothing leaves the terminal's width, nothing drives the terminal."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.findings import (
    Evidence,
    Finding,
    Related,
    Report,
    Severity,
    Skip,
    Summary,
    Suppression,
    pattern,
    witness,
)
from kubesched_lint.printing import visible
from kubesched_lint.report.causes import causes, errors_first
from kubesched_lint.report.findings import as_github
from kubesched_lint.report.findings.as_text import render
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import footer, statistics
from kubesched_lint.report.terminal.cells import width, window, wrapped

WEB = ObjectRef("Deployment", "shop", "web")


def finding(span: Span, **values: object) -> Finding:
    base = Finding("some-rule", Severity.WARNING, "message", "", pattern(), WEB, Location("a.yaml", span))
    return replace(base, **values)  # type: ignore[arg-type]


def shown(text: str, *findings: Finding, columns: int = 80, color: bool = False) -> str:
    lines = text.split("\n")
    return "".join(render(Report(findings), RenderContext(lambda path: lines, color=color, width=columns)))


def test_the_underline_stands_below_exactly_what_the_span_holds() -> None:
    text = "spec:\n  replicas: 3\n"
    assert "2 |   replicas: 3\n  |             ^\n" in shown(text, finding(Span(2, 13, 2, 14)))


def test_what_holds_for_every_proof_on_a_cluster_is_for_the_long_report() -> None:
    text = "4 pods > 3 zones; more nodes of the 3 node groups change nothing"
    told = finding(Span(1, 1, 1, 2), evidence=Evidence("proof", text))
    assert "= proof: 4 pods > 3 zones\n" in shown("a: b\n", told)
    context = RenderContext(lambda path: ["a: b"], verbose=True)
    assert text in "".join(render(Report((told,)), context))


def test_wide_characters_before_and_in_the_span_count_two_cells() -> None:
    assert "a: 商店 b\n  |      ^^^^\n" not in shown("a: 商店 b", finding(Span(1, 4, 1, 6)))
    assert "1 | a: 商店 b\n  |    ^^^^\n" in shown("a: 商店 b", finding(Span(1, 4, 1, 6)))
    assert "1 | a: 商店 b\n  |         ^\n" in shown("a: 商店 b", finding(Span(1, 7, 1, 8)))


def test_combining_marks_count_no_cell() -> None:
    assert "1 | cafe\u0301: x\n  |       ^\n" in shown("cafe\u0301: x", finding(Span(1, 8, 1, 9)))


def test_a_span_over_many_lines_shows_its_first_three_and_its_last() -> None:
    text = "\n".join(f"line {n}" for n in range(1, 21))
    drawn = shown(text, finding(Span(3, 1, 18, 8)))
    kept = [line for line in drawn.split("\n") if "line " in line]
    assert [line.split("line ")[1] for line in kept] == ["3", "4", "5", "18"]


def test_a_block_that_ends_where_the_next_token_begins_is_shown_to_its_last_line_with_content() -> None:
    text = "a:\n  b: 1\n  c: 2\n\n# next\nd: 3"
    drawn = shown(text, finding(Span(2, 3, 6, 1)))
    assert "c: 2" in drawn
    assert "# next" not in drawn
    assert "d: 3" not in drawn


def test_a_block_of_one_line_is_underlined_and_not_bracketed() -> None:
    assert "2 |   b: 1\n  |   ^^^^\n" in shown("a:\n  b: 1\n\nd: 3", finding(Span(2, 3, 4, 1)))


def test_a_long_line_is_cut_on_both_sides_and_keeps_its_mark() -> None:
    text = "x" * 300 + "HERE" + "y" * 300
    drawn = shown(text, finding(Span(1, 301, 1, 305)))
    source, underline = drawn.split("\n")[3:5]
    assert source.startswith("1 | …")
    assert source.endswith("…")
    assert underline.index("^") == source.index("HERE")
    assert underline.count("^") == 4


def test_a_line_of_megabytes_costs_no_more_than_what_is_shown() -> None:
    text = "x" * 5_000_000 + "HERE" + "y" * 5_000_000
    view = window(text, 5_000_001, 5_000_005, 70)
    assert "HERE" in view.text
    assert len(view.starts) < 3_000
    start, length = view.underline(5_000_001, 5_000_005)
    assert view.text[start : start + length] == "HERE"


def test_escapes_in_messages_names_labels_and_source_reach_no_terminal() -> None:
    evil = "\x1b]0;owned\x07\x9b31m\u202e"
    one = finding(
        Span(1, 1, 1, 3),
        message=evil,
        help=evil,
        object=ObjectRef("Pod", evil, evil),
        evidence=witness(evil, trace=(evil,), assumes=(evil,)),
        related=(Related(Location(evil, Span(1, 1, 1, 2)), evil), Related(Location("a.yaml", Span(1, 2, 1, 3)), evil)),
    )
    drawn = shown(evil, one, replace(one, location=Location(evil, one.location.span)), color=False)
    assert all(character.isprintable() or character in "\n\ufffd" for character in drawn)


def test_colour_adds_codes_and_changes_no_character() -> None:
    import re

    one = finding(Span(1, 1, 2, 5), help="do", related=(Related(Location("a.yaml", Span(3, 1, 3, 2)), "there"),))
    text = "a: 1\nb: 2\nc: 3"
    painted = shown(text, one, color=True)
    assert "\x1b[" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == shown(text, one)


def test_a_cause_that_hits_many_workloads_is_told_once_and_lists_every_place() -> None:
    many = [
        finding(
            Span(n, 1, n, 2),
            message=f"{n} replicas of Deployment shop/app-{n} stay Pending: no node has pool=gpu",
            object=ObjectRef("Deployment", "shop", f"app-{n}"),
        )
        for n in range(1, 19)
    ]
    drawn = shown("x\n" * 20, *many, columns=120)
    assert drawn.count("warning[some-rule]") == 1
    assert "= and 17 more of the same cause:" in drawn
    for n in range(2, 19):
        assert f"a.yaml:{n}:1" in drawn


def test_numbers_that_differ_within_one_cause_are_not_lost() -> None:
    many = [
        finding(Span(n, 1, n, 2), message="no room", evidence=witness(f"demand {n + 3} > supply 3"))
        for n in range(1, 5)
    ]
    drawn = shown("x\n" * 20, *many)
    assert "demand 4 > supply 3" in drawn
    assert "a.yaml:4:1  Deployment shop/web: demand 7 > supply 3" in drawn


def test_one_term_to_blame_for_many_pods_lists_the_pods_places() -> None:
    term = Span(1, 1, 1, 2)
    many = [
        finding(term, related=(Related(Location("a.yaml", Span(n, 1, n, 2)), "stays Pending"),), message="kept away")
        for n in (3, 5, 7, 7)
    ]
    drawn = shown("x\n" * 20, *many)
    assert "= and 3 more of the same cause:" in drawn
    assert "a.yaml:5:1  Deployment shop/web\n" in drawn
    assert "a.yaml:7:1  Deployment shop/web (2 times)\n" in drawn


def test_a_crowd_is_not_listed_without_end() -> None:
    many = [finding(Span(n, 1, n, 2), message="no room") for n in range(1, 200)]
    drawn = shown("x\n" * 200, *many)
    assert "= and 198 more of the same cause:" in drawn
    assert "… and 148 more places (--format json lists them all)" in drawn


def test_one_line_of_a_base_that_two_overlays_render_is_one_cause() -> None:
    apart = [
        finding(
            Span(5, 1, 5, 2), message=f"Deployment {place}/web is stuck", object=ObjectRef("Deployment", place, "web")
        )
        for place in ("staging", "prod")
    ]
    (group,) = causes(apart)
    assert [str(other.object) for other in group.others] == ["Deployment prod/web"]
    elsewhere = replace(apart[1], location=Location("a.yaml", Span(6, 1, 6, 2)))
    assert len(list(causes([apart[0], elsewhere]))) == 2


def test_different_causes_of_one_rule_are_told_one_by_one() -> None:
    many = [finding(Span(n, 1, n, 2), message=f"no node has pool=p{n}") for n in range(1, 5)]
    assert len(list(causes(many))) == 4


def test_findings_of_a_rule_that_is_said_once_are_one_block_and_one_annotation() -> None:
    """Their words differ, and two are enough; a waived one is in none of them."""
    many = [
        replace(finding(Span(n, 1, n, 2), message=f"no spread over {n} nodes of p{n}"), once_per_run=True)
        for n in range(1, 4)
    ]
    (group,) = causes(many[:2])
    assert group.others == (many[1],)
    waived = replace(many[0], suppressed=Suppression("meant"))
    report = Report((waived, *many[1:]))
    command, _ = as_github.render(report, RenderContext(lambda path: []))
    assert command.count("::notice") + command.count("::warning") + command.count("::error") == 1
    assert command.endswith("and 1 more of the same cause:%0Aa.yaml:3: Deployment shop/web\n")


def test_a_name_within_another_word_is_no_name() -> None:
    app = ObjectRef("Deployment", "shop", "a")
    alike = [
        finding(Span(n, 1, n, 2), message=f"label {word}", object=app) for n, word in enumerate(["a", "ab", "a-b"])
    ]
    assert len({c.first.message for c in causes(alike)}) == 3


def test_the_order_is_path_line_column_rule_whatever_came_first() -> None:
    places = [("b.yaml", 1, 1, "x"), ("a.yaml", 2, 1, "x"), ("a.yaml", 1, 5, "b"), ("a.yaml", 1, 5, "a")]
    made = [
        finding(Span(line, column, line, column + 1), location=Location(path, Span(line, column, line, 9)), rule=rule)
        for path, line, column, rule in places
    ]
    assert [(f.location.path, f.location.span.line, f.rule) for f in errors_first(made)] == [
        ("a.yaml", 1, "a"),
        ("a.yaml", 1, "b"),
        ("a.yaml", 2, "x"),
        ("b.yaml", 1, "x"),
    ]


def test_suppressed_findings_are_counted_and_not_shown(
    reports: dict[str, Report], context: Callable[..., RenderContext]
) -> None:
    drawn = "".join(render(reports["waived"], context(80)))
    assert "error[anti-affinity-exceeds-domains]" not in drawn
    assert "(1 suppressed, 1 known)" in drawn


def test_the_footer_says_what_was_left_out() -> None:
    report = Report(summary=Summary(3, 4, 2, {"Rollout": 2}, "3 nodes, 2 days old", 17, ("a note",)))
    drawn = "".join(render(report, RenderContext(verbose=True)))
    for words in ("3 files (4 documents), 2 workloads, by 17 rules", "2 Rollout", "3 nodes, 2 days old", "a note"):
        assert words in drawn
    assert drawn.endswith("no findings\n")


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(
    columns: int, reports: dict[str, Report], context: Callable[..., RenderContext]
) -> None:
    for name, report in reports.items():
        for line in "".join(render(report, context(columns))).split("\n"):
            # A path or a slug is one word: it is not broken, so that it can be copied.
            longest = max((width(word) for word in line.split(" ")), default=0)
            assert width(line) <= max(columns, longest + 16), (name, line)


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=120),
    st.integers(1, 130),
    st.integers(0, 40),
    st.integers(24, 90),
)
def test_whatever_the_line_and_the_span_the_underline_stays_below_the_text(
    line: str, column: int, length: int, room: int
) -> None:
    view = window(line, column, column + length, room)
    assert width(view.text) <= room
    start, cells = view.underline(column, column + length)
    assert start >= 0
    assert cells >= 1
    assert start + cells <= max(room, width(view.text)) + 1


@given(st.text(max_size=200), st.integers(8, 60), st.integers(0, 6))
def test_wrapping_loses_no_word(text: str, room: int, hang: int) -> None:
    text = visible(text)
    assert " ".join("\n".join(wrapped(text, room, hang)).split()) == " ".join(text.split())


def test_a_quiet_report_ends_with_its_findings(
    reports: dict[str, Report], context: Callable[..., RenderContext]
) -> None:
    whole = "".join(render(reports["troubled"], context(80)))
    quiet = "".join(render(reports["troubled"], replace(context(80), quiet=True)))
    assert whole.startswith(quiet)
    assert whole[len(quiet) :].startswith("checked 1 workload")


def test_what_could_not_be_read_is_the_last_thing_before_the_footer(
    reports: dict[str, Report], context: Callable[..., RenderContext]
) -> None:
    drawn = "".join(render(reports["troubled"], replace(context(80), quiet=True)))
    assert drawn.index("error[") < drawn.index("error: no such file")


def test_skipped_rules_are_counted_and_when_verbose_named(
    reports: dict[str, Report], context: Callable[..., RenderContext]
) -> None:
    brief = "".join(render(reports["troubled"], context(0)))
    assert "1 error in 1 file, 3 problems with the input\n" in brief
    one = Report(skipped=(Skip("a", "needs a cluster (--cluster)"), Skip("b", "needs a cluster (--cluster)")))
    assert "not checked: 2 rules, which need a cluster (-v lists them)" in "".join(render(one, context(0)))
    verbose = "".join(render(reports["troubled"], replace(context(0), verbose=True)))
    assert "12 rules need a cluster (--cluster): rule-01, rule-02" in verbose
    assert all(skip.rule in verbose for skip in reports["troubled"].skipped)


def test_statistics_count_every_rule_by_what_became_of_its_findings(
    reports: dict[str, Report], context: Callable[..., RenderContext]
) -> None:
    for report in reports.values():
        head, rows = statistics(report)
        for rule, *cells in rows:
            those = sum(rule in (f.rule, "total") for f in report.findings)
            assert sum(int(cell or 0) for cell in cells) == those
        drawn = "".join(render(report, replace(context(0), statistics=True)))
        assert ("\nrule  " in drawn) is bool(rows)
        assert bool(rows) is bool(report.findings)
        assert all(word in drawn for word in head) or not rows


def test_the_result_says_what_fixed_nodes_would_make_of_it(reports: dict[str, Report]) -> None:
    found = reports["hazards"].findings[0]
    lowered = replace(found, severity=Severity.WARNING, if_fixed=Severity.ERROR, suppressed=None)
    other = replace(lowered, if_fixed=None)

    def result(*findings: Finding) -> str:
        return dict(footer(Report(findings)))["result"]

    assert result(lowered) == "1 warning; --fixed (no autoscaler) makes 1 warning an error"
    assert "makes 2 warnings errors" in result(lowered, lowered)
    assert "makes 1 warning an error" in result(lowered, other)
    complete = replace(other, if_complete=Severity.ERROR)
    hint = 'node-groups = "complete" makes 1 warning an error'
    assert result(complete) == f"1 warning; {hint}"
    more = "; --fixed (no autoscaler) makes 1 more warning an error"
    assert result(lowered, complete) == f"2 warnings; {hint}{more}"
    assert "--fixed" not in result(other)
    assert "--fixed" not in result(other, replace(lowered, suppressed=Suppression("we know")))
