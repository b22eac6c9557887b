"""Somebody's word that a rule need not be heard at some place, and what became of it in a run."""

from __future__ import annotations

from kubesched_lint.findings import Location, ObjectRef, Path, Span
from kubesched_lint.record import record


@record
class Waiver:
    """One slug of a ``# kubesched: ignore[slug] reason`` comment, or one ``ignore.kubesched-lint.io/slug`` annotation.

    It is a ``Source`` of one place, so that a hazard can point at it.
    """

    rule: str
    """The slug as written; empty when none is."""
    reason: str
    path: str
    at: Span
    """Where the slug, or the annotation's key, stands."""
    first: int
    last: int
    """The lines it speaks for: those of the comment and the line below its block, or those of the annotated object."""
    below: int = 0
    """For a comment behind content: the line below, spoken for only when the comment's own line needs no waiver."""
    object: ObjectRef | None = None
    """The annotated object; None for a comment."""

    def span(self, path: Path, *, key: bool = False) -> Span:
        return self.at

    def covers(self, location: Location) -> bool:
        """Whether ``location`` shares a line with what the waiver speaks for."""
        return location.path == self.path and _touches(location.span, self.first, self.last)

    def is_above(self, location: Location) -> bool:
        """Whether ``location`` begins on the line below a comment that stands behind content."""
        return location.path == self.path and self.below == location.span.line > 0


@record
class WaiverUse:
    """What a run made of a waiver."""

    is_used: bool
    """A finding is suppressed by it."""
    is_idle: bool = False
    """The rule did not run, so that nobody can tell whether the waiver is needed."""
    unknown: str = ""
    """For a slug that no rule has: a guess, worded to follow the name, or a lone blank when there is none."""
    nearest: Location | None = None
    """Where the rule found something in the same file, unsuppressed, closest to the waiver."""


def _touches(span: Span, first: int, last: int) -> bool:
    end = span.end_line - 1 if span.end_column <= 1 and span.end_line > span.line else span.end_line
    return span.line <= last and end >= first
