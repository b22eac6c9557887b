"""Worker processes. They end with this process, and a worker that is killed is noticed at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, connection, parent_process
from multiprocessing.context import BaseContext
from threading import Thread
from typing import Any, ParamSpec, TypeVar

E = TypeVar("E", bound=Executor)
P = ParamSpec("P")
T = TypeVar("T")


class Workers(ProcessPoolExecutor):
    """A pool that knows whether all of its processes are alive.

    A process that is killed while it sends an answer leaves half of it. The plain executor then waits forever for the
    other half, and so does its caller.
    """

    def __init__(
        self, workers: int, context: BaseContext | None = None, begin: Callable[..., None] | None = None, *given: Any
    ) -> None:
        super().__init__(workers, context, initializer=begin or serve, initargs=given)
        self._others = set(active_children())
        self._ours: set[Any] = set()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future = super().submit(fn, *args, **kwargs)
        self._ours.update(child for child in active_children() if child not in self._others)
        return future

    def is_whole(self) -> bool:
        """Whether none has ended."""
        return all(worker.is_alive() for worker in self._ours)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Waits for the processes and never for the executor."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)
        if wait:
            self._see_off()

    def _see_off(self) -> None:
        """Until all have left. When one was killed, nobody may be there to tell the others to leave."""
        left = {worker.sentinel: worker for worker in self._ours}
        while left:
            for sentinel in connection.wait(list(left)):
                worker = left.pop(sentinel)
                worker.join()
                if worker.exitcode:
                    for other in left.values():
                        other.kill()


@contextmanager
def closing(executor: E) -> Iterator[E]:
    """The executor, shut down on the way out. After an interrupt the run does not wait for it."""
    try:
        yield executor
    except Exception:
        executor.shutdown(cancel_futures=True)
        raise
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown(cancel_futures=True)


def serve() -> None:
    """What each of the processes does first: those that were forked would else survive a parent that is killed."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # they reach every process of a terminal: one tells of it
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
