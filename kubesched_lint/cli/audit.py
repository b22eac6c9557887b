"""``kubesched-lint audit``: what is wrong in a cluster as it runs."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import typer

from kubesched_lint.cli.options import READING, Color, ColorOption, FailOn, Verbose, takes
from kubesched_lint.cli.parser import OUTPUT, Command
from kubesched_lint.cli.settings import cluster_of, settle, tell_configuration
from kubesched_lint.cluster.cluster import ClusterError
from kubesched_lint.commands.audit.run import audit as audited
from kubesched_lint.printing import say, say_exactly, tell
from kubesched_lint.progress import shown
from kubesched_lint.report.audit_json import as_json
from kubesched_lint.report.audit_pages import as_html, as_markdown
from kubesched_lint.report.audit_text import as_text
from kubesched_lint.report.footer import FAIL_ON
from kubesched_lint.report.palette import terminal_width, wants_color
from kubesched_lint.text import many

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class AuditFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


_OF_FILES = ("namespace", "apply_order", "workload_folders", "exclude", "include_tests", "render")
"""Options about manifests, which an audit does not read."""
_JUDGING = ("profile", "select", "ignore", "rule_folders", "sets")


@app.command(cls=Command, short_help="Show what is wrong in a cluster as it runs.")
@takes("cluster", *_JUDGING, *(name for name in READING if name not in _OF_FILES))
def audit(
    context: typer.Context,
    *,
    output: Annotated[AuditFormat, typer.Option("--format", "-f", help="Output format.")] = AuditFormat.TEXT,
    fail_on: Annotated[
        FailOn,
        typer.Option("--fail-on", rich_help_panel=OUTPUT, help="Exit with 1 on findings of at least this severity."),
    ] = FailOn.ERROR,
    verbose: Verbose = False,
    color: ColorOption = Color.AUTO,
    **shared: Any,
) -> None:
    """Show what is wrong in a cluster as it runs, without manifests.

    Looks at the pods where they run: which wait, which could not be scheduled again, what a lost node or zone leaves
    waiting, which budgets block drains, what runs where today's rules would not put it, and what is uneven. Compares
    the model with what kube-scheduler says of pending pods. Reads a snapshot, or kubectl's output with nodes, pods and
    workloads.

    Exits with 1 as --fail-on says (an error is a pod that waits now, or a proof), with 2 when the cluster cannot be
    read.

    Examples:

      kubesched-lint audit -c snapshot.json.gz

      kubesched-lint audit -c live --format html > audit.html

      kubesched-lint audit -c snapshot.json.gz --fail-on warning --format json
    """
    settings = settle(context, ())
    tell_configuration(settings)
    try:
        cluster = cluster_of(context, settings)
        described = cluster.describe(lambda: datetime.now(UTC))
        with shown(f"auditing {many(len(cluster.inventory.nodes), 'node')}"):
            found = audited(cluster, settings.options, settings.rulebook, described)
    except (ClusterError, ValueError) as error:
        tell(f"error: {error}")
        raise typer.Exit(2) from None
    match output:
        case AuditFormat.TEXT:
            painted = wants_color(color.value, sys.stdout, os.environ)
            room = terminal_width(sys.stdout, os.environ)
            say(as_text(found, color=painted, room=room, verbose=verbose), painted=painted)
        case AuditFormat.JSON:
            say_exactly([as_json(found), "\n"])
        case AuditFormat.MARKDOWN:
            say_exactly([as_markdown(found), "\n"])
        case AuditFormat.HTML:
            say_exactly([as_html(found), "\n"])
    raise typer.Exit(int(found.is_bad(FAIL_ON[fail_on.value])))
