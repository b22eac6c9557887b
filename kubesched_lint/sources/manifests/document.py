"""One object of a manifest file, and the positions of its values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.base.places import Location, Manifest, Path, Source, Span
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.findings import InputError
from kubesched_lint.sources.manifests.yaml.fast_reader import read_plain
from kubesched_lint.sources.manifests.yaml.places import span_of
from kubesched_lint.sources.manifests.yaml.split import texts_in

if TYPE_CHECKING:
    from kubesched_lint.sources.manifests.yaml.fragments import Fragment

WAIVING = "kubesched"
"""Part of every comment that waives a rule."""
RENDERED = " (rendered)"
"""Suffix of the path of a text that a tool rendered and that is in no file."""


class Written(Struct, frozen=True):
    """A file that a rendering was made from, with the path to display."""

    path: str
    text: str


class Rendering(Protocol):
    """A text that a tool rendered from files."""

    @property
    def text(self) -> str: ...

    @property
    def how(self) -> str:
        """The command to show to people: ``kubectl kustomize overlays/prod``."""
        ...

    def location(self, document: Document, path: Path, *, key: bool = False) -> Location:
        """Return where a value of a rendered document was written; a place in the rendered text if that is unknown."""
        ...

    def origins(self, document: Document) -> Iterator[Fragment]:
        """Yield the source documents of a rendered document."""
        ...

    def setting(self, document: Document, paths: Sequence[Path]) -> tuple[Fragment, tuple[Path, ...]] | None:
        """Return the source document that sets the values at these paths, and where it has them; of a value that is
        not there, its nearest parent. None if no single one does, if it is a text inside a kustomization or outside the
        folder that the user named, or if changes of files would not be rendered again.
        """
        ...

    def placed(self, entry: Document | Unread | Skipped | InputError) -> Document | Unread | Skipped | InputError:
        """Return an entry of the rendered text with the path to display."""
        ...

    @property
    def files(self) -> Sequence[Written]:
        """All files of the rendering that can be displayed."""
        ...


class Move(Struct, frozen=True):
    """Where a field of a plain workload comes from, if a custom resource stands for that workload."""

    plain: Path
    """The field of the plain workload."""
    document: Document
    at: Path
    is_exact: bool = True
    """The same value stands there, so that a change of the field can be written there."""


class ChangedFileError(OSError):
    """A file has another text than when it was read, so nobody can say any more where a value is."""

    message = "changed while it was checked: run again"

    def __init__(self, path: str) -> None:
        super().__init__(0, self.message, path)
        self.path = path


class Text:
    """The text of one YAML document, and the object that it holds. A file's need not be kept: it is read again for the
    few documents with findings.

    ``file`` is the path without links of the file whose ``index``-th document this is; empty if it must be kept.
    """

    __slots__ = ("_digest", "_file", "_index", "_kept", "value")

    def __init__(
        self, text: str | None, value: dict[str, Any] | None = None, file: str = "", index: int = 0, digest: int = 0
    ) -> None:
        self.value = value
        """The object as plain values; None if they can be read again from the text."""
        self._kept = text
        self._file = file
        self._index = index
        self._digest = digest

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Text):
            return self is other
        try:
            return self.whole == other.whole
        except ChangedFileError:  # of an earlier run in this process: what its file held then is gone
            return False

    def __hash__(self) -> int:
        return self._digest if self._kept is None else hash(self._kept)

    def let_go(self) -> None:
        """Free the values, and the text if it can be read again and need not be searched for waivers."""
        self.value = None
        if self._file and self._kept is not None and WAIVING not in self._kept:
            self._digest, self._kept = hash(self._kept), None

    @property
    def may_waive(self) -> bool:
        """Whether a comment in the text may waive a rule."""
        return self._kept is not None and WAIVING in self._kept

    @property
    def whole(self) -> str:
        """The text. Raises ChangedFileError if it was let go and the file has changed."""
        if self._kept is not None:
            return self._kept
        text = self._read_again()
        if text is None:
            _texts_in.cache_clear()  # an earlier run in this process may have read what the file held then
            text = self._read_again()
        if text is None:
            raise ChangedFileError(self._file)
        return text

    def _read_again(self) -> str | None:
        texts = _texts_in(self._file)
        text = texts[self._index] if self._index < len(texts) else ""
        return text if hash(text) == self._digest else None


@lru_cache(maxsize=8)
def _texts_in(file: str) -> tuple[str, ...]:
    """Return the texts of the documents of a file; none if it cannot be read any more."""
    return texts_in(file)


@lru_cache(maxsize=256)
def _read(written: Itself[Text]) -> dict[str, Any]:
    """Return the values of a text that were let go. Rules ask a few documents several times, and thousands once.

    To compare two texts, both files are read again, and that of an earlier run may be gone.
    """
    return read_plain(written.it.whole)


class Fills(Protocol):
    """What Flux or Argo CD fill in."""

    has_variables: ClassVar[bool]
    """Whether it puts texts in place of variables."""

    def filled(self, document: Document) -> Document: ...


class FilledIn(Struct, frozen=True):
    """A document before its variables were filled in: where its values are written."""

    template: Document
    by: Fills
    assumed: tuple[str, ...] = ()
    """What must hold for the defaults that were filled in, as sentences."""


class Delivery(Struct, frozen=True):
    """What applies a document in a cluster: a Kustomization of Flux or an Application of Argo CD."""

    title: str
    after: tuple[str, ...] = ()
    """The titles of those that it waits for, also through others."""


class Document(Manifest, frozen=True):
    """An object of a manifest file.

    ``line`` is the first line of ``text``, the whole YAML document, in the file, from 1.
    ``prefix`` is the path of the object inside its document: empty except for the items of a List.
    """

    uncompared: ClassVar[tuple[str, ...]] = ("rendering", "moves", "filled_in", "stands_for")

    path: str
    index: int
    kind: str
    api_version: str
    written: Text
    line: int
    prefix: Path = ()
    is_plain: bool = False
    """The fast reader has read it, so positions can be found line by line."""
    unrendered: bool = False
    """A kustomization builds on it: missing fields may be added before it is applied."""
    rendering: Rendering | None = None
    """A tool rendered the text: ``path`` is not a file, and ``span`` is a place in the rendered text."""
    moves: tuple[Move, ...] = ()
    """The text is a custom resource, and ``value`` is a plain workload that stands for it; see ``workloads``."""
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    """As written in its ``metadata``, like the names; empty if it has none."""
    annotations: object = None
    """As written; None without any."""
    is_stored: bool = False
    """A server has stored it: it has a ``resourceVersion``."""
    filled_in: FilledIn | None = None
    """Flux fills in variables: ``value`` has what ``text`` becomes."""
    stands_for: Document | None = None
    """The release whose chart makes this object: the text is the release's, and so are all places in it."""
    is_whole: bool = False
    """Beside ``stands_for``: ``value`` has all fields that are applied."""
    delivered_by: Delivery | None = None
    """None if nothing says what applies it, or when."""

    @property
    def has_variables(self) -> bool:
        """Whether variables were filled in: its file has other texts, which no fix of the file may touch."""
        return self.filled_in is not None and self.filled_in.by.has_variables

    @property
    def value(self) -> dict[str, Any]:
        """Return the object as plain values; after ``release`` it is read again."""
        if self.written.value is not None:
            return self.written.value
        try:
            return _read(Itself(self.written))
        except ChangedFileError:
            raise ChangedFileError(self.path) from None

    @property
    def text(self) -> str:
        """The whole YAML document. Raises ChangedFileError."""
        try:
            return self.written.whole
        except ChangedFileError:
            raise ChangedFileError(self.path) from None

    def is_same_text(self, other: Document) -> bool:
        return self.prefix == other.prefix and not self.moves and not other.moves and self.text == other.text

    def is_left_to_operator(self, path: Path, kind: str) -> bool:
        made = [move for move in self.moves if move.document.kind == kind]
        return bool(made) and not any(move.plain and move.plain == path[: len(move.plain)] for move in made)

    def release(self) -> None:
        """Free the values if the fast reader can read them again, and the text if it is in a file.

        A List is kept, because its whole text would be read again for each item.
        """
        if self.is_plain and not self.prefix and not self.moves and self.filled_in is None:
            self.written.let_go()

    def moved(self, path: Path) -> Move:
        """Return where the value at ``path`` is written: there itself, unless a custom resource stands for it."""
        if not self.moves:
            return Move(path, self, path)
        around = [move for move in self.moves if path[: len(move.plain)] == move.plain]
        if around:
            nearest = max(around, key=lambda move: len(move.plain))
            rest = path[len(nearest.plain) :]
            return replace(nearest, plain=path, at=(*nearest.at, *rest) if nearest.is_exact else nearest.at)
        inside = [move for move in self.moves if move.plain[: len(path)] == path]
        if self.stands_for is not None:  # what is partly a default of the chart is the release's own as a whole
            inside = [move for move in inside if move.document is self.stands_for]
        if not path or not inside:
            is_own = path[:1] == ("metadata",) and self.stands_for is None
            at = path if is_own or not path else ("metadata", "name")
            return Move(path, self._whole, at, is_exact=is_own)
        first = inside[0].document
        return Move(path, first, _shared([move.at for move in inside if move.document is first]), is_exact=False)

    @property
    def _whole(self) -> Document:
        """The custom resource itself, or the release."""
        return self.stands_for or replace(self, written=Text(self.text), moves=())

    def location(self, path: Path, *, key: bool = False) -> Location:
        """Return where a user finds the value: ``span``, or for a rendered document the place in its source file."""
        if self.moves:
            move = self.moved(path)
            return move.document.location(move.at, key=key)
        if self.rendering is None:
            return Location(self.path, self.span(path, key=key))
        return self.rendering.location(self.as_written, path, key=key)

    @property
    def as_written(self) -> Document:
        """The document with its variables, if Flux fills them in."""
        return self if self.filled_in is None else self.filled_in.template

    def is_filled_at(self, path: Path) -> bool:
        """Return whether the value at a path, or a key before it, is another one than is written."""
        return bool(value_at(self.as_written.value, path) != value_at(self.value, path))

    def span(self, path: Path, *, key: bool = False) -> Span:
        """Return the span of the value at ``path`` (of its key with ``key``), or of the nearest existing parent."""
        if self.moves:
            move = self.moved(path)
            return move.document.span(move.at, key=key)
        return span_of(self.text, self.line, (*self.prefix, *path), key=key, plain=self.is_plain)

    def line_text(self, number: int) -> str:
        """Return a line of the file, without its newline; empty for a line outside this document."""
        at = number - self.line
        lines = self.text.split("\n", at + 1) if at >= 0 else []
        return lines[at] if 0 <= at < len(lines) else ""


