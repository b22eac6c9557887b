"""The rulebook: all rules, the selection for a run, and the folders of their cards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kubesched_lint.engine.base.text import did_you_mean
from kubesched_lint.rulebook._generated import RULES
from kubesched_lint.rulebook.rule import Rule, cards_folder, checks_folder, module_name

if TYPE_CHECKING:
    from pathlib import Path as File

    from kubesched_lint.rulebook.cards.card import Card
    from kubesched_lint.rulebook.cards.frontmatter import CardError

__all__ = [
    "PROFILES",
    "Rule",
    "Rulebook",
    "UnknownRuleError",
    "cards_folder",
    "checks_folder",
    "in_profile",
]

PROFILES = ("ci", "strict", "editor")


class UnknownRuleError(Exception):
    """A rule or family that does not exist; ``str()`` of it is the whole message."""


def in_profile(rule: Rule, profile: str) -> bool:
    """Whether a profile has the rule: ``ci`` those on by default, ``strict`` all but ``off``, ``editor`` text only."""
    match profile:
        case "strict":
            return rule.default != "off"
        case "editor":
            return rule.default == "on" and set(rule.needs) <= {"text"}
    return rule.default == "on"


class Rulebook(Struct, frozen=True, dict=True):
    """``folders``: slug → folder of each card that is not shipped; ``faults``: the invalid cards."""

    rules: Mapping[str, Rule]
    folders: Mapping[str, File] = field(default_factory=dict)
    faults: tuple[CardError, ...] = ()
    asked: tuple[str, ...] = ()
    """The given folders of own rules, valid or not."""

    @classmethod
    def shipped(cls) -> Rulebook:
        """The rulebook of the generated index; reads no card."""
        return cls({rule.slug: rule for rule in RULES})

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules.values())

    def __len__(self) -> int:
        return len(self.rules)

    @cached_property
    def families(self) -> tuple[str, ...]:
        return tuple(sorted({rule.family for rule in self}))

    @cached_property
    def _renamed(self) -> Mapping[str, Rule]:
        return {old: rule for rule in self for old in rule.formerly}

    def get(self, slug: str) -> Rule:
        """The rule of a slug or of a former slug. Raises UnknownRuleError."""
        rule = self.rules.get(slug) or self._renamed.get(slug)
        if rule is None:
            raise self._unknown("rule", slug, self.rules)
        return rule

    def family(self, name: str) -> tuple[Rule, ...]:
        """The rules of a family. Raises UnknownRuleError."""
        if name not in self.families:
            raise self._unknown("family", name, self.families)
        return tuple(rule for rule in self if rule.family == name)

    def resolve(self, name: str) -> tuple[Rule, ...]:
        """The rules that a slug or a family names. Raises UnknownRuleError."""
        if name in self.families:
            return self.family(name)
        if name in self.rules or name in self._renamed:
            return (self.get(name),)
        raise self._unknown("rule or family", name, (*self.rules, *self.families))

    def select(
        self,
        profile: str = "ci",
        select: Iterable[str] = (),
        ignore: Iterable[str] = (),
    ) -> tuple[Rule, ...]:
        """The rules of a run, in the order of their slugs.

        ``select`` replaces the profile: a slug selects its rule whatever its default, a family its rules that are not
        ``default: off``. ``ignore`` takes precedence. Raises UnknownRuleError.
        """
        names = tuple(select)
        if names:
            chosen = {
                rule.slug
                for name in names
                for rule in self.resolve(name)
                if rule.default != "off" or name != rule.family
            }
        else:
            chosen = {rule.slug for rule in self if in_profile(rule, profile)}
        dropped = {rule.slug for name in ignore for rule in self.resolve(name)}
        return tuple(self.rules[slug] for slug in sorted(chosen - dropped))

    def card(self, slug: str) -> Card:
        """The card of a rule, read from its file. Raises UnknownRuleError, CardError or OSError."""
        from kubesched_lint.rulebook.cards.card import read_card

        rule = self.get(slug)
        return read_card(self.folders.get(rule.slug, cards_folder()) / f"{rule.slug}.md")

    def cards(self) -> Iterator[Card]:
        """All cards, in the order of their slugs."""
        return (self.card(slug) for slug in sorted(self.rules))

    @staticmethod
    def has_check(slug: str) -> bool:
        return (checks_folder() / f"{module_name(slug)}.py").is_file()

    def _unknown(self, what: str, name: str, known: Iterable[str]) -> UnknownRuleError:
        return UnknownRuleError(f"there is no {what} `{name}`{did_you_mean(name, known)}")
