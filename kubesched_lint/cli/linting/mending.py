"""``lint --diff`` prints the fixes; ``lint --fix`` writes them."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from difflib import unified_diff

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.cli.parsing.invocation import refused
from kubesched_lint.commands.fix import search
from kubesched_lint.commands.fix.proposals import placed
from kubesched_lint.commands.fix.search import Mended
from kubesched_lint.commands.fix.workspace import OpenFile, WriteError, write
from kubesched_lint.commands.lint.run import LintRun, users_cache
from kubesched_lint.engine.base.text import plural
from kubesched_lint.printing import is_obeyed, tell, write_bytes
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests.inputs import STDIN


class Mending(Struct, frozen=True):
    """The options: ``write`` the fixes (or only show them), with or without ``unsafe`` ones."""

    write: bool
    unsafe: bool


def mending_of(paths: Sequence[str], *, diff: bool, fix: bool, unsafe: bool) -> Mending:
    """Return the options as one value. Raises BadParameter for options that exclude each other."""
    if diff and fix:
        raise refused("--diff shows what --fix would do; use only one of them.", "--fix")
    if not diff and not fix:
        raise refused("needs --diff or --fix.", "--unsafe-fixes")
    if fix and "-" in paths:
        words = "standard input cannot be written; use --diff to print the changes."
        raise refused(words, "--fix")
    return Mending(fix, unsafe)


def mend(
    run: LintRun, mending: Mending, rulebook: Rulebook, again: Callable[[], LintRun], paths: Sequence[str]
) -> tuple[LintRun, int]:
    """Return (run to report, minimum exit code): 1 for a diff, 2 for a file that could not be written.

    ``paths``: those that the run has read.
    """
    gc.freeze()  # the manifests stay until the end
    gc.enable()  # fixing lints the set many times
    closed = _read_by_others(paths) if run.options.applied else {}
    of_run = (run.manifests, run.cluster, run.options, rulebook, run.report)
    mended = search.mend(*of_run, unsafe=mending.unsafe, closed=closed, known=run.linted)
    return _written(run, mended, again) if mending.write else (_shown(run, mended), int(bool(mended.open_files)))


def _read_by_others(paths: Sequence[str]) -> dict[str, str]:
    """Return why files are not changed that other sets are made of, too: nobody judges what that does there."""
    from kubesched_lint.sources.delivery.entries import read_by_others  # most sets are files

    other_entries = read_by_others(paths, users_cache())
    return {
        path: f"what {entry} applies is made of it, too: change it by hand" for path, entry in other_entries.items()
    }


def _shown(run: LintRun, mended: Mended) -> LintRun:
    """Print the diff. Return the run with the fixes in its findings."""
    for open_file in mended.open_files:
        _print(open_file)
    _report("would fix", mended)
    findings = (
        replace(finding, fixes=(mended.fixes[placed(finding)],)) if placed(finding) in mended.fixes else finding
        for finding in run.report.findings
    )
    return replace(run, report=replace(run.report, findings=tuple(findings)))


def _written(run: LintRun, mended: Mended, again: Callable[[], LintRun]) -> tuple[LintRun, int]:
    """Write the fixed files. Return (run after the fixes, minimum exit code)."""
    failed = 0
    for open_file in mended.open_files:
        try:
            write(open_file)
        except WriteError as error:
            tell(f"error: {error}")
            failed += 1
    if failed:
        tell(f"{len(mended.open_files) - failed} of {len(mended.open_files)} files written")
    else:
        _report("fixed", mended)
    return (again() if mended.open_files else run), (2 if failed else 0)


def _print(open_file: OpenFile) -> None:
    """Print the exact diff, because an escaped patch would not apply; print none if it has control characters.

    Raises OutputError.
    """
    lines = list(_diff(open_file))
    if any(is_obeyed(line.removesuffix("\n").removesuffix("\r")) for line in lines):
        tell(f"note: the diff of {open_file.path} is not shown: it has control characters or commands for CI runners")
        return
    write_bytes(line.encode("utf-8", "surrogateescape") for line in lines)


def _report(verb: str, mended: Mended) -> None:
    for words in mended.refused:
        tell(f"note: {words}")
    if not mended.findings:
        tell("no findings: nothing to fix")
        return
    files = len(mended.open_files)
    count = f"{mended.fixed}" if mended.fixed else "none"
    where = f" in {files} {plural(files, 'file')}" if files else ""
    further = f"{'' if mended.counted else 'at least '}{mended.unsafe}{' more' if mended.fixed else ''}"
    more = f" ({further} with --unsafe-fixes)" if mended.unsafe else ""
    of = f"{mended.findings} {plural(mended.findings, 'finding')}"
    tell(f"{verb} {count} of {of}{where}{more}")


def _diff(open_file: OpenFile) -> Iterator[str]:
    """Yield a unified diff for ``patch -p0`` and ``git apply -p0``, with the path as the user gave it."""
    name = "-" if open_file.path == STDIN else _name(open_file.path)
    before, after = _lines(open_file.first), _lines(open_file.data)
    for line in unified_diff(before, after, name, name):
        if line.endswith("\n"):
            yield line
        else:
            yield from (f"{line}\n", "\\ No newline at end of file\n")


def _name(path: str) -> str:
    """Return the path as git writes it in a diff: quoted if it has control characters, quotes or backslashes."""
    if not any(character < " " or character in '\\"\x7f' for character in path):
        return f"{path}\t" if " " in path else path
    return '"' + "".join(_quoted(byte) for byte in os.fsencode(path)) + '"'


def _quoted(byte: int) -> str:
    if chr(byte) in '\\"':
        return "\\" + chr(byte)
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"


def _lines(data: bytes) -> list[str]:
    r"""Return the lines for a diff, split at ``\n`` only."""
    codec = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    text = data.decode(codec, "surrogateescape" if codec == "utf-8" else "strict")
    return [f"{line}\n" for line in text.split("\n")[:-1]] + ([last] if (last := text.rpartition("\n")[2]) else [])
