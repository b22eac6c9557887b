"""A test of a folder of cards: which are valid, and which examples differ from their marks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path as File

from kubesched_lint.record import record, replace
from kubesched_lint.rulebook.card import Card
from kubesched_lint.rulebook.examples import Example, Lint, coverage_faults, examples, failures
from kubesched_lint.rulebook.frontmatter import CardError
from kubesched_lint.rulebook.library import Rulebook, cards_folder
from kubesched_lint.rulebook.loading import usable


@record
class Trial:
    """``book`` has the rules for every example: those of ``cards``, and the shipped ones."""

    book: Rulebook
    cards: tuple[Card, ...]
    faults: tuple[CardError, ...] = ()

    @classmethod
    def of(cls, folder: File) -> Trial:
        """Read the cards themselves, not the index, so that a card can be tested before it is indexed."""
        found, wrong = usable(folder)
        rules = {card.slug: rule for card, rule in found}
        if folder.resolve() != cards_folder().resolve():
            rules = {**Rulebook.shipped().rules, **rules}
        faults = list(wrong)
        sound: list[Card] = []
        for card, _ in found:
            try:
                missing = tuple(coverage_faults(card, examples(card)))
            except CardError as error:
                missing = (error,)
            faults.extend(missing)
            if not missing:
                sound.append(card)
        return cls(Rulebook(rules), tuple(sound), tuple(faults))

    def narrowed(self, names: Iterable[str]) -> Trial:
        """The trial with only the cards of these rules and families; all if none is given. Raises UnknownRuleError."""
        names = tuple(names)
        if not names:
            return self
        broken = {File(fault.path).stem for fault in self.faults}
        chosen = {name for name in names if name in broken}
        chosen |= {rule.slug for name in names if name not in broken for rule in self.book.resolve(name)}
        return replace(
            self,
            cards=tuple(card for card in self.cards if card.slug in chosen),
            faults=tuple(fault for fault in self.faults if File(fault.path).stem in chosen),
        )

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        return tuple(example for card in self.cards for example in examples(card))

    def failures(self, lint: Lint) -> Iterator[CardError]:
        """Yield every difference between the examples' reports and their marks, at its line."""
        for example in self.examples:
            yield from failures(example, self.book, lint)
