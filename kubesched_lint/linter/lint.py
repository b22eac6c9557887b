"""The lint pipeline: from a manifest set and a cluster to findings with severity and place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.base.limits import MOST_STEPS, STEPS_EACH
from kubesched_lint.engine.base.releases import minor_of
from kubesched_lint.engine.base.steps import at
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.scenarios import WhatIf, surviving, without_suspended, without_transient
from kubesched_lint.engine.scenario.premises.premises import may_be_released, unless_defined
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.explaining.objects.refused import RefusedObjects, refused_objects
from kubesched_lint.findings import Hazard, InputError, Report, Severity, Skip, Summary
from kubesched_lint.linter.environments.alternatives import Alternatives
from kubesched_lint.linter.environments.duplicate_definitions import note_on
from kubesched_lint.linter.environments.variants import Variants
from kubesched_lint.linter.limits import LEAST_STEPS
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, about_nodes, no_longer_served, ref_of, with_rule
from kubesched_lint.linter.results.applies import WorkloadsByFeature, is_cut_short, is_left_out, lacking, rests_on_nodes
from kubesched_lint.linter.results.rule_results import (
    RuleResult,
    assuming,
    finding_of,
    identity_of,
    if_fixed,
    made_in,
    must_survive,
    naming_domain,
    reported,
    severity_of,
    without_open_text,
    without_refused,
    without_wrong_types,
)
from kubesched_lint.linter.results.yielding import explained, not_ignored, without_yielding
from kubesched_lint.rulebook.library import Rule
from kubesched_lint.sources.manifests.document import ChangedFileError, Document

if TYPE_CHECKING:
    from kubesched_lint.linter.premises.what_if import ManifestVariant

_NOT_CHECKED = "not checked: the pools could add more nodes for this set than the limit"


def lint(
    manifests: ManifestSet,
    cluster: Cluster | None,
    options: Options,
    rules: Sequence[Rule],
    costs: dict[str, float] | None = None,
    *,
    is_refuting: bool = True,
    scenario: Scenario | None = None,
) -> tuple[Report, tuple[RuleResult, ...]]:
    """Return the report and its findings with their rules and hazards, before waivers and baseline.

    ``scenario``: ``lasting_scenario``, if the caller has it already.

    Pure, except that ``costs`` gets what each rule cost in steps of ``work``: slug → steps. ``is_refuting``: whether
    exact runs try to refute proofs.
    """
    with work.within(MOST_STEPS + STEPS_EACH * len(manifests.documents)):
        return _concluded(
            Run(manifests, options, {} if costs is None else costs), cluster, rules, is_refuting, scenario
        )


def lasting_scenario(manifests: ManifestSet, cluster: Cluster | None, options: Options) -> Scenario:
    """Return the scenario that ``lint`` judges: the manifests on the cluster without its transient states."""
    lasting = None if cluster is None else without_transient(cluster)
    return Scenario(manifests.inventory, lasting, manifests.premises(options))


def _concluded(
    run: Run, cluster: Cluster | None, rules: Sequence[Rule], is_refuting: bool, scenario: Scenario | None
) -> tuple[Report, tuple[RuleResult, ...]]:
    manifests, options = run.manifests, run.options
    scenario = scenario or lasting_scenario(manifests, cluster, options)
    scenario.refused = (
        manifests.refused if manifests.judged_for == minor_of(scenario.premises.kubernetes_version) else None
    )
    run.refusals = refused_objects(scenario)
    run.rules(rules, scenario)
    if cluster is not None and cluster.transient_states:
        run.today(rules, Scenario(manifests.inventory, cluster, manifests.premises(options)), cluster)
    judged = tuple(without_wrong_types(not_ignored(run.judged, options), manifests))
    told = map(naming_domain, without_refused(without_yielding(tuple(explained(judged)), run.home), run.refusals))
    judged, unfilled = without_open_text(tuple(run.current(told)))
    run.skipped.update(dict.fromkeys(unfilled))
    if is_refuting and cluster is not None and any(j.finding.severity is Severity.ERROR for j in judged):
        from kubesched_lint.linter.premises.proofs import established

        judged = tuple(established(judged, lambda rule_result: run.scenario_of(rule_result, scenario)))
    report = Report(
        reported(judged, manifests.documents),
        tuple(run.skipped),
        (*with_rule(manifests.errors, rules), *run.failed.values()),
        Summary(
            files=len({d.path for d in manifests.documents} | {u.path for u in manifests.unread}),
            documents=len(manifests.documents) + len(manifests.unread),
            workloads=len({workload.ref for workload in manifests.inventory.workloads}),
            environments=run.environments,
            unread_kinds=manifests.unread_kinds,
            rules=run.ran,
            undecided=scenario.node_groups.decision if cluster is not None and manifests.inventory.workloads else "",
            notes=(
                *(scenario.node_groups.notes if cluster is not None else ()),
                *run.notes(),
                *no_longer_served(manifests.unread, scenario.premises.kubernetes_version),
                *about_nodes(manifests.unread),
                *work.tried(
                    lambda: [*_lack_notes(scenario)], ["not computed: the classes and volumes that are missing"]
                ),
                *work.tried(
                    lambda: [*_pool_notes(without_suspended(run.last(scenario)))],
                    ["not computed: the nodes that the pools would add"],
                ),
            ),
        ),
    )
    return report, judged


def _lack_notes(scenario: Scenario) -> Iterator[str]:
    """A note about storage classes and volumes that neither manifests nor snapshot have."""
    if scenario.cluster is not None and scenario.manifests.workloads:
        from kubesched_lint.engine.verdicts.missing_facts import in_one_line

        yield from in_one_line(scenario)


def _pool_notes(scenario: Scenario) -> Iterator[str]:
    """Notes about the node pools and the nodes that they would add."""
    if scenario.pools and scenario.cluster is not None:
        from kubesched_lint.explaining.nodes.pool_notes import pool_notes

        yield from pool_notes(scenario)


def _workload_of(subject: Member | Document | Scenario) -> Workload | None:
    return subject.workload if isinstance(subject, Member) else None


class Run:
    """One pass over the rules that collects their findings, skips and failures."""

    def __init__(self, manifests: ManifestSet, options: Options, costs: dict[str, float]) -> None:
        self.manifests = manifests
        self.costs = costs
        self.options = options
        self.judged: list[RuleResult] = []
        self.skipped: dict[Skip, None] = {}
        self.failed: dict[str, InputError] = {}
        self.ran = 0
        self.refusals: RefusedObjects = {}
        self._carriers = WorkloadsByFeature(manifests.inventory.workloads)
        self._homes: dict[tuple[object, ...], tuple[ManifestVariant | None, int]] = {}
        self._transient: tuple[WhatIf[RuleResult], ...] = ()
        self._unreported: dict[str, set[object]] = {}
        self._judged_before: dict[tuple[object, ...], Sequence[RuleResult]] = {}

    def rules(self, rules: Iterable[Rule], scenario: Scenario) -> None:
        for rule in sorted(rules, key=lambda rule: rule.each != "document"):  # rejected objects first
            missing = lacking(rule, scenario)
            if rule.each == "waiver":
                self.ran += 1  # linter.suppression runs it after all other rules
            elif missing:
                self.skipped[Skip(rule.slug, missing)] = None
            else:
                self.ran += 1
                self._run_rule(rule, scenario)

    def _run_rule(self, rule: Rule, scenario: Scenario) -> None:
        """Collect the findings of a rule; record a skip when its share of the work is spent."""
        at(f"rule {rule.slug}")
        share = work.within(work.share(LEAST_STEPS))
        try:
            with share:
                for of_set in self._sets_for(rule):
                    for judged in self._tested(rule, scenario, of_set):
                        self._keep(judged, of_set)
        except work.OutOfWorkError as reason:
            self._skip(rule, reason)
        self.costs[rule.slug] = self.costs.get(rule.slug, 0) + share.spent

    def _keep(self, judged: RuleResult, of_set: ManifestVariant | None) -> None:
        """Collect a finding; of one that several sets have, the most severe."""
        key = identity_of(judged)
        home, number = self._homes.get(key, (of_set, len(self.judged)))
        if home is of_set:
            if of_set is not None and len(self.sets) > 1:
                self._homes[key] = (of_set, len(self.judged))
            self.judged.append(judged)
        elif judged.finding.severity > self.judged[number].finding.severity:
            self._homes[key] = (of_set, number)
            self.judged[number] = judged

    def _skip(self, rule: Rule, reason: UncheckedError) -> None:
        self.skipped[Skip(rule.slug, str(reason), isinstance(reason, work.OutOfWorkError))] = None

    def today(self, rules: Iterable[Rule], scenario: Scenario, cluster: Cluster) -> None:
        """Run the rules on today's cluster: findings that need its cordons and transient taints are warnings."""
        from kubesched_lint.linter.premises.what_if import passed

        self._transient = (passed(cluster.transient_premise, {identity_of(j) for j in self.judged}),)
        for rule in rules:
            if rests_on_nodes(rule) and not lacking(rule, scenario):
                self._run_rule(rule, scenario)

    def _tested(self, rule: Rule, scenario: Scenario, of_set: ManifestVariant | None) -> Iterator[RuleResult]:
        """The findings of one rule, each adjusted to whether it holds in other scenarios (``premises.what_if``)."""
        rows = self._transient
        tested: Iterable[RuleResult]
        if of_set is None:
            tested = self._judgements(rule, scenario)
        else:
            scenario, rows = of_set.base(rule, scenario), (*of_set.rows, *rows)
            tested = self._of_each_definition(rule, scenario, of_set)
        for judged in tested:
            left = surviving(judged, scenario, rows, self._again)
            if left is not None:
                yield left

    def _of_each_definition(self, rule: Rule, scenario: Scenario, of_set: ManifestVariant) -> Iterator[RuleResult]:
        """The findings of one rule on the set, then on each duplicate definition as the only one of its object."""
        among = self._carriers if of_set is self.of_all else of_set.carriers
        carriers = among.of(rule, scenario) if rule.each == "workload" else (None,)
        if rule.every_definition or not of_set.has_duplicates:
            yield from self._judgements(rule, scenario, carriers)
            return
        alone: Iterable[Sequence[RuleResult]] = (
            self._judged_in(rule, w, view) for w, view in of_set.alone(filter(None, carriers), scenario)
        )
        if rule.each == "set" or rule.about == "verdict":  # what counts the pods of all must not count a copy
            once = (tuple(self._judgements(rule, view, carriers)) for view in of_set.defined_once(scenario))
            alone = chain(once, alone)
        seen = set()
        for judged in chain(self._judgements(rule, scenario, carriers), chain.from_iterable(alone)):
            if identity_of(judged) not in seen:
                seen.add(identity_of(judged))
                yield judged

    @cached_property
    def refused(self) -> tuple[Workload, ...]:
        """Workloads that the API server rejects, usually none."""
        return tuple(w for w in self.manifests.inventory.workloads if w.source in self.refusals)

    @cached_property
    def of_all(self) -> ManifestVariant | None:
        """Duplicate, suspended and rejected objects of all manifests; None without any, which is usual."""
        inventory = self.manifests.inventory
        if not (
            self.refused
            or inventory.has_duplicates
            or inventory.has_namesakes
            or any(workload.suspended for workload in inventory.workloads)
        ):
            return None
        from kubesched_lint.linter.premises.what_if import ManifestVariant

        return ManifestVariant(inventory, self.refused)

    @cached_property
    def variants(self) -> Variants:
        """The sets that somebody may apply, because some files and folders are alternatives."""
        return Variants(Alternatives(self.manifests.inventory, self.options.together))

    @cached_property
    def sets(self) -> Sequence[ManifestVariant | None]:
        """The sets that somebody may apply: all manifests, unless some are alternatives."""
        if self.of_all is None or len(self.variants.all) == 1:
            return (self.of_all,)
        from kubesched_lint.linter.premises.what_if import ManifestVariant

        everything = self.manifests.inventory
        return [ManifestVariant(v.manifests, self.refused, v.judged, v.unsure, everything) for v in self.variants.all]

    def _sets_for(self, rule: Rule) -> Sequence[ManifestVariant | None]:
        if rule.each not in ("workload", "set"):
            return (None,)
        is_of_all = rule.every_definition or (rule.each == "set" and rule.evidence == ("pattern",))
        return (self.of_all,) if is_of_all else self.sets

    def home(self, judged: RuleResult) -> ManifestVariant | None:
        """The set that has a finding; None for one that is about no set."""
        return self.sets[0] if len(self.sets) == 1 else self._homes.get(identity_of(judged), (None,))[0]

    def last(self, scenario: Scenario) -> Scenario:
        """Return the last of the sets on the nodes of a scenario."""
        return scenario if self.sets[-1] is None else self.sets[-1].whole(scenario)

    def current(self, judged: Iterable[RuleResult]) -> Iterator[RuleResult]:
        """Yield the findings that lie in no older release: it is history, and who installs one names it."""
        for rule_result in judged:
            newest = self.of_all and self.variants.alternatives.newest_beside(rule_result.finding.location.path)
            if newest:
                which = f"in older releases of {newest}; to judge one, name it"
                self._unreported.setdefault(which, set()).add(identity_of(rule_result))
            else:
                yield rule_result

    @property
    def environments(self) -> tuple[str, ...]:
        return () if self.of_all is None else self.variants.environments

    def notes(self) -> Iterator[str]:
        """Notes for the footer about alternatives and duplicate definitions."""
        if self.of_all is not None:
            yield from self.variants.notes()
            differing = {key: items for of_set in self.sets if of_set for key, items in of_set.differing.items()}
            yield from note_on(list(differing.values()))
        yield from (
            f"not reported: {many(len(unreported), 'finding')} {which}"
            for which, unreported in self._unreported.items()
        )

    def _again(self, judged: RuleResult, scenario: Scenario) -> RuleResult | None:
        """The same finding in another scenario; None if its rule does not report it there."""
        like = identity_of(judged)
        return next(
            (
                rule_result
                for rule_result in self._judged_in(judged.rule, judged.workload, scenario)
                if identity_of(rule_result) == like
            ),
            None,
        )

    def _judged_in(self, rule: Rule, workload: Workload | None, scenario: Scenario) -> Sequence[RuleResult]:
        key = (rule.slug, workload, scenario)
        if key not in self._judged_before:
            self._judged_before[key] = tuple(self._judgements(rule, scenario, (workload,)))
        return self._judged_before[key]

    def scenario_of(self, judged: RuleResult, scenario: Scenario) -> Scenario:
        """Return the scenario with one definition of each object, including the finding's own."""
        of_set = self.home(judged)
        return scenario if of_set is None else of_set.views(judged.source, of_set.whole(scenario))[0]

    def _judgements(
        self, rule: Rule, scenario: Scenario, among: Sequence[Workload | None] | None = None
    ) -> Iterator[RuleResult]:
        """The findings of one rule, for all workloads or ``among`` some. A check that raises becomes one error."""
        subjects = self._subjects(rule, scenario, among)
        if not subjects:
            return  # saves importing the check; most rules have no subject in most files
        params = {**rule.params, **self.options.params.get(rule.slug, {})}
        try:
            check = rule.check()
        except Exception as error:
            self._failed(rule, None, error)
            return
        asked = partial(check, **params) if params else check
        is_of_documents = rule.each == "document"
        for subject in subjects:
            try:
                for hazard in asked(subject, scenario) if is_of_documents else asked(subject):
                    work.go_on()
                    if isinstance(subject, Member) and is_left_out(rule, subject, hazard, self._unreported):
                        continue
                    if is_cut_short(hazard, scenario):
                        raise UncheckedError(_NOT_CHECKED)
                    placed = self._placed(hazard, subject) if isinstance(subject, Document) else hazard
                    judged = self._judge(rule, _workload_of(subject), placed, scenario)
                    unless = unless_defined(scenario) if rule.absence else ""
                    makers = may_be_released(scenario, made_in(judged)) if unless else ""
                    if makers and not hazard.values.get("nearest"):
                        self._skip(rule, UncheckedError(f"not told: {makers} not read may make what seems absent"))
                        continue
                    yield assuming(judged, unless) if unless else judged
            except UncheckedError as reason:
                self._skip(rule, reason)
            except Exception as error:
                self._failed(rule, _workload_of(subject), error)

    def _subjects(
        self, rule: Rule, scenario: Scenario, among: Sequence[Workload | None] | None
    ) -> Sequence[Member | Document | Scenario]:
        """The subjects of a rule; the scenario for the whole set."""
        if rule.beside and scenario.kinds.isdisjoint(rule.beside):
            return ()
        if among is not None:
            return [scenario if workload is None else scenario.member(workload) for workload in among]
        if rule.each == "set":
            return (scenario,)
        if rule.each != "document":
            return self._carriers.members(rule, scenario)
        documents = (*self.manifests.documents, *self.manifests.made)
        if scenario.refused is None or not rule.refuses:
            return documents
        return tuple(document for document in documents if document in scenario.refused)

    def _placed(self, hazard: Hazard, document: Document) -> Hazard:
        victim = hazard.victim or ref_of(document, self.options.namespace)
        return replace(hazard, source=hazard.source or document, victim=victim)

    def _failed(self, rule: Rule, workload: Workload | None, error: Exception) -> None:
        """Record one error for a rule, even if it fails on several workloads; one for a file that has changed."""
        if isinstance(error, ChangedFileError):
            self.failed[error.path] = InputError(error.path, error.message)
        elif rule.slug not in self.failed:
            where = f" on {workload}" if workload else ""
            text = f"rule {rule.slug} failed{where} with {type(error).__name__}: {error}"
            line = getattr(error, "line", 0)  # errors of CEL expressions have their line in the card
            self.failed[rule.slug] = InputError(rule.card or f"rules/{rule.slug}.md", text, line, min(line, 1))

    def _judge(self, rule: Rule, workload: Workload | None, hazard: Hazard, scenario: Scenario) -> RuleResult:
        source = hazard.source or (workload.source if workload else None)
        wanted = self.options.severity(rule.slug, source.path if source else "")
        severity = severity_of(rule, hazard, wanted)
        member = None if workload is None else scenario.member(workload)
        if wanted is None and must_survive(rule, member, hazard, self.options):
            severity = Severity.ERROR
        judged = RuleResult(rule, workload, hazard, finding_of(rule, hazard, severity, workload), wanted is not None)
        if scenario.objects.schedulers:
            from kubesched_lint.linter.results.configured import with_configuration

            judged = with_configuration(judged, scenario)
        if rule.about == "verdict":  # the table of verdicts has asked other scenarios
            return if_fixed(judged, scenario)
        if severity is not Severity.ERROR:
            return judged
        from kubesched_lint.linter.premises.what_if import OF_ERRORS

        return surviving(judged, scenario, OF_ERRORS, self._again) or judged
