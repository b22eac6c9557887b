"""Folders with workloads that no target reads: a team that writes a new one must not believe that it is checked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kubesched_lint.commands.lint.remarks import with_notes
from kubesched_lint.commands.lint.run import entries_of, scope_of
from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.files import content, is_within
from kubesched_lint.findings import InputError, Report
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.sources.manifests.document import RENDERED, Document, sources_of
from kubesched_lint.sources.manifests.inputs import KUSTOMIZATIONS, LARGEST
from kubesched_lint.sources.manifests.loader import find_files

if TYPE_CHECKING:
    from kubesched_lint.linter.options import Options
    from kubesched_lint.project.config.keys import Target
    from kubesched_lint.sources.manifests.inputs import Input

ERROR, NOTE = "error", "note"
"""The values of the configuration's key ``unclaimed``."""


def with_unclaimed(report: Report, words: str, configuration: str, *, is_error: bool) -> Report:
    """Return the report that says so, as an error of the configuration or as a note; unchanged without ``words``."""
    if not words:
        return report
    if is_error:
        return replace(report, errors=(*report.errors, InputError(configuration, words)))
    return with_notes(report, words)


def unclaimed(
    configuration: str, targets: Sequence[Target], options: Options, clusters: Iterable[str], *, render: bool = True
) -> str:
    """Return one sentence about the folders beside a configuration that no target reads; empty without any."""
    top = os.path.realpath(os.path.dirname(configuration) or os.curdir)
    paths = frozenset(os.path.realpath(path) for target in targets for path in target.paths)
    if any(is_within(top, path) for path in paths):
        return ""
    manifests = _beside(top, paths, options, clusters, render=render)
    if not manifests.inventory.workloads:
        return ""
    claimed = paths | frozenset(_joined(paths))
    holding = frozenset(folder for path in claimed for folder in _around(path))
    folders: dict[str, int] = {}
    for document in _of_workloads(manifests):
        if not _is_claimed(document, claimed):
            folder = _widest(document, holding, top)
            folders[folder] = folders.get(folder, 0) + 1
    return _in_words(folders) if folders else ""


def unclaimed_files(paths: Sequence[str], targets: Sequence[Target], options: Options, clusters: Iterable[str]) -> str:
    """Return one sentence about those of the named files that no target reads; empty without any."""
    claimed = frozenset(os.path.realpath(path) for target in targets for path in target.paths)
    others = [path for path in paths if path != "-" and not _is_within_any(os.path.realpath(path), claimed)]
    if not others:
        return ""
    manifests = _decoded(find_files(others, render=False, scope=scope_of(options, clusters)), options)
    claimed |= frozenset(_joined(claimed))
    folders: dict[str, int] = {}
    for document in _of_workloads(manifests):
        if not _is_claimed(document, claimed):
            path = os.path.realpath(document.path)
            folders[path] = folders.get(path, 0) + 1
    return _in_words(folders) if folders else ""


def _in_words(folders: dict[str, int]) -> str:
    named = [f"{os.path.relpath(folder)} ({many(count, 'workload')})" for folder, count in sorted(folders.items())]
    return f"no target reads {first_few(named)}: add a target, or name the path in `exclude`"


def _beside(top: str, paths: frozenset[str], options: Options, clusters: Iterable[str], *, render: bool) -> ManifestSet:
    """Return what is written beside the targets; what they read is not read again."""
    exclude = options.exclude.covers
    scope = scope_of(options, clusters)
    return _decoded(find_files([top], lambda path: path in paths or exclude(path), render=render, scope=scope), options)


def _decoded(files: Iterable[Input], options: Options) -> ManifestSet:
    return manifest_set(entries_of(files, options.kinds), options.namespace, kinds=options.kinds)


def _of_workloads(manifests: ManifestSet) -> Iterator[Document]:
    """Yield the document of each workload once."""
    seen = set()
    for workload in manifests.inventory.workloads:
        source = workload.source
        if isinstance(source, Document) and (key := (source.path, source.span(()).line)) not in seen:
            seen.add(key)
            yield source


def _folder_of(document: Document) -> str:
    """Return the folder that somebody applies: that of the kustomization for a rendered document."""
    if document.rendering is not None and document.path.endswith(RENDERED):
        return os.path.realpath(document.path.removesuffix(RENDERED))
    return os.path.dirname(os.path.realpath(document.path))


def _is_claimed(document: Document, claimed: frozenset[str]) -> bool:
    """Whether a target reads the document: by its path, or because a kustomization of it joins the file."""
    if document.rendering is not None:
        return _is_within_any(_folder_of(document), claimed)
    files = {os.path.realpath(source.path) for source in (document, *sources_of(document))}
    return any(_is_within_any(file, claimed) for file in files)


def _is_within_any(real: str, claimed: frozenset[str]) -> bool:
    return any(path in claimed for path in _around(real))


def _around(path: str) -> Iterator[str]:
    """Yield a path and the folders around it."""
    yield path
    while (above := os.path.dirname(path)) != path:
        path = above
        yield path


def _widest(document: Document, holding: frozenset[str], top: str) -> str:
    """Return the highest folder around a document, below ``top``, in which no target reads anything; else its file.

    ``holding`` are the folders around what targets read.
    """
    folder = _folder_of(document)
    if folder == top or folder in holding:
        return os.path.realpath(document.path) if document.rendering is None else folder
    while (above := os.path.dirname(folder)) != top and is_within(above, top) and above not in holding:
        folder = above
    return folder


def _joined(paths: Iterable[str]) -> Iterator[str]:
    """Yield the real paths of the files and folders outside that kustomizations below the paths join."""
    left = [os.path.dirname(file) for path in paths for file in _kustomizations(path)]
    seen = set(left)
    while left:
        folder = left.pop()
        for file in _own_kustomization(folder):
            for name in _listed(file):
                real = os.path.realpath(os.path.join(folder, name))
                yield real
                if real not in seen and os.path.isdir(real):
                    seen.add(real)
                    left.append(real)


def _listed(kustomization: str) -> Iterable[str]:
    # It imports PyYAML, which a run without targets does not need.
    from kubesched_lint.sources.manifests.recognizing.kustomization import listing

    try:
        return frozenset().union(*listing(content(kustomization, LARGEST)))
    except OSError:
        return ()


def _own_kustomization(folder: str) -> Iterator[str]:
    yield from (path for name in KUSTOMIZATIONS if os.path.isfile(path := os.path.join(folder, name)))


def _kustomizations(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        if os.path.basename(path) in KUSTOMIZATIONS:
            yield path
        return
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in names if name in KUSTOMIZATIONS)
