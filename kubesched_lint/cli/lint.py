"""``kubesched-lint lint``: read manifests and cluster, run the rules, print the reports."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from kubesched_lint.cli.options import (
    ApplyOrder,
    ApplyOrderOption,
    Color,
    ColorOption,
    Elastic,
    FailOn,
    FailOnOption,
    Ignore,
    KubernetesVersion,
    Namespace,
    OptionalClusterPath,
    Paths,
    Profile,
    ProfileOption,
    Select,
    StrictSkips,
)

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class _Lint(TyperCommand):
    """Lets ``--changed`` stand alone: Typer knows no option whose value may be left out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_with_base(args)))


def _with_base(args: list[str]) -> Iterator[str]:
    """``--changed BASE`` as ``--changed=BASE``. What is a path is none: the manifests may follow a bare one."""
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            yield arg
            yield from rest
        elif arg != "--changed":
            yield arg
        else:
            following = next(rest, None)
            if following is None or following.startswith("-") or os.path.exists(following):
                yield "--changed=HEAD"
                yield from _with_base([*([] if following is None else [following]), *rest])
            else:
                yield f"--changed={following}"


@app.command(cls=_Lint)
def lint(
    paths: Paths,
    cluster: OptionalClusterPath = None,
    namespace: Namespace = "default",
    profile: ProfileOption = Profile.CI,
    select: Select = None,
    ignore: Ignore = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            "-f",
            metavar="NAME[=FILE]",
            help="text, json, sarif, github, gitlab, junit, markdown or html. Repeatable.",
        ),
    ] = None,
    fail_on: FailOnOption = FailOn.ERROR,
    strict_skips: StrictSkips = False,
    apply_order: ApplyOrderOption = ApplyOrder.KUBECTL,
    elastic: Elastic = None,
    kubernetes_version: KubernetesVersion = "1.36",
    partial: Annotated[
        bool, typer.Option("--partial", help="The paths are part of a larger set: absence proves nothing.")
    ] = False,
    changed: Annotated[
        str | None,
        typer.Option(
            metavar="[BASE]",
            help="Tell only findings touched by what git shows as changed: since the last commit, or since the branch "
            "left BASE. Everything is still read.",
        ),
    ] = None,
    color: ColorOption = Color.AUTO,
) -> None:
    """Check manifests against a cluster and report what will not be scheduled.

    Examples:

      kubesched-lint lint manifests/ --cluster nodes.json

      helm template shop | kubesched-lint lint - --cluster sketch.yaml

      kubesched-lint lint manifests/ -c cluster.yaml --format github --format sarif=out.sarif

      kubesched-lint lint manifests/ -c cluster.yaml --changed=origin/main
    """
    from kubesched_lint.cli.output import show
    from kubesched_lint.engine.options import KUBERNETES_VERSIONS, ChangedError, Options
    from kubesched_lint.engine.session import Request, checked
    from kubesched_lint.report.exit_code import FAIL_ON, exit_code
    from kubesched_lint.report.formats import FormatError
    from kubesched_lint.report.writers import OutputError, targets
    from kubesched_lint.rulebook.library import Rulebook, UnknownRuleError

    if kubernetes_version not in KUBERNETES_VERSIONS:
        known = ", ".join(KUBERNETES_VERSIONS)
        raise typer.BadParameter(f"{kubernetes_version!r} is not one of {known}.", param_hint="'--kubernetes-version'")
    options = Options(
        profile=profile.value,
        select=tuple(select or ()),
        ignore=tuple(ignore or ()),
        namespace=namespace,
        apply_order=apply_order.value,
        kubernetes_version=kubernetes_version,
        partial=partial,
    )
    rulebook = Rulebook.shipped()
    gc.disable()  # nothing here makes cycles of any size, and to look for them in 10,000 files costs a third of the run
    try:
        chosen = targets(tuple(formats or ("text",)))
        run = checked(Request(tuple(paths), cluster, elastic, changed), options, rulebook)
        show(run, chosen, rulebook, color.value, FAIL_ON[fail_on.value])
    except (ChangedError, FormatError, OutputError, UnknownRuleError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    finally:
        gc.freeze()  # the process ends here: to take apart what it read would cost as much as a sixth of the run
        gc.enable()
    raise typer.Exit(exit_code(run.report, FAIL_ON[fail_on.value], strict_skips))
