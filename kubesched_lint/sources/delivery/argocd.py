"""Follow Applications of Argo CD: read the folder of each, and follow the Applications in it."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.files import content_at
from kubesched_lint.findings import InputError
from kubesched_lint.limits import LARGEST_SETTINGS
from kubesched_lint.sources.delivery.argocd_objects import (
    APPLICATION,
    APPLICATION_SET,
    Application,
    CannotMakeError,
    application_of,
    applications_of,
    is_open,
)
from kubesched_lint.sources.delivery.flux import Building, Found
from kubesched_lint.sources.delivery.flux_objects import is_kind, listed, mapping
from kubesched_lint.sources.manifests.document import CHART, Delivery, Document, Skipped
from kubesched_lint.sources.manifests.filling import Homing
from kubesched_lint.sources.manifests.flux import folder_in
from kubesched_lint.sources.manifests.inputs import KUSTOMIZATIONS, LARGEST, SUFFIXES, InputFile
from kubesched_lint.sources.manifests.kustomize.copy import KustomizeTree
from kubesched_lint.sources.manifests.kustomize.kustomizing import Outcome, render_trees
from kubesched_lint.sources.manifests.kustomize.overlays import outcome_of
from kubesched_lint.sources.manifests.kustomize.tree import Applier, tree_applied
from kubesched_lint.sources.manifests.limits import MOST_FOLDERS
from kubesched_lint.sources.manifests.loader import documents_of
from kubesched_lint.sources.manifests.walking import Found as FoundFile
from kubesched_lint.sources.manifests.walking import Walk


class _Wanted(Struct, frozen=True):
    """A folder that is still to be built."""

    application: Application
    tree: KustomizeTree


class ArgoFollowing:
    """The Applications that are reached, and what their folders become, by cluster."""

    def __init__(self, building: Building, addresses: Iterable[str]) -> None:
        self._building = building
        self._own = {_plain(address) for address in addresses}
        self.applications: dict[str, Application] = {}
        self._found: dict[str, list[Found]] = {}
        self._aside: dict[str, Found] = {}

    def follow(self, first: Iterable[Document]) -> None:
        """Read the Applications, and all that they reach."""
        wave = [made for document in first for made in self._made(document)]
        while wave:
            new = [one for one in wave if self._is_new(one)]
            self._read(new)
            wave = [made for one in new for document in self._children(one) for made in self._made(document)]

    @property
    def clusters(self) -> Sequence[str]:
        return sorted({application.cluster for application in self.applications.values()})

    def of(self, cluster: str) -> list[Application]:
        return [application for application in self.applications.values() if application.cluster == cluster]

    def files(self, cluster: str) -> Iterator[Found]:
        """Yield what a cluster gets."""
        for application in self.of(cluster):
            yield from self._found[application.title]
        yield from self._aside.values()

    def _made(self, document: Document) -> Iterator[Application]:
        if is_kind(document.api_version, document.kind, APPLICATION):
            yield application_of(document)
        elif is_kind(document.api_version, document.kind, APPLICATION_SET):
            try:
                yield from applications_of(document, self._building.root)
            except (CannotMakeError, OSError) as error:
                yield Application(document.name, {}, document.location(()), str(error), APPLICATION_SET[1])

    def _is_new(self, application: Application) -> bool:
        known = self.applications.get(application.title)
        place, line = application.where.path, application.where.span.line
        if known is None and len(self.applications) < MOST_FOLDERS:
            self.applications[application.title] = application
            return True
        if known is None:
            words = f"not read: the set has more than {MOST_FOLDERS:,} Applications"
            self._aside.setdefault("", InputError(place, words, line))
        elif known.spec != application.spec:
            self._aside.setdefault(application.title, application.not_read("another one was read before it"))
        return False

    def _read(self, wave: Sequence[Application]) -> None:
        """Read the folders of Applications; all that have to be built, together."""
        found = {one.title: [each for source in one.sources for each in self._of_source(one, source)] for one in wave}
        trees = [each.tree for several in found.values() for each in several if isinstance(each, _Wanted)]
        whole = [tree for tree in trees if tree.obstacle is None]
        building = self._building
        done = render_trees(whole, building.tool, building.store, building.progress) if whole else {}
        for title, several in found.items():
            self._found[title] = [self._built(each, done) if isinstance(each, _Wanted) else each for each in several]

    def _children(self, application: Application) -> Iterator[Document]:
        """Yield the Applications in what the folders of an Application became."""
        for each in self._found[application.title]:
            if isinstance(each, InputFile):
                for entry in documents_of(each, _is_followed):
                    if isinstance(entry, Document) and _is_followed(entry.api_version, entry.kind):
                        yield entry

    def _of_source(self, application: Application, source: Mapping[str, Any]) -> Iterator[Found | _Wanted]:
        place, span = application.where.path, application.where.span
        named, path = application.title, source.get("path")
        if application.why:
            yield application.not_read(application.why)
        elif source.get("chart"):
            yield application.not_read(f"it installs the chart {source['chart']}")
        elif not isinstance(path, str):
            if not source.get("ref"):
                yield application.not_read("it names no folder")
        elif is_open((path, source.get("repoURL"))) or is_open([path]):
            yield application.not_read(f"{path} is a template that nobody fills")
        elif _plain(str(source.get("repoURL"))) not in self._own:
            yield application.not_read(f"it takes it from {source.get('repoURL')}")
        else:
            folder = folder_in(self._building.root, path.lstrip("/"), self._building.root)
            is_excluded = self._building.is_excluded
            if folder and is_excluded and is_excluded(os.path.relpath(folder)):
                yield Skipped(place, span.line, f"{path} is excluded", left_out=1)
            elif folder:
                yield from self._of_folder(application, source, folder)
            else:
                words = f"{named} applies {path}, and there is no such folder: Argo CD applies nothing of it"
                yield InputError(place, words, span.line, span.column)

    def _of_folder(self, application: Application, source: Mapping[str, Any], folder: str) -> Iterator[Found | _Wanted]:
        shown = os.path.relpath(folder)
        if _is_chart(folder, source):
            reason = f"Application {application.name} renders a chart: its templates are not read"
            yield Skipped(shown, 0, reason, unrendered=CHART)
        elif _is_kustomization(folder, source):
            settings = mapping(source.get("kustomize"))
            by = Applier(application.name, lambda value: _changed(value, settings), application.where)
            yield _Wanted(application, tree_applied(shown, self._building.root, by))
        else:
            yield from self._files(application, mapping(source.get("directory")), folder, shown)

    def _built(self, wanted: _Wanted, done: Mapping[str, Outcome]) -> Found:
        application, tree = wanted.application, wanted.tree
        found = tree.obstacle or outcome_of(tree, self._building.tool, done[tree.key])
        if isinstance(found, InputFile):
            return replace(found, filling=Homing(application.namespace), delivered_by=Delivery(application.title))
        words = f"Argo CD applies nothing of Application {application.name}"
        if isinstance(found, Skipped):
            return replace(found, unrendered="kustomization")
        if found.line:
            return replace(found, message=f"{found.message}: {words}")
        place, span = application.where.path, application.where.span
        return InputError(
            place, f"{words}, because {tree.folder} does not build: {found.message}", span.line, span.column
        )

    def _files(
        self, application: Application, directory: Mapping[str, Any], folder: str, shown: str
    ) -> Iterator[Found]:
        held = held_in(folder, directory)
        for item in Walk(shown, self._building.root).below(shown, folder):
            if not isinstance(item, FoundFile):
                if isinstance(item, InputError):
                    yield item
                continue
            if not item.real.endswith(SUFFIXES) or not held.holds(item.real):
                continue
            try:
                data = content_at(item.real, LARGEST)
            except OSError as error:
                yield InputError(item.path, (error.strerror or str(error)).lower())
                continue
            yield InputFile(
                os.path.normpath(item.path),
                data,
                real=item.real,
                filling=Homing(application.namespace),
                delivered_by=Delivery(application.title),
            )


def addresses_in(documents: Iterable[Document], root: str) -> list[str]:
    """Return the addresses of this repository: those that most Applications give for folders that are in it."""
    found: Counter[str] = Counter()
    for document in documents:
        spec = mapping(document.value.get("spec"))
        spec = mapping(mapping(spec.get("template")).get("spec")) or spec
        for source in (mapping(spec.get("source")), *map(mapping, listed(spec.get("sources")))):
            path, address = source.get("path"), source.get("repoURL")
            is_here = isinstance(path, str) and ("{{" in path or folder_in(root, path.lstrip("/"), root))
            if is_here and isinstance(address, str) and "{{" not in address:
                found[_plain(address)] += 1
    return [address for address, _ in found.most_common(1)]


class Held(Struct, frozen=True):
    """The files of a folder that an Application applies; ``below``: also those in folders below it.

    ``wanted`` and ``left_out`` are patterns of paths in the folder.
    """

    folder: str
    below: bool = True
    wanted: re.Pattern[str] | None = None
    left_out: re.Pattern[str] | None = None

    def holds(self, file: str) -> bool:
        """Return whether a file in the folder is one of them; both are paths without links."""
        path = file.removeprefix(self.folder).lstrip(os.sep)
        if os.sep in path and not self.below:
            return False
        return not (self.wanted and not self.wanted.match(path)) and not (self.left_out and self.left_out.match(path))


def held_in(folder: str, directory: Mapping[str, Any]) -> Held:
    wanted, left_out = (_pattern(directory.get(key)) for key in ("include", "exclude"))
    return Held(folder, bool(directory.get("recurse")), wanted, left_out)


def held_by(document: Document, own: Sequence[str], root: str) -> Iterator[Held]:
    """Yield what an Application applies of this repository, at the addresses ``own``; of a kustomization, any file.

    Nothing for an ApplicationSet, whose templates have no path yet.
    """
    spec = mapping(document.value.get("spec"))
    for source in (mapping(spec.get("source")), *map(mapping, listed(spec.get("sources")))):
        path = source.get("path")
        is_named = isinstance(path, str) and is_kind(document.api_version, document.kind, APPLICATION)
        folder = folder_in(root, str(path).lstrip("/"), root) if is_named else ""
        if folder and _plain(str(source.get("repoURL"))) in own and not _is_chart(folder, source):
            is_listed = _is_kustomization(folder, source)
            yield Held(folder) if is_listed else held_in(folder, mapping(source.get("directory")))


def _is_chart(folder: str, source: Mapping[str, Any]) -> bool:
    return bool(source.get("chart") or source.get("helm")) or os.path.lexists(os.path.join(folder, "Chart.yaml"))


def _is_kustomization(folder: str, source: Mapping[str, Any]) -> bool:
    return bool(source.get("kustomize")) or any(os.path.lexists(os.path.join(folder, name)) for name in KUSTOMIZATIONS)


def _is_followed(api_version: object, kind: object) -> bool:
    return any(is_kind(api_version, kind, one) for one in (APPLICATION, APPLICATION_SET))


def _changed(value: dict[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the kustomization with what an Application sets in it."""
    changed = dict(value)
    for key in ("namePrefix", "nameSuffix", "namespace"):
        if settings.get(key):
            changed[key] = settings[key]
    for key in ("patches", "components", "replicas"):
        if settings.get(key):
            changed[key] = [*listed(value.get(key)), *listed(settings[key])]
    if settings.get("commonLabels"):
        changed["commonLabels"] = {**mapping(value.get("commonLabels")), **mapping(settings["commonLabels"])}
    return changed


def _plain(address: str) -> str:
    """Return the address of a repository without what two spellings of it may differ in."""
    text = address.strip().lower().removesuffix("/").removesuffix(".git")
    text = text.partition("://")[2] or text
    return text.rpartition("@")[2].replace(":", "/")


def _pattern(text: object) -> re.Pattern[str] | None:
    """Return what a pattern of file names means, None if there is none; ``*`` is any text, also with /."""
    plain = _without_braces(text) if isinstance(text, str) and text else ()
    return re.compile("|".join(map(translate, plain))) if plain else None


def _without_braces(pattern: str) -> Sequence[str]:
    """Return the patterns that ``{a,b}`` stands for; itself if they are too many or too long, which no file name is
    like.
    """
    done: list[str] = []
    made = 0
    left = [pattern]
    while left and len(left) + len(done) <= MOST_FOLDERS:
        one = left.pop()
        start = one.rfind("{")
        end = one.find("}", start)
        if start < 0 or end < 0:
            done.append(one)
        else:
            choices = one[start + 1 : end].split(",")
            made += len(choices) * len(one)
            if made > LARGEST_SETTINGS:
                return [pattern]
            left += [one[:start] + choice + one[end + 1 :] for choice in choices]
    return [pattern] if left else done
