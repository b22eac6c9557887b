"""Would an answer still hold if …? The premises of findings and of cells, and the scenarios in which to ask again.

An answer that every other scenario confirms continues as it is there. Otherwise it is no proof any more, and names the
premise. ``OfCells`` and ``linter.premises.what_if`` say what that is for a cell and for a finding;
``engine.placing.scenarios`` has the scenarios and the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Manifest, ObjectRef
from kubesched_lint.engine.base.text import SHOWN, first_few
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.pods.mutations import Mutation
from kubesched_lint.engine.controllers.statefulset import claims_of
from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS, FINE, NONE, UNKNOWN, Cell, Range, not_known, words
from kubesched_lint.engine.events.answers.event_bounds import MORE_PODS
from kubesched_lint.engine.events.start.groups import components, group_of
from kubesched_lint.engine.events.start.quotas import quota_short
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet
from kubesched_lint.engine.events.start.sizes import scaled_to
from kubesched_lint.engine.model.policy import ResourceQuota
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.reachability import blocked_affinities
from kubesched_lint.engine.placing.scenarios import (
    WhatIf,
    fresh_premise,
    with_known_growth,
    with_spares,
    without_expected,
    without_others,
)
from kubesched_lint.engine.scenario.devices.devices import devices_unknown, needs_devices
from kubesched_lint.engine.scenario.devices.over_time import following
from kubesched_lint.engine.scenario.gangs import gangs_of
from kubesched_lint.engine.scenario.others.neighbours import answers_itself
from kubesched_lint.engine.scenario.premises.device_premises import pod_premises
from kubesched_lint.engine.scenario.premises.premises import defined_elsewhere, node_premise, spread_alone
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scenario.storage.claim_names import claim_named
from kubesched_lint.engine.scenario.storage.claims import bound_volume, waits_for_claim
from kubesched_lint.engine.scheduler.framework import NO_NODES, with_enforced_constraints
from kubesched_lint.engine.verdicts.gang_events import gang_lacks
from kubesched_lint.engine.verdicts.hypothesis_lacks import lacks_of_hypothesis
from kubesched_lint.engine.verdicts.matrix import Matrix, Row
from kubesched_lint.engine.verdicts.missing_facts import Lack, emptiness, fate_of_group, fits_nowhere, lacks_of

T = TypeVar("T")
V = TypeVar("V")
MEANWHILE = "the pools add nodes while this happens"
_ANY_NODES = "which nodes its pods may use is not known"
_PLANNED = "the pools add no more nodes than planned"
UNTRIED = "the pools add no more nodes than planned: they could add too many to try"


class Fact(Generic[V]):
    """What may be said of a workload. Thousands of cells ask it of all that a scenario has, which answers once."""

    def __init__(self, of: Callable[[Member], V]) -> None:
        """``of`` returns something false for a workload of which nothing is said."""
        self._of = of
        self._of_created = once_per_scenario(lambda scenario: self._first(map(scenario.member, scenario.as_created)))

    def first_of(self, counted: Iterable[Member] | Scenario) -> V | None:
        """Return what is said of the first of some workloads, or of those that a scenario creates; None if of none."""
        return self._of_created(counted) if isinstance(counted, Scenario) else self._first(counted)

    def _first(self, members: Iterable[Member]) -> V | None:
        return next(filter(None, map(self._of, members)), None)


class Answers(Struct, Generic[T], frozen=True):
    """One kind of answer that may rest on premises."""

    lowered: Callable[[T, str], T]
    """Return the answer without proof, with a premise."""
    confirmed: Callable[[T, Sequence[T | None]], T | None]
    """Return what is left of an answer that all other scenarios give as well; None if one does not."""
    counted: Callable[[T, Scenario], Iterable[Member] | Scenario]
    """Return the workloads whose pods a proof counts; a scenario if it counts those of all that it creates."""

    def unless(
        self,
        name: str,
        concerns: Callable[[T, Scenario], bool],
        premise: Callable[[T, Scenario], str],
        scenarios: Callable[[T, Scenario], Sequence[Scenario]] = lambda answer, scenario: (),
    ) -> WhatIf[T]:
        """Return a row: an answer that it concerns needs a premise, unless every other scenario confirms it.

        Without other scenarios nothing confirms it.
        """

        def judge(answer: T, scenario: Scenario, again: Sequence[T | None]) -> T:
            confirmed = self.confirmed(answer, again) if again else None
            return self.lowered(answer, premise(answer, scenario)) if confirmed is None else confirmed

        return WhatIf(name, concerns, judge, scenarios)

    def unless_others_go(self, rests_on_pods: Callable[[T, Scenario], bool]) -> WhatIf[T]:
        """The row for running pods of others, which may have changed since an old file was written.

        The scenario without them decides only where they can do nothing but hinder: near others that run now, pods may
        find more room beside others elsewhere.
        """

        def is_stale(answer: T, scenario: Scenario) -> bool:
            return scenario.cluster is not None and bool(scenario.cluster.stale) and rests_on_pods(answer, scenario)

        def premise(answer: T, scenario: Scenario) -> str:
            return "" if scenario.cluster is None else fresh_premise(scenario.cluster)

        def without(answer: T, scenario: Scenario) -> Sequence[Scenario]:
            return () if _DRAWN_TO_OTHERS.first_of(self.counted(answer, scenario)) else (without_others(scenario),)

        return self.unless("other people's pods had gone", is_stale, premise, without)

    def unless_new_pods_are_as_written(self, is_proof: Callable[[T, Scenario], bool]) -> WhatIf[T]:
        """The row for what webhooks are expected to change in the next pods, though it is not certain.

        Containers that the pods of a workload itself have are no premise: its next pods have them, too.
        """

        def expected(answer: T, scenario: Scenario) -> Mutation | None:
            return _EXPECTED.first_of(self.counted(answer, scenario)) if is_proof(answer, scenario) else None

        def premise(answer: T, scenario: Scenario) -> str:
            mutation = expected(answer, scenario)
            assert mutation is not None
            whose = f"those of {first_few(mutation.others)}" if mutation.others else "those that run"
            return f"its pods get {first_few(mutation.doubtful)}, as {whose} have"

        return self.unless(
            "webhooks left new pods alone",
            lambda answer, scenario: expected(answer, scenario) is not None,
            premise,
            lambda answer, scenario: (without_expected(scenario),),
        )

    def unless_unread_pods_count(self, rests_on_pods: Callable[[T, Scenario], bool]) -> WhatIf[T]:
        """The row for pods of what was not read, which a hard spread may count; no scenario has every such pod."""

        def premise(answer: T, scenario: Scenario) -> str:
            return _SPREAD_ALONE.first_of(self.counted(answer, scenario)) or ""

        def concerns(answer: T, scenario: Scenario) -> bool:
            if not (rests_on_pods(answer, scenario) and premise(answer, scenario)):
                return False
            return bool(_FITS_SOMEWHERE.first_of(self.counted(answer, scenario)))

        return self.unless("pods of what was not read counted", concerns, premise)


# --- cells ------------------------------------------------------------------------------------------------------------


def of_cluster(cluster: Cluster, member: Member) -> tuple[WhatIf[Cell], ...]:
    """Return the tests for facts of the cluster, given with its transient states of today.

    ``member`` is the workload in the scenario with all nodes that may come.
    """
    return (*_of_its_node(member), *_of_running_pods(member), *_of_objects(member), *_of_more_nodes(cluster, member))


def _of_cells(it: Member) -> Answers[Cell]:
    def confirmed(cell: Cell, again: Sequence[Cell | None]) -> Cell | None:
        proofs = [other for other in again if other is not None and _is_proof(other)]
        return _proven_by(proofs[0], cell) if proofs and len(proofs) == len(again) else None

    def counted(cell: Cell, scenario: Scenario) -> Iterable[Member] | Scenario:
        """Unless counting alone proves the cell, what is near other workloads of the set decides, too."""
        return (it,) if cell.is_counted else it.scenario

    return Answers(lambda cell, premise: _doubted(_assuming(cell, premise)), confirmed, counted)


def _proven_by(proof: Cell, cell: Cell) -> Cell:
    """Return the proof of another scenario about a cell, in numbers that hold in both; what happens is the cell's."""
    bound = Range(min(cell.bound.least, proof.bound.least), max(cell.bound.most, proof.bound.most), proof.bound.by)
    proof = replace(proof, message=cell.message, says=cell.says, worst=cell.worst, best=cell.best)
    if proof.why == cell.why:
        proof = replace(proof, blamed=cell.blamed, at=cell.at, at_key=cell.at_key)
    if bound == proof.bound or proof.stuck:
        return replace(proof, bound=bound)
    text = words(proof.event, proof.wanted, bound, stuck=False, always_stuck=False, ready=proof.ready)
    return replace(proof, bound=bound, text=text)


def _is_proof(cell: Cell) -> bool:
    return cell.verdict == BAD and cell.proven


def _of_its_node(it: Member) -> Iterator[WhatIf[Cell]]:
    absent = it.pod.node_name if it.pod.node_name and it.pod.node_name not in it.scenario.index.positions else ""
    about_devices = tuple(pod_premises(it))

    def rests_on_devices(cell: Cell, scenario: Scenario) -> bool:
        return bool(about_devices) and cell.verdict != NONE

    yield _of_cells(it).unless(
        "the node that its pods name came",
        lambda cell, scenario: bool(absent) and cell.verdict == BAD,
        lambda cell, scenario: f"no node {absent} comes: the pods name it themselves, no scheduler is asked",
    )
    yield WhatIf("devices were others", rests_on_devices, lambda cell, scenario, again: _assuming(cell, *about_devices))


def _of_running_pods(it: Member) -> Iterator[WhatIf[Cell]]:
    yield _of_cells(it).unless_others_go(lambda cell, scenario: _is_proof(cell) and not _lacks_object(it))
    yield _of_cells(it).unless_new_pods_are_as_written(lambda cell, scenario: _is_proof(cell))
    yield _of_cells(it).unless_unread_pods_count(
        lambda cell, scenario: _is_proof(cell) and MORE_PODS in cell.rests_on and not _is_by_quota(cell)
    )


