"""The pods name a priority class that does not exist, so the API server refuses each of them."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.apiserver.class_plugins import SYSTEM_PREFIX, SYSTEM_PRIORITIES, no_priority_class
from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.placing.wanted import pods_wanted
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.near_misses.nearest import correction, hint, nearest_class
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Severity, pattern, proof
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    name = it.workload.pod.priority_class
    if name in it.scenario.priority_classes:
        return
    is_known, meant = it.scenario.cluster_has("PriorityClass"), _meant(it, name)
    is_reserved = name.startswith(SYSTEM_PREFIX)
    if not (is_known or meant or is_reserved):
        raise UncheckedError("needs priority classes (kubectl get priorityclass), which no snapshot holds")
    yield Hazard(
        at=(*it.workload.pod.path, "priorityClassName"),
        evidence=proof(no_priority_class(name))
        if is_known or is_reserved
        else pattern(f"PriorityClass {meant} is known, and {name} is not"),
        severity=Severity.WARNING,
        values={
            "pending": pods_wanted(it),
            "class": name,
            "nearest": hint(meant, "there is "),
            "meant": meant,
            "correction": correction(meant or (" or ".join(SYSTEM_PRIORITIES) if is_reserved else "")),
        },
        cause="" if meant else name,
        variant="reserved" if is_reserved else _variant(it, is_known=is_known),
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Write the correct name of the class."""
    meant = _meant(it, str(hazard.values["class"]))
    if meant:
        # Never safe: pods that are not created today would be created, and may preempt others.
        yield Remedy(
            f"write {meant}, by which its pods may preempt others", safe=False, changes=(Put(hazard.at, meant),)
        )


def _meant(it: Member, name: str) -> str:
    return nearest_class(it.scenario, "PriorityClass", name, it.scenario.priority_classes)


def _variant(it: Member, *, is_known: bool) -> str:
    return "misspelt" if not is_known else "pod" if it.workload.kind == "Pod" else "default"
