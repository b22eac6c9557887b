"""What ``init --gate`` adds to a repository: the baseline of what is there, and what will block from now on."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from kubesched_lint.cli.parsing.invocation import Invocation
from kubesched_lint.cli.settings.settings import Settings, settle
from kubesched_lint.commands.lint.remarks import BASELINE
from kubesched_lint.commands.lint.run import Request, checked
from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.findings import Severity
from kubesched_lint.printing import tell
from kubesched_lint.project.baseline import KnownFinding, entries_of, number_of_entries, text_of
from kubesched_lint.project.config.file import NAME, quoted
from kubesched_lint.report.findings.footer import FAIL_ON
from kubesched_lint.report.findings.formats import write_file


def make_gate(context: Invocation, paths: Sequence[str], sketch: str, *, force: bool) -> int:
    """Write the configuration, if there is none, and the baseline of the findings in ``paths``; tell what blocks.

    Return 2 if an input cannot be read or a baseline is there already and not to be replaced. Raises OutputError.
    """
    if os.path.lexists(BASELINE) and not force:
        tell(f"error: {BASELINE} exists; --force overwrites it, `kubesched-lint baseline update` keeps its exceptions")
        return 2
    settings = replace(settle(context, paths), is_recording=True)
    cluster = settings.maybe("cluster") or sketch
    report = checked(
        Request(tuple(paths), cluster, settings.cluster_options, render=settings.flag("render")),
        settings.options,
        settings.rulebook,
    ).report
    for problem in report.errors:
        tell(f"error: {problem.place}: {problem.message}")
    if report.errors:
        tell(f"error: {BASELINE} is not written, because some inputs could not be read")
        return 2
    entries = entries_of(report)
    write_file(BASELINE, [text_of(entries)])
    is_new = not settings.config.file and not os.path.lexists(NAME)
    if is_new:
        write_file(NAME, [f"{line}\n" for line in _naming({"cluster": sketch, "baseline": BASELINE}, os.curdir)])
    _tell(entries, settings, sketch, is_new=is_new)
    return 0


def _naming(files: Mapping[str, str], folder: str) -> Sequence[str]:
    """Return the lines of a configuration in a folder that name files."""
    return [f"{key} = {quoted(os.path.relpath(file, folder))}" for key, file in files.items()]


def _missing(settings: Settings, sketch: str) -> Mapping[str, str]:
    """Return key → file of what the configuration that is there does not name."""
    cluster = {} if settings.maybe("cluster") else {"cluster": sketch}
    return cluster if settings.maybe("baseline") == BASELINE else {**cluster, "baseline": BASELINE}


def _tell(entries: Sequence[KnownFinding], settings: Settings, sketch: str, *, is_new: bool) -> None:
    once = {entry.finding or entry.key: entry for entry in entries}
    counts = Counter(entry.severity for entry in once.values())
    parts = [many(counts[severity], severity.word) for severity in reversed(Severity) if counts[severity]]
    are = f" ({', '.join(parts)}), which do not block" if parts else ""
    tell(f"{BASELINE}: {many(number_of_entries(entries), 'known finding')}{are}")
    if is_new:
        tell(f"{NAME}: `kubesched-lint lint` reads the sketch and the baseline; commit all three")
    elif missing := _missing(settings, sketch):
        file = settings.config.file or NAME
        tell(f"add to {file}: {' and '.join(_naming(missing, os.path.dirname(file) or os.curdir))}")
    least = FAIL_ON[settings.text("fail-on")]
    if least is None or settings.flag("shadow"):
        why = "shadow = true" if settings.flag("shadow") else 'fail-on = "never"'
        tell(f"blocks from now on: nothing, because of {why}")
        return
    rules = [rule for rule in settings.options.rules(settings.rulebook) if rule.severity >= least]
    word = f"{least.word} or worse" if least < Severity.ERROR else least.word
    by = f"{many(len(rules), 'rule')} ({first_few([rule.slug for rule in rules])})"
    tell(f"blocks from now on (exit 1): each new {word}, by {by}, and a known one that becomes worse")
    tell("and (exit 2): an input that cannot be read")
