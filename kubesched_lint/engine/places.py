"""Where a reader finds what a hazard points at: in a file that somebody wrote, if it can be told which."""

from __future__ import annotations

from kubesched_lint.findings import Location, Path, Source
from kubesched_lint.manifests.document import Document


def location_of(source: Source, at: Path, *, key: bool = False) -> Location:
    """Of the value at ``at`` of a source."""
    if isinstance(source, Document):
        return source.location(at, key=key)
    return Location(source.path, source.span(at, key=key))


def sources_of(document: Document) -> tuple[Source, ...]:
    """The documents and patches in files that a rendered document was made from; nothing of one that is in a file."""
    return () if document.rendering is None else tuple(document.rendering.origins(document))
