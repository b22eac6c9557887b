"""Reports reach their files whole or not at all, and what a run means is its exit code."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.findings import Finding, InputError, Report, Severity, Skip, Suppression, pattern
from kubesched_lint.printing import OutputError, write_stream
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import FAIL_ON, exit_code
from kubesched_lint.report.findings.formats import FormatError, ReportTarget, targets, write, write_file
from kubesched_lint.report.terminal.palette import terminal_width, wants_color

ROOT = Path(__file__).parent.parent.parent


def finding(severity: Severity) -> Finding:
    where = Location("a.yaml", Span(1, 1, 1, 2))
    return Finding("some-rule", severity, "m", "h", pattern(), ObjectRef("Pod", "x", "p"), where)


def test_formats_go_to_standard_output_or_to_a_file() -> None:
    assert targets(["text"]) == (ReportTarget("text"),)
    assert targets(["json=-"]) == (ReportTarget("json"),)
    assert targets(["sarif=a=b.sarif", "text"]) == (ReportTarget("sarif", "a=b.sarif"), ReportTarget("text"))


@pytest.mark.parametrize(
    ("formats", "complaint"),
    [
        (["yaml"], "no format is called 'yaml'"),
        (["Text"], "did you mean text"),
        (["json="], "a file name belongs after the ="),
        (["text", "json"], "text and json both go to standard output"),
        (["json=x", "sarif=./x"], "json and sarif both go to ./x"),
    ],
)
def test_formats_that_cannot_be_followed_are_refused(formats: list[str], complaint: str) -> None:
    with pytest.raises(FormatError, match=complaint):
        targets(formats)


def test_several_reports_are_written_at_once(tmp_path: Path) -> None:
    out, report = io.StringIO(), Report((finding(Severity.ERROR),))
    write(report, targets(["text", f"json={tmp_path / 'r.json'}"]), RenderContext(), RenderContext(), out)
    assert "error[some-rule]: m" in out.getvalue()
    assert json.loads((tmp_path / "r.json").read_bytes())["findings"][0]["rule"] == "some-rule"
    assert [file.name for file in tmp_path.iterdir()] == ["r.json"]


def test_a_report_that_breaks_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    def broken() -> Iterator[str]:
        yield "new"
        raise RuntimeError("half way")

    file = tmp_path / "r.json"
    file.write_text("old")
    with pytest.raises(RuntimeError):
        write_file(str(file), broken())
    assert file.read_text() == "old"
    assert [f.name for f in tmp_path.iterdir()] == ["r.json"]


def test_a_replaced_file_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text("old")
    real.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(real)
    write_file(str(link), ["new"])
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no folder in memory")
def test_a_link_in_memory_is_followed_like_any_other() -> None:
    with TemporaryDirectory(dir="/dev/shm") as folder:
        real, link = Path(folder) / "real.json", Path(folder) / "link.json"
        real.write_text("old")
        link.symlink_to(real)
        write_file(str(link), ["new"])
        assert link.is_symlink()
        assert real.read_text() == "new"


def test_a_new_file_has_the_mode_that_the_user_wants(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(str(tmp_path / "r"), ["x"])
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "r").stat().st_mode) == 0o640


def test_what_is_no_regular_file_is_written_to(tmp_path: Path) -> None:
    write_file("/dev/null", ["x"])
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_folder_that_is_not_there_is_one_clear_message(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"no/r\.json: No such file or directory"):
        write_file(str(tmp_path / "no" / "r.json"), ["x"])
    with pytest.raises(OutputError, match="Is a directory"):
        write_file(str(tmp_path), ["x"])


def test_a_stream_that_cannot_encode_gets_escapes() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    write_stream(stream, ["shop/商店 …\n"])
    assert raw.getvalue() == b"shop/\\u5546\\u5e97 \\u2026\n"


def test_a_reader_that_leaves_makes_no_noise_and_does_not_change_the_exit_code() -> None:
    program = textwrap.dedent("""
        import sys
        from kubesched_lint.printing import write_stream
        write_stream(sys.stdout, ("x" * 1000 + chr(10) for _ in range(10000)))
        sys.exit(7)
    """)
    done = subprocess.run(
        ["bash", "-c", f"\"{sys.executable}\" -c '{program}' | head -n 1 >/dev/null; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
    )
    assert done.stderr == ""
    assert done.stdout == "7\n"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("mode", "stream", "environ", "painted"),
    [
        ("auto", _Terminal(), {"TERM": "xterm"}, True),
        ("auto", _Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}, False),
        ("auto", _Terminal(), {"TERM": "xterm", "NO_COLOR": ""}, True),
        ("auto", _Terminal(), {"TERM": "dumb"}, False),
        ("auto", io.StringIO(), {"TERM": "xterm"}, False),
        ("always", io.StringIO(), {"NO_COLOR": "1", "TERM": "dumb"}, True),
        ("never", _Terminal(), {"TERM": "xterm"}, False),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    mode: str, stream: io.StringIO, environ: dict[str, str], painted: bool
) -> None:
    assert wants_color(mode, stream, environ) is painted


def test_width_is_the_terminals_and_nothing_elsewhere() -> None:
    assert terminal_width(io.StringIO(), {"COLUMNS": "90"}) == 0
    assert terminal_width(_Terminal(), {"COLUMNS": "90"}) == 90
    assert terminal_width(_Terminal(), {"COLUMNS": "zero"}) == 80


@pytest.mark.parametrize("fail_on", FAIL_ON)
@pytest.mark.parametrize("severity", Severity)
def test_findings_fail_from_the_severity_that_was_asked_for(fail_on: str, severity: Severity) -> None:
    limit = {"error": 3, "warning": 2, "note": 1, "never": 9}[fail_on]
    assert exit_code(Report((finding(severity),)), FAIL_ON[fail_on]) == int(severity >= limit)


def test_what_is_suppressed_or_known_does_not_fail() -> None:
    waived = replace(finding(Severity.ERROR), suppressed=Suppression("r"))
    known = replace(finding(Severity.ERROR), suppressed=Suppression("", known=True))
    assert exit_code(Report((waived, known)), Severity.NOTE) == 0
    assert exit_code(Report((waived, known, finding(Severity.NOTE))), Severity.NOTE) == 1


def test_unreadable_input_outweighs_findings() -> None:
    report = Report((finding(Severity.ERROR),), errors=(InputError("a", "broken"),))
    assert exit_code(report) == 2
    assert exit_code(report, None) == 2


def test_skips_count_only_when_asked_for() -> None:
    report = Report(skipped=(Skip("some-rule", "needs a cluster"),))
    assert exit_code(report) == 0
    assert exit_code(report, strict_skips=True) == 1
    assert exit_code(report, None, strict_skips=True) == 1
    assert exit_code(Report(), strict_skips=True) == 0


def test_rendering_text_loads_neither_rich_nor_jsonschema() -> None:
    """Start-up counts: formats come only when asked for, and text needs nothing heavy."""
    program = textwrap.dedent("""
        import sys
        from kubesched_lint.report.findings.formats import targets
        targets(["text"])
        heavy = {"rich", "jsonschema", "tempfile", "shutil"}
        print(*heavy & set(sys.modules))
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []
