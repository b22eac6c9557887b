"""A selector meant for the workload's own replicas also matches another release or component beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubesched_lint.engine.model.labels import Labels, Selector
from kubesched_lint.engine.model.pod import PodAffinityTerm
from kubesched_lint.engine.scenario.others.running import pods_of_others
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy, written_at
from kubesched_lint.findings import Hazard, Place, pattern
from kubesched_lint.sources.manifests.changes import Put

_OF_INSTANCES = ("app.kubernetes.io/instance", "release")
_OF_COMPONENTS = ("app.kubernetes.io/component", "component", "role")
_OF_APPLICATIONS = ("app.kubernetes.io/name", "app", "k8s-app", "name")
_TELLING = (*_OF_INSTANCES, *_OF_COMPONENTS, *_OF_APPLICATIONS)
"""In the order of preference for a selector that is too broad."""
_SHARED = ("app.kubernetes.io/managed-by", "helm.sh/chart", "chart", "heritage")


def check(it: Member) -> Iterator[Hazard]:
    """Report only selectors that name an application; others may be meant for several workloads.

    A Pod has no replicas to keep apart, so its term is meant for others.
    """
    if it.workload.kind == "Pod":
        return
    for term in it.workload.pod.required_anti_affinity:
        selector = term.selector
        if selector is None or not _names_an_application(selector) or not it.repels_itself(term):
            continue
        others = dict(_others(it, term))
        label = _telling_label(it.workload.pod.labels, (labels for labels, _ in others.values()), selector)
        if not others or not label:
            continue
        yield Hazard(
            at=(*term.path, "labelSelector"),
            evidence=pattern(f"{selector} matches the pods of {', '.join(others)} as well"),
            values={
                "selector": str(selector),
                "others": tuple(others),
                "label": label,
                "value": it.workload.pod.labels[label],
                "key": term.topology_key,
            },
            related=tuple(place for _, place in others.values() if place is not None),
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Keep only its own replicas apart."""
    label, value = str(hazard.values["label"]), hazard.values["value"]
    if written_at(it.workload.source, (*hazard.at, "matchLabels", label)) is None:
        yield Remedy(
            f"add {label}: {value} to the selector, so that only its own replicas keep apart",
            safe=False,
            changes=(Put((*hazard.at, "matchLabels", label), value),),
        )


def _others(it: Member, term: PodAffinityTerm) -> Iterator[tuple[str, tuple[Labels, Place | None]]]:
    """Yield (name, (labels, place)) of the other pods that the term selects in its pod's namespace."""
    own = it.workload.ref
    for other in it.selected_workloads(term):
        if other is it.workload or other.namespace != own.namespace or other.ref == own:
            continue
        if other.stays and it.surely_selects(term, other):
            place = Place(other.pod.labels_path, "is matched as well", other.source, other.ref)
            yield str(other), (other.pod.labels, place)
    for group in pods_of_others(it.scenario).in_reach(term, own.namespace):
        if group.pod.namespace == own.namespace and it.scenario.namespaces.selects(
            term, own.namespace, group.pod, unknown=False
        ):
            for bound in group.bound:
                yield f"the running {bound.owner.name if bound.owner else bound.name}", (group.pod.labels, None)


def _names_an_application(selector: Selector) -> bool:
    """Whether every condition uses an identifying label: then the selector was written for one application.

    A condition on any other label (a tier, a tenant, a hazard) may mean several applications; part-of does mean them.
    """
    known = (*_TELLING, *_SHARED)
    return bool(selector.requirements) and all(r.key in known and r.operator == "In" for r in selector.requirements)


def _telling_label(labels: Labels, others: Iterable[Labels], selector: Selector) -> str:
    """A label key that distinguishes the pod from all ``others`` and is not in the selector; empty without one."""
    asked = {r.key for r in selector.requirements}
    others = list(others)
    for key in _TELLING:
        if key in labels and key not in asked and all(o.get(key) != labels[key] for o in others):
            return key
    return ""
