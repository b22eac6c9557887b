"""The pods name a RuntimeClass that does not exist, so the API server refuses each of them."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.nearest import correction, hint, nearest_name
from kubesched_lint.findings import Hazard, UncheckedError, pattern
from kubesched_lint.validation.class_plugins import no_runtime_class
from kubesched_lint.world.world import Member


def check(it: Member) -> Iterator[Hazard]:
    name, classes = it.workload.pod.runtime_class, it.world.admission.runtime_classes
    if name in classes:
        return
    if not it.world.cluster_has("RuntimeClass"):
        raise UncheckedError("needs runtime classes (kubectl get runtimeclass), which no snapshot holds")
    yield Hazard(
        at=(*it.workload.pod.path, "runtimeClassName"),
        evidence=pattern(no_runtime_class(name)),
        values={
            "class": name,
            "nearest": hint(nearest_name(name, classes), "there is "),
            "correction": correction(nearest_name(name, classes)),
        },
        variant="pod" if it.workload.kind == "Pod" else "default",
    )
