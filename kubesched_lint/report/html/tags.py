"""Text on its way into a page: nothing that comes from a manifest becomes markup."""

from __future__ import annotations

import json
from typing import Any

from kubesched_lint.printing import escaped, safe_json, visible


def esc(text: str) -> str:
    """``text`` for content and for quoted attributes; control characters become visible marks."""
    if not text.isascii():  # lone surrogates stand for bytes of odd file names
        text = text.encode("utf-8", "backslashreplace").decode()
    return visible(escaped(text).replace("'", "&#39;"))


def data(value: Any) -> str:
    """JSON for a ``<script type="application/json">``: without any sign that could end it."""
    text = safe_json(json.dumps(value, separators=(",", ":")))  # ASCII alone: surrogates and separators are escaped
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def shortened(text: str, most: int) -> str:
    """At most ``most`` characters: the middle goes, for names differ at their ends."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"
