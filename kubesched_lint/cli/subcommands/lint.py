"""The options of ``kubesched-lint lint``; after a change, ``just generate`` writes them to ``_lint_options.py``."""

from typing import Annotated, Any

import typer

from kubesched_lint.cli.linting.linting import linted
from kubesched_lint.cli.parsing.invocation import with_base
from kubesched_lint.cli.parsing.options import (
    GATING,
    Color,
    ColorOption,
    ForceExclude,
    OptionalPaths,
    Quiet,
    RequireNodeGroups,
    RequireWorkloads,
    Statistics,
    Targets,
    Verbose,
    takes,
)
from kubesched_lint.cli.parsing.parser import Command

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class _Lint(Command):
    """Accepts ``--changed`` without a value; Typer has no options with an optional value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(with_base(args)))


@app.command(cls=_Lint, short_help="Check manifests against a cluster, and name the lines to blame.")
@takes("cluster", "files_from", "max_age", "min_read", *GATING, "formats")
def lint(
    context: typer.Context,
    paths: OptionalPaths = None,
    *,
    target: Targets = None,
    force_exclude: ForceExclude = False,
    changed: Annotated[
        str | None,
        typer.Option(
            metavar="[BASE]",
            help="Report only findings that are new since the last commit, or since the branch left BASE, wherever "
            "they are, and those on changed lines (by git).",
        ),
    ] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Print the changes of --fix without writing them; exit with 1 if any.")
    ] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Fix findings in the files where this is safe.")] = False,
    unsafe_fixes: Annotated[
        bool,
        typer.Option(
            "--unsafe-fixes",
            help="With --diff or --fix: apply fixes, too, that may change where pods run or weaken a guarantee.",
        ),
    ] = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Go on: after each change print the findings that went and came, and the matrix of simulate for what "
            "was edited.",
        ),
    ] = False,
    require_node_groups: RequireNodeGroups = False,
    require_workloads: RequireWorkloads = False,
    files: Annotated[
        bool,
        typer.Option(
            "--files", help="Read the files below PATH, even if they tell what Flux applies from the repository."
        ),
    ] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Ignore the cache and do not write to it.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            metavar="N",
            min=1,
            help="Number of processes for several targets; by default as many as there are cores. Accepted without "
            "effect for one set of manifests.",
        ),
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    statistics: Statistics = False,
    color: ColorOption = Color.AUTO,
    **shared: Any,
) -> None:
    """Check manifests against a cluster and report what will not be scheduled.

    Examples:

      kubesched-lint lint manifests/ --cluster nodes.json

      helm template shop | kubesched-lint lint - --cluster sketch.yaml

      kubesched-lint lint manifests/ -c cluster.yaml --format github --format sarif=out.sarif

      kubesched-lint lint manifests/ -c cluster.yaml --changed=origin/main

      kubesched-lint lint manifests/ -c cluster.yaml --diff

      kubesched-lint lint manifests/ -c cluster.yaml --watch

      kubesched-lint lint --target prod-eu --target prod-us
    """
    raise typer.Exit(linted(context))
