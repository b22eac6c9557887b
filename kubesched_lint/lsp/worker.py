"""The thread that does the server's work: edits first, then questions, then what may wait until nobody types."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition, Thread
from time import monotonic
from typing import Any, Protocol, TypeVar

from kubesched_lint.engine.base import work

T = TypeVar("T")
PAUSE = 0.1
"""Seconds without an edit after which every rule runs, so that verdicts are there in 0.3 s; the next edit stops it."""
PATIENCE, LAST_PATIENCE = 0.1, 2.0
"""Seconds for which questions wait for work that an earlier question stopped, doubled each time; so that it ends."""


class OutdatedError(Exception):
    """Somebody typed on before the answer to a question was there."""


class RequestHandler(Protocol):
    """What the thread works on; nobody else calls it."""

    def settle(self) -> None:
        """Answer the edits and other news that have come."""

    def spend_pause(self, is_stopped: Callable[[], bool], is_asked: Callable[[], bool]) -> bool:
        """Do the next piece of what may wait. Return whether there was one. May raise work.StoppedError.

        ``is_stopped``: news have come; ``is_asked``: news or a question have.
        """

    def failed(self, error: Exception) -> None:
        """Report a mistake of ours."""


class Worker(Thread):
    def __init__(self, desk: RequestHandler) -> None:
        super().__init__(name="kubesched-lint", daemon=True)
        self._desk = desk
        self._woken = Condition()
        self._news: deque[Callable[[], None]] = deque()
        self._questions: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._quiet_from = 0.0
        self._patience = 0.0

    def tell(self, news: Callable[[], None]) -> None:
        """Have news noted, such as an edit, before anything else; ``settle`` follows when no more are there."""
        with self._woken:
            self._news.append(news)
            self._woken.notify()

    def ask(self, question: Callable[[], T]) -> Future[T]:
        """Return what will be the answer. It raises OutdatedError if news come meanwhile."""
        future: Future[T] = Future()
        with self._woken:
            self._questions.append((question, future))
            self._woken.notify()
        return future

    def run(self) -> None:
        has_more = True
        while True:
            with self._woken:
                while not (self._news or self._questions):
                    left = self._quiet_from - monotonic() if has_more else None
                    if left is not None and left <= 0:
                        break
                    self._woken.wait(left)
            try:
                has_more = self._next(has_more)
            except Exception as error:
                self._desk.failed(error)
                has_more = False

    def _next(self, has_more: bool) -> bool:
        """Do the next thing. Return whether there may be more for a pause."""
        if self._news:
            self._quiet_from = monotonic() + PAUSE
            while self._news:
                self._try(self._news.popleft())
            self._desk.settle()
            return True
        if self._questions:
            self._answer(*self._questions.popleft())
            return has_more
        waits_until = monotonic() + self._patience
        try:
            has_more = self._desk.spend_pause(self._has_news, lambda: self._is_asked(waits_until))
        except work.StoppedError:
            if not self._news:
                self._patience = min(max(2 * self._patience, PATIENCE), LAST_PATIENCE)
            return True
        self._patience = 0.0
        return has_more

    def _try(self, news: Callable[[], None]) -> None:
        try:
            news()
        except Exception as error:
            self._desk.failed(error)

    def _is_asked(self, waits_until: float) -> bool:
        return bool(self._news) or (bool(self._questions) and monotonic() >= waits_until)

    def _has_news(self) -> bool:
        return bool(self._news)

    def _answer(self, question: Callable[[], Any], future: Future[Any]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            with work.stoppable(self._has_news):
                future.set_result(question())
        except work.StoppedError:
            future.set_exception(OutdatedError())
        except Exception as error:
            future.set_exception(error)
