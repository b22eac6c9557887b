"""The pipeline on one page: a manifest set and a cluster go in, judged and placed findings come out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from kubesched_lint import work
from kubesched_lint.analysis.transient import settled
from kubesched_lint.analysis.worlds import without_suspended
from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.engine.applies import (
    argues_of_pods,
    as_told_by,
    concerns_nobody,
    is_cut_short,
    is_past_scheduler,
    lacking,
    rests_on_nodes,
    stands_already,
)
from kubesched_lint.engine.judged import Judged, assuming, finding_of, identity_of, numbered, severity_of
from kubesched_lint.engine.options import Options
from kubesched_lint.engine.reading import ManifestSet, no_longer_served, ref_of
from kubesched_lint.findings import (
    Hazard,
    InputError,
    Report,
    Severity,
    Skip,
    Source,
    Summary,
    UncheckedError,
)
from kubesched_lint.manifests.document import Document
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import replace
from kubesched_lint.rulebook.library import Rule
from kubesched_lint.rulebook.rule import Check
from kubesched_lint.world.world import Premises, World

if TYPE_CHECKING:
    from kubesched_lint.engine.duplicate_definitions import DuplicateDefinitions
    from kubesched_lint.model.inventory import Inventory

_TOO_MANY_NODES = "not examined: the pools could make more nodes for this set than are looked at"
_HAZARD_STEPS = 200
"""What it costs to place and word one hazard."""
MOST_STEPS, STEPS_EACH, LEAST_STEPS = 8_000_000, 1_000, 20_000
"""Of a run, for each of its documents, and of a rule when those are spent: see ``work``."""


def lint(
    manifests: ManifestSet, cluster: Cluster | None, options: Options, rules: Sequence[Rule]
) -> tuple[Report, tuple[Judged, ...]]:
    """Runs the rules; waivers, baselines and reports come after. Pure."""
    with work.within(MOST_STEPS + STEPS_EACH * len(manifests.documents)):
        return _lint(manifests, cluster, options, rules)


def _lint(
    manifests: ManifestSet, cluster: Cluster | None, options: Options, rules: Sequence[Rule]
) -> tuple[Report, tuple[Judged, ...]]:
    complete = manifests.is_complete and not options.partial
    premises = Premises(options.apply_order, options.kubernetes_version, complete)
    run = _Run(manifests, options, premises)
    world = World(manifests.inventory, None if cluster is None else settled(cluster), premises)
    world.refused = manifests.refused if manifests.judged_for == options.kubernetes_version else None
    run.rules(rules, world)
    if cluster is not None and cluster.passing:
        run.today(rules, World(manifests.inventory, cluster, premises), cluster)
    judged = tuple(_told_once(_not_ignored(run.judged, options), manifests))
    if judged:  # a clean set never asks
        from kubesched_lint.engine.unfilled import without_open_text
        from kubesched_lint.engine.yielding import without_yielding

        judged, unfilled = without_open_text(tuple(without_yielding(judged)))
        run.skipped.extend(unfilled)
        if cluster is not None and any(j.finding.severity is Severity.ERROR for j in judged):
            from kubesched_lint.engine.refuting import established

            judged = tuple(established(judged, lambda one: run.as_meant(one, world)))
    findings = sorted((j.finding for j in judged), key=lambda f: (f.location.path, f.location.span, f.rule))
    report = Report(
        tuple(numbered(findings)),
        tuple(run.skipped),
        (*manifests.errors, *run.failed.values()),
        Summary(
            files=len({d.path for d in manifests.documents} | {u.path for u in manifests.unread}),
            documents=len(manifests.documents) + len(manifests.unread),
            workloads=len(manifests.inventory.workloads),
            unread_kinds=manifests.unread_kinds,
            rules=run.ran,
            notes=(
                *(run.namesakes.notes() if run.namesakes else ()),
                *no_longer_served(manifests.unread, options.kubernetes_version),
                *_lack_notes(world),
                *work.tried(lambda: [*_pool_notes(without_suspended(world))], ["what the pools would add is left out"]),
            ),
        ),
    )
    return report, judged


def _lack_notes(world: World) -> Iterator[str]:
    """Classes and volumes that nobody told us of."""
    if world.cluster is not None and world.manifests.workloads:
        from kubesched_lint.analysis.lacks import in_one_line

        yield from in_one_line(world)


def _pool_notes(world: World) -> Iterator[str]:
    """What the pools are and what they would add."""
    if world.pools and world.cluster is not None:
        from kubesched_lint.analysis.pool_notes import pool_notes

        yield from pool_notes(world)


class _Run:
    """One pass over the rules, gathering what they say."""

    def __init__(self, manifests: ManifestSet, options: Options, premises: Premises) -> None:
        self.manifests = manifests
        self.options = options
        self.premises = premises
        self.judged: list[Judged] = []
        self.skipped: list[Skip] = []
        self.failed: dict[str, InputError] = {}
        self.ran = 0
        self._found: dict[tuple[tuple[str, ...], tuple[str, ...]], Sequence[Workload]] = {}
        self._having: dict[str, Sequence[Workload]] = {}
        self._views: dict[object, tuple[World, ...]] = {}
        self._parts: dict[tuple[int, int], World] = {}
        self._heard: dict[tuple[object, ...], Sequence[Judged]] = {}

    def rules(self, rules: Iterable[Rule], world: World) -> None:
        for rule in sorted(rules, key=lambda rule: rule.each != "document"):  # first what is refused
            missing = lacking(rule, world)
            if rule.each == "waiver":
                self.ran += 1  # engine.suppression runs it, when all others have spoken
            elif missing:
                self.skipped.append(Skip(rule.slug, missing))
            else:
                self.ran += 1
                self._hear(rule, world)

    def _hear(self, rule: Rule, world: World) -> None:
        """What a rule says within its share of the work: of what lies beyond it nothing is known."""
        try:
            with work.within(work.share(LEAST_STEPS)):
                for judged in self._of_taken(rule, world):
                    self.judged.append(judged)
        except work.OutOfWorkError as reason:
            self._skip(rule, reason)

    def _skip(self, rule: Rule, reason: UncheckedError) -> None:
        skip = Skip(rule.slug, str(reason), isinstance(reason, work.OutOfWorkError))
        if skip not in self.skipped:
            self.skipped.append(skip)

    def today(self, rules: Iterable[Rule], world: World, cluster: Cluster) -> None:
        """What holds only while cordons and passing taints last is at most a warning that says so."""
        known = {identity_of(j) for j in self.judged}
        premise = cluster.passing_premise
        for rule in rules:
            if rests_on_nodes(rule) and not lacking(rule, world):
                before = len(self.judged)
                self._hear(rule, world)
                passing = [assuming(one, premise) for one in self.judged[before:] if identity_of(one) not in known]
                self.judged[before:] = passing

    def _of_taken(self, rule: Rule, world: World) -> Iterator[Judged]:
        """Objects that the API server refuses make no pods: nothing about others is an error because of them."""
        if rule.each not in ("workload", "set") or not rests_on_nodes(rule) or not self.refused:
            yield from self._of_made_pods(rule, world)
            return
        taken = self._world_of(self._taken, world)
        if rule.each == "set":
            yield from self._of_made_pods(rule, taken)
            return
        for judged in self._of_made_pods(rule, world):
            itself = any(judged.workload is workload for workload in self.refused)
            leans = judged.finding.evidence.kind in ("proof", "witness") and not itself
            if leans and not any(True for _ in self._again(rule, judged, taken)):
                judged = assuming(judged, f"what the API server refuses is mended: {', '.join(map(str, self.refused))}")
            yield judged

    @cached_property
    def refused(self) -> tuple[Workload, ...]:
        """Workloads that the API server refuses, once the rules about documents have spoken: usually none."""
        blamed = {id(j.hazard.source) for j in self.judged if j.rule.refuses and j.hazard.severity is None}
        return tuple(w for w in self.manifests.inventory.workloads if id(w.source) in blamed) if blamed else ()

    @cached_property
    def _taken(self) -> Inventory:
        from kubesched_lint.analysis.held import without

        return without(self.manifests.inventory, self.refused)

    def _of_made_pods(self, rule: Rule, world: World) -> Iterator[Judged]:
        """What rests on pods that are made only once somebody resumes their workload is at most a warning."""
        if not self.held or rule.each not in ("workload", "set"):
            yield from self._confirmed(rule, world)
            return
        from kubesched_lint.analysis.held import premise, premise_of_others

        now = without_suspended(world)
        for judged in self._confirmed(rule, world):
            if judged.finding.evidence.kind not in ("proof", "witness"):
                yield judged
            elif judged.workload is not None and judged.workload.held:
                yield assuming(judged, premise(judged.workload))
            else:
                again = next(self._again(rule, judged, now), None)
                yield again or assuming(judged, premise_of_others(self.held))

    @cached_property
    def held(self) -> tuple[Workload, ...]:
        """Paused Deployments, suspended Jobs and CronJobs: usually none."""
        return tuple(w for w in self.manifests.inventory.workloads if w.held)

    def _confirmed(self, rule: Rule, world: World) -> Iterator[Judged]:
        """What one rule says, of a set in which each object is defined once."""
        if self.namesakes is None or rule.each not in ("workload", "set") or rule.every_definition:
            yield from self._judgements(rule, world)
            return
        seen = set()
        for judged in chain(self._judgements(rule, world), self._of_namesakes(rule, world)):
            if identity_of(judged) in seen:
                continue
            seen.add(identity_of(judged))
            meant = (judged.workload and judged.workload.source) or judged.hazard.source
            views = (world,) if meant is None else self._seen_from(meant, world)
            again = [one for view in views for one in self._again(rule, judged, view)]
            if again and meant is not None and argues_of_pods(rule, judged) and self.namesakes.is_replaced(meant):
                yield assuming(again[0], "this definition is applied alone: the file replaces it further down")
            elif len(again) == len(views):
                yield min(again, key=lambda one: one.finding.severity)
            elif again:
                yield assuming(
                    again[0], "of what is defined more than once that definition is applied which leads to this"
                )

    def _of_namesakes(self, rule: Rule, world: World) -> Iterator[Judged]:
        """What is said of a workload that is defined more than once where it is defined once.

        A second copy of it is no other workload: beside it, nothing need be said of either.
        """
        assert self.namesakes is not None
        for workload in self._carriers(rule) if rule.each == "workload" else ():
            if workload.source is not None and self.namesakes.defines_again(workload):
                for view in self._seen_from(workload.source, world):
                    yield from self._judged_in(rule, workload, view)

    def _again(self, rule: Rule, judged: Judged, world: World) -> Iterator[Judged]:
        """The same finding, when the rule is asked of another world."""
        like = identity_of(judged)
        yield from [one for one in self._judged_in(rule, judged.workload, world) if identity_of(one) == like][:1]

    def _judged_in(self, rule: Rule, workload: Workload | None, world: World) -> Sequence[Judged]:
        key = (rule.slug, id(workload), id(world))
        if key not in self._heard:
            self._heard[key] = tuple(self._judgements(rule, world, workload))
        return self._heard[key]

    def _seen_from(self, source: Source, world: World) -> tuple[World, ...]:
        assert self.namesakes is not None
        key = (self.namesakes.view(source), id(world))
        if key not in self._views:
            self._views[key] = tuple(self._world_of(manifests, world) for manifests in self.namesakes.seen_from(source))
        return self._views[key]

    def as_meant(self, judged: Judged, world: World) -> World:
        """The world with one definition of each object, those that the finding is about among them."""
        meant = (judged.workload and judged.workload.source) or judged.hazard.source
        return world if self.namesakes is None or meant is None else self._seen_from(meant, world)[0]

    def _world_of(self, manifests: Inventory, world: World) -> World:
        """The world of a part of the set on the same nodes."""
        key = (id(manifests), id(world))
        if key not in self._parts:
            self._parts[key] = world.with_manifests(manifests)
        return self._parts[key]

    @cached_property
    def namesakes(self) -> DuplicateDefinitions | None:
        """What is defined more than once; None where nothing is, which is usual."""
        if not self.manifests.inventory.has_namesakes:
            return None
        from kubesched_lint.engine.duplicate_definitions import DuplicateDefinitions

        return DuplicateDefinitions(self.manifests.inventory)

    def _judgements(self, rule: Rule, world: World, only: Workload | None = None) -> Iterator[Judged]:
        """What one rule says, of all workloads or of one. A check that raises is one error; the others still run."""
        subjects = self._subjects(rule, world) if only is None else (only,)
        if not subjects:
            return  # most files have nothing that most rules look at: their checks are not even imported
        params = {**rule.params, **self.options.params.get(rule.slug, {})}
        try:
            check = rule.check()
        except Exception as error:
            self._failed(rule, None, error)
            return
        for subject in subjects:
            workload = subject if isinstance(subject, Workload) else None
            try:
                for hazard in self._asked(check, subject, world, params):
                    work.spend(_HAZARD_STEPS)
                    if workload is not None and (
                        is_past_scheduler(rule, workload, hazard)
                        or concerns_nobody(rule, world.member(workload), hazard)
                    ):
                        continue
                    if is_cut_short(hazard, world):
                        raise UncheckedError(_TOO_MANY_NODES)
                    placed = self._placed(hazard, subject) if isinstance(subject, Document) else hazard
                    yield self._judge(rule, workload, placed, world)
            except UncheckedError as reason:
                self._skip(rule, reason)
            except Exception as error:
                self._failed(rule, workload, error)

    @staticmethod
    def _asked(
        check: Check, subject: Workload | Document | None, world: World, params: Mapping[str, object]
    ) -> Iterator[Hazard]:
        """What a check says of a workload, of a document, or of the set as a whole."""
        if subject is None:
            return check(world, **params)
        return (
            check(subject, world, **params) if isinstance(subject, Document) else check(world.member(subject), **params)
        )

    def _subjects(self, rule: Rule, world: World) -> Sequence[Workload | Document | None]:
        """What a rule looks at, one by one; None for the set as a whole."""
        if rule.beside and world.kinds.isdisjoint(rule.beside):
            return ()
        if rule.each == "set":
            return (None,)
        if rule.each != "document":
            return self._carriers(rule)
        if world.refused is None or not rule.refuses:
            return self.manifests.documents
        return tuple(document for document in self.manifests.documents if id(document) in world.refused)

    def _carriers(self, rule: Rule) -> Sequence[Workload]:
        """The workloads that a rule looks at; rules that look at the same share the search."""
        key = (rule.kinds, rule.features)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = rule.among(self.manifests.inventory.workloads, self._having)
        return found

    def _placed(self, hazard: Hazard, document: Document) -> Hazard:
        victim = hazard.victim or ref_of(document, self.options.namespace)
        return replace(hazard, source=hazard.source or document, victim=victim)

    def _failed(self, rule: Rule, workload: Workload | None, error: Exception) -> None:
        """One error for a rule, however many workloads it fails on."""
        if rule.slug not in self.failed:
            where = f" on {workload}" if workload else ""
            text = f"rule {rule.slug} failed{where} with {type(error).__name__}: {error}"
            line = getattr(error, "line", 0)  # an expression knows where it stands in its card
            self.failed[rule.slug] = InputError(rule.card or f"rules/{rule.slug}.md", text, line, min(line, 1))

    def _judge(self, rule: Rule, workload: Workload | None, hazard: Hazard, world: World) -> Judged:
        source = hazard.source or (workload.source if workload else None)
        wanted = self.options.severity(rule.slug, source.path if source else "")
        severity = severity_of(rule, hazard, wanted)
        judged = Judged(rule, workload, hazard, finding_of(rule, hazard, severity, workload))
        if severity is Severity.ERROR and rests_on_nodes(rule) and workload is not None:
            judged = as_told_by(judged, workload)
        if severity is Severity.ERROR and workload is not None and stands_already(rule, world.member(workload), hazard):
            judged = assuming(judged, "its pods are made anew: those that run stay while the template is unchanged")
        if judged.finding.severity is Severity.ERROR and rests_on_nodes(rule) and world.cluster and world.is_elastic:
            lowered = assuming(judged, world.cluster.elastic_premise)
            fixed = None if world.pools else severity  # what pools may add is no matter of --fixed alone
            return replace(lowered, finding=replace(lowered.finding, if_fixed=fixed))
        return judged


def _not_ignored(judged: Iterable[Judged], options: Options) -> Iterator[Judged]:
    """Without what an override leaves out, before others yield to it."""
    for one in judged:
        if not options.overrides or not options.ignores(one.rule.slug, one.finding.location.path):
            yield one


def _told_once(judged: Iterable[Judged], manifests: ManifestSet) -> Iterator[Judged]:
    """Without findings of document rules about what is an error of the input already, told in its own list."""
    undecoded = {id(document): paths for document, paths in manifests.undecoded}
    for one in judged:
        told = undecoded.get(id(one.hazard.source), ()) if one.rule.each == "document" else ()
        at = one.hazard.at
        if not any(path[: len(at)] == at or at[: len(path)] == path for path in told):
            yield one
