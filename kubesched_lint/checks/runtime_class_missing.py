"""The pods name a RuntimeClass that nobody defines, so the API server refuses each of them."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.nearest import hint, nearest_name
from kubesched_lint.findings import Hazard, UncheckedError, pattern
from kubesched_lint.model.workload import Workload
from kubesched_lint.validation.class_words import no_runtime_class


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    name, classes = workload.pod.runtime_class, facts.admission.runtime_classes
    if name in classes:
        return
    if not facts.cluster_has("RuntimeClass"):
        raise UncheckedError("needs runtime classes (kubectl get runtimeclass), which no snapshot holds")
    yield Hazard(
        at=(*workload.pod.path, "runtimeClassName"),
        evidence=pattern(no_runtime_class(name)),
        values={"class": name, "nearest": hint(nearest_name(name, classes), "there is ")},
        variant="pod" if workload.kind == "Pod" else "default",
    )
