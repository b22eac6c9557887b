"""How far predictions agree with recordings: one account per kind of recording, for every judge and every report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kubesched_lint.record import record


@dataclass(slots=True)
class Score:
    """How often a question was answered as recorded. ``explained``: differs only where upstream draws at random."""

    agreed: int = 0
    asked: int = 0
    explained: int = 0

    @property
    def open(self) -> int:
        return self.asked - self.agreed - self.explained


@record
class Disagreement:
    kind: str
    case: str
    pod: str
    question: str
    recorded: str
    predicted: str
    because: str = ""
    explained: bool = False


@record
class Answer:
    """One question that a record settles, answered by us."""

    question: str
    agrees: bool
    recorded: object = None
    predicted: object = None
    because: str = ""
    explained: bool = False


@dataclass(slots=True)
class Agreement:
    """The account of one kind of recording."""

    kind: str
    cases: int = 0
    pods: int = 0
    questions: dict[str, Score] = field(default_factory=dict)
    figures: dict[str, Score] = field(default_factory=dict)
    """Shares that tell how much was said, not whether it was right."""
    disagreements: list[Disagreement] = field(default_factory=list)

    @property
    def open(self) -> int:
        return sum(score.open for score in self.questions.values())

    @property
    def differing(self) -> int:
        """Cases of which some answer differs for another reason than a draw."""
        return len({d.case for d in self.disagreements if not d.explained})

    def count(self, figure: str, *, holds: bool) -> None:
        """Adds one to a figure's total, and to its count where it ``holds``."""
        score = self.figures.setdefault(figure, Score())
        score.asked += 1
        score.agreed += holds

    def note(self, answer: Answer, case: str, pod: str) -> None:
        score = self.questions.setdefault(answer.question, Score())
        score.asked += 1
        if answer.agrees:
            score.agreed += 1
            return
        score.explained += answer.explained
        shown = _shown(answer.recorded), _shown(answer.predicted)
        self.disagreements.append(
            Disagreement(self.kind, case, pod, answer.question, *shown, answer.because, answer.explained)
        )


def _shown(value: object) -> str:
    return value if isinstance(value, str) else "nothing" if value is None else repr(value)


def first(disagreements: Iterable[Disagreement], count: int) -> list[Disagreement]:
    """The first ``count`` to look into: unexplained ones before those that a draw explains, filters stand for parts."""
    worth = [d for d in disagreements if not d.question.startswith("filter ")]
    return sorted(worth, key=lambda d: d.explained)[:count]
