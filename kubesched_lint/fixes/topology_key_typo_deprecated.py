"""The well-known key that was meant."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    meant = hazard.values["meant"]
    # Required anti-affinity over a key that no node carries keeps nothing apart: mended, it may leave pods over.
    is_strict = any(hazard.at[:-1] == term.path for term in workload.pod.required_anti_affinity)
    is_inert = is_strict and not (facts.cluster is not None and facts.index.with_key(str(hazard.values["key"])))
    yield Remedy(f"write {meant}", safe=not is_inert, changes=(Put(hazard.at, meant),))
