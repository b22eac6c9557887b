"""One run of ``lint`` for a person: files in, reports out. The only place of the engine that touches the world."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.engine.linter import lint
from kubesched_lint.engine.options import Options
from kubesched_lint.engine.reading import ManifestSet, manifest_set
from kubesched_lint.findings import InputError, Report, Skip
from kubesched_lint.manifests.document import Document, Skipped, Unread
from kubesched_lint.model.decode.objects import is_read


@dataclass(frozen=True, slots=True)
class Request:
    """What to read and how to show it. ``formats`` are ``NAME`` or ``NAME=FILE``."""

    paths: tuple[str, ...]
    cluster: str | None = None
    elastic: bool | None = None
    formats: tuple[str, ...] = ("text",)
    color: str = "auto"


def read_manifests(paths: Sequence[str], options: Options) -> ManifestSet:
    """Everything under the paths, decoded; what could not be read is in its ``errors``."""
    return manifest_set(_entries(paths), options.namespace)


def _entries(paths: Sequence[str]) -> Iterator[Document | Unread | Skipped | InputError]:
    from kubesched_lint.manifests.loader import documents, find_files

    for found in find_files(paths):
        if isinstance(found, InputError):
            yield found
        else:
            yield from documents(found.path, found.data, is_read)
