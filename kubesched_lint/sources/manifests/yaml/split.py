"""Split bytes into the texts of single documents, as kubectl splits them, each with its first line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kubesched_lint.files import content_at
from kubesched_lint.findings import InputError
from kubesched_lint.sources.manifests.limits import LARGEST

_BEFORE_JSON = frozenset("{ \t\n")
_BYTE = "[\udc80-\udcff]"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class DocumentText(NamedTuple):
    """One document's text, from its marker ``---`` on; ``line`` counts from 1."""

    text: str
    line: int


def text_of(path: str, data: bytes) -> str | InputError:
    """Return the text of UTF-8 with or without a byte order mark, or UTF-16 with one; lines end with ``\n``.

    Invalid UTF-8 becomes lone surrogates, so that it breaks only its own document.
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
    """Return whether kubectl reads the text as JSON: it begins with a brace, but not with a template's two braces."""
    if text[:1] not in _BEFORE_JSON:
        return False
    start = text.lstrip()
    return start[:1] == "{" and start[:2] != "{{"


def parts(text: str) -> Iterator[DocumentText]:
    """Yield the documents in order. ``---`` in column 0 separates them, even inside a block scalar."""
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
    """Return whether the part holds only directives such as ``%YAML 1.1`` (and comments), which belong to the next
    part.
    """
    if "%" not in part or not _first_content(part).startswith("%"):
        return False
    lines = [line for line in part.split("\n") if line.strip() and not line.startswith("#")]
    return bool(lines) and all(line.startswith("%") for line in lines)


def _first_content(part: str) -> str:
    """Return the first line that is neither blank nor a comment."""
    at, end = 0, 0
    while end >= 0:
        end = part.find("\n", at)
        line = part[at:end] if end >= 0 else part[at:]
        if line.strip() and line[0] != "#":
            return line
        at = end + 1
    return ""


def texts_in(file: str) -> tuple[str, ...]:
    """Return the texts of the documents of a file, by its path without links; none if it cannot be read."""
    try:
        text = text_of(file, content_at(file, LARGEST))
    except OSError:
        return ()
    return tuple(part.text for part in parts(text)) if isinstance(text, str) else ()


def broken_byte(path: str, part: DocumentText) -> InputError | None:
    """Return an error for the first byte of the document that is not UTF-8; None if there is none."""
    broken = None if part.text.isascii() else re.search(_BYTE, part.text)
    if broken is None:
        return None
    at = broken.start()
    words = f"not UTF-8: byte 0x{ord(part.text[at]) - 0xDC00:02x}"
    return InputError(path, words, part.line + part.text.count("\n", 0, at), at - part.text.rfind("\n", 0, at))
