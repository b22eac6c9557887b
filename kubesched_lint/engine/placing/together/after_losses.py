"""What a whole set surely lacks after a loss: so many pods wait, whichever they are.

Which pods wait depends on the order, so that the row of no workload proves it. Sums do, as for ``joint``: what pods ask
for that may use certain nodes only, against the room of these nodes without the lost ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct

from kubesched_lint.engine.cluster.ledger import PODS
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.model.pod import knows_scheduler, profile_of
from kubesched_lint.engine.placing.limits import MOST_VARIABLES
from kubesched_lint.engine.placing.together.joint import (
    POD_LIMIT,
    demands_of,
    fits_alone,
    on_each_node,
    overfull,
    packed,
)
from kubesched_lint.engine.placing.together.problem import Demand, NodeClass, Problem
from kubesched_lint.engine.scenario.scenario import Scenario, once_per_scenario

Losses = Mapping[str, NodeSet]
"""What may be lost, by name."""


class Short(Struct, frozen=True):
    """After the loss of any of these nodes or zones, at least so many pods wait."""

    event: str
    lost: tuple[str, ...]
    of: int
    """The number of nodes, or of zones, where the pods may run."""
    is_whole_cluster: bool
    """Whether the cluster has no others."""
    mildest: str
    """The loss after which the fewest wait; both numbers are of it."""
    waiting: int
    wanted: int
    """The pods of which these are some."""
    demands: tuple[Demand, ...]
    because: str
    """The resource that is short."""


class _Confined(Struct, frozen=True):
    """The demands on a set of nodes that may use no other nodes; of DaemonSets, the pods on these."""

    problem: Problem
    nodes: NodeSet
    demands: Sequence[Demand]
    classes: Sequence[NodeClass]

    def lacking(self, r: int, on_each: Sequence[int], lost: NodeSet) -> tuple[int, int]:
        """Return (least number of pods that find no room by one resource, number of all pods) without lost nodes.

        ``on_each``: how many fit on a node of each class.
        """
        sizes = sorted(
            (self.problem.request(d)[r], (d.nodes & self.nodes & ~lost).bit_count() if d.one_a_node else d.count)
            for d in self.demands
        )
        left = [(c.nodes & ~lost).bit_count() for c in self.classes]
        room = sum(max(c.room[r], 0) * number for c, number in zip(self.classes, left, strict=True))
        node_by_node = sum(each * number for each, number in zip(on_each, left, strict=True))
        wanted = sum(count for _, count in sizes)
        return wanted - min(packed(sizes, room), node_by_node), wanted


@once_per_scenario
def short_after_losses(scenario: Scenario) -> tuple[Short, ...]:
    """Return what the loss of a node, and of a zone, leaves short; nothing where pools may add nodes."""
    if scenario.pools:
        return ()
    worst = (_worst(scenario, event, losses) for event, losses in _losses(scenario).items())
    return tuple(short for short in worst if short is not None)


def _losses(scenario: Scenario) -> Mapping[str, Losses]:
    index = scenario.index
    zones = index.domains(ZONE)
    losses: dict[str, Losses] = {"node-loss": {name: 1 << position for position, name in enumerate(index.names)}}
    return {**losses, "zone-loss": zones} if len(zones) > 1 else losses


def _worst(scenario: Scenario, event: str, losses: Losses) -> Short | None:
    """Return what is short after most of the losses, and of such cases the one with the most waiting pods."""
    short_sets = chain.from_iterable(_of(confined, event, losses) for confined in _confined(scenario))
    return max(short_sets, key=lambda short: (len(short.lost), short.waiting), default=None)


@once_per_scenario
def _confined(scenario: Scenario) -> Sequence[_Confined]:
    """Return the demands by the nodes to which they are confined; none where the set is too large without a loss.

    Of very many workloads on very many kinds of nodes, or with very many resources, nothing is told.
    """
    resources = {name for d in demands_of(scenario) for name in d.pod.requests}
    if len(resources) * len(demands_of(scenario)) > MOST_VARIABLES:
        return ()
    demands = [d for d in demands_of(scenario) if d.workload.kind != "Pod" and fits_alone(scenario, d)]
    problem = Problem(scenario, [d for d in demands if knows_scheduler(d.pod) and not profile_of(d.pod).unmodelled])
    if overfull(problem) is not None:
        return ()
    confined = []
    for nodes in dict.fromkeys(d.nodes for d in problem.demands if not d.one_a_node):
        inside = [d for d in problem.demands if not d.nodes & ~nodes or (d.one_a_node and d.nodes & nodes)]
        classes = [c for c in problem.classes if not c.nodes & ~nodes]
        # A larger group is left out: it may be short, and nobody says so.
        is_small = len(inside) * len(classes) <= MOST_VARIABLES
        if is_small and sum(not d.one_a_node for d in inside) > 1:  # what one workload lacks, its row says
            confined.append(_Confined(problem, nodes, inside, classes))
    return confined


def _of(confined: _Confined, event: str, losses: Losses) -> Iterator[Short]:
    """Yield what is short by each resource; losses that take as many nodes of each class leave the same."""
    near = {name: lost & confined.nodes for name, lost in losses.items() if lost & confined.nodes}
    for r, resource in enumerate(confined.problem.resources):
        if not any(confined.problem.request(d)[r] for d in confined.demands):
            continue
        on_each = on_each_node(confined.problem, confined.demands, r, confined.classes)
        if confined.lacking(r, on_each, EMPTY)[0]:
            continue
        known: dict[tuple[int, ...], tuple[int, int]] = {}
        short: dict[str, tuple[int, int]] = {}
        for name, lost in near.items():
            kind = tuple((c.nodes & lost).bit_count() for c in confined.classes)
            if kind not in known:
                known[kind] = confined.lacking(r, on_each, lost)
            if known[kind][0] > 0:
                short[name] = known[kind]
        if short:
            mildest = min(short, key=lambda name: short[name])
            because = POD_LIMIT if resource == PODS else resource
            yield Short(
                event,
                tuple(short),
                len(near),
                len(near) == len(losses),
                mildest,
                *short[mildest],
                tuple(confined.demands),
                because,
            )
