"""The formats by name, and ``--format NAME[=FILE]``: each file is written completely or not at all.

A format has its own module, imported when it is used. A closed pipe is no failure.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO

from msgspec import Struct

from kubesched_lint.engine.base.text import closest
from kubesched_lint.findings import Report
from kubesched_lint.printing import OutputError, write_stream
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.writing import destination, replacing

Renderer = Callable[[Report, RenderContext], Iterable[str]]

FORMATS = {
    "text": "kubesched_lint.report.findings.as_text",
    "concise": "kubesched_lint.report.findings.as_concise",
    "json": "kubesched_lint.report.findings.as_json",
    "sarif": "kubesched_lint.report.findings.as_sarif",
    "github": "kubesched_lint.report.findings.as_github",
    "gitlab": "kubesched_lint.report.findings.as_gitlab",
    "junit": "kubesched_lint.report.findings.as_junit",
    "rdjsonl": "kubesched_lint.report.findings.as_rdjsonl",
    "markdown": "kubesched_lint.report.findings.as_markdown",
    "html": "kubesched_lint.report.html.page",
}


class FormatError(ValueError):
    """An invalid ``--format``; the text is a message for the user."""


def renderer(name: str) -> Renderer:
    """Return the renderer of a format. Raises FormatError for an unknown name."""
    if name not in FORMATS:
        raise FormatError(_unknown(name))
    render: Renderer = __import__(FORMATS[name], fromlist=["render"]).render
    return render


def _unknown(name: str) -> str:
    near = closest(name, FORMATS)
    return f"no format is called {name!r}{f', did you mean {near}?' if near else ''} ({', '.join(FORMATS)})"


class ReportTarget(Struct, frozen=True):
    """One report to write; ``file`` is empty for standard output."""

    format: str
    file: str = ""


def targets(formats: Sequence[str]) -> tuple[ReportTarget, ...]:
    """Return the targets of ``NAME[=FILE]`` arguments; ``-`` is standard output.

    Raises FormatError for an unknown name, an empty FILE, or two reports with the same target.
    """
    by_place: dict[str, ReportTarget] = {}
    for text in formats:
        name, equals, file = text.partition("=")
        renderer(name)
        if equals and not file:
            raise FormatError(f"--format {text}: a file name belongs after the =")
        target = ReportTarget(name, "" if file == "-" else file)
        place = os.path.abspath(target.file) if target.file else ""
        if place in by_place:
            where = target.file or "standard output"
            raise FormatError(f"{by_place[place].format} and {name} both go to {where}: write one as {name}=FILE")
        by_place[place] = target
    return tuple(by_place.values())


def write(
    report: Report, chosen: Iterable[ReportTarget], on_screen: RenderContext, in_files: RenderContext, stdout: TextIO
) -> None:
    """Write every report, files first, so that a closed pipe does not stop them.

    Raises OutputError when a file cannot be written.
    """
    for target in sorted(chosen, key=lambda t: not t.file):
        render = renderer(target.format)
        if target.file:
            write_file(target.file, render(report, in_files))
        else:
            write_stream(stdout, render(report, on_screen))


def write_file(path: str, pieces: Iterable[str]) -> None:
    """Replace ``path`` in one step; write directly to what is not a regular file (a pipe, ``/dev/stderr``)."""
    # Bytes of names that are not UTF-8 become \udcXX escapes, as in JSON.
    data = (piece.encode("utf-8", "backslashreplace") for piece in pieces)
    try:
        real = destination(path)
        if os.path.exists(real) and not os.path.isfile(real):
            with open(real, "wb") as stream:
                stream.writelines(data)
            return
        with replacing(real) as file:
            file.writelines(data)
            if os.path.exists(real):
                os.fchmod(file.fileno(), os.stat(real).st_mode & 0o777)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}") from error
