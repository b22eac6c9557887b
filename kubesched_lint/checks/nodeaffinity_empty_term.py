"""An empty node selector term matches no node, whatever it looks like."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many, plural
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Severity, pattern, proof
from kubesched_lint.sources.manifests.changes import Remove


def check(it: Member) -> Iterator[Hazard]:
    """The scheduler drops empty terms (``component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go``)."""
    terms = it.workload.pod.required_node_terms or ()
    empty = [t for t in terms if not t.expressions and not t.fields]
    if not empty:
        return
    left = len(terms) - len(empty)
    text = f"{left} of {many(len(terms), 'node selector term')} {plural(left, 'has', 'have')} a condition"
    fatal = not left and it.workload.kind != "DaemonSet"
    if left and it.scenario.cluster is not None and not it.reach.matching:
        return  # nodeselector-matches-nothing says more
    for term in empty if left else empty[:1]:
        yield Hazard(
            at=term.path,
            evidence=proof(text, demand=1, supply=0) if fatal else pattern(text),
            severity=None if fatal else Severity.WARNING,
            values={"replicas": it.replicas, "left": left},
            variant="fatal" if fatal else "some" if left else "daemonset",
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Drop the empty term, as the scheduler does if another one is left."""
    if hazard.variant == "some":
        yield Remedy("drop the empty term", safe=True, changes=(Remove(hazard.at),))
