"""Worker processes that end with this process, and a pool that notices when one is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, connection, parent_process
from threading import Thread, current_thread, main_thread
from typing import Any, ParamSpec, TypeVar

from kubesched_lint.engine.base.limits import LONGEST_REASON
from kubesched_lint.engine.base.text import first_few

E = TypeVar("E", bound=Executor)
P = ParamSpec("P")
T = TypeVar("T")
_SAFE_PATH = "PYTHONSAFEPATH"


class Workers(ProcessPoolExecutor):
    """A pool that knows whether all its processes are alive.

    A worker that is killed while it sends an answer leaves half of it. The standard executor then waits forever for the
    other half.
    """

    def __init__(self, workers: int) -> None:
        with _without_the_current_folder():
            super().__init__(workers, initializer=_serve)
        self._others = set(active_children())
        self._ours: set[Any] = set()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        try:
            with _without_the_current_folder(), _signals_wait():
                future = super().submit(fn, *args, **kwargs)
        except Exception:  # the system starts no further process: nothing else would end those that it has started
            self._note_workers()
            self._kill()
            raise
        self._note_workers()
        return future

    def _note_workers(self) -> None:
        self._ours.update(child for child in active_children() if child not in self._others)

    def is_whole(self) -> bool:
        """Return whether all workers are alive."""
        return all(worker.is_alive() for worker in self._ours)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for the worker processes, but never for the executor, which may wait forever."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)
        if wait:
            self._wait_for_workers()

    def _wait_for_workers(self) -> None:
        """Wait until all workers have ended; after a failed one kill the others, because nothing may end them."""
        left = {worker.sentinel: worker for worker in self._ours}
        while left:
            for sentinel in connection.wait(list(left)):
                worker = left.pop(sentinel)
                worker.join()
                if worker.exitcode:
                    self._kill()

    def _kill(self) -> None:
        for worker in self._ours:
            worker.kill()


@contextmanager
def _without_the_current_folder() -> Iterator[None]:
    """Let no Python that is started now import from the current folder, which may be the checkout of a stranger.

    Unless it forks, the standard library starts workers, and what looks after them, with ``python -c``.
    """
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Let signals wait until the workers that are started now are among the children of this process.

    Until then a handler that ends the children would miss them. What it raises after a fork, Python swallows where it
    calls what must run then.
    """
    own_process = os.getpid()
    came: list[int] = []

    def wait(number: int, _: object) -> None:
        if os.getpid() != own_process:  # a worker that is not served yet
            os._exit(128 + number)
        came.append(number)

    handlers = {}
    if current_thread() is main_thread():  # no other may set handlers, and none of them interrupts another
        handlers = {number: handler for number in _numbers() if callable(handler := signal.getsignal(number))}
    try:
        for number in handlers:
            signal.signal(number, wait)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


def _numbers() -> Iterator[int]:
    """Return the signals that end a run."""
    return (getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Lost:
    """What workers have lost, so that this process does it. ``tell`` is called once for each reason, at the end."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._names: dict[str, list[str]] = {}

    def note(self, names: Iterable[str], error: BaseException) -> None:
        self._names.setdefault(_in_words(error), []).extend(names)

    def tell_all(self) -> None:
        for reason, names in self._names.items():
            what = first_few(sorted(names))
            self._tell(f"{what}: linted in this process, because {reason}")


def _in_words(error: BaseException) -> str:
    if isinstance(error, BrokenExecutor):  # its own text says nothing else
        return "a worker died; if memory is short, use fewer processes"
    why = " ".join(str(error).split())
    why = why if len(why) <= LONGEST_REASON else f"{why[:LONGEST_REASON]} …"
    return f"a worker failed with {type(error).__name__}: {why}"


def _serve() -> None:
    """Initialise a worker process: it ends with its parent, even if that is killed."""
    for number in _numbers():  # a terminal signals all its processes; only the parent reports it
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def closing(executor: E) -> Iterator[E]:
    """Yield the executor and shut it down at the end. After an interrupt the run does not wait for it."""
    try:
        yield executor
    except Exception:
        executor.shutdown(cancel_futures=True)
        raise
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown(cancel_futures=True)
