"""The thread of the server: edits come first, and what is no longer wanted ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event
from time import monotonic
from typing import Any

import pytest

from kubesched_lint.engine.base import work
from kubesched_lint.lsp import worker
from kubesched_lint.lsp.hovers import fenced
from kubesched_lint.lsp.worker import OutdatedError, Worker

SECONDS = 20


class Desk:
    """Writes down what happens. Its pauses do one piece of work, or work until somebody comes."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.begun, self.ended, self.settled = Event(), Event(), Event()
        self.works_on = False
        self.left = 1

    def settle(self) -> None:
        self.happened.append("settle")
        self.settled.set()

    def spend_pause(self, is_stopped: Callable[[], bool], is_asked: Callable[[], bool]) -> bool:
        self.begun.set()
        if self.works_on:
            with work.stoppable(is_stopped):
                while True:
                    work.spend()
        self.left -= 1
        if self.left >= 0:
            self.happened.append("pause")
        else:
            self.ended.set()
        return self.left >= 0

    def failed(self, error: Exception) -> None:
        self.happened.append(str(error))
        self.ended.set()


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr(worker, "PAUSE", 0.01)
    return Desk()


def test_what_may_wait_follows_the_news(desk: Desk) -> None:
    thread = Worker(desk)
    for name in "ab":
        thread.tell(lambda name=name: desk.happened.append(name))  # type: ignore[misc]
    thread.start()
    assert desk.ended.wait(SECONDS)
    assert desk.happened == ["a", "b", "settle", "pause"]
    assert thread.ask(lambda: 42).result(SECONDS) == 42
    with pytest.raises(ZeroDivisionError):
        thread.ask(lambda: 1 // 0).result(SECONDS)


def test_news_end_what_may_wait(desk: Desk) -> None:
    desk.works_on = True
    thread = Worker(desk)
    thread.start()
    assert desk.begun.wait(SECONDS)

    def news() -> None:
        desk.works_on = False

    thread.tell(news)
    assert desk.ended.wait(SECONDS)
    assert desk.happened == ["settle", "pause"]


def test_news_end_an_answer(desk: Desk) -> None:
    thread, begun = Worker(desk), Event()
    thread.start()

    def question() -> Any:
        begun.set()
        while True:
            work.spend()

    answer = thread.ask(question)
    assert begun.wait(SECONDS)
    thread.tell(lambda: None)
    with pytest.raises(OutdatedError):
        answer.result(SECONDS)


def test_work_that_questions_stop_again_and_again_ends(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins anew each time; so the next question waits twice as long."""
    monkeypatch.setattr(worker, "LAST_PATIENCE", SECONDS)
    thread, tries = Worker(desk), []

    def spend_pause(is_stopped: Callable[[], bool], is_asked: Callable[[], bool]) -> bool:
        thread.ask(lambda: 42)
        tries.append(monotonic())
        with work.stoppable(is_asked):
            while monotonic() < tries[-1] + 0.5:
                work.spend()
        desk.ended.set()
        return False

    monkeypatch.setattr(desk, "spend_pause", spend_pause)
    thread.start()
    assert desk.ended.wait(SECONDS)


def test_a_mistake_does_not_end_the_thread(desk: Desk) -> None:
    thread = Worker(desk)
    thread.tell(lambda: [][0])
    thread.tell(lambda: desk.happened.append("b"))
    thread.start()
    assert desk.settled.wait(SECONDS)
    assert desk.happened[:3] == ["list index out of range", "b", "settle"]
    assert thread.ask(lambda: 1).result(SECONDS) == 1


def test_no_text_ends_its_block_of_code() -> None:
    assert fenced("a\n```\n# b") == "````text\na\n```\n# b\n````"
    assert fenced("a\u202eb") == "```text\na\ufffdb\n```"
