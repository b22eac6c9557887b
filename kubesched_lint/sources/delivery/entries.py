"""Where a repository begins to be applied: the entry points of Flux."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from glob import escape
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from kubesched_lint.engine.base.places import Location, Path, Span
from kubesched_lint.files import content_at, is_within, root_of, whole
from kubesched_lint.findings import InputError
from kubesched_lint.sources.delivery.argocd import ArgoFollowing
from kubesched_lint.sources.delivery.argocd_objects import APPLICATION, APPLICATION_SET, IN_CLUSTER
from kubesched_lint.sources.delivery.argocd_sources import Held, addresses_in, held_by
from kubesched_lint.sources.delivery.flux import Building, Following, Found, kustomization_of
from kubesched_lint.sources.delivery.flux_objects import KUSTOMIZATION, FluxKustomization, is_kind, mapping
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.flux import folder_in
from kubesched_lint.sources.manifests.inputs import LARGEST, InputFile, Progress
from kubesched_lint.sources.manifests.kustomize.kustomizing import Store
from kubesched_lint.sources.manifests.kustomize.tools import kustomizer
from kubesched_lint.sources.manifests.limits import MOST_FOLDERS
from kubesched_lint.sources.manifests.loader import documents_of
from kubesched_lint.sources.manifests.walking import Found as FoundFile
from kubesched_lint.sources.manifests.walking import Walk, why_unreadable

if TYPE_CHECKING:
    from kubesched_lint.sources.charts.lock import Pinned
    from kubesched_lint.sources.charts.rendering import Charts

INSTANCE = ("fluxcd.controlplane.io", "FluxInstance")
_RELEASE = ("helm.toolkit.fluxcd.io", "HelmRelease")
_SYNC = "gotk-sync.yaml"
_WORDS = (b"kustomize.toolkit.fluxcd.io", b"fluxcd.controlplane.io", b"flux-instance", b"argoproj.io")
MARK = "#"
"""Parts the path of an entry of Argo CD from the cluster, where there are several."""
_VARIABLE = re.compile(r"\$\{[^{}]*\}")
_OWN = "flux-system"
"""The namespace, and the name, of what ``flux bootstrap`` and a FluxInstance make."""


class Entry(Struct, frozen=True):
    """An entry point: ``path`` is the folder that Flux applies first, or the file of its first Kustomizations.

    ``by`` is the Kustomization that applies the folder; None for a file.
    """

    path: str
    by: FluxKustomization | None = None
    made_by: str = ""
    """What names the folder, in words, such as ``FluxInstance flux``."""
    cluster: str = ""
    """The cluster of the Applications of Argo CD that begin in the folder or file; empty for Flux."""


class Repository(Struct, frozen=True):
    """The objects of Flux in the files of the repository ``root``, which is a path without links."""

    root: str
    documents: tuple[Document, ...] = ()
    store: Store | None = None
    """Renderings of earlier runs."""

    def entries(self) -> tuple[Entry, ...]:
        """Return the entry points: what syncs a folder, else the Kustomizations outside every other's folder."""
        entries_by_path: dict[str, Entry] = {}
        for entry in self._syncs():
            entries_by_path.setdefault(os.path.normpath(entry.path), entry)
        of_flux = tuple(entries_by_path[path] for path in sorted(entries_by_path)) or tuple(self._outermost())
        return (*of_flux, *self._of_argo_cd())

    def entry(self, path: str) -> Entry:
        """Return the entry point at a path: by what syncs the folder, if anything does."""
        place = place_of_entry(path)
        cluster = path.removeprefix(place).removeprefix(MARK)
        wanted = os.path.realpath(place)
        begins = [
            application for application in self.applications if is_within(os.path.realpath(application.path), wanted)
        ]
        if cluster or (begins and not any(is_within(os.path.realpath(e.path), wanted) for e in self._syncs())):
            return Entry(path, cluster=cluster or next(iter(self._clusters(place)), IN_CLUSTER))
        if os.path.isfile(wanted):
            return Entry(path)
        syncs = [*self._syncs()] or [*self._themselves(self._roots)]
        known = next((entry for entry in syncs if os.path.realpath(entry.path) == wanted), None)
        if known is not None:
            return known
        inside = os.path.relpath(wanted, self.root)
        by = FluxKustomization(_OWN, _OWN, {"path": inside}, Location(path, Span(0, 0, 0, 0)))
        return Entry(path, by)

    def first(self, entry: Entry) -> Sequence[FluxKustomization]:
        """Return the Kustomizations that an entry begins with."""
        if entry.by is not None:
            return [entry.by]
        wanted = os.path.realpath(entry.path)
        return [
            kustomization_of(kustomization)
            for kustomization in self.kustomizations
            if os.path.realpath(kustomization.path) == wanted
        ]

    @property
    def applications(self) -> list[Document]:
        """The Applications of Argo CD, and what makes some, that no other Application applies; of those that apply one
        another, one.
        """
        kinds = (APPLICATION, APPLICATION_SET)
        all_ = [
            application
            for application in self.documents
            if any(is_kind(application.api_version, application.kind, kind) for kind in kinds)
        ]
        own = addresses_in(self.documents, self.root)
        held = [list(held_by(application, own, self.root)) for application in all_]
        return [all_[number] for number in first_of([os.path.realpath(application.path) for application in all_], held)]

    def _holds(self, path: str, document: Document) -> bool:
        """Return whether a folder holds the file of an object: what applies it applies itself."""
        folder = folder_in(self.root, path.lstrip("/"), self.root)
        return folder not in ("", self.root) and is_within(os.path.realpath(document.path), folder)

    def following(self, path: str, building: Building) -> ArgoFollowing:
        """Follow the Applications that begin at or below a path. Raises OSError."""
        wanted = os.path.realpath(path)
        first = [
            application for application in self.applications if is_within(os.path.realpath(application.path), wanted)
        ]
        following = ArgoFollowing(building, addresses_in(self.documents, self.root))
        following.follow(first)
        return following

    def _clusters(self, path: str) -> Sequence[str]:
        """Return the clusters that get what begins at or below a path."""
        tool = kustomizer()
        assert tool is not None, "whoever asks has looked for a tool"
        return self.following(path, Building(self.root, tool, self.store)).clusters

    def _of_argo_cd(self) -> Iterator[Entry]:
        """Yield an entry for each cluster that Applications of this repository name."""
        if not addresses_in(self.documents, self.root):
            return
        paths = sorted({application.path for application in self.applications})
        folders = [os.path.dirname(path) or os.curdir for path in paths]
        place = paths[0] if len(paths) == 1 else os.path.commonpath(folders or [os.curdir]) or os.curdir
        clusters = self._clusters(place) if paths else ()
        for cluster in clusters:
            shown = f"{place}{MARK}{cluster}" if len(clusters) > 1 else place
            yield Entry(shown, made_by="Argo CD", cluster=cluster)

    @property
    def kustomizations(self) -> Iterator[Document]:
        return (document for document in self.documents if is_kind(document.api_version, document.kind, KUSTOMIZATION))

    def _syncs(self) -> Iterator[Entry]:
        for document in self.documents:
            spec = mapping(document.value.get("spec"))
            if is_kind(document.api_version, document.kind, INSTANCE):
                yield from self._synced(document, mapping(spec.get("sync")), ("spec", "sync", "path"))
            elif is_kind(document.api_version, document.kind, _RELEASE) and _installs_instance(document):
                sync = mapping(mapping(mapping(spec.get("values")).get("instance")).get("sync"))
                yield from self._synced(document, sync, ("spec", "values", "instance", "sync", "path"))
            elif self._is_sync(document):
                yield from self._begun(kustomization_of(document), "gotk-sync")

    def _synced(self, document: Document, sync: object, at: Path) -> Iterator[Entry]:
        path = mapping(sync).get("path")
        if isinstance(path, str) and path:
            kind, name = mapping(sync).get("kind") or "GitRepository", mapping(sync).get("name") or _OWN
            spec = {"path": path, "sourceRef": {"kind": kind, "name": name}}
            where = document.location(at)
            for folder in folders_like(self.root, path) or [path]:
                by = FluxKustomization(document.namespace or _OWN, str(name), {**spec, "path": folder}, where)
                yield from self._begun(by, f"{document.kind} {document.name}")

    def _is_sync(self, document: Document) -> bool:
        """Return whether it is the Kustomization that ``flux bootstrap`` writes: it applies its own file."""
        if not is_kind(document.api_version, document.kind, KUSTOMIZATION):
            return False
        is_inside = self._holds(kustomization_of(document).path, document)
        return is_inside and (os.path.basename(document.path) == _SYNC or document.name == _OWN)

    @property
    def _roots(self) -> dict[str, str]:
        """Real path → path of the files of the Kustomizations that no other file's Kustomization applies."""
        all_ = [
            (os.path.realpath(kustomization.path), kustomization_of(kustomization))
            for kustomization in self.kustomizations
        ]
        named = _named_by((real, by.path) for real, by in all_)
        others = {folder_in(self.root, path.lstrip("/"), self.root): files for path, files in named.items()}
        others.pop(self.root, None)  # the root is rarely applied; other repositories often have no folder
        return {real: by.where.path for real, by in all_ if not _is_applied(real, others)}

    def _themselves(self, roots: Mapping[str, str]) -> Iterator[Entry]:
        """Yield the folders of Kustomizations that apply their own files; a kustomization there may list others."""
        for document in self.kustomizations:
            by = kustomization_of(document)
            if os.path.realpath(document.path) in roots and self._holds(by.path, document):
                yield from self._begun(by)

    def _outermost(self) -> Iterator[Entry]:
        """Yield where Kustomizations begin that no other one applies: folders that apply themselves, else their files;
        for several files, their folder.
        """
        roots = self._roots
        itself = {entry.path: entry for entry in self._themselves(roots)}
        if itself:
            yield from (itself[path] for path in sorted(itself))
            return
        beside: dict[str, list[str]] = {}
        for path in roots.values():
            beside.setdefault(os.path.dirname(path), []).append(path)
        for folder, paths in sorted(beside.items()):
            yield self.entry(folder or os.curdir) if len(paths) > 1 else Entry(paths[0])

    def _begun(self, by: FluxKustomization, made_by: str = "") -> Iterator[Entry]:
        """Yield the entry of a Kustomization's folder; none if that is outside the repository, as behind a link."""
        folder = os.path.normpath(os.path.join(self.root, by.path.lstrip("/")))
        if "\0" not in folder and is_within(os.path.realpath(folder), self.root):
            yield Entry(os.path.relpath(folder), by, made_by)


