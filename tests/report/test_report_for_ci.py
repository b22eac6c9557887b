"""What CI services read: JUnit parsed back, code quality after GitLab's documentation, a comment that fits."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.lint.run import LintRun, Request, checked
from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.findings import Finding, InputError, Report, Severity, Skip, Suppression, pattern, proof, witness
from kubesched_lint.linter.options import Options
from kubesched_lint.report.findings import as_gitlab, as_junit, as_markdown, as_sarif
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.markdown import code_in_row
from kubesched_lint.rulebook.library import Rulebook

ROOT = Path(__file__).parent.parent.parent
REPORTS = ("hazards", "crowd", "hostile", "troubled", "waived", "clean")

Context = Callable[..., RenderContext]


def junit(report: Report, context: RenderContext) -> ElementTree.Element:
    return ElementTree.fromstring("".join(as_junit.render(report, context)))


def gitlab(report: Report, context: RenderContext) -> list[dict[str, object]]:
    entries: list[dict[str, object]] = json.loads("".join(as_gitlab.render(report, context)))
    return entries


def finding(
    message: str = "m",
    *,
    rule: str = "some-rule",
    severity: Severity = Severity.ERROR,
    path: str = "a.yaml",
    line: int = 3,
) -> Finding:
    place = Location(path, Span(line, 1, line, 5))
    return Finding(rule, severity, message, "do this", pattern(), ObjectRef("Deployment", "shop", "web"), place)


def shop() -> LintRun:
    """A real run; paths are those of the checkout."""
    request = Request((str(ROOT / "fixtures/shop"),), str(ROOT / "fixtures/clusters/three-zones.yaml"))
    return checked(request, Options(), Rulebook.shipped())


# --- junit ------------------------------------------------------------------------------------------------------------

# Elements, their attributes and children as Jenkins' xunit plugin (junit-10.xsd) has them, with the ``error`` and the
# ``file`` of a case that Jenkins' own plugin and GitLab read besides.
_SHAPE: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": ({"name"}, {"tests", "failures", "errors", "time"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"skipped", "time", "timestamp", "hostname", "id", "package", "file", "group", "log", "url", "version"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": (
        {"name"},
        {"classname", "time", "group", "file"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}


@pytest.mark.parametrize("name", REPORTS)
def test_junit_has_the_shape_that_readers_know(name: str, reports: dict[str, Report], context: Context) -> None:
    root = junit(reports[name], context())
    assert root.tag == "testsuites"
    for element in root.iter():
        required, optional, children = _SHAPE[element.tag]
        assert required <= set(element.attrib) <= required | optional, element.attrib
        assert {child.tag for child in element} <= children


@pytest.mark.parametrize("name", REPORTS)
def test_junit_counts_what_it_lists_and_names_no_case_twice(
    name: str, reports: dict[str, Report], context: Context
) -> None:
    root = junit(reports[name], context())
    cases = list(root.iter("testcase"))
    assert cases, "Jenkins takes a report without any case for a failure"
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases)
    for suite in (root, *root.iter("testsuite")):
        its = list(suite.iter("testcase"))
        counted = Counter(child.tag for case in its for child in case)
        assert suite.get("tests") == str(len(its))
        assert suite.get("failures") == str(counted["failure"])
        assert suite.get("errors") == str(counted["error"])
        assert suite.get("skipped", str(counted["skipped"])) == str(counted["skipped"])


def test_junit_fails_from_the_severity_that_fails_the_run(context: Context) -> None:
    report = Report(
        tuple(
            finding(rule=f"r-{severity.word}", severity=severity)
            for severity in (Severity.NOTE, Severity.WARNING, Severity.ERROR)
        )
    )
    for fail_on, failing in ((Severity.ERROR, 1), (Severity.WARNING, 2), (Severity.NOTE, 3), (None, 0)):
        root = junit(report, replace(context(), fail_on=fail_on))
        assert len(list(root.iter("failure"))) == failing
        assert len(list(root.iter("testcase"))) == 3, "what does not fail is a case that passes, with its text"


def test_junit_tells_waived_known_skipped_and_unreadable(reports: dict[str, Report], context: Context) -> None:
    waived = {e.get("message") for e in junit(reports["waived"], context()).iter("skipped")}
    assert waived == {"waived: moved to another cluster next week", "known from the baseline"}
    root = junit(reports["troubled"], context())
    assert {
        (case.get("classname"), e.get("message")) for case in root.iter("testcase") for e in case.iter("error")
    } == {
        ("absent.yaml", "no such file"),
        ("broken.yaml", "did not find expected ',' or '}'"),
        ("cache.yaml", "spec.replicas: expected an integer, found the string 'six'"),
    }
    skipped = [case.get("name") for case in root.iter("testcase") if case.find("skipped") is not None]
    assert skipped[:2] == ["rule-01", "rule-02"]
    assert len(skipped) == 14


def test_junit_holds_what_xml_cannot(context: Context) -> None:
    bad = "".join(map(chr, [*range(0x20), 0x7F, 0x85, 0xFFFE, 0xFFFF, 0xD800, 0xDCFF])) + "<&>\"']]>"
    report = Report((finding(bad, path=f"p{bad}.yaml"),), (Skip("r", bad),), (InputError(bad, bad),))
    root = junit(report, context())
    message = next(e.get("message") or "" for e in root.iter("failure"))
    assert message.endswith("<&>\"']]>")
    assert "␛" in message
    assert "␀" in message
    assert "\\ud800" in message


def test_junit_has_a_case_that_passes_for_each_file_without_findings(context: Context) -> None:
    given = replace(context(), files=lambda: ["a.yaml", "b.yaml"])
    root = junit(Report((finding(),)), given)
    assert {(case.get("classname"), len(case)) for case in root.iter("testcase")} == {("a.yaml", 1), ("b.yaml", 0)}


def test_junit_names_do_not_change_when_lines_move(context: Context) -> None:
    names = [
        [case.get("name") for case in junit(Report((finding(line=line),)), context()).iter("testcase")]
        for line in (3, 90)
    ]
    assert names[0] == names[1] == ["some-rule: Deployment shop/web"]


# --- gitlab -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REPORTS)
def test_gitlab_has_the_properties_of_its_documentation(
    name: str, reports: dict[str, Report], context: Context
) -> None:
    entries = gitlab(reports[name], context())
    for entry in entries:
        assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        location = entry["location"]
        assert isinstance(location, dict)
        assert set(location) == {"path", "lines"}
        assert not location["path"].startswith(("./", "/"))
        assert set(location["lines"]) == {"begin"}
        assert location["lines"]["begin"] >= 1
        assert isinstance(entry["description"], str)
        assert "\n" not in entry["description"]
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)


def test_gitlab_weighs_by_severity_and_evidence(context: Context) -> None:
    def one(severity: Severity, **changes: object) -> Finding:
        return replace(finding(severity=severity), **changes)  # type: ignore[arg-type]

    report = Report(
        (
            one(Severity.ERROR, rule="a", evidence=proof("3 > 2")),
            one(Severity.WARNING, rule="b", evidence=witness("w")),
            one(Severity.WARNING, rule="c"),
            one(Severity.NOTE, rule="d"),
            one(Severity.ERROR, rule="e", suppressed=Suppression("known", known=True)),
        ),
        errors=(InputError("x.yaml", "no such file"),),
    )
    found = {entry["check_name"]: entry["severity"] for entry in gitlab(report, context())}
    assert found == {"a": "critical", "b": "major", "c": "minor", "d": "info", "input-error": "blocker"}


def test_gitlab_paths_are_relative_to_where_the_run_began(context: Context) -> None:
    report = Report((finding(path="/build/repo/k8s/a.yaml"), finding(path="./b.yaml"), finding(path="/else/c.yaml")))
    places = [entry["location"] for entry in gitlab(report, replace(context(), root="/build/repo"))]
    assert places == [{"path": path, "lines": {"begin": 3}} for path in ("k8s/a.yaml", "/else/c.yaml", "b.yaml")]


# --- markdown ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["web.yaml", "a|b.yaml", "a\\|b.yaml", "`|`"])
def test_no_name_ends_a_cell_of_a_table(name: str) -> None:
    """GitHub cuts rows into cells first, at bars without a backslash, also inside code."""
    told = f"| {code_in_row(name)} | what blocks |"
    for escaped in (r"\\.", r"\\\|"):  # how the versions of its parser read backslashes
        assert len(re.findall(rf"(?:{escaped}|[^|])+", told)) == 2, told


def markdown(report: Report, context: RenderContext) -> str:
    return "".join(as_markdown.render(report, context))


def test_a_comment_never_exceeds_what_github_takes_and_says_what_it_left_out(context: Context) -> None:
    many = tuple(
        finding(f"{'all about 👩‍🚀 ' * 20}{'abcdefghijklmnopqrstuvwxyz'[i % 26] * 8}{i}", rule=f"rule-{i}", line=i + 1)
        for i in range(2_000)
    )
    text = markdown(Report(many), context())
    assert len(text.encode("utf-16-le")) // 2 <= 65_536
    left = re.search(r"… and \*\*([\d,]+) more findings\*\* that did not fit", text)
    assert left is not None
    assert int(left.group(1).replace(",", "")) == 2_000 - text.count("\n❌ ")
    assert text.count("<details>") == text.count("</details>")


def test_a_comment_makes_no_markup_of_names(context: Context) -> None:
    evil = "<script>x</script> **b** `c` | [l](https://evil.example) @octocat #12 <!-- -->"
    report = Report((finding(evil, path="dir|`x`.yaml"),), (Skip("r", evil),), (InputError("a`b.yaml", evil),))
    text = markdown(report, context())
    assert "<script" not in text
    assert "@octocat" not in text
    assert "https://evil" not in text
    for line in text.split("\n"):
        if "script" in line:
            assert "\\*\\*b\\*\\*" in line
            assert "\\`c\\` \\|" in line
            assert "\\[l\\]" in line
            assert "\\#12" in line
    assert "``dir|`x`.yaml:3``" in text
    assert "``a`b.yaml``" in text


def test_a_comment_fences_source_with_more_backticks_than_it_holds(context: Context) -> None:
    given = replace(context(), sources=lambda path: ["a: 1", "b: 2", "````` </details>"])
    text = markdown(Report((finding(),)), given)
    assert "``````yaml\n````` </details>\n``````" in text


def test_a_comment_begins_with_its_mark_and_tells_the_worst_first(reports: dict[str, Report], context: Context) -> None:
    text = markdown(reports["hazards"], context())
    assert text.startswith(as_markdown.MARK)
    assert text.index("### 1 error\n") < text.index("### 1 warning\n")


def test_a_comment_has_the_matrix_when_there_is_a_cluster(context: Context) -> None:
    run = shop()
    text = markdown(run.report, replace(context(), extras=run.extras, root=str(ROOT)))
    rows = [line for line in text.split("\n") if line.startswith("| ")]
    assert rows[0] == "| | deploy | rollout | HPA max | scale down | node loss | zone loss | drain |"
    assert rows[1].startswith("| Deployment shop/cache | ❌ 3/6\\! | ❌ stuck\\! | · | ✅ ok |")
    assert all(row.count(" | ") == 7 for row in rows[1:])
    (stateful,) = (row for row in rows if row.startswith("| StatefulSet shop/db |"))
    assert stateful.count(" u |") == 2, "lost nodes that are only unreachable are the worse end"
    assert "`fixtures/shop/cache.yaml:18`" in text
    assert "What happens when" not in markdown(run.report, context())


# --- sarif ------------------------------------------------------------------------------------------------------------


def test_sarif_says_what_a_baseline_knows(reports: dict[str, Report], context: Context) -> None:
    def states(report: Report) -> list[object]:
        log = json.loads("".join(as_sarif.render(report, context())))
        return [result.get("baselineState") for result in log["runs"][0]["results"]]

    assert states(reports["waived"]) == ["unchanged", "new", "new"]
    assert states(reports["hazards"]) == [None, None]
