"""Find waves: the fewest by exhaustive search on small clusters, else as many nodes at once as room allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from kubesched_lint.commands.drain.replay import Played, Replay, Wave, Waves

Accepts = Callable[[Played], bool]
"""Whether a plan may contain a wave with these ends."""

Fits = Callable[[Waves, Wave], bool]


class Fewest:
    """An exhaustive search over all series of waves: the first that is accepted has the fewest waves."""

    def __init__(self, replay: Replay, targets: Sequence[str], accepts: Accepts, fits: Fits) -> None:
        """``fits`` refuses waves that end badly in every order, by counting."""
        self._replay = replay
        self._targets = tuple(targets)
        self._accepts = accepts
        self._fits = fits
        self._at_once = replay.rules.at_once or len(self._targets)
        self.is_sound = True
        """Whether every wave that was played has all its ends."""
        self.least_cut = len(self._targets) + 1
        """Number of nodes of the smallest wave whose search was cut short: larger ones are not played after it."""

    @property
    def has_cut(self) -> bool:
        return self.least_cut <= len(self._targets)

    def waves(self) -> Waves | None:
        """Return the accepted plan with the fewest waves; None if there is none."""
        least = -(-len(self._targets) // self._at_once)
        for count in range(least, len(self._targets) + 1):
            waves = self._within((), self._targets, count)
            if waves is not None:
                return waves
        return None

    def _within(self, done: Waves, left: Wave, count: int) -> Waves | None:
        """Return the plan that begins with ``done`` and drains ``left`` in exactly ``count`` waves."""
        for wave in self._choices(left, count):
            if len(wave) >= self.least_cut or not self._fits(done, wave):
                continue
            waves = (*done, wave)
            played = self._replay.play(waves)
            self.is_sound = self.is_sound and played.is_sound
            if not self._accepts(played):
                if not played.is_sound:
                    self.least_cut = len(wave)
                continue
            rest = tuple(name for name in left if name not in wave)
            further = self._within(waves, rest, count - 1) if rest else waves
            if further is not None:
                return further
        return None

    def _choices(self, left: Wave, count: int) -> Iterator[Wave]:
        """Yield the waves that may come next, large ones first, so that the rest fits ``count - 1`` waves."""
        if count == 1:
            if len(left) <= self._at_once:
                yield left
            return
        for size in range(min(self._at_once, len(left) - count + 1), 0, -1):
            if len(left) - size <= (count - 1) * self._at_once:
                yield from combinations(left, size)


def greedy(replay: Replay, ordered: Sequence[str], fits: Fits) -> tuple[Waves, Wave]:
    """Return waves that end well, each as large as halving finds it, and the nodes that no such wave drains.

    After a node that cannot be drained, doubling finds the next wave: where the next node cannot be drained either,
    that takes one try. ``fits`` refuses a wave that is too large by counting.
    """
    waves: Waves = ()
    left, later = list(ordered), list[str]()
    most = size = replay.rules.at_once or len(left)
    tried_after = 0

    def ends_well(size: int) -> bool:
        wave = tuple(left[:size])
        return (size == 1 or fits(waves, wave)) and replay.tried((*waves, wave)).always_ends_well

    def halved(size: int) -> int:
        while size and not ends_well(size):
            size = -(-size // 2) if size > 1 else 0
        return size

    def doubled() -> int:
        size, larger = 0, 1
        while larger > size and ends_well(larger):
            size, larger = larger, min(2 * larger, most, len(left))
        return size

    while left:
        size = halved(min(size, len(left))) if size else doubled()
        if size:
            waves = (*waves, tuple(left[:size]))
            del left[:size]
        else:
            later.append(left.pop(0))
        if not left and later and tried_after < len(waves):  # other nodes have room now that did not have it then
            left, later, tried_after = later, [], len(waves)
    return waves, tuple(later)
