"""Messages from a stream, as JSON. What is no message costs one fault; reading goes on at the next header."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from msgspec import Struct

from kubesched_lint.engine.cluster.limits import LONGEST_TEXT
from kubesched_lint.limits import LARGEST_WHOLE

_PIECE = 1 << 20
_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"(?i:Content-Length):[ \t]*(\d{1,18})[ \t]*(?:\r\n[\w-]+:[^\r\n]*)*\Z")
_OTHER_HEADERS = re.compile(rb"(?:[\w-]+:[^\r\n]*\r\n)*")


class Fault(Struct, frozen=True):
    """Why bytes are no message."""

    text: str


class Messages:
    """``read`` returns some bytes, at most as many as it is asked for, and none at the end."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._came = bytearray()
        self._is_lost = False
        """Whether what comes may be the rest of something broken, which is told already."""

    def next(self) -> object:
        """Return what was decoded, or a Fault. Raises EOFError when nobody speaks any more."""
        while True:
            was_lost = self._is_lost
            message = self._decoded(self._length())
            if not isinstance(message, Fault):
                self._is_lost = False
                return message
            self._is_lost = True
            if not was_lost:
                return message

    def _length(self) -> int | Fault:
        """Read a header. Return the length of its body."""
        head = self._head()
        match = _LENGTH.search(head)
        if match is None:
            return Fault("no header says Content-Length with a number")
        if not _OTHER_HEADERS.fullmatch(head, 0, match.start()):
            self._came[:0] = head[match.start() :] + _END
            return Fault("something stands before the header of a message")
        self._is_lost = False
        length = int(match[1])
        return length if length <= LARGEST_WHOLE else Fault(f"Content-Length is more than {LARGEST_WHOLE >> 20} MiB")

    def _head(self) -> bytes:
        """Read to the end of a header. Return what stands before it, without what is too long for one."""
        looked = 0
        while (end := self._came.find(_END, looked)) < 0:
            del self._came[: max(0, len(self._came) - LONGEST_TEXT)]
            looked = max(0, len(self._came) - len(_END))
            self._more()
        head = bytes(self._came[max(0, end - LONGEST_TEXT) : end])
        del self._came[: end + len(_END)]
        return head

    def _decoded(self, length: int | Fault) -> object:
        """Read a body. No JSON has the end of a header in a string: what has one shows that the length was wrong."""
        if isinstance(length, Fault):
            return length
        looked = 0
        while len(self._came) < length:
            end = self._came.find(_END, looked)
            if end >= 0 and _LENGTH.search(self._came[max(0, end - LONGEST_TEXT) : end]):
                return Fault("Content-Length is more than the length of the body")
            looked = max(0, len(self._came) - len(_END))
            self._more()
        body = bytes(self._came[:length])
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            return Fault("the body is not JSON, or Content-Length is not its length")
        del self._came[:length]
        return message

    def _more(self) -> None:
        """Read some bytes. Raises EOFError at the end."""
        piece = self._read(_PIECE)
        if not piece:
            raise EOFError
        self._came += piece