def _of_objects(it: Member) -> Iterator[WhatIf[Cell]]:
    """Yield the tests for objects that nobody has read, and for those of the set that may come after the pods.

    A new quota refuses nothing until its controller has written ``status.hard`` (resourcequota's access to its status),
    and the pods may be made before that. Then an event that makes none anew leaves them all: a loss of a node that has
    none of them.
    """
    not_read, unless = _unless_defined(it), _of_cells(it).unless
    refusal = it.scenario.admission.decision(it.workload).refusal
    refusing = refusal.by if refusal is not None else None

    def is_bad_deploy(cell: Cell) -> bool:
        return cell.event == "deploy" and cell.verdict == BAD

    def keeps_what_was_made(cell: Cell) -> bool:
        makes_more = cell.event in ("rollout", "hpa-max") or scaled_to(cell.event) is not None
        return cell.verdict == BAD and not makes_more

    def rests_on_new_quota(cell: Cell, scenario: Scenario) -> bool:
        quota = cell.blamed
        if not keeps_what_was_made(cell) or not isinstance(quota, ResourceQuota):
            return False
        return is_new(quota, scenario)

    yield unless(
        "what was not read defined what it needs",
        lambda cell, scenario: bool(not_read) and _is_proof(cell),
        lambda cell, scenario: not_read,
    )
    yield unless(
        "its pods ran already",
        lambda cell, scenario: is_bad_deploy(cell) and cell.proven and _has_run(it),
        lambda cell, scenario: f"the pods of {it.workload} do not run now, although they have volumes",
    )
    yield unless(
        "its quota counted later",
        rests_on_new_quota,
        lambda cell, scenario: in_force(f"quota {getattr(cell.blamed, 'name', '')}"),
    )
    yield unless(
        "what refuses it came later",
        lambda cell, scenario: keeps_what_was_made(cell) and isinstance(getattr(refusing, "source", None), Manifest),
        lambda cell, scenario: in_force(f"{type(refusing).__name__} {refusing.name if refusing else ''}"),
    )


