"""Markdown for hovers. Own cards and manifests may be somebody else's: no editor loads anything because of them."""

from __future__ import annotations

import re

from kubesched_lint.printing import visible_lines
from kubesched_lint.report.words import utf8
from kubesched_lint.rulebook.card import as_markdown
from kubesched_lint.rulebook.frontmatter import CardError
from kubesched_lint.rulebook.library import Rulebook, UnknownRuleError

_LOADS = re.compile(r"(?<=!)(?=\[)|(?<=<)(?=[a-zA-Z/!?])")
"""Where a blank ends what would be an image or an HTML element: an editor may fetch a picture from its address."""


def card_text(rulebook: Rulebook, slug: str) -> str:
    """Return the card of a rule, as ``rules explain`` prints it; empty if it cannot be read."""
    try:
        text = as_markdown(rulebook.get(slug), rulebook.card(slug))
    except (UnknownRuleError, CardError, OSError):
        return ""
    return visible_lines(utf8(_LOADS.sub(" ", text) if slug in rulebook.folders else text))


def fenced(text: str) -> str:
    """Return the text as a block of code, which nothing in it ends."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{visible_lines(utf8(text))}\n{fence}"
