"""Make outside strings visible before they reach a terminal, a log or a CI runner, and write them.

A manifest, a file name or a server's message must not control a terminal, reverse or hide text (CVE-2021-42574), or
command a CI runner, which obeys lines such as ``::add-mask::x`` (GitHub) and ``##vso[task.complete]`` (Azure).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from functools import lru_cache
from json import dumps
from typing import TextIO

_REPLACEMENT = "\ufffd"
# Controls, bidi controls, line ends, blanks without width, fillers, tags and selectors that carry hidden data.
_HIDDEN = (
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_OBEYED = "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
# needed in some scripts and in emoji, not after ASCII as in `web`; "not after another than these", because
# compiling the class of the others takes 25 million instructions
_JOINER = "(?<![^\x00-\u058f])[\u200c\u200d\ufe00-\ufe0f]"
# commands of GitHub, Azure, TeamCity; a blank inside makes them harmless
_COMMAND = "(?i::(?=:+[a-z])|#(?=#+[a-z]*\\[))"
_DRAWN = "\n\t│─…→·×–−"
"""Line ends, and characters of our own reports that nothing obeys."""
_PAINT = r"\x1b\[[0-9;]*m"

_MARKUP = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "::": ":&#58;",
    "##": "#&#35;",
}


class OutputError(Exception):
    """Output could not be written; the text is for the user."""


def visible(text: str) -> str:
    """Return ``text`` as one line that neither a terminal nor a CI runner obeys."""
    if is_plain(text):
        return text
    text = text.replace("\r\n", " ").replace("\n", " ").replace("\t", " ")
    return _unsafe().sub(lambda match: _shown(match[0]), text)


def visible_lines(text: str, *, painted: bool = False) -> str:
    """Return ``text`` with its line ends, made safe like ``visible``; with ``painted``, our own colours stay too."""
    if is_plain(_without_ours(text)):
        return text
    kept = re.compile(rf"{_PAINT}|[\n\t]" if painted else "[\n\t]")
    pieces = []
    at = 0
    for match in kept.finditer(text):
        pieces += [text[at : match.start()], match[0]]
        at = match.end()
    pieces.append(text[at:])
    pieces[::2] = (_unsafe().sub(lambda match: _shown(match[0]), piece) for piece in pieces[::2])
    return "".join(pieces)


def _without_ours(text: str) -> str:
    """Return the text without line ends and what reports draw: it is far faster to see whether the rest is plain."""
    for sign in _DRAWN:
        text = text.replace(sign, "")
    return text


def cells_of(text: str) -> list[str]:
    """Return the text to show for each character of ``text``."""
    cells = list(text)
    if not is_plain(text):
        for match in _unsafe().finditer(text):
            cells[match.start()] = _shown(match[0])
    return cells


def json_text(value: object, indent: int | None = None) -> str:
    """Return JSON that escapes hidden characters and CI commands in its strings; its value is the same."""
    return safe_json(dumps(value, ensure_ascii=False, indent=indent))


def safe_json(text: str) -> str:
    """Return the same JSON with the necessary escapes."""
    if text.isascii() and not any(sign in text for sign in ("::", "##", "\x7f")):
        return text
    return _unsafe(json=True).sub(lambda match: _escaped(match[0]), text)


def escaped(text: str) -> str:
    """Return ``text`` for XML and HTML, without CI commands; it is displayed unchanged."""
    for sign, entity in _MARKUP.items():
        if sign in text:
            text = text.replace(sign, entity)
    return text


def is_obeyed(text: str) -> bool:
    """Return whether a terminal or a CI runner would act on a line, or reverse it, instead of printing it."""
    return not is_plain(text) and re.search(f"{_OBEYED}|{_COMMAND}", text) is not None


def is_plain(text: str) -> bool:
    """Return whether each character of ``text`` is shown as it is."""
    return text.isascii() and text.isprintable() and "::" not in text and "##" not in text


@lru_cache(maxsize=2)
def _unsafe(json: bool = False) -> re.Pattern[str]:
    """Return a pattern whose every match is one character."""
    hidden = _HIDDEN.replace("\x00-\x1f", "") if json else _HIDDEN  # between strings there may be line ends
    return re.compile(f"{hidden}|{_JOINER}|{_COMMAND}")


def _shown(character: str) -> str:
    if character in ":#":
        return f"{character} "
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else _REPLACEMENT


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


# --- writing --------------------------------------------------------------------------------------------------------


def say(text: str, *, painted: bool = False) -> None:
    """Print lines of text on standard output. Raises OutputError."""
    write_stream(sys.stdout, [visible_lines(text, painted=painted), "\n"])


def say_exactly(pieces: Iterable[str]) -> None:
    """Print text that is already safe, such as JSON, on standard output. Raises OutputError."""
    write_stream(sys.stdout, pieces)


def say_markdown(text: str) -> None:
    """Print Markdown on standard output, laid out on a terminal. Raises OutputError."""
    text = visible_lines(text).removesuffix("\n")
    if not sys.stdout.isatty():
        say(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    console.print(Markdown(text, code_theme="ansi_dark"), width=min(console.width, 110))


_COLUMNS = 80
"""Columns of a terminal that does not know how many it has."""
_stands = False
"""Whether a line stands on the terminal that ``overwrite`` has to take back."""


def overwrite(text: str, ending: str = "") -> None:
    """Show a line on the terminal of standard error in place of the one before; "" erases it.

    Of a text that is too long the beginning is shown, and the ending.
    """
    global _stands
    if not (text or _stands):
        return
    try:
        room = (os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS) - 1 - len(ending)
        shown = visible(text)
        if _columns(shown) > room:
            while shown and _columns(shown) >= room:
                shown = shown[:-1]
            shown += "…"
        sys.stderr.write(f"\r\x1b[K{shown}{ending}")
        sys.stderr.flush()
        _stands = bool(text)
    except (OSError, ValueError, AttributeError):
        pass


def _columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width

    return sum(1 + (east_asian_width(character) in "WF") for character in text)


def tell(message: str) -> None:
    """Print one line on standard error; failures are ignored, because only the exit code is left then."""
    overwrite("")
    try:
        sys.stderr.write(f"{visible(message)}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass


def write_stream(stream: TextIO, pieces: Iterable[str]) -> None:
    """Write to ``stream`` in its encoding. If the reader has gone, stop writing and let the run end normally.

    Raises OutputError if the disk is full or writing fails otherwise.
    """
    overwrite("")
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        for piece in pieces:
            stream.write(piece.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        forget(stream)
    except OSError as error:
        forget(stream)
        raise OutputError(f"standard output: {error.strerror or error}") from error


def write_bytes(pieces: Iterable[bytes]) -> None:
    """Write bytes to standard output. Raises OutputError."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        forget(sys.stdout)
    except OSError as error:
        forget(sys.stdout)
        raise OutputError(f"standard output: {error.strerror or error}") from error


def forget(stream: TextIO) -> None:
    """Discard buffered output, because the interpreter would report the broken pipe at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    except (OSError, ValueError):  # not a stream of the operating system
        pass
    finally:
        os.close(nowhere)