def first_of(files: Sequence[str], held: Sequence[Sequence[Held]]) -> list[int]:
    """Return the numbers of the files to begin with, so that all are reached; ``held`` has what each of them applies.

    Those that no other file applies, and one of each circle: that which applies itself, if there is one.
    """
    numbers: dict[str, list[int]] = {}
    for number, file in enumerate(files):
        numbers.setdefault(file, []).append(number)
    reaches = _reaches(numbers, {holder for several in held for holder in several})
    namers: dict[Held, set[str]] = {}
    for file, several in zip(files, held, strict=True):
        for holder in several:
            namers.setdefault(holder, set()).add(file)
    by_others = {file for holder, by in namers.items() for file in reaches[holder] if by != {file}}
    applies_itself = [
        any(file in reaches[holder] for holder in several) for file, several in zip(files, held, strict=True)
    ]
    order = sorted(
        range(len(files)), key=lambda number: (files[number] in by_others, not applies_itself[number], number)
    )
    first, reached, reached_files, done = [], set[int](), set[str](), set[Held]()
    for number in order:
        if files[number] in by_others and (number in reached or files[number] in reached_files):
            continue
        first.append(number)
        left = [number]
        while left:
            reached.add(number := left.pop())
            for holder in set(held[number]) - done:
                done.add(holder)
                left += [other for file in reaches[holder] - reached_files for other in numbers[file]]
                reached_files |= reaches[holder]
    return sorted(first)


