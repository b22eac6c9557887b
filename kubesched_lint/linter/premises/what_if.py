"""Would a finding still hold if …? A row for each condition it may depend on; ``engine.placing.scenarios`` has the
loop.

A finding that every other scenario confirms continues as it is there. Otherwise it is at most a warning that names the
condition. A finding that needs two definitions of one object is dropped.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from kubesched_lint.engine.base.places import Source
from kubesched_lint.engine.base.text import first_few
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.pod import waits_for_unknown_scheduler
from kubesched_lint.engine.model.policy import Autoscaler
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.scenarios import (
    WhatIf,
    resumed_premise,
    resumed_premise_of_others,
    with_groups,
    without_suspended,
    without_workloads,
)
from kubesched_lint.engine.scenario.premises.premises import HOSTS_STAY, SET_PREMISES, defined_elsewhere, groups_premise
from kubesched_lint.engine.scenario.scenario import Scenario, once_per_scenario
from kubesched_lint.engine.verdicts.missing_facts import outside_the_model
from kubesched_lint.engine.verdicts.what_if import Answers
from kubesched_lint.findings import Severity
from kubesched_lint.linter.environments.duplicate_definitions import DuplicateDefinitions
from kubesched_lint.linter.premises.made_later import if_not_made, things_made, with_things_made
from kubesched_lint.linter.premises.unknown_classes import (
    if_they_add_nothing,
    members_of,
    unknown_classes,
    with_other_classes,
)
from kubesched_lint.linter.results.applies import WorkloadsByFeature, argues_of_pods, rests_on_nodes, stands_already
from kubesched_lint.linter.results.rule_results import RuleResult, assuming, identity_of
from kubesched_lint.rulebook.rule import Rule

_REPLACED = "only this definition is applied, although the same file replaces it below"
_CHOSEN = "of the objects that are defined more than once, the definitions that cause this finding are applied"
_MADE_ANEW = "its pods are made anew; until then the running ones stay"


def _confirmed(judged: RuleResult, again: Sequence[RuleResult | None]) -> RuleResult | None:
    mildest = _mildest(again)
    return None if mildest is None or None in again else _with_premises_of(judged, mildest)


_FINDINGS: Answers[RuleResult] = Answers(assuming, _confirmed, members_of)
_row = _FINDINGS.unless


def _with_premises_of(judged: RuleResult, other: RuleResult) -> RuleResult:
    """``other``, the finding of another scenario, with the premises that earlier rows added to ``judged``.

    If it says the same, its help is the one for the scenario in which the user will try it.
    """
    if (judged.rule, judged.hazard.variant) == (other.rule, other.hazard.variant):
        other = replace(other, finding=replace(other.finding, help=judged.finding.help))
    known = (*judged.hazard.evidence.assumes, *other.finding.evidence.assumes)
    for added in judged.finding.evidence.assumes:
        other = other if added in known else assuming(other, added)
    return other


def _mildest(again: Iterable[RuleResult | None]) -> RuleResult | None:
    return min(
        (rule_result for rule_result in again if rule_result is not None),
        key=lambda rule_result: rule_result.finding.severity,
        default=None,
    )


# -- errors: conditions that no other scenario can represent -----------------------------------------------------------


def _is_decided_outside(error: RuleResult, scenario: Scenario) -> bool:
    return any(_outside_the_model(error, scenario))


def _outside_premise(error: RuleResult, scenario: Scenario) -> str:
    return "; ".join(dict.fromkeys(_outside_the_model(error, scenario)))


def _outside_the_model(error: RuleResult, scenario: Scenario) -> Iterator[str]:
    """Yield what is assumed about the schedulers and the gates of the pods that an error is about."""
    if not rests_on_nodes(error.rule):
        return
    for member in members_of(error, scenario):
        pod = member.pod
        if waits_for_unknown_scheduler(pod):
            yield f"{pod.scheduler_name} decides as kube-scheduler does"
        yield from outside_the_model(pod)


def _stands_already(error: RuleResult, scenario: Scenario) -> bool:
    return error.workload is not None and stands_already(error.rule, scenario.member(error.workload), error.hazard)


def _rests_on_spread(error: RuleResult, scenario: Scenario) -> bool:
    """Whether it says where pods find room: a quota, which creates none, does not ask where."""
    blames_quota = getattr(error.hazard.source, "kind", "") == "ResourceQuota"
    return rests_on_nodes(error.rule) and error.hazard.evidence.kind == "proof" and not blames_quota


def _may_get_nodes(error: RuleResult, scenario: Scenario) -> bool:
    is_error = error.finding.severity is Severity.ERROR
    return is_error and rests_on_nodes(error.rule) and scenario.cluster is not None and scenario.is_elastic


def _with_groups(error: RuleResult, scenario: Scenario) -> Sequence[Scenario]:
    return tuple(filter(None, (with_groups(scenario),)))


def _unless_nodes_come(error: RuleResult, scenario: Scenario, again: Sequence[RuleResult | None]) -> RuleResult:
    """The error as it is with any number of further nodes of every group, if all groups are known; else a warning."""
    cluster = scenario.cluster
    assert cluster is not None
    groups = scenario.node_groups.inferred
    grown = next(iter(again), None)
    if grown is None or grown.finding.severity is not Severity.ERROR:
        lowered = assuming(error, cluster.elastic_premise)
        # With pools, --fixed alone would not make it an error.
        return replace(lowered, finding=replace(lowered.finding, if_fixed=None if scenario.pools else Severity.ERROR))
    if scenario.node_groups.are_all:
        return _of_any_number(grown, [group.name for group in groups], _fargate(scenario))
    lowered = assuming(error, groups_premise(groups or scenario.pools))
    return replace(lowered, finding=replace(lowered.finding, if_complete=Severity.ERROR))


def _of_any_number(error: RuleResult, groups: Sequence[str], more: Sequence[str]) -> RuleResult:
    """The error of the scenario with all node groups; its proof says that no number of their nodes helps."""
    evidence = error.finding.evidence
    evidence = replace(evidence, assumes=(*evidence.assumes, *more))
    if not groups:
        return replace(error, finding=replace(error.finding, evidence=evidence))
    which = f"node group {groups[0]}" if len(groups) == 1 else f"the {len(groups)} node groups"
    text = f"{evidence.text}; more nodes of {which} change nothing"
    return replace(error, finding=replace(error.finding, evidence=replace(evidence, text=text)))


def _fargate(scenario: Scenario) -> Sequence[str]:
    """The premise that EKS makes no node of their own for the pods, if it makes such nodes."""
    return ("no Fargate profile selects its pods",) if scenario.node_groups.has_fargate else ()


def _asks_a_card(error: RuleResult, scenario: Scenario) -> bool:
    return any(_unknown_to_cards(error, scenario))


@once_per_scenario
def _of_cards(scenario: Scenario) -> Sequence[Workload]:
    """Return the workloads that stand for custom resources; every error asks for them."""
    return tuple(workload for workload in scenario.manifests.workloads if workload.custom is not None)


def _unknown_to_cards(error: RuleResult, scenario: Scenario) -> Iterator[str]:
    """Yield what the cards of custom resources do not know about the event of an error."""
    refs = {*error.hazard.together, *((error.workload.ref,) if error.workload else ())}
    for workload in _of_cards(scenario):
        why = workload.custom.unknown.get(error.hazard.evidence.event) if workload.custom is not None else None
        if why and workload.ref in refs:
            yield f"the controller of {workload} makes no difference: {why}"


def _assumed_of_variables(error: RuleResult, scenario: Scenario) -> Sequence[str]:
    """Return what is assumed about variables that Flux fills in, in the documents that an error is about."""
    sources = (error.source, *(member.workload.source for member in members_of(error, scenario)))
    filled = (getattr(source, "filled_in", None) for source in sources)
    return tuple(
        dict.fromkeys(words for substitution in filled if substitution is not None for words in substitution.assumed)
    )


OF_ERRORS = (
    _row(
        "the controller of a custom resource decided otherwise",
        _asks_a_card,
        lambda error, scenario: "; ".join(_unknown_to_cards(error, scenario)),
    ),
    _row("another scheduler decided otherwise, or a controller removed a gate", _is_decided_outside, _outside_premise),
    _row(
        "a RuntimeClass added tolerations",
        lambda error, scenario: bool(unknown_classes(error, scenario)),
        if_they_add_nothing,
        with_other_classes,
    ),
    _row(
        "the set had made what it adds to nodes",
        lambda error, scenario: bool(things_made(error, scenario)),
        if_not_made,
        with_things_made,
    ),
    _FINDINGS.unless_others_go(lambda error, scenario: rests_on_nodes(error.rule)),
    _FINDINGS.unless_new_pods_are_as_written(lambda error, scenario: rests_on_nodes(error.rule)),
    _FINDINGS.unless_unread_pods_count(_rests_on_spread),
    _row(
        "pods that it must be near were not read",
        lambda error, scenario: HOSTS_STAY in error.finding.evidence.assumes and bool(defined_elsewhere(scenario)),
        lambda error, scenario: defined_elsewhere(scenario),
    ),
    _row(
        "a variable had another value than its default",
        lambda error, scenario: bool(_assumed_of_variables(error, scenario)),
        lambda error, scenario: "; ".join(_assumed_of_variables(error, scenario)),
    ),
    _row("its pods ran on as they are", _stands_already, lambda error, scenario: _MADE_ANEW),
    WhatIf("an autoscaler added a node", _may_get_nodes, _unless_nodes_come, _with_groups),
)
"""Conditions that an error may depend on in every scenario."""


# -- transient states: cordons and transient taints --------------------------------------------------------------------


def passed(premise_of_today: str, known: Container[object]) -> WhatIf[RuleResult]:
    """Return the row for findings of today's cluster; ``known`` has identities of findings that hold without it."""

    def judge(judged: RuleResult, scenario: Scenario, again: object) -> RuleResult | None:
        return None if identity_of(judged) in known else assuming(judged, premise_of_today)

    return WhatIf("the transient states of today were over", lambda judged, scenario: True, judge)


