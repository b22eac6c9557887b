"""What findings can be mended: a remedy is taken only when re-linting shows that its finding goes and none comes.

Remedies are tried all at once; where that does not do, in halves. What one round leaves, the next one looks at anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kubesched_lint.analysis.remedy import Remedy, is_fixed
from kubesched_lint.analysis.transient import settled
from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.engine.judged import Judged
from kubesched_lint.engine.linter import lint
from kubesched_lint.engine.options import Options
from kubesched_lint.engine.reading import ManifestSet
from kubesched_lint.engine.suppression import suppress
from kubesched_lint.engine.workspace import OpenFile, Workspace
from kubesched_lint.findings import Edit, Finding, Fix, Location, ObjectRef, Path, Report, Severity, Source, Span
from kubesched_lint.manifests.changes import ChangeError, Put, Remove, Rename
from kubesched_lint.manifests.document import Document
from kubesched_lint.manifests.split import text_of
from kubesched_lint.record import replace
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.world.world import World

MOST_TRIALS = 200
"""How often a set is linted anew, whatever there is to mend."""
MOST_CHARACTERS = 20_000_000
"""How many characters are read for edits in one run: each edit reads its whole file, and is tried more than once."""
_MOST_TO_COUNT = 10
"""How often only to say how many more --unsafe-fixes would mend."""
_FEW = 3
_PACE = (("spec", "strategy"), ("spec", "updateStrategy"))
Told = tuple[str, ObjectRef]
"""Rule and object of a finding: what survives moved lines."""
Placed = tuple[str, Location, str]
"""Rule, place and message of a finding in the files as they were read."""


@dataclass(frozen=True, slots=True)
class Mended:
    """``sheets`` are the files that would differ; ``fixes`` those taken for findings of the report as it was given."""

    sheets: tuple[OpenFile, ...] = ()
    fixed: int = 0
    findings: int = 0
    """Open findings before."""
    unsafe: int = 0
    """Findings that remain and that --unsafe-fixes would mend as well, or some of them."""
    counted: bool = True
    """Whether ``unsafe`` is all of them: to find that out may cost too much."""
    refused: tuple[str, ...] = ()
    """Why remedies found no place in the text, one sentence each."""
    fixes: Mapping[Placed, Fix] = field(default_factory=dict)


def mend(
    manifests: ManifestSet,
    cluster: Cluster | None,
    options: Options,
    rulebook: Rulebook,
    report: Report,
    *,
    unsafe: bool = False,
) -> Mended:
    """Mends in memory what can be of the open findings of ``report``. Reads the files concerned once more.

    Each changed file is held against another YAML reader. One that it takes for something else is left as it is.
    """
    wanted = [finding for finding in report.findings if finding.suppressed is None]
    closed: dict[str, str] = {}
    while True:
        search = _FixSearch(cluster, options, rulebook, frozenset(map(told, wanted)), unsafe)
        mended = _mended(search, Workspace(manifests, closed=closed), len(wanted), unsafe)
        objections = {sheet.path: words for sheet in mended.sheets if (words := sheet.objection())}
        if not objections:
            return mended
        closed = {**closed, **objections}


def _mended(search: _FixSearch, workspace: Workspace, findings: int, unsafe: bool) -> Mended:
    start = search.seen(workspace)
    result = search.mended(start, unsafe=unsafe)
    taken = dict(search.fixes)
    further = result if unsafe else search.mended(result, unsafe=True, most=_MOST_TO_COUNT)
    return Mended(
        sheets=result.workspace.differing,
        fixed=search.count(start) - search.count(result),
        findings=findings,
        unsafe=search.count(result) - search.count(further),
        counted=not search.is_spent,
        refused=search.refused(result),
        fixes=taken,
    )


def told(finding: Finding) -> Told:
    return finding.rule, finding.object


def placed(finding: Finding) -> Placed:
    return finding.rule, finding.location, finding.message


@dataclass(frozen=True, slots=True)
class _Offer:
    """A remedy for a finding, and the object that it changes: document ``number`` of the file ``path``."""

    judged: Judged
    remedy: Remedy
    path: str
    number: int

    @property
    def key(self) -> tuple[Told, Path, str]:
        return _key(self.judged, self.remedy)

    @property
    def shifts(self) -> bool:
        """Whether paths of other remedies may mean something else when this one is through."""
        return any(isinstance(change, Remove) for change in self.remedy.changes)

    def made(self, workspace: Workspace) -> Workspace:
        """The workspace with the change. Raises ChangeError."""
        return workspace.changed(self.path, self.number, self.remedy.changes)

    def size(self, workspace: Workspace) -> int:
        """How many bytes are read to make it."""
        sheet = workspace.sheets[self.path]
        return 0 if sheet is None else len(sheet.data) * len(self.remedy.changes)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a remedy found no place in the text; ``words`` stand before the reason."""

    place: Location
    reason: str
    words: str = ""


