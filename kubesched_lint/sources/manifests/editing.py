"""Turn a change of an object into a change of its text: comments, order, quotes and indentation stay.

Each splice is tested before it is returned: the new text must read as exactly the changed object.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from kubesched_lint.engine.base.places import Path
from kubesched_lint.sources.manifests.changes import Append, Change, ChangeError, Put, Remove, Rename, applied, pruned
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.limits import LARGEST_EDITED
from kubesched_lint.sources.manifests.yaml.format import (
    block,
    column,
    dash_before,
    in_brackets,
    in_lines,
    item,
    pair,
    scalar,
    style_of,
)
from kubesched_lint.sources.manifests.yaml.full_reader import BuildError, build
from kubesched_lint.sources.manifests.yaml.nodes import BLOCKS, YamlNode, end_of, every, parsed, way_to

_HASH = re.compile(r"(?<![^ \t\n])#")


class Splice(Struct, frozen=True):
    """Replace the characters from ``start`` to ``end`` of a text by ``text``."""

    start: int
    end: int
    text: str

    def __call__(self, text: str) -> str:
        return text[: self.start] + self.text + text[self.end :]


def splice_of(text: str, change: Change) -> Splice:
    """Return the splice that makes a change in a document's text, whose lines all end with a newline.

    Raises ChangeError. The path of the change begins at the root of the document, also for the items of a List.
    """
    if len(text) > LARGEST_EDITED:
        raise ChangeError(f"the document is longer than {LARGEST_EDITED:,} characters")
    try:
        before = build(text)
        after = applied(before, change)
        made = _Editor(text, before).splice(change)
        if build(made(text)) == after:
            return made
    except BuildError:
        pass
    raise ChangeError("its YAML style has no place for the change")


class _Editor:
    def __init__(self, text: str, value: Any) -> None:
        self._text = text
        self._value = value
        self._root = parsed(text)
        self._style = style_of(self._root, text)

    def splice(self, change: Change) -> Splice:
        match change:
            case Put(at, new, after):
                return self._put(at, new, after)
            case Append(at, new, after):
                return self._append(at, new, after)
            case Rename(at, key):
                return self._rename(at, key)
            case Remove(at):
                return self._remove(pruned(self._value, at))

    def _put(self, at: Path, new: Any, after: Sequence[str]) -> Splice:
        way = way_to(self._root, at)
        there = way[-1]
        if len(way) == len(at) + 1:
            return self._over(there, new, way[-2] if len(way) > 1 else None, at)
        for step in reversed(at[len(way) :]):
            new = {step: new}
        if there.is_null and len(way) > 1:
            return self._over(there, {at[len(way) - 1]: new}, way[-2], at[: len(way) - 1])
        step = at[len(way) - 1]
        if there.kind != "mapping" or not isinstance(step, str):
            raise ChangeError("its parent is not a mapping")
        return self._add_pair(there, step, new, after)

    def _append(self, at: Path, new: Any, after: Sequence[str]) -> Splice:
        way = way_to(self._root, at)
        there = way[-1]
        if len(way) < len(at) + 1 or there.is_null:
            return self._put(at, [new], after)
        if there.kind != "list":
            raise ChangeError("it is not a list")
        if there.flow:
            return self._add_in_brackets(there, None, in_brackets(new, self._style), new)
        last = there.items[-1]
        dash = dash_before(last, self._text)
        if dash < 0:
            raise ChangeError("its dashes are on lines of their own")
        lines = item(new, column(dash, self._text), self._style)
        if last.flow:
            lines = iter((f"{' ' * column(dash, self._text)}- {in_brackets(new, self._style)}",))
        return self._below(last, "".join(f"\n{line}" for line in lines))

    def _over(self, node: YamlNode, new: Any, above: YamlNode | None, at: Path) -> Splice:
        """Replace a scalar by another value."""
        if node.anchor or node.tagged or node.kind != "scalar" or node.style in BLOCKS:
            raise ChangeError("the value there is not a plain word")
        text, style = self._text, self._style
        lead = " " if node.start and text[node.start - 1] in ":-" else ""
        if not isinstance(new, (dict, list)):
            return Splice(node.start, node.end, lead + scalar(new, style, node.style))
        step = at[-1]
        if (
            above is None
            or above.flow
            or not isinstance(step, str)
            or text[node.end : self._line_end(node.end)].strip()
        ):
            return Splice(node.start, node.end, lead + in_brackets(new, style))
        key = next(key for key, value in above.pairs if value is node)
        head, *lines = block(step, new, column(key.start, text), style)
        rest = head.partition(":")[2]
        return Splice(key.end + 1, node.end, "\n".join((rest, *lines)))

    def _add_pair(self, mapping: YamlNode, key: str, new: Any, after: Sequence[str]) -> Splice:
        behind = max((n for n, (k, _) in enumerate(mapping.pairs) if k.key in after), default=len(mapping.pairs) - 1)
        if mapping.flow or not mapping.pairs:
            return self._add_in_brackets(mapping, behind, pair(key, new, self._style), new, key)
        indent = column(mapping.pairs[0][0].start, self._text)
        return self._below(
            mapping.pairs[behind][1], "".join(f"\n{line}" for line in block(key, new, indent, self._style))
        )

    def _below(self, node: YamlNode, text: str) -> Splice:
        """Insert new lines after the last line of a value and the comment behind it."""
        at = end_of(node, self._text)
        line_end = self._line_end(at)
        rest = self._text[at:line_end].strip()
        if rest and not rest.startswith("#"):
            raise ChangeError("something else follows on the same line")
        return Splice(line_end, line_end, text)

    def _line_end(self, at: int) -> int:
        end = self._text.find("\n", at)
        return len(self._text) if end < 0 else end

    def _add_in_brackets(self, node: YamlNode, behind: int | None, words: str, new: Any, key: str = "") -> Splice:
        """Insert a member after number ``behind`` (None: the last); on a line of its own if the others are."""
        text, style = self._text, self._style
        if not node.children:
            inner = f" {words} " if style.padded and not style.json else words
            return Splice(node.start + 1, node.end - 1, inner)
        last = node.children[-1 if behind is None else behind]
        first = node.pairs[0][0] if node.kind == "mapping" else node.items[0]
        gap = text[node.start + 1 : first.start]
        if "\n" not in gap or "#" in gap:
            return Splice(last.end, last.end, (", " if style.spaced else ",") + words)
        indent = " " * column(first.start, text)
        lead = text[first.start - len(indent) : first.start]
        indent = lead if not lead.strip() else indent
        if style.json and isinstance(new, (dict, list)):
            opened = text.rfind("\n", 0, node.start) + 1
            outer = len(text[opened:]) - len(text[opened:].lstrip(" \t"))
            step = max(1, len(indent) - outer)
            words = in_lines(new, indent, step)
            words = f"{scalar(key, style)}: {words}" if key else words
        return Splice(last.end, last.end, f",\n{indent}{words}")

    def _rename(self, at: Path, key: str) -> Splice:
        way = way_to(self._root, at[:-1])
        key_nodes = [k for k, _ in way[-1].pairs if k.key == at[-1]] if len(way) == len(at) else []
        if not key_nodes or key_nodes[0].kind != "scalar" or key_nodes[0].anchor or key_nodes[0].tagged:
            raise ChangeError("its key is not written literally")
        node = key_nodes[0]
        return Splice(node.start, node.end, scalar(key, self._style, node.style))

    def _remove(self, at: Path) -> Splice:
        way = way_to(self._root, at)
        if len(way) < len(at) + 1:
            raise ChangeError("it is not written literally")
        holder, node = way[-2], way[-1]
        spots = holder.items if holder.kind == "list" else [key for key, _ in holder.pairs]
        number = next(n for n, child in enumerate(holder.children) if child is node)
        whole = None if holder.flow else self._lines_of(holder, spots, number)
        if whole is not None:
            return whole
        made = self._out_of_brackets if holder.flow else self._beside_dash
        splice = made(holder, spots, number)
        if any(True for _ in self._comments(splice.start, splice.end)):
            raise ChangeError("a comment would be deleted too")
        return splice

    def _out_of_brackets(self, holder: YamlNode, spots: list[YamlNode], number: int) -> Splice:
        if number + 1 < len(spots):
            return Splice(spots[number].start, spots[number + 1].start, "")
        return Splice(holder.children[number - 1].end, holder.children[number].end, "")

    def _lines_of(self, holder: YamlNode, spots: list[YamlNode], number: int) -> Splice | None:
        """Return a splice that removes whole lines but keeps their comments; None if other text precedes on the first
        line.
        """
        text = self._text
        start = self._begin(holder, spots[number])
        line = text.rfind("\n", 0, start) + 1
        if text[line:start].strip():
            return None
        end = self._line_end(end_of(holder.children[number], text))
        kept = [f"{text[line:start]}{comment}" for comment in self._comments(line, end)]
        if end < len(text):
            return Splice(line, end + 1, "".join(f"{comment}\n" for comment in kept))
        return Splice(line, end, "\n".join(kept)) if kept else Splice(max(0, line - 1), end, "")

    def _beside_dash(self, holder: YamlNode, spots: list[YamlNode], number: int) -> Splice:
        """Remove the first of several keys behind a dash; the dash stays."""
        if number or len(spots) < 2:
            raise ChangeError("something else precedes it on the same line")
        return Splice(self._begin(holder, spots[0]), self._begin(holder, spots[1]), "")

    def _begin(self, holder: YamlNode, spot: YamlNode) -> int:
        """Return the offset at which a member of a block begins, with its dash."""
        start = dash_before(spot, self._text) if holder.kind == "list" else spot.start
        if start < 0:
            raise ChangeError("its dash is on a line of its own")
        return start

    def _comments(self, start: int, end: int) -> Iterator[str]:
        """Yield the comments between two offsets, from their ``#`` to the end of the line."""
        text = self._text
        inside = [
            (self._line_end(node.start) if node.style in BLOCKS else node.start, end_of(node, text))
            for node in every(self._root)
            if node.kind == "scalar"
        ]
        for match in _HASH.finditer(text, start, end):
            at = match.start()
            if not any(first <= at < last for first, last in inside):
                yield text[at : self._line_end(at)].rstrip()


