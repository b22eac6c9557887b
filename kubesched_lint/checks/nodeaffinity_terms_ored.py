"""Node selector terms are alternatives; with one condition each, they look as if all should hold."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.near_misses.well_known import RENAMED
from kubesched_lint.explaining.remedies.remedy import Remedy, written_at
from kubesched_lint.findings import Hazard, Place, pattern
from kubesched_lint.sources.manifests.changes import Append, Remove

_ROLE = "node-role.kubernetes.io/"
_DETECTED = "feature.node.kubernetes.io/"


def _meaning(key: str) -> str:
    """The key, with labels that are alternatives as one: roles, old and new names, what detectors of hardware set."""
    if key.startswith(_ROLE):
        return _ROLE
    return _DETECTED if _DETECTED in key or key.endswith(".present") else RENAMED.get(key, key)


def check(it: Member) -> Iterator[Hazard]:
    terms = it.workload.pod.required_node_terms or ()
    if len(terms) < 2 or any(t.fields or not t.expressions for t in terms):
        return
    keys = [frozenset(map(_meaning, (r.key for r in t.expressions))) for t in terms]
    if len(frozenset().union(*keys)) < sum(map(len, keys)):
        return  # a key in two terms is a real alternative: zone a or zone b
    second = terms[1]
    yield Hazard(
        at=second.path,
        evidence=pattern("each term asks for another label: " + " | ".join(", ".join(sorted(k)) for k in keys)),
        values={"terms": len(terms), "labels": tuple(sorted(frozenset().union(*keys)))},
        related=(Place(terms[0].path, "a node that matches this term alone is enough"),),
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Put all conditions into one term, so that all must hold."""
    terms = [term.path for term in it.workload.pod.required_node_terms or ()]
    first, rest = terms[0], terms[1:]
    conditions_of_terms = [written_at(it.workload.source, (*at, "matchExpressions")) for at in rest]
    if not all(isinstance(conditions, list) for conditions in conditions_of_terms):
        return
    yield Remedy(
        "put the conditions into one term, so that all must hold",
        safe=False,
        changes=(
            *(
                Append((*first, "matchExpressions"), condition)
                for conditions in conditions_of_terms
                for condition in conditions
            ),
            *(Remove(at) for at in reversed(rest)),
        ),
    )
