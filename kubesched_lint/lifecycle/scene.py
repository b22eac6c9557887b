"""One phase of a trace."""

from __future__ import annotations

from functools import cached_property

from kubesched_lint.lifecycle.stage import Stage
from kubesched_lint.lifecycle.world import State, Step
from kubesched_lint.record import record


@record
class Scene:
    """One phase of a trace: its steps, each with the state it led to; node positions are those of ``stage``."""

    name: str
    stage: Stage
    start: State
    steps: tuple[tuple[Step, State], ...]

    @property
    def end(self) -> State:
        return self.steps[-1][1] if self.steps else self.start

    @cached_property
    def lines(self) -> dict[str, str]:
        """The scene in words, by what sets it going: whoever tells it keeps them here."""
        return {}
