"""Follow Applications of Argo CD: read the folder of each, and follow the Applications in it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.files import whole
from kubesched_lint.findings import InputError
from kubesched_lint.sources.charts.inflating import inflating
from kubesched_lint.sources.charts.lock import LockError, Pinned
from kubesched_lint.sources.charts.rendering import Asked, NoHelmError
from kubesched_lint.sources.delivery.argocd_charts import CannotRenderError, asked_of, chart_of
from kubesched_lint.sources.delivery.argocd_objects import (
    APPLICATION,
    APPLICATION_SET,
    Application,
    CannotMakeError,
    application_of,
    applications_of,
    is_open,
)
from kubesched_lint.sources.delivery.argocd_sources import (
    HELM,
    KUSTOMIZE,
    changed_by,
    files_in,
    held_in,
    kinds_of,
    overridden,
    plain_address,
)
from kubesched_lint.sources.delivery.flux import Building, Found
from kubesched_lint.sources.delivery.flux_objects import is_kind, mapping
from kubesched_lint.sources.manifests.chart_folders.chart_folder import obstacle_in
from kubesched_lint.sources.manifests.document import CHART, RENDERED, Delivery, Document, Skipped, Written
from kubesched_lint.sources.manifests.filling import Homing
from kubesched_lint.sources.manifests.flux import folder_in
from kubesched_lint.sources.manifests.inputs import LARGEST, SUFFIXES, InputFile
from kubesched_lint.sources.manifests.kustomize.copy import KustomizeTree
from kubesched_lint.sources.manifests.kustomize.kustomizing import Outcome, render_trees
from kubesched_lint.sources.manifests.kustomize.overlays import outcome_of, written
from kubesched_lint.sources.manifests.kustomize.tree import Applier, tree_applied
from kubesched_lint.sources.manifests.limits import MOST_FILES, MOST_FOLDERS
from kubesched_lint.sources.manifests.loader import documents_of
from kubesched_lint.sources.manifests.rendered.charts import Made, chart_rendering
from kubesched_lint.sources.manifests.walking import why_unreadable

_JSONNET = ".jsonnet"
_LEAVES_OUT = b"+argocd:skip-file-rendering"
"""In a file that Argo CD does not apply."""


class _Wanted(Struct, frozen=True):
    """A folder that is still to be built."""

    application: Application
    tree: KustomizeTree


class _Charted(Struct, frozen=True):
    """A chart that is still to be rendered; ``folder`` has it, as shown, if it is in the repository."""

    application: Application
    asked: Asked
    folder: str = ""


class ArgoFollowing:
    """The Applications that are reached, and what their folders become, by cluster."""

    def __init__(self, building: Building, addresses: Iterable[str]) -> None:
        self._building = building
        self._own = {plain_address(address) for address in addresses}
        self.applications: dict[str, Application] = {}
        self._found: dict[str, list[Found]] = {}
        self._aside: dict[str, Found] = {}
        self.charts: dict[Pinned, None] = {}
        """The charts that Applications install from elsewhere."""

    def follow(self, first: Iterable[Document]) -> None:
        """Read the Applications, and all that they reach."""
        wave = [made for document in first for made in self._made(document)]
        while wave:
            new = [application for application in wave if self._is_new(application)]
            self._read(new)
            wave = [
                made for application in new for document in self._children(application) for made in self._made(document)
            ]

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
                why = why_unreadable(error) if isinstance(error, OSError) else str(error)
                yield Application(document.name, {}, document.location(()), why, APPLICATION_SET[1])

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
        reads_by_title = {
            application.title: [each for source in application.sources for each in self._of_source(application, source)]
            for application in wave
        }
        trees = [each.tree for several in reads_by_title.values() for each in several if isinstance(each, _Wanted)]
        whole = [tree for tree in trees if tree.obstacle is None]
        building = self._building
        done = render_trees(whole, building.tool, building.store, building.progress) if whole else {}
        charted = [each for several in reads_by_title.values() for each in several if isinstance(each, _Charted)]
        made = dict(zip(map(id, charted), self._rendered(charted), strict=True))
        for title, several in reads_by_title.items():
            self._found[title] = [
                self._built(each, done)
                if isinstance(each, _Wanted)
                else made[id(each)]
                if isinstance(each, _Charted)
                else each
                for each in several
            ]

    def _rendered(self, charted: Sequence[_Charted]) -> Iterator[Found]:
        """Yield what charts become; one error if no chart can be rendered."""
        charts = self._building.charts
        if charts is None or not charted:
            return
        try:
            made = charts.made([each.asked for each in charted])
        except (LockError, NoHelmError) as error:
            self._aside.setdefault("charts", InputError(charts.lock, str(error)))
            made = [Made(why="its chart is not rendered")] * len(charted)
        for each, rendered in zip(charted, made, strict=True):
            if rendered.is_refused:
                place, span = each.application.where.path, each.application.where.span
                self._aside.setdefault(rendered.why, InputError(place, rendered.why, span.line, span.column))
            yield each.application.not_read(rendered.why) if rendered.why else _installed(each, rendered.text)

    def _children(self, application: Application) -> Iterator[Document]:
        """Yield the Applications in what the folders of an Application became."""
        for each in self._found[application.title]:
            if isinstance(each, InputFile):
                for entry in documents_of(each, _is_followed):
                    if isinstance(entry, Document) and _is_followed(entry.api_version, entry.kind):
                        yield entry

    def _of_source(self, application: Application, source: Mapping[str, Any]) -> Iterator[Found | _Wanted | _Charted]:
        place, span = application.where.path, application.where.span
        named, path = application.title, source.get("path")
        if application.why:
            yield application.not_read(application.why)
        elif source.get("plugin") is not None:
            yield application.not_read("a plugin makes what it applies")
        elif source.get("chart"):
            yield self._of_chart(application, source)
        elif not isinstance(path, str):
            if not source.get("ref"):
                yield application.not_read("it names no folder")
        elif is_open([path, source.get("repoURL")]):
            yield application.not_read(f"{path} is a template that nobody fills")
        elif not self._is_own(source):
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

    def _of_chart(self, application: Application, source: Mapping[str, Any], folder: str = "") -> Found | _Charted:
        """Return a chart that is to be rendered, from the repository if it is in ``folder``; else why it is not."""
        shown = os.path.relpath(folder) if folder else ""
        obstacle = obstacle_in(shown) if folder and self._building.charts is not None else None
        if obstacle is not None:
            return obstacle
        own = [
            str(source_entry["ref"])
            for source_entry in application.sources
            if source_entry.get("ref") and self._is_own(source_entry)
        ]
        try:
            if not folder:
                self.charts[chart_of(source)] = None
            if self._building.charts is None:
                return application.not_read(f"it installs the chart {source.get('chart')}")
            return _Charted(application, asked_of(application, source, self._building.root, own, folder), shown)
        except CannotRenderError as error:
            is_asked = self._building.charts is not None
            return application.not_read(str(error) if is_asked else f"it installs the chart {source.get('chart')}")

    def _is_own(self, source: Mapping[str, Any]) -> bool:
        return plain_address(str(source.get("repoURL"))) in self._own

    def _of_folder(
        self, application: Application, source: Mapping[str, Any], folder: str
    ) -> Iterator[Found | _Wanted | _Charted]:
        shown = os.path.relpath(folder)
        try:
            source = overridden(source, folder, application.name, self._building.root)
        except OSError as error:
            yield application.not_read(f"{shown}: {why_unreadable(error)}")
            return
        kinds = kinds_of(folder, source)
        if len(kinds) > 1:
            words = f"{application.title} sets {' and '.join(kinds)}, and may set one: Argo CD applies nothing of it"
            place, span = application.where.path, application.where.span
            yield InputError(place, words, span.line, span.column)
        elif kinds == [HELM] and self._building.charts is None:
            reason = f"Application {application.name} renders a chart: its templates are not read"
            yield Skipped(shown, 0, reason, unrendered=CHART)
        elif kinds == [HELM]:
            yield self._of_chart(application, source, folder)
        elif kinds == [KUSTOMIZE]:
            settings, charts = mapping(source.get("kustomize")), self._building.charts
            inflate = None if charts is None else inflating(charts)
            change = partial(changed_by, settings)
            by = Applier(application.name, change, application.where, is_flux=False)
            yield _Wanted(application, tree_applied(shown, self._building.root, by, inflate))
        else:
            yield from self._files(application, mapping(source.get("directory")), folder, shown)

    def _built(self, wanted: _Wanted, done: Mapping[str, Outcome]) -> Found:
        application, tree = wanted.application, wanted.tree
        outcome = tree.obstacle or outcome_of(tree, self._building.tool, done[tree.key])
        if isinstance(outcome, InputFile):
            return replace(outcome, filling=Homing(application.namespace), delivered_by=Delivery(application.title))
        words = f"Argo CD applies nothing of Application {application.name}"
        if isinstance(outcome, Skipped):
            return replace(outcome, unrendered="kustomization")
        if outcome.line:
            return replace(outcome, message=f"{outcome.message}: {words}")
        place, span = application.where.path, application.where.span
        return InputError(
            place, f"{words}, because {tree.folder} does not build: {outcome.message}", span.line, span.column
        )

    def _files(
        self, application: Application, directory: Mapping[str, Any], folder: str, shown: str
    ) -> Iterator[Found]:
        held = held_in(folder, directory)
        suffixes = ("",) if directory.get("disableExtensionFilter") else SUFFIXES
        paths_held = list(islice(filter(held.holds, files_in(folder, held)), MOST_FILES + 1))
        if len(paths_held) > MOST_FILES:
            yield application.not_read(f"{shown} has more than {MOST_FILES:,} files")
        if any(path.endswith(_JSONNET) for path in paths_held):
            yield application.not_read(f"Jsonnet in {shown} is not read")
        for path in paths_held:
            real = os.path.realpath(path)
            if path.endswith(_JSONNET) or not path.endswith(suffixes) or (real != path and not os.path.isfile(real)):
                continue
            name = os.path.relpath(path)
            try:
                data = whole(path, LARGEST, root=self._building.root)
            except OSError as error:
                yield InputError(name, why_unreadable(error))
                continue
            if _LEAVES_OUT not in data:
                by = Delivery(application.title)
                yield InputFile(name, data, real=real, filling=Homing(application.namespace), delivered_by=by)


def _installed(charted: _Charted, text: str) -> InputFile:
    """Return what Helm wrote: blamed on the templates in the repository, else on the Application."""
    application, folder = charted.application, charted.folder

    def find(name: str) -> Written | None:
        return written(os.path.normpath(os.path.join(folder, name.partition("/")[2])), folder) if folder else None

    rendering = chart_rendering(text, f"helm template {folder or charted.asked.chart}", find)
    return InputFile(
        f"{application.title}{RENDERED}",
        text.encode("utf-8", "surrogateescape"),
        rendering=None if rendering is None else replace(rendering, release=application.where),
        filling=Homing(charted.asked.namespace),
        delivered_by=Delivery(application.title),
    )


def _is_followed(api_version: object, kind: object) -> bool:
    return any(is_kind(api_version, kind, followed_kind) for followed_kind in (APPLICATION, APPLICATION_SET))
