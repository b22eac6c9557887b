"""The class by the name that it has."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.manifests.changes import Put
from kubesched_lint.manifests.document import Document


def fixes(hazard: Hazard, document: Document, facts: Facts) -> Iterator[Remedy]:
    name = str(hazard.values["class"])
    meant = facts.nearest_priority_class(name)
    if meant:
        # Never safe: pods that are not created today would be, and may preempt others.
        yield Remedy(
            f"write {meant}, by which its pods may preempt others", safe=False, changes=(Put(hazard.at, meant),)
        )
