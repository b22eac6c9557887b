"""Markdown for hovers. Own cards and manifests may be somebody else's: no editor loads anything because of them."""

from __future__ import annotations

import re

from kubesched_lint.printing import visible_lines
from kubesched_lint.report.wording.words import utf8
from kubesched_lint.rulebook.cards.card import as_markdown
from kubesched_lint.rulebook.cards.frontmatter import CardError
from kubesched_lint.rulebook.library import Rulebook, UnknownRuleError

_LOADS = re.compile(r"(?<=!)(?=\[)|(?<=<)(?=[a-zA-Z/!?])")
"""Where a blank ends what would be an image or an HTML element: an editor may fetch a picture from its address."""
_HEADING = re.compile(r"^(?=## )", re.MULTILINE)
_FENCE = re.compile(r"^```yaml(?P<words>.*)\n(?:.*\n)*?```\n", re.MULTILINE)


def card_text(rulebook: Rulebook, slug: str) -> str:
    """Return what the card of a rule says in words, with one manifest to use instead; empty if it cannot be read."""
    try:
        text = as_markdown(rulebook.get(slug), rulebook.card(slug))
    except (UnknownRuleError, CardError, OSError):
        return ""
    text = f"{_short(text)}\n`kubesched-lint rules explain {slug}` shows the examples.\n"
    return visible_lines(utf8(_LOADS.sub(" ", text) if slug in rulebook.folders else text))


def _short(card: str) -> str:
    """Leave out the examples, which are many because they are tests."""
    head, *sections = _HEADING.split(card)
    words = (_words(part, 1 if part.startswith("## Use instead") else 0) for part in sections)
    return "".join((head, *(text for text in words if not text.startswith("## Example"))))


def _words(section: str, manifests: int) -> str:
    """Return a section up to the end of so many manifests, without clusters and what introduces them."""
    kept, begin = "", 0
    for fence in _FENCE.finditer(section):
        before = section[begin : fence.start()]
        if not fence["words"].startswith(" cluster") and manifests:
            return f"{kept}{before}{fence[0]}\n"
        kept += before.removesuffix(_introduction(before))
        begin = fence.end()
        if not fence["words"].startswith(" cluster"):
            return f"{kept.rstrip()}\n\n"
    return kept + section[begin:]


def _introduction(text: str) -> str:
    """Return the last paragraph of a text if it ends with a colon: what it announces is left out."""
    last = text.rstrip().rpartition("\n\n")[2]
    return text[text.rindex(last) :] if last.endswith(":") else ""


def fenced(text: str) -> str:
    """Return the text as a block of code, which nothing in it ends."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{visible_lines(utf8(text))}\n{fence}"
