"""What a renderer may ask for beside the report: source lines, the words of cards, and the terminal's nature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kubesched_lint.findings import Severity
from kubesched_lint.version import __version__


@dataclass(frozen=True, slots=True)
class CardView:
    """What a report shows of a rule's card."""

    slug: str
    summary: str
    severity: Severity
    markdown: str = ""
    """The card's prose, below its front matter."""
    family: str = ""
    references: tuple[str, ...] = ()
    url: str = ""
    """Where people read the card on the web; empty when it is nowhere."""


def _no_lines(path: str) -> Sequence[str]:
    return ()


def _no_card(slug: str) -> CardView | None:
    return None


@dataclass(frozen=True, slots=True)
class RenderContext:
    """``sources`` gives a file's lines without their line ends, ``()`` when it cannot be shown; it never raises.

    ``width`` counts terminal cells; 0 means that no terminal is there: prose is not wrapped.
    """

    sources: Callable[[str], Sequence[str]] = _no_lines
    cards: Callable[[str], CardView | None] = _no_card
    color: bool = False
    width: int = 0
    version: str = __version__
