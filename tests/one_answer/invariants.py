"""The seven invariants: each yields what breaks it in one scene."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, NoReturn

from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.engine.admission.decision import CREATED
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.events.answers.cells import BAD, FINE, NONE, REFUSED, UNKNOWN, Cell
from kubesched_lint.engine.events.answers.event_bounds import EventBounds
from kubesched_lint.engine.events.start.groups import group_in
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.placing.scenarios import without_transient
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.verdicts.matrix import EVENTS, Matrix
from kubesched_lint.explaining.objects.refused import accepted
from kubesched_lint.findings import Severity
from tests.one_answer.scenes import DEPLOYED, SIZED, Scene


class Break(NamedTuple):
    """``what`` has no numbers: equal ones are likely one cause."""

    invariant: int
    scene: str
    what: str
    more: str = ""

    @property
    def line(self) -> str:
        return f"{self.invariant} {self.scene}: {self.what}"


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
    if is_bad != scene.is_bad:
        yield Break(1, scene.name, f"exit codes: lint {is_bad:d}, simulate {scene.is_bad:d}")


def _short(cell: Cell) -> str:
    return f"{cell.event} {cell.text} ({cell.verdict}{' proven' * cell.proven}) {cell.why}; missing {cell.missing}"


def _proven(scene: Scene) -> Mapping[ObjectRef, tuple[str, str]]:
    """Workloads with a proven bad end → their events and the proof; a shortage counts for all that it names."""
    found: dict[ObjectRef, tuple[str, str]] = {}
    for (ref, event), cell in scene.cells.items():
        if event in DEPLOYED and is_proven_bad(cell):
            found[ref] = (f"{found[ref][0]} and {event}" if ref in found else event, cell.why)
    for one in scene.simulated.shortages:
        if one.evidence.event in DEPLOYED:
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
    for (ref, event), cell in scene.cells.items():
        if event in SIZED and is_proven_bad(cell) and ref not in warned:
            yield Break(1, scene.name, f"simulate alone proves {event} of a {ref.kind}", f"{ref}: {cell.why}")


def one_answer(scene: Scene) -> Iterator[Break]:
    """Invariant 1."""
    yield from lint_proves_what_simulate_proves(scene)
    yield from lint_warns_of_other_sizes(scene)


# --- 2: one premise, one place --------------------------------------------------------------------------------------


def a_premise_is_worded_once(scene: Scene) -> Iterator[Break]:
    """What makes the proof of a rule a warning weakens the cell, too, in the same words; a proof has premises."""
    for finding, counted in scene.findings:
        evidence = finding.evidence
        if finding.severity is not Severity.WARNING or evidence.kind != "proof" or finding.preview:
            continue
        for ref in counted:
            cell = scene.cells.get((ref, evidence.event))
            if (
                cell is not None
                and evidence.event in DEPLOYED
                and not {*cell.assumes, *cell.missing} & {*evidence.assumes}
            ):
                yield Break(
                    2, scene.name, f"{finding.rule} of a {ref.kind}", f"{ref} {evidence.assumes}; {_short(cell)}"
                )
    for (ref, event), cell in scene.cells.items():
        if cell.proven and cell.verdict in (FINE, BAD) and not cell.assumes:
            yield Break(2, scene.name, f"{event} of a {ref.kind} is proven without a premise", f"{ref}: {_short(cell)}")


# --- 3: refused is refused everywhere -------------------------------------------------------------------------------


def refused_is_refused(scene: Scene) -> Iterator[Break]:
    """What the API server refuses has no other cell, and no finding about where its pods would run."""
    for ref in scene.refused:
        for (other, event), cell in scene.cells.items():
            if other == ref and cell.verdict not in (REFUSED, NONE):
                yield Break(
                    3, scene.name, f"{event} of a refused {ref.kind} is {cell.verdict}", f"{ref}: {_short(cell)}"
                )
        for finding, counted in scene.findings:
            if counted == (ref,):
                yield Break(3, scene.name, f"{finding.rule} about a refused {ref.kind}", finding.message)


# --- 4: more facts never remove a proof -----------------------------------------------------------------------------


def more_facts_keep_proofs(less: Scene, more: Scene) -> Iterator[Break]:
    """What is proven bad on fewer facts stays so, unless the further facts refute it."""
    for (ref, event), cell in less.cells.items():
        then = more.cells.get((ref, event))
        if is_proven_bad(cell) and then is not None and then.verdict in (BAD, UNKNOWN) and not is_proven_bad(then):
            kind = f"{event} of a {ref.kind} loses its proof"
            yield Break(4, f"{less.name} → {more.name}", kind, f"{ref}: {_short(cell)}; then {_short(then)}")


def more_facts_keep_certainty(less: Scene, more: Scene) -> Iterator[Break]:
    """What is proven fine on fewer facts stays definite."""
    for (ref, event), cell in less.cells.items():
        then = more.cells.get((ref, event))
        if cell.verdict == FINE and cell.proven and then is not None and then.verdict == UNKNOWN:
            kind = f"{event} of a {ref.kind} becomes unknown"
            yield Break(4, f"{less.name} → {more.name}", kind, f"{ref}: {_short(cell)}; then {_short(then)}")


# --- 5: what is counted is kept -------------------------------------------------------------------------------------


class _Cut(Matrix):
    """A matrix in which each search and each course exceeds its share of the work."""

    def _ends(self, *args: object, **options: object) -> NoReturn:  # type: ignore[override]
        raise work.OutOfWorkError(work.WHY)

    courses = _ends  # type: ignore[assignment]

    def counted(self, event: str, place: int) -> EventBounds:
        return self.counting.bounds(event, group_in(self.simulated.member(place), event), place)


def counted_bounds_are_kept(scene: Scene) -> Iterator[Break]:
    """A cell whose search ends at its limit of work shows the bounds that counting has found."""
    scenario = Scenario(
        scene.manifests.inventory, without_transient(scene.cluster), scene.manifests.premises(scene.options)
    )
    matrix = _Cut(simulated_set_of(accepted(scenario)), scene.effort)
    for number, workload in enumerate(matrix.whole.workloads):
        place = matrix.place(number)
        for event in EVENTS if place is not None else ():
            cell = matrix.cell(event, number)
            if cell.verdict == NONE or matrix.whole.decisions.get(number, CREATED).unknown or workload.kind == "Job":
                continue
            bounds = matrix.counted(event, place)
            forgets = cell.bound.most > min(bounds.most.pods, bounds.wanted)
            if forgets or (bounds.is_bad and cell.verdict not in (BAD, UNKNOWN)):
                yield Break(
                    5, scene.name, f"{event} of a {workload.kind}", f"{workload}: {_short(cell)}; {bounds.most}"
                )
            elif not bounds.is_fine and cell.bound.least < min(bounds.least.pods, bounds.wanted):
                yield Break(
                    5, scene.name, f"{event} of a {workload.kind}", f"{workload}: {_short(cell)}; {bounds.least}"
                )


# --- 6: bigger sets are not vaguer ----------------------------------------------------------------------------------


def strangers_change_nothing(scene: Scene, beside: Scene) -> Iterator[Break]:
    """A quota, a budget and a workload of another namespace, whose pods fit nowhere, change no cell."""
    for (ref, event), cell in scene.cells.items():
        then = beside.cells.get((ref, event))
        if then is not None and (cell.verdict, cell.proven, cell.bound) != (then.verdict, then.proven, then.bound):
            kind = f"{event} of a {ref.kind} from {cell.verdict} to {then.verdict}"
            yield Break(6, scene.name, kind, f"{ref}: {_short(cell)}; then {_short(then)}")


# --- 7: effort is part of the scenario ------------------------------------------------------------------------------


def both_search_alike(scene: Scene) -> Iterator[Break]:
    """``lint`` and ``simulate``, each with its own effort, prove the same ends to be bad."""
    simulated = simulate(scene.manifests, scene.cluster, scene.options, DEPLOYED)
    proven = {
        (simulated.workloads[row.number].ref, c.event) for row in simulated.rows for c in row.cells if is_proven_bad(c)
    }
    asked = {key for key, cell in scene.cells.items() if key[1] in DEPLOYED and is_proven_bad(cell)}
    for ref, event in proven ^ asked:
        which = "simulate" if (ref, event) in proven else "lint"
        yield Break(7, scene.name, f"only the effort of {which} proves {event} of a {ref.kind}", str(ref))
