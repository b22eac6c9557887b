"""Remedies for pods that stand together or apart: weaker terms, other constraints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.pod import PodAffinityTerm
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.pods.pod_labels import revision_label
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy, written_at
from kubesched_lint.sources.manifests.changes import Append, Change, Put, Remove

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"
_BEHIND = ("affinity", "nodeSelector", "tolerations")


def make_preferred(workload: Workload, *terms: Path) -> Iterator[Remedy]:
    """Turn the required terms at these paths (of one list) into preferences of weight 100."""
    pairs = [(at, written_at(workload.source, at)) for at in terms]
    if not pairs or not all(isinstance(term, dict) and at[-2] == _REQUIRED for at, term in pairs):
        return
    what = terms[0][-3]
    added = (
        Append((*at[:-2], _PREFERRED), {"weight": 100, "podAffinityTerm": term}, after=(_REQUIRED,))
        for at, term in pairs
    )
    gone = (Remove(at) for at in sorted(terms, key=lambda at: -int(at[-1])))
    yield Remedy(f"make the {what} preferred (weight 100)", safe=False, changes=(*added, *gone))


def spread_instead(workload: Workload, at: Path, *, hard: bool) -> Iterator[Remedy]:
    """Replace the anti-affinity term at ``at``, required or weighted, by a spread constraint."""
    pod = workload.pod
    terms = {term.path: term for term in pod.required_anti_affinity}
    terms |= {weighted.path: weighted.term for weighted in pod.preferred_anti_affinity}
    term = terms.get(at)
    if term is None or _looks_elsewhere(term, workload):
        return
    selector = written_at(workload.source, (*term.path, "labelSelector"))
    if not isinstance(selector, dict):
        return
    when = _HARD if hard else _SOFT
    changes: tuple[Change, ...] = (Remove(at),)
    if not any(c.topology_key == term.topology_key and c.when_unsatisfiable == when for c in pod.spread):
        changes = (_added(workload, term.topology_key, when, selector), *changes)
    yield Remedy(
        f"spread over {term.topology_key} with maxSkew 1 ({when}) in the place of the anti-affinity",
        safe=False,
        changes=changes,
    )


def _looks_elsewhere(term: PodAffinityTerm, workload: Workload) -> bool:
    """Whether the term selects other namespaces, which a spread constraint cannot count."""
    return term.namespace_selector is not None or any(name != workload.namespace for name in term.namespaces)


def schedule_anyway(workload: Workload, at: Path) -> Remedy:
    """Make the hard constraint at ``at`` soft, without minDomains, which only hard ones may have."""
    changes: tuple[Change, ...] = (Put((*at, "whenUnsatisfiable"), _SOFT),)
    if written_at(workload.source, (*at, "minDomains")) is not None:
        changes = (*changes, Remove((*at, "minDomains")))
    return Remedy("use whenUnsatisfiable: ScheduleAnyway", False, changes)


def spread_over(it: Member, *keys: str) -> Iterator[Remedy]:
    """Add soft constraints over the keys to a workload that has none."""
    selector = own_selector(it.workload)
    if selector is not None:
        yield Remedy(
            f"spread over {' and '.join(keys)} (ScheduleAnyway)",
            safe=False,
            changes=tuple(_added(it.workload, key, _SOFT, selector) for key in keys),
        )


def own_selector(workload: Workload) -> dict[str, Any] | None:
    """Return the workload's own selector as it is written; None without one."""
    selector = written_at(workload.source, ("spec", "selector"))
    return selector if isinstance(selector, dict) and selector and workload.kind != "Job" else None


def _added(workload: Workload, key: str, when: str, selector: Any) -> Append:
    at = (*workload.pod.path, "topologySpreadConstraints")
    return Append(at, _constraint(workload, key, when, selector), after=_BEHIND)


def _constraint(workload: Workload, key: str, when: str, selector: Any) -> dict[str, Any]:
    """Return a constraint over ``key``; for a Deployment it counts each revision separately."""
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}
    if workload.kind == "Deployment" and (label := revision_label(workload)):
        constraint["matchLabelKeys"] = [label]
    return constraint
