"""How far something is that takes long, for who watches a terminal."""

from __future__ import annotations

import sys


class Progress:
    """One line on a terminal that changes as things come; nothing where standard error is no terminal."""

    def __init__(self) -> None:
        self._stream = sys.stderr if sys.stderr.isatty() else None

    def __call__(self, plural: str, count: int, total: int) -> None:
        if self._stream is not None:
            self._stream.write(f"\r\x1b[K{plural}: {count:,} of {total:,}")
            self._stream.flush()

    def end(self) -> None:
        if self._stream is not None:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
