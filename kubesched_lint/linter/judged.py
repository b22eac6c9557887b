"""From a hazard to a finding: its severity, texts, places and fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from sys import intern

from kubesched_lint.findings import NAMELESS, Finding, Hazard, ObjectRef, Path, Place, Related, Severity, Skip, Source
from kubesched_lint.linter.options import SURVIVED, Options
from kubesched_lint.linter.reading import ManifestSet
from kubesched_lint.manifests.classify import may_be_open, unfilled, value_at
from kubesched_lint.manifests.document import RENDERED, Document, location_of
from kubesched_lint.model.workload import Workload, asked_to_survive
from kubesched_lint.record import NamedTuple, Record, replace
from kubesched_lint.rulebook.library import Rule
from kubesched_lint.rulebook.wording import fill
from kubesched_lint.world.former import maximum_is_raised
from kubesched_lint.world.pod_labels import revision_label
from kubesched_lint.world.refused import POD_SPECS, RefusedObjects
from kubesched_lint.world.world import Member, World

_MOST_RELATED = 50


class Judged(Record):
    """A finding with the rule and the hazard behind it, and the workload (None for rules over the whole set)."""

    rule: Rule
    workload: Workload | None
    hazard: Hazard
    finding: Finding
    is_set: bool = False
    """Whether a user sets the severity of its rule there."""

    @property
    def source(self) -> Source:
        """The source of the workload, else of the hazard."""
        found = (self.workload and self.workload.source) or self.hazard.source
        assert found is not None, f"{self.rule.slug}: a hazard needs a place"
        return found


def severity_of(rule: Rule, hazard: Hazard, wanted: Severity | None) -> Severity:
    """Return the severity of a hazard.

    ``wanted`` is the user's setting: it may be above the card's severity, but not above the check's own. Without a
    proof or a policy, and in preview, an error becomes a warning; so does a bad end of an event that a workload need
    not survive unless its user asks for that.
    """
    severity = wanted or rule.severity
    if wanted is None and hazard.evidence.event in SURVIVED:
        severity = min(severity, Severity.WARNING)
    if hazard.severity is not None:
        severity = hazard.severity if wanted is None else min(wanted, hazard.severity)
    if severity is Severity.ERROR and (rule.preview or hazard.evidence.kind not in ("proof", "policy")):
        return Severity.WARNING
    return severity


def must_survive(rule: Rule, it: Member | None, hazard: Hazard, options: Options) -> bool:
    """Whether the workload must survive the event of a hazard that is proven as it is.

    A user asks for it, or the change raises the maximum of its autoscaler: then the change brings the bad end.
    """
    if rule.preview or hazard.severity is not None or hazard.evidence.kind != "proof":
        return False
    if hazard.evidence.event == "hpa-max" and it is not None and maximum_is_raised(it):
        return True
    asked = () if it is None else asked_to_survive(it.workload)
    return hazard.evidence.event in (*options.survive, *asked)


def if_fixed(verdict: Judged, world: World) -> Judged:
    """Return the finding of a verdict, which says so if only an autoscaler's nodes keep it from being an error."""
    unless = verdict.hazard.values.get("unless")
    if world.cluster is None or world.pools or unless != (world.cluster.elastic_premise,):
        return verdict
    return replace(verdict, finding=replace(verdict.finding, if_fixed=verdict.rule.severity))


def identity_of(judged: Judged) -> tuple[object, ...]:
    """Return what is equal for the same finding in two worlds; of a verdict the line to blame may differ there."""
    hazard = judged.hazard
    if judged.rule.about == "verdict":
        return (judged.rule.slug, id(judged.workload), hazard.evidence.event)
    return (judged.rule.slug, id(judged.workload), id(hazard.source), hazard.at)


def assuming(judged: Judged, premise: str) -> Judged:
    finding, evidence = judged.finding, judged.finding.evidence
    evidence = replace(evidence, assumes=(*evidence.assumes, premise))
    return replace(
        judged,
        finding=replace(
            finding,
            evidence=evidence,
            severity=min(finding.severity, Severity.WARNING),
            if_fixed=None,
            if_complete=None,
        ),
    )


