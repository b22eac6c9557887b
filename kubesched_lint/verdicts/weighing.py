"""Apply missing facts to cells of the matrix: a cell becomes unknown, or gets an assumption."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec.structs import replace

from kubesched_lint.analysis.lacks import Lack, emptiness, fate_of_group, lacks_of
from kubesched_lint.analysis.reachability import blocked_affinities
from kubesched_lint.findings import ObjectRef
from kubesched_lint.lifecycle.groups import components, group_of
from kubesched_lint.lifecycle.matrix import Matrix, Row
from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.lifecycle.verdicts import BAD, FINE, NONE, UNKNOWN, Cell, Range, words
from kubesched_lint.model.workload import Workload
from kubesched_lint.text import SHOWN
from kubesched_lint.verdicts.gang_events import gang_lacks
from kubesched_lint.verdicts.hypothesis_lacks import lacks_of_hypothesis
from kubesched_lint.world.devices import devices_unknown, needs_devices
from kubesched_lint.world.devices_over_time import following
from kubesched_lint.world.gangs import gangs_of
from kubesched_lint.world.world import Member, World

_WITHOUT_NODES = ("no nodes", "no zones", "no pods")


class Weighing:
    """What is not known about the workloads of a setting, and what it leaves of their cells."""

    def __init__(self, matrix: Matrix, setting: Setting, world: World) -> None:
        """``setting`` has the workloads of ``matrix``, in the same order, with the user's options."""
        self._matrix = matrix
        self._setting = setting
        self._world = world
        # A hypothesis may open a node.
        self._nowhere = [setting.supposed is None and not open_ for open_ in setting.reach]
        self._empty = emptiness(world)

    def rows(self, rows: Sequence[Row]) -> Iterator[Row]:
        """Yield each row with missing facts applied."""
        setting, nowhere = self._setting, self._nowhere
        own = lacks = self._lacks
        if gangs_of(self._world):
            own = _with_gangs(self._lacks, rows, self._matrix, setting, self._world)
            lacks = {i: found if any(lack.events for lack in own[i]) else own[i] for i, found in self._lacks.items()}
        for row in rows:
            decision = setting.decisions.get(row.number)
            if decision is not None and decision.refusal is not None:
                yield row  # no pod is created, whatever else is unknown
                continue
            near = () if nowhere[row.number] else self._lacking[group_of(setting, row.number)]
            beside = _of_neighbours(row.number, setting, lacks, near)
            alone = nowhere[row.number] or not self._may_need_running(row.number)
            cells = (
                _weighed(_without_known_nodes(cell, self._world), _about(cell.event, own[row.number], setting), beside)
                for cell in row.cells
            )
            yield replace(row, cells=tuple(_on_empty(cell, self._empty, alone=alone) for cell in cells))

    def _may_need_running(self, number: int) -> bool:
        """Whether running pods, if any were known, could be those that its affinity waits for."""
        assert self._world.cluster is not None
        if self._world.cluster_has("Pod"):
            return False
        return self._written[self._setting.workloads[number].ref] in blocked_affinities(self._world)

    @cached_property
    def _written(self) -> Mapping[ObjectRef, Workload]:
        return {workload.ref: workload for workload in self._world.manifests.workloads}

    @cached_property
    def _lacks(self) -> Mapping[int, tuple[Lack, ...]]:
        return {
            i: (
                *_lacks(self._world.member(self._written[w.ref]), nowhere=self._nowhere[i]),
                *lacks_of_hypothesis(self._setting, i, self._world),
            )
            for i, w in enumerate(self._setting.workloads)
        }

    @cached_property
    def _lacking(self) -> Mapping[tuple[int, ...], list[int]]:
        """Group of workloads → those of them about which something is not known."""
        return {
            members: [i for i in members if self._lacks[i] or _untold(self._setting, i)]
            for members in components(self._setting)
        }


def _lacks(it: Member, *, nowhere: bool) -> tuple[Lack, ...]:
    if needs_devices(it.workload.pod, it.world) and not devices_unknown(it.world):
        why_not = following(it.world).why_not
        if why_not:
            return (*lacks_of(it, nowhere=nowhere), Lack(f"which devices its pods hold over time: {why_not}", True))
    return lacks_of(it, nowhere=nowhere)


