"""Counts of agreement between predictions and recordings: one account per kind of recording."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from kubesched_lint.engine.model.pod import BoundPod


class Score(Struct):
    """How many of the ``asked`` answers agree.

    ``explained``: they differ for a reason that is not the model's, which ``Agreement.excuse`` names.
    """

    agreed: int = 0
    asked: int = 0
    explained: int = 0

    @property
    def open(self) -> int:
        return self.asked - self.agreed - self.explained


class Disagreement(Struct, frozen=True):
    kind: str
    case: str
    pod: str
    question: str
    recorded: str
    predicted: str
    because: str = ""
    explained: bool = False


class Answer(Struct, frozen=True):
    """Our answer to a question, compared with the record's answer."""

    question: str
    agrees: bool
    recorded: object = None
    predicted: object = None
    because: str = ""
    explained: bool = False


class Agreement(Struct):
    """The counts for one kind of recording."""

    kind: str
    cases: int = 0
    pods: int = 0
    questions: dict[str, Score] = field(default_factory=dict)
    figures: dict[str, Score] = field(default_factory=dict)
    """Shares that measure how much we predicted, not whether it was right."""
    disagreements: list[Disagreement] = field(default_factory=list)
    leftovers: dict[tuple[str, str], BoundPod] = field(default_factory=dict)
    """(namespace, pod group) → a deleted pod that the recording's scheduler still counted."""
    excuse: str = "only by a random choice among equals"
    """How an explained difference differs."""

    @property
    def open(self) -> int:
        return sum(score.open for score in self.questions.values())

    @property
    def differing(self) -> int:
        """The number of cases with a difference that no random choice explains."""
        return len({d.case for d in self.disagreements if not d.explained})

    def count(self, figure: str, *, holds: bool) -> None:
        """Add one to a figure's total, and to its count if it ``holds``."""
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
    """Return at most ``count`` disagreements, unexplained ones first; leaves out those of single filters."""
    worth = [d for d in disagreements if not d.question.startswith("filter ")]
    return sorted(worth, key=lambda d: d.explained)[:count]
