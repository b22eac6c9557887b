"""What every process that works for another does first, so that the two end together."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from multiprocessing import parent_process
from threading import Thread
from typing import TypeVar

E = TypeVar("E", bound=Executor)


@contextmanager
def hired(crew: E) -> Iterator[E]:
    """The crew, which leaves with us. Whoever ends the run does not wait: a worker that was killed may have left half
    an answer, for whose other half its executor waits for ever.
    """
    try:
        yield crew
    except Exception:
        crew.shutdown(cancel_futures=True)
        raise
    except BaseException:
        crew.shutdown(wait=False, cancel_futures=True)
        raise
    crew.shutdown(cancel_futures=True)


def serve() -> None:
    """For the ``initializer`` of a ProcessPoolExecutor, whose forked workers would else survive a killed parent."""
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
