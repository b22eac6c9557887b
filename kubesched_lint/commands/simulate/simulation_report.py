"""What ``simulate`` found: the report on one set, and that on all environments of the manifests."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.commands.simulate.proven_by_rules import Shortage
from kubesched_lint.commands.simulate.short_set import ShortAfterLoss
from kubesched_lint.engine.base.places import Location
from kubesched_lint.engine.events.answers.cells import BAD, Cell
from kubesched_lint.engine.events.search.picture import Picture
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.runs.skew import Skew
from kubesched_lint.engine.verdicts.matrix import Row
from kubesched_lint.findings import InputError
from kubesched_lint.linter.environments.environments import named_once, once_each, said_once, with_environments
from kubesched_lint.sources.manifests.document import location_of

Part = tuple[str, "SimulationReport"]
"""(name of an environment or a target, what was found there)."""


class WorkloadSkew(Struct, frozen=True):
    workload: Workload
    skew: Skew
    environments: tuple[str, ...] = ()
    """Where it holds; none if in all."""


T = TypeVar("T", Shortage, ShortAfterLoss, WorkloadSkew)


class SimulationReport(Struct, frozen=True):
    """Everything that a report of ``simulate`` may show."""

    workloads: tuple[Workload, ...]
    events: tuple[str, ...]
    rows: tuple[Row, ...]
    shortages: tuple[Shortage, ...] = ()
    """What is proven for every order and no row shows, such as what the set lacks whichever pods wait."""
    short_after_losses: tuple[ShortAfterLoss, ...] = ()
    skews: tuple[WorkloadSkew, ...] = ()
    before: Picture | None = None
    after: Picture | None = None
    pictured: str = ""
    """The event between ``before`` and ``after``."""
    errors: tuple[InputError, ...] = ()
    notes: tuple[str, ...] = ()
    background: tuple[str, ...] = ()
    """Notes of ``notes`` that tell what is assumed: a short report leaves them out."""
    refused: tuple[str, ...] = ()
    """What the API server refuses, and why: one line for each object. All else is judged without these."""
    environments: tuple[str, ...] = ()
    """The environments that were judged, if the manifests have several."""
    holds_in: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Number of a workload → the environments in which its row holds; none if it holds in all of them."""

    @property
    def is_bad(self) -> bool:
        """Whether a cell is proven bad for every scheduler, the set is proven too large, or an object is refused."""
        is_short = bool(self.shortages or self.refused)
        return is_short or any(c.verdict == BAD and c.proven for row in self.rows for c in row.cells)

    def named(self, row: Row, name: str) -> str:
        """Return the name of a row's workload with the environments in which the row holds: ``shop/web (prod)``."""
        return with_environments(name, self.holds_in.get(row.number, ()))

    def where(self, row: Row) -> tuple[str, ...]:
        """Return the environments that a report for programs names for a row: none where it holds in all of them."""
        return self.holds_in.get(row.number, ()) if len(self.environments) > 1 else self.environments

    def place(self, cell: Cell) -> Location | None:
        """Return the manifest line to blame; None if there is none."""
        source = cell.blamed.source if cell.blamed is not None else None
        return None if source is None or not cell.at else location_of(source, cell.at, key=cell.at_key)


def merged(
    parts: Sequence[Part], notes: Sequence[str], every: Sequence[str] = (), background: Sequence[str] = ()
) -> SimulationReport:
    """Return one report on all environments, in which what is the same in several stands once.

    ``every``: the names of all environments, if the parts have only some of them.
    """
    first = parts[0][1]
    names = tuple(every) or tuple(name for part in parts for name in _names(part))
    if len(parts) == 1 and len(names) == len(_names(parts[0])):
        # One environment of several was asked for, or one is all that there is.
        return replace(first, notes=(*first.notes, *notes), environments=tuple(filter(None, names)))
    workloads = tuple(workload for _, part in parts for workload in part.workloads)
    rows = [*once_each(_rows(parts), names, lambda row: (workloads[row.number].ref, *map(seen, row.cells)))]
    order = {ref: place for place, ref in enumerate(dict.fromkeys(workloads[row.number].ref for row, _ in rows))}
    rows.sort(key=lambda each: order[workloads[each[0].number].ref])
    refused = said_once([(name, part.refused) for name, part in parts])
    return SimulationReport(
        workloads,
        tuple(dict.fromkeys(event for _, part in parts for event in part.events)),
        tuple(row for row, _ in rows),
        named_once(
            _told(parts, lambda part: part.shortages), names, lambda shortage: (shortage.message, shortage.workloads)
        ),
        named_once(
            _told(parts, lambda part: part.short_after_losses), names, lambda short: (short.message, short.lost)
        ),
        named_once(_told(parts, lambda part: part.skews), names, _seen_of_skew),
        errors=tuple(dict.fromkeys(error for _, part in parts for error in part.errors)),
        notes=(*said_once([(name, part.notes) for name, part in parts]), *notes),
        background=(*said_once([(name, part.background) for name, part in parts]), *background),
        refused=refused,
        environments=names,
        holds_in={row.number: where for row, where in rows},
    )


def _names(part: Part, where: Sequence[str] = ()) -> Sequence[str]:
    """Return the names of a part, or those of its environments that ``where`` names: a target may have several."""
    name, report = part
    return [os.path.join(name, each) for each in where or report.environments] or [name]


def _rows(parts: Sequence[Part]) -> Iterator[tuple[Sequence[str], Row]]:
    """Yield each row with the environments in which it holds; numbers count the workloads of all parts."""
    before = 0
    for name, part in parts:
        for row in part.rows:
            where = _names((name, part), part.holds_in.get(row.number, ()))
            yield where, replace(row, number=before + row.number)
        before += len(part.workloads)


def _told(parts: Sequence[Part], pick: Callable[[SimulationReport], Sequence[T]]) -> Iterator[tuple[Sequence[str], T]]:
    for name, part in parts:
        yield from ((_names((name, part), picked.environments), picked) for picked in pick(part))


def seen(cell: Cell) -> Hashable:
    """Return what a reader sees of a cell, but for the way that leads there."""
    bound = (cell.bound.least, cell.bound.most)
    return cell.event, cell.verdict, cell.proven, cell.text, bound, cell.why, cell.missing, cell.message


def _seen_of_skew(workload_skew: WorkloadSkew) -> Hashable:
    skew = workload_skew.skew
    ends = tuple((tuple(counts), times) for counts, times in skew.ends)
    return workload_skew.workload.ref, skew.topology_key, skew.event, tuple(skew.domains), skew.runs, ends