def _of_more_nodes(cluster: Cluster, member: Member) -> Iterator[WhatIf[Cell]]:
    over = f"today's transient states are over: {first_few(list(map(str, cluster.transient_states)))}"

    def has_transient(cell: Cell, scenario: Scenario) -> bool:
        lasts = member.scenario.cluster is not None and member.scenario.cluster.transient_states
        return bool(cluster.transient_states) and not lasts and cell.verdict != NONE

    def is_never_helped(cell: Cell, scenario: Scenario) -> bool:
        return (bool(scenario.pools) or scenario.is_elastic) and _runs_nowhere(cell, member)

    def may_be_helped(cell: Cell, scenario: Scenario) -> bool:
        return bool(scenario.pools) and nodes_may_help(cell)

    def may_get_nodes(cell: Cell, scenario: Scenario) -> bool:
        return cell.verdict == BAD and scenario.is_elastic and not scenario.pools and nodes_may_help(cell)

    def nodes_may_help(cell: Cell) -> bool:
        return not (
            _runs_nowhere(cell, member) or _is_by_quota(cell) or (cell.verdict == BAD and _lacks_object(member))
        )

    def on_any_number(cell: Cell, scenario: Scenario, again: object) -> Cell:
        return _assuming(cell, node_premise(member.scenario))

    yield WhatIf("any number of nodes came", is_never_helped, on_any_number)
    yield WhatIf("the pools added nodes meanwhile", may_be_helped, _with_more, _with_spares)
    yield WhatIf("today's transient states lasted", has_transient, lambda cell, scenario, again: _assuming(cell, over))
    yield WhatIf("an autoscaler added a node", may_get_nodes, _unless_nodes_come, _with_groups)


def of_unknown_nodes(number: int, missing: Mapping[int, str], named: Sequence[str]) -> tuple[WhatIf[Cell], ...]:
    """Return the tests for a workload if the possible nodes of some workloads are unknown.

    ``missing``: number of such a workload → the missing fact; ``named`` are the names of these workloads.
    """
    if not missing:
        return ()
    if number in missing:
        fact = (missing[number],)
        known = WhatIf(
            "its nodes were known", _applies, lambda cell, scenario, again: not_known(cell, fact, _ANY_NODES)
        )
        return (known,)
    others = f"pods on unknown nodes take no room here: {first_few(named)}"
    doubt = WhatIf("the others took room", _applies, lambda cell, scenario, again: _doubted(_assuming(cell, others)))
    return (doubt,)


def _unless_defined(it: Member) -> str:
    """Return the premise that nothing unread defines an object that the pods need and nobody has; else empty."""
    premise = defined_elsewhere(it.scenario)
    if not premise:
        return ""
    refusal = it.scenario.admission.decision(it.workload).refusal
    claims = (v.claim for v in it.pod.volumes if v.claim)
    needs = it.pod.required_affinity or refusal is not None
    return premise if needs or any(claim_named(it.scenario, it.workload.namespace, c) is None for c in claims) else ""


def _has_run(it: Member) -> bool:
    """Whether a StatefulSet's claims have volumes, so that its pods ran once, and nobody says if they do now."""
    if it.scenario.knows_running_pods or not it.workload.claim_templates:
        return False
    claims = (claim for ordinal in range(it.replicas) for claim in claims_of(it.workload, ordinal))
    return any(bound_volume(it.scenario, it.workload.namespace, claim.name) is not None for claim in claims)


def _is_drawn_to_others(it: Member) -> bool:
    """Whether its affinity or its spread counts running pods that are no workload's of the set."""
    selectors = [c.selector for c in it.pod.spread if c.is_hard and c.selector is not None]
    pods_nearby = (bound.pod for bound in it.scenario.other_pods if bound.namespace == it.workload.namespace)
    if selectors and any(selector.matches(pod.labels) for pod in pods_nearby for selector in selectors):
        return True
    namespaces, own = it.scenario.namespaces, it.workload.namespace
    return any(
        namespaces.selects(term, own, bound.pod, unknown=True)
        for term in it.pod.required_affinity
        for bound in it.scenario.other_pods
    )


