"""The taint that a toleration is meant for, if it matches none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kubesched_lint.engine.model.nodes.node import Taint
from kubesched_lint.engine.model.pod import Toleration
from kubesched_lint.engine.scenario.scenario import Scenario, once_per_scenario
from kubesched_lint.engine.scenario.words import Words, closest_word

_NUMBERS = r"\d+|(?<![a-z])[a-z](?![a-z])"
"""Numbers and single letters, which tell one name from another: team-a and team-b, gpu-1 and gpu-2."""
_BARE = ("no value",)
"""Stands for the numbers in the value of a taint without one."""


class KnownTaints:
    """The taints of nodes, and which of them a toleration with operator Equal nearly matches."""

    def __init__(self, taints: Iterable[Taint]) -> None:
        self._taints = tuple(taints)
        self._effects: dict[tuple[str, str], list[str]] = {}
        """Key and value → the effects of the taints that have both."""
        self._numbered: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        """Key and the numbers in a value → the taints, by their place; those without a value have a key alone."""
        for place, taint in enumerate(self._taints):
            self._effects.setdefault((taint.key, taint.value), []).append(taint.effect)
            numbers = _numbers(taint.value) if taint.value else _BARE
            self._numbered.setdefault((taint.key, numbers), []).append(place)
        self._keys = Words({taint.key for taint in self._taints})
        self._meant: dict[tuple[str, str, str], Taint | None] = {}

    def meant_by(self, toleration: Toleration) -> Taint | None:
        """Return the taint that is meant; None if the toleration matches one exactly, or is far off.

        A value that resembles no taint's value is meant for other nodes. Taints with equal value and effect come first.
        """
        if not toleration.key or toleration.operator != "Equal":
            return None
        asked = toleration.key, toleration.value, toleration.effect
        if asked not in self._meant:
            self._meant[asked] = self._meant_by(*asked)
        return self._meant[asked]

    def _meant_by(self, key: str, value: str, effect: str) -> Taint | None:
        if any(effect in ("", known_effect) for known_effect in self._effects.get((key, value), ())):
            return None
        alike = (taint for taint in self._like(self._keys.closest(key), value) if _reads_like(value, taint.value))
        return max(alike, key=lambda t: (t.value == value, effect in ("", t.effect)), default=None)

    def _like(self, key: str, value: str) -> Iterator[Taint]:
        """Yield the taints of a key that have the numbers of a value, or no value; of no value, all."""
        if value:
            places = [*self._numbered.get((key, _BARE), ()), *self._numbered.get((key, _numbers(value)), ())]
        else:
            places = [place for (known_key, _), some in self._numbered.items() if known_key == key for place in some]
        return (self._taints[place] for place in sorted(places))


@once_per_scenario
def _known_taints(scenario: Scenario) -> KnownTaints:
    return KnownTaints(scenario.index.taints)


def meant_taint(toleration: Toleration, scenario: Scenario) -> Taint | None:
    """Return the taint of the nodes that a toleration nearly matches; see ``KnownTaints``."""
    return _known_taints(scenario).meant_by(toleration)


def _reads_like(value: str, other: str) -> bool:
    """Whether a value may be meant for the other: one is left out, or they differ by more than a number or letter."""
    if not value or not other or value == other:
        return True
    return _numbers(value) == _numbers(other) and bool(closest_word(value, (other,)))


def _numbers(value: str) -> tuple[str, ...]:
    return tuple(re.findall(_NUMBERS, value.lower()))
