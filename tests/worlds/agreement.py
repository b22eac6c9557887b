"""Everything that is said of one world, held against the exhaustive reference and against each other.

A claim is read generically: a finding by its severity, its evidence (``event`` tells what the proof is about) and its
objects, a cell by its verdict, its range and whether it is proven. No rule is known by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Any, NamedTuple

import yaml
from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_options import SimulationOptions
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.engine.answers.cells import BAD, BY_SCORES, DEPENDS, FINE, UNKNOWN, Cell, Range
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.placing import attempts
from kubesched_lint.engine.placing.attempts import is_modelled
from kubesched_lint.engine.placing.coming import created_counts
from kubesched_lint.engine.placing.scenarios import with_known_growth
from kubesched_lint.engine.placing.trial import trials_of
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.scenario.scenario import Scenario as Scenario
from kubesched_lint.engine.verdicts.matrix import EVENTS
from kubesched_lint.findings import Finding, Report
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading import ManifestSet, manifest_set
from kubesched_lint.linter.rule_results import RuleResult
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents
from tests.worlds.admission import NotCoveredError
from tests.worlds.courses import Courses
from tests.worlds.generator import World
from tests.worlds.reference import Ends, Outcomes, outcomes

OPTIONS = Options(profile="strict")
ASKS = "Please report this"
"""What a refuted proof says to users."""
BOTH = "the verdict covers both cases"
"""Part of the premise where it is not known whether a manifest changes what runs."""
SHORT = Effort(states=1, runs=2, nodes=4)
LONG = Effort(states=1_500, runs=2, nodes=4)


@cache
def rulebook() -> Rulebook:
    return Rulebook.shipped()


class Contradiction(Struct, frozen=True):
    """Two answers that cannot both hold."""

    kind: str
    """What disagrees, without names: equal kinds are likely one cause."""
    said: str
    true: str

    def __str__(self) -> str:
        return f"{self.kind}: said {self.said}; {self.true}"


class Reading(Struct, dict=True):
    """One world as the product reads and judges it."""

    world: World
    as_yaml: bool = False
    failures: list[Contradiction] = field(default_factory=list)

    @cached_property
    def manifests(self) -> ManifestSet:
        data = self.world.manifests_json()
        if self.as_yaml:
            data = yaml.dump_all(self.world.manifests, Dumper=_Dumper, sort_keys=False).encode()
        return manifest_set(documents("manifests.yaml", data, is_read), "default")

    @cached_property
    def cluster(self) -> Cluster:
        if self.as_yaml:
            data = yaml.dump(self.world.cluster_value(), Dumper=_Dumper, sort_keys=False).encode()
            return cluster_from([("cluster.yaml", data)], "cluster.yaml")
        return cluster_from([("cluster.json", self.world.cluster_json())], "cluster.json")

    @cached_property
    def believed(self) -> Scenario:
        return Scenario(self.manifests.inventory, self.cluster.without_transient())

    @cached_property
    def judged(self) -> tuple[Report, tuple[RuleResult, ...]]:
        return lint(self.manifests, self.cluster, OPTIONS, rulebook().select("strict"))

    @property
    def report(self) -> Report:
        return self.judged[0]

    def proven_errors(self) -> Iterator[Claim]:
        for one in self.judged[1]:
            if one.finding.severity.word == "error" and one.finding.evidence.kind == "proof":
                pending = one.hazard.values.get("pending", 1)
                objects = tuple(map(str, one.hazard.together)) or (str(one.finding.object),)
                yield Claim(one.finding, objects, pending if isinstance(pending, int) else 1)

    def simulated(
        self, events: tuple[str, ...] = ("deploy",), effort: Effort = LONG, *, skews: bool = False
    ) -> SimulationReport:
        wishes = SimulationOptions(skews=skews)
        return simulate(self.manifests, self.cluster, OPTIONS, events, effort, wishes=wishes)

    def cells(self, events: tuple[str, ...] = ("deploy",), effort: Effort = LONG) -> dict[tuple[str, str], Cell]:
        answered = self.simulated(events, effort)
        return {(str(answered.workloads[row.number]), cell.event): cell for row in answered.rows for cell in row.cells}


class Claim(NamedTuple):
    """What an error says: so many pods of these objects lack in the end, whatever the course of the event."""

    finding: Finding
    objects: tuple[str, ...]
    pending: int

    @property
    def event(self) -> str:
        return self.finding.evidence.event

    def __str__(self) -> str:
        return f"{self.finding.message} ({self.finding.evidence.text})"


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def contradictions(world: World, *, thorough: bool = False) -> list[Contradiction]:
    """All that is found in one world; ``thorough`` asks about every event and reads the files in other ways too."""
    found: list[Contradiction] = []
    before, attempts.raising = attempts.raising, False  # refuted proofs are told here, not raised
    for question in (_against_reference, _of_events, _of_reading) if thorough else (_against_reference,):
        try:
            found.extend(question(world))
        except Exception as error:  # what is raised is told as any other wrong answer
            found.append(
                Contradiction(f"{question.__name__}: {type(error).__name__}", _where(error), "no answer at all")
            )
    attempts.raising = before
    return found


def _where(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code if trace is not None else None
    place = f"{code.co_filename.rpartition('kubesched_lint/')[2]}:{code.co_name}" if code is not None else ""
    return f"{error} in {place}"


# --- against the reference ------------------------------------------------------------------------------------------


def _against_reference(world: World) -> Iterator[Contradiction]:
    reading = Reading(world)
    for error in reading.report.errors:
        yield Contradiction("lint reports a failure", error.message, "the manifests are sound")
    for finding in reading.report.findings:
        if "a run contradicts the proof" in finding.evidence.text:
            yield Contradiction(
                f"refuted before it was printed: {finding.rule}", finding.message, finding.evidence.text
            )
    cells = reading.cells()
    yield from _of_lint_and_cells(reading, cells)
    yield from of_runs_nowhere(reading)
    truth = outcomes(world)
    if truth is None:
        return
    for claim in reading.proven_errors():
        if claim.event == "deploy":
            yield from of_error(claim, truth)
    for (name, _), cell in cells.items():
        # A snapshot keeps of a template what scheduling reads, and kubectl apply takes away only what it has set
        # itself: whether the template changes is not always known, and then the cell says so.
        unsure = cell.verdict == DEPENDS and any(BOTH in premise for premise in cell.assumes)
        if name in truth.of and not unsure:
            yield from of_cell(name, cell, truth.of[name])
    yield from _of_trials(reading, truth)
    yield from _of_why(reading)


def _refuted(reading: Reading, cells: dict[tuple[str, str], Cell]) -> Iterator[Contradiction]:
    """What the product itself found to be wrong before it printed it."""
    for finding in reading.report.findings:
        if ASKS in finding.evidence.text:
            yield Contradiction(
                f"refuted before it was printed: {finding.rule}", finding.message, finding.evidence.text
            )
    yield from _refuted_cells(cells)


def _refuted_cells(cells: dict[tuple[str, str], Cell]) -> Iterator[Contradiction]:
    for (name, event), cell in cells.items():
        for missing in cell.missing:
            if ASKS in missing:
                yield Contradiction(f"refuted before it was printed: {event} of a {name.split()[0]}", name, missing)


def _of_lint_and_cells(reading: Reading, cells: dict[tuple[str, str], Cell]) -> Iterator[Contradiction]:
    for claim in reading.proven_errors():
        met = [cells.get((name, claim.event)) for name in claim.objects]
        if all(cell is not None and cell.verdict == FINE and cell.proven for cell in met):
            answered = "; ".join(f"{cell.text}, proven: {cell.why}" for cell in met if cell is not None)
            twice = reading.manifests.inventory.has_duplicates
            what = "an object that is defined twice" if twice else claim.finding.rule
            yield Contradiction(f"lint and simulate: {what}", f"lint: {claim}", f"simulate: {answered}")


def of_runs_nowhere(reading: Reading) -> Iterator[Contradiction]:
    """An error about pods that can use no node, of those here and of those that may come, fails ``simulate`` too."""
    world = with_known_growth(Scenario(reading.manifests.inventory, reading.cluster.without_transient()))
    nowhere = {str(workload) for workload in world.as_created if not world.member(workload).usable}
    claims = [c for c in reading.proven_errors() if c.event == "deploy" and nowhere.intersection(c.objects)]
    cells = reading.cells(effort=SHORT) if claims else {}
    for claim in claims:
        for cell in (cells.get((name, "deploy")) for name in claim.objects if name in nowhere):
            if cell is not None and not cell.proven:
                said = f"simulate: {cell.text}, not proven: {cell.why}"
                yield Contradiction(f"simulate proves less: {claim.finding.rule}", f"lint: {claim}", said)


def of_error(claim: Claim, truth: Outcomes) -> Iterator[Contradiction]:
    """Of another object than a workload an error says that the set is never whole."""
    names = claim.objects if all(name in truth.of for name in claim.objects) else truth.names
    pending = claim.pending if names == claim.objects else 1
    lacking = truth.fewest_lacking(names)
    if lacking < pending:
        kind = f"lint error{', number' if lacking else ''}: {claim.finding.rule}"
        yield Contradiction(kind, str(claim), f"some course leaves {lacking} pods of {', '.join(names)} lacking")


def _of_trials(reading: Reading, truth: Outcomes) -> Iterator[Contradiction]:
    """A trial is one course: where it ends must be one of the ends. It makes as many pods as quotas grant."""
    if "runs" in reading.world.features:
        return  # trials take what runs away first
    believed = reading.believed
    workloads = believed.as_created
    if not all(is_modelled(believed.member(workload)) for workload in workloads):
        return  # a trial leaves out what nobody can tell: a claim that a partial cluster does not show
    made = created_counts(believed)
    for workload in workloads:
        count = made[workload]
        for left in (trial[workload][0] for trial in trials_of(believed) if workload in trial):
            ends = truth.of[str(workload)]
            if not any(end.bound == count - left for end in ends.ends):
                true = f"reference: {ends.least}–{ends.most} of {ends.wanted}"
                yield Contradiction(f"trial of a {workload.kind}", f"{workload}: {left} of {count} left over", true)
                break


def _of_why(reading: Reading) -> Iterator[Contradiction]:
    """The first pod of each workload alone, beside what runs, on today's cluster."""
    if "runs" in reading.world.features:
        return
    courses = Courses(reading.world, settled=False)
    for number, name in enumerate(courses.names()):
        try:
            chosen = courses.first_choice(number)
        except NotCoveredError:
            continue
        if chosen is None:
            continue
        kind, _, full_name = name.partition(" ")
        question = Question(f"{kind.lower()}/{full_name}", alone=True)
        explained = answer(question, reading.manifests.inventory, reading.cluster)
        fitting = sorted(node.node for node in explained.fitting)
        if fitting != sorted(chosen[0]):
            yield Contradiction("why: nodes that fit", f"{name}: {fitting}", f"reference: {chosen[0]}")
        elif (explained.nominated or None) not in (chosen[1] or [None]):
            yield Contradiction("why: preemption", f"{name}: {explained.nominated!r}", f"reference: {chosen[1]}")