def _expected(it: Member) -> Mutation | None:
    """Return what webhooks change in the pods of a workload, if something of it is not certain."""
    mutation = it.scenario.mutation_of(it.workload)
    return mutation if mutation is not None and mutation.doubtful else None


_DRAWN_TO_OTHERS = Fact(_is_drawn_to_others)
_EXPECTED = Fact(_expected)
_FITS_SOMEWHERE = Fact(lambda it: not fits_nowhere(it))
_SPREAD_ALONE = Fact(spread_alone)


def _applies(cell: Cell, scenario: Scenario) -> bool:
    return cell.verdict != NONE


def _assuming(cell: Cell, *premises: str) -> Cell:
    return replace(cell, assumes=(*cell.assumes, *premises))


def _doubted(cell: Cell) -> Cell:
    return replace(cell, proven=False)


def _is_by_quota(cell: Cell) -> bool:
    """Whether a quota alone proves the bad end: no further node helps pods that are never created."""
    return cell.verdict == BAD and isinstance(cell.blamed, ResourceQuota)


def _lacks_object(it: Member) -> bool:
    """Whether no pod can be created or bound, on any node: the API server refuses it, or nobody has its claim."""
    is_refused = it.scenario.admission.decision(it.workload).refusal is not None
    return is_refused or (not it.running_pods and waits_for_claim(it))


def _runs_nowhere(cell: Cell, member: Member) -> bool:
    """Return whether the deploy is proven to bind no new pod, on today's nodes and on any that may come."""
    if cell.event != "deploy" or cell.verdict != BAD or not cell.proven:
        return False
    if member.workload.kind == "DaemonSet" or member.pod.node_name or member.scenario.is_elastic:
        return False
    return not member.usable


def _with_groups(cell: Cell, scenario: Scenario) -> Sequence[Scenario]:
    """The scenario with more nodes of every node group, if there are no other groups.

    Only a proven deploy is asked again: on so many nodes every other event takes seconds.
    """
    if cell.event != "deploy" or not cell.proven:
        return ()
    grown = with_known_growth(scenario)
    spare = None if grown is scenario else with_spares(grown)
    return () if spare is None else (spare,)


def _unless_nodes_come(cell: Cell, scenario: Scenario, again: Sequence[Cell | None]) -> Cell:
    cluster = scenario.cluster
    assert cluster is not None
    grown = next(iter(again), None)
    if grown is not None and grown.proven and grown.text == cell.text:
        return _assuming(cell, node_premise(with_known_growth(scenario)))
    return _doubted(_assuming(cell, cluster.elastic_premise))


def _with_spares(cell: Cell, scenario: Scenario) -> Sequence[Scenario]:
    """Return the scenario with all nodes that pools could add during an event, for a cell that ends badly."""
    spare = None if cell.is_harmless else with_spares(scenario)
    return () if spare is None else (spare,)


def _with_more(cell: Cell, scenario: Scenario, again: Sequence[Cell | None]) -> Cell:
    more = next(iter(again), None)
    if more is None and cell.verdict == BAD:
        return _doubted(_assuming(cell, UNTRIED))
    return _helped(cell, cell if more is None else _of_the_pods_of(cell, more))


def _of_the_pods_of(cell: Cell, more: Cell) -> Cell:
    """Return ``more`` in numbers of the pods that ``cell`` wants: a DaemonSet wants one on each further node, too."""
    if more.wanted == cell.wanted or more.verdict == NONE:
        return more
    least = max(cell.wanted - (more.wanted - more.bound.least), 0)
    bound = Range(least, min(more.bound.most, cell.wanted), more.bound.by)
    is_open = more.verdict == BAD and not more.stuck and bound.most == cell.wanted
    verdict = DEPENDS if is_open else more.verdict
    said, says = (
        words(more.event, wanted, pods, stuck=more.stuck, always_stuck=more.always_stuck)
        for wanted, pods in ((more.wanted, more.bound), (cell.wanted, bound))
    )
    text = says + more.text.removeprefix(said) if more.text.startswith(said) else more.text
    return replace(more, wanted=cell.wanted, bound=bound, verdict=verdict, text=text, ready=None)


