"""One finding per cause: which finding names it best, and which others, and which verdicts, it explains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.cluster import STATES_LAST
from kubesched_lint.findings import Finding, Severity
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.results.rule_results import RuleResult
from kubesched_lint.rulebook.library import Rule


def explained(judged: Sequence[RuleResult]) -> Iterator[RuleResult]:
    """Yield the findings; one that explains a verdict has the verdict's severity and premises.

    Alone it may be a warning, because it weighs less than the verdict does: whether running pods stay, for example.
    """
    verdicts: dict[ObjectRef, list[RuleResult]] = {}
    for rule_result in judged:
        if rule_result.rule.about == "verdict" and rule_result.finding.severity >= Severity.WARNING:
            verdicts.setdefault(rule_result.finding.object, []).append(rule_result)
    for rule_result in judged:
        about = verdicts.get(rule_result.finding.object, ()) if verdicts and _may_explain(rule_result) else ()
        explains = (verdict for verdict in about if _explains(rule_result, verdict))
        verdict = max(explains, key=lambda verdict: verdict.finding.severity, default=None)
        yield rule_result if verdict is None else _as_severe(rule_result, verdict)


def _may_explain(rule_result: RuleResult) -> bool:
    rule, finding = rule_result.rule, rule_result.finding
    is_cause = rule.about == "placement" and not rule.preview and finding.evidence.kind == "proof"
    return is_cause and finding.severity is Severity.WARNING and not rule_result.is_set


def _explains(rule_result: RuleResult, verdict: RuleResult) -> bool:
    """Whether a verdict leaves at least as many pods missing, or has the same answer of the API server as its reason.

    What an endless rollout leaves missing for good is missing after any deploy: it creates the pods once more.
    """
    if rule_result.hazard.together and not set(verdict.hazard.together) <= set(rule_result.hazard.together):
        return False
    if _is_of_today(rule_result) and not _is_of_today(verdict):
        return False  # it counts fewer nodes than the verdict
    event, pending = rule_result.finding.evidence.event, rule_result.hazard.values.get("pending")
    missing, verdict_event = verdict.hazard.values["missing"], verdict.finding.evidence.event
    is_before = (event, verdict_event) == ("deploy", "rollout") and verdict.finding.severity is Severity.ERROR
    if verdict.hazard.values["because"] == rule_result.finding.evidence.text:
        return is_before or verdict_event == event
    assert isinstance(missing, int)
    if not isinstance(pending, int):
        return False
    return pending <= max(missing, 1) if verdict_event == event else is_before and 0 < pending <= missing


def _is_of_today(rule_result: RuleResult) -> bool:
    """Whether a finding rests on transient states of nodes."""
    return any(premise.startswith(STATES_LAST) for premise in rule_result.finding.evidence.assumes)


def _as_severe(rule_result: RuleResult, verdict: RuleResult) -> RuleResult:
    """Return the finding with the verdict's premises, and as an error if the verdict and its card allow that.

    The error is about the verdict's event: a quota of the same set may come too late for the deploy, and stop the next
    rollout for sure.
    """
    told = verdict.finding.evidence.assumes
    evidence = replace(rule_result.hazard.evidence, assumes=told)
    if verdict.finding.severity is not Severity.ERROR or rule_result.rule.severity is not Severity.ERROR:
        own = rule_result.finding.evidence.assumes
        both = (*(premise for premise in told if premise not in own), *own)
        return replace(rule_result, finding=replace(rule_result.finding, evidence=replace(evidence, assumes=both)))
    evidence = replace(evidence, event=verdict.finding.evidence.event)
    finding = replace(rule_result.finding, severity=Severity.ERROR, evidence=evidence, if_fixed=None, if_complete=None)
    return replace(rule_result, finding=finding)


def without_yielding(
    judged: Sequence[RuleResult], home: Callable[[RuleResult], object] = lambda rule_result: None
) -> Iterator[RuleResult]:
    """Yield the findings that no better one explains; the better ones list them in ``also``.

    An error never yields to a lower severity. It yields to a finding on another object only if that one counts all
    of its workloads. A trial does not yield to findings that explain fewer waiting pods. If rules yield in a circle,
    one finding stays. A finding of a stable rule stays beside one of a rule in preview, and names it in ``told_by``:
    who does not rely on rules in preview loses nothing. ``home`` returns the set that somebody applies and that has a
    finding; two findings meet if they are of one set or of one source.
    """
    explains, tells = _explanations(judged, home)
    parts: dict[RuleResult, list[Finding]] = {}
    for rule_result in judged:
        if rule_result in explains and rule_result.rule.about != "verdict":  # the same once more, in other words
            parts.setdefault(_last(rule_result, explains), []).append(rule_result.finding)
    for rule_result in judged:
        if rule_result not in explains:
            also = tuple(parts.get(rule_result, ()))
            told_by = _last(tells[rule_result], explains).rule.slug if rule_result in tells else ""
            yield (
                replace(rule_result, finding=replace(rule_result.finding, also=also, told_by=told_by))
                if also or told_by
                else rule_result
            )


def not_ignored(judged: Iterable[RuleResult], options: Options) -> Iterator[RuleResult]:
    """Yield the findings that no override ignores; applied before rules yield to each other.

    Who ignores the finding that explains a verdict has accepted the verdict, too.
    """
    if not options.overrides:
        yield from judged
        return
    with_ignored = [
        (rule_result, options.ignores(rule_result.rule.slug, rule_result.finding.location.path))
        for rule_result in judged
    ]
    ignored: dict[ObjectRef, list[RuleResult]] = {}
    for rule_result, is_ignored in with_ignored:
        if is_ignored and rule_result.rule.about == "placement":
            ignored.setdefault(rule_result.finding.object, []).append(rule_result)
    for rule_result, is_ignored in with_ignored:
        causes = ignored.get(rule_result.finding.object, ()) if rule_result.rule.about == "verdict" else ()
        if not is_ignored and not any(_tells_of(rule_result, cause) for cause in causes):
            yield rule_result


_Explanations = Mapping[RuleResult, RuleResult]
"""A finding → a better one."""


class _Findings:
    """Findings of one rule about one object: it may have some in each of many sets."""

    __slots__ = ("_all", "_numbered")

    def __init__(self) -> None:
        self._all: list[RuleResult] = []
        self._numbered: dict[tuple[str, object], list[tuple[int, RuleResult]]] = {}
        """A set, or a source → the findings with it."""

    def add(self, rule_result: RuleResult) -> None:
        self._all.append(rule_result)

    def meeting(self, rule_result: RuleResult, home: Callable[[RuleResult], object]) -> Iterable[RuleResult]:
        """Return those of the same set or source, in their order."""
        own = home(rule_result)
        if not self._numbered:
            for number, other in enumerate(self._all):
                for key in (("set", home(other)), ("source", other.source)):
                    self._numbered.setdefault(key, []).append((number, other))
        meeting = dict(self._numbered.get(("set", own), ()))
        meeting.update(self._numbered.get(("source", rule_result.source), ()))
        return [meeting[number] for number in sorted(meeting)]


_ByRule = Mapping[tuple[str, ObjectRef], _Findings]


def _explanations(
    judged: Sequence[RuleResult], home: Callable[[RuleResult], object]
) -> tuple[_Explanations, _Explanations]:
    """Return the findings that a better one explains, and those of stable rules that only one in preview explains."""
    about: dict[tuple[str, ObjectRef], _Findings] = {}
    counting: dict[tuple[str, ObjectRef], _Findings] = {}
    for rule_result in judged:
        about.setdefault((rule_result.rule.slug, rule_result.finding.object), _Findings()).add(rule_result)
        for ref in dict.fromkeys(rule_result.hazard.together):
            if ref != rule_result.finding.object:
                counting.setdefault((rule_result.rule.slug, ref), _Findings()).add(rule_result)
    explains: dict[RuleResult, RuleResult] = {}
    tells: dict[RuleResult, RuleResult] = {}
    slugs = _explaining(judged)
    for rule_result in judged:
        better = [
            other
            for other in _better(rule_result, slugs, about, counting, home)
            if _last(other, explains) is not rule_result
        ]
        best = next((other for other in better if rule_result.rule.preview or not other.rule.preview), None)
        if best is not None:
            explains[rule_result] = best
        elif better:
            tells[rule_result] = better[0]
    return explains, tells


class _Explaining(Struct, frozen=True):
    """Slugs of rules with findings about placement or refusals, and of those that report a verdict."""

    causes: tuple[str, ...]
    verdicts: tuple[str, ...]

    def of(self, rule: Rule) -> tuple[str, ...]:
        """Return the rules to which one yields by what it is about.

        A verdict in the bound's own words yields to every rule that names its cause, unless that rule is in preview:
        then the rule yields to the verdict.
        """
        if rule.about == "verdict":
            return self.causes
        return self.verdicts if rule.preview and rule.about == "placement" else ()


def _explaining(judged: Iterable[RuleResult]) -> _Explaining:
    rules = {rule_result.rule.slug: rule_result.rule for rule_result in judged}.values()
    return _Explaining(
        tuple(rule.slug for rule in rules if rule.about == "placement" and not rule.preview),
        tuple(rule.slug for rule in rules if rule.about == "verdict"),
    )


_CAUSED_BY = {"rollout": ("deploy",), "hpa-max": ("deploy", "rollout"), "scale-down": ("deploy",)}
"""Event → the events that a bad end of it follows from: what stays Pending at first is Pending in a rollout, too."""


def _tells_of(rule_result: RuleResult, other: RuleResult) -> bool:
    """Whether another finding explains a verdict: it is about a bad end of the same event, or of one before it.

    Only a proof explains an error; a warning may say what lacks for a proof.
    """
    event, verdict_evidence = rule_result.finding.evidence.event, other.finding.evidence
    is_as_sure = verdict_evidence.kind == "proof" or rule_result.finding.severity is not Severity.ERROR
    # An error may have its severity from another event than the one that it was found for.
    told = {verdict_evidence.event, other.hazard.evidence.event}
    return is_as_sure and not told.isdisjoint((event, *_CAUSED_BY.get(event, ())))


def _better(
    rule_result: RuleResult,
    slugs: _Explaining,
    about: _ByRule,
    counting: _ByRule,
    home: Callable[[RuleResult], object],
) -> Iterator[RuleResult]:
    """Yield the findings that may explain one: ``about`` its object; ``counting`` its pods with those of others."""
    finding, rule = rule_result.finding, rule_result.rule
    is_error, by_verdict = finding.severity is Severity.ERROR, slugs.of(rule)
    refs = [finding.object]
    if finding.evidence.kind == "witness":  # of a race: a cause of one of its workloads is one of the race
        refs = [*dict.fromkeys((finding.object, *rule_result.hazard.together))]
    better, groups = (
        [
            other
            for slug in dict.fromkeys((*rule.yields_to, *by_verdict))
            for ref in refs
            if (of_object := each.get((slug, ref))) is not None
            for other in of_object.meeting(rule_result, home)
            if slug not in by_verdict or _tells_of(rule_result, other)
        ]
        for each in (about, counting)
    )
    together = set(rule_result.hazard.together)
    better += [
        other for other in groups if not is_error or 0 < len(together) == len(together & {*other.hazard.together})
    ]
    if not _saw_more(rule_result, better):
        yield from (other for other in better if not is_error or _weighs_as_much(rule_result, other))
    for slug in rule.yields_here_to:
        of_object = about.get((slug, finding.object))
        for other in of_object.meeting(rule_result, home) if of_object is not None else ():
            if other.finding.severity >= finding.severity and _same_place(rule_result, other):
                yield other


def _weighs_as_much(error: RuleResult, other: RuleResult) -> bool:
    """Whether an error may yield to another finding: to an error, or to one that a user made less."""
    return other.finding.severity is Severity.ERROR or (error.rule.about == "verdict" and other.is_set)


def _last(rule_result: RuleResult, explains: _Explanations) -> RuleResult:
    """Return the finding at the end of the explanations, which no other explains."""
    while rule_result in explains:
        rule_result = explains[rule_result]
    return rule_result


def _same_place(rule_result: RuleResult, other: RuleResult) -> bool:
    """Whether the path of one begins with that of the other, in the same source."""
    mine, theirs = rule_result.hazard.at, other.hazard.at
    shared = min(len(mine), len(theirs))
    return rule_result.source is other.source and mine[:shared] == theirs[:shared]


def _saw_more(rule_result: RuleResult, better: Sequence[RuleResult]) -> bool:
    """Return whether a trial or a verdict left more pods waiting than all better findings explain.

    A finding without a count explains all; two on one object may count the same pods.
    """
    if rule_result.finding.evidence.kind != "witness" and rule_result.rule.about != "verdict":
        return False  # a second proof would only name another cause for the same pods
    seen = rule_result.hazard.values.get("pending")
    counts: dict[ObjectRef, int] = {}
    for other in better:
        count = other.hazard.values.get("pending")
        if not isinstance(count, int):
            return False
        counts[other.finding.object] = max(count, counts.get(other.finding.object, 0))
    return isinstance(seen, int) and sum(counts.values()) < seen
