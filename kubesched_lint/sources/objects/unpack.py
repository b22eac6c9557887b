"""Unpack gzip in pieces with a size limit: cluster files and the API server's answers."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from kubesched_lint.engine.cluster.limits import MOST_FOLD

GZIP = b"\x1f\x8b"
_CHUNK = 512 << 10
_FREELY = 64 << 20


class UnpackError(Exception):
    """The bytes cannot be unpacked; the text continues a sentence about their source."""


def gunzipped(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the unpacked members of a gzip file; a decompression bomb is refused before it fills the memory."""
    inflate = zlib.decompressobj(wbits=31)
    packed = size = 0
    for chunk in chunks:
        packed += len(chunk)
        rest = chunk
        while rest:
            if inflate.eof:
                inflate = zlib.decompressobj(wbits=31)
            try:
                piece = inflate.decompress(rest, _CHUNK)
            except zlib.error as error:
                raise UnpackError(f"is not sound gzip: {error}") from None
            rest = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
            size += len(piece)
            if size > _FREELY and size > MOST_FOLD * packed:
                raise UnpackError(f"unpacks to more than {size >> 20} MiB, {size // packed}-fold")
            if piece:
                yield piece
    if not inflate.eof:
        raise UnpackError("is cut off: the end of the gzip data is missing")


def limited(chunks: Iterator[bytes], largest: int) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > largest:
            shown = f"{largest >> 30} GiB" if largest >= 1 << 30 else f"{largest >> 20} MiB"
            raise UnpackError(f"holds more than {shown}")
        yield chunk
