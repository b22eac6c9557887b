"""Colours for text on a terminal, and when to use them."""

from __future__ import annotations

from collections.abc import Mapping
from os import get_terminal_size
from typing import TextIO

from msgspec import Struct

from kubesched_lint.findings import Severity

_RESET = "\x1b[0m"


class Palette(Struct, frozen=True):
    """Each method returns its text in colour, or unchanged when ``color`` is off."""

    color: bool

    def _paint(self, codes: str, text: str) -> str:
        return f"\x1b[{codes}m{text}{_RESET}" if self.color and text else text

    def severity(self, severity: Severity, text: str) -> str:
        codes = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTE: "1;36"}
        return self._paint(codes[severity], text)

    def bold(self, text: str) -> str:
        return self._paint("1", text)

    def dim(self, text: str) -> str:
        return self._paint("2", text)

    def gutter(self, text: str) -> str:
        return self._paint("1;34", text)

    def good(self, text: str) -> str:
        return self._paint("1;32", text)


def wants_color(mode: str, stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to use colour: ``mode`` is ``always``, ``never`` or ``auto`` (terminals, or by the environment).

    NO_COLOR, when it is not empty, means never; FORCE_COLOR, when it is neither empty nor 0, means always.
    """
    if mode != "auto":
        return mode == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and environ.get("TERM", "") != "dumb"


def terminal_width(stream: TextIO, environ: Mapping[str, str]) -> int:
    """Return the cells of a line on ``stream``; 0 if it is no terminal. COLUMNS overrides the terminal's width."""
    if not stream.isatty():
        return 0
    columns = environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):  # a terminal without a size, or a stream without a descriptor
        return 80
