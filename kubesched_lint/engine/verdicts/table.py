"""Compute the rows of the matrix, and test and weigh their cells until they are as a report may show them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

from msgspec.structs import replace

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.steps import at
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import NONE, UNKNOWN, Cell, not_known
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.policy import DisruptionBudget, ResourceQuota
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.placing.scenarios import WhatIf, grown_scenario, surviving, with_known_growth
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.scenario.gangs import gangs_of
from kubesched_lint.engine.scenario.nodes.unknown_nodes import unknown_nodes
from kubesched_lint.engine.scenario.pods.pod_labels import not_followed
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.verdicts.by_scores import with_scores
from kubesched_lint.engine.verdicts.custom_cells import with_custom
from kubesched_lint.engine.verdicts.gang_cells import with_gangs
from kubesched_lint.engine.verdicts.losses import both_ends, cells_of, with_worse_ends
from kubesched_lint.engine.verdicts.matrix import Matrix, Row
from kubesched_lint.engine.verdicts.refuting import Refuter, established
from kubesched_lint.engine.verdicts.what_if import MissingFacts, of_cluster, of_unknown_nodes

WHOLE = 9 / 8
"""Steps of a simulation per step of its cells: the rest is for what follows, without which no cell would be told."""


_NEARLY_ALL = 4 / 3
"""Steps that are left per step of what may take nearly all of them."""


class Table:
    """The rows of one matrix. ``scenario`` is without transient states, ``cluster`` is as it is today."""

    def __init__(
        self,
        scenario: Scenario,
        cluster: Cluster,
        effort: Effort,
        prepared: Callable[[SimulatedSet], SimulatedSet],
        only: Collection[ObjectRef] | None,
    ) -> None:
        """``prepared`` adds the user's options to a set; ``only`` are the workloads with rows, None: all."""
        self._scenario = scenario
        self._cluster = cluster
        self._effort = effort
        self._prepared = prepared
        self._matrices: dict[Scenario, Matrix] = {}
        self.matrix = self._matrix_of(grown_scenario(scenario))
        self.simulated = self.matrix.whole
        self.numbers = [i for i, w in enumerate(self.simulated.workloads) if only is None or w.ref in only]

    def _matrix_of(self, scenario: Scenario) -> Matrix:
        if scenario not in self._matrices:
            simulated, effort = self._prepared(simulated_set_of(scenario)), self._effort
            if self._matrices:
                # Another scenario confirms a cell of the first, whatever is asked about it. Only what more nodes change
                # needs an example.
                has_examples = simulated.nodes != self.simulated.nodes
                effort = effort._replace(runs=1, has_examples=has_examples, wanted=Effort().wanted)
            self._matrices[scenario] = Matrix(simulated, effort)
        return self._matrices[scenario]

    def weighed(self, events: Sequence[str]) -> tuple[Row, ...]:
        """Return the rows; no cell shows more than what other scenarios and missing facts leave of it."""
        events = tuple(both_ends(events))
        with work.within(work.share(0, WHOLE)):
            self.matrix.count_first(events, self.numbers)
            rows = [Row(n, tuple(self._cells(events, n, place))) for place, n in enumerate(self.numbers, 1)]
        return self._left_of(rows)

    def _left_of(self, rows: Sequence[Row], *, is_told: bool = True) -> tuple[Row, ...]:
        """Return the rows after runs that try to refute them, in other scenarios, and with missing facts applied.

        No run tries to refute what nobody ``is_told``.

        Where a row takes nearly all steps that are left, its cells are unknown, and the other rows are still told.
        """

        def refuted(row: Row) -> Row:
            return established(row, self._refuter) if is_told else row

        with work.within(work.share(0, _NEARLY_ALL)):
            tested = _each(rows, lambda row: self._surviving(refuted(row), self._table(row.number)))
        missing = self._facts.table(tested)
        return self._with_gangs(_each(tested, lambda row: self._surviving(row, missing(row.number))))

    @cached_property
    def _refuter(self) -> Refuter:
        return Refuter(grown_scenario(self._scenario).without_pools, self.matrix)  # pools may have added its nodes

    def bad_end(self, event: str, number: int, *, is_told: bool) -> tuple[Cell, Cell] | None:
        """Return a cell that is proven to end badly, and what is left of it (``weighed``); None for any other.

        A gang's cell is what is left, also where that of single pods proves nothing. ``is_told`` as in ``_left_of``.
        """
        cell = self.matrix.proven_bad(event, number)
        if cell is None and self.simulated.workloads[number].pod.group and gangs_of(self._scenario):
            cell = self.matrix.cell(event, number)
        if cell is None:
            return None
        rows = self._with_cards(self._left_of([Row(number, (cell,))], is_told=is_told))
        return cell, placed(rows[0].cells[0], self._scenario)

    def _cells(self, events: Sequence[str], number: int, place: int) -> Iterator[Cell]:
        def told() -> Iterator[str]:
            for event in events:
                at(f"{event.replace('-', ' ')} for {self.simulated.workloads[number].ref}", place, len(self.numbers))
                yield event

        return cells_of(told(), number, self.matrix)

    def scored(self, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """Return the rows after traces with other scores, and with what cards of custom resources call unknown.

        Until here, the two ends of a loss have a cell each.
        """
        at("traces with other scores")
        if not self._scenario.pools:  # with pools, its nodes are not known
            rows = tuple(
                replace(row, cells=tuple(placed(cell, self._scenario) for cell in row.cells))
                for row in with_scores(rows, self.matrix)
            )
        return with_worse_ends(self._with_cards(rows), self.matrix)

    def _with_cards(self, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        return tuple(with_custom(rows, self.matrix)) if self._has_custom else rows

    @cached_property
    def _has_custom(self) -> bool:
        return any(workload.custom is not None for workload in self.simulated.workloads)

    @cached_property
    def _facts(self) -> MissingFacts:
        return MissingFacts(self.matrix, self.simulated, self._scenario)

    @cached_property
    def missing(self) -> Mapping[int, str]:
        """Number of a workload whose possible nodes are unknown → the missing fact."""
        return dict(_missing(self.simulated, self._scenario))

    @cached_property
    def _named_missing(self) -> Sequence[str]:
        return [str(self.simulated.workloads[number]) for number in self.missing]

    def _surviving(self, row: Row, table: Sequence[WhatIf[Cell]]) -> Row:
        """Return the row with what rows of ``engine.verdicts.what_if`` leave of its cells."""

        def again(cell: Cell, other: Scenario) -> Cell | None:
            try:
                return self._matrix_of(other).cell(cell.event, row.number)
            except ValueError:  # the nodes of a group that a hypothesis adds to may differ there
                return None

        cells = (surviving(cell, self._scenario, table, again) or cell for cell in row.cells)
        return replace(row, cells=tuple(placed(cell, self._scenario) for cell in cells))

    def _table(self, number: int) -> Sequence[WhatIf[Cell]]:
        member = with_known_growth(self._scenario).member(self.simulated.workloads[number])
        return (*of_cluster(self._cluster, member), *of_unknown_nodes(number, self.missing, self._named_missing))

    def _with_gangs(self, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        if not gangs_of(self._scenario):
            return rows
        return tuple(with_gangs(rows, self.simulated, self._scenario))


def _each(rows: Iterable[Row], judge: Callable[[Row], Row]) -> tuple[Row, ...]:
    """Return what is left of each row; its cells are unknown where the steps do not suffice."""
    return tuple(work.tried(partial(judge, row), _untold(row), _NEARLY_ALL) for row in rows)


def _untold(row: Row) -> Row:
    cells = (cell if cell.verdict in (NONE, UNKNOWN) else not_known(cell, (work.WHY,)) for cell in row.cells)
    return replace(row, cells=tuple(cells))


def placed(cell: Cell, scenario: Scenario) -> Cell:
    """Return the cell without a place in the snapshot: only lines of manifests are blamed."""
    ours = (*scenario.manifests.budgets, *scenario.manifests.quotas)
    if isinstance(cell.blamed, (DisruptionBudget, ResourceQuota)) and all(cell.blamed is not o for o in ours):
        return replace(cell, blamed=None, at=())
    return cell


def _missing(simulated: SimulatedSet, scenario: Scenario) -> Iterator[tuple[int, str]]:
    """Yield (number of a workload, missing fact) for workloads whose possible nodes are unknown."""
    for i, key in not_followed(simulated.workloads).items():
        yield i, f"simulate does not follow the label {key}, whose value differs from pod to pod"
    for i, pod in enumerate(simulated.pods):
        fact = unknown_nodes(pod, scenario)
        if fact:
            yield i, fact
