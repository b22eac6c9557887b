"""What programs read: JSON after our schema, SARIF after the official one, GitHub's commands after its own parser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator, Draft202012Validator
from msgspec.structs import replace

import kubesched_lint
from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.findings import Finding, InputError, Report, Severity, pattern
from kubesched_lint.report.findings import as_github, as_json, as_markdown, as_sarif
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.formats import FORMATS, FormatError, renderer
from kubesched_lint.report.html import page

ROOT = Path(__file__).parent.parent.parent
SARIF = json.loads((ROOT / "fixtures/sarif/sarif-schema-2.1.0.json").read_bytes())
OURS = json.loads((Path(kubesched_lint.__file__).parent / "schemas/report.schema.json").read_bytes())
REPORTS = ("hazards", "crowd", "hostile", "troubled", "waived", "clean")

Context = Callable[..., RenderContext]


def parsed(render: Callable[[Report, RenderContext], Any], report: Report, context: Context) -> Any:
    return json.loads("".join(render(report, context())))


@pytest.mark.parametrize("name", REPORTS)
def test_json_is_valid_under_the_shipped_schema(name: str, reports: dict[str, Report], context: Context) -> None:
    Draft202012Validator.check_schema(OURS)
    document = parsed(as_json.render, reports[name], context)
    assert list(Draft202012Validator(OURS).iter_errors(document)) == []


def test_the_schema_describes_every_key_that_is_written(reports: dict[str, Report], context: Context) -> None:
    """New keys need a description: closing every object of the schema must leave all reports valid."""

    def closed(schema: Any) -> Any:
        if isinstance(schema, list):
            return [closed(item) for item in schema]
        if not isinstance(schema, dict):
            return schema
        shut = {key: closed(value) for key, value in schema.items() if key not in ("if", "then")}
        if "properties" in shut and "additionalProperties" not in shut:
            shut["additionalProperties"] = False
        return shut

    for report in reports.values():
        document = parsed(as_json.render, report, context)
        assert list(Draft202012Validator(closed(OURS)).iter_errors(document)) == []


def test_the_schema_refuses_an_error_without_a_proof(reports: dict[str, Report], context: Context) -> None:
    document = parsed(as_json.render, reports["hazards"], context)
    document["findings"][1]["evidence"]["kind"] = "witness"
    assert document["findings"][1]["severity"] == "error"
    assert not Draft202012Validator(OURS).is_valid(document)


def test_json_says_all_that_the_finding_holds(reports: dict[str, Report], context: Context) -> None:
    finding = next(
        f
        for f in parsed(as_json.render, reports["hazards"], context)["findings"]
        if f["rule"] == "anti-affinity-exceeds-domains"
    )
    assert finding["severity"] == "error"
    assert finding["evidence"] == {
        "kind": "proof",
        "text": "demand 6 > supply 3 zones (eu-west-1a, eu-west-1b and eu-west-1c)",
        "assumes": ["the 9 nodes of the sketch are all there are"],
        "demand": 6,
        "supply": 3,
    }
    assert finding["object"] == {"kind": "Deployment", "namespace": "shop", "name": "cache"}
    assert finding["location"] == {"path": "cache.yaml", "line": 17, "column": 13, "endLine": 23, "endColumn": 53}
    assert finding["related"][0] == {
        "location": {"path": "cache.yaml", "line": 7, "column": 13, "endLine": 7, "endColumn": 14},
        "label": "6 replicas",
    }
    assert finding["fixes"][0]["edits"][0]["text"] == "x"
    assert finding["suppressed"] is None
    assert finding["fingerprint"] == "6d0f1c2b3a495867"


def test_json_tells_waived_from_known(reports: dict[str, Report], context: Context) -> None:
    document = parsed(as_json.render, reports["waived"], context)
    suppressions = {finding["rule"]: finding["suppressed"] for finding in document["findings"]}
    assert suppressions["anti-affinity-exceeds-domains"]["reason"] == "moved to another cluster next week"
    assert suppressions["anti-affinity-exceeds-domains"]["location"]["line"] == 15
    assert suppressions["daemonset-creation-order"] == {"reason": "", "known": True}
    assert document["summary"]["suppressed"] == 1
    assert document["summary"]["known"] == 1
    assert document["summary"]["findings"] == {"error": 0, "warning": 1, "note": 0}


@pytest.mark.parametrize("name", REPORTS)
def test_sarif_is_valid_under_the_official_schema(name: str, reports: dict[str, Report], context: Context) -> None:
    log = parsed(as_sarif.render, reports[name], context)
    assert list(Draft4Validator(SARIF).iter_errors(log)) == []


def test_sarif_carries_the_cards_help(reports: dict[str, Report], context: Context) -> None:
    run = parsed(as_sarif.render, reports["hazards"], context)["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["help"]["markdown"].startswith(f"# {result['ruleId']}")
        assert rule["helpUri"].startswith("https://")
    assert run["columnKind"] == "unicodeCodePoints"


def test_sarif_places_relates_fixes_and_identifies(reports: dict[str, Report], context: Context) -> None:
    results = parsed(as_sarif.render, reports["hazards"], context)["runs"][0]["results"]
    result = next(r for r in results if r["level"] == "error")
    physical = result["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "cache.yaml", "uriBaseId": "%SRCROOT%"}
    assert physical["region"] == {"startLine": 17, "startColumn": 13, "endLine": 23, "endColumn": 53}
    assert next(place["message"]["text"] for place in result["relatedLocations"]) == "6 replicas"
    assert result["partialFingerprints"] == {"kubeschedLint/v1": "6d0f1c2b3a495867"}
    assert result["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"] == {"text": "x"}
    assert result["suppressions"] == []


def test_sarif_says_who_suppressed_what(reports: dict[str, Report], context: Context) -> None:
    results = parsed(as_sarif.render, reports["waived"], context)["runs"][0]["results"]
    suppressions = {result["ruleId"]: result["suppressions"] for result in results}
    assert suppressions["anti-affinity-exceeds-domains"][0]["kind"] == "inSource"
    assert suppressions["anti-affinity-exceeds-domains"][0]["justification"] == "moved to another cluster next week"
    assert suppressions["daemonset-creation-order"] == [{"kind": "external", "status": "accepted"}]
    assert suppressions["topology-key-missing-on-nodes"] == []


def test_sarif_of_unreadable_input_is_an_unsuccessful_run(reports: dict[str, Report], context: Context) -> None:
    invocation = parsed(as_sarif.render, reports["troubled"], context)["runs"][0]["invocations"][0]
    assert invocation["executionSuccessful"] is False
    texts = [note["message"]["text"] for note in invocation["toolExecutionNotifications"]]
    assert texts == [
        "no such file",
        "did not find expected ',' or '}'",
        "spec.replicas: expected an integer, found the string 'six'",
    ]
    assert len(invocation["toolConfigurationNotifications"]) == 14
    assert parsed(as_sarif.render, Report(), context)["runs"][0]["invocations"][0]["executionSuccessful"] is True


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a b/é#.yaml", "a%20b/%C3%A9%23.yaml"),
        ("./a.yaml", "a.yaml"),
        ("/etc/a.yaml", "file:///etc/a.yaml"),
        ("c:x.yaml", "c%3Ax.yaml"),
        ("-", "-"),
    ],
)
def test_sarif_paths_are_uris(path: str, uri: str, context: Context) -> None:
    one = Finding("r", Severity.NOTE, "m", "", pattern(), ObjectRef("Pod", "", "p"), Location(path, Span(1, 1, 1, 2)))
    run = parsed(as_sarif.render, Report((one,)), context)["runs"][0]
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def unescaped(line: str) -> tuple[str, dict[str, str], str]:
    """What GitHub's runner makes of a command (actions/runner, ActionCommand.TryParseV2)."""
    assert line.startswith("::")
    head, _, data = line[2:].partition("::")
    name, _, properties = head.partition(" ")
    values = {}
    for pair in properties.split(","):
        key, _, value = pair.partition("=")
        for code, sign in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
            value = value.replace(code, sign)
        values[key] = value
    for code, sign in (("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        data = data.replace(code, sign)
    return name, values, data


def test_github_commands_survive_any_character(context: Context) -> None:
    one = Finding(
        "some-rule",
        Severity.ERROR,
        "100% of a, b: c\n::error::injected",
        "do, this: 5%",
        pattern(),
        ObjectRef("Deployment", "a,b", "c:d"),
        Location("dir,1/a:b.yaml", Span(3, 5, 3, 9)),
    )
    lines = "".join(as_github.render(Report((one,)), context())).split("\n")
    assert len([line for line in lines if line.startswith("::")]) == 1
    name, values, data = unescaped(lines[0])
    assert name == "error"
    assert values == {
        "file": "dir,1/a:b.yaml",
        "line": "3",
        "col": "5",
        "endLine": "3",
        "endColumn": "9",
        "title": "some-rule: Deployment a,b/c:d",
    }
    assert data == "100% of a, b: c\n: :error: :injected\nhelp: do, this: 5%"


def test_github_annotates_errors_of_the_input_and_leaves_out_what_is_waived(
    reports: dict[str, Report], context: Context
) -> None:
    troubled = "".join(as_github.render(reports["troubled"], context()))
    assert "::error file=cache.yaml,line=7,col=13," in troubled
    waived = "".join(as_github.render(reports["waived"], context()))
    assert waived.count("::warning") == 1
    assert "::error" not in waived


def test_github_gives_no_columns_for_a_span_of_several_lines(context: Context) -> None:
    one = Finding(
        "r", Severity.NOTE, "m", "", pattern(), ObjectRef("Pod", "", "p"), Location("a.yaml", Span(3, 5, 6, 9))
    )
    command = "".join(as_github.render(Report((one,)), context())).split("\n")[0]
    assert command == "::notice file=a.yaml,line=3,endLine=6,title=r%3A Pod p::m"


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_report_is_the_same_text_whatever_the_order_of_its_findings(
    name: str, reports: dict[str, Report], context: Context
) -> None:
    report = reports["crowd"]
    turned = replace(report, findings=tuple(reversed(report.findings)))
    assert "".join(renderer(name)(report, context())) == "".join(renderer(name)(turned, context()))


def test_a_name_that_is_not_unicode_breaks_no_format(context: Context) -> None:
    path = "b\udcff.yaml"
    report = Report(
        (Finding("r", Severity.NOTE, "m", "", pattern(), ObjectRef("Pod", "", "p"), Location(path, Span(1, 1, 1, 2))),),
        errors=(InputError(path, "unreadable"),),
    )
    for name in FORMATS:
        text = "".join(renderer(name)(report, context())).encode("utf-8", "backslashreplace").decode()
        if name in ("json", "sarif"):
            json.loads(text)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_shows_what_could_not_be_read(name: str, context: Context) -> None:
    text = "".join(renderer(name)(Report((), errors=(InputError("torn.yaml", "unreadable", 3, 1),)), context()))
    assert "torn.yaml" in text, f"{name} must show report.errors: a file that nobody read has no findings"
    assert "unreadable" in text


def test_an_unknown_format_is_refused_with_a_guess() -> None:
    with pytest.raises(FormatError, match=r"no format is called 'sarf', did you mean sarif\?"):
        renderer("sarf")


def test_pages_say_of_a_finding_what_would_help_and_once_what_holds_for_all(
    reports: dict[str, Report], context: Context
) -> None:
    """Every finding of a Markdown comment and of a page repeated that the nodes of the snapshot stay."""
    first, second = reports["hazards"].findings
    standing = "the nodes of the snapshot stay"
    each = [
        replace(one, evidence=replace(one.evidence, assumes=(standing, "no pod ends meanwhile")), severity=severity)
        for one, severity in ((first, Severity.WARNING), (second, Severity.ERROR))
    ]
    report = replace(reports["hazards"], findings=tuple(each))
    for render in (as_markdown.render, page.render):
        text = "".join(render(report, context()))
        assert text.count(standing) == 1
        assert f"{standing} (2 of 2 findings)" in text
        assert len(re.findall(r"unless(?:</dt><dd>|:\*\* )a pod ends meanwhile", text)) == 1, "an error has no unless"
        assert len(re.findall(r"assumes(?:</dt><dd>|:\*\* )no pod ends meanwhile", text)) == 1
