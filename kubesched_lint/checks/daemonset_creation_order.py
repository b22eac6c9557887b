"""A workload that is created before the DaemonSet whose nodes it shares may take the room that the DaemonSet needs."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts, dedicated_to
from kubesched_lint.analysis.sharing import LockedOut, locked_out, too_small
from kubesched_lint.findings import Evidence, Hazard, Place, pattern, witness
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import replace

_MOST_SHOWN = 3


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    """One hazard for each group of nodes, however many DaemonSets share it."""
    dedication = dedicated_to(workload)
    if not dedication or not workload.stays:
        return
    # Elsewhere than in a group of nodes that both name the order of creation rarely decides anything.
    late: dict[tuple[str, ...], list[tuple[Workload, Evidence]]] = {}
    for daemon in facts.daemons_for(dedication):
        if not facts.comes_before(workload, daemon):
            continue
        evidence = _evidence(workload, daemon, facts)
        if evidence is not None:
            group = tuple(f"{k}={v}" for k, v in dedicated_to(daemon).items())
            late.setdefault(group, []).append((daemon, evidence))
    for group, found in late.items():
        worst, evidence = min(found, key=lambda one: one[1].kind != "witness")
        if len(found) > 1:
            evidence = replace(evidence, text=f"{evidence.text} ({worst}; {len(found)} in all)")
        yield Hazard(
            at=("metadata", "name"),
            evidence=evidence,
            values={
                "daemons": tuple(str(daemon) for daemon, _ in found),
                "group": group,
                "tool": facts.premises.apply_order,
            },
            related=tuple(
                Place(("metadata", "name"), "is created after it", daemon.source, daemon.ref)
                for daemon, _ in found[:_MOST_SHOWN]
            ),
        )


def _evidence(workload: Workload, daemon: Workload, facts: Facts) -> Evidence | None:
    """Why the order matters here; None when every node of a fixed cluster provably holds both, or the late evicts."""
    if facts.preempts(daemon, workload):
        return None
    order = f"{workload.kind} before DaemonSet under {facts.premises.apply_order}"
    if facts.cluster is None:
        return pattern(f"{order}; no cluster given")
    shared = facts.reach(daemon).tolerated & facts.usable(workload)
    if shared & facts.today:
        found = locked_out(workload, daemon, shared & facts.today, facts)
        if found is not None and found.reachable:
            return witness(f"{order}; no room is left on {found.node}", trace=_trace(workload, daemon, found))
        if found is not None:
            return pattern(f"{order}; on {found.node} the two may not fit together ({', '.join(found.reasons)})")
    elif not facts.reach(daemon).matching:
        return pattern(f"{order}; no node of this group exists yet")
    if shared & ~facts.today:
        found_new = too_small(workload, daemon, facts)
        if found_new is not None:
            return pattern(f"{order}; {found_new}")
    return pattern(f"{order}; the nodes come from an autoscaler") if facts.is_elastic else None


def _trace(workload: Workload, daemon: Workload, found: LockedOut) -> tuple[str, ...]:
    placed = "1 pod is" if found.count == 1 else f"{found.count} pods are"
    return (
        f"{workload} comes first: {placed} placed on {found.node}",
        f"the pod of {daemon} for {found.node} stays Pending: {', '.join(found.reasons)}",
    )
