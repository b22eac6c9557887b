"""How uneven pods are today over each key of their spread constraints, and how many descheduler would move.

Counts as the filter plugin does. The number of moves mirrors balanceDomains of descheduler's
RemovePodsViolatingTopologySpreadConstraint, without its check that another node fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from kubesched_lint.commands.audit.findings import FACT, SKEW, AuditFinding
from kubesched_lint.commands.audit.running_cluster import RunningCluster, place_in
from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.engine.model.pod import Pod, SpreadConstraint
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scheduler.plugins.pod_topology_spread import effective_selector, spread_tally
from kubesched_lint.engine.scheduler.topology import counted_domains, eligible_nodes, least_count
from kubesched_lint.findings import Severity

_STRATEGY = "RemovePodsViolatingTopologySpreadConstraint"


def uneven(now: RunningCluster) -> Iterator[AuditFinding]:
    """Yield a finding for each workload and constraint whose domains differ by more than maxSkew today."""
    seen: set[object] = set()
    for group in now.groups:
        workload = group.workload
        for number, constraint in enumerate(group.pod.spread if workload is not None else ()):
            selector = effective_selector(group.pod, constraint)
            key = (group.ref, number, constraint.topology_key, str(selector))
            if workload is not None and key not in seen:
                seen.add(key)
                yield from _of(now, workload, group.pod, constraint, number)


def _of(
    now: RunningCluster, workload: Workload, pod: Pod, constraint: SpreadConstraint, number: int
) -> Iterator[AuditFinding]:
    counts = _counts(now, pod, constraint)
    skew = max(counts.values(), default=0) - least_count(constraint, counts.values())
    if skew <= constraint.max_skew:
        return
    ordered = sorted(counts, key=lambda value: (-counts[value], value))
    shown = first_few([f"{value}: {counts[value]}" for value in ordered])
    moves = moved(list(counts.values()), constraint.max_skew)
    default = "" if constraint.is_hard else " with ScheduleAnyway among its constraints"
    text = f"{workload} is uneven over {constraint.topology_key}: skew {skew} > maxSkew {constraint.max_skew} ({shown})"
    yield AuditFinding(
        SKEW,
        Severity.WARNING if constraint.is_hard else Severity.NOTE,
        workload.ref,
        text,
        _place(workload, number),
        FACT,
        moves,
        (("descheduler", f"{_STRATEGY}{default} would evict up to {many(moves, 'pod')}"),),
        cause=f"{workload} {constraint.topology_key}",
    )


def _counts(now: RunningCluster, pod: Pod, constraint: SpreadConstraint) -> dict[str, int]:
    """Return pods that the constraint counts today in each of its domains."""
    index = now.lasting.index
    if constraint.is_hard:
        domains = counted_domains(pod, constraint, index)
    else:
        eligible = eligible_nodes(pod, constraint, index)
        domains = {v: n & eligible for v, n in index.domains(constraint.topology_key).items() if n & eligible}
    tally = spread_tally(effective_selector(pod, constraint), pod.namespace, now.state)
    return {value: tally.total(nodes) for value, nodes in domains.items()}


def _place(workload: Workload, number: int) -> str:
    """Return the place of a constraint; empty for one that the scheduler's profile adds."""
    if number >= len(workload.pod.spread) or workload.source is None:
        return ""
    return place_in(workload.source, (*workload.pod.path, "topologySpreadConstraints", number))


def moved(sizes: Sequence[int], max_skew: int) -> int:
    """Return how many pods balanceDomains takes from the fuller domains."""
    domains, total = sorted(sizes), 0
    ideal = sum(domains) / len(domains)
    i, j = 0, len(domains) - 1
    while i < j:
        if domains[j] <= ideal:
            j -= 1
        skew = domains[j] - domains[i]
        if skew <= max_skew:
            i += 1
            continue
        moves = min(ceil(domains[j] - ideal), ceil(ideal - domains[i]), ceil((skew - max_skew) / 2))
        if moves <= 0:
            i += 1
            continue
        domains[j] -= moves
        domains[i] += moves
        total += moves
    return total
