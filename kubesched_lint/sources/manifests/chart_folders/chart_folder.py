"""Find what prevents rendering a chart folder: Helm follows links, waits for pipes, fetches what schemas refer to, and
unpacks subcharts without a common limit.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from typing import Any

from kubesched_lint.files import UnreadableError, content_at, inside, root_of
from kubesched_lint.findings import InputError
from kubesched_lint.limits import LARGEST_OUTPUT
from kubesched_lint.sources.manifests.chart_folders.chart_archive import PACKED, ArchiveError, Archives
from kubesched_lint.sources.manifests.document import Skipped
from kubesched_lint.sources.manifests.inputs import LARGEST
from kubesched_lint.sources.manifests.limits import MOST_FILES

_SCHEMA = "values.schema.json"
_NONE = frozenset({""})
"""Names of files of archives that are kept."""
_KNOWN_DRAFTS = ("http://json-schema.org/", "https://json-schema.org/")
"""Helm has these schema drafts built in."""


def obstacle_in(folder: str) -> Skipped | InputError | None:
    """Return why the chart is not rendered: its first unreadable file, or its schema that refers elsewhere; or None."""
    try:
        root = root_of(folder) or os.path.realpath(folder)
        archives = Archives(_NONE)
        for number, path in enumerate(_entries(folder, root), 1):
            obstacle = _obstacle(path, root, archives)
            if number > MOST_FILES:
                obstacle = InputError(os.path.join(folder, "Chart.yaml"), f"a chart of more than {MOST_FILES:,} files")
            if obstacle is not None:
                return obstacle
    except OSError as error:
        return InputError(os.path.join(folder, "Chart.yaml"), (error.strerror or str(error)).lower())
    return None


def _entries(folder: str, root: str) -> Iterator[str]:
    """Yield all paths that Helm would walk, also those behind links to other folders of the repository."""
    waiting, seen = [folder], set()
    while waiting:
        top = waiting.pop()
        real = os.path.realpath(top)
        if real in seen:
            continue
        seen.add(real)
        for name in sorted(os.listdir(top)):
            path = os.path.join(top, name)
            yield path
            if os.path.isdir(path):
                waiting.append(path)


def _obstacle(path: str, root: str, archives: Archives) -> Skipped | InputError | None:
    try:
        real = inside(path, root)
        mode = os.stat(real).st_mode
    except UnreadableError as error:
        return InputError(path, f"{error.strerror}, and the chart is not rendered")
    except OSError:
        return None  # a dangling link: Helm reports it
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        return InputError(path, "not a regular file: the chart is not rendered")
    if path.endswith(PACKED) and os.path.basename(os.path.dirname(path)) == "charts" and stat.S_ISREG(mode):
        try:
            archives.read(content_at(real, LARGEST_OUTPUT), f"{path.removesuffix(PACKED)}/")
        except ArchiveError as error:
            return InputError(path, f"the archive is refused, and the chart is not rendered: {error}")
    return _reference(path, content_at(real, LARGEST)) if os.path.basename(path) == _SCHEMA else None


def _reference(path: str, data: bytes) -> Skipped | None:
    """Return the first external reference of the schema, else None."""
    try:
        waiting = [json.loads(data)]
    except (ValueError, RecursionError):
        return None  # Helm reports it
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            for key, target in value.items():
                if _leads_away(key, target):
                    text = data.decode("utf-8", "replace")
                    at = max(text.find(target), 0)
                    why = f"the chart is not rendered because its schema refers to {target}, which helm would read"
                    return Skipped(path, text.count("\n", 0, at) + 1, why, at - text.rfind("\n", 0, at))
            waiting += value.values()
    return None


def _leads_away(key: str, target: Any) -> bool:
    if not isinstance(target, str):
        return False
    if key == "$schema":
        return not target.startswith(_KNOWN_DRAFTS)
    return key in ("$ref", "$dynamicRef", "$recursiveRef") and not target.startswith("#")
