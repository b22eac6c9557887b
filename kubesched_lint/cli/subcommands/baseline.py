"""``kubesched-lint baseline``: record the known findings of a project, and remove those that are gone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.cli.parsing.options import JUDGING, OptionalPaths, Targets, takes
from kubesched_lint.cli.parsing.parser import Command, command_group
from kubesched_lint.cli.settings.pairs import judged, of_targets
from kubesched_lint.cli.settings.sets import with_sets
from kubesched_lint.cli.settings.settings import settle
from kubesched_lint.cli.settings.targets import chosen, has_whole_baseline
from kubesched_lint.commands.lint.remarks import BASELINE
from kubesched_lint.commands.lint.run import Request, checked
from kubesched_lint.engine.base.text import and_more, many
from kubesched_lint.linter.options import BaselineError
from kubesched_lint.printing import OutputError, say, tell, visible
from kubesched_lint.project.baseline import (
    changes_of_findings,
    entries_of,
    number_of_entries,
    read_baseline,
    text_of,
    updated,
    without,
)
from kubesched_lint.report.findings.formats import write_file
from kubesched_lint.rulebook.library import UnknownRuleError
from kubesched_lint.version import __version__

if TYPE_CHECKING:
    from kubesched_lint.cli.settings.settings import Settings
    from kubesched_lint.findings import Report
    from kubesched_lint.project.baseline import Change, KnownFinding
    from kubesched_lint.project.config.keys import Target
    from kubesched_lint.rulebook.library import Rulebook

app = command_group("Record known findings, so that lint does not fail on them.")

Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help=f"File to write.  [default: baseline of the configuration, else {BASELINE}]",
    ),
]
File = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="FILE",
        help=f"File of known findings.  [default: baseline of the configuration, else {BASELINE}]",
    ),
]


@app.command(cls=Command)
@takes("cluster", *JUDGING)
def write(
    context: typer.Context,
    paths: OptionalPaths = None,
    *,
    target: Targets = None,
    output: Output = None,
    **shared: Any,
) -> None:
    """Write all current findings, except waived ones, to a file for `lint --baseline`.

    Takes the paths and flags of `lint`; without paths, the targets of the configuration. Writes nothing when an input
    cannot be read.

    Examples:

      kubesched-lint baseline write manifests/ --cluster cluster.yaml -o kubesched-baseline.json

      kubesched-lint lint manifests/ --cluster cluster.yaml --baseline kubesched-baseline.json
    """
    settings = with_sets(context, settle(context, paths or ()), paths or ())
    file = output or settings.maybe("baseline") or BASELINE
    work = _work(context, settings, paths, target)
    if work.leaves_out_targets and not output:
        _give_up(f"{file} is for all targets: leave out --target, or name a file for these with --output")
    old = _read(file, settings.rulebook, "; the file is not changed") if os.path.exists(file) else None
    entries = work.run(None).entries
    _write(file, entries)
    message = f"{file}: {_many(entries)}"
    if old is not None:
        new = number_of_entries((Counter(entries) - Counter(old)).elements())
        gone = number_of_entries((Counter(old) - Counter(entries)).elements())
        message += f"; {new} new, {gone} gone"
    tell(message)
    if old is None and settings.maybe("baseline") != file:
        tell(f"lint uses it with --baseline {file}, or with `baseline` in kubesched.toml")


@app.command(cls=Command)
@takes("cluster", *JUDGING)
def prune(
    context: typer.Context,
    paths: OptionalPaths = None,
    *,
    target: Targets = None,
    baseline: File = None,
    **shared: Any,
) -> None:
    """Remove findings that no longer occur from a baseline; add none.

    Takes the paths and flags of `lint`; without paths, the targets of the configuration. Keeps entries of rules that
    do not run and of objects that are not in these files.

    Example: kubesched-lint baseline prune manifests/ --cluster cluster.yaml
    """
    settings = with_sets(context, settle(context, paths or ()), paths or ())
    file = settings.maybe("baseline") or BASELINE
    work = _work(context, settings, paths, target)
    if work.leaves_out_targets:
        _give_up(f"{file} is for all targets: leave out --target, or name a file for these with --baseline")
    old = _read(file, settings.rulebook)
    gone = work.run(file).gone
    left = without(old, gone)
    if gone:
        _write(file, left)
    tell(f"{file}: {_many(left)}; {number_of_entries(old) - number_of_entries(left)} gone")


@app.command(cls=Command)
@takes("cluster", *JUDGING)
def update(
    context: typer.Context,
    paths: OptionalPaths = None,
    *,
    target: Targets = None,
    baseline: File = None,
    **shared: Any,
) -> None:
    """Update a baseline, and print each changed entry with the reason.

    Adds new findings and removes those that no longer occur, for example after an upgrade. Takes the paths and flags
    of `lint`; without paths, the targets of the configuration. Keeps entries of rules that do not run and of objects
    that are not in these files, and with --target all entries that other targets may need.

    Example: kubesched-lint baseline update manifests/ --cluster cluster.yaml
    """
    settings = with_sets(context, settle(context, paths or ()), paths or ())
    file = settings.maybe("baseline") or BASELINE
    old = _read(file, settings.rulebook)
    recorded = _work(context, settings, paths, target).run(file)
    entries = updated(old, recorded.entries, recorded.gone)
    differences = tuple(changes_of_findings(old, entries))
    if differences:
        _write(file, entries)
    notes = [_new_rule(change, settings.rulebook) for change, _ in differences]
    for (change, others), note in zip(differences, notes, strict=True):
        say(_line(change, note, others))
    signs = [change.sign for change, _ in differences]
    by_rules = sum(map(bool, notes))
    new = f"{signs.count('+')} new" + (f" ({by_rules} by rules of {__version__})" if by_rules else "")
    counts = f"{new}, {signs.count('-')} gone, {signs.count('~')} of another severity"
    tell(f"{file}: {_many(entries)}; {counts if differences else 'nothing changed'}")


def _new_rule(change: Change, rulebook: Rulebook) -> str:
    """Return that a new finding comes from a rule that this version brings; else empty."""
    rule = rulebook.rules.get(change.entry.rule)
    is_recent = change.sign == "+" and rule is not None and rule.since == __version__
    return f"rule of {__version__}" if is_recent else ""


def _line(change: Change, note: str = "", others: int = 0) -> str:
    """Return one line, like ``~ warning -> error  some-rule  Deployment shop/web  at spec.replicas  (worse …)``."""
    before, after, entry = change.before, change.after, change.entry
    severity = f"{before.severity.word} -> {after.severity.word}" if before and after else entry.severity.word
    subject = f"{entry.object}{and_more(others, 'object')}"
    parts = [f"{change.sign} {severity}", entry.rule, subject, *([f"at {entry.at}"] if entry.at else [])]
    return visible("  ".join((*parts, *(f"({why})" for why in (change.why, note) if why))))


class _Found(Struct, frozen=True):
    """The baseline entries of a run, and the entries of its baseline that no longer occur."""

    entries: tuple[KnownFinding, ...]
    gone: tuple[KnownFinding, ...]


class _Work(Struct, frozen=True):
    """What a command lints: paths, or targets if there are any."""

    settings: Settings
    paths: tuple[str, ...]
    targets: tuple[Target, ...]

    @property
    def leaves_out_targets(self) -> bool:
        """Whether other targets share the baseline, so that these alone must not remove entries."""
        return not has_whole_baseline(self.settings, self.targets)

    def run(self, baseline: str | None) -> _Found:
        """Return what is found. Exits with 2 if an input cannot be read, because the findings would be incomplete."""
        settings = self.settings
        request = Request(
            self.paths,
            settings.maybe("cluster"),
            settings.cluster_options,
            render=settings.flag("render"),
            baseline=baseline,
        )
        try:
            return self._of_targets(request) if self.targets else self._of_paths(request)
        except UnknownRuleError as error:
            _give_up(str(error))

    def _of_paths(self, request: Request) -> _Found:
        run = checked(request, self.settings.options, self.settings.rulebook)
        _refuse_errors(run.report)
        return _Found(entries_of(run.report), run.held.gone if run.held else ())

    def _of_targets(self, request: Request) -> _Found:
        """Return entries that cover each target alone: one for a finding that several have."""
        run = judged(of_targets(request, self.settings, self.targets), "serial")
        _refuse_errors(run.report)
        entries: Counter[KnownFinding] = Counter()
        for outcome in run.outcomes:
            entries |= Counter(entries_of(outcome.report))
        return _Found(tuple(entries.elements()), run.gone)


def _work(context: typer.Context, settings: Settings, paths: list[str] | None, names: list[str] | None) -> _Work:
    paths_chosen, targets, question = chosen(context, settings, paths or (), names)
    if question:
        context.fail(f"{question}.")
    return _Work(replace(settings, is_recording=True), tuple(paths_chosen), targets)


def _refuse_errors(report: Report) -> None:
    for problem in report.errors:
        tell(f"error: {problem.place}: {problem.message}")
    if report.errors:
        _give_up("nothing was written, because some inputs could not be read")


def _read(file: str, rulebook: Rulebook, aside: str = "") -> tuple[KnownFinding, ...]:
    """Return the entries of the baseline. If it is invalid, print the reason and ``aside``, and exit with 2."""
    try:
        return read_baseline(file, rulebook)
    except BaselineError as error:
        _give_up(f"{error}{aside}")


def _write(file: str, entries: tuple[KnownFinding, ...]) -> None:
    try:
        write_file(file, [text_of(entries)])
    except OutputError as error:
        _give_up(str(error))


def _many(entries: Iterable[KnownFinding]) -> str:
    return many(number_of_entries(entries), "known finding")


def _give_up(message: str) -> NoReturn:
    tell(f"error: {message}")
    raise typer.Exit(2)