def of_cell(name: str, cell: Cell, ends: Ends) -> Iterator[Contradiction]:
    said = f"{name} {cell.text} ({cell.verdict}, {'proven' if cell.proven else 'expected'}): {cell.why}"
    true = f"reference: {ends.least}–{ends.most} of {ends.wanted} bound, " + (
        "may be whole" if ends.may_be_whole else "never whole"
    )
    is_job = name.startswith("Job ")  # pods of a Job take turns: only the numbers are compared
    kind = f"deploy cell of a {name.split()[0]}"
    if cell.verdict == "none":
        if ends.wanted and not is_job:
            yield Contradiction(f"{kind}: none", said, true)
        return
    if cell.text.endswith(" *"):
        return  # it says in the same line that it rests on what nobody tells
    if cell.wanted != ends.wanted:
        yield Contradiction(f"{kind}: wanted {cell.wanted}", said, true)
    elif cell.verdict == FINE and not is_job and (ends.may_lack if cell.proven else not ends.may_be_whole):
        yield Contradiction(f"{kind}: fine{', proven' * cell.proven}", said, true)
    elif cell.verdict == BAD and not is_job and (ends.may_be_whole if cell.proven else not ends.may_lack):
        yield Contradiction(f"{kind}: bad{', proven' * cell.proven}", said, true)
    elif cell.verdict in (DEPENDS, BY_SCORES) and not is_job and not (ends.may_be_whole and ends.may_lack):
        yield Contradiction(f"{kind}: {cell.verdict}", said, true)
    elif cell.verdict == UNKNOWN:
        return  # a question mark claims nothing
    elif cell.bound.by == "search" and (ends.most < cell.bound.least or cell.bound.most < ends.least):
        yield Contradiction(f"{kind}: range by search outside", said, true)
    elif cell.bound.by != "search" and not (cell.bound.least <= ends.least and ends.most <= cell.bound.most):
        yield Contradiction(f"{kind}: range by counting too narrow", said, true)


