"""A limit on the work of a run, counted in steps, not in time, so that the same input always ends at the same place.

A step is about a microsecond. Code that may take very long runs ``within`` a number of steps. Joins, searches and the
solver declare with ``spend`` what they and the code that they serve cost; nothing else does. When the steps are used
up, ``OutOfWorkError`` unwinds to the code that set the limit, which reports what was left out. Limits nest: steps
inside count for the outer limits too. Outside all limits nothing is counted. A run that somebody may give up is
``stoppable``.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import local
from typing import TypeVar

from kubesched_lint.engine.base.errors import UncheckedError

T = TypeVar("T")
WHY = "the work for it has a limit, and this input goes beyond it"
LOOK, CALL, PLACE, SETUP = 4, 20, 40, 150
"""What things cost, in steps: a look at a pair, such as a term and a pod; a question to a controller, a queue or a
bound; all plugins for one pod; the start of a simulation, or the words of a finding. What takes less is paid by
length."""


class OutOfWorkError(UncheckedError):
    """The steps are used up: the result is unknown."""


class StoppedError(BaseException):
    """Nobody wants the result any more. No ``except Exception`` takes it for a fault of a check."""


class _Limits(local):
    left: float = float("inf")
    """Steps until the nearest limit."""
    is_stopped: Callable[[], bool] | None = None
    ends: int = 0
    """How often a limit was reached."""


_LIMITS = _Limits()


def spend(steps: int = 1) -> None:
    """Count steps. Raises OutOfWorkError when the nearest limit is reached, StoppedError when the run is given up."""
    left = _LIMITS.left - steps
    _LIMITS.left = left
    if left < 0:
        _LIMITS.ends += 1
        raise OutOfWorkError(WHY)
    go_on()


def go_on() -> None:
    """Raise StoppedError when the run is given up. ``lint`` asks for each finding: most rules pass no gate."""
    if _LIMITS.is_stopped is not None and _LIMITS.is_stopped():
        raise StoppedError


def share(least: int, part: float = 4) -> float:
    """Return the budget of one item: a fraction 1/``part`` of the steps that are left, at least ``least``."""
    return max(least, _LIMITS.left / part)


def tried(compute: Callable[[], T], instead: T, part: float = 4) -> T:
    """Return ``compute()`` within 1/``part`` of the steps that are left; ``instead`` if they do not suffice."""
    try:
        with within(share(0, part)):
            return compute()
    except OutOfWorkError:
        return instead


class Attempts:
    """Attempts at one thing that keeps nothing of its work if it is interrupted: none begins that must fail, too."""

    __slots__ = ("_most",)

    def __init__(self) -> None:
        self._most = -1.0
        """The most steps that did not suffice."""

    def made(self, compute: Callable[[], T]) -> T:
        """Return ``compute()``. Raises OutOfWorkError at once if no more steps are left than did not suffice before."""
        left = _LIMITS.left
        if left <= self._most:
            _LIMITS.ends += 1
            raise OutOfWorkError(WHY)
        try:
            return compute()
        except OutOfWorkError:
            self._most = left
            raise


class stoppable:  # noqa: N801 - reads as a sentence: with stoppable(…)
    """Ask ``is_stopped`` at every ``spend`` and ``go_on`` of this thread; it may be called a million times a second."""

    __slots__ = ("_before", "_is_stopped")

    def __init__(self, is_stopped: Callable[[], bool]) -> None:
        self._is_stopped = is_stopped

    def __enter__(self) -> None:
        self._before = _LIMITS.is_stopped
        _LIMITS.is_stopped = self._is_stopped

    def __exit__(self, *_: object) -> None:
        _LIMITS.is_stopped = self._before


class within:  # noqa: N801 - reads as a sentence: with within(1_000)
    """Allow at most ``most`` steps, and no more than the outer limit has left.

    Afterwards ``spent`` says how many were taken, and ``sufficed`` whether no limit was reached, this or one inside.
    """

    __slots__ = ("before", "ends", "given", "most", "spent", "sufficed")

    def __init__(self, most: float) -> None:
        self.most = most

    def __enter__(self) -> within:
        self.ends = _LIMITS.ends
        self.before = _LIMITS.left
        self.given = _LIMITS.left = max(0.0, min(self.most, self.before))
        return self

    def __exit__(self, *_: object) -> None:
        self.sufficed = _LIMITS.ends == self.ends
        self.spent = self.given - max(_LIMITS.left, 0.0) if self.given < float("inf") else 0.0
        _LIMITS.left = self.before - self.spent
