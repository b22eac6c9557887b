"""Search for remedies: one is applied only if linting again shows that its finding is gone and no new one appears.

A round tries all remedies together; if that fails, it tries each half. The next round tries further remedies for the
findings that remain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.commands.fix.proposals import (
    Placed,
    Proposal,
    Subject,
    by_hand,
    fix_of,
    key_of,
    placed,
    rank,
    remedies,
    subject_of,
)
from kubesched_lint.commands.fix.workspace import OpenFile, Workspace
from kubesched_lint.commands.limits import MOST_REMEDIES, MOST_TRIALS
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.limits import MOST_STEPS, STEPS_EACH
from kubesched_lint.engine.base.places import Location, Path
from kubesched_lint.engine.base.text import SHOWN, many
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.remedies.remedy import Remedy, in_source, written
from kubesched_lint.findings import Finding, Fix, Report, Severity
from kubesched_lint.linter.globs import Globs
from kubesched_lint.linter.lint import lasting_scenario
from kubesched_lint.linter.linted import Linted, linted
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.linter.results.causes import number_of
from kubesched_lint.linter.results.proposed import source_of
from kubesched_lint.linter.results.rule_results import RuleResult
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests.changes import ChangeError
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.limits import LARGEST

NO_REASONS: Mapping[str, str] = MappingProxyType({})
_UNLIMITED = 1e15
"""A limit that only counts."""


class Mended(Struct, frozen=True):
    """The result of a search: the changed files, and the applied ``fixes`` for findings of the given report."""

    open_files: tuple[OpenFile, ...] = ()
    fixed: int = 0
    findings: int = 0
    """Open findings before."""
    unsafe: int = 0
    """Number of remaining findings that --unsafe-fixes would fix; a lower bound if not ``counted``."""
    counted: bool = True
    """Whether ``unsafe`` is exact; an exact count may cost too much."""
    refused: tuple[str, ...] = ()
    """Why remedies could not be written, one sentence each."""
    fixes: Mapping[Placed, Fix] = field(default_factory=dict)


def mend(
    manifests: ManifestSet,
    cluster: Cluster | None,
    options: Options,
    rulebook: Rulebook,
    report: Report,
    *,
    unsafe: bool = False,
    closed: Mapping[str, str] = NO_REASONS,
    known: Linted | None = None,
) -> Mended:
    """Return the files with fixes for open findings of ``report``, in memory; reads each of these files again.

    ``closed`` as in ``Workspace``; ``known`` as in ``fixes_of``, if the caller has it. A second YAML parser reads each
    changed file; a file that it reads differently stays unchanged.
    """
    wanted = [finding for finding in report.findings if finding.suppressed is None]
    while True:
        search = _FixSearch(cluster, options, rulebook, frozenset(map(subject_of, wanted)), unsafe)
        mended = _mended(search, search.linted(Workspace(manifests, closed=closed), known), number_of(wanted), unsafe)
        objections = {open_file.path: words for open_file in mended.open_files if (words := open_file.objection())}
        if not objections:
            return mended
        closed = {**closed, **objections}


def fix_of_one(
    manifests: ManifestSet,
    cluster: Cluster | None,
    options: Options,
    rulebook: Rulebook,
    finding: Finding,
    buffers: Mapping[str, bytes],
) -> Fix | None:
    """Return a fix for this finding alone, the safe ones first; None if none of its rule's remedies passes.

    ``buffers`` as in ``Workspace``.
    """
    search = _FixSearch(cluster, options, rulebook, frozenset([subject_of(finding)]), True, placed(finding))
    start = search.linted(Workspace(manifests, buffers=buffers))
    result = search.mended(start, unsafe=True, most=MOST_REMEDIES)
    is_sound = not any(open_file.objection() for open_file in result.workspace.differing)
    return search.fixes.get(placed(finding)) if is_sound else None


def fixes_of(
    manifests: ManifestSet,
    cluster: Cluster | None,
    options: Options,
    rulebook: Rulebook,
    findings: Sequence[Finding],
    known: Linted,
) -> list[tuple[Finding, Fix]]:
    """Return those of some findings with a fix that pass together, as far as a few trials show.

    ``known``: the manifests as they are, linted with these options.
    """
    search = _FixSearch(cluster, options, rulebook, frozenset(map(subject_of, findings)), True)
    result = search.mended(search.linted(Workspace(manifests), known), unsafe=True, most=MOST_REMEDIES)
    unsound = {open_file.path for open_file in result.workspace.differing if open_file.objection()}
    fixes = ((finding, search.fixes.get(placed(finding))) for finding in findings)
    return [(finding, fix) for finding, fix in fixes if fix and unsound.isdisjoint(edit.path for edit in fix.edits)]


def _mended(search: _FixSearch, start: _State, findings: int, unsafe: bool) -> Mended:
    result = search.mended(start, unsafe=unsafe)
    applied = dict(search.fixes)
    further = result if unsafe else search.mended(result, unsafe=True, most=MOST_REMEDIES)
    return Mended(
        open_files=result.workspace.differing,
        fixed=search.count(start) - search.count(result),
        findings=findings,
        unsafe=search.count(result) - search.count(further),
        counted=not search.is_spent,
        refused=search.refused(result),
        fixes=applied,
    )


class _Refusal(Struct, frozen=True):
    """Why a remedy could not be written; messages have ``words`` before the reason."""

    place: Location
    reason: str
    words: str = ""


def _messages(refusals: Sequence[_Refusal]) -> Iterator[str]:
    """Yield a message per refusal of one file for one reason; one message for more than ``SHOWN`` of them."""
    first = refusals[0]
    if len(refusals) > SHOWN:
        yield f"{first.place.path}: {len(refusals):,} findings are not fixed: {first.reason}"
    else:
        counts = Counter(
            f"{refusal.place.path}:{refusal.place.span.line}: {refusal.words} {refusal.reason}" for refusal in refusals
        )
        yield from (f"{words} ({count} objects)" if count > 1 else words for words, count in counts.items())


class _State(Struct, frozen=True, dict=True):
    """Files, and the linter's results for them."""

    workspace: Workspace
    judged: tuple[RuleResult, ...]
    scenario: Scenario
    open: tuple[Finding, ...]
    all_open: tuple[Finding, ...]
    """The open findings of the selected rules and of all rules of the default profile."""
    errors: int
    skipped: frozenset[str]

    @cached_property
    def counts(self) -> Counter[Subject]:
        return Counter(map(subject_of, self.open))

    @cached_property
    def worst(self) -> Mapping[Subject, tuple[int, Severity]]:
        """(rule, object) → (number of findings, highest severity), with the patterns that another finding explains.

        A fix may bring such a pattern to light; a trial that fails after the fix is a new finding. A finding of the
        selected rules may be one that a rule outside them explains: it counts, too.
        """
        worst: dict[Subject, tuple[int, Severity]] = {}
        told = (*self.open, *self.all_open)
        patterns = (part for finding in told for part in finding.also if part.evidence.kind == "pattern")
        for finding in chain(told, patterns):
            number, severity = worst.get(subject_of(finding), (0, Severity.NOTE))
            worst[subject_of(finding)] = number + 1, max(severity, finding.severity)
        return worst

    def is_no_worse_than(self, before: _State) -> bool:
        if self.errors > before.errors or not self.skipped <= before.skipped:
            return False
        return not any(True for _ in self._worse_than(before))

    def _worse_than(self, before: _State) -> Iterator[Subject]:
        """Yield (rule, object) with more findings than ``before``, or with a higher severity."""
        nothing = (0, Severity.NOTE)
        for key, (number, severity) in self.worst.items():
            if number > before.worst.get(key, nothing)[0] or severity > before.worst[key][1]:
                yield key

    def spares(self, finding: Finding, before: _State, gone: int) -> bool:
        """Return whether ``gone`` findings like this one are gone, and its object has no new one."""
        key = subject_of(finding)
        if self.counts[key] > before.counts[key] - gone:
            return False
        return all(subject != finding.object for _, subject in self._worse_than(before))


