"""``simulate``: compute the matrix of events and workloads from a manifest set and a cluster."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from functools import partial
from operator import le

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.limits import (
    MOST_LARGE,
    MOST_ORDINARY,
    MOST_SKEWED,
    STEPS_EACH_OF_LARGE,
    STEPS_EACH_OF_ORDINARY,
)
from kubesched_lint.commands.simulate.choosing_nodes import label_key
from kubesched_lint.commands.simulate.cron_jobs import rows_of_runs
from kubesched_lint.commands.simulate.hypothetical import hypotheses, remarks
from kubesched_lint.commands.simulate.proven_by_rules import (
    proofs_about_placement,
    shortages,
    with_proofs,
)
from kubesched_lint.commands.simulate.scaling import scale_events
from kubesched_lint.commands.simulate.short_set import short_sets
from kubesched_lint.commands.simulate.simulation_options import SimulationOptions
from kubesched_lint.commands.simulate.simulation_report import SimulationReport, WorkloadSkew, merged
from kubesched_lint.commands.why.naming import NamingError, find
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.limits import MOST_STEPS
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.releases import not_modelled
from kubesched_lint.engine.base.text import first_few
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import Cell, cut_short, refused
from kubesched_lint.engine.events.search.picture import Picture, picture
from kubesched_lint.engine.events.start.shapes import shape
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet, zones
from kubesched_lint.engine.events.start.sizes import scaled_to, size_after
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.growth.growth import growth_plan
from kubesched_lint.engine.placing.scenarios import (
    amid_rollout,
    without_suspended,
    without_transient,
)
from kubesched_lint.engine.runs.courses import Effort, course_of
from kubesched_lint.engine.runs.skew import Skew, skews
from kubesched_lint.engine.scenario.premises.mutated import mutation_notes
from kubesched_lint.engine.scenario.premises.premises import assumed_account
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.verdicts.at_once import at_once
from kubesched_lint.engine.verdicts.matrix import EVENTS, Matrix, Row
from kubesched_lint.engine.verdicts.table import WHOLE, Table
from kubesched_lint.engine.verdicts.what_if import MEANWHILE
from kubesched_lint.explaining.nodes.pool_notes import pool_notes
from kubesched_lint.explaining.objects.refused import Refusal, accepted, refused_objects, sentence, what_is_refused
from kubesched_lint.explaining.pending import agreement
from kubesched_lint.explaining.spreading.grouping import grouping_key
from kubesched_lint.linter.environments.environments import environments_of
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.linter.results.rule_results import RuleResult


class _Asked(Struct, frozen=True):
    """What is asked about one set that defines each object once."""

    manifests: ManifestSet
    cluster: Cluster
    options: Options
    events: Sequence[str]
    effort: Effort
    pictured: str
    only: Collection[ObjectRef] | None
    wishes: SimulationOptions
    chosen: Sequence[str] = ()
    """Notes about the definitions that were chosen."""


def simulate(
    manifests: ManifestSet,
    cluster: Cluster,
    options: Options,
    events: Sequence[str] = EVENTS,
    effort: Effort | None = None,
    pictured: str = "",
    only: Collection[ObjectRef] | None = None,
    wishes: SimulationOptions | None = None,
    written: Scenario | None = None,
    of_environments: int = 1,
) -> SimulationReport:
    """Return the matrix, or its rows for the workloads in ``only``, in each environment of the manifests.

    ``written``: the manifests, each object defined once, on the cluster as below, if the caller has that scenario
    already; it is one ``of_environments``, which share the limit of steps. Transient states of nodes (cordons, taints
    that controllers remove) count as over, as in ``lint``. Raises ValueError for an unknown event, workload,
    node or label.
    """
    asked = _Asked(
        manifests, cluster, options, events, effort or Effort(), pictured, only, wishes or SimulationOptions()
    )
    if written is not None:
        return _in_scenario(asked, written, of_environments)
    environments = environments_of(manifests.inventory, options.together, options.environments)
    if pictured and len(environments.each) > 1:
        raise ValueError(f"--picture shows one environment: choose one with --env ({', '.join(environments.names)})")
    parts = []
    for turn, environment in enumerate(environments.each):
        rows = (
            only
            if len(environments.each) == 1 and not environment.name
            else environment.subjects.intersection(only or environment.subjects)
        )
        scenario = Scenario(environment.manifests, without_transient(cluster), manifests.premises(options))
        with work.within(work.share(0, len(environments.each) - turn)):
            try:
                part = _in_scenario(
                    replace(asked, only=rows, chosen=environment.notes), scenario, len(environments.each)
                )
            except ValueError as error:
                raise ValueError(
                    f"in {environment.name}: {error}" if len(environments.each) > 1 else str(error)
                ) from None
        parts.append((environment.name, part))
    about_apart = environments.notes[:1]  # the matrix names the environments
    return merged(parts, environments.notes, background=about_apart)


def _in_scenario(asked: _Asked, written: Scenario, environments: int = 1) -> SimulationReport:
    scenario, nodes = accepted(written), len(asked.cluster.inventory.nodes)
    steps = _steps(asked.effort, written.manifests, nodes, len(scenario.pools))
    least = min(steps, MOST_STEPS // 20)  # most of their workloads are the same: each environment has a part
    limit = max(steps / environments, least) * WHOLE * (1 + len(asked.wishes.suppose))
    try:
        with work.within(limit):
            report = _simulated(asked, scenario)
    except work.OutOfWorkError as reason:
        report = _cut_short(asked, scenario, f"{reason}: nothing was simulated")
    except ValueError as error:  # such as for the name of a workload that is not there, because it is refused
        raise ValueError("; ".join((str(error), *what_is_refused(written)))) from None
    return with_refused(report, written, asked.only) if scenario is not written else report


def with_refused(report: SimulationReport, written: Scenario, only: Collection[ObjectRef] | None) -> SimulationReport:
    """Return the report with the rows of the workloads that the API server refuses, where they were written."""
    why, there = refused_objects(written), len(report.workloads)
    left = [w for w in written.order.workloads if w.source in why]
    rows = [
        Row(there + i, tuple(_refused(event, workload, why[workload.source]) for event in report.events))
        for i, workload in enumerate(left)
        if only is None or workload.ref in only
    ]
    workloads = (*report.workloads, *left)
    told = {workloads[row.number].source for row in rows}
    places = {workload.ref: place for place, workload in enumerate(written.order.workloads)}
    ordered = sorted((*report.rows, *rows), key=lambda row: places.get(workloads[row.number].ref, -1))
    return replace(report, workloads=workloads, rows=tuple(ordered), refused=what_is_refused(written, told))


def _refused(event: str, workload: Workload, refusals: Sequence[Refusal]) -> Cell:
    first, *others = refusals
    says = f"{first.answer.code}: {first.text}"
    says = f"{says}; {sentence(others)}" if others else says
    return refused(event, workload, first.cause.path, says, at_key=first.is_at_key)


def of_named(report: SimulationReport, names: Sequence[str]) -> SimulationReport:
    """Return the report with the rows of the named workloads only. Raises ValueError for a name that is not there."""
    once = {workload.ref: workload for workload in report.workloads}
    everything = Inventory(workloads=tuple(once.values()))
    try:
        wanted = {each.ref for name in names if (each := find(name, everything, None).workload) is not None}
    except NamingError as error:
        raise NamingError(f"--explain: {error}") from None
    return replace(report, rows=tuple(row for row in report.rows if report.workloads[row.number].ref in wanted))


def _steps(effort: Effort, manifests: Inventory, nodes: int, pools: int) -> int:
    """Return the limit of steps for all cells (see ``work``); a larger ``effort`` raises it.

    An ordinary set has few workloads, whose pods have few parts, and few nodes. There, traces tell of each cell that
    counting leaves open; they are longer if the average workload has more than four pods. In a large one, counting
    needs some steps for each workload. In any other set a trace is so long that more steps would allow only a few more
    traces and cost many seconds.
    """
    number = len(manifests.workloads)
    most, most_nodes, most_parts = MOST_ORDINARY
    has_few_parts = sum(_parts(w.pod) for w in manifests.workloads) <= most_parts * number
    steps = MOST_STEPS // 3
    if has_few_parts and number <= most and nodes <= most_nodes:
        pods = sum(nodes if w.kind == "DaemonSet" else w.replicas for w in manifests.workloads)
        steps = min(MOST_STEPS, max(MOST_STEPS // 10, STEPS_EACH_OF_ORDINARY * max(number, pods // 4)))
    elif has_few_parts and all(map(le, (number, nodes, pools), MOST_LARGE)):
        steps = min(MOST_STEPS, steps + STEPS_EACH_OF_LARGE * number)
    return steps * max(1, effort.states // Effort().states)


def _parts(pod: Pod) -> int:
    """Return the number of parts that the scheduler compares with nodes, pods and volumes."""
    terms = (pod.required_affinity, pod.required_anti_affinity, pod.preferred_affinity, pod.preferred_anti_affinity)
    node_terms = (pod.required_node_terms or (), pod.preferred_node_terms)
    own = (pod.spread, pod.tolerations, pod.volumes, pod.containers, pod.init_containers)
    return sum(map(len, (*terms, *node_terms, *own)))


def _cut_short(asked: _Asked, scenario: Scenario, reason: str) -> SimulationReport:
    """Return a report in which every event is unknown."""
    workloads = tuple(w for w in scenario.order.workloads if w.kind != "CronJob")
    rows = [
        Row(i, tuple(cut_short(event, w.replicas, reason) for event in asked.events))
        for i, w in enumerate(workloads)
        if asked.only is None or w.ref in asked.only
    ]
    errors = asked.manifests.errors
    return SimulationReport(
        workloads, tuple(asked.events), tuple(rows), pictured=asked.pictured, errors=errors, notes=(reason,)
    )


def _simulated(asked: _Asked, scenario: Scenario) -> SimulationReport:
    manifests, cluster, effort, wishes = asked.manifests, asked.cluster, asked.effort, asked.wishes
    pictured, only = asked.pictured, asked.only
    base = Table(scenario, cluster, effort, wishes.applied, only)
    simulated = base.simulated
    supposed = tuple(hypothesis.event for hypothesis in hypotheses(wishes.suppose, simulated))
    own = (*scale_events(simulated.scaled), *supposed)
    check_events((*asked.events, *([pictured] if pictured else [])), (*EVENTS, *own))
    events = tuple(event for event in dict.fromkeys((*asked.events, *own)) if event not in supposed)
    wishes.check(simulated)
    rows = base.weighed(events)
    none: Sequence[RuleResult] = ()
    proofs = work.tried(lambda: _proofs(manifests, scenario, asked.options, events), none)
    rows = tuple(with_proofs(rows, simulated.workloads, proofs, simulated.running))
    runs = list(rows_of_runs(scenario, cluster, effort, wishes.applied, (*events, *supposed), only))
    workloads = (*simulated.workloads, *(cron_job for cron_job, _ in runs))
    of_runs = [replace(row, number=number) for number, (_, row) in enumerate(runs, len(simulated.workloads))]
    columns = {event: Table(scenario, cluster, effort, partial(wishes.supposing, event), only) for event in supposed}
    matrix = columns.get(pictured, base).matrix
    drawn = work.tried(lambda: _pictures(matrix, pictured, wishes.group_by), None) if pictured else (None, None)
    before, after = drawn or (None, None)
    unmissing = [i for i in base.numbers if i not in base.missing]
    rows = tuple(replace(row, at_once=tuple(at_once(simulated.member(row.number)))) for row in base.scored(rows))
    for event, column in columns.items():
        rows = tuple(map(_beside, rows, column.scored(column.weighed([event]))))
    # The cells come first: they are the same whether or not somebody asks for skews.
    skewed = work.tried(lambda: tuple(_skews(simulated, effort, unmissing)), None, 4 / 3) if wishes.skews else ()
    left_out = [part for part, result in (("the picture", drawn), ("the skews", skewed)) if result is None]
    return SimulationReport(
        workloads,
        (*events, *supposed),
        (*rows, *with_proofs(of_runs, workloads, proofs, {})),
        tuple(shortages(proofs, workloads)),
        work.tried(lambda: tuple(short_sets(scenario, frozenset(events))), ()),
        skewed or (),
        before,
        after,
        pictured,
        manifests.errors,
        (
            *asked.chosen,
            *manifests.without_pods,
            *_notes(asked, simulated, scenario),
            *remarks(wishes.suppose, simulated),
            *_pool_notes(without_suspended(scenario), rows, pictured),
            *(f"left out: {part}, because {work.WHY}" for part in left_out),
        ),
        tuple(_background(simulated, scenario)),
    )


def _proofs(
    manifests: ManifestSet, scenario: Scenario, options: Options, events: Sequence[str]
) -> Sequence[RuleResult]:
    """Return what rules prove about the events that are asked for, about any workload of the set."""
    proofs = proofs_about_placement(replace(manifests, inventory=scenario.manifests), scenario, options)
    return [proof for proof in proofs if proof.finding.evidence.event in events]


def _beside(row: Row, other: Row) -> Row:
    """Return the row with the cells of another one for the same workload."""
    return replace(row, cells=(*row.cells, *other.cells))


def check_events(events: Sequence[str], known: Sequence[str]) -> None:
    """Raise ValueError for an event that nobody knows."""
    unknown = [event for event in events if event not in known]
    if unknown:
        hint = "; --scale web=15 adds scale-to-15" if scaled_to(unknown[0]) is not None else ""
        raise ValueError(f"unknown event {unknown[0]!r}: one of {', '.join(known)}{hint}")


def _pool_notes(scenario: Scenario, rows: Sequence[Row], pictured: str) -> Iterator[str]:
    if scenario.pools:
        yield from pool_notes(scenario)
        if growth_plan(scenario).nodes:
            names = [node.name for node in growth_plan(scenario).nodes]
            yield f"events are simulated with the added nodes: {_first(names)}"
        if any(cell.event == pictured and MEANWHILE in cell.assumes for row in rows for cell in row.cells):
            yield f"pods that wait after {pictured} in the picture fit on nodes that pools add (not drawn)"


def _skews(simulated: SimulatedSet, effort: Effort, numbers: Sequence[int]) -> Iterator[WorkloadSkew]:
    if len(simulated.nodes) > MOST_SKEWED:
        return
    kept = {simulated.workloads[number].ref for number in numbers}
    known: dict[Hashable, Sequence[Skew]] = {}
    for number, workload in enumerate(simulated.created.workloads):
        if workload.ref in kept:
            alike = shape(simulated.created.member(number)) or number  # no other workload is in these traces
            if alike not in known:
                known[alike] = tuple(skews(simulated.created.member(number), seed=effort.seed))
            yield from (WorkloadSkew(workload, skew) for skew in known[alike])


def _without_zones(events: Sequence[str], simulated: SimulatedSet) -> Iterator[str]:
    """Say why no zone can be lost, and how to lose nodes by another label."""
    if "zone-loss" in events and simulated.nodes and not zones(simulated):
        key = grouping_key(simulated.pods, simulated.index)
        value = next(iter(simulated.index.domains(key)), "")
        instead = f"; --lose {key}={value} loses the nodes with this label" if value else ""
        yield f"no zones: no node has the label {ZONE}{instead}"


def _first(names: Sequence[str]) -> str:
    return first_few(names)


def _pictures(matrix: Matrix, event: str, key: str) -> tuple[Picture | None, Picture | None]:
    """Return the cluster before and after an event in one random trace, by a topology key; empty: one that is used."""
    index = matrix.whole.index
    key = label_key(key, index) if key else grouping_key(matrix.whole.pods, index)
    timeline, after = course_of(matrix.seeded, event)
    if timeline is None or after is None:
        return None, None
    places = {w.key: i for i, w in enumerate(matrix.whole.workloads)}
    numbers = {number: places[key] for key, number in after.numbers.items() if key in places}
    return picture(timeline, timeline.states[0], numbers, key), picture(after, after.states[0], numbers, key)


def _background(simulated: SimulatedSet, scenario: Scenario) -> Iterator[str]:
    yield from scenario.node_groups.notes
    accounts = {account: None for w in simulated.workloads if (account := assumed_account(scenario, w))}
    if accounts:
        yield f"assumed to exist: ServiceAccount {_first(list(accounts))}"


def _notes(asked: _Asked, simulated: SimulatedSet, scenario: Scenario) -> Iterator[str]:
    cluster = asked.cluster
    yield from not_modelled(asked.options.kubernetes_version, cluster.server_version)
    yield from cluster.notes
    if cluster.has_messages:
        yield from agreement(cluster, scenario.premises)
    yield from _background(simulated, scenario)
    left_out = [str(w) for w in scenario.manifests.workloads if w.kind == "CronJob" and w.suspended]
    if left_out:
        yield f"not simulated (suspended): {_first(left_out)}"
    amid = [str(w) for w in amid_rollout(scenario)]
    if amid:
        yield f"not simulated (paused amid a rollout): {_first(amid)}; their pods stay where they are"
    for number, wanted in simulated.scaled.items():
        scaler = simulated.scalers.get(number)
        if scaler is not None:
            bounds = f"{size_after(simulated.member(number), 'scale-down')} to {scaler.max_replicas}"
            counts = " and ".join(map(str, wanted))
            yield f"{simulated.workloads[number]} has an autoscaler ({bounds}), which may not leave it at {counts}"
    kept = [str(w) for w in simulated.workloads if w.suspended and w.replicas]
    if kept:
        yield f"paused: simulated with the running template, not with that of the manifests: {_first(kept)}"
    yield from mutation_notes(scenario)
    yield from _without_zones(asked.events, simulated)
    if not cluster.resources_known:
        yield "some nodes declare no resources: every request fits there"
