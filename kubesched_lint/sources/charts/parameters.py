"""Values that are set one by one, as ``helm --set NAME=TEXT`` does."""

from __future__ import annotations

import re
from typing import Any

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_WORDS = {"true": True, "false": False, "null": None}


def values_set(name: str, text: str, *, is_text: bool = False, is_literal: bool = False) -> dict[str, Any] | None:
    """Return the values that a name such as ``a.b`` sets; None if name or text have signs of Helm's own.

    ``is_text``: it stays text, whatever it looks like. ``is_literal``: so it does, and no sign has a meaning.
    """
    if not name or any(sign in name for sign in "[]{}\\,="):
        return None
    if not is_literal and any(sign in text for sign in "{}\\,"):
        return None
    value: Any = text
    if not is_text and not is_literal:
        value = _WORDS[text] if text in _WORDS else int(text) if _NUMBER.fullmatch(text) else text
    for step in reversed(name.split(".")):
        value = {step: value}
    nested: dict[str, Any] = value
    return nested
