"""Findings stand with their owners in each report, and GitHub's limit of annotations is respected."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.findings import Finding, Report, Severity, pattern
from kubesched_lint.linter.causes import one_per_cause
from kubesched_lint.report.causes import by_owner, by_place, causes, errors_first
from kubesched_lint.report.findings import as_github, as_json, as_markdown, as_sarif, as_text
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.html import page
from kubesched_lint.report.limits import MOST_LINES
from tests.teams import team_name

TEAMS, EACH = 40, 8


def mistakes(severity: Severity = Severity.ERROR, teams: int = TEAMS) -> Iterator[Finding]:
    """Equal mistakes of many teams: what they lack is one thing of the cluster."""
    for number in range(teams):
        team = team_name(number)
        for each in range(EACH):
            subject = ObjectRef("Deployment", team, f"batch-{each}")
            place = Location(f"teams/{team}/{each}.yaml", Span(9, 3, 9, 9))
            message = f"2 pods of {subject} stay Pending: no node has pool=genral"
            yield Finding(
                "some-rule", severity, message, "mend it", pattern(), subject, place, cause="pool=genral",
                owner=f"@org/{team}",
            )  # fmt: skip


def rendered(renderer: object, report: Report) -> str:
    return "".join(renderer(report, RenderContext()))  # type: ignore[operator]


def test_equal_mistakes_stand_with_their_teams_not_under_the_first_file() -> None:
    report = one_per_cause(Report(tuple(mistakes())))
    parts = by_owner(causes(report.findings))
    assert [part.owner for part in parts] == [f"@org/{team_name(number)}" for number in range(TEAMS)]
    for part in parts:
        (group,) = part.groups
        assert {one.owner for one in (group.first, *group.others)} == {part.owner}
        assert 1 + len(group.others) == EACH


@pytest.mark.parametrize("renderer", [as_text.render, as_markdown.render, page.render])
def test_reports_for_people_have_a_heading_for_each_owner(renderer: object) -> None:
    shown = rendered(renderer, one_per_cause(Report(tuple(mistakes())))).replace("<!-- -->", "")
    for number in range(TEAMS):
        assert f"@org/{team_name(number)}: 1 error" in shown
    alone = rendered(renderer, one_per_cause(Report(tuple(mistakes(teams=1))))).replace("<!-- -->", "")
    assert "@org/team-00:" not in alone, "with one owner there is nothing to tell apart"


def test_the_owner_with_the_worst_findings_comes_first() -> None:
    findings = (*mistakes(Severity.WARNING, 1), *mistakes(Severity.ERROR, 2))[: EACH * 3]
    later = [one for one in findings if one.severity is Severity.WARNING or one.owner.endswith("01")]
    assert [part.title for part in by_owner(causes(later))] == ["@org/team-01: 8 errors", "@org/team-00: 8 warnings"]


@pytest.mark.parametrize(("teams", "has_headings"), [(3, False), (MOST_LINES + 1, True)])
def test_namespaces_are_headings_only_of_many_findings(teams: int, has_headings: bool) -> None:
    """Each message names its namespace; a heading for each of a few findings would only take them out of order."""
    findings = [replace(one, owner=one.owner.replace("@org/", "namespace ")) for one in mistakes(teams=teams)]
    parts = by_owner(causes(one_per_cause(Report(tuple(findings))).findings))
    assert [part.owner for part in parts] == (
        [f"namespace {team_name(n)}" for n in range(teams)] if has_headings else [""]
    )


def test_a_path_below_the_current_folder_is_sorted_like_one_that_does_not_say_so() -> None:
    first, second, *_ = mistakes(teams=1)
    first = replace(first, location=replace(first.location, path="apps/web.yaml"))
    second = replace(second, location=replace(second.location, path="./data/etl.yaml"))
    assert errors_first([second, first]) == by_place([second, first]) == [first, second]


def test_programs_get_the_owner_of_each_finding() -> None:
    report = one_per_cause(Report(tuple(mistakes())))
    found = json.loads(rendered(as_json.render, report))["findings"]
    assert {one["owner"] for one in found} == {f"@org/{team_name(number)}" for number in range(TEAMS)}
    results = json.loads(rendered(as_sarif.render, report))["runs"][0]["results"]
    assert {one["properties"]["owner"] for one in results} == {one["owner"] for one in found}


def test_github_gets_ten_annotations_of_a_kind_and_the_last_one_counts_the_others() -> None:
    findings = (*mistakes(), *mistakes(Severity.WARNING, 1))
    lines = rendered(as_github.render, Report(findings)).splitlines()
    errors = [line for line in lines if line.startswith("::error ")]
    assert len(errors) == 10
    assert f"::{(TEAMS - 9) * EACH} more errors: " in errors[-1]
    assert sum(line.startswith("::warning ") for line in lines) == EACH
    in_the_log = [line for line in lines if re.match(r"teams/.*: error\[some-rule\]: ", line)]
    assert len(in_the_log) == (TEAMS - 9) * EACH
    assert lines[-1].startswith("kubesched-lint: ")


def test_what_is_no_finding_keeps_its_annotation() -> None:
    report = Report(tuple(mistakes(Severity.NOTE)))
    with_configuration = Report(
        report.findings, summary=type(report.summary)(configuration="kubesched.toml makes the gate weaker")
    )
    notices = [line for line in rendered(as_github.render, with_configuration).splitlines() if line[:9] == "::notice "]
    assert len(notices) == 10
    assert "makes the gate weaker" in notices[-1]


@pytest.mark.parametrize(("teams", "groups"), [(2, 1), (MOST_LINES, MOST_LINES)])
def test_equal_findings_of_a_few_namespaces_stand_once(teams: int, groups: int) -> None:
    """Six Deployments that may be uneven after a rollout filled a screen, one note each: two in each namespace."""
    found = [
        replace(one, cause="", owner=one.owner.replace("@org/", "namespace "), evidence=pattern(f"1/0/{number}, 2/1/0"))
        for number, one in enumerate(mistakes(Severity.NOTE, teams=teams))
        if int(one.object.name[-1]) < 3
    ]
    parts = list(causes(found))
    assert [len((part.first, *part.others)) for part in parts] == [3 * teams // groups] * groups
