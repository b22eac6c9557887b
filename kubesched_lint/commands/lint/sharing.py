"""Work in numbered parts that forked processes do together with this one: whoever is free takes the next part.

A forked process has everything that this one has, so it needs no more than the number of a part. The numbers lie in a
pipe from which all take them. What a worker cannot do, because it fails or is killed, this process does.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from multiprocessing import get_all_start_methods, get_context, parent_process
from multiprocessing.connection import Connection, wait
from threading import Thread
from typing import Any, Generic, TypeVar

T = TypeVar("T")

MOST_PARTS = 1_000
"""A number takes 4 bytes, and the smallest pipe holds 4 KiB."""
_NUMBER = 4
_AHEAD = 1 << 20
"""Bytes of answers that may wait in a pipe while this process works; by default 64 KiB, less than one large answer."""


def in_order(
    jobs: int,
    count: int,
    do: Callable[[int], T],
    dumps: Callable[[T], bytes] = lambda made: pickle.dumps(made, pickle.HIGHEST_PROTOCOL),
    loads: Callable[[bytes], T] = pickle.loads,
) -> Iterator[T]:
    """Yield ``do(0)``, ``do(1)``, … made by ``jobs`` processes including this one; at most ``MOST_PARTS``."""
    # macOS can fork, but its own libraries may crash the child.
    if jobs < 2 or sys.platform == "darwin" or "fork" not in get_all_start_methods():
        yield from map(do, range(count))
        return
    team = _Team(count, do, dumps, loads)
    try:
        team.grow(jobs - 1)
        yield from team.results()
    finally:
        team.disband()


class _Team(Generic[T]):
    def __init__(
        self, count: int, do: Callable[[int], T], dumps: Callable[[T], bytes], loads: Callable[[bytes], T]
    ) -> None:
        self._count = count
        self._do = do
        self._dumps = dumps
        self._loads = loads
        self._made: dict[int, T] = {}
        self._last: dict[Connection, int] = {}
        """Of each living worker, the number of its last answer; its numbers only grow."""
        self._processes: list[Any] = []
        self._numbers, begin = os.pipe()
        os.write(begin, b"".join(number.to_bytes(_NUMBER, "big") for number in range(count)))
        os.close(begin)

    def grow(self, workers: int) -> None:
        context = get_context("fork")
        for _ in range(workers):
            answers, answering = context.Pipe(duplex=False)
            _widen(answering)
            process = context.Process(target=self._work, args=(answering,), daemon=True)
            try:
                process.start()
            except OSError:  # no further process can be started
                return
            finally:
                answering.close()  # so that the pipe ends with the worker
            self._processes.append(process)
            self._last[answers] = -1

    def results(self) -> Iterator[T]:
        for number in range(self._count):
            while number not in self._made:
                self._receive(0)
                if number in self._made:
                    break
                mine = self._taken()
                if mine is None and self._is_lost(number):
                    mine = number
                if mine is None:
                    self._receive()
                else:
                    self._made[mine] = self._do(mine)
            yield self._made.pop(number)

    def disband(self) -> None:
        for process in self._processes:
            process.kill()
            process.join()
        for answers in self._last:
            answers.close()
        os.close(self._numbers)

    def _taken(self) -> int | None:
        """The next number; None if all are taken. The kernel gives four bytes of a pipe to one reader."""
        number = os.read(self._numbers, _NUMBER)
        return int.from_bytes(number, "big") if number else None

    def _is_lost(self, number: int) -> bool:
        """Whether no living worker will bring the number, because all have answered with it or later ones."""
        return all(last >= number for last in self._last.values())

    def _receive(self, seconds: float | None = None) -> None:
        """Take what workers have answered, and wait until one does or ends."""
        for answers in wait(list(self._last), seconds):
            assert isinstance(answers, Connection)
            try:
                answer = answers.recv_bytes()
            except (EOFError, OSError):  # the worker has ended, perhaps amid an answer
                del self._last[answers]
                answers.close()
                continue
            number = self._last[answers] = int.from_bytes(answer[:_NUMBER], "big")
            if len(answer) > _NUMBER:
                self._made[number] = self._loads(answer[_NUMBER:])

    # -- in the workers

    def _work(self, answering: Connection) -> None:
        serve()
        while (number := self._taken()) is not None:
            try:
                answer = self._dumps(self._do(number))
            except Exception:  # the first process tries again, and fails as it would have failed alone
                answer = b""
            try:
                answering.send_bytes(number.to_bytes(_NUMBER, "big") + answer)
            except OSError:  # nobody listens any more
                return


def _widen(pipe: Connection) -> None:
    try:
        from fcntl import F_SETPIPE_SZ, fcntl

        fcntl(pipe.fileno(), F_SETPIPE_SZ, _AHEAD)
    except (ImportError, OSError):  # not Linux, or the user has too many of them
        pass


def serve() -> None:
    """Initialise a worker process: it ends with its parent, even if that is killed."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # a terminal signals all its processes; only the parent reports it
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
