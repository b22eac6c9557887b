"""The targets of the configuration: the choice of ``--target``, and the settings of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.cli.parsing.invocation import Invocation, refused
from kubesched_lint.cli.settings.settings import Settings
from kubesched_lint.commands.lint.unclaimed import ERROR, unclaimed, unclaimed_files, with_unclaimed
from kubesched_lint.engine.base.text import did_you_mean, first_few, many
from kubesched_lint.linter.options import EVERYTHING
from kubesched_lint.project.config.keys import Target

if TYPE_CHECKING:
    from kubesched_lint.findings import Report


def chosen(
    context: Invocation, settings: Settings, paths: Sequence[str], names: Sequence[str] | None
) -> tuple[list[str], tuple[Target, ...], str]:
    """Return (paths, no targets) or (no paths, targets), and the question that paths without a cluster raise, or "".

    The folder of the configuration means all targets, as in ``args: [.]`` of a hook; without paths and targets, it is
    the current folder. Raises BadParameter for an unknown name or names beside paths.
    """
    targets = settings.config.targets
    if paths and names:
        raise refused("names paths of the configuration; leave out PATH.", "--target")
    has_cluster = settings.maybe("cluster") is not None and not settings.config.found_in
    if paths and (not targets or has_cluster):
        return list(paths), (), ""
    if paths and not _are_all_targets(settings, paths):
        return list(paths), (), _instead_of_targets(settings)
    if not targets and not names:
        return [os.curdir], (), ""
    known = [target.name for target in targets]
    for name in names or ():
        if name not in known:
            named = f"; there are {first_few(known)}" if known else "; the configuration has no [[targets]]"
            raise refused(f"no target is called {name!r}{did_you_mean(name, known) or named}.", "--target")
    return [], tuple(target for target in targets if not names or target.name in names), ""


class Aim(Struct, frozen=True):
    """What a command judges at a time: paths with their settings, of a target if ``name`` is not empty."""

    name: str
    settings: Settings
    paths: Sequence[str]


def aims(
    context: Invocation, settings: Settings, paths: Sequence[str], name: str | None, *, needs_paths: bool = True
) -> list[Aim]:
    """Return the targets that a command judges, each against its cluster; one aim for paths. Raises like ``chosen``.

    A command that does not need paths judges the ``--cluster`` alone if one is given, or if there are no targets.
    Exits with 2 if paths have no cluster, because only the targets have some.
    """
    if not (needs_paths or paths or name) and (settings.values["cluster"].is_flag or not settings.config.targets):
        return [Aim("", settings, ())]
    chosen_paths, targets, question = chosen(context, settings, paths, [name] if name else ())
    if question:
        context.fail(
            f"{_counted(settings)}, and PATH has no cluster: name a target with --target, or give a --cluster."
        )
    if not targets:
        return [Aim("", settings, chosen_paths)]
    several = len(targets) > 1
    return [Aim(t.name if several else "", settings_of(settings, t), list(t.paths)) for t in targets]


def one_aim(
    context: Invocation, settings: Settings, paths: Sequence[str], name: str | None, *, needs_paths: bool = True
) -> Aim:
    """Return what a command judges that reads one cluster. Raises like ``aims``; exits with 2 if there are several."""
    wanted_aims = aims(context, settings, paths, name, needs_paths=needs_paths)
    if len(wanted_aims) > 1:
        context.fail(f"{_counted(settings)}: name one with --target.")
    return wanted_aims[0]


def clusters(context: Invocation, settings: Settings, name: str | None) -> list[Aim]:
    """Return an aim for each cluster of the targets, named by those that it serves; ``--cluster`` is the only one."""
    aims_by_cluster: list[tuple[object, list[Aim]]] = []
    for aim in aims(context, settings, (), name, needs_paths=False):
        key = (aim.settings.maybe("cluster"), aim.settings.cluster_options)  # declared groups have no hash
        same = next((aims for other, aims in aims_by_cluster if other == key), None)
        if same is None:
            aims_by_cluster.append((key, same := []))
        same.append(aim)
    return [replace(same[0], name=", ".join(filter(None, (aim.name for aim in same)))) for _, same in aims_by_cluster]


def saying_unclaimed(report: Report, settings: Settings, paths: Sequence[str] = ()) -> Report:
    """Return the report of all targets, or of named paths, with what no target reads.

    Of named paths it says so only if the configuration makes it an error.
    """
    is_error = settings.text("unclaimed") == ERROR
    if paths and _are_all_targets(settings, paths):
        paths = ()
    if paths and not is_error:
        return report
    words = about_unclaimed(settings, paths)
    return with_unclaimed(report, words, settings.config.file, is_error=is_error)


def about_unclaimed(settings: Settings, paths: Sequence[str] = ()) -> str:
    """Return the sentence about what no target reads of the repository, or of named paths; empty without any."""
    targets = settings.config.targets
    if any(target.is_entry for target in targets):
        return ""  # what a GitOps controller reaches is no matter of folders
    clusters = set(clusters_of(settings).values())
    if paths:
        return unclaimed_files(paths, targets, settings.options, clusters)
    return unclaimed(settings.config.file, targets, settings.options, clusters, render=settings.flag("render"))


def clusters_of(settings: Settings) -> dict[str, str]:
    """Return the cluster of each target, which is no manifest of another one: path without links → path."""
    named = (settings_of(settings, target).maybe("cluster") for target in settings.config.targets)
    return {os.path.realpath(path): path for path in named if path}


def has_whole_baseline(settings: Settings, targets: Sequence[Target]) -> bool:
    """Return whether only these targets use the baseline: it is named for this run, or these are all targets."""
    return settings.values["baseline"].is_flag or len(targets) in (0, len(settings.config.targets))


def _are_all_targets(settings: Settings, paths: Sequence[str]) -> bool:
    folder = settings.config.found_in or os.path.dirname(os.path.abspath(settings.config.file))
    return [os.path.realpath(path) for path in paths] == [os.path.realpath(folder)]


def _instead_of_targets(settings: Settings) -> str:
    """Return what the user has to decide, because paths replace the targets and no cluster is given for them."""
    return (
        f"{_counted(settings)}, and these paths are checked without their clusters: leave out PATH to "
        "check the targets, name one with --target, or give a --cluster"
    )


def _counted(settings: Settings) -> str:
    """Return ``kubesched.toml has 3 targets (prod-eu, prod-us, edge)``."""
    names = [target.name for target in settings.config.targets]
    file = os.path.basename(settings.config.file)
    return f"{file} has {many(len(names), 'target')} ({first_few(names)})"


def settings_of(settings: Settings, target: Target) -> Settings:
    """Return the settings of a target: a flag overrides them, and they override the rest of the configuration."""
    values = {
        name: given if given.is_flag else target.values.get(name, given) for name, given in settings.values.items()
    }
    config = replace(settings.config, values={**settings.config.values, **target.values}, targets=())
    together = (EVERYTHING,) if target.is_entry else target.paths
    return replace(settings, values=values, config=config, together=together, applied=target.is_entry)
