"""Who must run before whom: the least fixed point of required pod affinity over a manifest set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kubesched_lint.model.workload import Workload
from kubesched_lint.record import record


@record
class Blocked:
    """A workload whose required affinity nothing can ever answer.

    ``cause``: *nothing* (no pod matches), *cycle* (its targets wait for it), *waits* (its targets are blocked
    themselves). ``targets`` are the workloads that would answer.
    """

    workload: Workload
    cause: str
    targets: tuple[Workload, ...] = ()


def blocked_workloads(
    needy: Iterable[Workload],
    targets_of: Callable[[Workload], tuple[Workload, ...]],
    answered: Callable[[Workload], bool],
) -> Mapping[int, Blocked]:
    """Workloads that can never start, by ``id``.

    ``needy`` have required affinity; ``targets_of`` gives the other workloads that would answer it; ``answered`` says
    that a running pod or the workload itself answers. A workload without required affinity can start.
    """
    waiting = {id(w): w for w in needy if not answered(w)}
    targets = {key: targets_of(w) for key, w in waiting.items()}
    progress = True
    while progress:
        started = [key for key in waiting if any(id(t) not in waiting for t in targets[key])]
        for key in started:
            del waiting[key]
        progress = bool(started)
    return {key: Blocked(w, _cause(key, targets), targets[key]) for key, w in waiting.items()}


def _cause(key: int, targets: Mapping[int, tuple[Workload, ...]]) -> str:
    if not targets[key]:
        return "nothing"
    seen: set[int] = set()
    ahead = [id(t) for t in targets[key]]
    while ahead:
        here = ahead.pop()
        if here == key:
            return "cycle"
        if here not in seen:
            seen.add(here)
            ahead.extend(id(t) for t in targets.get(here, ()))
    return "waits"
