"""From a hazard to a finding: its severity, texts, places and fingerprint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from sys import intern

try:
    from _blake2 import blake2b  # what hashlib gives, without the 2 ms to load OpenSSL
except ImportError:  # not CPython
    from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import NAMELESS, ObjectRef, Path, Source
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.engine.cluster.cluster import NO_MORE_NODES
from kubesched_lint.engine.model.nodes.node import HOSTNAME, domain_word
from kubesched_lint.engine.model.workloads.workload import Workload, asked_to_survive
from kubesched_lint.engine.scenario.former import maximum_is_raised
from kubesched_lint.engine.scenario.pods.pod_labels import revision_label
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.explaining.objects.refused import POD_SPECS, RefusedObjects
from kubesched_lint.findings import Finding, Hazard, Place, Related, Severity, Skip
from kubesched_lint.linter.limits import MOST_RELATED
from kubesched_lint.linter.options import SURVIVED, Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.rulebook.library import Rule
from kubesched_lint.rulebook.wording import fill
from kubesched_lint.sources.manifests.document import RENDERED, Document, location_of
from kubesched_lint.sources.manifests.recognizing.classify import may_be_open, unfilled


class RuleResult(Struct, frozen=True, eq=False):
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
        source = (self.workload and self.workload.source) or self.hazard.source
        assert source is not None, f"{self.rule.slug}: a hazard needs a place"
        return source


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


def must_survive(rule: Rule, member: Member | None, hazard: Hazard, options: Options) -> bool:
    """Whether the workload must survive the event of a hazard that is proven as it is.

    A user asks for it, or the change raises the maximum of its autoscaler: then the change brings the bad end.
    """
    if rule.preview or hazard.severity is not None or hazard.evidence.kind != "proof":
        return False
    if hazard.evidence.event == "hpa-max" and member is not None and maximum_is_raised(member):
        return True
    asked = () if member is None else asked_to_survive(member.workload)
    return hazard.evidence.event in (*options.survive, *asked)


def if_fixed(verdict: RuleResult, scenario: Scenario) -> RuleResult:
    """Return the finding of a verdict, which says so if only an autoscaler's nodes keep it from being an error."""
    unless = verdict.hazard.values.get("unless")
    if scenario.cluster is None or scenario.pools or unless != (scenario.cluster.elastic_premise,):
        return verdict
    return replace(verdict, finding=replace(verdict.finding, if_fixed=verdict.rule.severity))


def naming_domain(rule_result: RuleResult) -> RuleResult:
    """Return the finding with the premise that no node comes *in another zone*, if each pod needs a zone of its own.

    A node beside those that are there helps only pods that need a node of their own.
    """
    key = str(rule_result.hazard.values.get("apart", HOSTNAME))
    premises = rule_result.finding.evidence.assumes
    if key == HOSTNAME or not any(premise.startswith(NO_MORE_NODES) for premise in premises):
        return rule_result
    word = domain_word(key)
    domain = f"{NO_MORE_NODES} {'with' if word.startswith('value') else 'in'} another {word}"
    told = tuple(premise.replace(NO_MORE_NODES, domain) for premise in premises)
    return replace(
        rule_result, finding=replace(rule_result.finding, evidence=replace(rule_result.finding.evidence, assumes=told))
    )


def identity_of(judged: RuleResult) -> tuple[object, ...]:
    """Return what is equal for the same finding in two scenarios; of a verdict the line to blame may differ there."""
    hazard = judged.hazard
    if judged.rule.about == "verdict":
        return (judged.rule.slug, judged.workload, hazard.evidence.event)
    return (judged.rule.slug, judged.workload, hazard.source, hazard.at)


def made_in(judged: RuleResult) -> str:
    """Return the namespace of what a rule about absence misses; empty if it would be an object of the cluster."""
    return "" if judged.rule.absence == "cluster" else judged.finding.object.namespace


def assuming(judged: RuleResult, premise: str) -> RuleResult:
    finding, evidence = judged.finding, judged.finding.evidence
    evidence = replace(evidence, assumes=tuple(dict.fromkeys((*evidence.assumes, premise))))
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
        "object": str(ref),
        "kind": ref.kind,
        "namespace": workload.namespace,
        "name": ref.name or NAMELESS,
        "replicas": workload.replicas,
        "revision": revision_label(workload) or "a label that differs between revisions",
    }


