"""From a report to the terminal and to files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache

from kubesched_lint.findings import Report
from kubesched_lint.report.context import CardView, RenderContext
from kubesched_lint.report.palette import terminal_width, wants_color
from kubesched_lint.report.writers import Target, write
from kubesched_lint.rulebook.library import Rulebook, UnknownRuleError


def show(report: Report, chosen: Sequence[Target], rulebook: Rulebook, color: str) -> None:
    """Writes every report. Raises OutputError when a file cannot be written."""
    plain = RenderContext(sources=_lines, cards=_cards(rulebook))
    painted = wants_color(color, sys.stdout, os.environ)
    screen = RenderContext(_lines, plain.cards, painted, terminal_width(sys.stdout, os.environ))
    write(report, chosen, screen, plain, sys.stdout)


@lru_cache(maxsize=64)
def _lines(path: str) -> Sequence[str]:
    from kubesched_lint.manifests.loader import source_lines

    return source_lines(path)


def _cards(rulebook: Rulebook) -> Callable[[str], CardView | None]:
    def view(slug: str) -> CardView | None:
        from kubesched_lint.rulebook.frontmatter import CardError

        try:
            card = rulebook.card(slug)
        except (UnknownRuleError, CardError, OSError):
            return None
        rule = rulebook.get(slug)
        given = card.front.value.get("references")
        references = tuple(str(link) for link in given) if isinstance(given, list) else ()
        return CardView(slug, rule.summary, rule.severity, card.body, rule.family, references)

    return view