def _proposal(
    workspace: Workspace, judged: RuleResult, remedy: Remedy, document: Document, exclude: Globs
) -> tuple[Workspace, Proposal]:
    """Return the workspace with the file open that a remedy changes, and the proposal. Raises ChangeError."""
    if document.rendering is None:
        workspace, number = workspace.open(document)
        return workspace, Proposal(judged, remedy, document.path, number)
    in_sources = in_source(remedy, document)
    if in_sources is None:
        raise ChangeError(by_hand(remedy, document))
    changed, source = in_sources
    if exclude.covers(source.path):
        raise ChangeError("the file is excluded")
    workspace, number = workspace.open_source(source)
    return workspace, Proposal(judged, changed, source.path, number)


class _FixSearch:
    """Cluster, options and rules of the run, and the remedies that it has tried."""

    def __init__(
        self,
        cluster: Cluster | None,
        options: Options,
        rulebook: Rulebook,
        wanted: frozenset[Subject],
        unsafe: bool,
        only: Placed | None = None,
    ) -> None:
        """``only``: the single finding to fix of those that are wanted."""
        self._cluster = cluster
        self._options = options
        self._book = rulebook
        self._rules = options.rules(rulebook)
        every = {rule.slug: rule for rule in (*rulebook.select("ci", (), options.ignore), *self._rules)}
        self._every = tuple(every[slug] for slug in sorted(every))
        self._wanted = wanted
        self._unsafe = unsafe
        self._only = only
        self._trials = 0
        self._last = MOST_TRIALS
        self._left: float | None = None
        """Steps left for trials; None before the first one."""
        self._read = 0
        self._tried: set[tuple[Subject, Path, str]] = set()
        """The remedies that get no further trial."""
        self._helped = 0
        """The number of trials that did good."""
        self._failed: dict[tuple[Subject, Path, str], int] = {}
        """Remedy that did no good alone → ``_helped`` then: it gets one more trial once another has helped."""
        self._refused: dict[Subject, _Refusal] = {}
        self.fixes: dict[Placed, Fix] = {}

    @property
    def is_spent(self) -> bool:
        """Whether no trial is left."""
        return self._trials >= self._last or self._is_too_long

    @property
    def _is_too_long(self) -> bool:
        return self._left is not None and self._left <= 0

    def count(self, state: _State) -> int:
        """Return the number of open findings among those to fix."""
        return number_of(finding for finding in state.open if subject_of(finding) in self._wanted)

    def linted(self, workspace: Workspace, known: Linted | None = None) -> _State:
        """Return the linter's results for the files of the workspace. Uses a trial, one for each kustomization that was
        rendered for it, and the steps that it takes.
        """
        self._trials += 1 + workspace.rendered
        if self._left is None:
            most = MOST_STEPS if self._only is None else MOST_STEPS // 2
            self._left = most + STEPS_EACH * len(workspace.manifests.documents)
        with work.within(_UNLIMITED) as meter:
            state = self._linted(workspace, known)
        self._left -= meter.spent
        return state

    def _linted(self, workspace: Workspace, known: Linted | None) -> _State:
        """Lint the files of the workspace, unless they are ``known``: a rule that was cut short may see more now."""
        of_run = (workspace.manifests, self._cluster, self._options, self._book)
        if known is None or known.is_cut:
            scenario = lasting_scenario(workspace.manifests, self._cluster, self._options)
            scenario.is_told = False
            known = linted(*of_run, self._rules, is_refuting=False, scenario=scenario)
        own = every = known
        if self._every != self._rules:
            every = linted(*of_run, self._every, is_refuting=False, scenario=own.scenario)
        return _State(
            workspace,
            own.results,
            own.scenario,
            tuple(f for f in own.report.findings if f.suppressed is None),
            tuple(f for f in every.report.findings if f.suppressed is None),
            len(every.report.errors),
            frozenset(skip.rule for skip in every.report.skipped),
        )

    def mended(self, state: _State, *, unsafe: bool, most: int = MOST_TRIALS) -> _State:
        """Return the state after all (``unsafe``) or all safe remedies that help and do no harm, in ``most`` trials."""
        self._last = min(self._trials + most, MOST_TRIALS)
        while not self.is_spent:
            workspace, batch = self._batch(state, unsafe)
            if not batch:
                break
            state = self._with(replace(state, workspace=workspace), batch)
        return state

    def _batch(self, state: _State, unsafe: bool) -> tuple[Workspace, list[Proposal]]:
        """Return the workspace, and for each finding the first untried remedy, for each object those of one rule.

        Rollout strategies come last, because other remedies may fix a rollout too. After a remedy that shifts paths,
        the batch takes no further one for the same object.
        """
        workspace, batch = state.workspace, []
        claimed: dict[tuple[str, int], str] = {}
        for judged, remedy, document in sorted(self._untried(state, unsafe), key=lambda untried: rank(untried[1])):
            try:
                workspace, proposal = _proposal(workspace, judged, *written(remedy, document), self._options.exclude)
            except ChangeError as reason:
                self._refuse(judged, remedy, reason)
                continue
            number = proposal.number
            if claimed.setdefault((proposal.path, number), judged.rule.slug) == judged.rule.slug:
                batch.append(proposal)
                if proposal.shifts:
                    claimed[proposal.path, number] = ""
        return workspace, batch

    def _untried(self, state: _State, unsafe: bool) -> Iterator[tuple[RuleResult, Remedy, Document]]:
        is_open = {placed(finding) for finding in state.open if self._only in (None, placed(finding))}
        for judged in state.judged:
            finding = judged.finding
            if not judged.rule.fix or subject_of(finding) not in self._wanted or placed(finding) not in is_open:
                continue
            for remedy in sorted(self._remedies(judged, state.scenario), key=lambda remedy: not remedy.safe):
                source = remedy.source or source_of(judged)
                if (remedy.safe or unsafe) and self._may_help(key_of(judged, remedy)):
                    if isinstance(source, Document):
                        yield judged, remedy, source
                    break

    def _may_help(self, key: tuple[Subject, Path, str]) -> bool:
        return key not in self._tried and self._failed.get(key) != self._helped

    def _remedies(self, judged: RuleResult, scenario: Scenario) -> Iterator[Remedy]:
        """Yield the remedies of the rule's fix. If the fix raises, the finding stays and a message says so."""
        try:
            yield from islice(remedies(judged, scenario), MOST_REMEDIES)
        except Exception as error:
            words = f"the fix of {judged.rule.slug} failed with"
            refusal = _Refusal(judged.finding.location, f"{type(error).__name__}: {error}", words)
            self._refused.setdefault(subject_of(judged.finding), refusal)

    def _with(self, before: _State, batch: Sequence[Proposal]) -> _State:
        """Return the state with the whole batch applied if that helps, else with what helps of each part of it."""
        workspace, made, fixes = before.workspace, [], {}
        done: set[tuple[str, int, str]] = set()
        for proposal in batch:
            if proposal.edit in done:  # another environment has the same finding
                made.append(proposal)
                continue
            try:
                if self._read > LARGEST:
                    raise ChangeError("one run changes no more text: run --fix again to continue")
                after_this = proposal.made(workspace)
                self._read += proposal.size(after_this)
                fixes[placed(proposal.judged.finding)] = fix_of(proposal, workspace, after_this)
                workspace = after_this
                made.append(proposal)
                done.add(proposal.edit)
            except ChangeError as reason:
                self._refuse(proposal.judged, proposal.remedy, reason)
        if not made or self.is_spent:
            return before
        after = self.linted(workspace.reread(self._options.namespace))
        gone = Counter(subject_of(proposal.judged.finding) for proposal in made)
        helps = all(after.counts[key] <= before.counts[key] - number for key, number in gone.items())
        if helps and after.is_no_worse_than(before):
            self._tried.update(proposal.key for proposal in made)
            self._helped += 1
            self.fixes = {**{place: fix for place, fix in fixes.items() if fix is not None}, **self.fixes}
            return after
        if len(made) == 1:
            key = made[0].key
            if self._failed.setdefault(key, self._helped) != self._helped:
                self._tried.add(key)
            return before
        guilty = [o for o in made if not after.spares(o.judged.finding, before, gone[subject_of(o.judged.finding)])]
        if 0 < len(guilty) < len(made):
            return self._with(self._with(before, [proposal for proposal in made if proposal not in guilty]), guilty)
        half = len(made) // 2
        return self._with(self._with(before, made[:half]), made[half:])

    def _refuse(self, judged: RuleResult, remedy: Remedy, reason: ChangeError) -> None:
        self._tried.add(key_of(judged, remedy))
        refusal = _Refusal(judged.finding.location, str(reason), f"{judged.rule.slug} is not fixed:")
        if remedy.safe or self._unsafe:
            self._refused.setdefault(subject_of(judged.finding), refusal)

    def refused(self, state: _State) -> tuple[str, ...]:
        """Return messages about the remaining findings whose remedies could not be written."""
        alike: dict[tuple[str, str], list[_Refusal]] = {}
        for key, refusal in self._refused.items():
            if state.counts[key]:
                alike.setdefault((refusal.place.path, refusal.reason), []).append(refusal)
        left = [words for refusals in alike.values() for words in _messages(refusals)]
        if self.count(state) and (self._trials >= MOST_TRIALS or self._is_too_long):
            left.append(f"stopped after {many(self._trials, 'trial')}: run --fix again to continue")
        return tuple(left)
