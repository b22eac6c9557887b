"""Decoded documents, kept between runs: a run decodes and validates only the documents of files that have changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from kubesched_lint.engine.apiserver.refusals import Refusals
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, decoded, manifest_set, refused_of
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.loader import Entry

_Object = tuple[str, Any]


class Decoder:
    """Makes manifest sets for one namespace and version of Kubernetes; equal to those of a fresh run."""

    def __init__(self, options: Options, version: str) -> None:
        self._options = options
        self._version = version
        self._objects: dict[Document, tuple[int, _Object]] = {}
        self._refused: dict[Document, Refusals] = {}

    def manifests(self, entries: Iterable[Entry]) -> ManifestSet:
        """Return the set of the entries. Documents that it does not have are forgotten."""
        options = self._options
        made = manifest_set(entries, options.namespace, self._version, self._judge, options.kinds, self._decode)
        there = set(made.documents)
        self._objects = {key: kept for key, kept in self._objects.items() if key in there}
        self._refused = {key: kept for key, kept in self._refused.items() if key in there}
        return made

    def _decode(self, document: Document, namespace: str, order: int) -> _Object:
        kept = self._objects.get(document)
        if kept is None:
            decoded_object = decoded(document, namespace, order)
        else:
            before, decoded_object = kept
            if before != order and decoded_object[0] == "workloads":  # only a workload knows its place in the set
                decoded_object = decoded_object[0], replace(decoded_object[1], order=order)
        self._objects[document] = (order, decoded_object)
        return decoded_object

    def _judge(self, document: Document, version: str) -> Refusals:
        kept = self._refused.get(document)
        refusals = refused_of(document, version) if kept is None else kept
        self._refused[document] = refusals
        return refusals