def _reaches(files: Iterable[str], held: Iterable[Held]) -> dict[Held, set[str]]:
    """Return which of the files each of ``held`` has."""
    inside: dict[str, list[str]] = {}
    for file in files:
        folder = os.path.dirname(file)
        while folder != os.path.dirname(folder):
            inside.setdefault(folder, []).append(file)
            folder = os.path.dirname(folder)
    return {holder: set(filter(holder.holds, inside.get(holder.folder, ()))) for holder in held}


def folders_like(root: str, path: str) -> list[str]:
    """Return the folders of the repository that a path with variables may mean; none if it has no variable."""
    if "${" not in path:
        return []
    folders = [root]
    for part in os.path.normpath(path.lstrip("/")).split(os.sep):
        if "${" in part:
            wanted = "[!.]*".join(map(escape, _VARIABLE.split(part)))
            inside = (folder for folder in folders if is_within(os.path.realpath(folder), root))
            below = ((folder, name) for folder in inside for name in _names_in(folder))
            alike = (os.path.join(folder, name) for folder, name in below if fnmatchcase(name, wanted))
            folders = list(islice(alike, MOST_FOLDERS))
        else:
            folders = [os.path.join(folder, part) for folder in folders]
    return [os.path.relpath(folder, root) for folder in folders if os.path.isdir(folder)]


