"""Places in a text, after somebody has edited it."""

from __future__ import annotations

from bisect import bisect
from difflib import SequenceMatcher

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, Span
from kubesched_lint.engine.model.limits import LONGEST
from kubesched_lint.findings import Finding, Related


class Shift(Struct, frozen=True):
    """``blocks`` of lines that stay, in order: first line before, first line now, and their number.

    The ends of the text are empty blocks.
    """

    blocks: tuple[tuple[int, int, int], ...]

    def line(self, number: int) -> int:
        """Return where a line is now, counted from 1; a line that was edited stays between its neighbours."""
        before, now, size = self.blocks[bisect(self.blocks, number, key=lambda block: block[0]) - 1]
        if before <= number < before + size:
            return number - before + now
        after = min((block[1] for block in self.blocks if block[0] > number), default=now + 1)
        return max(1, min(number - before + now, after - 1))

    def span(self, span: Span) -> Span:
        line, last = self.line(span.line), self.line(span.end_line)
        return Span(line, span.column, max(line, last), span.end_column)


def shift_between(old: str, new: str) -> Shift:
    """Return how lines move between two texts."""
    before, after = old.split("\n"), new.split("\n")
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    last, last_now = len(before) - tail, len(after) - tail
    inside = _matches(before[head:last], after[head:last_now])
    matches = ((0, 0, head), *((a + head, b + head, size) for a, b, size in inside), (last, last_now, tail))
    kept = ((a + 1, b + 1, size) for a, b, size in matches if size)
    return Shift(((1, 1, 0), *kept, (len(before) + 1, len(after) + 1, 0)))


def _matches(old: list[str], new: list[str]) -> list[tuple[int, int, int]]:
    if not old or not new or max(len(old), len(new)) > LONGEST:
        return []
    return [(match.a, match.b, match.size) for match in SequenceMatcher(None, old, new).get_matching_blocks()]


def _alike(lines: list[str], other: list[str]) -> int:
    pairs = enumerate(zip(lines, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(lines), len(other)))


def moved(finding: Finding, shifts: dict[str, Shift]) -> Finding:
    """Return the finding with its places in the texts as they are now; ``shifts`` has the edited files by path."""
    if not shifts:
        return finding
    related = tuple(Related(moved_place(place.location, shifts), place.label) for place in finding.related)
    also = tuple(moved(part, shifts) for part in finding.also)
    return replace(finding, location=moved_place(finding.location, shifts), related=related, also=also)


def moved_place(location: Location, shifts: dict[str, Shift]) -> Location:
    """Return the place in the texts as they are now."""
    near = None if location.near is None else moved_place(location.near, shifts)
    shift = shifts.get(location.path)
    return Location(location.path, location.span if shift is None else shift.span(location.span), near)