def _told_together(refusals: Sequence[_Refusal]) -> Iterator[str]:
    """Several of one file for one reason, each by itself while they are few."""
    first = refusals[0]
    if len(refusals) > _FEW:
        yield f"{first.place.path}: {len(refusals):,} findings are not fixed: {first.reason}"
    else:
        for one in refusals:
            yield f"{one.place.path}:{one.place.span.line}: {one.words} {one.reason}"


def _rank(remedy: Remedy) -> tuple[bool, bool]:
    paces = all(change.at[:2] in _PACE for change in remedy.changes)
    return paces, not all(isinstance(change, Put | Rename) for change in remedy.changes)


def _key(judged: Judged, remedy: Remedy) -> tuple[Told, Path, str]:
    return told(judged.finding), judged.hazard.at, remedy.title


@dataclass(frozen=True)
class _State:
    """Files, and what the linter says of them."""

    workspace: Workspace
    judged: tuple[Judged, ...]
    world: World
    open: tuple[Finding, ...]
    all_open: tuple[Finding, ...]
    """Under every rule of the default profile as well, whatever was selected."""
    errors: int
    skipped: frozenset[str]

    @cached_property
    def counts(self) -> Counter[Told]:
        return Counter(map(told, self.open))

    @cached_property
    def worst(self) -> Mapping[Told, tuple[int, Severity]]:
        """How often, and how badly at worst, each rule speaks of each object."""
        found: dict[Told, tuple[int, Severity]] = {}
        for finding in self.all_open:
            number, severity = found.get(told(finding), (0, Severity.NOTE))
            found[told(finding)] = number + 1, max(severity, finding.severity)
        return found

    def is_no_worse_than(self, before: _State) -> bool:
        if self.errors > before.errors or not self.skipped <= before.skipped:
            return False
        return not any(True for _ in self._worse_than(before))

    def _worse_than(self, before: _State) -> Iterator[Told]:
        """Of which objects a rule says more than before, or says it more gravely."""
        nothing = (0, Severity.NOTE)
        for key, (number, severity) in self.worst.items():
            if number > before.worst.get(key, nothing)[0] or severity > before.worst[key][1]:
                yield key

    def spares(self, finding: Finding, before: _State, gone: int) -> bool:
        """Whether so many findings like this one are gone, and its object has no new one."""
        if self.counts[told(finding)] > before.counts[told(finding)] - gone:
            return False
        return all(subject != finding.object for _, subject in self._worse_than(before))