# --- one event, searched and counted --------------------------------------------------------------------------------


def _of_events(world: World) -> Iterator[Contradiction]:
    reading = Reading(world)
    long, short = reading.cells(EVENTS, LONG), reading.cells(EVENTS, SHORT)
    yield from _refuted_cells({key: cell for key, cell in long.items() if key[1] != "deploy"})
    for key, cell in long.items():
        for contradiction in _of_two(key, cell, short[key]):
            # Pools grow until an event ends well, so that each answer is about other nodes.
            if not ("pools" in world.features and contradiction.kind.endswith(": range")):
                yield contradiction
    yield from _of_lint_and_cells(reading, {key: cell for key, cell in long.items() if key[1] != "deploy"})


def _of_two(key: tuple[str, str], long: Cell, short: Cell) -> Iterator[Contradiction]:
    """The same cell with much effort and with little."""
    said = f"{key[0]} {key[1]}: {long.text} ({long.verdict}, {long.bound.by}, proven {long.proven}): {long.why}"
    true = f"with less effort {short.text} ({short.verdict}, {short.bound.by}, proven {short.proven}): {short.why}"
    kind = f"{key[1]} of a {key[0].split()[0]}, searched and counted"
    verdicts = {long.verdict, short.verdict}
    if long.wanted != short.wanted:
        yield Contradiction(f"{kind}: wanted", said, true)
    elif long.proven and short.proven and verdicts == {FINE, BAD}:
        yield Contradiction(f"{kind}: both proven", said, true)
    elif short.proven and short.verdict in (FINE, BAD) and long.verdict not in (short.verdict, UNKNOWN):
        yield Contradiction(f"{kind}: {short.verdict} proven by counting", said, true)
    elif UNKNOWN in verdicts:
        return  # a question mark claims nothing
    elif short.bound.by != "search" and long.bound.by == "search" and not _is_within(long.bound, short.bound):
        yield Contradiction(f"{kind}: range", said, true)