# --- Apply a change of a document's text to the bytes of its file: encoding, byte order mark and line ends stay -------

_LINE_END = re.compile(r"\r\n|\r|\n")
_MARKS = ((BOM_UTF8, "utf-8"), (BOM_UTF16_LE, "utf-16-le"), (BOM_UTF16_BE, "utf-16-be"))


def spliced(data: bytes, document: Document, splice: Splice) -> bytes:
    """Return the bytes of a file after a splice in the text of one of its documents."""
    mark, codec = next(((m, c) for m, c in _MARKS if data.startswith(m)), (b"", "utf-8"))
    # As ``split.text_of`` decodes it: invalid UTF-8 in another document is written back unchanged.
    errors = "surrogateescape" if codec == "utf-8" else "strict"
    raw = data[len(mark) :].decode(codec, errors)
    ends = list(_LINE_END.finditer(raw))
    starts = [0, *(end.end() for end in ends)]

    def place(at: int) -> int:
        line = document.line - 1 + document.text.count("\n", 0, at)
        return starts[line] + at - document.text.rfind("\n", 0, at) - 1

    line = document.line - 1 + document.text.count("\n", 0, splice.start)
    newline = ends[min(line, len(ends) - 1)][0] if ends else "\n"
    text = raw[: place(splice.start)] + splice.text.replace("\n", newline) + raw[place(splice.end) :]
    return mark + text.encode(codec, errors)
