"""Which files there are to read, in kubectl's order; the only part of the package that touches the disk."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from kubesched_lint.findings import InputError
from kubesched_lint.manifests.document import Skipped

SUFFIXES = (".yaml", ".yml", ".json")
LARGEST = 16 * 1024 * 1024
"""Bytes of one file. A Kubernetes object cannot be larger than 1.5 MiB (etcd)."""
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
STDIN = "<stdin>"
_OF_CHARTS = ("Chart.yaml", "values.yaml")


@dataclass(frozen=True, slots=True)
class InputFile:
    """``patch_of`` is the kustomization that lists it as a patch; ``in_kustomization`` that one lies beside it."""

    path: str
    data: bytes
    patch_of: str = ""
    in_kustomization: bool = False


def find_files(paths: Sequence[str], excludes: Sequence[str] = ()) -> Iterator[InputFile | Skipped | InputError]:
    """Files as named, folders recursively in order of names, ``-`` for standard input; each file once.

    What cannot be read is an InputError in its place. Links to folders are followed only when named.
    """
    seen: set[str] = set()
    patches: dict[str, str] = {}
    for path in paths:
        if path == "-":
            yield from _stdin()
            continue
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            yield InputError(path, _why(error))
            continue
        if stat.S_ISDIR(mode):
            names = list(_walk(path, excludes))
            patches |= _patches(names)
            for name in names:
                yield from _one(name, seen, patches)
        else:
            yield from _one(path, seen, patches)


def _stdin() -> Iterator[InputFile | InputError]:
    data = sys.stdin.buffer.read(LARGEST * 8)
    yield InputFile(STDIN, data)


def _why(error: OSError) -> str:
    match error:
        case FileNotFoundError():
            return "no such file or folder"
        case PermissionError():
            return "permission denied"
    return (error.strerror or str(error)).lower()


def _walk(folder: str, excludes: Sequence[str]) -> Iterator[str | InputError | Skipped]:
    try:
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except OSError as error:
        yield InputError(folder, _why(error))
        return
    names = {entry.name for entry in entries}
    chart = "Chart.yaml" in names
    for entry in entries:
        path = entry.path
        if any(fnmatch(path, pattern) or fnmatch(entry.name, pattern) for pattern in excludes):
            continue
        if entry.is_dir(follow_symlinks=False):
            if entry.name == ".git":
                continue
            if chart and entry.name in ("templates", "charts"):
                if entry.name == "templates":
                    hint = f"helm template {folder} | kubesched-lint lint -"
                    yield Skipped(path, 0, f"Helm chart templates are not manifests before they are rendered: {hint}")
                continue
            yield from _walk(path, excludes)
        elif entry.name.endswith(SUFFIXES) and not _is_aside(entry, chart):
            yield path


def _is_aside(entry: os.DirEntry[str], chart: bool) -> bool:
    """A link to a folder, or what a chart keeps beside its templates."""
    return (entry.is_symlink() and os.path.isdir(entry.path)) or (chart and entry.name in _OF_CHARTS)


def _patches(names: Sequence[str | InputError | Skipped]) -> dict[str, str]:
    """Real path of a patch file → the kustomization that lists it."""
    found: dict[str, str] = {}
    for name in names:
        if isinstance(name, str) and os.path.basename(name) in KUSTOMIZATIONS:
            from kubesched_lint.manifests.recognise import listed_patches

            try:
                with open(name, "rb") as file:
                    listed = listed_patches(file.read(LARGEST))
            except OSError:
                continue  # it is read again as an input, and the error is told there
            for patch in listed:
                found[os.path.realpath(os.path.join(os.path.dirname(name), patch))] = name
    return found


def _one(
    name: str | InputError | Skipped, seen: set[str], patches: dict[str, str]
) -> Iterator[InputFile | Skipped | InputError]:
    if not isinstance(name, str):
        yield name
        return
    real = os.path.realpath(name)
    if real in seen:
        return
    seen.add(real)
    try:
        with open(name, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        yield InputError(name, _why(error))
        return
    if len(data) > LARGEST:
        yield InputError(
            name, f"larger than {LARGEST // 1024**2} MiB; an object that Kubernetes accepts is far smaller"
        )
        return
    beside = any(os.path.exists(os.path.join(os.path.dirname(name), k)) for k in KUSTOMIZATIONS)
    yield InputFile(name, data, patches.get(real, ""), beside)
