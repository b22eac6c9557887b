"""Anti-affinity that is meant for the pod's own replicas, and selects neither them nor any other pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.pod import PodAffinityTerm
from kubesched_lint.engine.scenario.others.running import running_match
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scenario.words import closest_word
from kubesched_lint.explaining.remedies.remedy import Remedy, written_at
from kubesched_lint.findings import Hazard, Place, pattern
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    """Ask nothing of terms that may be meant for pods of another set: their selector shares nothing with these pods."""
    pod = it.workload.pod
    if max(it.replicas, it.autoscaler.max_replicas if it.autoscaler else 0) < 2:
        return
    for term in (*pod.required_anti_affinity, *(each.term for each in pod.preferred_anti_affinity)):
        missed = _missed(it, term)
        if missed is None:
            continue
        own_value = it.pod.labels.get(missed.key)
        yield Hazard(
            at=missed.path,
            evidence=pattern(
                f"the pods have {missed.key}={own_value}"
                if own_value is not None
                else f"the pods have no label {missed.key}"
            ),
            values={"key": term.topology_key, "selector": str(term.selector), "label": missed.key},
            related=(Place(it.workload.pod.labels_path, "the labels of the pods"),),
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Select the label as the pods have it."""
    label = str(hazard.values["label"])
    own_value = it.pod.labels.get(label)
    if own_value is not None and isinstance(written_at(it.workload.source, hazard.at), str):
        yield Remedy(
            f"select {label}: {own_value}, as the pods have it", safe=False, changes=(Put(hazard.at, own_value),)
        )


def _missed(it: Member, term: PodAffinityTerm) -> Requirement | None:
    """Return the first condition that the pod's own labels miss, of a term meant for them that selects nobody."""
    selector, labels = term.selector, it.pod.labels
    if selector is None or selector.is_empty or selector.may_match(labels, it.pod.varying):
        return None
    if any(True for _ in it.selected_workloads(term)) or running_match(it.scenario, (term,), it.workload.namespace):
        return None
    missed = [r for r in selector.requirements if not r.matches(labels) and r.key not in it.pod.varying]
    is_meant = len(missed) < len(selector.requirements) or any(_resembles(r, labels) for r in missed)
    return missed[0] if missed and is_meant else None


def _resembles(wanted: Requirement, labels: Mapping[str, str]) -> bool:
    """Whether the pods have the label with a like value."""
    has = labels.get(wanted.key)
    return has is not None and any(
        value in has or has in value or closest_word(value, (has,)) for value in wanted.values
    )
