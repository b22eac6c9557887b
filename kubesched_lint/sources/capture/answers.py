"""One answer of an untrusted server: limited in bytes and in time, with error texts on one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Thread
from typing import Any, TypeVar

from msgspec import Struct

from kubesched_lint.engine.base.limits import LONGEST_REASON
from kubesched_lint.sources.objects.unpack import UnpackError, gunzipped, limited

_CHUNK = 256 << 10
_HOUR = 3600.0
_SECONDS = re.compile("[0-9]{1,9}")

T = TypeVar("T")


class ApiAnswer(Struct, frozen=True):
    status: int
    body: bytes


class AnswerError(Exception):
    """The server's answer cannot be used; the text continues "the answer …"."""


class OverdueError(Exception):
    """The work did not finish in time."""


def one_line(text: object) -> str:
    """Return text of a server, certificate or plugin as one short line without control characters."""
    shown = " ".join("".join(c if c.isprintable() else " " for c in str(text)[: 4 * LONGEST_REASON]).split())
    return shown if len(shown) <= LONGEST_REASON else f"{shown[: LONGEST_REASON - 1]}…"


def body_of(response: Any, largest: int) -> bytes:
    """Return the unpacked body; at most ``largest`` bytes are ever in memory. Raises AnswerError."""
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    chunks = iter(lambda: response.read1(_CHUNK, decode_content=False), b"")
    if encoding not in ("", "identity", "gzip"):
        raise AnswerError(f"has an encoding that was not requested: {one_line(encoding)}")
    try:
        return b"".join(limited(gunzipped(chunks) if encoding == "gzip" else chunks, largest))
    except UnpackError as error:
        raise AnswerError(str(error)) from None


def seconds_to_wait(headers: Mapping[str, str]) -> float:
    """Return the wait that Retry-After asks for, in seconds.

    The header holds seconds or a date. 0 for anything else.
    """
    text = headers.get("Retry-After", "").strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), _HOUR)
    if not text.isascii() or len(text) > 40 or ":" not in text:
        return 0.0
    try:
        date = parsedate_to_datetime(text)
        wait = (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return min(max(wait, 0.0), _HOUR)


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return what ``work`` returns, or raise what it raises. Raises OverdueError after ``seconds``.

    A socket's time-out restarts with every byte, and name resolution has none.
    """
    answers: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(work())
        except BaseException as error:
            raised.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(max(seconds, 0.0))
    if raised:
        raise raised[0]
    if not answers:
        raise OverdueError
    return answers[0]
