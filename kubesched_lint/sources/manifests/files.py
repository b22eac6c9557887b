"""Find the files to read, in kubectl's order."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kubesched_lint.files import Places, ResolvedPath, content, content_at, is_own_stream, is_within, place_of
from kubesched_lint.findings import InputError
from kubesched_lint.sources.manifests.document import Skipped
from kubesched_lint.sources.manifests.inputs import (
    KUSTOMIZATIONS,
    LARGEST,
    STDIN,
    Applied,
    InputFile,
    Progress,
    standard_input,
    too_large,
)
from kubesched_lint.sources.manifests.kustomize.contents import may_be_manifest, never_applied
from kubesched_lint.sources.manifests.kustomize.tools import helm, kustomizer
from kubesched_lint.sources.manifests.recognizing.meant import MEANT, LeftOut, Scope, by_contents
from kubesched_lint.sources.manifests.walking import Found, Walk, holds_manifests, why_unreadable

if TYPE_CHECKING:
    from kubesched_lint.sources.manifests.flux import FluxRepository
    from kubesched_lint.sources.manifests.kustomize.kustomizing import Store
    from kubesched_lint.sources.manifests.kustomize.tree import Inflate


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

    def have(self, item: Found) -> bool:
        """Return whether a kustomization lists a file that is left out, or a folder that holds it and is left out."""
        real = item.real
        if real in self.patches:
            return True
        while real not in self.resources:
            real = os.path.dirname(real)
            if item.left_out is None or not is_within(real, item.left_out.real):
                return False
        return True


def find_files(
    paths: Sequence[str],
    is_excluded: Callable[[str], bool] | None = None,
    *,
    render: bool = True,
    progress: Progress | None = None,
    scope: Scope = MEANT,
    store: Callable[[], Store | None] | None = None,
    inflate: Inflate | None = None,
) -> Iterator[InputFile | Skipped | InputError]:
    """Yield the named files, the files of folders in name order (recursive), and ``-`` for standard input; each file
    once. ``is_excluded`` filters the contents of folders. An unreadable path becomes an InputError in its place.
    Links to files are followed inside the root of the path (see ``kubesched_lint.files``), links to folders only if
    named. With ``render``, the output of kustomizations and named charts replaces their files if a tool to render
    them is installed; ``store`` opens the renderings of earlier runs, ``inflate`` renders charts of kustomizations.
    What ``scope`` leaves out is one Skipped for each folder, at the end.
    """
    search = _Search(is_excluded, render, progress, scope, store, inflate)
    for path in paths:
        if path == "-":
            standard_input.cache_clear()
            yield _piped(_checked(InputFile(STDIN, standard_input())))
        elif is_own_stream(path):
            yield _stream(path)
        else:
            yield from search.at(path)
    yield from search.left_out.skipped(search.seen)


_NOTHING_APPLIED = Applied()


class _LeftOutFiles:
    """The files that are not read: reason → path without links → path."""

    def __init__(self) -> None:
        self._found: dict[LeftOut, dict[str, str]] = {}

    def add(self, why: LeftOut, item: Found) -> None:
        self._found.setdefault(why, {})[item.real] = item.path

    def skipped(self, seen: Container[str]) -> Iterator[Skipped]:
        """Yield one line for each folder with manifests that have not been read otherwise."""
        for why, paths in self._found.items():
            shown = [path for real, path in paths.items() if real not in seen]
            # A folder of tests may hold other YAML, such as the settings of its programs.
            if why.is_no_manifest or holds_manifests(sorted(shown, key=lambda path: path.endswith(".json"))):
                yield why.skipped(shown)


class _Search:
    """The search in all paths of one run."""

    def __init__(
        self,
        is_excluded: Callable[[str], bool] | None,
        render: bool,
        progress: Progress | None,
        scope: Scope,
        store: Callable[[], Store | None] | None,
        inflate: Inflate | None,
    ) -> None:
        self._is_excluded = is_excluded
        self._render = render
        self._progress = progress
        self._scope = scope
        self._store = store
        self._inflate = inflate
        self._lists = _Lists()
        self._known: Places = {}
        self._flux: dict[str, FluxRepository] = {}
        self.seen: set[str] = set()
        """Paths without links of the files that have been read."""
        self.left_out = _LeftOutFiles()

    def at(self, path: str) -> Iterator[InputFile | Skipped | InputError]:
        """Yield what one named path holds."""
        try:
            place = place_of(path, self._known)
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)
        except (OSError, ValueError) as error:
            yield InputError(path, why_unreadable(error))
            return
        if is_folder and self._render and os.path.isfile(os.path.join(path, "Chart.yaml")):
            chart = _chart(path)
            if chart is not None:
                yield chart
                return
        files = self._in_folder(path, place) if is_folder else self._named(path, place)
        is_repository = os.path.lexists(os.path.join(place.root, ".git"))
        flux = partial(self._flux_in, place.root if is_repository else place.real)
        applied = self._applied(files, path, flux) if is_folder and self._render else _NOTHING_APPLIED
        for item in files:
            if not isinstance(item, Found):
                yield item
            elif item.real not in self.seen and not self._is_left_out(item, place.real, applied):
                for read in self._read(item, applied, is_named=not is_folder):
                    yield _filled_in(read, item, flux)

    def _flux_in(self, root: str) -> FluxRepository:
        """Return what Flux does in a repository, or in a folder in none; looked for once, and only if it matters."""
        if root not in self._flux:
            from kubesched_lint.sources.manifests.flux import flux_repository

            self._flux[root] = flux_repository(root)
        return self._flux[root]

    def _in_folder(self, path: str, place: ResolvedPath) -> list[Found | InputError | Skipped]:
        above = self._scope.above(path, place.real, place.root)
        by_name = above is None and not self._scope.include_tests
        walk = Walk(path, place.root or place.real, self._is_excluded, by_name)
        files = list(walk.below(path, place.real, above if self._scope.named_too else None))
        return _joined(self._lists, files, path, place.root)

    def _named(self, path: str, place: ResolvedPath) -> list[Found | InputError | Skipped]:
        above = self._scope.above(path, place.real, place.root) if self._scope.named_too else None
        folder = os.path.dirname(path)
        listed_files = _joined(self._lists, [Found(path, place.real, left_out=above)], folder, place.root)
        is_beside = bool(self._lists.within(folder))
        return [replace(item, beside=is_beside) if isinstance(item, Found) else item for item in listed_files]

    def _applied(
        self, files: Sequence[Found | InputError | Skipped], named: str, flux: Callable[[], FluxRepository]
    ) -> Applied:
        kept = [item.path for item in files if isinstance(item, Found) and item.left_out is None]
        folders = [os.path.dirname(path) for path in kept if _names_kustomization(path)]
        if not folders or kustomizer() is None:
            return _NOTHING_APPLIED
        from kubesched_lint.sources.manifests.kustomize.overlays import applied_in

        store = self._store() if self._store else None
        return applied_in(folders, named, self._progress, store, flux(), self._inflate)

    def _is_left_out(self, item: Found, named: str, applied: Applied) -> bool:
        """Record a file that is not meant to be applied."""
        why = self._scope.cluster(item.real, named) or item.left_out
        if why is not None and item.real not in applied.consumed:
            self.left_out.add(why, item)
        return why is not None

    def _read(self, item: Found, applied: Applied, is_named: bool) -> Iterator[InputFile | Skipped | InputError]:
        yield from applied.instead.get(item.real, ())
        if item.real in applied.consumed:
            self.seen.add(item.real)
            return
        read = _read(item, self._lists)
        if isinstance(read, InputFile):
            is_chosen = is_named and not self._scope.named_too
            reason = "" if is_chosen else _not_applied(read.data)
            if reason:
                self.left_out.add(by_contents(item.path, item.real, reason), item)
                return
            read = _checked(replace(read, is_named=True) if is_chosen else read)
        self.seen.add(item.real)
        yield _unlisted(read) if item.beside and os.path.dirname(item.real) in applied.folders else read


def _filled_in(
    read: InputFile | Skipped | InputError, item: Found, flux: Callable[[], FluxRepository]
) -> InputFile | Skipped | InputError:
    """Return a file with variables together with how Flux fills them in."""
    if not isinstance(read, InputFile) or read.rendering is not None or b"${" not in read.data:
        return read
    filling = flux().filling(os.path.dirname(item.real))
    return read if filling is None else replace(read, filling=filling)


def _joined(
    lists: _Lists, files: list[Found | InputError | Skipped], folder: str, root: str
) -> list[Found | InputError | Skipped]:
    """Return the items in their order; a file that a kustomization joins to what is applied is no longer left out."""
    _learn(lists, [item for item in files if not _is_left_out(item)], folder, root)
    while lists.resources or lists.patches:
        used = [item for item in files if isinstance(item, Found) and item.left_out and lists.have(item)]
        if not used:
            break
        reals = {item.real for item in used}
        files = [replace(i, left_out=None) if isinstance(i, Found) and i.real in reals else i for i in files]
        _learn(lists, used, folder, root)
    return files


def _is_left_out(item: Found | InputError | Skipped) -> bool:
    return isinstance(item, Found) and item.left_out is not None


def _chart(folder: str) -> InputFile | Skipped | InputError | None:
    tool = helm()
    if tool is None:
        return None
    from kubesched_lint.sources.manifests.kustomize.overlays import charted

    return charted(folder, tool)


def _piped(file: InputFile | InputError) -> InputFile | InputError:
    """Return the file with its Helm rendering: Helm writes the source template above each document."""
    if isinstance(file, InputError) or b"# Source: " not in file.data:
        return file
    from kubesched_lint.sources.manifests.kustomize.overlays import piped

    return piped(file)


def _unlisted(read: InputFile | InputError) -> InputFile | InputError | Skipped:
    """Return a Skipped for a manifest that the rendered kustomization beside it does not list."""
    if isinstance(read, InputFile) and b"kind:" in read.data and b"apiVersion:" in read.data:
        return Skipped(
            read.path, 0, "the kustomization beside it does not list it, so it is not applied with the others"
        )
    return read


def _learn(lists: _Lists, files: Sequence[Found | InputError | Skipped], folder: str, root: str) -> None:
    """Record each kustomization among the files, in the folder, and in the two folders above it, within the root."""
    listed = {item.real: item for item in files if isinstance(item, Found) and _names_kustomization(item.path)}
    above = folder
    for _ in range(3):
        for path in () if above in lists.known else lists.within(above):
            real = os.path.realpath(path)
            if is_within(real, root):
                listed.setdefault(real, Found(os.path.normpath(path), real))
        above = os.path.join(above, os.pardir)
    for item in listed.values():
        from kubesched_lint.sources.manifests.recognizing.kustomization import listing

        read = _read(item, lists)
        if not isinstance(read, InputFile) or len(read.data) > LARGEST:
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
        return InputError(path, why_unreadable(error))


def _read(file: Found, lists: _Lists) -> InputFile | InputError:
    try:
        data = content_at(file.real, LARGEST)
    except OSError as error:
        return InputError(file.path, why_unreadable(error))
    is_resource = file.real in lists.resources
    patch_of = "" if is_resource else lists.patches.get(file.real, "")
    beside = file.beside
    return InputFile(file.path, data, patch_of, beside and not is_resource, beside or is_resource, real=file.real)


def _not_applied(data: bytes) -> str:
    """Return what is in a file that nobody applies; empty if it may hold manifests."""
    if len(data) > LARGEST and not may_be_manifest(data):
        return f"no manifest: larger than {LARGEST // 1024**2} MiB, and it names no apiVersion and kind"
    return never_applied(data)


def _checked(file: InputFile) -> InputFile | InputError:
    return too_large(file.path) if len(file.data) > LARGEST else file