def _is_within(inner: Range, outer: Range) -> bool:
    return outer.least <= inner.least and inner.most <= outer.most


# --- read in other ways ---------------------------------------------------------------------------------------------


def _of_reading(world: World) -> Iterator[Contradiction]:
    first = Reading(world)
    as_yaml = Reading(world, as_yaml=True)
    again = Reading(replace(world, manifests=json.loads(json.dumps(world.manifests)), cluster=world.cluster[::-1]))
    expected = _findings(first.report)
    for other, how in ((as_yaml, "as YAML"), (again, "with the cluster's objects in reverse")):
        beside = _findings(other.report)
        if expected != beside:
            only = sorted(expected ^ beside)
            yield Contradiction(
                f"read {how}: findings of {only[0][0]}",
                str(sorted(expected - beside)[:2]),
                str(sorted(beside - expected)[:2]),
            )
        cells, others = first.cells(), other.cells()
        for key, cell in cells.items():
            if _answer(cell) != _answer(others[key]):
                yield Contradiction(f"read {how}: a deploy cell", f"{key} {_answer(cell)}", f"{_answer(others[key])}")


def _findings(report: Report) -> frozenset[tuple[str, str, str, str]]:
    """Without places and without witnesses' courses."""
    return frozenset((f.rule, f.severity.word, str(f.object), f.evidence.kind) for f in report.findings)


def _answer(cell: Cell) -> tuple[object, ...]:
    return cell.verdict, cell.wanted, cell.proven, (cell.bound.least, cell.bound.most) if cell.proven else ()
