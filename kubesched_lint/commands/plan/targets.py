"""One plan from those of several targets, each of which was judged on its own cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kubesched_lint.commands.plan.plan_result import Plan, workloads_once
from kubesched_lint.commands.simulate.simulation_report import merged
from kubesched_lint.linter.environments.environments import named_once, said_once, unless_all
from kubesched_lint.project.finding_changes import FindingChanges, of_whole_findings, seen

Part = tuple[str, Plan]
"""(name of a target, its plan)."""


def together(parts: Sequence[Part]) -> Plan:
    """Return one plan, in which what is the same in several targets stands once."""
    if len(parts) == 1:
        return parts[0][1]
    first = parts[0][1]
    names = tuple(name for part in parts for name in _names(part, ()))
    workloads = workloads_once(_told(parts, lambda plan: plan.workloads), names)
    changed = {workload.object for workload in workloads}
    open_ = frozenset(ref for _, plan in parts for ref in plan.open) - changed
    explained = [(name, plan.simulation) for name, plan in parts if plan.simulation is not None]

    def once(pick: Callable[[Plan], Sequence[Any]]) -> tuple[Any, ...]:
        return named_once(_told(parts, pick), names, lambda change: replace(change, environments=()))

    return Plan(
        before=first.before,
        after=first.after,
        events=first.events,
        workloads=workloads,
        objects=tuple(dict.fromkeys(change for _, plan in parts for change in plan.objects)),
        findings=_findings(parts),
        nodes=once(lambda plan: plan.nodes),
        idle=once(lambda plan: plan.idle),
        evictions=once(lambda plan: plan.evictions),
        spared=once(lambda plan: plan.spared),
        budgets=once(lambda plan: plan.budgets),
        stuck=once(lambda plan: plan.stuck),
        room=once(lambda plan: plan.room),
        pools=once(lambda plan: plan.pools),
        losses=once(lambda plan: plan.losses),
        untouched=frozenset(ref for _, plan in parts for ref in plan.untouched) - changed - open_,
        open=open_,
        cluster="; ".join(said_once([(name, [plan.cluster] if plan.cluster else []) for name, plan in parts])),
        errors=tuple(dict.fromkeys(error for _, plan in parts for error in plan.errors)),
        errors_before=tuple(dict.fromkeys(error for _, plan in parts for error in plan.errors_before)),
        unread=tuple(dict.fromkeys(unread_object for _, plan in parts for unread_object in plan.unread)),
        notes=said_once([(name, plan.notes) for name, plan in parts]),
        background=said_once([(name, plan.background) for name, plan in parts]),
        simulation=merged(explained, (), names) if explained else None,
        environments=names,
    )


def _names(part: Part, where: Sequence[str]) -> Sequence[str]:
    name, plan = part
    return [os.path.join(name, each) for each in where or plan.environments] or [name]


def _told(parts: Sequence[Part], pick: Callable[[Plan], Sequence[Any]]) -> Iterator[tuple[Sequence[str], Any]]:
    for name, plan in parts:
        yield from ((_names((name, plan), change.environments), change) for change in pick(plan))


def _findings(parts: Sequence[Part]) -> FindingChanges:
    """Return the changes of findings; one that several targets have stands once, with their names unless all have it.

    So what moves from one target to another is new in one of them and gone in the other.
    """
    names = [name for name, _ in parts]
    told = (((name,), change) for name, plan in parts for change in plan.findings.changes)
    changes = of_whole_findings(named_once(told, names, seen))
    same = tuple(finding for _, plan in parts for finding in plan.findings.same)
    return FindingChanges(tuple(replace(c, environments=unless_all(c.environments, names)) for c in changes), same)
