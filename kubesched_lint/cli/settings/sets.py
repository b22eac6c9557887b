"""The applied sets of a repository of Flux, which take the place of targets where the configuration has none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kubesched_lint.cli.parsing.invocation import Invocation
from kubesched_lint.cli.settings.settings import Settings
from kubesched_lint.commands.lint.run import users_cache
from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.files import root_of
from kubesched_lint.project.config.keys import Target

if TYPE_CHECKING:
    from kubesched_lint.sources.manifests.kustomize.kustomizing import Store


def with_sets(context: Invocation, settings: Settings, paths: Sequence[str]) -> Settings:
    """Return the settings with the applied sets of the repository as targets.

    Unchanged if the configuration has targets, if the user names other paths than the repository or asks for its
    files, or if nothing in it tells what is applied.
    """
    asked = context.params
    is_asked = asked.get("files") or asked.get("changed") is not None
    if settings.config.targets or is_asked or not settings.flag("render"):
        return settings
    root = _repository(paths)
    if not root:
        return settings
    targets = targets_in(root, None if asked.get("no_cache") else users_cache())
    return replace(settings, config=replace(settings.config, targets=targets, found_in=root)) if targets else settings


def targets_in(root: str, store: Store | None = None) -> tuple[Target, ...]:
    """Return a target for each entry point of a repository; none without a tool that builds what is applied."""
    from kubesched_lint.sources.delivery.entries import entries_in, names_of

    entries = entries_in(root, store)
    pairs = zip(names_of(entries), entries, strict=True)
    return tuple(Target(name, (entry.path,), is_entry=True) for name, entry in pairs)


def note_on(targets: Sequence[Target]) -> str:
    """Return what must be said of sets that nobody named; empty if there are none."""
    if not targets:
        return ""
    named = first_few([target.paths[0] for target in targets])
    what = f"{many(len(targets), 'set')}, each alone, from {named}" if len(targets) > 1 else f"from {named}"
    return (
        f"what Flux or Argo CD applies was judged, {what}: `targets discover` shows it, --files reads the files instead"
    )


def _repository(paths: Sequence[str]) -> str:
    """Return the repository that is meant by no path, or by the path of its folder; empty for other paths."""
    try:
        root = root_of(paths[0] if paths else os.curdir)
    except (OSError, ValueError, IndexError):
        return ""
    is_meant = not paths or [os.path.realpath(path) for path in paths] == [root]
    return root if is_meant and root and os.path.lexists(os.path.join(root, ".git")) else ""
