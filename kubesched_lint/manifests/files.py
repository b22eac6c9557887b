"""Find the files to read, in kubectl's order."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence

from kubesched_lint.files import Places, content, content_at, is_own_stream, is_within, leaving, place_of
from kubesched_lint.findings import InputError
from kubesched_lint.manifests.document import Skipped
from kubesched_lint.manifests.inputs import (
    KUSTOMIZATIONS,
    LARGEST,
    STDIN,
    SUFFIXES,
    Applied,
    InputFile,
    Progress,
    standard_input,
)
from kubesched_lint.record import record

_MOST_LOOKED_AT = 50
_OF_CHARTS = ("Chart.yaml", "values.yaml")


@record
class _Found:
    """A file to read. ``real`` is its path without links."""

    path: str
    real: str
    beside: bool = False


class _Lists:
    """Real paths that the kustomizations found so far list: patches (with the kustomization), and resources."""

    def __init__(self) -> None:
        self.patches: dict[str, str] = {}
        self.resources: set[str] = set()
        self.known: dict[str, tuple[str, ...]] = {}
        """Folder → kustomizations in it, for each folder inspected because of a named path."""

    def within(self, folder: str) -> tuple[str, ...]:
        if folder not in self.known:
            names = (os.path.join(folder, name) for name in KUSTOMIZATIONS)
            self.known[folder] = tuple(name for name in names if os.path.isfile(name))
        return self.known[folder]


def find_files(
    paths: Sequence[str],
    is_excluded: Callable[[str], bool] | None = None,
    *,
    render: bool = True,
    progress: Progress | None = None,
) -> Iterator[InputFile | Skipped | InputError]:
    """Yield the named files, the files of folders in name order (recursive), and ``-`` for standard input; each file
    once. ``is_excluded`` filters the contents of folders. An unreadable path becomes an InputError in its place.
    Links to files are followed inside the root of the path (see ``kubesched_lint.files``), links to folders only if
    named. With ``render``, the output of kustomizations and named charts replaces their files if a tool to render
    them is installed.
    """
    seen: set[str] = set()
    lists = _Lists()
    known: Places = {}
    for path in paths:
        if path == "-":
            standard_input.cache_clear()
            yield _piped(_checked(InputFile(STDIN, standard_input())))
            continue
        if is_own_stream(path):
            yield _stream(path)
            continue
        try:
            place = place_of(path, known)
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)
        except (OSError, ValueError) as error:
            yield InputError(path, _why(error))
            continue
        real = place.real
        if is_folder and render and os.path.isfile(os.path.join(path, "Chart.yaml")):
            chart = _chart(path)
            if chart is not None:
                yield chart
                continue
        if is_folder:
            found = list(_walk(path, real, place.root or real, is_excluded))
        else:
            found = [_Found(path, real)]
        folder = path if is_folder else os.path.dirname(path)
        _learn(lists, found, folder, place.root)
        if not is_folder and lists.within(folder):
            found = [_Found(path, real, beside=True)]
        applied = _applied(found, path, progress) if is_folder and render else _NOTHING_APPLIED
        for item in found:
            if not isinstance(item, _Found):
                yield item
            elif item.real not in seen:
                seen.add(item.real)
                yield from applied.instead.get(item.real, ())
                if item.real not in applied.consumed:
                    read = _read(item, lists)
                    yield _unlisted(read) if item.beside and os.path.dirname(item.real) in applied.folders else read


_NOTHING_APPLIED = Applied()


def _applied(found: Sequence[_Found | InputError | Skipped], named: str, progress: Progress | None = None) -> Applied:
    folders = [os.path.dirname(i.path) for i in found if isinstance(i, _Found) and _names_kustomization(i.path)]
    if not folders:
        return _NOTHING_APPLIED
    from kubesched_lint.manifests.overlays import applied_in

    return applied_in(folders, named, progress)


def _chart(folder: str) -> InputFile | Skipped | InputError | None:
    from kubesched_lint.manifests.overlays import charted
    from kubesched_lint.manifests.rendering import helm

    tool = helm()
    return charted(folder, tool) if tool else None


def _piped(file: InputFile | InputError) -> InputFile | InputError:
    """Return the file with its Helm rendering: Helm writes the source template above each document."""
    if isinstance(file, InputError) or b"# Source: " not in file.data:
        return file
    from kubesched_lint.manifests.overlays import piped

    return piped(file)


def _unlisted(read: InputFile | InputError) -> InputFile | InputError | Skipped:
    """Return a Skipped for a manifest that the rendered kustomization beside it does not list."""
    if isinstance(read, InputFile) and b"kind:" in read.data and b"apiVersion:" in read.data:
        return Skipped(
            read.path, 0, "the kustomization beside it does not list it, so it is not applied with the others"
        )
    return read


def _why(error: OSError | ValueError) -> str:
    match error:
        case FileNotFoundError():
            return "no such file or folder"
        case PermissionError():
            return "permission denied"
        case OSError():
            return (error.strerror or str(error)).lower()
    return str(error)


def _walk(
    folder: str, real: str, root: str, is_excluded: Callable[[str], bool] | None
) -> Iterator[_Found | InputError | Skipped]:
    """Yield what a folder holds. ``real`` is its path without links; links in it must not leave ``root``."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        yield InputError(folder, _why(error))
        return
    names = {entry.name for entry in entries}
    chart, beside = "Chart.yaml" in names, not names.isdisjoint(KUSTOMIZATIONS)
    for entry in entries:
        path, name = entry.path, entry.name
        if is_excluded is not None and is_excluded(path):
            continue
        below = f"{real}{os.sep}{name}"
        if entry.is_symlink():
            yield from _linked(path, real, root, beside)
        elif entry.is_dir(follow_symlinks=False):
            if chart and name == "templates":
                yield Skipped(path, 0, _unrendered_chart(folder))
            elif name.startswith("."):
                if name != ".git" and _holds_manifests(path):
                    yield Skipped(
                        path, 0, "a folder whose name begins with a dot: it holds manifests; name it to read it"
                    )
            elif not (chart and name == "charts"):
                yield from _walk(path, below, root, is_excluded)
        elif name.endswith(SUFFIXES) and not (chart and name in _OF_CHARTS):
            yield _Found(path, below, beside)


