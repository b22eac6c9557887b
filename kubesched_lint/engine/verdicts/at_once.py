"""How many replicas one node, or one zone, may take with it: what hard rules allow, and what runs today."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kubesched_lint.engine.bounds.losses.taken import Rule, hard_rules, most_within
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import NodeSet, lowest, only
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE

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


def at_once(member: SimulatedMember) -> Iterator[AtOnce]:
    """Yield it for nodes, and for zones if the workload can use several. Room of nodes is not considered.

    A DaemonSet has one pod on each node, which no rule decides: it yields nothing.
    """
    wanted, index, usable = member.wanted, member.set.index, member.usable
    if member.workload.kind == "DaemonSet" or wanted < 1:
        return
    rules = [*hard_rules(member)]
    for key in KEYS:
        if index.domains_of(key, usable) < 2 or usable & ~index.with_key(key):
            continue
        bounds = (most_within(index, wanted, rules, nodes) for nodes in _unlike_domains(index, key, usable, rules))
        most, because = max(bounds, key=lambda bound: bound[0])
        yield AtOnce(key, wanted, most, because if most < wanted else "", _today(member, key))


def _unlike_domains(index: NodeIndex, key: str, usable: NodeSet, rules: Sequence[Rule]) -> Iterable[NodeSet]:
    """Return the usable nodes of each domain; if each is one node, only one of those that the same rules bound."""
    if not index.one_node_each(key):
        return {nodes & usable for nodes in index.domains(key).values() if nodes & usable}
    parts = [usable]
    for rule in rules:
        known = index.with_key(rule.key)
        parts = [part for whole in parts for part in (whole & known, whole & ~known) if part]
    return [only(lowest(part)) for part in parts]


def _today(member: SimulatedMember, key: str) -> int | None:
    running = [bound.node for bound in member.running if bound.node]
    labels = {node.name: node.labels.get(key, "") for node in member.set.nodes}
    return max(Counter(labels.get(name, "") for name in running).values()) if running else None
