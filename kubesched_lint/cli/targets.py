"""The targets of the configuration: the choice of ``--target``, and the settings of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from kubesched_lint.cli.settings import Settings
from kubesched_lint.commands.lint.run import Request
from kubesched_lint.project.config import Target
from kubesched_lint.record import replace
from kubesched_lint.report.footer import summary_of
from kubesched_lint.text import did_you_mean, first_few, many

if TYPE_CHECKING:
    from kubesched_lint.commands.lint.targets import TargetsRun

_MOST_NAMED = 8


def chosen_targets(context: typer.Context, settings: Settings, names: Sequence[str]) -> tuple[Target, ...]:
    """Return the targets of those names, in the order of the file; without names, all.

    Raises BadParameter for an unknown name, and UsageError if there are no targets.
    """
    targets = settings.config.targets
    if not targets and not names:
        context.fail("Missing argument 'PATH…'.")
    known = [target.name for target in targets]
    for name in names:
        if name not in known:
            named = (
                f"; there are {first_few(known, _MOST_NAMED)}" if known else "; the configuration has no [[targets]]"
            )
            raise typer.BadParameter(
                f"no target is called {name!r}{did_you_mean(name, known) or named}.", param_hint="'--target'"
            )
    return tuple(target for target in targets if not names or target.name in names)


def are_all_targets(settings: Settings, paths: Sequence[str]) -> bool:
    """Return whether the paths are the whole folder of the configuration, as in ``args: [.]`` of a hook."""
    folder = os.path.dirname(os.path.abspath(settings.config.file))
    return [os.path.realpath(path) for path in paths] == [os.path.realpath(folder)]


def instead_of_targets(settings: Settings) -> str:
    """Return what the user has to decide, because paths replace the targets and no cluster is given for them."""
    names = [target.name for target in settings.config.targets]
    return (
        f"{os.path.basename(settings.config.file)} has {many(len(names), 'target')} "
        f"({first_few(names, _MOST_NAMED)}), and these paths are checked without their clusters: leave out PATH to "
        "check the targets, name one with --target, or give a --cluster"
    )


def settings_of(settings: Settings, target: Target) -> Settings:
    """Return the settings of a target: a flag overrides them, and they override the rest of the configuration."""
    values = {
        name: given if given.origin.startswith("-") else target.values.get(name, given)
        for name, given in settings.values.items()
    }
    config = replace(settings.config, values={**settings.config.values, **target.values}, targets=())
    return replace(settings, values=values, config=config)


def request_of(request: Request, settings: Settings, target: Target) -> Request:
    """Return the request for one of many targets."""
    own = settings_of(settings, target)
    return replace(
        request,
        paths=target.paths,
        cluster=own.maybe("cluster"),
        autoscaling=own.autoscaling,
        configuration=own.in_force,
        progress=None,
        jobs=1,
        is_one_of_many=True,
    )


def run_targets(
    request: Request, settings: Settings, targets: Sequence[Target], jobs: int, *, names_files: bool = False
) -> TargetsRun:
    """Return the run over the targets, with ``jobs`` processes (0: as many as there are cores).

    Raises UnknownRuleError, ChangedError or BaselineError.
    """
    from kubesched_lint.commands.lint.targets import TargetWork, check_targets

    rulebook = settings.rulebook
    rulebook.select(settings.options.profile, settings.options.select, settings.options.ignore)
    work = tuple(
        TargetWork(
            target.name,
            request_of(request, settings, target),
            settings_of(settings, target).options,
            rulebook,
            names_files,
        )
        for target in targets
    )
    return check_targets(work, summary_of, jobs or os.cpu_count() or 1)
