"""From ``--format NAME[=FILE]`` to bytes: files appear whole or not at all, and a closed pipe is no failure."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TextIO

from kubesched_lint.findings import Report
from kubesched_lint.printing import OutputError, write_stream
from kubesched_lint.record import record
from kubesched_lint.report.context import RenderContext
from kubesched_lint.report.formats import FormatError, renderer


@record
class Target:
    """One report to write; ``file`` is empty for standard output."""

    format: str
    file: str = ""


def targets(formats: Sequence[str]) -> tuple[Target, ...]:
    """Reads ``NAME[=FILE]`` arguments, ``-`` being standard output.

    Raises FormatError on an unknown name, an empty FILE, and when two reports would go to one place.
    """
    found: dict[str, Target] = {}
    for text in formats:
        name, equals, file = text.partition("=")
        renderer(name)
        if equals and not file:
            raise FormatError(f"--format {text}: a file name belongs after the =")
        target = Target(name, "" if file == "-" else file)
        place = os.path.abspath(target.file) if target.file else ""
        if place in found:
            where = target.file or "standard output"
            raise FormatError(f"{found[place].format} and {name} both go to {where}: write one as {name}=FILE")
        found[place] = target
    return tuple(found.values())


def write(
    report: Report, chosen: Iterable[Target], on_screen: RenderContext, in_files: RenderContext, stdout: TextIO
) -> None:
    """Writes every report; files first, so that a closed pipe cannot keep them from being written.

    Raises OutputError when a file cannot be written.
    """
    for target in sorted(chosen, key=lambda t: not t.file):
        render = renderer(target.format)
        if target.file:
            write_file(target.file, render(report, in_files))
        else:
            write_stream(stdout, render(report, on_screen))


def write_file(path: str, pieces: Iterable[str]) -> None:
    """Replaces ``path`` in one step; what is not a regular file (a pipe, ``/dev/stderr``) is written to directly."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.writelines(pieces)
            return
        _replace(os.path.realpath(path), pieces)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}") from error


def _replace(path: str, pieces: Iterable[str]) -> None:
    temporary = f"{path}.{os.getpid()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        # A name that is not UTF-8 keeps its bytes as \udcXX escapes, which are what JSON would write.
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(pieces)
        if os.path.exists(path):
            os.chmod(temporary, os.stat(path).st_mode & 0o777)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
