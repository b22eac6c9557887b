"""What a renderer may ask for beside the report: source lines, words of cards, the cluster, the terminal's nature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kubesched_lint.findings import Severity
from kubesched_lint.record import record
from kubesched_lint.version import __version__

if TYPE_CHECKING:
    from kubesched_lint.commands.lint.report_extras import ReportExtras


@record
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


def _no_cluster() -> ReportExtras | None:
    return None


def _no_files() -> Sequence[str]:
    return ()


@record
class RenderContext:
    """``sources`` gives a file's lines without their line ends, ``()`` when it cannot be shown; it never raises.

    ``width`` counts terminal cells; 0 means that no terminal is there: prose is not wrapped. ``panorama`` costs a
    simulation, so only formats that show it ask; None without a cluster.
    """

    sources: Callable[[str], Sequence[str]] = _no_lines
    cards: Callable[[str], CardView | None] = _no_card
    color: bool = False
    width: int = 0
    version: str = __version__
    fail_on: Severity | None = Severity.ERROR
    """From which severity on findings fail the run."""
    root: str = ""
    """The folder that formats with relative paths start from; empty: paths stay as they are."""
    files: Callable[[], Sequence[str]] = _no_files
    """The files that were read, those without findings among them."""
    panorama: Callable[[], ReportExtras | None] = _no_cluster
    verbose: bool = False
    """Below the findings: which rules were skipped, and each known finding, where otherwise they are counted."""
    quiet: bool = False
    """Nothing below the findings."""
    statistics: bool = False
    """A table of rules and how often each found something."""
