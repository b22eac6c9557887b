"""All conditions in one term, so that all must hold."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._written import written
from kubesched_lint.manifests.changes import Append, Remove
from kubesched_lint.model.workload import Workload


def fixes(hazard: Hazard, workload: Workload, facts: Facts) -> Iterator[Remedy]:
    terms = [term.path for term in workload.pod.required_node_terms or ()]
    first, rest = terms[0], terms[1:]
    found = [written(workload.source, (*at, "matchExpressions")) for at in rest]
    if not all(isinstance(conditions, list) for conditions in found):
        return
    yield Remedy(
        "put the conditions into one term, so that all must hold",
        safe=False,
        changes=(
            *(Append((*first, "matchExpressions"), condition) for conditions in found for condition in conditions),
            *(Remove(at) for at in reversed(rest)),
        ),
    )
