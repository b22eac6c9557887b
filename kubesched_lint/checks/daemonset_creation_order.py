"""A workload that is created before the DaemonSet whose nodes it shares may take the room that the DaemonSet needs."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.findings import Hazard, Place, pattern
from kubesched_lint.model.workload import Workload

_EVERYWHERE = ("kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch")


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    if workload.kind in ("DaemonSet", "Job", "CronJob"):
        return
    for daemon in facts.daemon_sets:
        if not facts.comes_before(workload, daemon) or not _dedicated_pair(workload, daemon):
            continue
        if facts.cluster is not None:
            shared = facts.reach(daemon).tolerated & facts.reach(workload).usable
            exists = bool(facts.reach(daemon).matching)
            if exists and not facts.cluster.is_elastic and not shared:
                continue
            if shared and not facts.cluster.is_elastic and facts.holds_both(workload, daemon, shared):
                continue
            state = f"{shared.bit_count()} shared nodes" if exists else "no node of this kind exists yet"
        else:
            state = "no cluster given"
        group = ", ".join(f"{k}={v}" for k, v in _dedication(daemon).items())
        yield Hazard(
            at=("metadata", "name"),
            evidence=pattern(f"{workload.kind} before DaemonSet under {facts.premises.apply_order}; {state}"),
            values={"daemon": str(daemon), "group": group, "tool": facts.premises.apply_order},
            related=(Place(("metadata", "name"), "is created after it", daemon.source, daemon.ref),),
        )


def _dedication(workload: Workload) -> dict[str, str]:
    return {k: v for k, v in workload.pod.node_selector.items() if k not in _EVERYWHERE}


def _dedicated_pair(workload: Workload, daemon: Workload) -> bool:
    """Both are sent to the same group of nodes by name: elsewhere the order of creation rarely decides anything."""
    mine, theirs = _dedication(workload), _dedication(daemon)
    return bool(theirs) and theirs.items() <= mine.items()
