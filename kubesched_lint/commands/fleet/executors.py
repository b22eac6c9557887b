"""The executors of a fleet: this process, threads, processes, or the workers of a running Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any

from kubesched_lint.commands.fleet.run import FleetError, FleetExecutor
from kubesched_lint.commands.lint.workers import Workers, closing
from kubesched_lint.engine.model.labels import go_int

_DASK_SECONDS = 10.0
_DASK = {"dask": "tcp", "dask+tls": "tls"}
_UNENCRYPTED = (
    "manifests and snapshots are sent unencrypted, and the server at this address can run code here; use dask+tls:// "
    "with certificates (docs/fleet.md)"
)
KNOWN = "processes[:N], threads[:N], serial, dask://HOST:PORT or dask+tls://HOST:PORT"


def processes_of(name: str) -> int:
    """Return the number of processes that ``--executor`` names, 0 for one per core. Raises FleetError for others."""
    kind, _, rest = name.partition(":")
    number = 1 if name == "serial" else go_int(rest) or -1 if rest else 0
    if kind not in ("processes", "serial") or number < 0:
        raise FleetError(f"--executor {name}: targets run in processes[:N] or serial")
    return number


@contextmanager
def executor_of(name: str, clusters: int) -> Iterator[FleetExecutor]:
    """Yield the executor that ``--executor`` names, for this number of clusters. Raises FleetError."""
    kind, _, rest = name.partition(":")
    if kind in _DASK and rest.startswith("//"):
        with _dask(kind, rest[2:]) as dask:
            yield dask
        return
    if name == "serial" or (kind in ("processes", "threads") and clusters == 1):
        yield FleetExecutor()
        return
    wanted = go_int(rest) or 0 if rest else os.cpu_count() or 1
    if kind not in ("processes", "threads") or wanted < 1:
        raise FleetError(f"--executor {name}: unknown; use {KNOWN}")
    number = min(wanted, clusters)
    if kind == "processes":
        with closing(Workers(number)) as workers:
            yield FleetExecutor(workers, number, is_alive=workers.is_whole)
    else:
        with closing(ThreadPoolExecutor(number)) as threads:
            yield FleetExecutor(threads, number)


@contextmanager
def _dask(kind: str, address: str) -> Iterator[FleetExecutor]:
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
        yield FleetExecutor(pool, workers(), is_remote=True, is_alive=lambda: workers() > 0, warning=warning)
    finally:
        client.close(timeout=2)


def _is_here(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
