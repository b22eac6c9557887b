"""Where things stand: an object by its name, a value inside an object, a value in a text."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from kubesched_lint.engine.base.partly_compared import Distinct

Path = tuple[str | int, ...]
"""The position of a value inside its object: keys and list indexes from the root, ``("spec", "replicas")``."""


class Span(Struct, frozen=True):
    """Lines and columns count from 1, columns in code points; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int

    def __lt__(self, other: Span) -> bool:
        return (self.line, self.column, self.end_line, self.end_column) < (
            other.line,
            other.column,
            other.end_line,
            other.end_column,
        )


class Location(Struct, frozen=True):
    """``near`` is for rendered text, if the line of a file that became ``span`` is unknown."""

    path: str
    span: Span
    near: Location | None = None
    """The place in a file that is closest to the rendered text: reports that annotate files point to it."""


class Source(Protocol):
    """The text that an object came from; it has the position of each value."""

    @property
    def path(self) -> str: ...

    def span(self, path: Path, *, key: bool = False) -> Span:
        """Return the span of the value at ``path`` (of its key with ``key``); of the nearest parent if it is absent."""
        ...


class Manifest(Distinct, frozen=True):
    """The source of an object that a user will apply. An object that the cluster has is of another source, or of none.

    Readers of files extend it; each property and method says what it means.
    """

    @property
    def path(self) -> str:
        """The file."""
        raise NotImplementedError

    @property
    def namespace(self) -> str:
        """The namespace as written; empty if it has none."""
        raise NotImplementedError

    @property
    def value(self) -> dict[str, Any]:
        """The object as plain values."""
        raise NotImplementedError

    def span(self, path: Path, *, key: bool = False) -> Span:
        """See ``Source``."""
        raise NotImplementedError

    def is_same_text(self, other: Any) -> bool:
        """Return whether two objects are equal, without reading them."""
        raise NotImplementedError

    def is_left_to_operator(self, path: Path, kind: str) -> bool:
        """Return whether the operator of an object of this kind makes the value at ``path``: nobody has written it."""
        raise NotImplementedError


NAMELESS = "(no name)"
"""What reports show of an object whose manifest names none."""


class ObjectRef(Struct, frozen=True):
    """An object by its kind and name; ``namespace`` is empty for an object of the cluster.

    ``name`` is empty for an object that has none, such as one that somebody has begun to write.
    """

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.title}"

    @property
    def title(self) -> str:
        """``NAMESPACE/NAME``, or the name of an object of the cluster, as reports show it."""
        name = self.name or NAMELESS
        return f"{self.namespace}/{name}" if self.namespace else name
