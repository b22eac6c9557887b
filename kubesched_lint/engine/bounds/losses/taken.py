"""The most pods of a workload that one loss takes: where they stand today, or what hard rules allow on a deploy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import NodeSet, of
from kubesched_lint.engine.events.start.others import selected_by
from kubesched_lint.engine.events.start.rooms import kept_apart
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set, zones
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME
from kubesched_lint.engine.model.pod import SpreadConstraint
from kubesched_lint.engine.scheduler.framework import with_enforced_constraints
from kubesched_lint.engine.scheduler.topology import counted_domains, is_short_of_domains


def most_taken(member: SimulatedMember, event: str) -> int:
    """Return the most pods of a workload that a loss takes, if all of them run before it."""
    simulated = member.set
    wanted, index = member.wanted, simulated.index
    if all(map(stands, simulated.members)):
        at = [index.positions[bound.node] for bound in member.running]
        return max((sum(lost >> p & 1 for p in at) for lost in losses(simulated, event)), default=wanted)
    if member.running:  # a rollout before the loss may put more of them in a domain than rules let in at first
        return wanted
    rules = [*hard_rules(member)]
    taken = (
        most_within(index, wanted, rules, lost & member.usable)[0]
        for lost in losses(simulated, event)
        if lost & member.usable
    )
    return max(taken, default=0)


def stands(member: SimulatedMember) -> bool:
    """Whether all pods of a workload run, and none is to change."""
    is_same = member.changes_template is False and member.is_settled
    return is_same and member.kept == len(member.running) == member.wanted


def losses(simulated: SimulatedSet, event: str) -> list[NodeSet]:
    """Return what a loss may take: each node, or the nodes of each zone; those of a hypothesis."""
    known, hypothesis = _losses(simulated), simulated.supposes(event)
    if hypothesis is not None:
        return [simulated.index.named(hypothesis.change.unreachable)]
    if event not in known:
        at = simulated.index.positions
        is_zone = event in ("zone-loss", "zone-unreachable")
        known[event] = (
            [of([at[name] for name in names]) for names in zones(simulated).values()]
            if is_zone
            else [1 << position for position in range(len(simulated.nodes))]
        )
    return known[event]


@once_per_set
def _losses(simulated: SimulatedSet) -> dict[str, list[NodeSet]]:
    return {}


# --- what rules allow -------------------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """A hard rule of a workload: the most of its pods in one domain of ``key``."""

    key: str
    each: int
    says: str


def hard_rules(member: SimulatedMember) -> Iterator[Rule]:
    """Yield what keeps pods of a workload from one domain, if all are of one revision."""
    pod = with_enforced_constraints(member.pod)
    if pod.host_ports:
        yield Rule(HOSTNAME, 1, f"host port {pod.host_ports[0].port}")
    for term in kept_apart(member):
        yield Rule(term.topology_key, 1, f"anti-affinity over {term.topology_key}")
    for constraint in pod.spread:
        if constraint.is_hard and constraint.selector is not None and constraint.selector.matches(pod.labels):
            most = _most_in_a_domain(member, constraint, constraint.selector)
            yield Rule(constraint.topology_key, most, f"spread over {constraint.topology_key}")


def most_within(index: NodeIndex, wanted: int, rules: Sequence[Rule], nodes: NodeSet) -> tuple[int, str]:
    """Return the most pods on ``nodes`` after a deploy, and the rule that says so."""
    least = wanted, ""
    for rule in rules:
        if not nodes & ~index.with_key(rule.key):
            least = min(least, (index.domains_of(rule.key, nodes) * rule.each, rule.says))
    return least


def _most_in_a_domain(member: SimulatedMember, constraint: SpreadConstraint, selector: Selector) -> int:
    """Return the most pods that one domain holds when all are placed: the others then hold no fewer than maxSkew less.

    With fewer domains than minDomains the least count is 0. Pods of others that the selector matches may stand in the
    other domains and lift it: then nothing is bounded.
    """
    simulated = member.set
    wanted, pod, skew = member.wanted, member.pod, constraint.max_skew
    domains = len(counted_domains(pod, constraint, simulated.index))
    ours = simulated.selection.of(selector, pod.namespace)
    if any(other != member.number for other in ours) or any(selected_by(simulated, selector, pod.namespace)):
        return wanted
    if is_short_of_domains(constraint, domains):
        return min(wanted, skew)
    return min(wanted, (wanted + (domains - 1) * skew) // domains) if domains else wanted
