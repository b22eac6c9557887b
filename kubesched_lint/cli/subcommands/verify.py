"""``kubesched-lint verify``: compare our model with recorded decisions of a scheduler."""

from __future__ import annotations

from typing import Annotated

import typer

from kubesched_lint.cli.parsing.options import Format
from kubesched_lint.cli.parsing.parser import Command
from kubesched_lint.commands.verify.recordings import CaseError
from kubesched_lint.commands.verify.run import verify_files
from kubesched_lint.printing import say, say_exactly, tell
from kubesched_lint.report.simulation.agreement import as_json, as_text

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(cls=Command, short_help="Compare our model with recorded decisions of a scheduler.")
def verify_command(
    cases: Annotated[
        list[str], typer.Argument(metavar="CASES…", help="Recorded cases: .jsonl or .jsonl.gz.", show_default=False)
    ],
    predictions: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write our prediction for every decision, one JSON object per line."),
    ] = None,
    show: Annotated[int, typer.Option(min=0, help="Number of disagreements to explain per kind.")] = 5,
    output: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.TEXT,
    kubernetes_version: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Use this Kubernetes version for all cases.")
    ] = None,
) -> None:
    """Replay recorded decisions and deployments, and report where our model agrees with them.

    Exits with 1 when a difference is not explained by a random choice of the scheduler, with 2 when a file cannot be
    read. docs/verify.md explains how to record cases from your own cluster.

    Examples:

      kubesched-lint verify recorded.jsonl

      kubesched-lint verify cases.jsonl.gz --predictions ours.jsonl
    """
    try:
        accounts = verify_files(cases, predictions, kubernetes_version)
    except CaseError as error:
        tell(f"error: {error}")
        raise typer.Exit(2) from None
    if output is Format.TEXT:
        say(as_text(accounts, show))
    else:
        say_exactly([as_json(accounts, show), "\n"])
    raise typer.Exit(1 if any(account.open for account in accounts) else 0)
