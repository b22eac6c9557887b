"""Markdown for comments: text without markup, and blocks up to the limit of a comment.

GitHub rejects comments of more than 65,536 characters, GitLab of more than 1,000,000. Names come from manifests, so
nothing in them becomes markup, a mention or a link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from kubesched_lint.printing import escaped, visible

COMMENT_OF_GITHUB = 65_000
"""UTF-16 units, as GitHub counts; the rest is for text that a bot adds."""


class Block(Struct, frozen=True):
    """A part of the comment that is written in full or left out; ``count`` is its number of findings or workloads."""

    text: str
    count: int = 0


def within(blocks: Iterable[Block], room: int, left_out: Callable[[int], str]) -> Iterator[str]:
    """Yield blocks up to ``room`` UTF-16 units; then a line with the count of what does not fit."""
    room -= size(left_out(1_000_000))
    missing = 0
    for block in blocks:
        room -= size(block.text)
        if missing or room < 0:
            missing += block.count
        else:
            yield block.text
    if missing:
        yield left_out(missing)


def size(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


# --- escaping ---------------------------------------------------------------------------------------------------------

_MARKUP = {
    **{ord(sign): f"\\{sign}" for sign in "\\`*_[]{}|~#!$"},
    ord("&"): "&amp;",
    ord("<"): "&lt;",
    ord(">"): "&gt;",
    ord("@"): "@<!-- -->",
}


def plain(text: str) -> str:
    """Return text without markup; a comment after each ``@`` prevents mentions."""
    shown = text.encode("utf-8", "backslashreplace").decode().translate(_MARKUP)
    return visible(shown.replace("://", ":<!-- -->//").replace("::", ":&#58;"))


def code(text: str) -> str:
    """Return a code span, fenced by more backticks than the text has."""
    shown = visible(text).encode("utf-8", "backslashreplace").decode()
    fence = "`" * (longest_run([shown]) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def code_in_row(text: str) -> str:
    """Return a code span for the row of a table, in which a bar ends a cell even inside a span."""
    return plain(text) if "|" in text else code(text)


def html(text: str) -> str:
    """Return text for ``<summary>``, inside which GitHub renders no Markdown."""
    shown = text.encode("utf-8", "backslashreplace").decode()
    return visible(escaped(shown).replace("@", _MARKUP[ord("@")]))


def longest_run(lines: Iterable[str]) -> int:
    """Return the length of the longest run of backticks."""
    longest = 0
    for line in lines:
        run = 0
        for sign in line:
            run = run + 1 if sign == "`" else 0
            longest = max(longest, run)
    return longest
