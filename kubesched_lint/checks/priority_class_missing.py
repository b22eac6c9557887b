"""The pods name a priority class that nobody defines, so the API server refuses each of them."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.nearest import hint
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard, UncheckedError, pattern
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload
from kubesched_lint.validation.class_words import no_priority_class


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    name = workload.pod.priority_class
    if name in facts.priority_classes:
        return
    if not facts.cluster_has("PriorityClass"):
        raise UncheckedError("needs priority classes (kubectl get priorityclass), which no snapshot holds")
    yield Hazard(
        at=(*workload.pod.path, "priorityClassName"),
        evidence=pattern(no_priority_class(name)),
        values={"class": name, "nearest": hint(facts.nearest_priority_class(name), "there is ")},
        variant="pod" if workload.kind == "Pod" else "default",
    )


def fix(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    """Write the class as it is named."""
    name = str(hazard.values["class"])
    meant = facts.nearest_priority_class(name)
    if meant:
        # Never safe: pods that are not created today would be, and may preempt others.
        yield Remedy(
            f"write {meant}, by which its pods may preempt others", safe=False, changes=(Put(hazard.at, meant),)
        )
