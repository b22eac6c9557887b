"""A terminal picture of a cluster: domains as columns, nodes as boxes, pods as letters; equal nodes are drawn once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.engine.base.text import SHOWN
from kubesched_lint.engine.events.search.picture import Box, Picture
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.findings import Severity
from kubesched_lint.printing import visible
from kubesched_lint.report.terminal.cells import width
from kubesched_lint.report.terminal.palette import Palette
from kubesched_lint.report.wording.words import key_name

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WIDEST = 120
"""Where no terminal says how wide it is."""
_GAP = "  "

Pods = Sequence[tuple[int, bool, int]]
Cell = tuple[str, str]
"""A text as it is painted, and as it is measured."""


def legend(workloads: Sequence[Workload], pictures: Sequence[Picture]) -> str:
    """Which letter stands for which workload, of those that are drawn."""
    shown: set[int] = set()
    old = False
    for picture in pictures:
        for pods in (picture.waiting, *(box.pods for _, boxes in picture.columns for box in boxes)):
            shown.update(number for number, _, _ in pods)
            old = old or any(not new for _, new, _ in pods)
    names = ", ".join(
        f"{letter(i)} {visible(w.namespace)}/{visible(w.name)}" for i, w in enumerate(workloads) if i in shown
    )
    return f"{names or 'no pods'}{'; lower case: an older revision' if old else ''}"


def drawn(picture: Picture, palette: Palette, room: int = 0) -> Iterator[str]:
    """Domains side by side as far as ``room`` cells allow, a box per node, a letter per pod."""
    columns = [
        list(_column(visible(domain) or f"(no {visible(key_name(picture.key))})", boxes, palette))
        for domain, boxes in picture.columns
    ]
    widths = [max((width(plain) for _, plain in column), default=0) for column in columns]
    at = 0
    while at < len(columns):
        end, taken = at + 1, len(_GAP) + widths[at]
        while end < len(columns) and taken + len(_GAP) + widths[end] <= (room or _WIDEST):
            taken += len(_GAP) + widths[end]
            end += 1
        yield from _beside(columns[at:end], widths[at:end])
        at = end
    if picture.waiting:
        yield f"  waiting: {_letters(picture.waiting, palette)[0]}"


def _beside(columns: Sequence[Sequence[Cell]], widths: Sequence[int]) -> Iterator[str]:
    for line in range(max(map(len, columns), default=0)):
        text = ""
        for column, wide in zip(columns, widths, strict=True):
            painted, plain = column[line] if line < len(column) else ("", "")
            text += _GAP + painted + " " * (wide - width(plain))
        yield text.rstrip()


def _column(name: str, boxes: Sequence[Box], palette: Palette) -> Iterator[Cell]:
    folded = list(_folded(boxes))
    texts = [[_plain(_title(box)), _letters(box.pods, palette), *_more(count)] for box, count in folded]
    inner = max([width(name), *(width(plain) for lines in texts for _, plain in lines)], default=0)
    yield name, name
    for lines in texts:
        yield _plain(f"┌{'─' * (inner + 2)}┐")
        for painted, plain in lines:
            blank = " " * (inner - width(plain))
            yield f"│ {painted}{blank} │", f"│ {plain}{blank} │"
        yield _plain(f"└{'─' * (inner + 2)}┘")


def _folded(boxes: Sequence[Box]) -> Iterator[tuple[Box, int]]:
    """A box for all nodes that are alike, and how many they are, in the order of the first of each."""
    if len(boxes) <= SHOWN:
        yield from ((box, 1) for box in boxes)
        return
    alike: dict[object, list[Box]] = {}
    for box in boxes:
        alike.setdefault((box.cordoned, box.pods), []).append(box)
    for group in alike.values():
        yield group[0], len(group)


def _more(count: int) -> Iterator[Cell]:
    if count > 1:
        yield _plain(f"× {count} nodes like this")


def _plain(text: str) -> Cell:
    return text, text


def _title(box: Box) -> str:
    name = visible(box.name)
    return f"{name} (cordoned)" if box.cordoned else name


def _letters(pods: Pods, palette: Palette) -> Cell:
    """``AAAb``; more than twelve of a kind as ``A×30``."""
    painted = plain = ""
    for number, new, count in pods:
        sign = letter(number) if new else letter(number).lower()
        text = sign * count if count <= 12 and len(sign) == 1 else f"{sign}×{count} "
        plain += text
        painted += _painted(text, number, palette)
    if not pods:
        return "·", "·"
    return painted, plain


def letter(number: int) -> str:
    """``A`` to ``Z``, then ``A1``, ``B1`` …"""
    round_, place = divmod(number, len(_ALPHABET))
    return f"{_ALPHABET[place]}{round_ or ''}"


def _painted(text: str, number: int, palette: Palette) -> str:
    match number % 6:
        case 0:
            return palette.good(text)
        case 1:
            return palette.severity(Severity.WARNING, text)
        case 2:
            return palette.severity(Severity.NOTE, text)
        case 3:
            return palette.severity(Severity.ERROR, text)
        case 4:
            return palette.gutter(text)
    return palette.bold(text)
