"""The pods name a priority class that does not exist, so the API server refuses each of them."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.nearest import correction, hint, nearest_priority_class
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard, UncheckedError, pattern
from kubesched_lint.manifests.changes import Put
from kubesched_lint.validation.class_plugins import no_priority_class
from kubesched_lint.world.world import Member


def check(it: Member) -> Iterator[Hazard]:
    name = it.workload.pod.priority_class
    if name in it.world.priority_classes:
        return
    if not it.world.cluster_has("PriorityClass"):
        raise UncheckedError("needs priority classes (kubectl get priorityclass), which no snapshot holds")
    yield Hazard(
        at=(*it.workload.pod.path, "priorityClassName"),
        evidence=pattern(no_priority_class(name)),
        values={
            "class": name,
            "nearest": hint(nearest_priority_class(it.world, name), "there is "),
            "correction": correction(nearest_priority_class(it.world, name)),
        },
        variant="pod" if it.workload.kind == "Pod" else "default",
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Write the correct name of the class."""
    name = str(hazard.values["class"])
    nearest = nearest_priority_class(it.world, name)
    if nearest:
        # Never safe: pods that are not created today would be created, and may preempt others.
        yield Remedy(
            f"write {nearest}, by which its pods may preempt others", safe=False, changes=(Put(hazard.at, nearest),)
        )
