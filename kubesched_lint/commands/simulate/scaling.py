"""``--scale web=15``: from what a person typed to a number of replicas for one workload of the set."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from kubesched_lint.commands.why.naming import NamingError, find
from kubesched_lint.lifecycle.event_outcomes import scale_event
from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.workload import SCALED

_MOST = 1_000_000
_HINT = "--scale takes NAME=N, NAMESPACE/NAME=N or KIND/NAMESPACE/NAME=N"


def sizes(asked: Collection[str], setting: Setting) -> Mapping[int, tuple[int, ...]]:
    """Position of a workload → the numbers of replicas to tell, each once. Raises ValueError."""
    found: dict[int, dict[int, None]] = {}
    for one in asked:
        name, size = _parted(one)
        found.setdefault(_number(name, setting), {})[size] = None
    return {number: tuple(wanted) for number, wanted in found.items()}


def scale_events(scaled: Mapping[int, tuple[int, ...]]) -> tuple[str, ...]:
    """One event for each number of replicas that is asked for, the smallest first."""
    return tuple(map(scale_event, sorted({size for wanted in scaled.values() for size in wanted})))


def _parted(asked: str) -> tuple[str, int]:
    name, _, size = asked.rpartition("=")
    if not name or not re.fullmatch("[0-9]{1,7}", size) or int(size) > _MOST:
        raise ValueError(f"{asked!r} is no number of replicas for a workload: {_HINT}, with N from 0 to {_MOST:,}")
    return name, int(size)


def _number(name: str, setting: Setting) -> int:
    """The position of the workload that is meant."""
    try:
        subject = find(name, Inventory(workloads=setting.workloads), None)
    except NamingError as error:
        raise NamingError(f"--scale: {error}") from None
    if subject.kind not in SCALED:
        raise ValueError(f"--scale: {subject} has no replicas; only a {', '.join(SCALED[:-1])} or {SCALED[-1]} has")
    return next(i for i, w in enumerate(setting.workloads) if w is subject.workload)
