"""Files that decide what is found, read from a copy of the current folder: a pull request must not change its judge."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from kubesched_lint.engine.cluster.cluster import LIVE
from kubesched_lint.files import is_within, root_of
from kubesched_lint.project.config.keys import DECIDING


def beside(file: str, name: str) -> str:
    """Return a file name relative to the configuration ``file``, changed to be relative to the current folder."""
    joined = os.path.normpath(os.path.join(os.path.dirname(file), os.path.expanduser(name)))
    return f".{os.sep}{joined}" if joined.partition(":")[0] == LIVE else joined


def relative_to_here(path: str) -> str:
    """Return a path of this repository relative to the current folder; empty for another one, and a live cluster."""
    if path.partition(":")[0] == LIVE:
        return ""
    current_folder = os.getcwd()
    root = root_of(current_folder) or current_folder
    for place in (os.path.abspath(path), os.path.realpath(path)):
        if is_within(place, root):
            return os.path.relpath(place, current_folder)
    return ""


def in_copy(path: str, copy: str) -> str:
    """Return where a copy of the current folder has a path of this repository; the path itself without a copy."""
    below = relative_to_here(path) if copy else ""
    return os.path.normpath(os.path.join(copy, below)) if below else path


def deciding(table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield (key, text) of each file or folder that a configuration names and that decides what is found."""
    targets = table.get("targets")
    for values in (table, *(targets if isinstance(targets, list) else ())):
        for key in DECIDING if isinstance(values, dict) else ():
            written = values.get(key)
            yield from (
                (key, text)
                for text in (written if isinstance(written, list) else [written])
                if text and isinstance(text, str) and "\0" not in text
            )
