"""reviewdog's format: the shape that its parser reads, columns in bytes, and suggestions that make the fixed file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.findings import Edit, Finding, Fix, Related, Report, Severity, pattern
from kubesched_lint.report.findings import as_rdjsonl
from kubesched_lint.report.findings.context import RenderContext
from tests.program import called
from tests.shapes import assert_shape

ROOT = Path(__file__).parent.parent.parent
LONGEST = 64 * 1024
"""Go's bufio.Scanner, with which reviewdog reads lines, ends silently at a longer one."""

TEXT = str


def from_one(value: Any) -> bool:
    return type(value) is int and value >= 1


POSITION = {"line": from_one, "column": from_one}
RANGE = {"start": POSITION, "end": POSITION}
LOCATION = {"path": TEXT, "range": RANGE}
DIAGNOSTIC = {
    "message": TEXT,
    "location": LOCATION,
    "severity": ("ERROR", "WARNING", "INFO"),
    "source": {"name": TEXT, "url": TEXT},
    "code": {"value": TEXT, "url": TEXT},
    "suggestions": [{"range": RANGE, "text": TEXT}],
    "related_locations": [{"message": TEXT, "location": LOCATION}],
    "original_output": TEXT,
}
"""The message Diagnostic of proto/rdf/reviewdog.proto, v0.21.0."""


def entries(report: Report, context: RenderContext) -> list[dict[str, Any]]:
    written = "".join(as_rdjsonl.render(report, context)).encode()  # strictly UTF-8, as protobuf asks for
    lines = written.split(b"\n")
    assert lines.pop() == b""
    assert all(len(line) < LONGEST for line in lines)
    found = [json.loads(line) for line in lines]
    for entry in found:
        assert_shape(entry, DIAGNOSTIC)
        assert entry["message"]
        assert entry["location"]["path"]
    return found


START = Span(1, 1, 1, 2)


def finding(*edits: Edit, span: Span = START, path: str = "a.yaml", message: str = "m") -> Finding:
    fixes = (Fix("do it", True, edits),)
    web = ObjectRef("Deployment", "shop", "web")
    return Finding("some-rule", Severity.ERROR, message, "do", pattern(), web, Location(path, span), fixes=fixes)


@pytest.mark.parametrize("name", ["hazards", "crowd", "hostile", "troubled", "waived", "clean"])
def test_every_line_is_a_diagnostic(
    name: str, reports: dict[str, Report], context: Callable[..., RenderContext]
) -> None:
    report = reports[name]
    found = entries(report, context())
    counted = [one for one in report.findings if one.suppressed is None]
    assert len(found) == len(counted) + len(report.errors)
    assert [entry["code"]["value"] for entry in found].count("input-error") == len(report.errors)


def test_columns_count_bytes_and_paths_are_relative() -> None:
    lines = ["a𐐀b: 1"]
    one = finding(span=Span(1, 3, 1, 4), path="/build/repo/a.yaml")
    (entry,) = entries(Report((one,)), RenderContext(sources=lambda path: lines, root="/build/repo"))
    assert entry["location"] == {
        "path": "a.yaml",
        "range": {"start": {"line": 1, "column": 6}, "end": {"line": 1, "column": 7}},
    }
    (entry,) = entries(Report((one,)), RenderContext())
    assert entry["location"]["range"] == {"start": {"line": 1}, "end": {"line": 1}}, "the line cannot be read"


def edited(text: str, edits: tuple[Edit, ...]) -> str:
    """The text after the edits, character by character."""
    lines = text.split("\n")

    def at(line: int, column: int) -> int:
        return sum(len(one) + 1 for one in lines[: line - 1]) + column - 1

    for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):
        span = edit.span
        text = text[: at(span.line, span.column)] + edit.text + text[at(span.end_line, span.end_column) :]
    return text


def accepted(text: str, suggestion: dict[str, Any]) -> str:
    """The text after a click on the button: whole lines give way to the suggested ones."""
    start, end = suggestion["range"]["start"], suggestion["range"]["end"]
    assert set(start) == set(end) == {"line"}
    lines = text.split("\n")
    assert end["line"] <= len(lines) - text.endswith("\n"), "no line of a diff"
    lines[start["line"] - 1 : end["line"]] = [suggestion["text"]]
    return "\n".join(lines)


