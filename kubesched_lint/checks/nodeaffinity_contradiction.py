"""Conditions on the same label that no single value can meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubesched_lint.engine.model.labels import Requirement, go_int
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.findings import Hazard, Severity, pattern, proof


def check(it: Member) -> Iterator[Hazard]:
    pod = it.workload.pod
    selector = [Requirement(k, "In", (v,), (*pod.path, "nodeSelector", k)) for k, v in pod.node_selector.items()]
    terms = pod.required_node_terms or ()
    clashes = [(t, _contradiction((*selector, *t.expressions))) for t in terms if t.expressions]
    contradicting = [(term, clash) for term, clash in clashes if clash is not None]
    fatal = bool(contradicting) and len(contradicting) == len(terms) and it.workload.kind != "DaemonSet"
    for _term, (first, second) in contradicting:
        text = f"{first.key}: {_words(first)} and {_words(second)}"
        yield Hazard(
            at=second.path,
            evidence=proof(text, demand=1, supply=0) if fatal else pattern(text),
            severity=None if fatal else Severity.WARNING,
            values={"label": first.key, "first": _words(first), "second": _words(second), "terms": len(terms)},
            variant="fatal" if fatal else "dead_term" if it.workload.kind != "DaemonSet" else "daemonset",
        )


def _words(r: Requirement) -> str:
    return f"{r.operator} ({', '.join(r.values)})" if r.values else r.operator


def _contradiction(requirements: Iterable[Requirement]) -> tuple[Requirement, Requirement] | None:
    """Two conditions on the same label that exclude each other; None if some value may meet them all."""
    by_key: dict[str, list[Requirement]] = {}
    for requirement in requirements:
        by_key.setdefault(requirement.key, []).append(requirement)
    for group in by_key.values():
        if len(group) > 1:
            clash = _clash(group)
            if clash is not None:
                return clash
    return None


def _clash(group: Sequence[Requirement]) -> tuple[Requirement, Requirement] | None:
    for i, first in enumerate(group):
        for second in group[i + 1 :]:
            if not _compatible(first, second):
                return first, second
    # Three may conflict where no two do: In (a, b) with NotIn (a) and NotIn (b), or bounds around the values of an In.
    for wanted in group:
        if wanted.operator == "In":
            rest = [r for r in group if r is not wanted]
            if not any(all(r.matches({r.key: v}) for r in rest) for v in wanted.values):
                return wanted, rest[-1]
    return None


def _compatible(first: Requirement, second: Requirement) -> bool:
    if second.operator == "In" or first.operator == "DoesNotExist":
        first, second = second, first
    match first.operator:
        case "In":
            return any(second.matches({second.key: value}) for value in first.values)
        case "DoesNotExist":
            return second.matches({})
        case "Gt" | "Lt" if second.operator in ("Gt", "Lt"):
            return _bounds_meet(first, second)
    return first.operator != "DoesNotExist" and (second.operator != "DoesNotExist" or first.matches({}))


def _bounds_meet(first: Requirement, second: Requirement) -> bool:
    if first.operator == second.operator:
        return True
    low, high = (first, second) if first.operator == "Gt" else (second, first)
    if len(low.values) != 1 or len(high.values) != 1:
        return True
    bottom, top = go_int(low.values[0]), go_int(high.values[0])
    return bottom is None or top is None or top - bottom > 1
