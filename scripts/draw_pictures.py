"""Draws the README's pictures from what the commands really print on a terminal; ``--check`` says which are stale.

``python scripts/draw_pictures.py [--check]``, anywhere. No fonts, no scripts and no addresses are in the pictures.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
COLUMNS = 100
_CELL, _LINE, _SIZE = 8.4, 19, 14
"""Pixels: of a character's width, a line's height, and the font."""
_MARGIN, _BAR = 22, 40
_COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#f2cc60", "34": "#79c0ff", "36": "#56d4dd"}
_TEXT, _GROUND = "#e6edf3", "#0d1117"
_FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"


@dataclass(frozen=True)
class Picture:
    """``until`` is how the first line begins that is left out."""

    name: str
    arguments: tuple[str, ...]
    until: str = ""

    @property
    def command(self) -> str:
        return f"kubesched-lint {' '.join(self.arguments)}"


ALL = (
    Picture("lint", ("lint", "fixtures/shop/cache.yaml", "--cluster", "fixtures/clusters/three-zones.yaml")),
    Picture(
        "simulate",
        ("simulate", "fixtures/shop", "--cluster", "fixtures/clusters/three-zones.yaml"),
        "    the pods say after node loss",
    ),
)


def printed(picture: Picture) -> list[str]:
    """What the command prints on a terminal of COLUMNS columns, with its colours."""
    import pty

    ours, theirs = pty.openpty()
    environ = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
    environ.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "kubesched_lint", *picture.arguments, "--no-config"]
    process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    data = b""
    try:
        while more := os.read(ours, 1 << 16):
            data += more
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    if process.wait() not in (0, 1):
        raise SystemExit(f"{picture.command} ended with {process.returncode}")
    return data.decode().replace("\r\n", "\n").rstrip("\n").split("\n")


def shown(picture: Picture) -> list[str]:
    lines = printed(picture)
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]
    cut = next((n for n, line in enumerate(plain) if picture.until and line.startswith(picture.until)), None)
    return lines if cut is None else [*lines[:cut], "\x1b[2m  …\x1b[0m"]


def spans(line: str) -> Iterator[tuple[int, str, str]]:
    """Column, attributes and text of each stretch of one look."""
    column, codes = 0, ""
    for part in re.split(r"(\x1b\[[\d;]*m)", line):
        if part.startswith("\x1b"):
            codes = part[2:-1]
        elif part:
            found = set(codes.split(";"))
            look = ' font-weight="700"' if "1" in found else ""
            look += ' opacity="0.6"' if "2" in found else ""
            look += next((f' fill="{colour}"' for code, colour in _COLOURS.items() if code in found), "")
            yield column, look, part
            column += len(part)


def svg(picture: Picture, lines: list[str]) -> str:
    """Every stretch is set to its cells, so that columns stand under one another in any font."""
    width = round(COLUMNS * _CELL) + 2 * _MARGIN
    height = _BAR + (len(lines) + 2) * _LINE + _MARGIN
    rows = [_row(0, [(0, f' fill="{_COLOURS["32"]}"', "$"), (2, "", picture.command)])]
    rows += [_row(number, list(spans(line))) for number, line in enumerate(lines, 2)]
    dots = "".join(f'<circle cx="{_MARGIN + 18 * n}" cy="20" r="6" fill="#30363d"/>' for n in range(3))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' role="img" aria-label="{escape(picture.command)} and what it prints">\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="{_GROUND}"/>{dots}\n'
        f'<g font-family="{_FONTS}" font-size="{_SIZE}" fill="{_TEXT}">\n' + "".join(rows) + "</g>\n</svg>\n"
    )


def _row(number: int, stretches: list[tuple[int, str, str]]) -> str:
    y = _BAR + number * _LINE + _SIZE
    row = []
    for column, look, text in stretches:
        for words in re.finditer(r"\S+(?: \S+)*", text):  # runs of blanks would be drawn as one
            x, length = _MARGIN + (column + words.start()) * _CELL, len(words[0]) * _CELL
            row.append(
                f'<text x="{x:.1f}" y="{y}" textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs"{look}>'
                f"{escape(words[0], quote=False)}</text>"
            )
    return "".join(row) + "\n"


def main() -> None:
    stale = []
    for picture in ALL:
        file = PICTURES / f"{picture.name}.svg"
        drawn = svg(picture, shown(picture))
        if "--check" in sys.argv[1:]:
            if not file.is_file() or file.read_text() != drawn:
                stale.append(str(file.relative_to(ROOT)))
        else:
            PICTURES.mkdir(parents=True, exist_ok=True)
            file.write_text(drawn)
    if stale:
        raise SystemExit(f"stale: {', '.join(stale)}; run python scripts/draw_pictures.py")


if __name__ == "__main__":
    main()