def edit(line: int, column: int, end_line: int, end_column: int, text: str) -> Edit:
    return Edit("a.yaml", Span(line, column, end_line, end_column), text)


@pytest.mark.parametrize(
    ("text", "edits"),
    [
        ("a: 1\nb: 2\nc: 3\n", (edit(2, 4, 2, 5, "5"),)),
        ("a: 1\nb: 2\nc: 3\n", (edit(2, 1, 2, 1, "x: 0\n"),)),
        ("a: 1\nb: 2\nc: 3\n", (edit(4, 1, 4, 1, "d: 4\n"),)),
        ("a: 1\nb: 2\nc: 3", (edit(3, 5, 3, 5, "\nd: 4"),)),
        ("a: 1\nb: 2\nc: 3\n", (edit(1, 4, 1, 5, "7"), edit(3, 4, 3, 5, "8\nd: 9"))),
        ("a: 1\nb: 2\nc: 3\n", (edit(2, 1, 3, 1, ""),)),
        ("a: 1\r\nb: 2\r\nc: 3\r\n", (edit(2, 1, 2, 1, "x: 0\r\n"),)),
        ("ä: 𐐀\nb: 2\n", (edit(1, 4, 1, 5, "ö"),)),
    ],
)
def test_who_accepts_a_suggestion_gets_the_fixed_file(text: str, edits: tuple[Edit, ...]) -> None:
    report = Report((finding(*edits),))
    (entry,) = entries(report, RenderContext(sources=lambda path: text.split("\n")))
    (suggestion,) = entry["suggestions"]
    assert accepted(text, suggestion) == edited(text, edits)


def test_nobody_is_offered_a_part_of_a_fix() -> None:
    elsewhere = Edit("b.yaml", Span(1, 1, 1, 1), "x")
    context = RenderContext(sources=lambda path: ["a: 1", ""])
    for edits in ((edit(1, 4, 1, 5, "2"), elsewhere), (), (edit(9, 1, 9, 1, "x"),)):
        (entry,) = entries(Report((finding(*edits),)), context)
        assert "suggestions" not in entry


def test_a_line_is_never_too_long_for_the_reader() -> None:
    lines = ["x: " + "é" * 70_000]
    related = tuple(Related(Location("a.yaml", START), "near " * 500) for _ in range(50))
    far = replace(finding(edit(1, 1, 1, 2, "y"), message="long " * 30_000), related=related)
    found = entries(Report((far, finding())), RenderContext(sources=lambda path: lines))
    assert len(found) == 2
    assert all(entry["code"] == {"value": "some-rule"} for entry in found)


def test_bytes_that_are_not_utf_8_are_written_out() -> None:
    (entry,) = entries(Report((finding(path="b\udcff.yaml", message="\udcff"),)), RenderContext())
    assert entry["location"]["path"] == "b\\udcff.yaml"


def test_an_accepted_suggestion_of_a_real_run_mends_the_finding(tmp_path: Path) -> None:
    (tmp_path / "cache.yaml").write_text((ROOT / "fixtures" / "shop" / "cache.yaml").read_text())
    cluster = ("-c", ROOT / "fixtures" / "clusters" / "three-zones.yaml", "--no-config", "--no-cache")
    asked = ("lint", "cache.yaml", *cluster, "--diff", "--unsafe-fixes", "--format", "rdjsonl=out.jsonl")
    assert called(*asked, cwd=tmp_path).returncode == 1
    (line,) = (tmp_path / "out.jsonl").read_text().splitlines()
    entry = json.loads(line)
    assert entry["code"]["value"] == "anti-affinity-exceeds-domains"
    file = tmp_path / entry["location"]["path"]
    file.write_text(accepted(file.read_text(), entry["suggestions"][0]))
    done = called("lint", "cache.yaml", *cluster, "--fail-on", "warning", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
