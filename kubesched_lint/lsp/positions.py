"""Positions: ours count code points from 1, those of a client UTF-16 units from 0, or another unit that it prefers."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from kubesched_lint.engine.base.places import Span


class Positions:
    """Translates for a client that counts in ``unit``. ``lines`` are those of the text, without line ends."""

    def __init__(self, unit: str = "utf-16") -> None:
        self.unit = unit

    def range(self, lines: Sequence[str], span: Span) -> types.Range:
        """Return the range of a span; what lies behind a text is its end."""
        start = self.position(lines, span.line, span.column)
        return types.Range(start, max(start, self.position(lines, span.end_line, span.end_column), key=_place))

    def position(self, lines: Sequence[str], line: int, column: int) -> types.Position:
        at = min(line, len(lines)) - 1
        if at < 0:
            return types.Position(0, 0)
        text = lines[at]
        return types.Position(at, self._units(text[: column - 1] if line == at + 1 else text))

    def place(self, lines: Sequence[str], position: types.Position) -> tuple[int, int]:
        """Return (line, column) of a client's position; inside a code point of several units it is that one's start."""
        text = lines[position.line] if position.line < len(lines) else ""
        left, column = position.character, 1
        for character in text:
            left -= self._units(character)
            if left < 0:
                break
            column += 1
        return position.line + 1, column

    def _units(self, text: str) -> int:
        if text.isascii() or self.unit == "utf-32":
            return len(text)
        if self.unit == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text) + sum(character > "\uffff" for character in text)


def _place(position: types.Position) -> tuple[int, int]:
    return position.line, position.character
