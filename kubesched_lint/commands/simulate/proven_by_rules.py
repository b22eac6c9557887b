"""What the rules of ``lint`` prove about deploys and rollouts: the matrix shows it, too.

A rule may count what no cell counts: several workloads together, or the domains of another workload's pods. Then its
error is a proof for the cell of each workload that it names, or a shortage of the set if it names several.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, ObjectRef
from kubesched_lint.engine.events.answers.cells import BAD, FINE, NONE, Cell, Range, Witness, not_known, words
from kubesched_lint.engine.events.answers.event_bounds import NO_NODE
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.verdicts.matrix import Row
from kubesched_lint.findings import Evidence, Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.linter.results.rule_results import RuleResult
from kubesched_lint.rulebook.library import Rulebook

EVENTS = ("deploy", "rollout")
"""The events whose proven bad ends are errors of ``lint``."""

_EVENTS_BEGIN = "events of its pods begin"


class Shortage(Struct, frozen=True):
    """Pods that never all run and that no row tells of: those of several workloads together, or of a CronJob."""

    message: str
    evidence: Evidence
    workloads: tuple[ObjectRef, ...]
    location: Location
    environments: tuple[str, ...] = ()
    """Where it holds, if not in all environments that were judged."""


def proofs_about_placement(manifests: ManifestSet, scenario: Scenario, options: Options) -> Sequence[RuleResult]:
    """Return what rules about placement prove in a scenario, whatever the user has configured about rules.

    A proof that rests on a premise, such as that no node comes, is a warning; each other one is an error.
    """
    rules = [
        rule for rule in Rulebook.shipped().select() if rule.about == "placement" and rule.severity is Severity.ERROR
    ]
    plain = replace(options, params={}, severities={}, overrides=())
    _, judged = lint(manifests, scenario.cluster, plain, rules, scenario=scenario)
    return [
        proof
        for proof in judged
        if proof.finding.severity >= Severity.WARNING
        and proof.finding.evidence.kind == "proof"
        and proof.finding.evidence.event in EVENTS
    ]


def _errors(proofs: Iterable[RuleResult]) -> Iterator[RuleResult]:
    return (proof for proof in proofs if proof.finding.severity is Severity.ERROR)


def shortages(proofs: Iterable[RuleResult], simulated: Sequence[Workload]) -> Iterator[Shortage]:
    """Yield the errors that count the pods of several workloads together, or those of a workload without a row."""
    with_rows = {workload.ref for workload in simulated}
    for error in _errors(proofs):
        counted = error.hazard.together or (error.finding.object,)
        if len(counted) > 1 or with_rows.isdisjoint(counted):
            finding = error.finding
            yield Shortage(finding.message, finding.evidence, counted, finding.location)


def with_proofs(
    rows: Iterable[Row],
    workloads: Sequence[Workload],
    proofs: Sequence[RuleResult],
    running: Mapping[int, Sequence[BoundPod]],
) -> Iterator[Row]:
    """Yield the rows; a cell that an error is about ends badly, proven, and what ends badly has the words of the rule.

    ``running``: number of a row → the pods that run already.
    """
    about = _by_cell(_errors(proofs))
    worded = {**_by_cell(proofs), **about}
    for row in rows:
        ref = workloads[row.number].ref
        hang = next((error for (of, _), error in about.items() if of == ref and error.hazard.after_binding), None)
        told = ((cell if hang is None else _hanging(cell, hang), about.get((ref, cell.event))) for cell in row.cells)
        stay = len(running.get(row.number, ()))
        cells = (cell if error is None else _proven(cell, error, stay) for cell, error in told)
        yield replace(row, cells=tuple(_in_words_of(cell, worded.get((ref, cell.event))) for cell in cells))


def _by_cell(proofs: Iterable[RuleResult]) -> Mapping[tuple[ObjectRef, str], RuleResult]:
    """Return (workload, event) → the first proof about it alone."""
    about: dict[tuple[ObjectRef, str], RuleResult] = {}
    for proof in proofs:
        if len(proof.hazard.together) <= 1:
            about.setdefault((proof.finding.object, proof.finding.evidence.event), proof)
    return about


def _in_words_of(cell: Cell, proof: RuleResult | None) -> Cell:
    """Return a cell that ends badly with the cause as a rule tells it, and with the line that the rule blames.

    What a search saw says only how many nodes a plugin rejects, or that no node fits: the rule says which condition of
    the pod no node meets. A proof that blames no line of the workload, but a profile of the scheduler or an object of
    the cluster, knows better.
    """
    if proof is None or not cell.ends_badly or cell.cause:
        return cell
    is_of_file = proof.hazard.source is None and (isinstance(cell.blamed, Workload) or not cell.proven)
    says_nothing = cell.why.partition(";")[0] == NO_NODE
    return replace(
        cell,
        cause=proof.finding.because,
        why=proof.finding.evidence.text if says_nothing else cell.why,
        blamed=proof.workload if is_of_file else cell.blamed,
        at=proof.hazard.at if is_of_file else cell.at,
        at_key=False if is_of_file else cell.at_key,
    )


def _hanging(cell: Cell, error: RuleResult) -> Cell:
    """Return what is known of a cell whose pods get nodes and some fail there, as an error says.

    No event makes more of them run than the error says; whether those that run are the ones that stay is not known.
    """
    supply = error.finding.evidence.supply
    if cell.verdict == NONE or supply is None or cell.wanted <= supply:
        return not_known(cell, ("which pods run: some get a node and fail there",)) if cell.ends_well else cell
    bound = Range(0, min(cell.bound.most, int(supply)), "bound")
    return replace(
        cell,
        verdict=BAD,
        bound=bound,
        proven=False,
        text=words(cell.event, cell.wanted, bound, stuck=cell.stuck, always_stuck=cell.always_stuck),
        why=error.finding.evidence.text,
        message=error.hazard.after_binding,
        says=_EVENTS_BEGIN,
        worst=cell.worst or _hung(error, bound),
        best=None,
        missing=(),
    )


def _proven(cell: Cell, error: RuleResult, running: int) -> Cell:
    """Return the cell with the proof of an error; what is proven already, or does not apply, stays.

    A rule counts pods of the newest template: those that run already may stay beside them, and a rollout keeps some.
    """
    evidence = error.finding.evidence
    if cell.verdict == NONE or (cell.proven and cell.verdict in (BAD, FINE)):
        return cell
    pending = error.hazard.values.get("pending")
    lacks = pending if isinstance(pending, int) else 1
    fit = max(cell.wanted - lacks, min(running, cell.wanted))
    stuck = cell.event == "rollout" or fit >= cell.wanted
    # What a search saw is of one scheduler, and does not hold where a fact is missing, as when pods of others may be
    # driven out; a count does.
    is_seen = cell.bound.by == "search" or (cell.missing and cell.bound.by != "bound")
    known = Range(0, cell.wanted, "bound") if is_seen else cell.bound
    most = known.most if stuck else min(known.most, fit)
    bound = Range(min(known.least, most), most, "bound")
    hang = error.hazard.after_binding
    return replace(
        cell,
        verdict=BAD,
        bound=bound,
        stuck=stuck,
        always_stuck=stuck,
        proven=True,
        text=words(cell.event, cell.wanted, bound, stuck=stuck, always_stuck=stuck),
        why=evidence.text,
        cause=error.finding.because,
        message=hang or cell.message,
        says=_EVENTS_BEGIN if hang else cell.says,
        blamed=error.workload,
        at=error.hazard.at if error.hazard.source is None else (),
        worst=_hung(error, bound) if hang and cell.worst is None else cell.worst,
        missing=(),
        assumes=tuple(dict.fromkeys((*cell.assumes, *evidence.assumes))),
    )


def _hung(error: RuleResult, bound: Range) -> Witness:
    """Return the end of pods that get nodes: no message of the scheduler tells of it."""
    return Witness(bound.most, False, ("its pods get nodes, and some hang there", error.finding.message))
