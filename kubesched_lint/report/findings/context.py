"""Inputs of a renderer besides the report: source lines, cards, the cluster, the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from kubesched_lint.findings import Severity
from kubesched_lint.rulebook.library import Rulebook, UnknownRuleError
from kubesched_lint.version import __version__

if TYPE_CHECKING:
    from kubesched_lint.commands.lint.report_extras import ReportExtras


class CardView(Struct, frozen=True):
    """The parts of a rule's card that reports show."""

    slug: str
    summary: str
    severity: Severity
    markdown: str = ""
    """The card's text below its front matter."""
    family: str = ""
    references: tuple[str, ...] = ()
    url: str = ""
    """Web address of the card, or empty."""
    preview: bool = False

    @property
    def address(self) -> str:
        """Return where a reader finds more on the web, or ""."""
        return self.url or next(iter(self.references), "")


def cards_of(rulebook: Rulebook) -> Callable[[str], CardView | None]:
    """Return a function that gives the card of a rule; None if it cannot be read."""

    def view(slug: str) -> CardView | None:
        from kubesched_lint.rulebook.cards.frontmatter import CardError

        try:
            card = rulebook.card(slug)
        except (UnknownRuleError, CardError, OSError):
            return None
        rule = rulebook.get(slug)
        given = card.front.value.get("references")
        references = tuple(str(link) for link in given) if isinstance(given, list) else ()
        return CardView(slug, rule.summary, rule.severity, card.body, rule.family, references, preview=rule.preview)

    return view


def _no_lines(path: str) -> Sequence[str]:
    return ()


def _no_card(slug: str) -> CardView | None:
    return None


def _no_cluster() -> ReportExtras | None:
    return None


def _no_files() -> Sequence[str]:
    return ()


class RenderContext(Struct, frozen=True):
    """``sources`` returns a file's lines without line ends, or ``()`` if it cannot be shown; it never raises.

    ``width`` is the terminal's width in cells; 0 means no terminal and no wrapping. ``extras`` runs a simulation,
    so only formats that show it call it; it returns None without a cluster.
    """

    sources: Callable[[str], Sequence[str]] = _no_lines
    cards: Callable[[str], CardView | None] = _no_card
    color: bool = False
    width: int = 0
    version: str = __version__
    fail_on: Severity | None = Severity.ERROR
    """Findings of at least this severity fail the run."""
    root: str = ""
    """The folder for relative paths; if empty, paths stay unchanged."""
    files: Callable[[], Sequence[str]] = _no_files
    """The files that were read, including those without findings."""
    extras: Callable[[], ReportExtras | None] = _no_cluster
    verbose: bool = False
    """Name the skipped rules, list the known findings, and print long texts whole."""
    quiet: bool = False
    """Print no footer."""
    statistics: bool = False
    """Print a table with the number of findings of each rule."""
