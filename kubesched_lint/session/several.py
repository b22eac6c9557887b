"""The sessions of one folder: one for each target of its configuration, or a single one without a name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping

from kubesched_lint.commands.lint.merging import merged
from kubesched_lint.files import is_within
from kubesched_lint.findings import InputError
from kubesched_lint.project.config.file import NAME, SHARED
from kubesched_lint.project.config.keys import ConfigError
from kubesched_lint.session.session import Answer, Session

CONFIGURATIONS = (NAME, SHARED)
"""Names of files that may be a configuration, or become one."""


class OpeningError(Exception):
    """The sessions cannot be opened; ``problems`` say why, each with its place."""

    def __init__(self, *problems: InputError) -> None:
        super().__init__(str(ConfigError(problems)))
        self.problems = problems


class Sessions:
    """Asks only those whose files have changed. A finding of several targets stands once, with their names."""

    def __init__(self, sessions: Mapping[str, Session], folders: Iterable[str] = ()) -> None:
        """``folders`` have the user's own cards."""
        self.each = sessions
        self._folders = tuple(folders)
        self._last: dict[str, Answer] = {}
        self._changed = set(sessions)
        self._not_whole = set(sessions)

    @property
    def inputs(self) -> frozenset[str]:
        """The files and folders besides manifests that decide what is found, without links."""
        requests = [session.request for session in self.each.values()]
        named = {
            path
            for request in requests
            for path in (
                request.cluster,
                request.baseline,
                request.config_file,
                request.cluster_options.scheduler_config,
            )
        }
        return frozenset(os.path.realpath(path) for path in (*named, *self._folders) if path)

    def depends_on(self, changed: Iterable[str]) -> bool:
        """Return whether one of these files decides more than what is in the manifests: then open the sessions anew."""
        real = [os.path.realpath(path) for path in changed]
        return any(
            os.path.basename(path) in CONFIGURATIONS or any(is_within(path, known) for known in self.inputs)
            for path in real
        )

    def sources(self) -> Iterator[str]:
        """Yield the paths that are read, and the files that tools render."""
        for session in self.each.values():
            yield from session.request.paths
            yield from session.files.rendered_from()

    def put(self, path: str, text: str | None) -> bool:
        """Lay a buffer over a file, or take it away with None. Return whether that changes what is read."""
        return self._noted(lambda session: session.put(path, text))

    def look_again(self) -> bool:
        """Read the files from the disk. Return whether they have changed."""
        return self._noted(Session.look_again)

    def _noted(self, change: Callable[[Session], bool]) -> bool:
        changed = {name for name, session in self.each.items() if change(session)}
        self._changed |= changed
        self._not_whole |= changed
        return bool(changed)

    def at_once(self) -> Answer:
        """Return what ``Session.at_once`` says of those that have changed, and what was said of the others."""
        for name in self._changed:
            self._last[name] = self.each[name].at_once()
        self._changed = set()
        return self._joined()

    def whole(self, is_stopped: Callable[[], bool] = lambda: False) -> Answer:
        """Return the findings of every rule. Raises work.StoppedError soon after ``is_stopped`` becomes true."""
        for name in tuple(self._not_whole):
            self._last[name] = self.each[name].whole(is_stopped)
            self._changed.discard(name)
            self._not_whole.discard(name)
        return self._joined()

    def reading(self, path: str) -> Iterator[tuple[str, Session]]:
        """Yield (target, session) of those that read a file, or its buffer."""
        real = os.path.realpath(path)
        for name, session in self.each.items():
            if session.files.reads(real):
                yield name, session

    def _joined(self) -> Answer:
        answers = {name: self._last[name] for name in self.each}
        if len(answers) == 1:
            return next(iter(answers.values()))
        report = merged({name: answer.report for name, answer in answers.items()})
        data = {path: data for answer in answers.values() for path, data in answer.data.items()}
        return Answer(report, data, tuple(dict.fromkeys(rule for a in answers.values() for rule in a.waiting)))
