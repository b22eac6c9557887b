"""Everything that the server knows, for the one thread that works on it: open files, projects, what the client has."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path as File
from typing import Protocol

from lsprotocol import types
from msgspec import Struct

from kubesched_lint.commands.limits import MOST_REMEDIES
from kubesched_lint.lsp.hovers import card_text, fenced
from kubesched_lint.lsp.positions import Positions
from kubesched_lint.lsp.project import Opener, Project
from kubesched_lint.lsp.translating import Translator
from kubesched_lint.report.findings.footer import cut_short
from kubesched_lint.report.wording.words import annotated
from kubesched_lint.session.session import tidy
from kubesched_lint.sources.manifests.loader import source_lines
from kubesched_lint.sources.manifests.yaml.split import text_of


class Buffer(Struct, frozen=True):
    """An open file as the client has it. ``path`` is without links."""

    uri: str
    path: str
    version: int | None
    text: str


class Client(Protocol):
    """What the server says on its own; each may be called from any thread."""

    def publish(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None: ...

    def log(self, text: str) -> None: ...

    def show(self, text: str) -> None: ...

    def lenses_have_changed(self) -> None: ...


class RequestHandler:
    """``with_versions``: whether edits may name the versions of files."""

    def __init__(self, opener: Opener, client: Client, unit: str, with_versions: bool) -> None:
        self._opener = opener
        self._client = client
        self._positions = Positions(unit)
        self._with_versions = with_versions
        self._projects: dict[str, Project] = {}
        self._buffers: dict[str, Buffer] = {}
        self._edited: set[str] = set()
        self._published: dict[str, list[types.Diagnostic]] = {}
        self._told: set[str] = set()
        self._is_tidy = True
        self._lines: dict[str, tuple[bytes, Sequence[str]]] = {}

    # --- news ---------------------------------------------------------------------------------------------------------

    def add(self, root: str) -> None:
        """Open a folder, or a file that is in none."""
        project = Project(root, self._opener)
        self._projects[project.root] = project
        self._open(project)

    def remove(self, root: str) -> None:
        self._projects.pop(os.path.realpath(root), None)

    def _open(self, project: Project) -> None:
        project.open({buffer.path: buffer.text for buffer in self._buffers.values()})
        for problem in project.problems:
            self._say_once(f"{problem.path}: {problem.message}", self._client.show)

    def put(self, buffer: Buffer) -> None:
        """Note an open file, or its new text."""
        if not any(project.holds(buffer.path) for project in self._projects.values()):
            self.add(buffer.path)
        self._buffers[buffer.path] = buffer
        self._edited.add(buffer.path)
        for project in self._projects.values():
            project.put(buffer.path, buffer.text)

    def close(self, path: str) -> None:
        if self._buffers.pop(path, None) is not None:
            self._edited.discard(path)
            if not os.path.isdir(path):
                self._projects.pop(path, None)
            for project in self._projects.values():
                project.put(path, None)

    def look_again(self, changed: Iterable[str]) -> None:
        """Read the disk again, where these files have changed."""
        paths = list(changed)
        for project in self._projects.values():
            if project.sessions is None or project.sessions.depends_on(paths):
                self._open(project)
            else:
                project.look_again()

    def settle(self) -> None:
        for project in self._projects.values():
            project.judge_at_once()
        self._publish()

    def spend_pause(self, is_stopped: Callable[[], bool], is_asked: Callable[[], bool]) -> bool:
        for project in self._projects.values():
            if project.judge(is_stopped):
                self._publish()
                self._say_what_is_known(project)
                self._is_tidy = False
                return True
        for project in self._projects.values():
            if project.needs_outlooks(self._buffers):
                project.look_ahead(self._buffers, is_asked)
                self._client.lenses_have_changed()
                return True
        if not self._is_tidy:
            tidy()
            self._is_tidy = True
        return False

    def failed(self, error: Exception) -> None:
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f" ({os.path.basename(place.tb_frame.f_code.co_filename)}:{place.tb_lineno})" if place else ""
        text = f"kubesched-lint failed: {type(error).__name__}: {error}{where}. This is a bug. Please report it"
        self._client.log(text)
        self._say_once(text, self._client.show)

    def _say_what_is_known(self, project: Project) -> None:
        report = project.said.report
        for text in filter(None, (report.summary.cluster, *report.summary.notes, cut_short(report))):
            self._say_once(text, self._client.log)
        for question in report.summary.questions:
            self._say_once(question, self._client.show)

    def _say_once(self, text: str, say: Callable[[str], None]) -> None:
        if text not in self._told:
            self._told.add(text)
            say(text)

    # --- diagnostics --------------------------------------------------------------------------------------------------

    def _publish(self) -> None:
        """Publish what has changed; for each edited file also that nothing has, with its version."""
        now: dict[str, list[types.Diagnostic]] = {self._uri(path): [] for path in self._edited}
        for project in self._projects.values():
            words = self._translator(project)
            for error in project.problems or project.said.report.errors:
                if os.path.isdir(error.path):  # such as that it holds no manifests
                    self._say_once(f"{error.path}: {error.message}", self._client.log)
                else:
                    now.setdefault(self._uri(error.path), []).append(words.problem(error))
            for finding in project.said.findings:
                there = now.setdefault(self._uri(annotated(finding.location).path), [])
                shown = words.finding(finding)
                if shown not in there:  # several open folders may have the same targets
                    there.append(shown)
        versions = {buffer.uri: buffer.version for buffer in self._buffers.values()}
        edited = {self._uri(path) for path in self._edited}
        for uri in {**now, **self._published}:
            diagnostics = now.get(uri, [])
            if uri in edited or diagnostics != self._published.get(uri, []):
                self._client.publish(uri, versions.get(uri), diagnostics)
        self._published = {uri: diagnostics for uri, diagnostics in now.items() if diagnostics}
        self._edited.clear()

    def _translator(self, project: Project) -> Translator:
        def lines(path: str) -> Sequence[str]:
            data = project.said.data.get(path)
            return source_lines(path) if data is None else self._split(path, data)

        return Translator(self._positions, lines, self._uri, project.cards)

    def _split(self, path: str, data: bytes) -> Sequence[str]:
        known = self._lines.get(path)
        if known is None or known[0] != data:
            text = text_of(path, data)
            known = self._lines[path] = data, text.split("\n") if isinstance(text, str) else ()
        return known[1]

    def _uri(self, path: str) -> str:
        """Return the name that the client has for a file, or would give it."""
        buffer = self._buffers.get(os.path.realpath(path))
        return buffer.uri if buffer is not None else File(os.path.abspath(path)).as_uri()

    # --- questions ----------------------------------------------------------------------------------------------------

    def hover(self, path: str, position: types.Position) -> str:
        """Return Markdown: where the pods of the workload that is named there go, and the cards of what was found."""
        return "\n\n---\n\n".join(self._about(path, position))

    def _about(self, path: str, position: types.Position) -> Iterator[str]:
        for project in self._projects.values():
            place = self._place(path, position)
            for text in project.explanations(path, place[0]):
                yield fenced(text)
            rules = dict.fromkeys(finding.rule for finding in project.findings_at(path, place, place))
            yield from filter(None, (card_text(project.rulebook, slug) for slug in rules))

    def actions(self, path: str, where: types.Range) -> list[types.CodeAction]:
        """Return the fixes of what was found there; each was tried."""
        code_actions: list[types.CodeAction] = []
        for project in self._projects.values():
            first, last = self._place(path, where.start), self._place(path, where.end)
            fixable = (f for f in project.findings_at(path, first, last) if project.may_fix(f))
            for finding in islice(fixable, MOST_REMEDIES):
                fix = project.fix(finding)
                if fix is not None:
                    version = self._version if self._with_versions else None
                    code_actions.append(self._translator(project).action(finding, fix, version))
        return code_actions

    def lenses(self, path: str) -> list[types.CodeLens]:
        return [
            self._translator(project).lens(place, title)
            for project in self._projects.values()
            for place, title in project.lenses(path)
        ]

    def _place(self, path: str, position: types.Position) -> tuple[int, int]:
        buffer = self._buffers.get(path)
        lines = self._split(path, buffer.text.encode("utf-8", "surrogatepass")) if buffer else source_lines(path)
        return self._positions.place(lines, position)

    def _version(self, path: str) -> int | None:
        buffer = self._buffers.get(os.path.realpath(path))
        return None if buffer is None else buffer.version
