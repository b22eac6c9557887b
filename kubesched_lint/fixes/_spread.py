"""Spread constraints in the place of anti-affinity, and softer ones in the place of hard ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.pod_labels import revision_label
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Path
from kubesched_lint.fixes._written import written
from kubesched_lint.manifests.changes import Append, Change, Put, Remove
from kubesched_lint.model.pod import PodAffinityTerm
from kubesched_lint.model.workload import Workload

_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"
_BEHIND = ("affinity", "nodeSelector", "tolerations")


def constraint(workload: Workload, key: str, when: str, selector: Any) -> dict[str, Any]:
    """One constraint over ``key``; a Deployment's counts each revision by itself."""
    found = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}
    if workload.kind == "Deployment":
        found["matchLabelKeys"] = [revision_label(workload)]
    return found


def counting_revisions_apart(workload: Workload, at: Path) -> tuple[Change, ...]:
    """For a constraint that begins to count the pods of a Deployment: else a rollout would leave them uneven."""
    has_keys = any(c.path == at and c.match_label_keys for c in workload.pod.spread)
    if workload.kind != "Deployment" or has_keys:
        return ()
    return (Append((*at, "matchLabelKeys"), revision_label(workload), after=("labelSelector",)),)


def own_selector(workload: Workload) -> dict[str, Any] | None:
    """The workload's own selector as it is written; None without one."""
    found = written(workload.source, ("spec", "selector"))
    return found if isinstance(found, dict) and found and workload.kind != "Job" else None


def added(workload: Workload, key: str, when: str, selector: Any) -> Append:
    at = (*workload.pod.path, "topologySpreadConstraints")
    return Append(at, constraint(workload, key, when, selector), after=_BEHIND)


def instead_of(workload: Workload, at: Path, *, hard: bool) -> Iterator[Remedy]:
    """A spread constraint for the anti-affinity term at ``at``, which may stand behind a weight."""
    pod = workload.pod
    terms = {term.path: term for term in pod.required_anti_affinity}
    terms |= {weighted.path: weighted.term for weighted in pod.preferred_anti_affinity}
    term = terms.get(at)
    if term is None or _looks_elsewhere(term, workload):
        return
    selector = written(workload.source, (*term.path, "labelSelector"))
    if not isinstance(selector, dict):
        return
    when = _HARD if hard else _SOFT
    changes: tuple[Change, ...] = (Remove(at),)
    if not any(c.topology_key == term.topology_key and c.when_unsatisfiable == when for c in pod.spread):
        changes = (added(workload, term.topology_key, when, selector), *changes)
    yield Remedy(
        f"spread over {term.topology_key} with maxSkew 1 ({when}) in the place of the anti-affinity",
        safe=False,
        changes=changes,
    )


def _looks_elsewhere(term: PodAffinityTerm, workload: Workload) -> bool:
    """A spread constraint counts pods of its own namespace alone."""
    return term.namespace_selector is not None or any(name != workload.namespace for name in term.namespaces)


def anyway(workload: Workload, at: Path) -> Remedy:
    """For the hard constraint at ``at``; minDomains may not stand beside it."""
    changes: tuple[Change, ...] = (Put((*at, "whenUnsatisfiable"), _SOFT),)
    if written(workload.source, (*at, "minDomains")) is not None:
        changes = (*changes, Remove((*at, "minDomains")))
    return Remedy("use whenUnsatisfiable: ScheduleAnyway", False, changes)


def over(workload: Workload, facts: Facts, *keys: str) -> Iterator[Remedy]:
    """Soft constraints over the keys, for a workload that has none."""
    selector = own_selector(workload)
    if selector is not None:
        yield Remedy(
            f"spread over {' and '.join(keys)} (ScheduleAnyway)",
            safe=False,
            changes=tuple(added(workload, key, _SOFT, selector) for key in keys),
        )
