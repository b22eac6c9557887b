"""``kubesched-lint charts``: pull the charts of releases, so that lint can render them without network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from kubesched_lint.cli.parsing.options import takes
from kubesched_lint.cli.parsing.parser import Command, command_group
from kubesched_lint.cli.settings.sets import targets_in
from kubesched_lint.cli.settings.settings import Settings, settle
from kubesched_lint.commands.charts.beside import charts_beside, lock_beside
from kubesched_lint.commands.charts.pull import Found, PullError, pulled, wanted
from kubesched_lint.commands.lint.run import files_of, users_cache
from kubesched_lint.engine.base.text import many
from kubesched_lint.files import root_of
from kubesched_lint.printing import say, tell, visible
from kubesched_lint.progress import shown
from kubesched_lint.sources.charts.inflating import charts_of_kustomizations
from kubesched_lint.sources.charts.lock import Locked, LockError, Pinned, locked_in, text_of
from kubesched_lint.sources.delivery.entries import charts_of_applications, repository_of
from kubesched_lint.writing import destination, replacing

app = command_group("Pull the charts of releases, so that lint can render them.")


@app.callback()
def charts() -> None:
    """Pull the charts of releases, so that lint can render them."""  # keeps the name of the only command


@app.command(cls=Command)
@takes("namespace", "exclude", "config_file", "no_config")
def pull(
    context: typer.Context,
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder of the repository.")] = ".",
    **shared: Any,
) -> None:
    """Pull the charts that the HelmReleases of a repository install, and write their digests into a lock.

    Uses the network, through your helm, with its settings and credentials; no other command does. Pulls one
    version each, into your cache, and writes kubesched-charts.lock beside kubesched.toml: commit it. What a range of
    versions means is asked each time. With `helm =
    "cache"` in `[gitops]`, lint and the others render the releases from there. A locked version that comes with another
    digest is refused. Exits with 2 if a chart cannot be pulled.

    Example: kubesched-lint charts pull
    """
    settings = settle(context, [folder])
    lock = lock_beside(settings.config.file, folder)
    try:
        locked = locked_in(lock)
    except LockError as error:
        raise _failed(f"{lock}: {error}") from None
    with shown("building"):
        asked = wanted(_sets(settings, folder), settings.options.namespace, _of_others(folder))
    folder_of_lock = charts_beside(settings.config.file).folder
    locks: dict[Pinned, Locked] = {}
    failed = 0
    for pin in asked.charts:
        try:
            locks[pin] = pulled(pin, folder_of_lock, locked)
        except PullError as error:
            tell(f"error: {pin}: {visible(str(error))}")
            failed += 1
            locks |= {pin: locked[pin]} if pin in locked else {}
        else:
            is_old = locks[pin] == locked.get(pin)
            say(f"{pin}: {'unchanged' if is_old else 'pulled'}{locks[pin].resolved and f' {locks[pin].resolved}'}")
    for place, why in asked.others:
        say(visible(f"{place}: not pulled: {why}"))
    _write(lock, locks)
    left = f", {failed:,} failed" if failed else ""
    say(f"{lock}: {many(len(locks), 'chart')} locked{left}")
    raise typer.Exit(2 if failed else 0)


def _sets(settings: Settings, folder: str) -> list[list[Found]]:
    """Return the files that tell charts: of each applied set of the repository, else those in the folder."""
    options = settings.options
    try:
        targets = targets_in(root_of(folder) or os.path.realpath(folder), users_cache())
    except OSError as error:
        raise _failed(f"{folder}: {(error.strerror or str(error)).lower()}") from None
    if not targets:
        return [list(files_of([folder], options, render=True))]
    return [list(files_of(applied.paths, replace(options, applied=True), render=True)) for applied in targets]


def _of_others(folder: str) -> Sequence[Pinned]:
    """Return the charts of Applications and of kustomizations."""
    try:
        repository = repository_of(folder, users_cache())
        return (*charts_of_applications(repository), *charts_of_kustomizations(folder))
    except OSError:
        return ()  # whoever reads the files reports the error


def _write(lock: str, charts: dict[Pinned, Locked]) -> None:
    try:
        with replacing(destination(lock)) as out:
            out.write(text_of(charts.items()).encode())
    except (OSError, ValueError) as error:
        raise _failed(f"{lock}: cannot be written: {error}") from None


def _failed(message: str) -> typer.Exit:
    tell(f"error: {message}")
    return typer.Exit(2)
