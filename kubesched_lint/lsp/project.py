"""One folder of an editor: its sessions, what they last said, and what was found out about single workloads."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.places import Location
from kubesched_lint.engine.events.answers.cells import BAD, NONE, REFUSED, Cell
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.files import is_within
from kubesched_lint.findings import Finding, Fix, InputError, Report
from kubesched_lint.linter.results.causes import one_per_cause
from kubesched_lint.report.findings.context import cards_of
from kubesched_lint.report.findings.explanation import as_text as explanation_text
from kubesched_lint.report.findings.footer import open_findings
from kubesched_lint.report.simulation.report import as_text as matrix_text
from kubesched_lint.report.wording.verdict_words import event_title
from kubesched_lint.report.wording.words import annotated
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.session.asking import explained, matrix, mended, workloads_in
from kubesched_lint.session.files import shifts
from kubesched_lint.session.moved import Shift, moved_place
from kubesched_lint.session.session import Answer, Session
from kubesched_lint.session.several import OpeningError, Sessions
from kubesched_lint.sources.manifests.document import location_of

Opener = Callable[[str], Sessions]
"""Opens the sessions for a folder or a file. Raises OpeningError."""
_WIDTH = 90
_IN_EVERY_LENS = ("deploy", "zone-loss")
_NOT_IN_A_LENS = re.compile(r" ok| −\d+| \*")


class Outlook(Struct, frozen=True):
    """The row of a workload in the matrix of ``simulate``; ``place`` is in the texts ``data``, path → bytes."""

    place: Location
    data: Mapping[str, bytes]
    cells: tuple[Cell, ...]
    details: str
    target: str

    @property
    def title(self) -> str:
        """``deploy 4/4 · zone loss 2/4``, and every other event that is proven to end badly."""
        if any(cell.verdict == REFUSED for cell in self.cells):
            return (f"{self.target}: " if self.target else "") + "refused by the API server"
        shown = (cell for cell in self.cells if cell.event in _IN_EVERY_LENS or (cell.verdict == BAD and cell.proven))
        texts = (
            f"{event_title(cell.event)} {_NOT_IN_A_LENS.sub('', cell.text)}" for cell in shown if cell.verdict != NONE
        )
        return (f"{self.target}: " if self.target else "") + " · ".join(texts)


class PublishedDiagnostics:
    """An answer, and what a reader sees of it."""

    def __init__(self, answer: Answer) -> None:
        self.report, self.data = answer.report, answer.data
        self.findings: Sequence[Finding] = tuple(open_findings(one_per_cause(answer.report)))


_NOTHING = PublishedDiagnostics(Answer(Report(), {}))


class Project:
    """Used by one thread. ``sessions`` is None while it cannot be opened, for the reasons in ``problems``."""

    def __init__(self, root: str, opener: Opener) -> None:
        self.root = os.path.realpath(root)
        self._opener = opener
        self.sessions: Sessions | None = None
        self.problems: tuple[InputError, ...] = ()
        self.said = _NOTHING
        self._is_whole = True
        self._outlooks: tuple[Outlook, ...] = ()
        self._outlooks_for: frozenset[str] | None = frozenset()
        self._fixes: dict[Finding, Fix | None] = {}
        self.cards = cards_of(Rulebook.shipped())

    def open(self, buffers: Mapping[str, str]) -> None:
        """Read everything anew. ``buffers`` has the texts of open files, by path without links."""
        self.sessions, self.problems, self.said = None, (), _NOTHING
        try:
            self.sessions = self._opener(self.root)
        except OpeningError as error:
            self.problems = error.problems
            return
        self.cards = lru_cache(maxsize=256)(cards_of(self.rulebook))
        for path, text in buffers.items():
            self.sessions.put(path, text)
        self._changed()

    @property
    def rulebook(self) -> Rulebook:
        """The rules of its sessions; they share them."""
        first = next((session for _, session in self._each()), None)
        return Rulebook.shipped() if first is None else first.rulebook

    def holds(self, path: str) -> bool:
        """Return whether a file lies in its folder, or in one of its targets."""
        return is_within(path, self.root) or any(session.files.reads(path) for _, session in self._each())

    def put(self, path: str, text: str | None) -> bool:
        """Lay a buffer over a file, or take it away with None. Return whether that changes what is read."""
        return self._noted(self.sessions is not None and self.sessions.put(path, text))

    def look_again(self) -> bool:
        """Read the files from the disk. Return whether they have changed."""
        return self._noted(self.sessions is not None and self.sessions.look_again())

    def _noted(self, is_changed: bool) -> bool:
        if is_changed:
            self._changed()
        return is_changed

    def _changed(self) -> None:
        self._is_whole, self._outlooks_for = False, None
        self._fixes.clear()

    # --- findings -----------------------------------------------------------------------------------------------------

    def judge_at_once(self) -> None:
        if self.sessions is not None:
            self.said = PublishedDiagnostics(self.sessions.at_once())

    def judge(self, is_stopped: Callable[[], bool]) -> bool:
        """Run every rule. Return whether that was still to be done. Raises work.StoppedError."""
        if self.sessions is None or self._is_whole:
            return False
        self.said = PublishedDiagnostics(self.sessions.whole(is_stopped))
        self._is_whole = True
        return True

    def findings_at(self, path: str, first: tuple[int, int], last: tuple[int, int]) -> Iterator[Finding]:
        """Yield the findings between two places of a file, each (line, column), that of the least text first."""
        findings = []
        for finding in self.said.findings:
            where = annotated(finding.location)
            span = where.span
            begins, ends = (span.line, span.column), (span.end_line, span.end_column)
            if begins <= last and first <= ends and os.path.realpath(where.path) == path:
                findings.append(((span.end_line - span.line, span.end_column - span.column), finding))
        yield from (finding for _, finding in sorted(findings, key=lambda pair: pair[0]))

    # --- one finding --------------------------------------------------------------------------------------------------

    def may_fix(self, finding: Finding) -> bool:
        rule = self.rulebook.rules.get(finding.rule)
        return rule is not None and bool(rule.fix)

    def fix(self, finding: Finding) -> Fix | None:
        """Return a fix that was tried; for a file of several targets it was tried for one, so it is not safe."""
        if finding not in self._fixes:
            self._fixes[finding] = self._tried(finding)
        return self._fixes[finding]

    def _tried(self, finding: Finding) -> Fix | None:
        assert self.sessions is not None
        reading = dict(self.sessions.reading(finding.location.path))
        target = next((name for name in reading if name in (finding.targets or reading)), None)
        fix = None if target is None else mended(reading[target], finding)
        if fix is None or len(reading) < 2:
            return fix
        return replace(fix, title=f"{fix.title} (tried for the target {target} only)", safe=False)

    # --- one workload -------------------------------------------------------------------------------------------------

    def explanations(self, path: str, line: int) -> Iterator[str]:
        """Yield where the pods of the workloads would go whose kind or name stands at this line, and why."""
        for target, session, workload, place in self._defined({path}):
            name = location_of(workload.source, ("metadata", "name")) if workload.source is not None else place
            lines = {self._now(session, at).span.line for at in (place, name)}
            if line in lines:
                explanation = _explanation_of(session, workload)
                if explanation:
                    yield (f"{target}: " if target else "") + explanation
                yield from (o.details for o in self._outlooks if o.place == place and o.target == target)

    def needs_outlooks(self, files: Collection[str]) -> bool:
        return self._is_whole and self._outlooks_for != frozenset(files)

    def look_ahead(self, files: Collection[str], is_stopped: Callable[[], bool]) -> None:
        """Simulate the workloads in these files, named without links. Raises work.StoppedError."""
        outlooks: list[Outlook] = []
        with work.stoppable(is_stopped):
            for target, session in self._each():
                places = {workload.source: (workload, place) for workload, place in workloads_in(session, files)}
                rows = matrix(session, [workload for workload, _ in places.values()])
                data = session.files.judged()
                for row in rows.rows if rows is not None else ():
                    assert rows is not None
                    there = places.get(rows.workloads[row.number].source)
                    if there is not None:
                        details = matrix_text(
                            replace(rows, rows=(row,), skews=(), notes=(), errors=()), room=_WIDTH, verbose=True
                        )
                        outlooks.append(Outlook(there[1], data, row.cells, details, target))
        self._outlooks, self._outlooks_for = tuple(outlooks), frozenset(files)

    def lenses(self, path: str) -> Iterator[tuple[Location, str]]:
        """Yield (place, title) above each workload of a file; an ellipsis while what is behind a title is computed."""
        for outlook in self._outlooks:
            place = outlook.place
            if os.path.realpath(place.path) == path and outlook.title:
                now = moved_place(place, _shifts(place, outlook.data, self.said.data))
                yield now, outlook.title + (" …" if self._outlooks_for is None else "")

    def _each(self) -> Iterator[tuple[str, Session]]:
        yield from self.sessions.each.items() if self.sessions is not None else ()

    def _defined(self, files: Collection[str]) -> Iterator[tuple[str, Session, Workload, Location]]:
        for target, session in self._each():
            for workload, place in workloads_in(session, files):
                yield target, session, workload, place

    def _now(self, session: Session, place: Location) -> Location:
        """Return a place in the text that could last be read as a place in the text as it is."""
        return moved_place(place, _shifts(place, session.files.judged(), session.files.data()))


def _explanation_of(session: Session, workload: Workload) -> str:
    """Return where the pods of a workload would go, or why that is not told; empty without nodes."""
    try:
        explanation = explained(session, workload)
    except work.OutOfWorkError as reason:
        return f"{workload} is not explained: {reason}"
    return "" if explanation is None else explanation_text(explanation, width=_WIDTH)


def _shifts(place: Location, old: Mapping[str, bytes], new: Mapping[str, bytes]) -> dict[str, Shift]:
    return shifts({place.path: old[place.path]}, new) if place.path in old else {}