# -- findings about pods: conditions of the set ------------------------------------------------------------------------


def _argues(judged: RuleResult) -> bool:
    return judged.finding.evidence.kind in ("proof", "witness")


def _is_suspended(judged: RuleResult, scenario: Scenario) -> bool:
    return _argues(judged) and judged.workload is not None and bool(judged.workload.suspended)


def _if_resumed(judged: RuleResult, scenario: Scenario) -> str:
    assert judged.workload is not None
    return resumed_premise(judged.workload)


def _is_not_suspended(judged: RuleResult, scenario: Scenario) -> bool:
    return _argues(judged) and not _is_suspended(judged, scenario)


def _without_suspended(judged: RuleResult, scenario: Scenario) -> Sequence[Scenario]:
    return (without_suspended(scenario),)


def _reads_one(judged: RuleResult, scenario: Scenario) -> bool:
    return not judged.rule.every_definition


def _rests_on_absence(judged: RuleResult, scenario: Scenario) -> bool:
    evidence = judged.finding.evidence
    seems = evidence.kind == "pattern" and "set" in judged.rule.needs
    return seems or not set(SET_PREMISES).isdisjoint(evidence.assumes)


def _if_absent(judged: RuleResult, scenario: Scenario, again: Sequence[RuleResult | None]) -> RuleResult | None:
    """The finding if no alternative makes the pods either: a part of the set is no proof that nobody makes them."""
    return None if None in again else judged


