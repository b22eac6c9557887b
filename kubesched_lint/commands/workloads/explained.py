"""A workload card as one text: its facts, its sections, and how it reads the fields of its kind."""

from __future__ import annotations

from pathlib import Path as File

from kubesched_lint.commands.workloads.mapping import as_markdown
from kubesched_lint.custom.card import CustomKind, cards_folder
from kubesched_lint.rulebook.cards.card import Card, read_card


def card_of(kind: CustomKind) -> Card:
    """Return the card of a kind. Raises CardError, OSError."""
    return read_card(File(kind.path) if kind.path else cards_folder() / f"{kind.slug}.md")


def explained(kind: CustomKind) -> str:
    """Return what ``workloads explain`` prints of a kind. Raises CardError, OSError."""
    return f"{_described(card_of(kind))}\n{as_markdown(kind)}"


def _described(card: Card) -> str:
    """Return title, facts and sections of a card."""
    front = card.front.value
    operator = front["operator"]
    assert isinstance(operator, dict), "the card has no faults"
    versions = front["versions"]
    assert isinstance(versions, list), "the card has no faults"
    facts = (
        f"- **Kind:** {front['kind']} of {front['group']} ({', '.join(map(str, versions))})",
        f"- **Follows:** {operator['source']} {operator['version']}",
    )
    _, _, sections = card.body.partition(f"# {card.slug}\n")
    return "\n\n".join((f"# {card.slug}", f"{front['summary']}.", "\n".join(facts), sections.strip())) + "\n"
