"""Amounts of a pod's resources as they are written: decoding takes a negative one for none."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.findings import Path
from kubesched_lint.manifests.classify import value_at
from kubesched_lint.model.quantity import QuantityError, nanos
from kubesched_lint.model.workload import Workload, written_template


def amount_below_zero(workload: Workload) -> Path | None:
    """Return the place of the first negative amount that a workload's pods request, or have as a limit or overhead."""
    pod = workload.pod
    places = [(*c.path, "resources", key) for c in (*pod.containers, *pod.init_containers) for key in _AMOUNTS]
    places += [(*pod.path, "resources", key) for key in _AMOUNTS] if pod.pod_requests is not None else []
    places += [(*pod.path, "overhead")] if pod.overhead else []
    template, start = written_template(workload), max(len(pod.path) - 1, 0)
    return next(((*at, name) for at in places for name in _below_zero(value_at(template, at[start:]))), None)


_AMOUNTS = ("requests", "limits")


def _below_zero(written: object) -> Iterator[str]:
    if isinstance(written, dict):
        for name, amount in written.items():
            text = str(amount)
            if text.startswith("-"):
                try:
                    if nanos(text)[0] < 0:
                        yield name
                except QuantityError:
                    continue
