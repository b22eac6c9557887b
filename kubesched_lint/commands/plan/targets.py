"""One plan from those of several targets, each of which was judged on its own cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kubesched_lint.commands.plan.found import Plan, WorkloadPlan
from kubesched_lint.commands.simulate.found import merged
from kubesched_lint.findings import Severity
from kubesched_lint.linter.environments import once_each, said_once, unless_all
from kubesched_lint.project.finding_changes import FindingChanges, each_once

Part = tuple[str, Plan]
"""(name of a target, its plan)."""


def together(parts: Sequence[Part]) -> Plan:
    """Return one plan, in which what is the same in several targets stands once."""
    if len(parts) == 1:
        return parts[0][1]
    first = parts[0][1]
    names = tuple(name for part in parts for name in _names(part, ()))
    workloads = tuple(_workloads(parts, names))
    changed = {one.object for one in workloads}
    open_ = frozenset(ref for _, plan in parts for ref in plan.open) - changed
    explained = [(name, plan.simulation) for name, plan in parts if plan.simulation is not None]

    def once(things: Callable[[Plan], Sequence[Any]]) -> tuple[Any, ...]:
        told = (
            (_names((name, plan), one.environments), replace(one, environments=()))
            for name, plan in parts
            for one in things(plan)
        )
        return tuple(replace(one, environments=where) for one, where in once_each(told, names))

    return Plan(
        first.before,
        first.after,
        first.events,
        workloads,
        tuple(dict.fromkeys(change for _, plan in parts for change in plan.objects)),
        _findings(parts),
        once(lambda plan: plan.nodes),
        once(lambda plan: plan.idle),
        once(lambda plan: plan.evictions),
        once(lambda plan: plan.spared),
        once(lambda plan: plan.budgets),
        once(lambda plan: plan.stuck),
        once(lambda plan: plan.room),
        frozenset(ref for _, plan in parts for ref in plan.untouched) - changed - open_,
        open_,
        "; ".join(said_once([(name, [plan.cluster] if plan.cluster else []) for name, plan in parts])),
        tuple(dict.fromkeys(error for _, plan in parts for error in plan.errors)),
        tuple(dict.fromkeys(error for _, plan in parts for error in plan.errors_before)),
        said_once([(name, plan.notes) for name, plan in parts]),
        merged(explained, (), names) if explained else None,
        names,
    )


def _names(part: Part, where: Sequence[str]) -> Sequence[str]:
    name, plan = part
    return [os.path.join(name, each) for each in where or plan.environments] or [name]


def _workloads(parts: Sequence[Part], names: Sequence[str]) -> Iterator[WorkloadPlan]:
    found: dict[Any, tuple[WorkloadPlan, list[str]]] = {}
    for name, plan in parts:
        for one in plan.workloads:
            found.setdefault(one.seen, (one, []))[1].extend(_names((name, plan), one.environments))
    order = {ref: place for place, ref in enumerate(dict.fromkeys(one.object for one, _ in found.values()))}
    named = (replace(one, environments=unless_all(where, names)) for one, where in found.values())
    yield from sorted(named, key=lambda one: order[one.object])


def _findings(parts: Sequence[Part]) -> FindingChanges:
    """Return the changes of findings; one that several targets have stands once."""
    unchanged: dict[Severity, int] = {}
    for _, plan in parts:
        for severity, count in plan.findings.unchanged.items():
            unchanged[severity] = unchanged.get(severity, 0) + count
    return FindingChanges(each_once(change for _, plan in parts for change in plan.findings.changes), unchanged)