def _helped(cell: Cell, more: Cell) -> Cell:
    """Return the cell without proof, because nodes come and go; ``more`` is the cell with all possible nodes."""
    if cell.is_harmless:
        return _doubted(cell)
    if more.ends_well:
        return _doubted(_assuming(more, MEANWHILE))
    if cell.verdict == BAD and more.verdict != BAD:
        return _perhaps_helped(cell, more)
    if more.verdict == BAD and more.bound.most > cell.bound.most and cell.event != "deploy":  # the plan is for deploy
        return _doubted(_assuming(more, MEANWHILE))
    if cell.message == NO_NODES and more.text == cell.text:  # only the nodes that may come show why
        cell = replace(cell, message=more.message, blamed=more.blamed, at=more.at, at_key=more.at_key)
    return _doubted(_assuming(cell, _PLANNED))


def _perhaps_helped(cell: Cell, more: Cell) -> Cell:
    """Return an unknown cell: it ends badly on the planned nodes, and its end on more nodes is unknown."""
    bound = Range(min(cell.bound.least, more.bound.least), max(cell.bound.most, more.bound.most), "bound")
    text = words(cell.event, cell.wanted, bound, stuck=cell.stuck, always_stuck=False)
    missing = (*more.missing, f"whether it ends well while {MEANWHILE}")
    return replace(cell, verdict=UNKNOWN, bound=bound, proven=False, text=f"{text} ?", missing=missing)


# --- facts that are missing -------------------------------------------------------------------------------------------

_WITHOUT_NODES = ("no nodes", "no zones", "one zone", "no pods")
_UNDECIDED = "facts that decide about its pods are not known"


