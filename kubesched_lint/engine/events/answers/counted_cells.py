"""The cells of what counting says: decided, or left open."""

from __future__ import annotations

import re

from msgspec.structs import replace

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.text import many, plural
from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS, FINE, LIKELY, UNKNOWN, Cell, Range, words
from kubesched_lint.engine.events.answers.event_bounds import ON_ALL, Bound, EventBounds


def range_of(bounds: EventBounds) -> Range:
    least, most = min(bounds.least.pods, bounds.wanted), min(bounds.most.pods, bounds.wanted)
    return Range(least, most, "closed-form" if least == most else "bound")


_RUN = re.compile(r" pods? run: ")


def why_open(bounds: EventBounds, ends: Range | None = None) -> str:
    """Return ``0–3 of 3 pods run: other pods may fill all nodes that it may use``.

    ``ends``: how many run by a search, which knows it better.
    """
    return f"{ends or range_of(bounds)} of {many(bounds.wanted, 'pod')} run: {bounds.least.why}"


def with_reason(cell: Cell, bounds: EventBounds) -> Cell:
    """Return the cell of a search in which only some orders leave pods without a node, with what counting says of it.

    Unchanged if counting says nothing, if the reason stands in it already, or if it is no such cell.
    """
    is_short = cell.verdict == DEPENDS and cell.bound.by == "search" and cell.bound.least < bounds.wanted
    if not is_short or cell.ready is not None:
        return cell
    least = work.tried(lambda: bounds.least, None)
    if least is None or least.pods >= bounds.wanted or least.why in cell.why:
        return cell
    return replace(cell, why=f"{cell.why}; {why_open(bounds, cell.bound)}")


def what_is_open(why: str) -> str:
    """Return what may go wrong where counting leaves a cell open, from the reason of such a cell; else empty."""
    return why[match.end() :] if (match := _RUN.search(why)) else ""


def decided(event: str, bounds: EventBounds, blocked: str, assumes: tuple[str, ...], *, by_itself: bool) -> Cell:
    """Return the cell, fine or bad, that counting decides; ``blocked``: the budget that keeps a drain from ending.

    ``by_itself``: whether other workloads of the set can only make a bad end worse.
    """
    fine, stuck, bound = bounds.is_fine, bounds.always_stuck, range_of(bounds)
    why = bounds.least.why if fine else bounds.most.why
    if blocked and bounds.most.pods >= bounds.wanted:
        why = f"{blocked} allows no eviction"
    return Cell(
        event,
        FINE if fine else BAD,
        bounds.wanted,
        bound,
        stuck,
        stuck,
        proven=not stuck or event != "drain",  # the drain of a node without its pods ends
        text=words(event, bounds.wanted, bound, stuck=stuck, always_stuck=stuck, blocked=blocked),
        why=why,
        resource="" if fine else bounds.most.resource,
        rests_on=ON_ALL if fine or event == "drain" else bounds.most.rests_on,
        near=() if fine else bounds.most.near,
        is_counted=by_itself and not fine,
        assumes=assumes,
    )


def bounded(cell: Cell, most: Bound, *, by_itself: bool) -> Cell:
    """Return the bad cell of a search with the bound that proves the same, in the words of the bound."""
    return replace(
        cell,
        why=most.why,
        resource=most.resource,
        rests_on=most.rests_on,
        near=most.near,
        proven=True,
        is_counted=by_itself,
    )


def left_open(event: str, bounds: EventBounds, missing: str, assumes: tuple[str, ...]) -> Cell:
    """Return the cell that counting leaves open, if nothing else was asked; ``missing`` says why not."""
    bound = range_of(bounds)
    text = f"{words(event, bounds.wanted, bound, stuck=False, always_stuck=False)} ?"
    why = why_open(bounds)
    return Cell(event, UNKNOWN, bounds.wanted, bound, text=text, why=why, missing=(missing,), assumes=assumes)


def stuck_there(cell: Cell, most: Bound) -> Cell:
    """Return the cell of a size at which counting proves that no rollout ends."""
    stuck = replace(cell, verdict=BAD, stuck=True, always_stuck=True, worst=None, best=None, missing=())
    text = f"{cell.bound}/{cell.wanted} stuck"
    return replace(bounded(stuck, most, by_itself=cell.is_counted), text=text)


_ENDED = {FINE: "well, also those aimed at a bad end", DEPENDS: "well and badly", BAD: "badly"}


def followed(cell: Cell, traces: int) -> Cell:
    """Return a cell that counting leaves open; its verdict is that of the ends of so many random traces."""
    if not traces:
        text = words(cell.event, cell.wanted, cell.bound, stuck=False, always_stuck=False)
        return replace(cell, verdict=UNKNOWN, text=f"{text} ?")
    end = plural(traces, "ends", "end")
    why = f"{many(traces, 'random trace')} of the default scheduler {end} {_ENDED[cell.verdict]}; {cell.why}"
    if cell.verdict == FINE:
        return replace(cell, verdict=LIKELY, text=f"{cell.wanted}/{cell.wanted} ok~", why=why)
    return replace(cell, why=why, missing=() if cell.verdict == DEPENDS else cell.missing)


def doubted(cell: Cell, missing: str) -> Cell:
    text = cell.text if cell.text.endswith("?") else f"{cell.text} ?"
    return replace(cell, verdict=UNKNOWN, proven=False, text=text, missing=(*cell.missing, missing))


def with_counted(cell: Cell, bounds: EventBounds) -> Cell:
    """Return the cell with counted bounds, which hold under any preemption, unlike a search that ignores it."""
    bound = Range(min(bounds.least.pods, cell.wanted), min(bounds.most.pods, cell.wanted), "bound")
    text = cell.text if cell.stuck else words(cell.event, cell.wanted, bound, stuck=False, always_stuck=False)
    return replace(cell, bound=bound, text=text)