def _names_in(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _named_by(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """Return folder → the files that name it, of (file, folder)."""
    files_by_folder: dict[str, set[str]] = {}
    for file, folder in pairs:
        files_by_folder.setdefault(folder, set()).add(file)
    return files_by_folder


def _is_applied(real: str, named: Mapping[str, set[str]]) -> bool:
    """Return whether another file names a folder that holds a file."""
    folder = os.path.dirname(real)
    while folder not in named or not named[folder] - {real}:
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return False
    return True


def _installs_instance(document: Document) -> bool:
    spec = mapping(document.value.get("spec"))
    chart = mapping(mapping(spec.get("chart")).get("spec")).get("chart")
    return "flux-instance" in (chart, mapping(spec.get("chartRef")).get("name"), document.name)


def repository_of(path: str, store: Store | None = None) -> Repository:
    """Return the repository that holds a path; the folder itself if it is in none. Raises OSError."""
    root = root_of(path) or os.path.realpath(path)
    return Repository(root, tuple(_documents(root)), store)


def entries_in(root: str, store: Store | None = None) -> tuple[Entry, ...]:
    """Return the entry points of a repository; none if nothing here can build what is applied."""
    if kustomizer() is None:
        return ()
    try:
        return repository_of(root, store).entries()
    except OSError:
        return ()  # whoever reads the files reports the error


def _documents(root: str) -> Iterator[Document]:
    shown = os.path.relpath(root)
    for item in Walk(shown, root).below(shown, root):
        if not isinstance(item, FoundFile) or item.left_out is not None or item.real.endswith(".json"):
            continue
        try:
            data = content_at(item.real, LARGEST)
        except OSError:
            continue  # whoever reads it as a manifest reports the error
        if len(data) <= LARGEST and any(word in data for word in _WORDS):
            file = InputFile(os.path.normpath(item.path), data, real=item.real)
            for entry in documents_of(file, _begins):
                if isinstance(entry, Document) and _begins(entry.api_version, entry.kind):
                    yield entry


def _begins(api_version: object, kind: object) -> bool:
    kinds = (KUSTOMIZATION, INSTANCE, _RELEASE, APPLICATION, APPLICATION_SET)
    return any(is_kind(api_version, kind, begun_kind) for begun_kind in kinds)


class AppliedSet(Struct, frozen=True):
    """What an entry point reaches: the Kustomizations, and what their folders become."""

    entry: Entry
    reached: tuple[str, ...] = ()
    """The Kustomizations or Applications, by name."""
    files: tuple[Found, ...] = ()


def applied_set(repository: Repository, entry: Entry, building: Building) -> AppliedSet:
    """Follow an entry point."""
    if entry.cluster:
        argo = repository.following(place_of_entry(entry.path), building)
        reached = tuple(application.title for application in argo.of(entry.cluster))
        return AppliedSet(entry, reached, tuple(argo.files(entry.cluster)))
    first = repository.first(entry)
    following = Following(building, first[0].source if first else ("", ""))
    following.follow(first)
    files = tuple(following.files())
    if entry.by is None:
        files = (*_own_file(entry.path), *files)
    return AppliedSet(entry, tuple(kustomization.title for kustomization in following.kustomizations), files)


def charts_of_applications(repository: Repository) -> Sequence[Pinned]:
    """Return the charts that the Applications of a repository install from elsewhere. Raises OSError."""
    tool = kustomizer()
    if tool is None or not repository.applications:
        return ()
    return tuple(repository.following(repository.root, Building(repository.root, tool, repository.store)).charts)


NO_TOOL = "neither kubectl nor kustomize is on PATH, so nobody can tell what is applied from here"


def applied_files(
    paths: Iterable[str],
    is_excluded: Callable[[str], bool] | None = None,
    progress: Progress | None = None,
    store: Callable[[], Store | None] | None = None,
    charts: Charts | None = None,
) -> Iterator[Found]:
    """Yield what the folders become that a GitOps controller applies from these entry points."""
    tool = kustomizer()
    for path in paths:
        if tool is None:
            yield InputError(path, NO_TOOL)
            continue
        try:
            place = place_of_entry(path)
            kept = store() if store else None
            repository = repository_of(place if os.path.lexists(place) else os.curdir, kept)
        except OSError as error:
            yield InputError(path, why_unreadable(error))
            continue
        building = Building(repository.root, tool, kept, progress, is_excluded, charts)
        yield from applied_set(repository, repository.entry(path), building).files


def read_by_others(paths: Iterable[str], store: Store | None = None) -> dict[str, str]:
    """Return the files that the sets of other entry points of the repositories are made of, each with one of these."""
    entries_of_files: dict[str, str] = {}
    tool = kustomizer()
    if tool is None:
        return entries_of_files
    for path in paths:
        repository = repository_of(place_of_entry(path), store)
        building = Building(repository.root, tool, store)
        for entry in repository.entries():
            if os.path.normpath(entry.path) != os.path.normpath(path):
                files = applied_set(repository, entry, building).files
                entries_of_files.update(
                    (name, entry.path) for file in files if isinstance(file, InputFile) for name in _names(file)
                )
    return entries_of_files


def _names(file: InputFile) -> Iterator[str]:
    """Yield the files of the repository that a file of a set is made of."""
    yield from [file.path] if file.rendering is None else (origin.path for origin in file.rendering.files)


def _own_file(path: str) -> Iterator[Found]:
    try:
        yield InputFile(path, whole(path, LARGEST), real=os.path.realpath(path), is_named=True)
    except OSError as error:
        yield InputError(path, why_unreadable(error))


def place_of_entry(path: str) -> str:
    """Return the folder or file of an entry, without the cluster behind it."""
    return path if os.path.lexists(path) or MARK not in path else path.rpartition(MARK)[0]


def names_of(entries: Iterable[Entry]) -> list[str]:
    """Return a name for each entry: the last part of its path that tells it apart, as ``production``."""
    parts = [_parts(entry.path) for entry in entries]
    names = []
    for own in parts:
        others = [other for other in parts if other is not own]
        depth = next((n for n in range(1, len(own) + 1) if all(other[-n:] != own[-n:] for other in others)), len(own))
        names.append("-".join(own[-depth:]))
    return [
        f"{name}-{names[:number].count(name) + 1}" if name in names[:number] else name
        for number, name in enumerate(names)
    ]


def _parts(path: str) -> list[str]:
    """Return the folders of a path; those of a file without names that say nothing."""
    if place_of_entry(path) != path:
        return [*_parts(place_of_entry(path)), path.rpartition(MARK)[2]]
    folder = path if not path.endswith((".yaml", ".yml")) else os.path.dirname(path) or path
    return [part for part in os.path.normpath(folder).split(os.sep) if part not in (os.curdir, os.pardir)] or ["root"]
