"""Parse ``--scale web=15``: a number of replicas for one workload of the set."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from kubesched_lint.commands.limits import MOST_SCALED
from kubesched_lint.commands.why.naming import NamingError, find
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.events.start.sizes import scale_event
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.workloads.workload import SCALED

_HINT = "--scale takes NAME=N, NAMESPACE/NAME=N or KIND/NAMESPACE/NAME=N"


def sizes(options: Collection[str], simulated: SimulatedSet) -> Mapping[int, tuple[int, ...]]:
    """Return position of a workload → its numbers of replicas, each once. Raises ValueError."""
    sizes_by_number: dict[int, dict[int, None]] = {}
    for option in options:
        name, size = _parsed(option)
        sizes_by_number.setdefault(_number(name, simulated), {})[size] = None
    return {number: tuple(wanted) for number, wanted in sizes_by_number.items()}


def scale_events(scaled: Mapping[int, tuple[int, ...]]) -> tuple[str, ...]:
    """Return one event for each number of replicas, the smallest first."""
    return tuple(map(scale_event, sorted({size for wanted in scaled.values() for size in wanted})))


def _parsed(option: str) -> tuple[str, int]:
    name, _, size = option.rpartition("=")
    if not name or not re.fullmatch("[0-9]{1,7}", size) or int(size) > MOST_SCALED:
        raise ValueError(
            f"{option!r} is not a number of replicas for a workload: {_HINT}, with N from 0 to {MOST_SCALED:,}"
        )
    return name, int(size)


def _number(name: str, simulated: SimulatedSet) -> int:
    """Return the position of the named workload."""
    try:
        subject = find(name, Inventory(workloads=simulated.workloads), None)
    except NamingError as error:
        raise NamingError(f"--scale: {error}") from None
    if subject.kind not in SCALED:
        raise ValueError(f"--scale: {subject} has no replicas to scale; use a {', '.join(SCALED[:-1])} or {SCALED[-1]}")
    return next(i for i, w in enumerate(simulated.workloads) if w is subject.workload)
