"""A placement that keeps every row of the integer programme, made pod by pod: then there is nothing to solve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Row = tuple[Mapping[int, float], float]
"""Coefficients by variable, and the upper bound of their sum, which is not negative."""


def all_have_a_place(
    wanted: Sequence[int], columns: Sequence[tuple[int, int]], most: Sequence[int], rows: Sequence[Row]
) -> bool:
    """Return whether each pod finds a place if each goes where most of its kind still may; False proves nothing.

    ``wanted``: pods of each demand; ``columns``: (demand, class of nodes) of each variable; ``most``: its upper bound.
    """
    left, placing = list(wanted), _Placing(most, rows)
    own: dict[int, list[int]] = {}
    for variable, (demand, _) in enumerate(columns):
        own.setdefault(demand, []).append(variable)
    needs_all = {demand: sum(map(placing.room, own[demand])) <= wanted[demand] for demand in own}
    first = sorted(own, key=lambda demand: (not needs_all[demand], len(own[demand])))  # who has little choice
    before = -1
    while sum(left) not in (0, before):  # a pod may make room for others: those near it, or in other domains
        before = sum(left)
        for demand in first:
            while left[demand]:
                roomiest = max(own[demand], key=placing.room)
                if placing.room(roomiest) < 1:
                    break
                placing.put(roomiest)
                left[demand] -= 1
    return not any(left)


class _Placing:
    """Numbers of pods, and how much more each row allows."""

    def __init__(self, most: Sequence[int], rows: Sequence[Row]) -> None:
        self._left = list(most)
        self._slack = [bound for _, bound in rows]
        self._rows: list[list[tuple[int, float]]] = [[] for _ in most]
        """Variable → the rows in which it is, each with its coefficient."""
        for number, (coefficients, _) in enumerate(rows):
            for variable, coefficient in coefficients.items():
                self._rows[variable].append((number, coefficient))

    def room(self, variable: int) -> float:
        """Return how many more pods a variable may have as things are."""
        asked = (self._slack[row] // each for row, each in self._rows[variable] if each > 0)
        return min([self._left[variable], *asked])

    def put(self, variable: int) -> None:
        self._left[variable] -= 1
        for row, each in self._rows[variable]:
            self._slack[row] -= each
