"""``lint --watch``: after each change, the findings that went and came, and the matrix of the workloads just edited."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

from msgspec.structs import replace

from kubesched_lint.cli.opening import opened
from kubesched_lint.cli.parsing.invocation import Invocation, refused
from kubesched_lint.engine.base.text import brief, first_few
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.findings import Finding, Report
from kubesched_lint.linter.results.causes import one_per_cause
from kubesched_lint.printing import say, tell, visible
from kubesched_lint.report.findings.as_text import render
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import open_findings, outcome
from kubesched_lint.report.limits import MOST_LINES
from kubesched_lint.report.simulation.report import as_text
from kubesched_lint.report.terminal.palette import Palette, terminal_width, wants_color
from kubesched_lint.report.wording.words import relative
from kubesched_lint.session.asking import matrix
from kubesched_lint.session.session import Session
from kubesched_lint.session.several import OpeningError
from kubesched_lint.session.watch import Watch
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.loader import source_lines

_Texts = Mapping[tuple[str, str], tuple[Workload, str]]
"""(object, file) → a workload and the text of its document."""


def watched(call: Invocation, lint: Callable[[], Report | None]) -> int:
    """Lint, then lint again after each change, until somebody ends it. Return the exit code of a start that failed.

    ``lint`` prints the report of the start and returns it; None if a session would say something else.
    """
    for name, flag in (("diff", "--diff"), ("fix", "--fix"), ("changed", "--changed"), ("formats", "--format")):
        if call.params[name]:
            raise refused(f"--watch prints text and changes nothing; leave out {flag}.", "--watch")
    paths = list(call.params["paths"] or ())
    if "-" in paths:
        raise refused("standard input cannot be watched: name files or folders.", "--watch")
    gc.enable()
    try:
        watching = _Watching(call, paths, lint)
    except OpeningError as error:
        _tell(error)
        return 2
    while True:
        watching.tell_changes()


class _Watching:
    def __init__(self, call: Invocation, paths: Sequence[str], lint: Callable[[], Report | None]) -> None:
        self._call = call
        self._paths = paths
        color = wants_color(str(call.params["color"]), sys.stdout, os.environ)
        width = terminal_width(sys.stdout, os.environ)
        self._context = RenderContext(sources=source_lines, color=color, width=width, quiet=True)
        self._sessions = opened(call, paths)
        self._watch = Watch(lambda: [*self._sessions.sources(), *self._sessions.inputs])
        report = lint()  # after the first look, so that a change meanwhile is told
        self._report = self._judged() if report is None else one_per_cause(report)
        self._texts = self._written()
        self._say("watching: Ctrl-C ends it")

    def _judged(self) -> Report:
        return one_per_cause(self._sessions.whole().report)

    def _written(self) -> dict[str, _Texts]:
        return {name: dict(_texts(session)) for name, session in self._sessions.each.items()}

    def tell_changes(self) -> None:
        """Wait for changes, and print what they bring."""
        changed = self._watch.wait()
        names = [visible(relative(path, os.getcwd())) for path in changed]
        self._say(f"\nchanged: {first_few(names)}")
        try:
            if self._sessions.depends_on(changed):
                self._sessions = opened(self._call, self._paths)
            else:
                self._sessions.look_again()
        except OpeningError as error:
            _tell(error)
            return
        before, texts = self._report, self._texts
        self._report, self._texts = self._judged(), self._written()
        blocks = [*self._difference(before, self._report), *self._matrices(texts), outcome(self._report)]
        self._say("\n\n".join(blocks))

    def _difference(self, before: Report, after: Report) -> Iterator[str]:
        old, new = tuple(open_findings(before)), tuple(open_findings(after))
        unread = {error.path for error in after.errors if not error.rule}
        gone = "\n".join(self._gone(finding, unread) for finding in _without(old, new))
        errors = tuple(error for error in after.errors if error not in before.errors)
        came = render(Report(tuple(_without(new, old)), errors=errors), self._context)
        yield from filter(None, (gone, "".join(came).rstrip("\n")))

    def _gone(self, finding: Finding, unread: Set[str]) -> str:
        what = "not judged now" if finding.location.path in unread else "gone"
        tag = Palette(self._context.color).severity(finding.severity, f"{finding.severity.word}[{finding.rule}]")
        return f"{what}: {tag}: {visible(brief(finding.message))}"

    def _matrices(self, before: Mapping[str, _Texts]) -> Iterator[str]:
        """Yield the matrix of the workloads whose documents differ, for each target."""
        for name, texts in self._texts.items():
            old = before.get(name, {})
            edited = [workload for key, (workload, text) in texts.items() if key not in old or old[key][1] != text]
            simulation = matrix(self._sessions.each[name], edited[:MOST_LINES])
            if simulation is not None:
                rows = replace(simulation, skews=(), notes=(), errors=())
                text = as_text(rows, color=self._context.color, matrix_only=True, room=self._context.width)
                more = f"{len(edited):,} workloads were edited; these are {MOST_LINES}" if edited[MOST_LINES:] else ""
                yield "\n".join(filter(None, (f"{visible(name)}:" if name else "", more, text)))

    def _say(self, text: str) -> None:
        say(text, painted=self._context.color)
        sys.stdout.flush()


def _tell(error: OpeningError) -> None:
    for line in str(error).split("\n"):
        tell(f"error: {line}")


def _texts(session: Session) -> Iterator[tuple[tuple[str, str], tuple[Workload, str]]]:
    for workload in session.manifests.inventory.workloads:
        if isinstance(workload.source, Document):
            yield (str(workload), workload.source.path), (workload, workload.source.text)


def _without(findings: Iterable[Finding], others: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings that are not among the others, wherever their lines are."""
    left = Counter(map(_gist, others))
    for finding in findings:
        if left[_gist(finding)]:
            left[_gist(finding)] -= 1
        else:
            yield finding


def _gist(finding: Finding) -> tuple[object, ...]:
    return finding.rule, finding.severity, finding.object, finding.location.path, finding.message, finding.targets
