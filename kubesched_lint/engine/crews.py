"""Who lints a fleet: this process, threads, processes, or the workers of a Dask cluster that is there already."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kubesched_lint.engine.fleet import Crew, FleetError
from kubesched_lint.model.labels import go_int

_DASK_SECONDS = 10.0
KNOWN = "processes[:N], threads[:N], serial or dask://HOST:PORT"


@contextmanager
def crew_of(name: str, clusters: int) -> Iterator[Crew]:
    """The crew that ``--executor`` names, for so many clusters. Raises FleetError."""
    kind, _, rest = name.partition(":")
    if kind == "dask" and rest.startswith("//"):
        with _dask(rest[2:]) as crew:
            yield crew
        return
    if name == "serial" or (kind in ("processes", "threads") and clusters == 1):
        yield Crew()
        return
    wanted = go_int(rest) or 0 if rest else os.cpu_count() or 1
    if kind not in ("processes", "threads") or wanted < 1:
        raise FleetError(f"--executor {name}: is none of {KNOWN}")
    from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor

    hands = min(wanted, clusters)
    from kubesched_lint.engine.workers import hired, serve

    if kind == "processes":
        made: Executor = ProcessPoolExecutor(hands, initializer=serve)
    else:
        made = ThreadPoolExecutor(hands)
    with hired(made):
        yield Crew(made, hands)


@contextmanager
def _dask(address: str) -> Iterator[Crew]:
    try:
        from distributed import Client
    except ImportError:
        raise FleetError("--executor dask://…: Dask is not installed: pip install 'kubesched-lint[dask]'") from None
    connect: Any = Client
    try:
        client = connect(f"tcp://{address}", timeout=_DASK_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:  # a time-out is an OSError
        raise FleetError(f"--executor dask://{address}: no Dask scheduler answers there: {error}") from None

    def hands() -> int:
        try:
            return int(sum(client.nthreads().values()))
        except OSError:  # the scheduler is gone
            return 0

    try:
        if not hands():
            raise FleetError(f"--executor dask://{address}: the scheduler has no workers")
        yield Crew(client.get_executor(pure=False), hands(), is_remote=True, is_alive=lambda: hands() > 0)
    finally:
        client.close(timeout=2)
