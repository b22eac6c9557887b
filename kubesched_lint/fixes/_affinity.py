"""Required pod (anti-)affinity as a preference."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Path
from kubesched_lint.fixes._written import written
from kubesched_lint.manifests.changes import Append, Remove
from kubesched_lint.model.workload import Workload

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def preferred(workload: Workload, *terms: Path) -> Iterator[Remedy]:
    """The required terms at these paths, of one list, with a weight of 100 each."""
    pairs = [(at, written(workload.source, at)) for at in terms]
    if not pairs or not all(isinstance(term, dict) and at[-2] == _REQUIRED for at, term in pairs):
        return
    what = terms[0][-3]
    added = (
        Append((*at[:-2], _PREFERRED), {"weight": 100, "podAffinityTerm": term}, after=(_REQUIRED,))
        for at, term in pairs
    )
    gone = (Remove(at) for at in sorted(terms, key=lambda at: -int(at[-1])))
    yield Remedy(f"make the {what} preferred (weight 100)", safe=False, changes=(*added, *gone))