class _FixSearch:
    """Cluster, options and rules of the run, and what has been tried on it."""

    def __init__(
        self, cluster: Cluster | None, options: Options, rulebook: Rulebook, wanted: frozenset[Told], unsafe: bool
    ) -> None:
        self._cluster = cluster
        self._settled = None if cluster is None else settled(cluster)
        self._options = options
        self._book = rulebook
        self._rules = rulebook.select(options.profile, options.select, options.ignore)
        every = {rule.slug: rule for rule in (*rulebook.select("ci", (), options.ignore), *self._rules)}
        self._every = tuple(every[slug] for slug in sorted(every))
        self._wanted = wanted
        self._unsafe = unsafe
        self._trials = 0
        self._last = MOST_TRIALS
        self._read = 0
        self._tried: set[tuple[Told, Path, str]] = set()
        self._refused: dict[Told, _Refusal] = {}
        self.fixes: dict[Placed, Fix] = {}

    @property
    def is_spent(self) -> bool:
        """Whether no trial is left."""
        return self._trials >= self._last

    def count(self, state: _State) -> int:
        """Open findings among those that are wanted gone."""
        return sum(number for key, number in state.counts.items() if key in self._wanted)

    def seen(self, workspace: Workspace) -> _State:
        """What the linter says of the files as they are on the workspace."""
        self._trials += 1
        manifests = workspace.manifests
        report, judged = lint(manifests, self._cluster, self._options, self._rules)
        own = suppress(report, manifests, self._book, self._rules, self._options)
        every = own
        if self._every != self._rules:
            wider, _ = lint(manifests, self._cluster, self._options, self._every)
            every = suppress(wider, manifests, self._book, self._every, self._options)
        return _State(
            workspace,
            judged,
            World(manifests.inventory, self._settled, manifests.premises(self._options)),
            tuple(f for f in own.findings if f.suppressed is None),
            tuple(f for f in every.findings if f.suppressed is None),
            len(every.errors),
            frozenset(skip.rule for skip in every.skipped),
        )

    def mended(self, state: _State, *, unsafe: bool, most: int = MOST_TRIALS) -> _State:
        """After every remedy that helps and does no harm, in at most so many trials; the safe ones alone, or all."""
        self._last = min(self._trials + most, MOST_TRIALS)
        while not self.is_spent:
            workspace, batch = self._batch(state, unsafe)
            if not batch:
                break
            state = self._with(replace(state, workspace=workspace), batch)
        return state

    def _batch(self, state: _State, unsafe: bool) -> tuple[Workspace, list[_Offer]]:
        """For each finding the first remedy not tried yet, and for each object those of one rule alone.

        What mends one finding may mend another: how a rollout goes comes last, for it hangs on all the rest. A word
        corrected comes before something added, and nothing in the same object behind what may shift its paths.
        """
        workspace, batch = state.workspace, []
        claimed: dict[tuple[str, int], str] = {}
        for judged, remedy, document in sorted(self._untried(state, unsafe), key=lambda found: _rank(found[1])):
            try:
                workspace, number = workspace.open(document)
            except ChangeError as reason:
                self._refuse(judged, remedy, reason)
                continue
            offer = _Offer(judged, remedy, document.path, number)
            if claimed.setdefault((offer.path, number), judged.rule.slug) == judged.rule.slug:
                batch.append(offer)
                if offer.shifts:
                    claimed[offer.path, number] = ""
        return workspace, batch

    def _untried(self, state: _State, unsafe: bool) -> Iterator[tuple[Judged, Remedy, Document]]:
        spoken = {placed(finding) for finding in state.open}
        for judged in state.judged:
            if not judged.rule.fix or told(judged.finding) not in self._wanted or placed(judged.finding) not in spoken:
                continue
            for remedy in sorted(self._remedies(judged, state.world), key=lambda remedy: not remedy.safe):
                source = remedy.source or _source(judged)
                if (remedy.safe or unsafe) and _key(judged, remedy) not in self._tried:
                    if isinstance(source, Document):
                        yield judged, remedy, source
                    break

    def _remedies(self, judged: Judged, world: World) -> Iterator[Remedy]:
        """What its fix proposes. One that raises leaves the finding as it is, and is told of."""
        try:
            yield from remedies(judged, world)
        except Exception as error:
            words = f"the fix of {judged.rule.slug} failed with"
            refusal = _Refusal(judged.finding.location, f"{type(error).__name__}: {error}", words)
            self._refused.setdefault(told(judged.finding), refusal)

    def _with(self, before: _State, batch: Sequence[_Offer]) -> _State:
        """With all of a batch, or else with what of each half of it will do."""
        workspace, made, fixes = before.workspace, [], {}
        for offer in batch:
            try:
                if self._read > MOST_CHARACTERS:
                    raise ChangeError("this is as much as is changed at once: fix again to go on")
                after_this = offer.made(workspace)
                self._read += offer.size(after_this)
                fixes[placed(offer.judged.finding)] = _fix(offer, workspace, after_this)
                workspace = after_this
                made.append(offer)
            except ChangeError as reason:
                self._refuse(offer.judged, offer.remedy, reason)
        if not made or self.is_spent:
            return before
        after = self.seen(workspace.reread(self._options.namespace))
        gone = Counter(told(offer.judged.finding) for offer in made)
        helps = all(after.counts[key] <= before.counts[key] - number for key, number in gone.items())
        if helps and after.is_no_worse_than(before):
            self._tried.update(offer.key for offer in made)
            self.fixes = {**{place: fix for place, fix in fixes.items() if fix is not None}, **self.fixes}
            return after
        if len(made) == 1:
            self._tried.add(made[0].key)
            return before
        guilty = [o for o in made if not after.spares(o.judged.finding, before, gone[told(o.judged.finding)])]
        if 0 < len(guilty) < len(made):
            return self._with(self._with(before, [offer for offer in made if offer not in guilty]), guilty)
        half = len(made) // 2
        return self._with(self._with(before, made[:half]), made[half:])

    def _refuse(self, judged: Judged, remedy: Remedy, reason: ChangeError) -> None:
        self._tried.add(_key(judged, remedy))
        refusal = _Refusal(judged.finding.location, str(reason), f"{judged.rule.slug} is not fixed:")
        if remedy.safe or self._unsafe:
            self._refused.setdefault(told(judged.finding), refusal)

    def refused(self, state: _State) -> tuple[str, ...]:
        """Of the findings that are still there, why nothing could be written."""
        alike: dict[tuple[str, str], list[_Refusal]] = {}
        for key, refusal in self._refused.items():
            if state.counts[key]:
                alike.setdefault((refusal.place.path, refusal.reason), []).append(refusal)
        left = [words for refusals in alike.values() for words in _told_together(refusals)]
        if self._trials >= MOST_TRIALS:
            left.append(f"after {MOST_TRIALS} trials the rest is left as it is: fix again to go on")
        return tuple(left)


