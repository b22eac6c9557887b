"""The order of two verdicts about one event: which of them is established to be worse.

Best to worst: fine (or likely so, or the event does not concern the workload, or there is none), by scores, depends
(or bad in all orders that were followed, while no bound says so), bad, refused. An unknown verdict compares with
nothing, except that what is refused now is worse: what is not established became neither worse nor better. Nor is it
better if traces found a bad end before, and now none: another order may still have it; nor worse if one that follows
other scores found one where the end was likely. Equal verdicts differ by the pods that stay without a node: more of
them is worse only if the two ranges do not overlap.
"""

from __future__ import annotations

from kubesched_lint.engine.events.answers.cells import (
    BAD,
    BY_SCORES,
    DEPENDS,
    FINE,
    LIKELY,
    NONE,
    REFUSED,
    UNKNOWN,
    Cell,
)

WORSE, BETTER, OTHER = "worse", "better", "other"
_RANKS = {FINE: 0, LIKELY: 0, NONE: 0, BY_SCORES: 1, DEPENDS: 2, BAD: 3, REFUSED: 4}


def direction(before: Cell | None, after: Cell | None) -> str:
    """Return WORSE, BETTER, or OTHER where neither is established; None is the cell of a workload that is not there."""
    if (_is_unknown(before) and not _is_refused(after)) or _is_unknown(after):
        return OTHER
    ours, theirs = _rank(before), _rank(after)
    if ours != theirs:
        return OTHER if _is_luck(before, after) else WORSE if theirs > ours else BETTER
    (least, most), (fewest, largest) = _missing(before), _missing(after)
    return WORSE if fewest > most else BETTER if largest < least else OTHER


def differs(before: Cell | None, after: Cell | None) -> bool:
    """Return whether a reader sees two different cells: another verdict, proof, range or text.

    With a cell that nobody asked about compares nothing, and that another scheduler's trace ends badly is no news where
    nothing is proven.
    """
    is_compared = before is None or (before.is_asked and not _is_of_other_scores(before, after))
    return is_compared and _seen(before) != _seen(after)


def _is_luck(before: Cell | None, after: Cell | None) -> bool:
    """Whether two cells differ by what a trace met, and no proof says more now."""
    if before is None or after is None:
        return False
    is_gone = _rank(before) == _RANKS[DEPENDS] and after.verdict in (LIKELY, BY_SCORES)
    return is_gone or _is_of_other_scores(before, after)


def _is_of_other_scores(before: Cell, after: Cell | None) -> bool:
    return after is not None and {before.verdict, after.verdict} == {LIKELY, BY_SCORES}


def _is_unknown(cell: Cell | None) -> bool:
    return cell is not None and cell.verdict == UNKNOWN


def _is_refused(cell: Cell | None) -> bool:
    return cell is not None and cell.verdict == REFUSED


def _rank(cell: Cell | None) -> int:
    if cell is None:
        return 0
    return _RANKS.get(DEPENDS if cell.verdict == BAD and not cell.ends_badly else cell.verdict, 0)


def _missing(cell: Cell | None) -> tuple[int, int]:
    """Return the fewest and the most pods that an event leaves without a node."""
    if cell is None or cell.is_harmless:
        return 0, 0
    return max(cell.wanted - cell.bound.most, 0), max(cell.wanted - cell.bound.least, 0)


def _seen(cell: Cell | None) -> tuple[object, ...]:
    if cell is None:
        return ()
    if cell.verdict == REFUSED:
        return (REFUSED,)
    is_proof = cell.verdict == BAD and cell.proven  # elsewhere no report of a matrix tells them apart
    return cell.verdict, is_proof, cell.wanted, tuple(cell.bound[:2]), cell.stuck, cell.always_stuck, cell.text