def _related(places: Sequence[Place], default: Source) -> Iterator[Related]:
    """At most ``MOST_RELATED`` places; the label of the last one counts those left out."""
    more = len(places) - MOST_RELATED
    for at, place in enumerate(places[:MOST_RELATED], start=1):
        label = f"{place.label} … and {more:,} more places" if more > 0 and at == MOST_RELATED else place.label
        yield Related(location_of(place.source or default, place.at), label)


def reported(judged: Iterable[RuleResult], documents: Iterable[Document]) -> tuple[Finding, ...]:
    """Return the findings by place, with fingerprints; each names its kustomization if the set renders several."""
    several = len({document.path for document in documents if document.rendering is not None}) > 1
    findings = (_naming_overlay(rule_result) if several else rule_result.finding for rule_result in judged)
    return tuple(numbered(sorted(findings, key=lambda f: (f.location.path, f.location.span, f.rule))))


def _naming_overlay(judged: RuleResult) -> Finding:
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
    return blake2b(text.encode(), digest_size=16).hexdigest()


# --- Findings that somebody has dealt with: an override ignores them, or the decoder reports the same place -----------


def without_wrong_types(judged: Iterable[RuleResult], manifests: ManifestSet) -> Iterator[RuleResult]:
    """Yield the findings without those of document rules at a wrong type: ``ManifestSet.errors`` reports these."""
    undecoded: dict[Source | None, tuple[Path, ...]] = dict(manifests.undecoded)
    for rule_result in judged:
        wrong = undecoded.get(rule_result.hazard.source, ()) if rule_result.rule.each == "document" else ()
        at = rule_result.hazard.at
        if not any(path[: len(at)] == at or at[: len(path)] == path for path in wrong):
            yield rule_result


# --- What the API server refuses, it never reads ----------------------------------------------------------------------


def without_refused(judged: Iterable[RuleResult], refused: RefusedObjects) -> Iterator[RuleResult]:
    """Yield the findings that no refusal of the API server makes idle: what it refuses, it never reads."""
    for rule_result in judged:
        if rule_result.rule.refuses or not any(
            _rests_on(place, path) for place, path in _refused_beside(rule_result, refused)
        ):
            yield rule_result


def _refused_beside(judged: RuleResult, refused: RefusedObjects) -> Iterator[tuple[Path, Path]]:
    """Yield (place that a finding is about, refused field) in one object."""
    if refused:
        hazard = judged.hazard
        for source, at in ((hazard.source, hazard.at), *((place.source, place.at) for place in hazard.related)):
            for refusal in refused.get(source or judged.source, ()):
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


# --- Findings at a template's placeholder: the value is unknown, so the rule counts as skipped ------------------------


def without_open_text(judged: Iterable[RuleResult]) -> tuple[tuple[RuleResult, ...], tuple[Skip, ...]]:
    """Return the findings that are not at a placeholder, and a skip for each of the others."""
    kept: list[RuleResult] = []
    skips: list[Skip] = []
    for rule_result in judged:
        text = _left_open(rule_result)
        if text is None:
            kept.append(rule_result)
        else:
            place = rule_result.finding.location
            reason = f"{place.path}:{place.span.line}: {text} is a placeholder, render the template first"
            skips.append(Skip(rule_result.rule.slug, reason))
    return tuple(kept), tuple(dict.fromkeys(skips))


def _left_open(judged: RuleResult) -> str | None:
    """The placeholder at the finding's place, or None; a warning about the text alone holds for any value."""
    if judged.finding.severity is not Severity.ERROR and judged.rule.needs == ("text",):
        return None
    at = judged.hazard.at
    source = judged.hazard.source or (judged.workload and judged.workload.source)
    if image := _image_left_open(judged):
        return image  # a variable such as ${IMAGE} is none: what fills it in leaves the rest as it is
    if at[:1] == ("metadata",):
        return None  # an object may have any name
    if isinstance(source, Document) and source.is_plain and not may_be_open(source.text):
        return None  # saves parsing the values again
    return unfilled(value_at(getattr(source, "value", None), at))


def _image_left_open(judged: RuleResult) -> str:
    """An image such as ``<your image>`` or ``IMAGE`` of the workload: none has such a name, so nobody applies it so."""
    pod = judged.workload and judged.workload.pod
    containers = (*pod.init_containers, *pod.containers) if pod else ()
    return next((container.image for container in containers if _is_left_open(container.image)), "")


def _is_left_open(image: str) -> bool:
    return "<" in image or re.match(r"[A-Z][A-Z0-9 _-]*(?=[:@]|$)", image.rpartition("/")[2]) is not None
