"""Workloads that exclude one another by required anti-affinity, and need more domains than there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import islice
from operator import or_

from msgspec import Struct

from kubesched_lint.engine.cluster.nodeset import EMPTY
from kubesched_lint.engine.model.pod import PodAffinityTerm, profile_of
from kubesched_lint.engine.placing.limits import MOST_PAIRS
from kubesched_lint.engine.placing.together.problem import Demand
from kubesched_lint.engine.scenario.scenario import Scenario


class Crowd(Struct, frozen=True):
    """Demands of which any two exclude each other: they need ``needed`` domains, and there are ``domains``."""

    demands: tuple[Demand, ...]
    needed: int
    domains: int


def crowded(scenario: Scenario, demands: Sequence[Demand]) -> Crowd | None:
    """Return three or more that exclude one another and need more domains than they can use; None if none are found.

    Of two, anti-affinity-symmetry says which keeps which away.
    Each needs one domain, or one for each pod if these exclude each other as well. It is no search for the largest
    group: it looks among the workloads that one term selects, the most demanding first, and at a bounded number of
    pairs.
    """
    if scenario.pools:
        return None
    found = _Crowds(scenario, demands)
    return next(filter(None, (found.around(demand, term) for demand, term in found.terms())), None)


class _Crowds:
    def __init__(self, scenario: Scenario, demands: Sequence[Demand]) -> None:
        self._scenario = scenario
        self._of = {d.workload: d for d in demands if self._asks_others(d)}
        self._left = MOST_PAIRS  # beyond it, groups that exclude each other are missed

    def _asks_others(self, demand: Demand) -> bool:
        """Whether the terms of others keep its pods away, whoever comes first.

        Running pods were placed when labels may have been different, and stand where they do; a profile without
        InterPodAffinity puts its pods beside any.
        """
        is_filtered = "InterPodAffinity" in profile_of(demand.pod).filters
        return is_filtered and not self._scenario.member(demand.workload).running_pods

    def terms(self) -> Iterator[tuple[Demand, PodAffinityTerm]]:
        """Yield the terms that keep a workload from others, each of a namespace once."""
        seen = set()
        for demand in self._of.values():
            for term in demand.pod.required_anti_affinity:
                key = (demand.workload.namespace, term)
                if self._left > 0 and key not in seen:
                    seen.add(key)
                    yield demand, term

    def around(self, demand: Demand, term: PodAffinityTerm) -> Crowd | None:
        """Return a crowd of a demand and those that its term selects."""
        key = term.topology_key
        selected = islice(self._scenario.member(demand.workload).selected_workloads(term), self._left)
        others = [self._of[one] for one in selected if one in self._of and one is not demand.workload]
        self._left -= 1 + len(others)
        members = [demand]
        for other in sorted(others, key=lambda one: -self._needed(one, key)):
            if all(self._exclude(other, member, key) for member in members):
                members.append(other)
                crowd = self._counted(members, key)
                if crowd is not None and len(members) > 2:
                    return crowd
            if self._left <= 0:
                break
        return None

    def _counted(self, members: Sequence[Demand], key: str) -> Crowd | None:
        nodes = reduce(or_, (member.nodes for member in members), EMPTY)
        if nodes & ~self._scenario.index.with_key(key):
            return None  # pods on a node without the label exclude nobody
        needed = sum(self._needed(member, key) for member in members)
        domains = len(self._scenario.index.domains_with(key, nodes))
        if needed <= domains:
            return None
        return Crowd(tuple(one for one in self._of.values() if one in members), needed, domains)

    def _needed(self, demand: Demand, key: str) -> int:
        return demand.count if self._exclude(demand, demand, key) else 1

    def _exclude(self, one: Demand, other: Demand, key: str) -> bool:
        """Whether no two of their pods may be in one domain: a term of either is enough."""
        self._left -= 1
        return any(
            term.topology_key == key and self._scenario.member(holder.workload).surely_selects(term, whom.workload)
            for holder, whom in ((one, other), (other, one))
            for term in holder.pod.required_anti_affinity
        )
