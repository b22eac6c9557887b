"""Custom resources of a manifest set as the plain objects that they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubesched_lint.custom.derive import PlainObjects, UnreadableError, made_of
from kubesched_lint.custom.kinds import Kinds
from kubesched_lint.custom.others import Others
from kubesched_lint.custom.releases import Decoded, read_release
from kubesched_lint.engine.scenario.settings.not_read import Release
from kubesched_lint.sources.manifests.document import Document, Unread, print_of

Placed = tuple[int, Document]
"""A document with its place in the reading order."""


def derived(
    resources: Iterable[Placed], others: Sequence[Document], kinds: Kinds, namespace: str
) -> Iterator[tuple[Document, PlainObjects | Unread]]:
    """Yield each custom resource with its plain objects; with an Unread that says why if its card cannot read it.

    ``others`` are all documents of the set: a resource may name one of them.
    """
    known = Others(others, namespace)
    for order, document in resources:
        kind = kinds.of(document.api_version, document.kind)
        assert kind is not None, "only resources with a card come here"
        try:
            yield document, made_of(document, kind, namespace, order, known)
        except UnreadableError as error:
            line = document.span(()).line
            seen = print_of(document.text, document.prefix)
            yield (
                document,
                Unread(document.path, line, document.kind, document.api_version, True, str(error), seen=seen),
            )


def charted(
    delivered: Iterable[Placed], named: Sequence[Document], namespace: str
) -> Iterator[tuple[Document, Release, tuple[Decoded, ...]]]:
    """Yield each object that installs a chart with its release and with what the chart makes, as far as cards tell."""
    known = Others(named, namespace)
    for order, document in delivered:
        yield document, *read_release(document, namespace, order, known)
