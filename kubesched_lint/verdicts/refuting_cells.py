"""Try to refute proven cells by exact runs before they are reported.

There are two kinds of run: placements of the whole set as Kubernetes would place it (``analysis.attempts``), for cells
of the first deployment; and random traces of the lifecycle model, for cells proven by counting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from kubesched_lint import work
from kubesched_lint.analysis import attempts
from kubesched_lint.analysis.attempts import is_modelled, orders, pods_left
from kubesched_lint.analysis.limits import MOST_PODS_TRIED
from kubesched_lint.analysis.wanted import pods_wanted
from kubesched_lint.lifecycle.event_outcomes import FinalState
from kubesched_lint.lifecycle.judging import verdict_of
from kubesched_lint.lifecycle.matrix import Matrix, Row
from kubesched_lint.lifecycle.quotas import most_pods
from kubesched_lint.lifecycle.setting import Setting, once_per_setting
from kubesched_lint.lifecycle.verdicts import BAD, FINE, UNKNOWN, Cell, Range
from kubesched_lint.verdicts.limits import MOST_DECISIONS
from kubesched_lint.world.devices import needs_devices
from kubesched_lint.world.world import Member, World

RUNS = 3


Placements = Sequence[dict[int, int]]
"""Per run of the whole set: number of a workload → its pods that find no node."""


def established_cells(rows: Iterable[Row], matrix: Matrix, placed: Callable[[], Placements]) -> Iterator[Row]:
    """Yield the rows; cells that a run contradicts become unknown. ``placed`` returns ``placements`` of the matrix."""
    for row in rows:
        cells = []
        for cell in row.cells:
            try:
                with work.within(work.share(0)):
                    run = _against(cell, row.number, matrix, placed) if cell.proven else ""
            except work.OutOfWorkError:
                run = ""  # an incomplete run refutes nothing
            if run and attempts.raising:
                workload = matrix.whole.workloads[row.number]
                raise attempts.RefutedError(f"{cell.event} of {workload}: {cell.text} ({cell.why}); yet {run}")
            cells.append(_not_established(cell, run) if run else cell)
        yield replace(row, cells=tuple(cells))


def _not_established(cell: Cell, run: str) -> Cell:
    missing = f"a proof: {cell.why}; yet {run}. Please report this bug in kubesched-lint"
    bound = Range(0, cell.wanted, "bound")
    return Cell(
        cell.event,
        UNKNOWN,
        cell.wanted,
        bound,
        text=f"{bound}/{cell.wanted} ?",
        missing=(missing,),
        assumes=cell.assumes,
    )


def _against(cell: Cell, number: int, matrix: Matrix, placed: Callable[[], Placements]) -> str:
    if cell.event == "deploy":
        for run in placed():
            bound = cell.wanted - run.get(number, 0)
            if number in run and _beats(cell, bound):
                return f"a run of the model binds {bound} of {cell.wanted}"
    place = matrix.place(number)
    if place is None or cell.bound.by == "search" or matrix.whole.never_ready:
        return ""
    if _steps(matrix.setting) > MOST_DECISIONS:
        return ""
    if cell.event == "hpa-max" and cell.stuck:
        return _contradicted(replace(cell, event="rollout"), _rolled_out_at(cell.wanted, place, matrix))
    return _contradicted(cell, matrix.courses(cell.event, place))


def _rolled_out_at(size: int, place: int, matrix: Matrix) -> Sequence[FinalState]:
    """Return the ends of rollouts of a workload of ``matrix.setting`` that was deployed with ``size`` pods."""
    setting = matrix.setting
    sized = (replace(w, replicas=size) if i == place else w for i, w in enumerate(setting.workloads))
    return Matrix(replace(setting, workloads=tuple(sized)), matrix.effort).courses("rollout", place)


def _beats(cell: Cell, bound: int) -> bool:
    """Return whether a run contradicts the cell. Any scheduler may make it; a search follows the default one only."""
    if cell.bound.by == "search":
        return (cell.verdict == FINE and bound < cell.wanted) or (cell.verdict == BAD and bound >= cell.wanted)
    return not cell.bound.least <= bound <= cell.bound.most


def _contradicted(cell: Cell, ends: Sequence[FinalState]) -> str:
    ends = [end for end in ends if not end.blocked]  # a trace may give up a drain that would continue later
    verdicts = {verdict_of(cell.event, [end])[0] for end in ends}
    if cell.verdict == FINE and BAD in verdicts:
        return "a trace of the model ends badly"
    if cell.verdict == BAD and FINE in verdicts:
        return "a trace of the model ends well"
    counts = [end.filled(cell.wanted) for end in ends]
    wrong = next((n for n in counts if not cell.bound.least <= n <= cell.bound.most), None)
    return "" if wrong is None else f"a trace of the model binds {wrong} of {cell.wanted}"


@once_per_setting
def _steps(setting: Setting) -> int:
    return len(setting.nodes) * sum(most_pods(setting, i) for i in range(len(setting.workloads)))


# --- the whole set, deployed ----------------------------------------------------------------------------------------


def placements(matrix: Matrix, world: World) -> Placements:
    """Return runs of the whole set in the world from which the matrix started; empty if workloads run already."""
    nothing: Placements = ()
    return work.tried(lambda: _placements(matrix, world.without_pools), nothing, 2)  # pools may have added its nodes


def _placements(matrix: Matrix, world: World) -> Placements:
    setting = matrix.whole
    if setting.never_ready or any(world.member(w).running_pods for w in world.manifests.workloads):
        return ()
    by_ref = {w.ref: w for w in world.as_deployed}
    followed = {
        i: by_ref[w.ref] for i, w in enumerate(setting.workloads) if _is_followed(world.member(by_ref[w.ref]), setting)
    }
    if len(followed) < len(setting.workloads):  # pods with affinity may wait for pods that these runs do not create
        followed = {i: w for i, w in followed.items() if not w.pod.required_affinity}
    members = list(followed.values())
    if sum(pods_wanted(world.member(w)) for w in members) > MOST_PODS_TRIED:
        return ()
    found: list[dict[int, int]] = []
    for ordered, choose in orders(members, members[-1:], RUNS):
        try:
            with work.within(work.share(0)):
                left = pods_left(world, ordered, choose)
        except work.OutOfWorkError:
            return found
        if left is not None:
            found.append({number: left[w] for number, w in followed.items()})
    return found


def _is_followed(it: Member, setting: Setting) -> bool:
    if needs_devices(it.workload.pod, it.world) and not setting.objects.allocator:
        return False  # the matrix leaves these devices out
    return not it.workload.suspended and is_modelled(it)