def finding_of(
    rule: Rule, hazard: Hazard, severity: Severity, workload: Workload | None = None, default: ObjectRef | None = None
) -> Finding:
    """Return the finding of a hazard; ``default`` is its object if neither workload nor hazard has one."""
    source = hazard.source or (workload.source if workload else None)
    assert source is not None, f"{rule.slug}: a hazard needs a place"
    victim = hazard.victim or (workload.ref if workload else default)
    assert victim is not None, f"{rule.slug}: a hazard needs an object"
    values = {**_standard_values(workload, victim), **hazard.values}
    return Finding(
        rule=rule.slug,
        severity=severity,
        message=fill(rule.message(hazard.variant), values),
        help=intern(fill(rule.help(hazard.variant), values)),  # thousands of findings have the same
        evidence=hazard.evidence,
        object=victim,
        location=location_of(source, hazard.at, key=hazard.key),
        related=tuple(_related(hazard.related, source)),
        fixes=hazard.fixes,
        at=tuple(step if isinstance(step, int) else str(step) for step in hazard.at),  # a MapKey is kept nowhere
        preview=rule.preview,
        once_per_run=rule.once_per_run,
        cause=hazard.cause,
    )


def _standard_values(workload: Workload | None, victim: ObjectRef) -> Mapping[str, object]:
    if workload is None:
        return {
            "object": str(victim),
            "kind": victim.kind,
            "namespace": victim.namespace,
            "name": victim.name or NAMELESS,
        }
    ref = workload.ref
    return {
        "object": str(workload),
        "kind": ref.kind,
        "namespace": workload.namespace,
        "name": ref.name or NAMELESS,
        "replicas": workload.replicas,
        "revision": revision_label(workload) or "a label that differs between revisions",
    }


def _related(places: Sequence[Place], default: Source) -> Iterator[Related]:
    """At most ``_MOST_RELATED`` places; the label of the last one counts those left out."""
    more = len(places) - _MOST_RELATED
    for at, place in enumerate(places[:_MOST_RELATED], start=1):
        label = f"{place.label} … and {more:,} more places" if more > 0 and at == _MOST_RELATED else place.label
        yield Related(location_of(place.source or default, place.at), label)


def reported(judged: Iterable[Judged], documents: Iterable[Document]) -> tuple[Finding, ...]:
    """Return the findings by place, with fingerprints; each names its kustomization if the set renders several."""
    several = len({document.path for document in documents if document.rendering is not None}) > 1
    findings = (_naming_overlay(one) if several else one.finding for one in judged)
    return tuple(numbered(sorted(findings, key=lambda f: (f.location.path, f.location.span, f.rule))))


def _naming_overlay(judged: Judged) -> Finding:
    finding, source = judged.finding, judged.source
    if not isinstance(source, Document) or source.rendering is None or finding.location.path == source.path:
        return finding
    return replace(finding, rendered=source.path.removesuffix(RENDERED))


