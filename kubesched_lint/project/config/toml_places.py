"""Line and column of keys and values in a TOML text, which tomllib does not report."""

from __future__ import annotations

import tomllib
from bisect import bisect_right

from msgspec import Struct

from kubesched_lint.engine.base.places import Path


class Spot(Struct, frozen=True):
    """Line and column of a key (or list item) and of its value, from 1."""

    line: int
    column: int
    value_line: int
    value_column: int


def places(text: str) -> dict[Path, Spot]:
    """Return path → place, for a text that tomllib accepts; a table of ``[[x]]`` has its index in the path."""
    scanner = _Scanner(text)
    scanner.run()
    starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]

    def place(offset: int) -> tuple[int, int]:
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    return {path: Spot(*place(key), *place(value)) for path, (key, value) in scanner.offsets.items()}


class _Scanner:
    """Walks over valid TOML once and records offsets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.offsets: dict[Path, tuple[int, int]] = {}
        self._arrays: dict[Path, int] = {}

    def run(self) -> None:
        table: Path = ()
        while self._skip("\n\r"):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        start = self.at
        is_array = self.text.startswith("[[", start)
        self.at += 1 + is_array
        keys = self._key()
        self.at = self.text.index("]", self.at) + 1 + is_array
        path: Path = ()
        for number, (name, offset) in enumerate(keys):
            path = (*path, name)
            self.offsets.setdefault(path, (offset, start))
            if is_array and number == len(keys) - 1:
                self._arrays[path] = self._arrays.get(path, 0) + 1
            if path in self._arrays:
                path = (*path, self._arrays[path] - 1)
                self.offsets.setdefault(path, (offset, start))
        return path

    def _pair(self, table: Path) -> None:
        keys = self._key()
        self.at = self.text.index("=", self.at) + 1
        self._skip("")
        path = table
        for name, offset in keys:
            path = (*path, name)
            self.offsets.setdefault(path, (offset, self.at))
        self._value(path)

    def _key(self) -> list[tuple[str, int]]:
        """The parts of a dotted key with their offsets; ``at`` is after the key then."""
        parts = []
        while True:
            self._skip("")
            start = self.at
            if self.text[start] in "\"'":
                self._string()
                name = _unquoted(self.text[start : self.at])
            else:
                while self.text[self.at].isalnum() or self.text[self.at] in "_-":
                    self.at += 1
                name = self.text[start : self.at]
            parts.append((name, start))
            self._skip("")
            if self.text[self.at : self.at + 1] != ".":
                return parts
            self.at += 1

    def _value(self, path: Path) -> None:
        match self.text[self.at]:
            case '"' | "'":
                self._string()
            case "[":
                self._array(path)
            case "{":
                self._inline(path)
            case _:
                while self.at < len(self.text) and self.text[self.at] not in ",]}#\n":
                    self.at += 1

    def _array(self, path: Path) -> None:
        self.at += 1
        number = 0
        while self._skip("\n\r,") and self.text[self.at] != "]":
            self.offsets[(*path, number)] = (self.at, self.at)
            self._value((*path, number))
            number += 1
        self.at += 1

    def _inline(self, path: Path) -> None:
        self.at += 1
        while self._skip("\n\r,") and self.text[self.at] != "}":
            self._pair(path)
        self.at += 1

    def _string(self) -> None:
        quote = self.text[self.at]
        mark = quote * 3 if self.text.startswith(quote * 3, self.at) else quote
        self.at += len(mark)
        while not self.text.startswith(mark, self.at):
            self.at += 2 if quote == '"' and self.text[self.at] == "\\" else 1
        self.at += len(mark)
        if len(mark) == 3:  # up to two more quotes may come before the closing three
            while self.text.startswith(quote, self.at):
                self.at += 1

    def _skip(self, also: str) -> bool:
        """Skip blanks and characters in ``also``, and comments if ``also`` is not empty; whether text is left."""
        while self.at < len(self.text):
            character = self.text[self.at]
            if character == "#" and also:
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif character in " \t" or character in also:
                self.at += 1
            else:
                return True
        return False


def _unquoted(raw: str) -> str:
    return str(tomllib.loads(f"key = {raw}")["key"])
