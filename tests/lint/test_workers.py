"""Worker processes end with the process that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

SERVED = """
import time
from kubesched_lint.commands.fleet.workers import Workers
pool = Workers(2)
list(pool.map(time.sleep, [0.05] * 4))
print(*pool._processes, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_do_not_outlive_their_parent(end: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", SERVED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert parent.stdout is not None
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(workers) == 2
    if end is signal.SIGINT:  # as a terminal does: to all of them
        os.killpg(parent.pid, end)
    else:
        parent.send_signal(end)
    _, said = parent.communicate(timeout=20)
    assert said.count("Traceback") == (end is signal.SIGINT)  # that of the script itself
    assert until(lambda: not any(map(is_running, workers)))


def until(done: Callable[[], bool]) -> bool:
    for _ in range(200):
        if done():
            return True
        time.sleep(0.05)
    return False


def is_running(pid: int) -> bool:
    """An orphan that has ended may wait for an init process that never asks for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
