"""A ResourceQuota refuses pods because a container sets no amount, or because the pods are too many.

Mirrors ``pkg/quota/v1/evaluator/core/pods.go``: a quota on cpu or memory requires an amount for every container.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from kubesched_lint.engine.admission.quotas import in_words, required_by, unset
from kubesched_lint.engine.model.policy import ResourceQuota
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.placing.wanted import pods_wanted
from kubesched_lint.engine.scenario.quotas import STANDING, drawing, shown_as
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.sizes.quota_excess import (
    Excess,
    advice,
    exceeded_alone,
    exceeded_together,
    is_live,
    lines_of,
    premise,
)
from kubesched_lint.findings import Hazard, Severity, proof


def check(it: Member) -> Iterator[Hazard]:
    if it.workload.kind != "DaemonSet" and not it.replicas:
        return
    quotas = it.scenario.admission.quotas_of(it.workload, it.pod)
    is_counted = bool(quotas) and it.workload.kind in STANDING and it.is_created
    left_out = unset(it.pod) if quotas else {}
    for quota in quotas:
        if missing := required_by(quota, left_out):
            yield _unsaid(it, quota, missing)
        elif is_counted:
            is_last = it.workload is next(reversed(drawing(quota, it.scenario)), None)  # one hazard stands for all
            excess = exceeded_alone(it, quota) or (exceeded_together(quota, it.scenario) if is_last else None)
            if excess is not None:
                yield _exceeded(it, quota, excess)


def _unsaid(it: Member, quota: ResourceQuota, missing: Mapping[str, tuple[str, ...]]) -> Hazard:
    """The hazard of the first container that does not set an amount; ``missing`` as ``required_by`` returns it."""
    container = next(c for c in (*it.pod.containers, *it.pod.init_containers) if c.name in chain(*missing.values()))
    unset_here = (entry for entry, names in missing.items() if container.name in names)
    entries = {entry if "." in entry else f"requests.{entry}" for entry in unset_here}
    known = is_live(quota, it.scenario) and it.scenario.cluster_has("LimitRange")
    premises = () if known else (f"no LimitRange of namespace {it.workload.namespace} fills it in",)
    text = f"failed quota: {quota.name}: must specify {in_words(missing)}"
    return Hazard(
        at=container.path,
        evidence=proof(text, assumes=(*premises, premise(quota, it.scenario))),
        values={
            "quota": quota.name,
            "missing": tuple(sorted(entries, key=lambda entry: (entry.startswith("limits."), entry))),
            "container": container.name,
        },
        severity=None if known else Severity.WARNING,
        related=lines_of(quota, it.scenario),
        variant="unsaid",
    )


def _exceeded(it: Member, quota: ResourceQuota, excess: Excess) -> Hazard:
    """The hazard of too many pods: of this workload alone, or of all that use the quota."""
    alone, live = len(excess.members) == 1, is_live(quota, it.scenario)
    resource, wanted = shown_as(excess.entry), pods_wanted(it)
    each, total, hard = (show(resource, amount) for amount in (excess.each, excess.total, excess.hard))
    pending = wanted - excess.allowed if alone else -(-(excess.total - excess.hard) // excess.each)
    asked = f"{show(resource, excess.taken)} of others + " * (excess.taken > 0) + f"{wanted} x {each}"
    return Hazard(
        at=it.workload.replicas_path if it.workload.kind != "DaemonSet" else it.workload.pod.path,
        evidence=proof(
            f"{asked if alone else total} > {hard}",
            demand=wanted if alone else None,
            supply=excess.allowed if alone else None,
            assumes=(premise(quota, it.scenario), *(() if alone else ("all of them are deployed",))),
        ),
        values={
            "quota": quota.name,
            "when": "" if live else "once the quota is applied, ",
            "never": "never" if live else "not",
            "resource": excess.entry,
            "each": each,
            "hard": hard,
            "total": total,
            "allowed": excess.allowed,
            **advice(it, excess, quota),
            "pending": pending,
            "others": tuple(str(w) for w in excess.members if w is not it.workload),
        },
        severity=None if live else Severity.WARNING,
        related=lines_of(quota, it.scenario),
        variant="together" if not alone else "pods" if resource == "pods" else "exceeded",
        together=() if alone else tuple(w.ref for w in excess.members),
    )
