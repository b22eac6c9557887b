"""How many replicas one node, or one zone, may take with it: what hard rules allow, and what runs today."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import NodeSet, lowest, only
from kubesched_lint.engine.events.start.others import selected_by
from kubesched_lint.engine.events.start.rooms import kept_apart
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE
from kubesched_lint.engine.model.pod import SpreadConstraint
from kubesched_lint.engine.scheduler.framework import with_enforced_constraints
from kubesched_lint.engine.scheduler.topology import counted_domains, is_short_of_domains

KEYS = (HOSTNAME, ZONE)


class AtOnce(NamedTuple):
    """What the loss of one node (``key`` kubernetes.io/hostname) or one zone takes of a workload's pods."""

    key: str
    wanted: int
    most: int
    """The most pods in one such domain that the rule lets in, whatever the scheduler does."""
    because: str
    """The hard rule that keeps it below ``wanted``; empty: nothing does."""
    today: int | None = None
    """The most of its running pods in one such domain; None if none of them runs."""

    @property
    def is_limited(self) -> bool:
        return self.most < self.wanted

    @property
    def taken(self) -> int:
        """The most pods that a loss takes: no rule moves those that run, of which a domain may have more."""
        return max(self.most, min(self.today or 0, self.wanted))

    @property
    def domain(self) -> str:
        """What is lost: ``node`` or ``zone``."""
        return "node" if self.key == HOSTNAME else "zone"


def weakened(before: Sequence[AtOnce], after: Sequence[AtOnce]) -> Iterator[tuple[AtOnce, AtOnce]]:
    """Yield (before, after) where one loss may take more of a workload: as many pods as before, or no rule is left.

    With more pods each domain holds more of them under the same rule, which is no change of protection.
    """
    known = {limit.key: limit for limit in before}
    for limit in after:
        former = known.get(limit.key)
        if former is None or limit.most <= former.most or not former.is_limited:
            continue
        if limit.wanted == former.wanted or not limit.is_limited:
            yield former, limit


class _Rule(NamedTuple):
    """A hard rule of a workload: the most of its pods in one domain of ``key``."""

    key: str
    each: int
    says: str


def at_once(member: SimulatedMember) -> Iterator[AtOnce]:
    """Yield it for nodes, and for zones if the workload can use several. Room of nodes is not considered.

    A DaemonSet has one pod on each node, which no rule decides: it yields nothing.
    """
    wanted, index, usable = member.wanted, member.set.index, member.usable
    if member.workload.kind == "DaemonSet" or wanted < 1:
        return
    rules = [*_rules(member)]
    for key in KEYS:
        if index.domains_of(key, usable) < 2 or usable & ~index.with_key(key):
            continue
        bounds = (_bound(index, wanted, rules, nodes) for nodes in _unlike_domains(index, key, usable, rules))
        most, because = max(bounds, key=lambda bound: bound[0])
        yield AtOnce(key, wanted, most, because if most < wanted else "", _today(member, key))


def _rules(member: SimulatedMember) -> Iterator[_Rule]:
    pod = with_enforced_constraints(member.pod)
    if pod.host_ports:
        yield _Rule(HOSTNAME, 1, f"host port {pod.host_ports[0].port}")
    for term in kept_apart(member):
        yield _Rule(term.topology_key, 1, f"anti-affinity over {term.topology_key}")
    for constraint in pod.spread:
        if constraint.is_hard and constraint.selector is not None and constraint.selector.matches(pod.labels):
            most = _most_in_a_domain(member, constraint, constraint.selector)
            yield _Rule(constraint.topology_key, most, f"spread over {constraint.topology_key}")


def _unlike_domains(index: NodeIndex, key: str, usable: NodeSet, rules: Sequence[_Rule]) -> Iterable[NodeSet]:
    """Return the usable nodes of each domain; if each is one node, only one of those that the same rules bound."""
    if not index.one_node_each(key):
        return {nodes & usable for nodes in index.domains(key).values() if nodes & usable}
    parts = [usable]
    for rule in rules:
        known = index.with_key(rule.key)
        parts = [part for whole in parts for part in (whole & known, whole & ~known) if part]
    return [only(lowest(part)) for part in parts]


def _bound(index: NodeIndex, wanted: int, rules: Sequence[_Rule], nodes: NodeSet) -> tuple[int, str]:
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


def _today(member: SimulatedMember, key: str) -> int | None:
    running = [bound.node for bound in member.running if bound.node]
    labels = {node.name: node.labels.get(key, "") for node in member.set.nodes}
    return max(Counter(labels.get(name, "") for name in running).values()) if running else None
