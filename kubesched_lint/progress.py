"""One line on a terminal that says what a long command does, from its third second on.

A command shows the line with ``with shown("planning the drain of 9 nodes")``, and the core says with ``at("wave 3")``
(``engine/base/steps.py``) how far it is. The seconds go on counting with every ``work.spend``, so that no thread is
needed. Where standard error is no terminal nothing is printed, and what the core says costs next to nothing.
"""

from __future__ import annotations

import os
import sys
from time import monotonic

from kubesched_lint.engine.base import steps, work
from kubesched_lint.printing import overwrite

AFTER = 2.0
"""Seconds before the line appears."""
_PAUSE = 0.2
"""Seconds between two of its states."""


class _Line:
    """The line of the command that runs. There is one, because there is one standard error."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.detail = ""
        self._begun = monotonic()
        self._next = self._begun + AFTER
        self._process = os.getpid()

    def tick(self) -> bool:
        """Show the line if it is time to; for ``work.stoppable``, which must not end the run."""
        self.look()
        return False

    def say(self, detail: str) -> None:
        self.detail = detail
        self.look()

    def look(self) -> None:
        now = monotonic()
        if now >= self._next and os.getpid() == self._process:  # workers that are forks say nothing
            self._next = now + _PAUSE
            overwrite(": ".join(filter(None, (self.title, self.detail))), f", {now - self._begun:.0f} s")


_line: _Line | None = None


class shown:  # noqa: N801 - reads as a sentence: with shown(…)
    """Show a line while this runs, if standard error is a terminal that can take it back; erase it at the end."""

    __slots__ = ("_stoppable", "_title")

    def __init__(self, title: str) -> None:
        self._title = title
        self._stoppable: work.stoppable | None = None

    def __enter__(self) -> None:
        global _line
        if _line is None and _can_be_shown():
            _line = _Line(self._title)
            self._stoppable = work.stoppable(_line.tick)
            self._stoppable.__enter__()
            steps.listener = _line.say

    def __exit__(self, *_: object) -> None:
        global _line
        if self._stoppable is not None:
            self._stoppable.__exit__()
            steps.listener = None
            _line = None
            overwrite("")


def titled(title: str) -> None:
    """Say what is done, once that is known."""
    if _line is not None:
        _line.title, _line.detail = title, ""
        _line.look()


def _can_be_shown() -> bool:
    try:
        return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
    except (AttributeError, ValueError):  # it is closed
        return False
