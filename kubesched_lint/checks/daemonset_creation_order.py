"""A workload that is created before the DaemonSet whose nodes it shares may take the room that the DaemonSet needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.base.text import SHOWN, plural
from kubesched_lint.engine.model.nodes.node import ARCH, KEPT_LIKE, OS
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.others.staying import preempts
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.explaining.crowding.daemon_room import locked_out, too_small
from kubesched_lint.explaining.objects.apart import APART, AT_ONCE, Later, created_later
from kubesched_lint.findings import Evidence, Hazard, Place, Severity, pattern, witness

_EVERYWHERE = (OS, ARCH, *KEPT_LIKE)


def check(it: Member) -> Iterator[Hazard]:
    """One hazard for each group of nodes and way of coming later, however many DaemonSets share it."""
    late: dict[tuple[tuple[str, ...], str, Later], list[tuple[Workload, Evidence]]] = {}
    for daemon, later in _created_later(it):
        evidence, is_today = _evidence(it, it.scenario.member(daemon), f"{it.workload.ref.kind} first ({later.why})")
        if evidence is not None:
            group = tuple(f"{key}={value}" for key, value in _dedicated_to(daemon).items())
            # The scheduler fills nodes of today within milliseconds; an autoscaler needs longer than an apply.
            is_fast = is_today and later.how != APART
            variant = "default" if is_fast else "at_once" if later.how == AT_ONCE else "time"
            late.setdefault((group, variant, later), []).append((daemon, evidence))
    for (group, variant, later), daemons in late.items():
        worst, evidence = min(daemons, key=lambda candidate: candidate[1].kind != "witness")
        if len(daemons) > 1:
            evidence = replace(evidence, text=f"{evidence.text} ({worst}; {len(daemons)} in all)")
        names = tuple(str(daemon) for daemon, _ in daemons)
        yield Hazard(
            at=("metadata", "name"),
            evidence=evidence,
            variant=variant,
            severity=Severity.NOTE if variant == "at_once" else None,
            values={
                "daemons": names,
                "group": group,
                "order": later.why,
                "is": "is" if later.how == APART else "may be",
            },
            related=tuple(
                Place(("metadata", "name"), "is created after it", daemon.source, daemon.ref)
                for daemon, _ in daemons[:SHOWN]
            ),
            cause=" ".join(names),
        )


def _created_later(it: Member) -> Iterator[tuple[Workload, Later]]:
    """The DaemonSets whose node selector names nodes among those of this workload, unless they take their room back."""
    selected = _dedicated_to(it.workload)
    if selected and it.workload.stays:
        for daemon in _dedicated_daemons(it.scenario):
            if not _dedicated_to(daemon).items() <= selected.items():
                continue
            later = created_later(it.workload, daemon, it.scenario)
            if later is not None and not preempts(it.scenario.member(daemon), it.workload):
                yield daemon, later


def _evidence(it: Member, daemon: Member, order: str) -> tuple[Evidence | None, bool]:
    """Why the order matters here, and whether for nodes of today; None if every node of a fixed cluster holds both."""
    if it.scenario.cluster is None:
        return pattern(f"{order}; no cluster given"), False
    shared = daemon.reach.tolerated & it.usable
    if shared & it.scenario.today:
        locked = locked_out(it, daemon)
        reasons = "" if locked is None else ", ".join(locked.reasons)
        if locked is not None and locked.reachable:
            placed = f"{locked.count} {plural(locked.count, 'pod is', 'pods are')} placed on {locked.node}"
            pending = f"the pod of {daemon.workload} for {locked.node} stays Pending: {reasons}"
            trace = (f"{it.workload} comes first: {placed}", pending)
            return witness(f"{order}; no room is left on {locked.node}", trace=trace), True
        if locked is not None:
            return pattern(f"{order}; on {locked.node} the two may not fit together ({reasons})"), True
    elif not daemon.reach.matching:
        return None if it.scenario.node_groups.are_all else pattern(f"{order}; no node of this group exists yet"), False
    if shared & ~it.scenario.today and (small := too_small(it, daemon)):
        return pattern(f"{order}; {small}"), False
    return pattern(f"{order}; the nodes come from an autoscaler") if it.scenario.is_elastic else None, False


def _dedicated_to(workload: Workload) -> Mapping[str, str]:
    """The labels of the node group that its node selector names; architecture and system do not count."""
    return {k: v for k, v in workload.pod.node_selector.items() if k not in _EVERYWHERE}


@once_per_scenario
def _dedicated_daemons(scenario: Scenario) -> Sequence[Workload]:
    return [each for each in scenario.manifests.workloads if each.kind == "DaemonSet" and _dedicated_to(each)]
