"""A text report as a part of a page: the colours of a terminal become styles."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubesched_lint.printing import escaped

WIDTH = 100
"""Cells of a line: wider ones would need a bar to scroll."""
_STYLES = {
    "1": "font-weight:bold",
    "2": "opacity:0.65",
    "31": "color:#cf222e",
    "32": "color:#1a7f37",
    "33": "color:#9a6700",
    "34": "color:#0969da",
    "36": "color:#1b7c83",
}
_PAINT = re.compile("\x1b\\[([0-9;]*)m")


def as_html(text: str) -> str:
    """Return a painted text, as ``as_text`` of a report returns it, as one element without scripts and links."""
    return f'<pre style="white-space:pre-wrap">{"".join(_spans(text))}</pre>'


def _spans(text: str) -> Iterator[str]:
    first, *rest = _PAINT.split(text)  # text, codes, text, codes, …
    yield escaped(first)
    for codes, piece in zip(rest[::2], rest[1::2], strict=True):
        style = ";".join(_STYLES[code] for code in codes.split(";") if code in _STYLES)
        yield f'<span style="{style}">{escaped(piece)}</span>' if style and piece else escaped(piece)
