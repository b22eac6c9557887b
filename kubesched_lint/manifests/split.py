"""From bytes to the texts of single documents, each with the line it begins in, as kubectl parts them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kubesched_lint.findings import InputError

_BEFORE_JSON = frozenset("{ \t\n")
_BYTE = "[\udc80-\udcff]"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class DocumentText(NamedTuple):
    """One document's text, from its marker ``---`` on; ``line`` counts from 1."""

    text: str
    line: int


def text_of(path: str, data: bytes) -> str | InputError:
    """UTF-8 with or without a byte order mark, or UTF-16 with one; every line ends with one newline.

    Bytes that are no UTF-8 become lone surrogates, so that they spoil no other document than their own.
    """
    if data[:2] in _UTF16:
        try:
            text = data.decode("utf-16")
        except UnicodeDecodeError:
            return InputError(path, "not UTF-16, though it begins with UTF-16's byte order mark", 1, 1)
    else:
        if data[:3] == b"\xef\xbb\xbf":
            data = data[3:]
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = data.decode("utf-8", "surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def is_json(text: str) -> bool:
    """Whether kubectl would take it for JSON: it begins with a brace. A template's two braces are none."""
    if text[:1] not in _BEFORE_JSON:
        return False
    start = text.lstrip()
    return start[:1] == "{" and start[:2] != "{{"


def parts(text: str) -> Iterator[DocumentText]:
    """Documents in their order. ``---`` in column 0 parts them whatever is around it, a block scalar too."""
    start, line, at = 0, 1, 0
    while (at := text.find("\n---", at)) >= 0:
        at += 1
        if text[at + 3 : at + 4] in _AFTER_MARKER:
            part = text[start:at]
            if not _is_head(part):
                yield DocumentText(part, line)
                line += part.count("\n")
                start = at
        at += 3
    if start < len(text):
        yield DocumentText(text[start:] if start else text, line)


_AFTER_MARKER = ("", "\n", " ", "\t")


def _is_head(part: str) -> bool:
    """Whether this is but directives such as ``%YAML 1.1`` (and comments), which belong to what follows."""
    if "%" not in part:
        return False
    lines = [line for line in part.split("\n") if line.strip() and not line.startswith("#")]
    return bool(lines) and all(line.startswith("%") for line in lines)


def broken_byte(path: str, part: DocumentText) -> InputError | None:
    """The first byte of the document that is no UTF-8."""
    found = None if part.text.isascii() else re.search(_BYTE, part.text)
    if found is None:
        return None
    at = found.start()
    words = f"not UTF-8: byte 0x{ord(part.text[at]) - 0xDC00:02x}"
    return InputError(path, words, part.line + part.text.count("\n", 0, at), at - part.text.rfind("\n", 0, at))
