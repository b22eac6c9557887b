"""The other objects of a manifest set that a custom resource names, or selects by labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.sources.manifests.document import Document


class Others:
    """Documents by kind and namespace; ``namespace`` is that of documents without one."""

    def __init__(self, documents: Sequence[Document] = (), namespace: str = "") -> None:
        self._documents = documents
        self._namespace = namespace

    def named(self, kind: str, namespace: str, name: str) -> Document | None:
        """Return the first document of this name; None if there is none."""
        return self._by_name.get((kind, namespace, name))

    def labelled(self, kind: str, namespace: str, labels: Mapping[str, str]) -> Iterator[Document]:
        """Yield the documents that have these labels, of which there is at least one."""
        key, value = next(iter(labels.items()))
        for document in self._by_label.get((kind, namespace, key, value), ()):
            own_labels = value_at(document.value, ("metadata", "labels"))
            if all(own_labels.get(key) == value for key, value in labels.items()):
                yield document

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str, str], Document]:
        by_name: dict[tuple[str, str, str], Document] = {}
        for document in self._documents:
            by_name.setdefault((document.kind, document.namespace or self._namespace, document.name), document)
        return by_name

    @cached_property
    def _by_label(self) -> Mapping[tuple[str, str, str, str], list[Document]]:
        by_label: dict[tuple[str, str, str, str], list[Document]] = {}
        for document in self._documents:
            labels = value_at(document.value, ("metadata", "labels"))
            home = document.namespace or self._namespace
            for key, value in labels.items() if isinstance(labels, dict) else ():
                if isinstance(value, str):
                    by_label.setdefault((document.kind, home, key, value), []).append(document)
        return by_label
