"""``kubesched-lint audit``: what is wrong in a cluster as it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from kubesched_lint.cli.parsing.invocation import refused
from kubesched_lint.cli.parsing.options import READING, Color, ColorOption, FailOn, OneTarget, Verbose, takes
from kubesched_lint.cli.parsing.parser import OUTPUT, Command
from kubesched_lint.cli.settings.settings import cluster_of, settle, tell_configuration
from kubesched_lint.cli.settings.targets import clusters
from kubesched_lint.clock import now
from kubesched_lint.commands.audit.findings import Audit
from kubesched_lint.commands.audit.run import audit as audited
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.cluster.cluster import ClusterError
from kubesched_lint.printing import say, say_exactly, tell
from kubesched_lint.progress import shown
from kubesched_lint.report.audit.as_json import all_as_json
from kubesched_lint.report.audit.as_text import as_text
from kubesched_lint.report.audit.pages import as_html, as_markdown
from kubesched_lint.report.findings.footer import FAIL_ON
from kubesched_lint.report.markdown import plain
from kubesched_lint.report.terminal.palette import Palette, terminal_width, wants_color

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
    target: OneTarget = None,
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

      kubesched-lint audit --target prod-eu
    """
    settings = settle(context, ())
    audits: list[tuple[str, Audit]] = []
    is_unread = False
    each = clusters(context, settings, target)
    tell_configuration(*(aim.settings for aim in each))
    for aim in each:
        try:
            cluster = cluster_of(context, aim.settings)
            described = cluster.describe(now)
            of = f" of {aim.name}" if aim.name else ""
            with shown(f"auditing {many(len(cluster.inventory.nodes), 'node')}{of}"):
                audits.append((aim.name, audited(cluster, aim.settings.options, settings.rulebook, described)))
        except (ClusterError, ValueError) as error:
            tell(f"error: {error}")
            is_unread = True
    if not audits:
        raise typer.Exit(2)
    if output is AuditFormat.HTML and len(audits) > 1:
        raise refused("html shows one cluster; choose one with --target.", "--format")
    _print(audits, output, color, verbose=verbose)
    raise typer.Exit(
        2 if is_unread else int(any(cluster_audit.is_bad(FAIL_ON[fail_on.value]) for _, cluster_audit in audits))
    )


def _print(audits: Sequence[tuple[str, Audit]], output: AuditFormat, color: Color, *, verbose: bool) -> None:
    painted = wants_color(color.value, sys.stdout, os.environ)
    room = terminal_width(sys.stdout, os.environ)
    if output is AuditFormat.JSON:
        say_exactly([all_as_json(audits), "\n"])
    for number, (name, cluster_audit) in enumerate(audits):
        match output:
            case AuditFormat.TEXT:
                head = f"{Palette(painted).bold(name)}\n\n" if name else ""
                say(head + as_text(cluster_audit, color=painted, room=room, verbose=verbose), painted=painted)
            case AuditFormat.MARKDOWN:
                head = f"# {plain(name)}\n\n" if name else ""
                say_exactly(["\n" if number else "", head, as_markdown(cluster_audit), "\n"])
            case AuditFormat.HTML:
                say_exactly([as_html(cluster_audit), "\n"])