class ManifestVariant:
    """One set that somebody may apply, and the conditions in it that findings depend on: duplicate objects, suspended
    and rejected workloads. ``judged`` are the workloads that rules report on; None: all. ``unsure`` are autoscalers
    that may be meant for another definition of their target, in another set. ``beside`` are the manifests of all sets,
    if there are several.
    """

    def __init__(
        self,
        manifests: Inventory,
        refused: Sequence[Workload],
        judged: Sequence[Workload] | None = None,
        unsure: Sequence[Autoscaler] = (),
        beside: Inventory | None = None,
    ) -> None:
        self._manifests = manifests
        self._unsure = unsure
        self._beside = beside
        ours = set(manifests.workloads) if refused else ()
        self._refused = [workload for workload in refused if workload in ours]
        self.carriers = WorkloadsByFeature(manifests.workloads if judged is None else judged)
        self._suspended = tuple(workload for workload in manifests.workloads if workload.suspended)
        self._duplicates = DuplicateDefinitions(manifests)
        self._views: dict[object, Sequence[Scenario]] = {}
        self._parts: dict[object, Scenario] = {}

    @cached_property
    def rows(self) -> Sequence[WhatIf[RuleResult]]:
        """The rows that the set needs."""
        once = WhatIf("each object were defined once", _reads_one, self._of_definitions, self._with_one)
        itself = _row("it stayed suspended", _is_suspended, _if_resumed)
        others = _row("the others stayed suspended", _is_not_suspended, self._if_others_are, _without_suspended)
        refused = _row("the refused objects were not fixed", self._leans, self._if_mended, self._without_refused)
        scaled = _row(
            "autoscalers were not meant for it",
            lambda judged, scenario: _argues(judged),
            self._if_scaled,
            self._without_unsure,
        )
        absent = WhatIf("the pods of all sets were made", _rests_on_absence, _if_absent, self._with_all)
        table = (
            (absent, self._beside),
            (once, self.has_duplicates),
            (scaled, self._unsure),
            (itself, self._suspended),
            (others, self._suspended),
            (refused, self._refused),
        )
        return [row for row, is_needed in table if is_needed]

    def base(self, rule: Rule, scenario: Scenario) -> Scenario:
        """The scenario in which a rule runs first; a rule about the whole set does not count rejected pods."""
        scenario = self.whole(scenario)
        return self._taken(scenario) if self._refused and rule.each == "set" and rests_on_nodes(rule) else scenario

    def whole(self, scenario: Scenario) -> Scenario:
        """The scenario of this set on the nodes of another scenario."""
        return scenario.part(self._manifests)

    # -- one definition of each object

    @property
    def has_duplicates(self) -> bool:
        """Whether anything is defined more than once."""
        return self._manifests.has_duplicates

    @property
    def differing(self) -> Mapping[object, Sequence[Any]]:
        """(field, identity) → definitions, for objects that files define more than once, and differently."""
        return self._duplicates.differing if self.has_duplicates else {}

    def views(self, source: Source, scenario: Scenario) -> Sequence[Scenario]:
        """The scenarios with one definition of each object, as seen from ``source``."""
        if not self.has_duplicates:
            return (scenario,)
        key = (self._duplicates.view(source), scenario)
        if key not in self._views:
            self._views[key] = [scenario.part(manifests) for manifests in self._duplicates.seen_from(source)]
        return self._views[key]

    def defined_once(self, scenario: Scenario) -> Sequence[Scenario]:
        """The scenarios with one definition of each object, as seen from what was read last, as ``simulate`` does."""
        last = self._duplicates.last
        return () if last is None else self.views(last, scenario)

    def alone(self, workloads: Iterable[Workload], scenario: Scenario) -> Iterator[tuple[Workload, Scenario]]:
        """(workload, scenario) for each duplicate workload and each scenario in which it is defined once.

        A copy is not a second workload, so rules must not see both copies together.
        """
        for workload in workloads:
            if workload.source is not None and self._duplicates.defines_again(workload):
                for view in self.views(workload.source, scenario):
                    yield workload, view

    def _with_one(self, judged: RuleResult, scenario: Scenario) -> Sequence[Scenario]:
        return self.views(judged.source, scenario)

    def _of_definitions(
        self, judged: RuleResult, scenario: Scenario, again: Sequence[RuleResult | None]
    ) -> RuleResult | None:
        mildest = _mildest(again)
        if mildest is None:
            return None
        if argues_of_pods(judged.rule, judged) and self._duplicates.is_replaced(judged.source):
            return assuming(mildest, _REPLACED)
        return assuming(mildest, _CHOSEN) if None in again else mildest

    def _with_all(self, judged: RuleResult, scenario: Scenario) -> Sequence[Scenario]:
        assert self._beside is not None
        return (scenario.part(self._beside),)

    # -- autoscalers that may be meant for another set

    def _if_scaled(self, judged: RuleResult, scenario: Scenario) -> str:
        names = first_few([f"{scaler.namespace}/{scaler.name}" for scaler in self._unsure], most=1)
        return f"{names} scales its target here, though another definition of it may be meant"

    def _without_unsure(self, judged: RuleResult, scenario: Scenario) -> Sequence[Scenario]:
        key = ("unsure", scenario)
        if key not in self._parts:
            gone = set(self._unsure)
            kept = tuple(scaler for scaler in scenario.manifests.autoscalers if scaler not in gone)
            self._parts[key] = scenario.with_manifests(replace(scenario.manifests, autoscalers=kept))
        return (self._parts[key],)

    # -- what is suspended or refused

    def _if_others_are(self, judged: RuleResult, scenario: Scenario) -> str:
        return resumed_premise_of_others(self._suspended)

    def _leans(self, judged: RuleResult, scenario: Scenario) -> bool:
        """Whether a finding may come from pods of rejected workloads; False for findings about these workloads."""
        itself = any(judged.workload is workload for workload in self._refused)
        return _argues(judged) and rests_on_nodes(judged.rule) and not itself

    def _if_mended(self, judged: RuleResult, scenario: Scenario) -> str:
        return f"the objects that the API server rejects are corrected: {', '.join(map(str, self._refused))}"

    def _without_refused(self, judged: RuleResult, scenario: Scenario) -> Sequence[Scenario]:
        return (self._taken(scenario),)

    def _taken(self, scenario: Scenario) -> Scenario:
        if scenario not in self._parts:
            self._parts[scenario] = without_workloads(scenario, self._refused)
        return self._parts[scenario]
