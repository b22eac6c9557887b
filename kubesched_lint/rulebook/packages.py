"""Installed packages with rules, which may have code.

An entry point of the group ``kubesched_lint.rulebooks`` names a package. Its cards are in ``<package>/rules/``, its
checks in ``<package>/checks/``, with an optional ``fix`` beside ``check``. Nothing of it is imported before one of its
rules runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from msgspec import Struct

from kubesched_lint.rulebook.entry_points import entry_names
from kubesched_lint.rulebook.package_facts import of_package
from kubesched_lint.rulebook.rule import Check, Mend, module_name

FORMER_NAMES = {
    "kubesched_lint.analysis.remedy": "kubesched_lint.explaining.remedies.remedy",
    "kubesched_lint.manifests.changes": "kubesched_lint.sources.manifests.changes",
}
"""Modules that rules of version 0.1 import → where they are now; to go with the next minor version."""


class Package(Struct, frozen=True):
    """``name`` of the importable package, and its ``folder``."""

    name: str
    folder: str

    @property
    def cards(self) -> str:
        return os.path.join(self.folder, "rules")

    def has_check(self, slug: str) -> bool:
        return os.path.isfile(os.path.join(self.folder, "checks", f"{module_name(slug)}.py"))

    def check(self, slug: str) -> Callable[[], Check]:
        """Return a function that imports and returns the check of a rule."""
        return Imported(f"{self.name}.checks.{module_name(slug)}", "check")

    def fix(self, slug: str) -> Callable[[], Mend]:
        """Return a function that imports the fix: ``fix`` beside the check, or ``fixes/<slug>.py`` as in 0.1."""
        module = module_name(slug)
        if os.path.isfile(os.path.join(self.folder, "fixes", f"{module}.py")):
            return Imported(f"{self.name}.fixes.{module}", "fixes")
        return Imported(f"{self.name}.checks.{module}", "fix")


class Imported(Struct, frozen=True):
    """Returns a function of a module when called. Raises what the import of the module raises."""

    module: str
    name: str

    def __call__(self) -> Any:
        for former, name in FORMER_NAMES.items():
            if former not in sys.modules:
                sys.modules[former] = import_module(name)
        return of_package(getattr(import_module(self.module), self.name))


def rulebook_packages(path: Iterable[str] | None = None) -> tuple[Package, ...]:
    """The installed packages with rules, in the order of their names. ``path`` defaults to ``sys.path``."""
    return tuple(filter(None, map(_package, sorted(set(entry_names(path))))))


def _package(name: str) -> Package | None:
    """The package, located without running it; None if it does not exist."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Package(name, folders[0]) if folders else None
