"""Read one list of the API server page by page and trim each page at once.

An expired list is read again from the start.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct, field

from kubesched_lint.engine.cluster.limits import LARGEST, LARGEST_PAGE, LONGEST_TEXT, MOST_PAGES
from kubesched_lint.sources.capture.answers import AnswerError, ApiAnswer, one_line
from kubesched_lint.sources.capture.connection import CaptureError, Connection
from kubesched_lint.sources.capture.resources import Resource
from kubesched_lint.sources.redaction.redact import Redactor

PAGE = 500
_RESTARTS = 2
_EXPIRED = 410
_BAD_TOKEN = 400

T = TypeVar("T")
Progress = Callable[[str, int, int], None]
"""Callback: the plural name, how many items were read, and how many exist (0: unknown)."""


class _ListMeta(Struct):
    token: str = field(default="", name="continue")
    remaining: int | None = field(default=None, name="remainingItemCount")


class _Page(Struct, Generic[T]):
    items: list[T] | None
    metadata: _ListMeta = field(default_factory=_ListMeta)


class Items(Struct):
    """JSON of trimmed items, compressed page by page: 150,000 pods take about ten megabytes of memory."""

    pages: list[bytes]
    count: int = 0
    hidden: Callable[[bytes], bytes] | None = None
    """Redacts a page, for lists that must be complete before the first page can be redacted."""

    def texts(self) -> Iterator[bytes]:
        """Yield pages of items, one item per line, separated by commas."""
        texts = map(zlib.decompress, self.pages)
        return texts if self.hidden is None else map(self.hidden, texts)


class Unavailable(Exception):  # noqa: N818 - not an error: a gap with its reason
    """A list is not available, while others are; the text is the reason, such as ``forbidden (403)``.

    ``status`` is the server's. ``failed``: the server did not do its duty; a refused or unserved list is no failure.
    """

    def __init__(self, reason: str, status: int = 0, *, failed: bool = False) -> None:
        super().__init__(reason)
        self.status = status
        self.failed = failed


class ListReader:
    """Read lists over one connection. ``page`` is the number of items per request."""

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
        self._kept = 0

    def items(self, resource: Resource, version: str, namespace: str | None = None) -> Items:
        """Return all items. Raises Unavailable, and CaptureError if nothing more can be read at all."""
        path = resource.path(version, namespace)
        deadline = self._connection.list_deadline()
        for restart in range(_RESTARTS + 1):
            # A list requested without pages has no token that could expire.
            size = self._page if restart < _RESTARTS else 0
            try:
                return self._read(resource, version, path, size, deadline)
            except _ExpiredError:
                continue
        raise CaptureError(f"{self._connection.host}: {resource.plural} expire even when they are asked for at once")

    def _read(self, resource: Resource, version: str, path: str, size: int, deadline: float) -> Items:
        decoder = _decoder(resource.part)
        head = b'{"apiVersion":"%b","kind":"%b",' % (resource.api_version(version).encode(), resource.kind.encode())
        late = self._redactor is not None and resource.redacted_late
        pages_read, seen, tokens = Items([], hidden=partial(self._hidden, head) if late else None), 0, _Tokens()
        while True:
            query = {**dict(resource.query), **({"limit": str(size)} if size else {})}
            page = self._page_of(path, {**query, **tokens.query()}, decoder, deadline)
            texts = list(self._texts(page.items or (), resource, head))
            if self._redactor is not None:
                texts.sort()  # they arrive in the order of their real names
            if texts:
                self._keep(pages_read, b",\n".join(texts), len(texts))
            seen += len(page.items or ())
            if self._progress is not None:
                self._progress(resource.plural, seen, seen + max(page.metadata.remaining or 0, 0))
            if not tokens.take(page.metadata.token):
                return pages_read

    def _keep(self, pages_read: Items, text: bytes, count: int) -> None:
        self._kept += len(text)
        if self._kept > LARGEST:
            raise CaptureError(
                f"{self._connection.host}: more than {LARGEST >> 30} GiB of objects that scheduling reads"
            )
        pages_read.pages.append(zlib.compress(text, 1))
        pages_read.count += count

    def _page_of(
        self, path: str, query: Mapping[str, str], decoder: msgspec.json.Decoder[_Page[Any]], deadline: float
    ) -> _Page[Any]:
        paged = "limit" in query
        largest = LARGEST_PAGE if paged else LARGEST
        try:
            answer = self._connection.get(path, query, largest=largest, deadline=deadline, patient=not paged)
            return self._decoded(answer, decoder, continued="continue" in query)
        except AnswerError as error:
            raise Unavailable(f"the answer {error}", failed=True) from None

    def _decoded(self, answer: ApiAnswer, decoder: msgspec.json.Decoder[_Page[Any]], *, continued: bool) -> _Page[Any]:
        if answer.status == _EXPIRED or (answer.status == _BAD_TOKEN and continued):
            raise _ExpiredError
        if answer.status != 200:
            raise Unavailable(_words(answer.status), answer.status, failed=answer.status not in _REFUSALS)
        try:
            return decoder.decode(answer.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            why = "nested too deeply" if isinstance(error, RecursionError) else one_line(error)
            raise AnswerError(f"is not what the API promises: {why}") from None

    def _texts(self, items: Any, resource: Resource, head: bytes) -> Iterator[bytes]:
        for item in items:
            if resource.cut is not None and not resource.cut(item):
                continue
            text = self._encode(item)
            if self._redactor is not None:
                text = self._redacted(text, resource)
            yield head + text[1:]

    def _redacted(self, text: bytes, resource: Resource) -> bytes:
        assert self._redactor is not None
        item = msgspec.json.decode(text)
        if resource.redacted_late:
            self._redactor.notice(item)
            return text
        return self._encode(self._redactor.item(item))

    def _hidden(self, head: bytes, page: bytes) -> bytes:
        """Return a page of items that were only noticed at first, redacted."""
        assert self._redactor is not None
        items = msgspec.json.decode(b"[%b]" % page)
        for item in items:
            del item["apiVersion"], item["kind"]
        return b",\n".join(sorted(head + self._encode(self._redactor.item(item))[1:] for item in items))


class _ExpiredError(Exception):
    """The continue token is too old: etcd has compacted the revision of the list."""


class _Tokens:
    """The continue tokens of one list: no token may repeat, and their number is limited."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._last = ""

    def query(self) -> dict[str, str]:
        return {"continue": self._last} if self._last else {}

    def take(self, token: str) -> bool:
        """Return whether there is another page. Raises Unavailable for a list that does not end."""
        if token in self._seen:
            raise Unavailable("the server sends the same continue token twice", failed=True)
        if len(token) > LONGEST_TEXT:
            raise Unavailable(f"the server sends a continue token of {len(token):,} characters", failed=True)
        if len(self._seen) + 1 >= MOST_PAGES and token:
            raise Unavailable(f"the list has more than {MOST_PAGES:,} pages", failed=True)
        if token:
            self._seen.add(token)
        self._last = token
        return bool(token)


@cache
def _decoder(part: type[Any]) -> msgspec.json.Decoder[_Page[Any]]:
    page: Any = _Page
    return msgspec.json.Decoder(page[part])


_REFUSALS: Mapping[int, str] = {400: "refused", 403: "forbidden", 404: "not served", 405: "refused", 406: "refused"}


def _words(status: int) -> str:
    if 300 <= status < 400:
        return f"the server redirects ({status}), which is not followed"
    known = {**_REFUSALS, 429: "too many requests"}
    return f"{known.get(status, 'the server failed' if status >= 500 else 'refused')} ({status})"