def _holds_manifests(folder: str) -> bool:
    """Return whether one of the first files in a folder, or up to two levels below, is a Kubernetes object."""
    from itertools import islice

    for path in islice(_manifests_in(folder, 2), _MOST_LOOKED_AT):
        try:
            start = content(path, 4096)
        except OSError:
            continue
        if b"apiVersion:" in start and b"kind:" in start:
            return True
    return False


def _manifests_in(folder: str, depth: int) -> Iterator[str]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_file(follow_symlinks=False) and entry.name.endswith(SUFFIXES):
            yield entry.path
        elif depth and entry.is_dir(follow_symlinks=False):
            yield from _manifests_in(entry.path, depth - 1)


def _unrendered_chart(folder: str) -> str:
    from shutil import which

    hint = f"helm template {folder} | kubesched-lint lint -"
    why = "" if which("helm") else " (helm is not on PATH)"
    return f"Helm chart templates are not manifests before they are rendered{why}: {hint}"


def _linked(path: str, folder: str, root: str, beside: bool) -> Iterator[_Found | InputError | Skipped]:
    """Yield the file behind a link. ``folder`` is the real path of the folder that holds the link."""
    real = os.path.realpath(path)
    is_manifest = path.endswith(SUFFIXES)
    try:
        is_folder = stat.S_ISDIR(os.stat(real).st_mode)
    except OSError as error:
        is_folder = False
        is_manifest = is_manifest or not isinstance(error, FileNotFoundError)
    if not is_folder:
        if is_manifest:
            yield _Found(path, real, beside) if is_within(real, root) else InputError(path, leaving(root))
    elif f"{folder}{os.sep}".startswith(f"{real.rstrip(os.sep)}{os.sep}"):
        yield InputError(path, "a link to a folder that it lies in: following it would never end")
    else:
        yield Skipped(path, 0, "a link to a folder: like kubectl, only followed when it is named")


def _learn(lists: _Lists, found: Sequence[_Found | InputError | Skipped], folder: str, root: str) -> None:
    """Record each kustomization among the files, in the folder, and in the two folders above it, within the root."""
    listed = {item.real: item for item in found if isinstance(item, _Found) and _names_kustomization(item.path)}
    above = folder
    for _ in range(3):
        for path in () if above in lists.known else lists.within(above):
            real = os.path.realpath(path)
            if is_within(real, root):
                listed.setdefault(real, _Found(os.path.normpath(path), real))
        above = os.path.join(above, os.pardir)
    for item in listed.values():
        from kubesched_lint.manifests.kustomization import listing

        read = _read(item, lists)
        if not isinstance(read, InputFile):
            continue  # it is read again as an input, which reports the error
        patches, resources = listing(read.data)
        base = os.path.dirname(item.real)
        lists.patches |= {os.path.normpath(os.path.join(base, name)): item.path for name in patches}
        lists.resources |= {os.path.normpath(os.path.join(base, name)) for name in resources}


def _names_kustomization(path: str) -> bool:
    return path.endswith(KUSTOMIZATIONS) and os.path.basename(path) in KUSTOMIZATIONS


def _stream(path: str) -> InputFile | InputError:
    try:
        return _piped(_checked(InputFile(path, content(path, LARGEST, streams=True))))
    except OSError as error:
        return InputError(path, _why(error))


def _read(found: _Found, lists: _Lists) -> InputFile | InputError:
    try:
        data = content_at(found.real, LARGEST)
    except OSError as error:
        return InputError(found.path, _why(error))
    is_resource = found.real in lists.resources
    patch_of = "" if is_resource else lists.patches.get(found.real, "")
    return _checked(
        InputFile(found.path, data, patch_of, found.beside and not is_resource, found.beside or is_resource)
    )


def _checked(file: InputFile) -> InputFile | InputError:
    if len(file.data) > LARGEST:
        words = f"larger than {LARGEST // 1024**2} MiB; an object that Kubernetes accepts is far smaller"
        return InputError(file.path, words)
    return file