class MissingFacts:
    """What is not known about the workloads of a set, as rows of the table: no scenario shows what would be known."""

    def __init__(self, matrix: Matrix, simulated: SimulatedSet, scenario: Scenario) -> None:
        """``simulated`` has the workloads of ``matrix``, in the same order, with the user's options."""
        self._matrix = matrix
        self._simulated = simulated
        self._scenario = scenario
        # A hypothesis may open a node.
        self._nowhere = [simulated.supposed is None and not open_ for open_ in simulated.reach]
        self._empty = emptiness(scenario)

    def table(self, rows: Sequence[Row]) -> Callable[[int], Sequence[WhatIf[Cell]]]:
        """Return number of a workload → its tests; ``rows`` have the cells, which say what is left of a gang's fate."""
        simulated, nowhere = self._simulated, self._nowhere
        own = lacks = self._lacks
        if gangs_of(self._scenario):
            own = _with_gangs(self._lacks, rows, self._matrix, simulated, self._scenario)
            lacks = {
                i: own_lacks if any(lack.events for lack in own[i]) else own[i] for i, own_lacks in self._lacks.items()
            }

        def of(number: int) -> Sequence[WhatIf[Cell]]:
            decision = simulated.decisions.get(number)
            if decision is not None and decision.refusal is not None:
                return ()  # no pod is created, whatever else is unknown
            near = () if nowhere[number] else self._near(number)
            beside = _of_neighbours(simulated.member(number), lacks, near)
            facts = _of_facts(own[number], beside, self._empty, simulated, self._alone(number))
            return (*facts, _of_quotas_for_others(self._new_quotas(number)))

        return of

    def _new_quotas(self, number: int) -> Sequence[ResourceQuota]:
        """Return the quotas that may not count yet when pods are made, and may refuse rivals of its own."""
        if not self._refusing:
            return ()
        rivals = quota_short(self._simulated).intersection(group_of(self._simulated.member(number)))
        near = {number, *rivals}
        return list(dict.fromkeys(q for i in sorted(near) for q in self._simulated.quotas[i] if q in self._refusing))

    @cached_property
    def _refusing(self) -> frozenset[ResourceQuota]:
        """The new quotas that may refuse pods."""
        short = (quota for i in quota_short(self._simulated) for quota in self._simulated.quotas[i])
        return frozenset(quota for quota in short if is_new(quota, self._scenario))

    def _near(self, number: int) -> Sequence[int]:
        """Return the workloads of which an unknown fact may matter to this one.

        None of them is a pod that its affinity can never match, whatever holds it up, unless its labels are unknown.
        """
        lacking = self._lacking[group_of(self._simulated.member(number))]
        if self._written[self._simulated.workloads[number].ref] in blocked_affinities(self._scenario):
            return [i for i in lacking if _untold(self._simulated.member(i))]
        return lacking

    def _alone(self, number: int) -> Callable[[Cell], bool]:
        """Return whether running pods, if any were known, could not be those that its affinity waits for in a cell.

        What an event leaves decides: the pods of others that it waits for may be lost with their nodes.
        """
        assert self._scenario.cluster is not None
        if self._scenario.cluster_has("Pod") or self._nowhere[number]:
            return lambda cell: True
        member = self._scenario.member(self._written[self._simulated.workloads[number].ref])
        if member.workload in blocked_affinities(self._scenario):
            return lambda cell: False
        waits = bool(with_enforced_constraints(member.pod).required_affinity) and not answers_itself(member)
        return lambda cell: not (waits and self._simulated.deletes(cell.event) and MORE_PODS in cell.rests_on)

    @cached_property
    def _written(self) -> Mapping[ObjectRef, Workload]:
        return {workload.ref: workload for workload in self._scenario.manifests.workloads}

    @cached_property
    def _lacks(self) -> Mapping[int, tuple[Lack, ...]]:
        return {
            i: (
                *_lacks(self._scenario.member(self._written[w.ref]), nowhere=self._nowhere[i]),
                *lacks_of_hypothesis(self._simulated.member(i), self._scenario),
            )
            for i, w in enumerate(self._simulated.workloads)
        }

    @cached_property
    def _lacking(self) -> Mapping[tuple[int, ...], list[int]]:
        """Group of workloads → those of them about which something is not known."""
        return {
            members: [i for i in members if self._lacks[i] or _untold(self._simulated.member(i))]
            for members in components(self._simulated)
        }


def _lacks(it: Member, *, nowhere: bool) -> tuple[Lack, ...]:
    if needs_devices(it.workload.pod, it.scenario) and not devices_unknown(it.scenario):
        why_not = following(it.scenario).why_not
        if why_not:
            return (*lacks_of(it, nowhere=nowhere), Lack(f"which devices its pods hold over time: {why_not}", True))
    return lacks_of(it, nowhere=nowhere)


def _with_gangs(
    lacks: Mapping[int, tuple[Lack, ...]],
    rows: Sequence[Row],
    matrix: Matrix,
    simulated: SimulatedSet,
    scenario: Scenario,
) -> Mapping[int, tuple[Lack, ...]]:
    """Return the lacks of each workload; of its gang only what ``gang_events`` leaves unknown, by event."""
    left = gang_lacks(rows, lambda number: matrix.cell("deploy", number), simulated, scenario)
    return {
        i: (*_without_fate(own_lacks, simulated.member(i)), *left[i]) if i in left else own_lacks
        for i, own_lacks in lacks.items()
    }


def _without_fate(lacks: Sequence[Lack], member: SimulatedMember) -> Iterator[Lack]:
    fate = fate_of_group(member.workload.pod.group)
    return (lack for lack in lacks if lack.text != fate)


def _of_neighbours(
    member: SimulatedMember, lacks: Mapping[int, Sequence[Lack]], lacking: Sequence[int]
) -> tuple[str, ...]:
    """Return assumptions about other workloads with missing facts that can change where this one's pods fit."""
    shared = {lack.text for lack in lacks[member.number]}
    assumptions: list[str] = []
    for other in lacking:
        if len(assumptions) == SHOWN:
            break
        beside = member.set.member(other)
        texts = [lack.text for lack in lacks[other] if lack.text not in shared and not lack.events]
        own = [*_untold(beside), *(texts if beside.most_wished else ())]
        if own and other != member.number:
            assumptions.append(f"the model is right about {beside.workload}, although this is not known: {own[0]}")
    return tuple(assumptions)