def _with_gangs(
    lacks: Mapping[int, tuple[Lack, ...]], rows: Sequence[Row], matrix: Matrix, setting: Setting, world: World
) -> Mapping[int, tuple[Lack, ...]]:
    """Return the lacks of each workload; of its gang only what ``gang_events`` leaves unknown, by event."""
    left = gang_lacks(rows, lambda number: matrix.cell("deploy", number), setting, world)
    return {i: (*_without_fate(found, setting, i), *left[i]) if i in left else found for i, found in lacks.items()}


def _without_fate(lacks: Sequence[Lack], setting: Setting, number: int) -> Iterator[Lack]:
    fate = fate_of_group(setting.workloads[number].pod.group)
    return (lack for lack in lacks if lack.text != fate)


def _of_neighbours(
    number: int, setting: Setting, lacks: Mapping[int, Sequence[Lack]], lacking: Sequence[int]
) -> tuple[str, ...]:
    """Return assumptions about other workloads with missing facts that can change where this one's pods fit."""
    shared = {lack.text for lack in lacks[number]}
    found: list[str] = []
    for other in lacking:
        if len(found) == SHOWN:
            break
        texts = (lack.text for lack in lacks[other] if lack.text not in shared and not lack.events)
        own = [*_untold(setting, other), *texts]
        if own and other != number:
            found.append(f"{setting.workloads[other]} is as modelled, although this is not known: {own[0]}")
    return tuple(found)


def _untold(setting: Setting, number: int) -> Sequence[str]:
    """Return why the pods of a custom resource are unknown from their creation on; its card says so."""
    custom = setting.workloads[number].custom
    return [custom.unknown["deploy"]] if custom is not None and "deploy" in custom.unknown else ()


def _without_known_nodes(cell: Cell, world: World) -> Cell:
    """Return the cell; unknown nodes make it unknown if its event does not apply because nodes are missing."""
    assert world.cluster is not None
    if world.cluster.knows_nodes or cell.verdict != NONE or cell.text not in _WITHOUT_NODES:
        return cell
    return replace(cell, verdict=UNKNOWN)


def _about(event: str, lacks: Sequence[Lack], setting: Setting) -> Sequence[Lack]:
    """Return the lacks that concern an event; a hypothesis has those of the events that it contains, too."""
    events = setting.parts(event)
    return [lack for lack in lacks if not lack.events or not events.isdisjoint(lack.events)]


def _weighed(cell: Cell, own: Sequence[Lack], beside: Sequence[str]) -> Cell:
    unknown = [lack.text for lack in own if lack.unknown]
    if cell.verdict == NONE:
        scaler_unknown = cell.event == "hpa-max" and any(lack.events for lack in own)
        return _unknown(cell, unknown) if scaler_unknown else cell
    narrows = all(lack.narrows for lack in own)
    if unknown and not (cell.verdict == BAD and cell.proven and narrows):
        return _unknown(cell, unknown)
    if unknown:
        cell = _at_best(cell, unknown)
    assumed = [lack.text for lack in own if not lack.unknown]
    if not assumed and not beside:
        return cell
    proven = cell.proven and cell.verdict == BAD and narrows and (cell.is_counted or not beside)
    return replace(cell, text=f"{cell.text} *", proven=proven, assumes=(*cell.assumes, *assumed, *beside))


def _unknown(cell: Cell, missing: Sequence[str]) -> Cell:
    """Return ``0–3/3 ?``: any number of pods may run."""
    text = f"0–{cell.wanted}/{cell.wanted} ?" if cell.wanted else "?"
    bound = Range(0, cell.wanted, "bound")
    why = "facts that decide about its pods are not known"
    return Cell(
        cell.event, UNKNOWN, cell.wanted, bound, text=text, why=why, missing=tuple(missing), assumes=cell.assumes
    )


def _at_best(cell: Cell, missing: Sequence[str]) -> Cell:
    """Return the cell with the proof that pods stay Pending, but without a lower bound of running pods."""
    why = f"{cell.why}; fewer may run, because it is not known {missing[0]}"
    if not cell.bound.least:
        return replace(cell, why=why)
    bound = Range(0, cell.bound.most, "bound")
    text = cell.text
    if not cell.stuck:
        text = words(cell.event, cell.wanted, bound, stuck=False, always_stuck=False)
    return replace(cell, bound=bound, text=text, why=why)


def _on_empty(cell: Cell, premise: str, *, alone: bool) -> Cell:
    """Return the cell with the assumption about a sketch's content; ``alone``: running pods could not help it."""
    if not premise or cell.verdict == NONE:
        return cell
    proven = cell.proven and (cell.verdict == FINE or alone)
    return replace(cell, proven=proven, assumes=(*cell.assumes, premise))
