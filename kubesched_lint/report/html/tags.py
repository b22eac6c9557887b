"""Text on its way into a page: nothing that comes from a manifest becomes markup."""

from __future__ import annotations

import json
from typing import Any

from kubesched_lint.report.cells import visible

_ESCAPES = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord('"'): "&quot;", ord("'"): "&#39;"}


def esc(text: str) -> str:
    """``text`` for content and for quoted attributes; control characters become visible marks."""
    shown = visible(text)
    if not shown.isascii():  # lone surrogates stand for bytes of odd file names
        shown = shown.encode("utf-8", "backslashreplace").decode()
    return shown.translate(_ESCAPES)


def data(value: Any) -> str:
    """JSON for a ``<script type="application/json">``: without any sign that could end it."""
    text = json.dumps(value, separators=(",", ":"))  # ASCII alone: surrogates and separators are escaped
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def shortened(text: str, most: int) -> str:
    """At most ``most`` characters: the middle goes, for names differ at their ends."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"
