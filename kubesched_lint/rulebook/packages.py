"""Installed packages that bring rules: those with an entry point of the group ``kubesched_lint.rulebooks``.

The entry point names a package; its cards lie in ``<package>/rules/``, its checks in ``<package>/checks/``. Nothing of
it is imported before one of its rules runs. ``importlib.metadata`` would cost every run 15 ms: the few files that
matter are read here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path as File

from kubesched_lint.record import record
from kubesched_lint.rulebook.rule import Check, module_name

GROUP = "kubesched_lint.rulebooks"
_METADATA = (".dist-info", ".egg-info")


@record
class Package:
    """``name`` is the importable package, ``folder`` where it lies."""

    name: str
    folder: File

    @property
    def cards(self) -> File:
        return self.folder / "rules"

    def has_check(self, slug: str) -> bool:
        return (self.folder / "checks" / f"{module_name(slug)}.py").is_file()

    def check(self, slug: str) -> Callable[[], Check]:
        """Gives the check of a rule, importing it."""
        return Imported(f"{self.name}.checks.{module_name(slug)}")


@record
class Imported:
    """The function ``check`` of a module. Raises whatever the module raises when it is imported."""

    module: str

    def __call__(self) -> Check:
        from importlib import import_module

        check: Check = import_module(self.module).check
        return check


def rulebook_packages(path: Iterable[str] | None = None) -> tuple[Package, ...]:
    """The installed packages with rules, in the order of their names. ``path`` is ``sys.path`` unless given.

    The current folder does not count, though Python may look there: what lies beside manifests is not installed.
    """
    folders = sys.path if path is None else path
    names = {name for folder in folders for name in _named_in(folder)}
    return tuple(filter(None, map(_package, sorted(names)))) if names else ()


def _named_in(folder: str) -> Iterator[str]:
    if not folder or folder == os.getcwd():
        return
    try:
        names = [entry for entry in os.listdir(folder) if entry.endswith(_METADATA)]
    except OSError:  # a zip file, or nothing at all
        return
    for name in names:
        try:
            with open(f"{folder}/{name}/entry_points.txt", "rb") as file:
                data = file.read()
        except OSError:  # most packages have none
            continue
        if GROUP.encode() in data:
            yield from _entries(data.decode("utf-8", "replace"))


def _entries(text: str) -> Iterator[str]:
    """The packages that an ``entry_points.txt`` names for our group."""
    is_ours = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            is_ours = line == f"[{GROUP}]"
        elif is_ours and "=" in line and not line.startswith(("#", ";")):
            yield line.partition("=")[2].partition(":")[0].strip()


def _package(name: str) -> Package | None:
    """Where a package lies, found without running it; None when it is gone."""
    from importlib.util import find_spec

    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Package(name, File(folders[0])) if folders else None
