"""The seven invariants: each yields what breaks it in one scene."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from kubesched_lint.findings import ObjectRef, Severity
from kubesched_lint.lifecycle.verdicts import BAD, Cell
from tests.one_answer.scenes import DEPLOYED, SIZED, Scene, cells_of


class Break(NamedTuple):
    """``what`` has no numbers: equal ones are likely one cause."""

    invariant: int
    scene: str
    what: str
    more: str = ""

    @property
    def line(self) -> str:
        return f"{self.invariant} {self.scene}: {self.what}"


Asked = Callable[[Scene], Iterator[Break]]


def is_proven_bad(cell: Cell | None) -> bool:
    return cell is not None and cell.verdict == BAD and cell.proven


# --- 1: lint proves what simulate proves ----------------------------------------------------------------------------


def lint_proves_what_simulate_proves(scene: Scene) -> Iterator[Break]:
    """An error about a deploy or a rollout for each cell that is proven bad, and no other; equal exit codes."""
    told = {ref: finding for finding, counted in scene.errors if finding.evidence.event in DEPLOYED for ref in counted}
    proven = _proven(scene)
    for ref in told.keys() - proven.keys():
        finding, cells = told[ref], [_short(c) for (o, _), c in scene.cells.items() if o == ref]
        yield Break(1, scene.name, f"lint alone proves {finding.rule} of a {ref.kind}", f"{finding.message}; {cells}")
    for ref in proven.keys() - told.keys() - set(scene.refused):
        events, why = proven[ref]
        yield Break(
            1, scene.name, f"simulate alone proves {events} of a {ref.kind}", f"{ref}: {why}; {_of(scene, ref)}"
        )
    is_bad = bool(told or scene.refused)
    if is_bad != scene.simulated.is_bad:
        yield Break(1, scene.name, f"exit codes: lint {is_bad:d}, simulate {scene.simulated.is_bad:d}")


def _short(cell: Cell) -> str:
    return f"{cell.event} {cell.text} ({cell.verdict}{' proven' * cell.proven}) {cell.why}; missing {cell.missing}"


def _proven(scene: Scene) -> Mapping[ObjectRef, tuple[str, str]]:
    """Workloads with a proven bad end → their events and the proof; a shortage counts for all that it names."""
    found: dict[ObjectRef, tuple[str, str]] = {}
    for (ref, event), cell in scene.cells.items():
        if is_proven_bad(cell):
            found[ref] = (f"{found[ref][0]} and {event}" if ref in found else event, cell.why)
    for one in scene.simulated.shortages:
        found.update({ref: ("a shortage", one.message) for ref in one.workloads if ref not in found})
    return found


def _of(scene: Scene, ref: ObjectRef) -> list[str]:
    return [f"{f.severity.word} {f.rule} {f.message} {f.evidence.assumes[-1:]}" for f, c in scene.findings if ref in c]


def lint_warns_of_other_sizes(scene: Scene) -> Iterator[Break]:
    """A warning or an error with a proof for each proven bad end at a maximum, or after a scale-down."""
    warned = {
        ref
        for finding, counted in scene.findings
        if finding.severity >= Severity.WARNING and finding.evidence.kind == "proof"
        for ref in counted
    }
    for (ref, event), cell in cells_of(scene.asked(SIZED)).items():
        if is_proven_bad(cell) and ref not in warned:
            yield Break(1, scene.name, f"simulate alone proves {event} of a {ref.kind}", f"{ref}: {cell.why}")
