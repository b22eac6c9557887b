"""The pods name a RuntimeClass that does not exist, so the API server refuses each of them."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.apiserver.class_plugins import no_runtime_class
from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.placing.wanted import pods_wanted
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.near_misses.nearest import correction, hint, nearest_class
from kubesched_lint.findings import Hazard, Severity, pattern, proof


def check(it: Member) -> Iterator[Hazard]:
    name, classes = it.workload.pod.runtime_class, it.scenario.admission.runtime_classes
    if name in classes:
        return
    is_known, meant = it.scenario.cluster_has("RuntimeClass"), nearest_class(it.scenario, "RuntimeClass", name, classes)
    if not (is_known or meant):
        raise UncheckedError("needs runtime classes (kubectl get runtimeclass), which no snapshot holds")
    yield Hazard(
        at=(*it.workload.pod.path, "runtimeClassName"),
        evidence=proof(no_runtime_class(name))
        if is_known
        else pattern(f"RuntimeClass {meant} is known, and {name} is not"),
        severity=Severity.WARNING,
        values={
            "pending": pods_wanted(it),
            "class": name,
            "nearest": hint(meant, "there is "),
            "meant": meant,
            "correction": correction(meant),
        },
        cause="" if meant else name,
        variant="misspelt" if not is_known else "pod" if it.workload.kind == "Pod" else "default",
    )