def remedies(judged: Judged, world: World) -> Iterator[Remedy]:
    """What the fix of its rule proposes for a finding, the best first; what the API server may refuse is not safe."""
    for remedy in _proposed(judged, world):
        source = remedy.source or _source(judged)
        kind = source.kind if isinstance(source, Document) else ""
        if not remedy.is_new and any(is_fixed(kind, change) for change in remedy.changes):
            words = f"{remedy.title} (the API server refuses it for a {kind} that exists: delete that one first)"
            yield replace(remedy, title=words, safe=False)
        else:
            yield remedy


def _proposed(judged: Judged, world: World) -> Iterator[Remedy]:
    subjects = (judged.hazard.source, world) if judged.workload is None else (world.member(judged.workload),)
    for remedy in judged.rule.mend()(judged.hazard, *subjects):
        yield remedy if remedy.title else replace(remedy, title=judged.finding.help)


def _source(judged: Judged) -> Source | None:
    return judged.hazard.source or (judged.workload.source if judged.workload else None)


def _fix(offer: _Offer, before: Workspace, after: Workspace) -> Fix | None:
    """As a report has it: None in a file that was changed before, whose lines are no longer those of the report."""
    sheet, made = before.sheets[offer.path], after.sheets[offer.path]
    if sheet is None or made is None or sheet.data != sheet.first:
        return None
    old, new = text_of(sheet.path, sheet.data), text_of(sheet.path, made.data)
    assert isinstance(old, str)
    assert isinstance(new, str)
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    span = Span(*_place(old, head), *_place(old, len(old) - tail))
    return Fix(offer.remedy.title, offer.remedy.safe, (Edit(sheet.path, span, new[head : len(new) - tail]),))


def _alike(one: str, other: str) -> int:
    """How many characters the beginnings of two texts share."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _place(text: str, at: int) -> tuple[int, int]:
    return 1 + text.count("\n", 0, at), at - text.rfind("\n", 0, at)
