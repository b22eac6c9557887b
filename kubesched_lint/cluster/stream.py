"""Read a list of hundreds of megabytes in blocks, so that memory depends on the cluster, not on the text.

Two layouts can be split without a parser, because a JSON string never holds a bare newline: kubectl's, indented by
four, where only an item closes with a brace at column 9, and that of our own snapshots, one item per line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_HEADER = 64 << 10


class Layout(NamedTuple):
    """``opening`` ends the header; ``closing`` ends an item if ``between`` follows it."""

    opening: bytes
    closing: bytes
    between: bytes


_LAYOUTS = (
    Layout(b'\n    "items": [\n', b"\n        }", b",\n        {"),
    Layout(b'"items":[\n', b"}", b",\n{"),
)


def layout_of(first: bytes) -> Layout | None:
    """Return the layout of a document that begins with ``first``; None if only a parser can find its items."""
    head = first[:_HEADER]
    for layout in _LAYOUTS:
        at = head.find(layout.opening)
        if at >= 0 and head.startswith(b"{"):
            rest = first[at + len(layout.opening) :]
            return layout if rest.lstrip(b" ").startswith(b"{") else None
    return None


def blocks(chunks: Iterator[bytes], layout: Layout) -> Iterator[bytes]:
    """Yield JSON documents that together equal the input: the header without items, then parts of its items.

    The last part also has the fields that follow the items.
    """
    buffer = next(chunks)
    start = buffer.index(layout.opening) + len(layout.opening)
    yield buffer[:start] + b"]}"
    buffer = buffer[start:]
    cut = layout.closing + layout.between
    for chunk in chunks:
        buffer += chunk
        at = buffer.rfind(cut)
        if at >= 0:
            end = at + len(layout.closing)
            yield b'{"items":[' + buffer[:end] + b"]}"
            buffer = buffer[end + 1 :]
    yield b'{"items":[' + buffer
