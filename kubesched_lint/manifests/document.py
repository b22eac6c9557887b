"""One object of a manifest file, and where each of its values stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from kubesched_lint.findings import InputError, Location, Path, Source, Span
from kubesched_lint.record import record

if TYPE_CHECKING:
    from kubesched_lint.manifests.fragments import Fragment

RENDERED = " (rendered)"
"""Ends the path of a text that a tool has made and that is in no file."""


@record
class Written:
    """A file that went into a rendering, by the path that is shown."""

    path: str
    text: str = field(repr=False)


class Rendering(Protocol):
    """A text that a tool made of files."""

    @property
    def text(self) -> str: ...

    @property
    def how(self) -> str:
        """The command, for people: ``kubectl kustomize overlays/prod``."""
        ...

    def location(self, document: Document, path: Path, *, key: bool = False) -> Location:
        """Where a value of a rendered document was written; in the rendered text, when nobody can tell."""
        ...

    def origins(self, document: Document) -> Iterator[Fragment]:
        """The documents that a rendered one was made from."""
        ...

    def placed(self, entry: Document | Unread | Skipped | InputError) -> Document | Unread | Skipped | InputError:
        """An entry of the rendered text, by the path to show for it."""
        ...

    @property
    def files(self) -> Sequence[Written]:
        """Everything that went into the rendering and can be shown."""
        ...


@record
class Document:
    """``line`` is where ``text``, the whole YAML document, begins in the file, from 1.

    ``prefix`` leads to the object inside its document: empty but for the items of a List.
    """

    path: str
    index: int
    kind: str
    api_version: str
    meta: dict[str, Any]
    """The object's ``metadata``; empty where it has none."""
    held: list[dict[str, Any]] = field(repr=False, compare=False)
    """The object as plain values, until it is released."""
    text: str = field(repr=False)
    line: int
    prefix: Path = ()
    is_plain: bool = False
    """The fast reader has read it, so that places can be found line by line."""
    unrendered: bool = False
    """A kustomization builds on it: what is missing here may be added before it is applied."""
    rendering: Rendering | None = field(default=None, repr=False, compare=False)
    """A tool has made the text: ``path`` is no file, and ``span`` a place in what was rendered."""

    @property
    def value(self) -> dict[str, Any]:
        """The object as plain values: read again, and kept, where it has been released."""
        if not self.held:
            from kubesched_lint.manifests.fast_reader import read_plain

            self.held.append(read_plain(self.text))
        return self.held[0]

    def release(self) -> None:
        """Lets go of the values where the fast reader makes them again; of a List it would read the whole text."""
        if self.is_plain and not self.prefix:
            self.held.clear()

    def location(self, path: Path, *, key: bool = False) -> Location:
        """Where a reader finds the value: as ``span``, or for a rendered document in the file that it was made of."""
        if self.rendering is None:
            return Location(self.path, self.span(path, key=key))
        return self.rendering.location(self, path, key=key)

    def span(self, path: Path, *, key: bool = False) -> Span:
        """The span of the value at ``path`` (of its key with ``key``); of the nearest parent that exists, if absent."""
        from kubesched_lint.manifests.places import span_of

        return span_of(self.text, self.line, (*self.prefix, *path), key=key, plain=self.is_plain)

    def line_text(self, number: int) -> str:
        """A line of the file, without its end; empty for one outside this document."""
        at = number - self.line
        lines = self.text.split("\n", at + 1) if at >= 0 else []
        return lines[at] if 0 <= at < len(lines) else ""


@record
class Unread:
    """A document of a kind that is counted, not parsed. ``kind`` is empty for YAML that is no Kubernetes object."""

    path: str
    line: int
    kind: str
    api_version: str = ""
    wraps_pod_template: bool = False
    """It seems to make pods from a template of its own, as an Argo Rollout does."""


@record
class Skipped:
    """A file or document that is no manifest by itself: a Helm source, a Kustomize patch."""

    path: str
    line: int
    reason: str
    column: int = 0


def location_of(source: Source, at: Path, *, key: bool = False) -> Location:
    """Of the value at ``at`` of a source."""
    if isinstance(source, Document):
        return source.location(at, key=key)
    return Location(source.path, source.span(at, key=key))


def sources_of(document: Document) -> tuple[Source, ...]:
    """The documents and patches in files that a rendered document was made from; nothing of one that is in a file."""
    return () if document.rendering is None else tuple(document.rendering.origins(document))