def numbered(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings with fingerprint = hash(rule, object, ordinal), which is stable when lines move."""
    seen: dict[str, int] = {}
    for finding in findings:
        stem = f"{finding.rule}|{finding.object}"
        seen[stem] = seen.get(stem, 0) + 1
        digest = _digest(f"{stem}|{seen[stem]}")
        yield finding if finding.fingerprint == digest else replace(finding, fingerprint=digest)


def _digest(text: str) -> str:
    try:
        from _blake2 import blake2b  # what hashlib gives, without the 4 ms to load OpenSSL
    except ImportError:
        from hashlib import blake2b

    return blake2b(text.encode(), digest_size=16).hexdigest()


# --- Findings that somebody has dealt with: an override ignores them, or the decoder reports the same place -----------


def not_ignored(judged: Iterable[Judged], options: Options) -> Iterator[Judged]:
    """Yield the findings that no override ignores; applied before rules yield to each other.

    Who ignores the finding that explains a verdict has accepted the verdict, too.
    """
    if not options.overrides:
        yield from judged
        return
    found = [(one, options.ignores(one.rule.slug, one.finding.location.path)) for one in judged]
    ignored: dict[ObjectRef, list[Judged]] = {}
    for one, is_ignored in found:
        if is_ignored and one.rule.about == "placement":
            ignored.setdefault(one.finding.object, []).append(one)
    for one, is_ignored in found:
        causes = ignored.get(one.finding.object, ()) if one.rule.about == "verdict" else ()
        if not is_ignored and not any(_tells_of(one, cause) for cause in causes):
            yield one


def without_wrong_types(judged: Iterable[Judged], manifests: ManifestSet) -> Iterator[Judged]:
    """Yield the findings without those of document rules at a wrong type: ``ManifestSet.errors`` reports these."""
    undecoded = {id(document): paths for document, paths in manifests.undecoded}
    for one in judged:
        wrong = undecoded.get(id(one.hazard.source), ()) if one.rule.each == "document" else ()
        at = one.hazard.at
        if not any(path[: len(at)] == at or at[: len(path)] == path for path in wrong):
            yield one


# --- One finding per cause: drop a finding if a rule that names the cause better has one on the same object -----------


def explained(judged: Sequence[Judged]) -> Iterator[Judged]:
    """Yield the findings; one that explains a verdict has the verdict's severity and premises.

    Alone it may be a warning, because it weighs less than the verdict does: whether running pods stay, for example.
    """
    verdicts: dict[ObjectRef, list[Judged]] = {}
    for one in judged:
        if one.rule.about == "verdict" and one.finding.severity >= Severity.WARNING:
            verdicts.setdefault(one.finding.object, []).append(one)
    for one in judged:
        about = verdicts.get(one.finding.object, ()) if verdicts and _may_explain(one) else ()
        explains = (verdict for verdict in about if _explains(one, verdict))
        verdict = max(explains, key=lambda verdict: verdict.finding.severity, default=None)
        yield one if verdict is None else _as_severe(one, verdict)


def _may_explain(one: Judged) -> bool:
    rule, finding = one.rule, one.finding
    is_cause = rule.about == "placement" and not rule.preview and finding.evidence.kind == "proof"
    return is_cause and finding.severity is Severity.WARNING and not one.is_set


def _explains(one: Judged, verdict: Judged) -> bool:
    """Whether a verdict leaves at least as many pods missing, which a finding without a count does not say.

    What an endless rollout leaves missing for good is missing after any deploy: it creates the pods once more.
    """
    if one.hazard.together not in ((), verdict.hazard.together):
        return False
    event, pending = one.finding.evidence.event, one.hazard.values.get("pending")
    missing, its = verdict.hazard.values["missing"], verdict.finding.evidence.event
    assert isinstance(missing, int)
    if not isinstance(pending, int):
        return False
    if its == event:
        return pending <= max(missing, 1)
    is_before = (event, its) == ("deploy", "rollout") and verdict.finding.severity is Severity.ERROR
    return is_before and 0 < pending <= missing


def _as_severe(one: Judged, verdict: Judged) -> Judged:
    """Return the finding with the verdict's premises, and as an error if the verdict and its card allow that."""
    told = verdict.finding.evidence.assumes
    evidence = replace(one.hazard.evidence, assumes=told)
    if verdict.finding.severity is not Severity.ERROR or one.rule.severity is not Severity.ERROR:
        own = one.finding.evidence.assumes
        both = (*(premise for premise in told if premise not in own), *own)
        return replace(one, finding=replace(one.finding, evidence=replace(evidence, assumes=both)))
    finding = replace(one.finding, severity=Severity.ERROR, evidence=evidence, if_fixed=None, if_complete=None)
    return replace(one, finding=finding)


def without_yielding(judged: Sequence[Judged], home: Callable[[Judged], object] = lambda one: None) -> Iterator[Judged]:
    """Yield the findings that no better one explains; the better ones list them in ``also``.

    An error never yields to a lower severity. It yields to a finding on another object only if that one counts all
    of its workloads. A trial does not yield to findings that explain fewer waiting pods. If rules yield in a circle,
    one finding stays. A finding of a stable rule stays beside one of a rule in preview, and names it in ``told_by``:
    who does not rely on rules in preview loses nothing. ``home`` returns the set that somebody applies and that has a
    finding; two findings meet if they are of one set or of one source.
    """
    explains, tells = _explanations(judged, home)
    parts: dict[int, list[Finding]] = {}
    for one in judged:
        if id(one) in explains and one.rule.about != "verdict":  # the same once more, in other words
            parts.setdefault(id(_last(one, explains)), []).append(one.finding)
    for one in judged:
        if id(one) not in explains:
            also = tuple(parts.get(id(one), ()))
            told_by = _last(tells[id(one)], explains).rule.slug if id(one) in tells else ""
            yield replace(one, finding=replace(one.finding, also=also, told_by=told_by)) if also or told_by else one


def without_refused(judged: Iterable[Judged], refused: RefusedObjects) -> Iterator[Judged]:
    """Yield the findings that no refusal of the API server makes idle: what it refuses, it never reads."""
    for one in judged:
        if one.rule.refuses or not any(_rests_on(place, path) for place, path in _refused_beside(one, refused)):
            yield one


def _refused_beside(judged: Judged, refused: RefusedObjects) -> Iterator[tuple[Path, Path]]:
    """Yield (place that a finding is about, refused field) in one object."""
    if refused:
        hazard = judged.hazard
        for source, at in ((hazard.source, hazard.at), *((place.source, place.at) for place in hazard.related)):
            for refusal in refused.get(id(source or judged.source), ()):
                yield at, refusal.cause.path


def _rests_on(at: Path, refused: Path) -> bool:
    """Return whether a place lies in a refused field, or is a part of the pod that the refused field belongs to."""
    if at[: len(refused)] == refused:
        return True
    home = next((spec for spec in POD_SPECS if at[: len(spec)] == spec), None)
    if home is None or refused[: len(at)] != at:
        return False
    of_container = len(at) > len(home) and str(at[len(home)]).lower().endswith("containers")
    return len(at) > len(home) + (2 if of_container else 0)


_Explanations = Mapping[int, Judged]
"""Identity of a finding → a better one."""


_FEW = 8
"""So many findings of one rule about one object are compared one by one."""


class _Findings:
    """Findings of one rule about one object: it may have some in each of many sets."""

    __slots__ = ("_all", "_numbered")

    def __init__(self) -> None:
        self._all: list[Judged] = []
        self._numbered: dict[tuple[str, int], list[tuple[int, Judged]]] = {}
        """``id`` of a set, or of a source → the findings with it; made if there are many."""

    def add(self, one: Judged) -> None:
        self._all.append(one)

    def meeting(self, one: Judged, home: Callable[[Judged], object]) -> Iterable[Judged]:
        """Return those of the same set or source, in their order."""
        own = home(one)
        if len(self._all) <= _FEW:
            return [other for other in self._all if other.source is one.source or home(other) is own]
        if not self._numbered:
            for number, other in enumerate(self._all):
                for key in (("set", id(home(other))), ("source", id(other.source))):
                    self._numbered.setdefault(key, []).append((number, other))
        found = dict(self._numbered.get(("set", id(own)), ()))
        found.update(self._numbered.get(("source", id(one.source)), ()))
        return [found[number] for number in sorted(found)]


_ByRule = Mapping[tuple[str, ObjectRef], _Findings]


def _explanations(judged: Sequence[Judged], home: Callable[[Judged], object]) -> tuple[_Explanations, _Explanations]:
    """Return the findings that a better one explains, and those of stable rules that only one in preview explains."""
    about: dict[tuple[str, ObjectRef], _Findings] = {}
    counting: dict[tuple[str, ObjectRef], _Findings] = {}
    for one in judged:
        about.setdefault((one.rule.slug, one.finding.object), _Findings()).add(one)
        for ref in dict.fromkeys(one.hazard.together):
            if ref != one.finding.object:
                counting.setdefault((one.rule.slug, ref), _Findings()).add(one)
    explains: dict[int, Judged] = {}
    tells: dict[int, Judged] = {}
    slugs = _explaining(judged)
    for one in judged:
        found = [other for other in _better(one, slugs, about, counting, home) if _last(other, explains) is not one]
        best = next((other for other in found if one.rule.preview or not other.rule.preview), None)
        if best is not None:
            explains[id(one)] = best
        elif found:
            tells[id(one)] = found[0]
    return explains, tells


class _Explaining(NamedTuple):
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


def _explaining(judged: Iterable[Judged]) -> _Explaining:
    rules = {one.rule.slug: one.rule for one in judged}.values()
    return _Explaining(
        tuple(rule.slug for rule in rules if rule.about in ("placement", "refusal") and not rule.preview),
        tuple(rule.slug for rule in rules if rule.about == "verdict"),
    )


_CAUSED_BY = {"rollout": ("deploy",), "hpa-max": ("deploy", "rollout"), "scale-down": ("deploy",)}
"""Event → the events that a bad end of it follows from: what stays Pending at first is Pending in a rollout, too."""


def _tells_of(one: Judged, other: Judged) -> bool:
    """Whether another finding explains a verdict: it is about a bad end of the same event, or of one before it.

    Only a proof explains an error; a warning may say what lacks for a proof.
    """
    event, its = one.finding.evidence.event, other.finding.evidence
    is_as_sure = its.kind == "proof" or one.finding.severity is not Severity.ERROR
    return is_as_sure and (its.event == event or its.event in _CAUSED_BY.get(event, ()))


def _better(
    one: Judged,
    slugs: _Explaining,
    about: _ByRule,
    counting: _ByRule,
    home: Callable[[Judged], object],
) -> Iterator[Judged]:
    """Yield the findings that may explain one: ``about`` its object; ``counting`` its pods with those of others."""
    finding, rule = one.finding, one.rule
    is_error, by_verdict = finding.severity is Severity.ERROR, slugs.of(rule)
    refs = [finding.object]
    if finding.evidence.kind == "witness":  # of a race: a cause of one of its workloads is one of the race
        refs = [*dict.fromkeys((finding.object, *one.hazard.together))]
    better, groups = (
        [
            other
            for slug in dict.fromkeys((*rule.yields_to, *by_verdict))
            for ref in refs
            if (found := each.get((slug, ref))) is not None
            for other in found.meeting(one, home)
            if slug not in by_verdict or _tells_of(one, other)
        ]
        for each in (about, counting)
    )
    together = set(one.hazard.together)
    better += [
        other for other in groups if not is_error or 0 < len(together) == len(together & {*other.hazard.together})
    ]
    if not _saw_more(one, better):
        yield from (other for other in better if not is_error or _weighs_as_much(one, other))
    for slug in rule.yields_here_to:
        found = about.get((slug, finding.object))
        for other in found.meeting(one, home) if found is not None else ():
            if other.finding.severity >= finding.severity and _same_place(one, other):
                yield other


def _weighs_as_much(error: Judged, other: Judged) -> bool:
    """Whether an error may yield to another finding: to an error, or to one that a user made less."""
    return other.finding.severity is Severity.ERROR or (error.rule.about == "verdict" and other.is_set)


def _last(one: Judged, explains: _Explanations) -> Judged:
    """Return the finding at the end of the explanations, which no other explains."""
    while id(one) in explains:
        one = explains[id(one)]
    return one


def _same_place(one: Judged, other: Judged) -> bool:
    """Whether the path of one begins with that of the other, in the same source."""
    mine, its = one.hazard.at, other.hazard.at
    shared = min(len(mine), len(its))
    return one.source is other.source and mine[:shared] == its[:shared]


def _saw_more(one: Judged, better: Sequence[Judged]) -> bool:
    """Return whether a trial or a verdict left more pods waiting than all better findings explain.

    A finding without a count explains all.
    """
    if one.finding.evidence.kind != "witness" and one.rule.about != "verdict":
        return False  # a second proof would only name another cause for the same pods
    seen = one.hazard.values.get("pending")
    explained = [other.hazard.values.get("pending") for other in better]
    counts = [count for count in explained if isinstance(count, int)]
    return isinstance(seen, int) and len(counts) == len(explained) and sum(counts) < seen


# --- Findings at a template's placeholder: the value is unknown, so the rule counts as skipped ------------------------


def without_open_text(judged: Iterable[Judged]) -> tuple[tuple[Judged, ...], tuple[Skip, ...]]:
    """Return the findings that are not at a placeholder, and a skip for each of the others."""
    kept: list[Judged] = []
    skips: list[Skip] = []
    for one in judged:
        text = _left_open(one)
        if text is None:
            kept.append(one)
        else:
            place = one.finding.location
            reason = f"{place.path}:{place.span.line}: {text} is a placeholder, render the template first"
            skips.append(Skip(one.rule.slug, reason))
    return tuple(kept), tuple(dict.fromkeys(skips))


def _left_open(judged: Judged) -> str | None:
    """The placeholder at the finding's place, or None; a warning about the text alone holds for any value."""
    if judged.finding.severity is not Severity.ERROR and judged.rule.needs == ("text",):
        return None
    at = judged.hazard.at
    source = judged.hazard.source or (judged.workload and judged.workload.source)
    if image := _image_left_open(judged):
        return image
    if at[:1] == ("metadata",):
        return None  # an object may have any name
    if isinstance(source, Document) and source.is_plain and not may_be_open(source.text):
        return None  # saves parsing the values again
    return unfilled(value_at(getattr(source, "value", None), at))


def _image_left_open(judged: Judged) -> str:
    """An image such as ``<your image>`` of the workload: no image has such a name, so nobody applies it as it is."""
    pod = judged.workload and judged.workload.pod
    containers = (*pod.init_containers, *pod.containers) if pod else ()
    return next((container.image for container in containers if "<" in container.image), "")
