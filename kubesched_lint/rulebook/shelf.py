"""A folder of cards: which of them can be used, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path as File

from kubesched_lint.rulebook.card import Card, faults, read_card
from kubesched_lint.rulebook.families import FAMILIES
from kubesched_lint.rulebook.frontmatter import CardError
from kubesched_lint.rulebook.guess import did_you_mean
from kubesched_lint.rulebook.library import Rulebook, cards_folder
from kubesched_lint.rulebook.rule import module_name

NOT_CARDS = ("README", "CARDS")


def card_files(folder: File) -> tuple[File, ...]:
    return tuple(sorted(f for f in folder.glob("*.md") if f.stem not in NOT_CARDS))


def usable_cards(folder: File) -> tuple[tuple[Card, ...], tuple[CardError, ...]]:
    """The cards that a rule can be made of, in the order of their slugs, and the faults of the others."""
    cards: list[Card] = []
    wrong: list[CardError] = []
    is_ours = folder.resolve() == cards_folder().resolve()
    files = card_files(folder)
    known = {file.stem for file in (*files, *card_files(cards_folder()))}
    for file in files:
        try:
            card = read_card(file)
        except CardError as error:
            wrong.append(error)
            continue
        found = (*faults(card), *_faults_among(card, known), *(_house_faults(card) if is_ours else ()))
        wrong.extend(found)
        if not found:
            cards.append(card)
    return tuple(cards), tuple(wrong)


def _faults_among(card: Card, known: Collection[str]) -> Iterator[CardError]:
    """What is wrong with a card in its surroundings: its check, and the cards it names."""
    if not Rulebook.has_check(card.slug):
        yield CardError(card.path, 1, f"no check: kubesched_lint/checks/{module_name(card.slug)}.py is missing")
    better = card.front.value.get("yields_to")
    for slug in better if isinstance(better, list) else ():
        if slug not in known:
            line = card.front.line(("yields_to",))
            yield CardError(card.path, line, f"yields_to: there is no rule `{slug}`{did_you_mean(str(slug), known)}")


def _house_faults(card: Card) -> Iterator[CardError]:
    family = card.front.value.get("family")
    if family not in FAMILIES:
        yield CardError(card.path, card.front.line(("family",)), f"family: `{family}` is none of {', '.join(FAMILIES)}")
