"""One list of the API server, page by page, each page cut down as it comes; an expired list begins anew."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec import Struct, field

from kubesched_lint.cluster.capture.connection import Answer, CaptureError, Connection
from kubesched_lint.cluster.capture.resources import Resource

if TYPE_CHECKING:
    from kubesched_lint.cluster.redact import Redactor

PAGE = 500
_RESTARTS = 2
_EXPIRED = 410
_BAD_TOKEN = 400

T = TypeVar("T")
Progress = Callable[[str, int, int], None]
"""Called with the plural, how many items have come, and how many there are (0: not known)."""


class _ListMeta(Struct):
    token: str = field(default="", name="continue")
    remaining: int | None = field(default=None, name="remainingItemCount")


class _Page(Struct, Generic[T]):
    items: list[T] | None
    metadata: _ListMeta = field(default_factory=_ListMeta)


@dataclass(slots=True)
class Items:
    """JSON of trimmed items, deflated page by page: 150,000 pods are some ten megabytes in memory."""

    pages: list[bytes]
    count: int = 0

    def texts(self) -> Iterator[bytes]:
        """Pages of items, one item a line, parted by commas."""
        return map(zlib.decompress, self.pages)


class Unavailable(Exception):  # noqa: N818 - not an error: a gap with its reason
    """Why a list cannot be had, when the rest can: ``forbidden (403)``. ``status`` is the server's."""

    def __init__(self, reason: str, status: int = 0) -> None:
        super().__init__(reason)
        self.status = status


class Reader:
    """Reads lists over one connection. ``page`` is how many items are asked for at once."""

    def __init__(
        self,
        connection: Connection,
        redactor: Redactor | None = None,
        progress: Progress | None = None,
        page: int = PAGE,
    ) -> None:
        self._connection = connection
        self._redactor = redactor
        self._progress = progress
        self._page = page
        self._encode = msgspec.json.Encoder().encode

    def items(self, resource: Resource, version: str, namespace: str | None = None) -> Items:
        """Raises Unavailable, and CaptureError when nothing more can be had at all."""
        path = resource.path(version, namespace)
        for restart in range(_RESTARTS + 1):
            # A list asked for whole has no token that could expire.
            size = self._page if restart < _RESTARTS else 0
            try:
                return self._read(resource, version, path, size)
            except _ExpiredError:
                continue
        raise CaptureError(f"{self._connection.host}: {resource.plural} expire even when they are asked for at once")

    def _read(self, resource: Resource, version: str, path: str, size: int) -> Items:
        decoder = _decoder(resource.part)
        head = b'{"apiVersion":"%b","kind":"%b",' % (resource.api_version(version).encode(), resource.kind.encode())
        found, seen, token = Items([]), 0, ""
        while True:
            query = {**dict(resource.query), **({"limit": str(size)} if size else {})}
            answer = self._connection.get(path, {**query, "continue": token} if token else query)
            page = self._page_of(answer, decoder, bool(token))
            texts = list(self._texts(page.items or (), resource, head))
            if texts:
                found.pages.append(zlib.compress(b",\n".join(texts), 1))
                found.count += len(texts)
            seen += len(page.items or ())
            if self._progress is not None:
                self._progress(resource.plural, seen, seen + (page.metadata.remaining or 0))
            token = page.metadata.token
            if not token:
                return found

    def _page_of(self, answer: Answer, decoder: msgspec.json.Decoder[_Page[Any]], continued: bool) -> _Page[Any]:
        if answer.status == _EXPIRED or (answer.status == _BAD_TOKEN and continued):
            raise _ExpiredError
        if answer.status != 200:
            raise Unavailable(_words(answer.status), answer.status)
        try:
            return decoder.decode(answer.body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Unavailable(f"the answer is not what the API promises: {error}") from None

    def _texts(self, items: Any, resource: Resource, head: bytes) -> Iterator[bytes]:
        for item in items:
            if resource.cut is not None and not resource.cut(item):
                continue
            text = self._encode(item)
            if self._redactor is not None:
                text = self._encode(self._redactor.item(msgspec.json.decode(text)))
            yield head + text[1:]


class _ExpiredError(Exception):
    """The continue token is too old: etcd has compacted the revision of the list."""


@cache
def _decoder(part: type[Any]) -> msgspec.json.Decoder[_Page[Any]]:
    page: Any = _Page
    return msgspec.json.Decoder(page[part])


def _words(status: int) -> str:
    known: Mapping[int, str] = {403: "forbidden", 404: "not served", 429: "too many requests"}
    return f"{known.get(status, 'the server failed' if status >= 500 else 'refused')} ({status})"
