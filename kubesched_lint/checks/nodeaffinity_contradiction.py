"""Conditions on the same label that no value can meet together."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.contradiction import contradiction
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, Severity, pattern, proof
from kubesched_lint.model.labels import Requirement
from kubesched_lint.model.workload import Workload


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    pod = workload.pod
    selector = [Requirement(k, "In", (v,), (*pod.path, "nodeSelector", k)) for k, v in pod.node_selector.items()]
    terms = pod.required_node_terms or ()
    clashes = [(t, contradiction((*selector, *t.expressions))) for t in terms if t.expressions]
    found = [(term, clash) for term, clash in clashes if clash is not None]
    fatal = bool(found) and len(found) == len(terms) and workload.kind != "DaemonSet"
    for _term, (first, second) in found:
        text = f"{first.key}: {_words(first)} and {_words(second)}"
        yield Hazard(
            at=second.path,
            evidence=proof(text, demand=1, supply=0) if fatal else pattern(text),
            severity=None if fatal else Severity.WARNING,
            values={"label": first.key, "first": _words(first), "second": _words(second), "terms": len(terms)},
            variant="fatal" if fatal else "dead_term" if workload.kind != "DaemonSet" else "daemonset",
        )


def _words(r: Requirement) -> str:
    return f"{r.operator} ({', '.join(r.values)})" if r.values else r.operator
