"""The class waits for the pod before it makes a volume."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    found = [c for c in facts.manifests.storage_classes if c.name == hazard.values["storage_class"]]
    if found:
        yield Remedy(
            "set volumeBindingMode: WaitForFirstConsumer",
            safe=False,
            changes=(Put(("volumeBindingMode",), "WaitForFirstConsumer", after=("provisioner",)),),
            source=found[0].source,
        )
