"""Folders of cards: the valid ones, and the faults of the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path as File

from kubesched_lint.engine.base.text import did_you_mean
from kubesched_lint.files import place_of
from kubesched_lint.rulebook.cards.card import Card, faults, read_card, to_rule
from kubesched_lint.rulebook.cards.frontmatter import CardError
from kubesched_lint.rulebook.cel.cards import expression_rule
from kubesched_lint.rulebook.library import Rulebook, cards_folder
from kubesched_lint.rulebook.packages import Package, rulebook_packages
from kubesched_lint.rulebook.rule import FAMILIES, Check, Mend, Rule, module_name

NOT_CARDS = ("README", "CARDS")


def card_files(folder: File) -> tuple[File, ...]:
    return tuple(sorted(f for f in folder.glob("*.md") if f.stem not in NOT_CARDS))


def usable_cards(folder: File) -> tuple[tuple[Card, ...], tuple[CardError, ...]]:
    """The valid cards, in the order of their slugs, and the faults of the others."""
    cards, wrong = usable(folder)
    return tuple(card for card, _ in cards), wrong


def usable(folder: File) -> tuple[tuple[tuple[Card, Rule], ...], tuple[CardError, ...]]:
    """The same with their rules: a folder's rules have expressions, an installed package's rules may have checks."""
    home = _Home(folder)
    rules_of_cards: list[tuple[Card, Rule]] = []
    wrong: list[CardError] = []
    for file in card_files(folder):
        try:
            if home.is_a_folder:
                place_of(str(file))
            card = read_card(file)
        except CardError as error:
            wrong.append(error)
        except OSError as error:
            wrong.append(CardError(str(file), 1, f"cannot be read: {error.strerror}"))
        else:
            rule, rule_faults = home.rule(card)
            wrong.extend(rule_faults)
            if rule is not None:
                rules_of_cards.append((card, rule))
    return tuple(rules_of_cards), tuple(wrong)


def joined(folders: Sequence[str]) -> Rulebook:
    """The shipped rules, those of installed packages and those of ``folders``."""
    rules: dict[str, Rule] = dict(Rulebook.shipped().rules)
    homes: dict[str, File] = {}
    wrong: list[CardError] = []
    given = dict.fromkeys(File(folder) for folder in folders)
    for folder in (*(File(package.cards) for package in rulebook_packages()), *given):
        is_there = os.path.isdir(folder)  # unlike Path.is_dir, it also accepts a name that is too long
        if folder in given and not (is_there and card_files(folder)):
            what = "holds no card" if is_there else "there is no such folder"
            wrong.append(CardError(str(folder), 0, f"{what}: no rule was read"))
            continue
        rules_of_cards, faults = usable(folder)
        wrong.extend(faults)
        for card, rule in rules_of_cards:
            if rule.slug in homes and homes[rule.slug].resolve() != folder.resolve():
                wrong.append(CardError(card.path, 1, f"there is a rule `{rule.slug}` in {homes[rule.slug]} as well"))
            else:
                rules[rule.slug] = rule
                homes[rule.slug] = folder
    return Rulebook(rules, homes, tuple(wrong), tuple(folders))


class _Home:
    """The home of cards, which decides what they may use: ours, an installed package, or a folder without code."""

    def __init__(self, folder: File) -> None:
        resolved = folder.resolve()
        shipped = cards_folder()
        self._is_ours = resolved == shipped.resolve()
        self._package: Package | None = None
        if not self._is_ours:
            self._package = next((p for p in rulebook_packages() if File(p.cards).resolve() == resolved), None)
        self._shipped = frozenset(file.stem for file in card_files(shipped))
        self._known = {file.stem for file in card_files(folder)} | self._shipped

    @property
    def is_a_folder(self) -> bool:
        """Whether it is a plain folder, not an installed package."""
        return not self._is_ours and self._package is None

    def rule(self, card: Card) -> tuple[Rule | None, tuple[CardError, ...]]:
        card_faults = (*faults(card), *_strangers(card, self._known), *self._faults(card))
        if card_faults:
            return None, card_faults
        if "require" in card.front.value:
            return expression_rule(card)
        return to_rule(card, self._code(card.slug), self._mender(card)), ()

    def _code(self, slug: str) -> Callable[[], Check] | None:
        return None if self._package is None else self._package.check(slug)

    def _mender(self, card: Card) -> Callable[[], Mend] | None:
        return None if self._package is None or "fix" not in card.front.value else self._package.fix(card.slug)

    def _faults(self, card: Card) -> Iterator[CardError]:
        if self._is_ours:
            yield from _house_faults(card)
            return
        if card.slug in self._shipped:
            yield CardError(card.path, 1, f"there is a shipped rule `{card.slug}`: give yours another name")
        if "require" in card.front.value:
            return
        if self._package is None:
            what = "no `require`: a rule in a folder has a CEL expression, one with Python is in an installed package"
            yield CardError(card.path, 1, f"{what} (docs/own-rules.md)")
        elif not self._package.has_check(card.slug):
            where = f"{self._package.folder}/checks/{module_name(card.slug)}.py"
            yield CardError(card.path, 1, f"no check: {where} is missing, and the card has no `require`")


def _strangers(card: Card, known: Collection[str]) -> Iterator[CardError]:
    """Yield faults for rules that a card names and that do not exist."""
    for key in ("yields_to", "yields_here_to"):
        better = card.front.value.get(key)
        for slug in better if isinstance(better, list) else ():
            if slug not in known:
                line = card.front.line((key,))
                yield CardError(card.path, line, f"{key}: there is no rule `{slug}`{did_you_mean(str(slug), known)}")


def _house_faults(card: Card) -> Iterator[CardError]:
    front = card.front.value
    if not Rulebook.has_check(card.slug):
        yield CardError(card.path, 1, f"no check: kubesched_lint/checks/{module_name(card.slug)}.py is missing")
    family = front.get("family")
    if family not in FAMILIES:
        yield CardError(card.path, card.front.line(("family",)), f"family: `{family}` is none of {', '.join(FAMILIES)}")
    evidence = front.get("evidence")
    if "policy" in (evidence if isinstance(evidence, list) else [evidence]):
        yield CardError(card.path, card.front.line(("evidence",)), "evidence: no shipped rule is a policy")
