"""A waiver of a rule at one place, and its effect in a run."""

from __future__ import annotations

from msgspec import Struct

from kubesched_lint.engine.base.places import Location, ObjectRef, Path, Span


class Waiver(Struct, frozen=True, eq=False):
    """One slug of a ``# kubesched: ignore[slug] reason`` comment, or one ``ignore.kubesched-lint.io/slug`` annotation.

    It is a ``Source`` of one place, so that a hazard can point at it.
    """

    rule: str
    """The slug as written; empty without one."""
    reason: str
    path: str
    at: Span
    """Position of the slug or of the annotation's key."""
    first: int
    last: int
    """The last line that it covers: the line below the comment's block, or the end of the annotated object."""
    below: int = 0
    """For a comment after content: the line below, covered only if the comment's own line needs no waiver."""
    object: ObjectRef | None = None
    """The annotated object; None for a comment."""
    until: str = ""
    """Its last day as written; empty: it has no end."""
    owner: str = ""
    is_known: bool = False
    """An entry of a baseline, not a waiver."""
    rendered: str = ""
    """The path of the rendered text in which ``first`` and ``last`` count, if the annotation is in its source."""

    @property
    def where(self) -> str:
        return "baseline" if self.is_known else "annotation" if self.object else "comment"

    def span(self, path: Path, *, key: bool = False) -> Span:
        return self.at

    def covers(self, location: Location) -> bool:
        """Whether ``location`` shares a line with the lines that the waiver covers."""
        return location.path == (self.rendered or self.path) and _touches(location.span, self.first, self.last)

    def is_above(self, location: Location) -> bool:
        """Whether ``location`` begins on the line below a comment that follows content."""
        return location.path == self.path and self.below == location.span.line > 0


class WaiverUse(Struct, frozen=True):
    """The effect of a waiver in a run."""

    is_used: bool
    """Whether it suppresses a finding."""
    is_idle: bool = False
    """Whether the rule did not run, so that it is unknown whether the waiver is needed."""
    unknown: str = ""
    """For a slug that no rule has: a guess that can follow the name, or one blank without a guess."""
    has_ended: bool = False
    """Whether its last day is over, or is no day."""
    nearest: Location | None = None
    """Location of the rule's nearest unsuppressed finding in the same file."""


def _touches(span: Span, first: int, last: int) -> bool:
    end = span.end_line - 1 if span.end_column <= 1 and span.end_line > span.line else span.end_line
    return span.line <= last and end >= first