def _untold(member: SimulatedMember) -> Sequence[str]:
    """Return why the pods of a custom resource are unknown from their creation on; its card says so."""
    custom = member.workload.custom
    return [custom.unknown["deploy"]] if custom is not None and "deploy" in custom.unknown else ()


def _of_facts(
    own: Sequence[Lack], beside: Sequence[str], empty: str, simulated: SimulatedSet, alone: Callable[[Cell], bool]
) -> Iterator[WhatIf[Cell]]:
    """Yield the tests for facts that are not known about a workload, about others, and about a sketch's content."""

    def were_read(cell: Cell, scenario: Scenario) -> bool:
        is_known = scenario.cluster is not None and scenario.cluster.knows_nodes
        return not is_known and cell.verdict == NONE and cell.text in _WITHOUT_NODES

    def of_event(cell: Cell) -> Sequence[Lack]:
        return _about(cell.event, own, simulated)

    yield WhatIf("the nodes were read", were_read, lambda cell, scenario, again: replace(cell, verdict=UNKNOWN))
    yield WhatIf(
        "what is missing were known",
        lambda cell, scenario: bool(beside or of_event(cell)),
        lambda cell, scenario, again: _weighed(cell, of_event(cell), beside),
    )
    yield WhatIf(
        "others ran in the sketch",
        lambda cell, scenario: bool(empty) and cell.verdict != NONE,
        lambda cell, scenario, again: _on_empty(cell, empty, alone=alone(cell)),
    )


def _of_quotas_for_others(quotas: Sequence[ResourceQuota]) -> WhatIf[Cell]:
    """Return the test for quotas that count too late: pods that they refuse leave room to others."""
    return WhatIf(
        "quotas that refuse others counted later",
        lambda cell, scenario: bool(quotas) and cell.ends_well and cell.verdict != NONE,
        lambda cell, scenario, again: _assuming(cell, *(in_force(f"quota {quota.name}") for quota in quotas)),
    )


def is_new(quota: ResourceQuota, scenario: Scenario) -> bool:
    """Whether a quota may not count yet when the pods of the set are made."""
    return not quota.in_force or any(quota is new for new in scenario.manifests.quotas)


def in_force(by: str) -> str:
    return f"{by} is in force before the pods are made"


def _about(event: str, lacks: Sequence[Lack], simulated: SimulatedSet) -> Sequence[Lack]:
    """Return the lacks that concern an event; a hypothesis has those of the events that it contains, too."""
    events = simulated.parts(event)
    return [lack for lack in lacks if not lack.events or not events.isdisjoint(lack.events)]


def _weighed(cell: Cell, own: Sequence[Lack], beside: Sequence[str]) -> Cell:
    unknown = list(dict.fromkeys(lack.text for lack in own if lack.unknown))
    if cell.verdict == NONE:
        scaler_unknown = cell.event == "hpa-max" and any(lack.events for lack in own)
        return not_known(cell, tuple(unknown), _UNDECIDED) if scaler_unknown else cell
    narrows = all(lack.narrows or (lack.doubts and lack.doubts not in cell.rests_on) for lack in own)
    if unknown and not (cell.verdict == BAD and cell.proven and narrows):
        return not_known(cell, tuple(unknown), _UNDECIDED)
    if unknown:
        cell = _at_best(cell, unknown)
    assumed = [lack.text for lack in own if not lack.unknown]
    if not assumed and not beside:
        return cell
    proven = cell.proven and cell.verdict == BAD and narrows and (cell.is_counted or not beside)
    return replace(cell, text=f"{cell.text} *", proven=proven, assumes=(*cell.assumes, *assumed, *beside))


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
    proven = cell.proven and (cell.verdict == FINE or alone)
    return replace(cell, proven=proven, assumes=(*cell.assumes, premise))
