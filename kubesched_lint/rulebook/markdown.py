"""The Markdown structure of a card: headings, and fenced blocks with their lines."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.record import record


@record
class Heading:
    level: int
    title: str
    line: int


@record
class Fence:
    """``info``: the words after the opening backticks; ``line``: number of the first line of ``text``."""

    info: tuple[str, ...]
    text: str
    line: int
    closed: bool = True


def blocks(text: str, first_line: int = 1) -> Iterator[Heading | Fence]:
    """Yield headings and fences in order; ``first_line`` is the number of the first line of ``text`` in its file."""
    ticks, info, start = "", "", 0
    content: list[str] = []
    for number, line in enumerate(text.split("\n"), first_line):
        if ticks:
            if line.rstrip() == ticks:
                yield Fence(tuple(info.split()), "".join(content), start)
                ticks = ""
            else:
                content.append(f"{line}\n")
        elif line.startswith("```"):
            info = line.lstrip("`")
            ticks = line[: len(line) - len(info)]
            content, start = [], number + 1
        elif line.startswith("#"):
            title = line.lstrip("#")
            if title.startswith(" "):
                yield Heading(len(line) - len(title), title.strip(), number)
    if ticks:
        yield Fence(tuple(info.split()), "".join(content), start, closed=False)
