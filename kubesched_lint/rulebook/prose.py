"""A whole rule as one Markdown text: the facts of its front matter, then the card's explanation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from kubesched_lint.rulebook.card import Card
from kubesched_lint.rulebook.rule import Rule

_PROFILES = {"on": "", "strict": ", only with --profile strict", "off": ", only when selected by name"}


def as_markdown(rule: Rule, card: Card) -> str:
    """Title, facts, the card's sections and its references."""
    _, _, sections = card.body.partition(f"# {rule.slug}\n")
    parts = [f"# {rule.slug}", f"{rule.summary}.", "\n".join(_facts(rule, card)), sections.strip()]
    references = cast("list[str]", card.front.value.get("references", []))
    if references:
        parts.append("## References\n\n" + "\n".join(f"- <{url}>" for url in references))
    return "\n\n".join(parts) + "\n"


def _facts(rule: Rule, card: Card) -> Iterator[str]:
    yield f"- **Severity:** {rule.severity.word}{_PROFILES[rule.default]}"
    if rule.preview:
        yield f"- **Preview:** new; at most a warning for now, {card.front.value['severity']} in a later version"
    yield f"- **Family:** {rule.family}"
    yield f"- **Evidence:** {', '.join(rule.evidence)}"
    yield f"- **Needs:** {', '.join(rule.needs)}" + (f"; also reads {', '.join(rule.uses)}" if rule.uses else "")
    for key, label in (("each", "Of each"), ("where", "Where"), ("require", "Requires")):
        if "require" in card.front.value and key in card.front.value:
            yield f"- **{label}:** `{' '.join(str(card.front.value[key]).split())}`"
    params = cast("Mapping[str, Mapping[str, Any]]", card.front.value.get("params", {}))
    for name, default in rule.params.items():
        yield f"- **Parameter** `{name}` (default `{default}`): {params[name]['description']}"
    if rule.fix:
        yield (
            "- **Fix:** `--fix` may apply one"
            if rule.fix == "safe"
            else "- **Fix:** `--fix --unsafe-fixes` may apply one"
        )
    if rule.yields_to:
        yield f"- **Yields to:** {', '.join(rule.yields_to)}"
    if rule.formerly:
        yield f"- **Formerly:** {', '.join(rule.formerly)}"
    yield f"- **Since:** {rule.since}"
