"""``lint --diff`` and ``lint --fix``: what would change, and changing it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import typer

from kubesched_lint.commands.fix import search
from kubesched_lint.commands.fix.proposals import placed
from kubesched_lint.commands.fix.search import Mended
from kubesched_lint.commands.fix.workspace import OpenFile, WriteError, write
from kubesched_lint.commands.lint.run import LintRun
from kubesched_lint.manifests.inputs import STDIN
from kubesched_lint.printing import is_obeyed, tell, write_bytes
from kubesched_lint.record import replace
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.text import plural


@dataclass(frozen=True, slots=True)
class Mending:
    """What was asked for: to ``write``, or else to show; ``unsafe`` fixes too."""

    write: bool
    unsafe: bool


def asked(paths: Sequence[str], *, diff: bool, fix: bool, unsafe: bool) -> Mending:
    """Raises BadParameter for options that do not go together."""
    if diff and fix:
        raise typer.BadParameter("--diff shows what --fix would do: give one of them.", param_hint="'--fix'")
    if not diff and not fix:
        raise typer.BadParameter("it goes with --diff or --fix.", param_hint="'--unsafe-fixes'")
    if fix and "-" in paths:
        words = "standard input cannot be written: --diff shows what would change."
        raise typer.BadParameter(words, param_hint="'--fix'")
    return Mending(fix, unsafe)


def mend(run: LintRun, mending: Mending, rulebook: Rulebook, again: Callable[[], LintRun]) -> tuple[LintRun, int]:
    """The run to report, and the least exit code: 1 for a diff, 2 for a file that could not be written."""
    import gc

    gc.freeze()  # what has been read stays
    gc.enable()  # and the set is linted many times over
    mended = search.mend(run.manifests, run.cluster, run.options, rulebook, run.report, unsafe=mending.unsafe)
    return _written(run, mended, again) if mending.write else (_shown(run, mended), int(bool(mended.sheets)))


def _shown(run: LintRun, mended: Mended) -> LintRun:
    """Prints what would change. The run with the fixes in its findings."""
    for sheet in mended.sheets:
        _print(sheet)
    _tell("would fix", mended)
    findings = (
        replace(finding, fixes=(mended.fixes[placed(finding)],)) if placed(finding) in mended.fixes else finding
        for finding in run.report.findings
    )
    return replace(run, report=replace(run.report, findings=tuple(findings)))


def _written(run: LintRun, mended: Mended, again: Callable[[], LintRun]) -> tuple[LintRun, int]:
    """Writes what can be mended. The run as it is afterwards."""
    failed = 0
    for sheet in mended.sheets:
        try:
            write(sheet)
        except WriteError as error:
            tell(f"error: {error}")
            failed += 1
    if failed:
        tell(f"{len(mended.sheets) - failed} of {len(mended.sheets)} files written")
    else:
        _tell("fixed", mended)
    return (again() if mended.sheets else run), (2 if failed else 0)


def _print(sheet: OpenFile) -> None:
    """The diff as it is, for a patch that was changed fits no file; or not at all. Raises OutputError."""
    lines = list(_diff(sheet))
    if any(is_obeyed(line.removesuffix("\n").removesuffix("\r")) for line in lines):
        tell(f"note: the diff of {sheet.path} is left out: it has characters that terminals or CI runners obey")
        return
    write_bytes(line.encode("utf-8", "surrogateescape") for line in lines)


def _tell(verb: str, mended: Mended) -> None:
    for words in mended.refused:
        tell(f"note: {words}")
    if not mended.findings:
        tell("no findings: nothing to fix")
        return
    files = len(mended.sheets)
    count = f"{mended.fixed}" if mended.fixed else "none"
    where = f" in {files} {plural(files, 'file')}" if files else ""
    further = f"{'' if mended.counted else 'at least '}{mended.unsafe}{' more' if mended.fixed else ''}"
    more = f" ({further} with --unsafe-fixes)" if mended.unsafe else ""
    of = f"{mended.findings} {plural(mended.findings, 'finding')}"
    tell(f"{verb} {count} of {of}{where}{more}")


def _diff(sheet: OpenFile) -> Iterator[str]:
    """Unified, with the path as it was given: ``patch -p0`` and ``git apply -p0`` take it."""
    from difflib import unified_diff

    name = "-" if sheet.path == STDIN else _name(sheet.path)
    before, after = _lines(sheet.first), _lines(sheet.data)
    for line in unified_diff(before, after, name, name):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _name(path: str) -> str:
    """As git and patch have names in a diff: in quotes where a character would end or forge a line."""
    if not any(character < " " or character in '\\"\x7f' for character in path):
        return f"{path}\t" if " " in path else path
    return '"' + "".join(_quoted(byte) for byte in os.fsencode(path)) + '"'


def _quoted(byte: int) -> str:
    if chr(byte) in '\\"':
        return "\\" + chr(byte)
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"


def _lines(data: bytes) -> list[str]:
    """As a diff has them: parted at newlines alone."""
    codec = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    text = data.decode(codec, "surrogateescape" if codec == "utf-8" else "strict")
    return [f"{line}\n" for line in text.split("\n")[:-1]] + ([last] if (last := text.rpartition("\n")[2]) else [])