def _shared(paths: Sequence[Path]) -> Path:
    """Return the beginning that all paths share."""
    first, last = min(paths, key=_text_of), max(paths, key=_text_of)
    same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:same]


def _text_of(path: Path) -> tuple[str, ...]:
    return tuple(map(str, path))


class Unread(Struct, frozen=True):
    """A document of a kind that is counted, not parsed. ``kind`` is empty for YAML that is not a Kubernetes object."""

    path: str
    line: int
    kind: str
    api_version: str = ""
    wraps_pod_template: bool = False
    """It seems to create pods from its own template."""
    why: str = ""
    """Why its card could not read it; empty for a kind without a card."""
    places_pods: bool = False
    """It is a custom resource with a field that places pods, such as ``tolerations``: its controller may make some."""
    seen: int = 0
    """The ``print_of`` its text, to tell whether it changed."""


def print_of(text: str, prefix: Path = ()) -> int:
    """Return a number that tells a document, or the part of it at ``prefix``, from others in this process."""
    return hash((text.removeprefix("---").strip(), prefix))


ENCRYPTED = "encrypted object"
CHART = "Helm chart"
REMOTE_APPLICATION = "remote Application"
REMOTE_KUSTOMIZATION = "remote Kustomization"
"""What Argo CD or Flux takes from elsewhere, in words."""


class Skipped(Struct, frozen=True):
    """A file or document that is not a complete manifest: a Helm source, a Kustomize patch."""

    path: str
    line: int
    reason: str
    column: int = 0
    left_out: int = 0
    """Number of files that nobody applies with the others, so that the set is complete without them; else 0."""
    unrendered: str = ""
    """What would have to be rendered or fetched, such as ``Helm chart``; empty for a single template."""


def location_of(source: Source, at: Path, *, key: bool = False) -> Location:
    """Return the location of the value at ``at`` of a source; a source may know better than its lines."""
    if hasattr(source, "location"):  # far faster than to ask whether a protocol fits
        location: Location = source.location(at, key=key)
        return location
    return Location(source.path, source.span(at, key=key))


def sources_of(document: Document) -> tuple[Source, ...]:
    """Return the documents and patches that a rendered document was made from; empty for a document in a file."""
    return () if document.rendering is None else tuple(document.rendering.origins(document.as_written))
