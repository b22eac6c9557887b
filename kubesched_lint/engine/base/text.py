"""Phrases that many messages share: counted nouns, shortened lists and names, and suggestions for misspelt names."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from kubesched_lint.engine.base.limits import LONGEST_LIST, MOST_COMPARED

T = TypeVar("T")
SHOWN = 3
"""So many names a note lists before ``and 4 more``."""
_LONG = 300
"""Texts with fewer characters are never cut."""
_LONG_WORD, _WORD = 6, 5
"""The least letters of a name, or of a word in one, whose slip is certain."""


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Return the noun, or another word, that goes with a number: ``plural(2, "is", "are")`` is ``are``."""
    return noun if count == 1 else f"{noun}s" if nouns is None else nouns


def many(count: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun: ``1 file``, ``2,000 files``."""
    return f"{count:,} {plural(count, noun, nouns)}"


def joined(parts: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def and_others(shown: Sequence[str], left: int) -> str:
    """Return ``a, b … and 3 more``."""
    return f"{', '.join(shown)} … and {left} more"


def and_more(left: int, noun: str = "") -> str:
    """Return `` and 3 more``, or `` and 3 more pools``; empty if nothing is left."""
    return f" and {left:,} more{noun and ' ' + plural(left, noun)}" if left > 0 else ""


def first_few(names: Sequence[str], glue: str = ", ", most: int = SHOWN) -> str:
    """Return the first ``most`` names and how many more there are: ``a, b, c and 4 more``.

    A single one more is named as well, unless its name is longer than the others and than the words for it:
    ``a, b, c and d``.
    """
    if len(names) == most + 1 and len(names[most]) <= max(map(len, (*names[:most], and_more(1)))):
        return f"{glue.join(names[:most])}{' and ' if glue == ', ' else glue}{names[most]}"
    return glue.join(names[:most]) + and_more(len(names) - most)


def in_which(names: Sequence[str], total: int) -> str:
    """Return `` (in prod-eu, prod-us)`` for some of ``total`` targets or clusters; nothing for all of them."""
    return "" if len(names) == total else f" (in {first_few(names)})"


def not_read(counts: Mapping[str, int]) -> str:
    """Return ``151 HelmReleases and 2 Helm charts were not read``, the kinds with most things first."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    named = [many(count, kind, kind if kind.endswith("s") else None) for kind, count in ordered[:SHOWN]]
    more = len(ordered) - SHOWN
    parts = [*named, many(more, "more kind")] if more > 0 else named
    return f"{joined(parts)} {plural(sum(counts.values()), 'was', 'were')} not read"


def brief(text: str) -> str:
    """Return the text with its long lists cut: ``a, b, … 209 more …, z``.

    A list has more than 12 parts between ``, ``, ``; `` or `` + ``, and no parenthesis opens or closes within it.
    """
    if len(text) < _LONG:
        return text
    pieces = re.split(r"([()])", text)
    return "".join(_brief_lists(piece) for piece in pieces)


def _brief_lists(text: str) -> str:
    for glue in ("; ", " + ", ", "):
        text = glue.join(ends_of(text.split(glue), str))
    return text


def ends_of(parts: Sequence[T], shown: Callable[[T], str]) -> Sequence[str]:
    """Return what ``brief`` leaves of a list: of a long one the first parts, ``… 209 more …`` and the last one."""
    if len(parts) <= 2 * LONGEST_LIST:
        return tuple(map(shown, parts))
    return (*map(shown, parts[:LONGEST_LIST]), f"… {len(parts) - LONGEST_LIST - 1:,} more …", shown(parts[-1]))


def closest(wrong: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return the known name most similar to ``wrong``; empty if none reaches ``likeness`` (0 to 1)."""
    return next(iter(near(wrong, known, likeness)), "")


def near(wrong: str, known: Iterable[str], likeness: float = 0.6) -> Sequence[str]:
    """Return the known names that are similar to ``wrong``, the most similar first.

    Of very many, only those next to it in the alphabet are compared, read from the start or from the end.
    """
    names = sorted({*known})
    backwards = sorted(name[::-1] for name in names) if len(names) > MOST_COMPARED else ()
    return near_of(wrong, names, backwards, likeness)


def near_of(wrong: str, names: Sequence[str], backwards: Sequence[str], likeness: float) -> Sequence[str]:
    """Return ``near`` of sorted names; ``backwards`` are the names read from the end, sorted as well."""
    if len(names) <= MOST_COMPARED:
        return _near_ones(wrong, tuple(names), likeness)
    few = {*_next_to(wrong, names), *(name[::-1] for name in _next_to(wrong[::-1], backwards))}
    return _near_ones(wrong, tuple(sorted(few)), likeness)


def _next_to(wrong: str, ordered: Sequence[str]) -> Sequence[str]:
    at = bisect_left(ordered, wrong)
    return ordered[max(0, at - MOST_COMPARED // 4) : at + MOST_COMPARED // 4]


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Return ``; did you mean `right`?`` for the known name that ``wrong`` begins or resembles; empty without one."""
    right = next(iter(meant(wrong, known)), "")
    return f"; did you mean `{right}`?" if right else ""


def meant(wrong: str, known: Iterable[str]) -> Sequence[str]:
    """Return the names that ``wrong`` begins, the shortest first, then those that are similar; at most three."""
    names = sorted({*known}, key=lambda name: (len(name), name))
    begun = [name for name in names if wrong and name.startswith(wrong)]
    return list(dict.fromkeys((*begun, *near(wrong, names))))[:SHOWN]


def is_slip(wrong: str, right: str) -> bool:
    """Whether ``wrong`` is surely a misspelt ``right``: wrong case or punctuation, or one letter too many or too few.

    A changed letter or digit is no slip, nor is a letter after anything but a letter: such a letter distinguishes
    eu-west-1a from eu-west-1b, eu-west-1 and worker-a from worker.
    """
    if _letters(wrong) == _letters(right):
        return True
    shorter, other = sorted((wrong.lower(), right.lower()), key=len)
    if len(shorter) < _LONG_WORD or len(other) != len(shorter) + 1:
        return False
    at = next((n for n in range(len(shorter)) if shorter[n] != other[n]), len(shorter))
    neighbour = other[at - 1] if at else other[1]
    return other[at].isalpha() and neighbour.isalpha() and shorter[at:] == other[at + 1 :]


def _letters(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


def misspelt(wrong: str, known: Iterable[str]) -> str:
    """Return the known name that ``wrong`` surely misspells, for names that may exist unseen; empty without one.

    Besides slips it takes one changed letter, or two swapped ones, within a word of five letters or more.
    """
    return min((right for right in known if is_slip(wrong, right) or _is_changed_word(wrong, right)), default="")


def _is_changed_word(wrong: str, right: str) -> bool:
    words = zip(*(re.findall(r"[a-z]+|[^a-z]+", name.lower()) for name in (wrong, right)), strict=False)
    changed = [pair for pair in words if pair[0] != pair[1]]
    if len(wrong) != len(right) or len(changed) != 1:
        return False
    word, other = changed[0]
    if len(word) != len(other) or len(word) < _WORD or not word.isalpha():
        return False
    at = [n for n in range(len(word)) if word[n] != other[n]]
    return len(at) == 1 or (len(at) == 2 and at[1] == at[0] + 1 and sorted(word) == sorted(other))


@lru_cache(maxsize=256)
def _near_ones(wrong: str, names: tuple[str, ...], likeness: float) -> Sequence[str]:
    """Cached, because a file may hold one misspelt name thousands of times."""
    from difflib import get_close_matches  # most files misspell nothing

    return get_close_matches(wrong, names, n=MOST_COMPARED, cutoff=likeness)


def seconds_of(duration: str) -> int | None:
    """Return the seconds of a duration such as ``30m``, ``12h``, ``7d`` or ``2w``; None if it is none."""
    number, unit = duration[:-1], {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}.get(duration[-1:])
    is_number = number.isascii() and number.isdecimal() and len(number) <= 6
    return int(number) * unit if unit and is_number else None


def one_line(text: str) -> str:
    """Return the message on one line, whatever the names in it contain."""
    return text if text.isprintable() else " ".join(text.split())


def shortened(text: str, most: int) -> str:
    """Return at most ``most`` characters; cuts the middle, because similar names differ at their ends."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def distinct_names(names: Collection[str], most: int) -> Mapping[str, str]:
    """Return name → at most ``most`` characters that distinguish it from the other names.

    The domain that all of them share goes first, then the middle. If that makes two names equal, the start and the end
    that all names share go instead.
    """
    domain = _shared_end(names).partition(".")[2] if len(set(names)) > 1 else ""
    short = {name: shortened(name.removesuffix(f".{domain}") if domain else name, most) for name in names}
    if len(set(short.values())) == len(short):
        return short
    start, end = len(shared_start(names)), len(_shared_end(names))
    return {name: _part(name, start, len(name) - end, most) for name in names}


def shared_start(names: Collection[str]) -> str:
    """Return what all names begin with."""
    low, high = min(names), max(names)
    return low[: next((i for i, sign in enumerate(low) if high[i : i + 1] != sign), len(low))]


def _shared_end(names: Collection[str]) -> str:
    return shared_start([name[::-1] for name in names])[::-1]


def _part(name: str, start: int, end: int, most: int) -> str:
    """Return the part of ``name`` from ``start`` to ``end``, with more of the start if there is room."""
    first = max(0, min(start, end - most + 2))
    left, right = "…" if first else "", "…" if end < len(name) else ""
    return f"{left}{shortened(name[first:end], most - len(left) - len(right))}{right}"
