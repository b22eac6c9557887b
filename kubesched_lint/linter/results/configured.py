"""Findings about what the scheduler's configuration adds to a pod: they name its line, and its file as the cause."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kubesched_lint.engine.admission.schedulers import AFFINITY, CONSTRAINTS, added_affinity, added_at, is_added
from kubesched_lint.engine.base.places import Location, Path
from kubesched_lint.engine.base.text import joined
from kubesched_lint.engine.model.pod import Pod, SchedulerProfile, profile_of
from kubesched_lint.engine.scenario.premises.premises import service_premises
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.engine.scheduler.plugins.pod_topology_spread import SKEWED
from kubesched_lint.engine.scheduler.plugins.single_node import ENFORCED
from kubesched_lint.findings import Hazard, Related
from kubesched_lint.linter.results.rule_results import RuleResult
from kubesched_lint.rulebook.library import Rule
from kubesched_lint.sources.manifests.document import location_of

_INSTEAD = {
    "node affinity": "every pod of the profile gets it",
    "spread constraint": "a pod with topologySpreadConstraints of its own does not get it",
}


def is_about_text(rule: Rule, hazard: Hazard) -> bool:
    """Return whether a hazard only criticizes the text of something that the manifest does not have."""
    return hazard.evidence.kind == "pattern" and "nodes" not in rule.needs and is_added(hazard.at)


def with_configuration(judged: RuleResult, scenario: Scenario) -> RuleResult:
    """Return a finding with the places in the configuration that cause it; unchanged if the manifest causes it."""
    if judged.workload is None:
        related = tuple(_related_of_set(judged, scenario))
        return replace(judged, finding=replace(judged.finding, related=(*judged.finding.related, *related)))
    if not is_added(judged.hazard.at):
        return judged
    member = scenario.member(judged.workload)
    what, path = added_at(member.pod, judged.hazard.at)
    finding, evidence = judged.finding, judged.finding.evidence
    related = tuple(_related(profile_of(member.pod), what, path))
    where = f"{related[0].location.path}:{related[0].location.span.line}" if related else profile_of(member.pod).origin
    changed = replace(
        finding,
        location=_location(judged, member) or finding.location,
        help=f"{finding.help} ({where} adds the {what}; {_INSTEAD[what]})",
        related=(*related, *finding.related),
        cause=where,
        evidence=replace(evidence, assumes=(*evidence.assumes, *service_premises(member))),
    )
    return replace(judged, finding=changed)


def _location(judged: RuleResult, member: Member) -> Location | None:
    """Return the place of the pod spec if nothing that is written in it takes part."""
    path = member.pod.path
    is_bare = is_added(judged.hazard.at[len(path) : len(path) + 1])
    return location_of(judged.source, path, key=True) if is_bare else None


def _related(profile: SchedulerProfile, what: str, path: Path) -> Iterator[Related]:
    """Yield the place of what a profile adds; a configuration inside a snapshot has no lines."""
    if profile.source is not None:
        yield Related(location_of(profile.source, path), f"the {what} that the profile {profile.name} adds")


def _related_of_set(judged: RuleResult, scenario: Scenario) -> Iterator[Related]:
    """Yield the places of what profiles add to the pods of a finding about several workloads, if its text names it."""
    finding, hazard = judged.finding, judged.hazard
    text, refs = f"{finding.message} {finding.evidence.text}", {finding.object, *hazard.together}
    added = {}
    for workload in scenario.manifests.workloads:
        if workload.ref in refs:
            pod = scenario.member(workload).pod
            added.update({(profile_of(pod), path): (pod, what) for what, path in _added_and_named(pod, text)})
    for (_, path), (pod, what) in added.items():
        yield from _related(profile_of(pod), what, path)


def _added_and_named(pod: Pod, text: str) -> Iterator[tuple[str, Path]]:
    if ENFORCED in text:
        yield added_at(pod, added_affinity(pod.path))
    for constraint in pod.spread:
        if is_added(constraint.path) and constraint.is_hard and (SKEWED in text or constraint.topology_key in text):
            yield added_at(pod, constraint.path)


# --- what a profile disables -----------------------------------------------------------------------------------------

_FILTERS_OF = {
    "affinity": ("InterPodAffinity",),
    "anti-affinity": ("InterPodAffinity",),
    "node-affinity": ("NodeAffinity",),
    "ports": ("NodePorts",),
    "resources": ("NodeResourcesFit",),
    "spread": ("PodTopologySpread",),
    "storage": ("VolumeBinding", "VolumeRestrictions", "VolumeZone"),
    "taints": ("TaintToleration", "NodeUnschedulable"),
    "topology": ("InterPodAffinity", "PodTopologySpread"),
}
"""Family → the filters of kube-scheduler that its proofs rest on."""
_FILTER_OF = {
    "required_affinity": "InterPodAffinity",
    "required_anti_affinity": "InterPodAffinity",
    "spread": "PodTopologySpread",
    "host_ports": "NodePorts",
    "node_selector": "NodeAffinity",
    "required_node_affinity": "NodeAffinity",
}
"""Feature of pods that a rule may look at → the filter that makes it count."""
_FILTER_AT = {
    "podAffinity": "InterPodAffinity",
    "podAntiAffinity": "InterPodAffinity",
    "topologySpreadConstraints": "PodTopologySpread",
    "nodeAffinity": "NodeAffinity",
    "nodeSelector": "NodeAffinity",
    "ports": "NodePorts",
    CONSTRAINTS: "PodTopologySpread",
    AFFINITY: "NodeAffinity",
}
"""Field of a pod spec, or what a profile adds to it → the filter that reads what it requires."""


def disabled_filter(rule: Rule, member: Member, hazard: Hazard) -> str:
    """Return which disabled filter a hazard rests on, with the place of its profile; empty if it rests on none."""
    victim = _victim(member, hazard)
    profile = profile_of(victim.pod)
    missing = [name for name in dict.fromkeys(_filters_behind(rule, victim, hazard)) if name not in profile.filters]
    if not missing:
        return ""
    return f"{joined(missing)}, which the profile {profile.name} disables ({profile.origin})"


def _filters_behind(rule: Rule, member: Member, hazard: Hazard) -> Iterator[str]:
    """Yield the filters without any of which a hazard is none."""
    kind, at = hazard.evidence.kind, [_FILTER_AT[step] for step in hazard.at if step in _FILTER_AT][:1]
    if kind == "pattern":
        yield from at if "nodes" in rule.needs and not _is_soft(hazard, member) else ()
    if kind not in ("proof", "witness"):
        return
    yield from at
    if rule.family == "topology" and at:
        return  # it judges one term
    if kind == "proof" or rule.family != "resources":  # deploy-leaves-pending runs the filters
        yield from _FILTERS_OF.get(rule.family, ())
    looked_at = {_FILTER_OF.get(feature, "") for feature in rule.features}
    if "" not in looked_at and looked_at.isdisjoint(profile_of(member.pod).filters):
        yield from sorted(looked_at)


def _is_soft(hazard: Hazard, member: Member) -> bool:
    """Return whether a hazard is about a term that only scores."""
    soft = (constraint.path for constraint in member.pod.spread if not constraint.is_hard)
    return any(hazard.at[: len(path)] == path for path in soft) or any(
        str(step).startswith("preferred") for step in hazard.at
    )


def _victim(it: Member, hazard: Hazard) -> Member:
    """Return the workload whose pods a hazard is about."""
    if hazard.victim in (None, it.workload.ref):
        return it
    others = (w for w in it.scenario.manifests.workloads if w.ref == hazard.victim)
    return it.scenario.member(next(others, it.workload))
