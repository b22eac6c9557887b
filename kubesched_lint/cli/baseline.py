"""``kubesched-lint baseline``: record the known findings of a project, and remove those that are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from kubesched_lint.cli.options import JUDGING, OptionalPaths, Paths, takes
from kubesched_lint.cli.parser import Command, CommandGroup
from kubesched_lint.commands.lint.remarks import BASELINE
from kubesched_lint.printing import say, tell, visible
from kubesched_lint.text import plural

if TYPE_CHECKING:
    from kubesched_lint.cli.settings import Settings
    from kubesched_lint.commands.lint.run import LintRun
    from kubesched_lint.findings import Report
    from kubesched_lint.project.baseline import Change, KnownFinding
    from kubesched_lint.rulebook.library import Rulebook

app = typer.Typer(
    cls=CommandGroup,
    help="Record known findings, so that lint does not fail on them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

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
    import os
    from collections import Counter

    from kubesched_lint.cli.settings import settle
    from kubesched_lint.project.baseline import entries_of

    settings = settle(context, paths or ())
    file = output or settings.maybe("baseline") or BASELINE
    old = _read(file, settings.rulebook, "; the file is not changed") if os.path.exists(file) else None
    entries = entries_of(_run(paths, settings, None).report) if paths else _of_targets(context, settings)
    _write(file, entries)
    message = f"{file}: {_many(len(entries))}"
    if old is not None:
        new = sum((Counter(entries) - Counter(old)).values())
        gone = sum((Counter(old) - Counter(entries)).values())
        message += f"; {new} new, {gone} gone"
    tell(message)
    if old is None and settings.maybe("baseline") != file:
        tell(f"lint uses it with --baseline {file}, or with `baseline` in kubesched.toml")


@app.command(cls=Command)
@takes("cluster", *JUDGING)
def prune(
    context: typer.Context,
    paths: Paths,
    *,
    baseline: File = None,
    **shared: Any,
) -> None:
    """Remove findings that no longer occur from a baseline; add none.

    Keeps entries of rules that do not run and of objects that are not in these files.

    Example: kubesched-lint baseline prune manifests/ --cluster cluster.yaml
    """
    from kubesched_lint.cli.settings import settle
    from kubesched_lint.project.baseline import without

    settings = settle(context, paths)
    file = settings.maybe("baseline") or BASELINE
    old = _read(file, settings.rulebook)
    gone = _run(paths, settings, file).gone
    if gone:
        _write(file, without(old, gone))
    tell(f"{file}: {_many(len(old) - len(gone))}; {len(gone)} gone")


@app.command(cls=Command)
@takes("cluster", *JUDGING)
def update(
    context: typer.Context,
    paths: Paths,
    *,
    baseline: File = None,
    **shared: Any,
) -> None:
    """Update a baseline, and print each changed entry with the reason.

    Adds new findings and removes those that no longer occur, for example after an upgrade. Keeps entries of rules
    that do not run and of objects that are not in these files.

    Example: kubesched-lint baseline update manifests/ --cluster cluster.yaml
    """
    from kubesched_lint.cli.settings import settle
    from kubesched_lint.project.baseline import changes, updated

    settings = settle(context, paths)
    file = settings.maybe("baseline") or BASELINE
    old = _read(file, settings.rulebook)
    run = _run(paths, settings, file)
    entries = updated(old, run.report, run.gone)
    found = tuple(changes(old, entries))
    if found:
        _write(file, entries)
    for change in found:
        say(_line(change))
    signs = [change.sign for change in found]
    counts = f"{signs.count('+')} new, {signs.count('-')} gone, {signs.count('~')} of another severity"
    tell(f"{file}: {_many(len(entries))}; {counts if found else 'nothing changed'}")


def _line(change: Change) -> str:
    """Return one line, like ``~ warning -> error  some-rule  Deployment shop/web  at spec.replicas  (worse …)``."""
    before, after, entry = change.before, change.after, change.entry
    severity = f"{before.severity.word} -> {after.severity.word}" if before and after else entry.severity.word
    parts = [f"{change.sign} {severity}", entry.rule, str(entry.object), *([f"at {entry.at}"] if entry.at else [])]
    return visible("  ".join((*parts, *([f"({change.why})"] if change.why else []))))


def _run(paths: list[str], settings: Settings, baseline: str | None) -> LintRun:
    """Return the run. Exits with 2 if an input cannot be read, because the findings would be incomplete."""
    from kubesched_lint.commands.lint.run import Request, checked
    from kubesched_lint.rulebook.library import UnknownRuleError

    request = Request(
        tuple(paths),
        settings.maybe("cluster"),
        settings.autoscaling,
        render=settings.flag("render"),
        baseline=baseline,
    )
    try:
        run = checked(request, settings.options, settings.rulebook)
    except UnknownRuleError as error:
        _give_up(str(error))
    _refuse_errors(run.report)
    return run


def _of_targets(context: typer.Context, settings: Settings) -> tuple[KnownFinding, ...]:
    """Return the entries that cover each target alone: one for a finding that several have."""
    from collections import Counter

    from kubesched_lint.cli.targets import chosen_targets, run_targets
    from kubesched_lint.commands.lint.run import Request
    from kubesched_lint.project.baseline import entries_of
    from kubesched_lint.rulebook.library import UnknownRuleError

    request = Request((), render=settings.flag("render"))
    try:
        run = run_targets(request, settings, chosen_targets(context, settings, ()), 1)
    except UnknownRuleError as error:
        _give_up(str(error))
    _refuse_errors(run.report)
    entries: Counter[KnownFinding] = Counter()
    for outcome in run.outcomes:
        entries |= Counter(entries_of(outcome.report))
    return tuple(entries.elements())


def _refuse_errors(report: Report) -> None:
    for problem in report.errors:
        place = f"{problem.path}:{problem.line}:{problem.column}" if problem.line else problem.path
        tell(f"error: {place}: {problem.message}")
    if report.errors:
        _give_up("nothing was written, because some inputs could not be read")


def _read(file: str, rulebook: Rulebook, aside: str = "") -> tuple[KnownFinding, ...]:
    """Return the entries of the baseline. If it is invalid, print the reason and ``aside``, and exit with 2."""
    from kubesched_lint.linter.options import BaselineError
    from kubesched_lint.project.baseline import read_baseline

    try:
        return read_baseline(file, rulebook)
    except BaselineError as error:
        _give_up(f"{error}{aside}")


def _write(file: str, entries: tuple[KnownFinding, ...]) -> None:
    from kubesched_lint.printing import OutputError
    from kubesched_lint.project.baseline import text_of
    from kubesched_lint.report.formats import write_file

    try:
        write_file(file, [text_of(entries)])
    except OutputError as error:
        _give_up(str(error))


def _many(number: int) -> str:
    return f"{number} {plural(number, 'known finding')}"


def _give_up(message: str) -> NoReturn:
    tell(f"error: {message}")
    raise typer.Exit(2)
