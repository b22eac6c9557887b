"""Follow Kustomizations of Flux: build the folder of each, fill in its variables, and follow those in the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.findings import InputError
from kubesched_lint.sources.delivery.flux_objects import (
    DEFAULT_NAMESPACE,
    KUSTOMIZATION,
    FluxKustomization,
    is_kind,
    mapping,
)
from kubesched_lint.sources.delivery.namespaced import without_namespace
from kubesched_lint.sources.manifests.document import REMOTE_KUSTOMIZATION, RENDERED, Delivery, Document, Skipped
from kubesched_lint.sources.manifests.filling import Filling
from kubesched_lint.sources.manifests.flux import folder_in
from kubesched_lint.sources.manifests.inputs import InputFile, Progress
from kubesched_lint.sources.manifests.kustomize.copy import KustomizeTree
from kubesched_lint.sources.manifests.kustomize.kustomizing import Store, render_trees
from kubesched_lint.sources.manifests.kustomize.overlays import outcome_of
from kubesched_lint.sources.manifests.kustomize.tools import Tool
from kubesched_lint.sources.manifests.kustomize.tree import tree_applied
from kubesched_lint.sources.manifests.limits import MOST_FOLDERS
from kubesched_lint.sources.manifests.loader import documents_of

if TYPE_CHECKING:
    from kubesched_lint.sources.charts.rendering import Charts

Found = InputFile | Skipped | InputError
_REPOSITORY = ("source.toolkit.fluxcd.io", "GitRepository")


class Building(Struct, frozen=True):
    """How folders are built: in the repository ``root``, by ``tool``; ``is_excluded`` tells folders that are not."""

    root: str
    tool: Tool
    store: Store | None = None
    progress: Progress | None = None
    is_excluded: Callable[[str], bool] | None = None
    charts: Charts | None = None
    """Charts that were pulled; None: no chart is rendered."""


class _Built(Struct):
    """A Kustomization with what its folder became; ``is_final``: it was found in its own output."""

    by: FluxKustomization
    outcome: Found | None = None
    documents: tuple[Document, ...] = ()
    is_final: bool = False


class Following:
    """One set: the Kustomizations that were reached, by title, and what their folders became."""

    def __init__(self, building: Building, source: tuple[str, str]) -> None:
        self._building = building
        self._source = source
        self._built: dict[str, _Built] = {}
        self._aside: dict[str, Found] = {}
        self._maps: dict[tuple[str, str], dict[str, str]] = {}
        self._secrets: dict[tuple[str, str], frozenset[str]] = {}
        self._addresses: dict[str, str] = {}
        self._creators: dict[str, str] = {}

    def follow(self, first: Iterable[FluxKustomization]) -> None:
        """Build the Kustomizations, and all that they reach."""
        wave = [self._admitted(kustomization) for kustomization in first]
        while any(wave):
            self._build([built for built in wave if built is not None])
            children = [(built.by, child) for built in wave if built is not None for child in self._children(built)]
            for by, child in children:
                self._creators.setdefault(child.title, by.title)
            wave = [self._admitted(child) for _, child in children]

    @property
    def kustomizations(self) -> Sequence[FluxKustomization]:
        return [built.by for built in self._built.values()]

    def files(self) -> Iterator[Found]:
        """Yield what the folders became, with the variables of all ConfigMaps of the set."""
        paths: set[str] = set()
        for built in self._built.values():
            outcome = built.outcome
            if isinstance(outcome, InputFile):
                filling = self._filling(built.by) if b"${" in outcome.data else None
                delivered_by = replace(_delivery(built.by), after=tuple(sorted(self._awaited(built.by))))
                outcome = replace(outcome, filling=filling, delivered_by=delivered_by)
                if outcome.path in paths:
                    outcome = replace(
                        outcome, path=f"{outcome.path.removesuffix(RENDERED)} for {built.by.title}{RENDERED}"
                    )
                paths.add(outcome.path)
            wrong = built.by.wrong_variable(self._maps)
            if wrong and outcome is not None:
                place, span = built.by.where.path, built.by.where.span
                words = f"Flux applies nothing of Kustomization {built.by.title}: {wrong}"
                outcome = InputError(place, words, span.line, span.column)
            if outcome is not None:
                yield outcome
        yield from self._aside.values()

    def _awaited(self, by: FluxKustomization) -> set[str]:
        """Return what must be ready before a Kustomization is applied, and what creates it, also through others."""
        awaited: set[str] = set()
        left = [by.title]
        while left:
            title = left.pop()
            known = self._built.get(title)
            creator = self._creators.get(title)
            before = {*(known.by.awaited if known else ()), *([creator] if creator else [])} - awaited
            awaited |= before
            left += before
        return {f"Kustomization {title}" for title in awaited - {by.title}}

    def _filling(self, by: FluxKustomization) -> Filling | None:
        variables = by.variables(self._maps, self._secrets)
        return None if variables is None else Filling((variables,))

    # --- reaching -----------------------------------------------------------------------------------------------------

    def _admitted(self, by: FluxKustomization) -> _Built | None:
        """Return what is to be built; None for what was reached before, or is not applied from here."""
        known = self._built.get(by.title)
        if known is not None and (known.is_final or known.by.spec == by.spec):
            return None
        if by.title in self._aside:
            return None
        aside = self._why_aside(by)
        if aside is not None:
            self._aside[by.title] = aside
            return None
        self._built[by.title] = _Built(by, is_final=known is not None)
        return self._built[by.title]

    def _why_aside(self, by: FluxKustomization) -> Found | None:
        place, span = by.where.path, by.where.span
        if len(self._built) >= MOST_FOLDERS:
            return InputError(place, f"not read: the set has more than {MOST_FOLDERS:,} Kustomizations", span.line)
        if by.spec.get("suspend") is True:
            return Skipped(place, span.line, f"Kustomization {by.title} is suspended: Flux applies nothing of it")
        if by.spec.get("kubeConfig"):
            return Skipped(place, span.line, f"Kustomization {by.title} is applied to another cluster (kubeConfig)")
        if not self._is_own(by.source):
            words = f"Kustomization {by.title} takes it from {' '.join(by.source)}, which is not this repository"
            return Skipped(place, span.line, words, unrendered=REMOTE_KUSTOMIZATION)
        if not self._folder(by):
            words = (
                f"Kustomization {by.title} applies {by.path}, {self._why_absent(by.path)}: Flux applies nothing of it"
            )
            return InputError(place, words, span.line, span.column)
        if self._building.is_excluded and self._building.is_excluded(os.path.relpath(self._folder(by))):
            return Skipped(place, span.line, f"{by.path} is excluded", left_out=1)
        return None

    def _folder(self, by: FluxKustomization) -> str:
        root, path = self._building.root, by.path.lstrip("/")
        real_folder = folder_in(root, path, root)
        return real_folder if real_folder == os.path.normpath(os.path.join(root, path)) else ""

    def _why_absent(self, path: str) -> str:
        if folder_in(self._building.root, path.lstrip("/"), self._building.root):
            return "a link, which Flux leaves out of what it fetches"
        return "which has a variable that nobody defines" if "${" in path else "and there is no such folder"

    def _is_own(self, source: tuple[str, str]) -> bool:
        if not any(source):
            return True
        if source[0] == "ExternalArtifact":
            return False
        if not any(self._source):
            self._source = source
        theirs, ours = self._addresses.get(source[1]), self._addresses.get(self._source[1])
        return source == self._source or (theirs is not None and theirs == ours)

    # --- building -----------------------------------------------------------------------------------------------------

    def _build(self, wave: Sequence[_Built]) -> None:
        trees = [
            tree_applied(os.path.relpath(self._folder(built.by)), self._building.root, built.by.applier)
            for built in wave
        ]
        whole = [tree for tree in trees if tree.obstacle is None]
        done = render_trees(whole, self._building.tool, self._building.store, self._building.progress)
        for built, tree in zip(wave, trees, strict=True):
            outcome = tree.obstacle or outcome_of(tree, self._building.tool, done[tree.key])
            built.documents = tuple(_documents(outcome)) if isinstance(outcome, InputFile) else ()
            built.outcome = self._placed(_told(outcome, tree, built.by), built.by)
            if not isinstance(built.outcome, InputFile):  # its own output may still say how it is built
                built.documents = tuple(document for document in built.documents if _is_itself(document, built.by))
        for built in wave:
            self._learn(built)

    def _placed(self, outcome: Found, by: FluxKustomization) -> Found:
        """Return what a folder became; an error at its first object that needs a namespace and has none.

        Nothing says with which settings a folder is applied that a person names: it has no line.
        """
        if not isinstance(outcome, InputFile) or not by.where.span.line:
            return outcome
        filled = replace(outcome, filling=self._filling(by), delivered_by=_delivery(by))
        document = next(without_namespace(filled), None)
        if document is None:
            return outcome
        written = document.location(("metadata", "name"))
        where = written.near or written
        words = (
            f"{document.kind}/{document.name} namespace not specified: the server could not find the requested "
            f"resource: Flux applies nothing of Kustomization {by.title}; set metadata.namespace, kustomization.yaml's "
            "namespace or spec.targetNamespace"
        )
        return InputError(where.path, words, where.span.line, where.span.column)

    def _learn(self, built: _Built) -> None:
        """Remember the ConfigMaps, the names in Secrets, and the addresses of repositories."""
        filling = self._filling(built.by)
        for document in built.documents:
            read = document if filling is None or document.kind == "Secret" else filling.filled(document)
            at = (read.namespace or DEFAULT_NAMESPACE, read.name)
            if read.kind == "ConfigMap":
                data = mapping(read.value.get("data"))
                self._maps[at] = {str(name): value for name, value in data.items() if isinstance(value, str)}
            elif read.kind == "Secret":
                keys = (mapping(read.value.get(field)).keys() for field in ("data", "stringData"))
                self._secrets[at] = frozenset().union(*keys)
            elif read.kind == _REPOSITORY[1]:
                self._addresses[read.name] = str(mapping(read.value.get("spec")).get("url"))

    def _children(self, built: _Built) -> Iterator[FluxKustomization]:
        filling = self._filling(built.by)
        for document in built.documents:
            if document.kind == KUSTOMIZATION[1]:
                yield kustomization_of(document if filling is None else filling.filled(document))


def kustomization_of(document: Document) -> FluxKustomization:
    """Return the Kustomization of a document."""
    spec = mapping(document.value.get("spec"))
    where = document.location(("spec", "path"))
    return FluxKustomization(document.namespace or DEFAULT_NAMESPACE, document.name, spec, where)


def _is_itself(document: Document, by: FluxKustomization) -> bool:
    return is_kind(document.api_version, document.kind, KUSTOMIZATION) and kustomization_of(document).title == by.title


def _delivery(by: FluxKustomization) -> Delivery:
    return Delivery(f"Kustomization {by.title}")


def is_followed(api_version: object, kind: object) -> bool:
    """Return whether a document tells what else a set reaches, or what variables become."""
    is_plain = api_version == "v1" and kind in ("ConfigMap", "Secret")
    return is_plain or any(is_kind(api_version, kind, followed_kind) for followed_kind in (KUSTOMIZATION, _REPOSITORY))


def _documents(file: InputFile) -> Iterator[Document]:
    for entry in documents_of(file, is_followed):
        if isinstance(entry, Document) and is_followed(entry.api_version, entry.kind):
            yield entry


def _told(outcome: Found, tree: KustomizeTree, by: FluxKustomization) -> Found:
    """Return what a folder became; an error at its own line, else at the line that names the folder."""
    if isinstance(outcome, InputFile):
        return outcome
    words = f"Flux applies nothing of Kustomization {by.title}"
    if isinstance(outcome, Skipped):
        return replace(outcome, unrendered="kustomization", reason=outcome.reason)
    if outcome.line:
        return replace(outcome, message=f"{outcome.message}: {words}")
    inside = os.path.normpath(tree.folder)
    place, span = by.where.path, by.where.span
    return InputError(place, f"{words}, because {inside} does not build: {outcome.message}", span.line, span.column)
