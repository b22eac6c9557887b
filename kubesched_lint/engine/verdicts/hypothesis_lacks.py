"""What is not known about a workload under a hypothesis."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.bounds.supposed_bounds import after_of
from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.events.search.hypotheses import NodeChange
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember
from kubesched_lint.engine.model.nodes.node import Taint
from kubesched_lint.engine.scenario.devices.devices import needs_devices
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scheduler.tolerance import stays_for_a_while
from kubesched_lint.engine.verdicts.missing_facts import Lack, looks_at_others, of_unread_pods


def lacks_of_hypothesis(member: SimulatedMember, scenario: Scenario) -> Iterator[Lack]:
    """Yield what is unknown about a workload of a set with a hypothesis; nothing without one."""
    if member.set.supposed is None:
        return
    change = member.set.supposed.change
    if change.added and needs_devices(member.workload.pod, scenario):
        yield Lack("which devices the new nodes have", True)
    if looks_at_others(member.pod, after_of(member.set).index) and not looks_at_others(member.pod, member.set.index):
        yield from of_unread_pods(scenario)  # new nodes are the domains that were too few
    taint = _coming_back(member, change)
    if taint is not None:
        seconds = many(stays_for_a_while(member.pod.tolerations, taint), "second")
        why = f"it tolerates {taint} for {seconds}: its pods must leave, and may come back"
        yield Lack(f"where its pods come to rest ({why})", True)


def _coming_back(member: SimulatedMember, change: NodeChange) -> Taint | None:
    """Return a taint that makes pods leave nodes that they may use again; None if there is none."""
    after, pod = after_of(member.set), member.pod
    usable = {after.nodes[p].name for p in positions(after.usable[member.number])}
    for names, taint in change.tainted:
        if any(change.evicts(pod, name) for name in names & usable):
            return taint
    return None
