"""Gt and Lt compare integers; with any other value they never hold."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.labels import Requirement, go_int
from kubesched_lint.engine.model.pod import NodeSelectorTerm
from kubesched_lint.engine.scenario.premises.premises import node_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.findings import Hazard, Severity, pattern, proof


def check(it: Member) -> Iterator[Hazard]:
    required = it.workload.pod.required_node_terms or ()
    dead = [t for t in required if any(_never(r) for r in t.expressions)]
    fatal = bool(dead) and len(dead) == len(required) and it.workload.kind != "DaemonSet"
    nowhere = it.scenario.cluster is not None and it.workload.kind != "DaemonSet" and not it.reach.matching
    terms = [(t, True) for t in required] + [(p.term, False) for p in it.workload.pod.preferred_node_terms]
    for term, is_required in terms:
        for comparison in _comparisons(term):
            value = comparison.values[0]
            if go_int(value) is None:
                text = f"{value!r} is no integer"
                proven = fatal and is_required
                if not proven and nowhere:
                    continue  # nodeselector-matches-nothing says more
                yield Hazard(
                    at=comparison.path,
                    evidence=proof(text, demand=1, supply=0) if proven else pattern(text),
                    severity=None if proven else Severity.WARNING,
                    values={**_values(comparison), "replicas": it.replicas},
                    variant="fatal" if proven else "term" if is_required else "preferred",
                )
            elif it.scenario.cluster is not None:
                yield from _on_nodes(it, comparison, is_required, nowhere)


def _on_nodes(it: Member, comparison: Requirement, required: bool, nowhere: bool) -> Iterator[Hazard]:
    """Yield hazards for nodes whose label is not an integer: they never match, however large it looks."""
    index, odd = it.scenario.index, it.scenario.index.numbers(comparison.key).others
    if not odd:
        return
    count, all_odd = sum(nodes.bit_count() for nodes in odd.values()), len(odd) == len(index.domains(comparison.key))
    text = f"{count} of {index.with_key(comparison.key).bit_count()} nodes with {comparison.key} have no integer there"
    only_term = len(it.workload.pod.required_node_terms or ()) == 1
    proven = required and all_odd and only_term and it.workload.kind != "DaemonSet"
    if nowhere and not proven:
        return
    yield Hazard(
        at=comparison.path,
        evidence=proof(text, demand=1, supply=0, assumes=node_premises(it)) if proven else pattern(text),
        severity=None if proven else Severity.WARNING,
        values={**_values(comparison), "count": count, "odd": tuple(odd)},
        variant="labels",
    )


def _comparisons(term: NodeSelectorTerm) -> Iterator[Requirement]:
    return (r for r in term.expressions if r.operator in ("Gt", "Lt") and len(r.values) == 1)


def _never(requirement: Requirement) -> bool:
    return (
        requirement.operator in ("Gt", "Lt") and len(requirement.values) == 1 and go_int(requirement.values[0]) is None
    )


def _values(comparison: Requirement) -> dict[str, object]:
    return {"key": comparison.key, "operator": comparison.operator, "value": comparison.values[0]}
