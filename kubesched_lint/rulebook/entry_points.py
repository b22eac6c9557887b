"""Find installed packages that provide rules.

Every run does this. ``importlib.metadata`` would take 15 ms, so this module reads the few relevant files itself, and
looks at a package only if there is one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache

from kubesched_lint.limits import LARGEST_SETTINGS

GROUP = "kubesched_lint.rulebooks"
"""The group of entry points that name packages with rules."""
_METADATA = (".dist-info", ".egg-info")


def entry_names(path: Iterable[str] | None = None) -> Iterator[str]:
    """Yield the packages that installed distributions name as rulebooks. ``path`` defaults to ``sys.path``.

    The current folder does not count, although Python may import from it: files beside manifests are not installed.
    """
    group, current_folder = GROUP.encode(), _current()
    for folder in sys.path if path is None else path:
        for name in _metadata(folder) if folder and folder != current_folder else ():
            try:
                handle = os.open(f"{folder}/{name}/entry_points.txt", os.O_RDONLY)  # half of what open() costs
                try:
                    data = os.read(handle, LARGEST_SETTINGS)
                finally:
                    os.close(handle)
            except OSError:  # most distributions have no such file
                continue
            if group in data:
                yield from _named(data.decode("utf-8", "replace"))


def is_any_installed() -> bool:
    """Return whether a distribution on ``sys.path`` names a rulebook."""
    return _is_any((*sys.path,), _current())


@lru_cache(maxsize=1)
def _is_any(path: tuple[str, ...], folder: str) -> bool:
    """Cached: rules and workload cards both ask at every start. ``folder`` does not count, so it is part of the key."""
    del folder
    return any(entry_names(path))


def _current() -> str:
    try:
        return os.getcwd()
    except OSError:  # somebody removed it
        return ""


def _metadata(folder: str) -> Iterable[str]:
    try:
        return [name for name in os.listdir(folder) if name.endswith(_METADATA)]
    except OSError:  # a zip file, or nothing at all
        return ()


def _named(text: str) -> Iterator[str]:
    """Yield the packages under our group's heading in an ``entry_points.txt``."""
    is_ours = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            is_ours = line == f"[{GROUP}]"
        elif is_ours and "=" in line and not line.startswith("#"):
            yield line.partition("=")[2].partition(":")[0].strip()
