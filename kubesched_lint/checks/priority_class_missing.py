"""The pods name a priority class that nobody defines, so the API server refuses each of them."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.nearest import hint
from kubesched_lint.findings import Hazard, UncheckedError, pattern


def check(facts: Facts) -> Iterator[Hazard]:
    for workload in facts.manifests.workloads:
        name = workload.pod.priority_class
        if not name or name in facts.priority_classes:
            continue
        if not facts.cluster_has("PriorityClass"):
            raise UncheckedError("needs priority classes (kubectl get priorityclass), which no snapshot holds")
        yield Hazard(
            at=(*workload.pod.path, "priorityClassName"),
            source=workload.source,
            victim=workload.ref,
            evidence=pattern(f"no PriorityClass with name {name} was found"),
            values={
                "object": str(workload),
                "class": name,
                "nearest": hint(facts.nearest_priority_class(name), "there is "),
            },
            variant="pod" if workload.kind == "Pod" else "default",
        )
