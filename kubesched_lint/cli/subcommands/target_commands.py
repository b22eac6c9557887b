"""``kubesched-lint targets``: find what is applied from a repository, and write it into the configuration."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.cli.parsing.options import takes
from kubesched_lint.cli.parsing.parser import Command, command_group
from kubesched_lint.cli.settings.sets import targets_in
from kubesched_lint.cli.settings.settings import Settings, settle
from kubesched_lint.commands.lint.run import entries_of
from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.files import content
from kubesched_lint.limits import LARGEST_SETTINGS
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.printing import say, tell
from kubesched_lint.progress import shown
from kubesched_lint.project.config.file import NAME, quoted
from kubesched_lint.sources.delivery.entries import NO_TOOL, AppliedSet, applied_set, names_of, repository_of
from kubesched_lint.sources.delivery.flux import Building
from kubesched_lint.sources.manifests.kustomize.tools import kustomizer
from kubesched_lint.writing import destination, replacing

app = command_group("Find what Flux or Argo CD applies from a repository.")


@app.callback()
def targets() -> None:
    """Find what Flux or Argo CD applies from a repository."""  # keeps the name of the only command


class _Set(Struct, frozen=True):
    """A set with its name, and what was read of it."""

    name: str
    applied: AppliedSet
    manifests: ManifestSet


@app.command(cls=Command)
@takes("namespace", "exclude", "config_file", "no_config")
def discover(
    context: typer.Context,
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder of the repository.")] = ".",
    *,
    write: Annotated[
        bool, typer.Option("--write", help=f"Write a target for each set into {NAME}, which must have none.")
    ] = False,
    **shared: Any,
) -> None:
    """Print what Flux or Argo CD applies from a repository: its entry points, and what each of them reaches.

    An entry point is a folder that a FluxInstance, the values of a flux-instance chart or gotk-sync.yaml name; without
    any, a file with Kustomizations that no other one applies; or Applications that no other one applies. `lint` judges
    these sets where the configuration has no targets. Exits with 2 if a folder that is reached does not exist or does
    not build.

    Examples:

      kubesched-lint targets discover

      kubesched-lint targets discover --write
    """
    settings = settle(context, [folder])
    tool = kustomizer()
    if tool is None:
        raise _failed(f"{folder}: {NO_TOOL}")
    try:
        repository = repository_of(folder)
    except OSError as error:
        raise _failed(f"{folder}: {(error.strerror or str(error)).lower()}") from None
    entries = repository.entries()
    if not entries:
        raise _failed(f"{folder}: no entry point of Flux or Argo CD found")
    excluded = settings.exclude.covers if settings.exclude.patterns else None
    sets = []
    with shown("building"):
        for name, entry in zip(names_of(entries), entries, strict=True):
            applied = applied_set(
                repository, entry, Building(repository.root, tool, is_excluded=excluded, charts=settings.charts)
            )
            sets.append(_Set(name, applied, _read(settings, applied)))
    say("\n".join(line for applied_part in sets for line in _lines(applied_part)))
    if write:
        _write(settings, repository.root)
    raise typer.Exit(2 if any(applied_part.manifests.errors for applied_part in sets) else 0)


def _read(settings: Settings, applied: AppliedSet) -> ManifestSet:
    options = replace(settings, applied=True).options
    return manifest_set(entries_of(applied.files, options.kinds), options.namespace, kinds=options.kinds)


def _lines(applied_part: _Set) -> Iterator[str]:
    entry, manifests = applied_part.applied.entry, applied_part.manifests
    made_by = f" ({entry.made_by})" if entry.made_by else ""
    yield f"{applied_part.name}: {entry.path}{made_by}"
    releases = manifests.releases
    unread = [release.name for release in releases if release.why]
    left = f", {len(unread):,} not read ({first_few(unread)})" if unread else ""
    counts = (
        many(len(applied_part.applied.reached), "Application" if entry.cluster else "Kustomization"),
        f"{many(len(releases), 'release')}{left}",
        many(len(manifests.inventory.workloads), "workload"),
    )
    yield f"  {', '.join(counts)}"
    reasons: dict[str, list[str]] = {}
    for release in releases:
        if release.why:
            reasons.setdefault(release.why, []).append(release.name)
    for why, names in reasons.items():
        yield f"  not read: {many(len(names), 'release')} ({first_few(names)}): {why}"
    for skipped in manifests.skipped:
        yield f"  not read: {skipped.path}:{skipped.line}: {skipped.reason}"
    for error in manifests.errors:
        yield f"  error: {error.place}: {error.message}"


def _write(settings: Settings, root: str) -> None:
    """Add the targets to the configuration of the repository; make one if there is none."""
    file = settings.config.file or os.path.relpath(os.path.join(root, NAME))
    if settings.config.targets:
        raise _failed(f"{file} has targets already: remove them first")
    if os.path.basename(file) != NAME:
        raise _failed(f"{file} is not written; put [[targets]] into {NAME}")
    folder = os.path.dirname(os.path.realpath(file))
    try:
        old = content(file, LARGEST_SETTINGS).decode() if os.path.lexists(file) else ""
        with replacing(destination(file)) as out:
            out.write("\n".join([*([old.rstrip("\n"), ""] if old else []), *_tables(root, folder)]).encode())
    except (OSError, ValueError) as error:
        raise _failed(f"{file}: cannot be written: {error}") from None
    tell(f"{file}: {many(len(targets_in(root)), 'target')} written; name the `cluster` of each")


def _tables(root: str, folder: str) -> Sequence[str]:
    lines = []
    for target in targets_in(root):
        entry = os.path.relpath(os.path.realpath(target.paths[0]), folder)
        lines += ["[[targets]]", f"name = {quoted(target.name)}", f"entry = {quoted(entry)}", ""]
    return lines


def _failed(message: str) -> typer.Exit:
    tell(f"error: {message}")
    return typer.Exit(2)
