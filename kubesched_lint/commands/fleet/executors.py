"""Those who judge tasks: workers of this machine (threads, processes), or those of a running Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.fleet.judge import PairOutcome, judge_as_data, judge_task, outcomes_in
from kubesched_lint.commands.fleet.plan import FleetError
from kubesched_lint.commands.fleet.tasks import Task
from kubesched_lint.commands.fleet.workers import Workers, closing
from kubesched_lint.engine.model.labels import go_int
from kubesched_lint.project.owners import with_owners

_DASK_SECONDS = 10.0
_DASK = {"dask": "tcp", "dask+tls": "tls"}
_UNENCRYPTED = (
    "manifests and snapshots are sent unencrypted, and the server at this address can run code here; use dask+tls:// "
    "with certificates (docs/fleet.md)"
)
KNOWN = "processes[:N], threads[:N], serial, dask://HOST:PORT or dask+tls://HOST:PORT"


class TaskExecutor(Protocol):
    """Who judges tasks, ``workers`` at the same time."""

    @property
    def workers(self) -> int: ...

    @property
    def sees_files(self) -> bool:
        """Return whether the workers read the files of this machine; else tasks bring them."""

    @property
    def warning(self) -> str:
        """Return what the user must know before any task is submitted; empty if there is nothing."""

    @property
    def is_alive(self) -> Callable[[], bool]:
        """Return a function that tells whether workers can still answer; called after a while without results."""

    def submit(self, task: Task) -> Future[Any]:
        """Begin a task. May raise anything: the task is then judged by this process."""

    def outcomes(self, future: Future[Any], task: Task) -> tuple[PairOutcome, ...]:
        """Return the outcomes of a task that has ended. Raises what the worker raised."""


class OwnWorkers(Struct, frozen=True):
    """Workers of this machine, whose results are believed: any pool of the standard library's kind."""

    pool: Executor
    workers: int = 1
    is_alive: Callable[[], bool] = lambda: True
    sees_files: bool = True
    warning: str = ""

    def submit(self, task: Task) -> Future[Any]:
        return self.pool.submit(judge_task, task)

    def outcomes(self, future: Future[Any], task: Task) -> tuple[PairOutcome, ...]:
        outcomes: tuple[PairOutcome, ...] = future.result()
        return outcomes


class RemoteWorkers(Struct, frozen=True):
    """Workers of other machines: they see none of our files, and their results are only data."""

    pool: Executor
    workers: int = 1
    is_alive: Callable[[], bool] = lambda: True
    sees_files: bool = False
    warning: str = ""

    def submit(self, task: Task) -> Future[Any]:
        return self.pool.submit(judge_as_data, task)

    def outcomes(self, future: Future[Any], task: Task) -> tuple[PairOutcome, ...]:
        outcomes = outcomes_in(future.result(), task)
        return tuple(replace(outcome, report=with_owners(outcome.report)) for outcome in outcomes)


@contextmanager
def executor_of(name: str, pairs: int) -> Iterator[TaskExecutor | None]:
    """Yield the executor that ``--executor`` names, for this number of pairs; None: this process. Raises FleetError."""
    kind, _, rest = name.partition(":")
    if kind in _DASK and rest.startswith("//"):
        with _dask(kind, rest[2:]) as dask:
            yield dask
        return
    if name == "serial" or (kind in ("processes", "threads") and pairs == 1):
        yield None
        return
    wanted = go_int(rest) or 0 if rest else os.cpu_count() or 1
    if kind not in ("processes", "threads") or wanted < 1:
        raise FleetError(f"--executor {name}: unknown; use {KNOWN}")
    number = min(wanted, pairs)
    if kind == "processes":
        with closing(Workers(number)) as workers:
            yield OwnWorkers(workers, number, workers.is_whole)
    else:
        with closing(ThreadPoolExecutor(number)) as threads:
            yield OwnWorkers(threads, number)


@contextmanager
def _dask(kind: str, address: str) -> Iterator[RemoteWorkers]:
    """Yield an executor on a Dask cluster. Opens no port: a client connects to the scheduler for work and results."""
    name = f"--executor {kind}://{address}"
    try:
        from distributed import Client
        from distributed.security import Security
    except ImportError:
        raise FleetError(f"{name}: Dask is not installed: pip install 'kubesched-lint[dask]'") from None
    is_secret = _DASK[kind] == "tls"
    connect: Any = Client
    secured: Any = Security
    try:
        # Dask's own configuration names the certificates.
        security = secured(require_encryption=True) if is_secret else None
        target = f"{_DASK[kind]}://{address}"
        client = connect(target, timeout=_DASK_SECONDS, set_as_default=False, security=security)
    except (OSError, ValueError, TypeError, RuntimeError) as error:  # a time-out is an OSError
        raise FleetError(f"{name}: no Dask scheduler answers: {error}") from None

    def workers() -> int:
        try:
            return int(sum(client.nthreads().values()))
        except OSError:  # the scheduler is gone
            return 0

    try:
        if not workers():
            raise FleetError(f"{name}: the scheduler has no workers")
        pool = client.get_executor(pure=False)
        warning = "" if is_secret or _is_here(address) else f"{kind}://{address}: {_UNENCRYPTED}"
        yield RemoteWorkers(pool, workers(), lambda: workers() > 0, warning=warning)
    finally:
        client.close(timeout=2)


def _is_here(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
