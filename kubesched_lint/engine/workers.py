"""What every process that works for another does first, so that the two end together."""

from __future__ import annotations

import os
import signal
from multiprocessing import parent_process
from threading import Thread


def serve() -> None:
    """For the ``initializer`` of a ProcessPoolExecutor, whose forked workers would else survive a killed parent."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches every process of a terminal: one tells of it
    Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
