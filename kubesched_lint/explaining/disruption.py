"""PodDisruptionBudgets that select a workload's pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from msgspec import Struct

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.cluster.selecting.postings import Posted, post_in, posted_in
from kubesched_lint.engine.controllers.bounds import allowed_disruptions, covers, owner_kind
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.policy import WITHOUT_SCALE, DisruptionBudget
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.pods.pod_labels import labels_when_created
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.findings import Evidence, proof

_ANY_NUMBER = 100
"""Pods of which a bound allows some to be missing, unless it allows that of no number."""
_Alike = tuple[str, Selector]
"""Namespace and selector; budgets with the same pair cover the same pods."""


class _Group:
    """Such budgets, with their numbers."""

    def __init__(self) -> None:
        self.budgets: list[tuple[int, DisruptionBudget]] = []
        self.first_covered: Sequence[Workload] | None = None
        self.first_of_kinds: Mapping[str, Workload] | None = None

    def covers(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return covers(self.budgets[0][1], namespace, labels)


class Covering(Struct, frozen=True):
    """The budgets that cover the pods of a workload."""

    count: int
    first: tuple[DisruptionBudget, ...]
    last_of_set: DisruptionBudget | None


class Budgets:
    """Budgets of the set and of the cluster, grouped by selector and indexed by a label that the selector requires."""

    def __init__(self, scenario: Scenario) -> None:
        live = () if scenario.cluster is None else scenario.cluster.inventory.budgets
        self.linted = frozenset(scenario.manifests.budgets)
        self._scenario = scenario
        self._alike: dict[_Alike, _Group] = {}
        self._group: dict[DisruptionBudget, _Group] = {}
        self._posted: Posted[_Group] = {}
        self._named = Counter((budget.namespace, budget.name) for budget in (*scenario.manifests.budgets, *live))
        for number, budget in enumerate((*scenario.manifests.budgets, *live)):
            if budget.selector is None:
                continue
            group = self._alike.get((budget.namespace, budget.selector))
            if group is None:
                group = self._alike[budget.namespace, budget.selector] = _Group()
                post_in((budget.namespace,), group, budget.selector, self._posted)
            group.budgets.append((number, budget))
            self._group[budget] = group

    def of(self, workload: Workload) -> Iterator[DisruptionBudget]:
        """Yield the budgets that cover its pods, in their order; of several with one name the first."""
        return self._covering(workload, self._posted)

    def first_and_last(self, workload: Workload, most: int) -> Covering:
        """Return the first ``most`` of those that cover its pods, and the last of the set."""
        every = tuple(self.of(workload))
        ours = [budget for budget in every if is_linted(budget, self._scenario)]
        return Covering(len(every), every[:most], ours[-1] if ours else None)

    def of_no_other(self, workload: Workload) -> Iterator[DisruptionBudget]:
        """Yield those that cover the pods of no other workload of the set."""
        for budget in self._covering(workload, self._posted_for_one):
            is_alone = all(other is workload for other in self.first_covered(budget))
            is_first = self._named[budget.namespace, budget.name] == 1 or any(b is budget for b in self.of(workload))
            if is_alone and is_first:
                yield budget

    def _covering(self, workload: Workload, posted: Posted[_Group]) -> Iterator[DisruptionBudget]:
        if not posted:
            return
        numbered: list[tuple[int, DisruptionBudget]] = []
        labels = labels_when_created(workload)
        for group in posted_in(workload.namespace, labels, posted):
            if group.covers(workload.namespace, labels):
                numbered += group.budgets
        seen = set()
        for _, budget in sorted(numbered, key=lambda pair: pair[0]):
            if budget.name not in seen:
                seen.add(budget.name)
                yield budget

    @cached_property
    def _posted_for_one(self) -> Posted[_Group]:
        """Without the budgets that cover several workloads: such a budget may cover nearly all."""
        posted: Posted[_Group] = {}
        for (namespace, selector), group in self._alike.items():
            if len(self.first_covered(group.budgets[0][1])) < 2:
                post_in((namespace,), group, selector, posted)
        return posted

    def first_covered(self, budget: DisruptionBudget) -> Sequence[Workload]:
        """The first workloads whose pods the budget covers, at most two."""
        if budget.selector is None:
            return ()
        group = self._group[budget]
        if group.first_covered is None:
            group.first_covered = tuple(islice(self._covered(budget), 2))
        return group.first_covered

    def first_of_kinds(self, budget: DisruptionBudget) -> Mapping[str, Workload]:
        """Kind of the controller of covered pods → the first such workload that is not scaled to nothing."""
        if budget.selector is None:
            return {}
        group = self._group[budget]
        if group.first_of_kinds is None:
            first_of_kinds = group.first_of_kinds = dict[str, Workload]()
            for workload in self._covered(budget):
                if workload.kind == "DaemonSet" or self._scenario.member(workload).replicas:
                    first_of_kinds.setdefault(owner_kind(workload), workload)
        return group.first_of_kinds

    def _covered(self, budget: DisruptionBudget) -> Iterator[Workload]:
        assert budget.selector is not None
        for workload in self._scenario.selection.near(budget.selector, (budget.namespace,)):
            if covers(budget, workload.namespace, labels_when_created(workload)):
                yield workload


@once_per_scenario
def _budgets(scenario: Scenario) -> Budgets:
    return Budgets(scenario)


def budgets_of(it: Member) -> Iterator[DisruptionBudget]:
    """Budgets of the set, else of the cluster, that select its pods."""
    return _budgets(it.scenario).of(it.workload)


def first_and_last_budget(it: Member, most: int) -> Covering:
    """Return the first ``most`` of ``budgets_of``, how many there are, and the last that is in the manifests."""
    return _budgets(it.scenario).first_and_last(it.workload, most)


def budgets_of_no_other(it: Member) -> Iterator[DisruptionBudget]:
    """Those of ``budgets_of`` that count no pods of another workload of the set."""
    return _budgets(it.scenario).of_no_other(it.workload)


def stuck_budgets(it: Member) -> Iterator[DisruptionBudget]:
    """Yield budgets of its pods alone that allow no eviction even if all replicas are healthy.

    None for a DaemonSet's pods, which a drain leaves, or a bare pod, which no controller recreates.
    """
    replicas = it.replicas
    if it.workload.stays and it.workload.kind != "Pod" and replicas:
        for budget in budgets_of_no_other(it):
            if not allowed_disruptions(budget, replicas, replicas):
                yield budget


def none_allowed(pods: int, budget: DisruptionBudget) -> str:
    """Return that a budget allows no eviction of so many running pods, all of them healthy."""
    return f"{many(pods, 'running pod')}, {budget.bound}: 0 disruptions allowed"


def nothing_may_go(it: Member, budget: DisruptionBudget) -> Evidence:
    """Return the proof that a budget of ``stuck_budgets`` allows no eviction."""
    return proof(
        none_allowed(it.replicas, budget),
        demand=1,
        supply=0,
        assumes=(f"{it.workload.ref.kind} {it.workload.ref.name} runs {many(it.replicas, 'replica')}",),
        event="drain",
    )


class Unscaled(Struct, frozen=True):
    """A budget that allows no eviction, because it asks for a scale that the controller of a workload's pods lacks."""

    budget: DisruptionBudget
    hits: Workload
    """A workload whose pods a drain evicts; another one if possible."""


def unscaled_budgets(it: Member) -> Iterator[Unscaled]:
    """Yield budgets that refuse every eviction while there are pods of the workload, although their bounds would not.

    A bare pod has no controller: it stops a budget that covers only such pods. Pods of DaemonSets alone do not matter,
    because drains leave them.
    """
    kind = owner_kind(it.workload)
    if (kind not in WITHOUT_SCALE and kind != "Pod") or (not it.replicas and it.workload.kind != "DaemonSet"):
        return
    for budget in budgets_of(it):
        if not budget.asks_for_scale or not allowed_disruptions(budget, _ANY_NUMBER, _ANY_NUMBER):
            continue
        if kind == "Pod" and not _are_bare(budget, it.scenario):
            continue
        beside = {k: w for k, w in _budgets(it.scenario).first_of_kinds(budget).items() if k != "DaemonSet"}
        hit = next((w for k, w in beside.items() if k != kind), beside.get(kind))
        if hit is not None:
            yield Unscaled(budget, hit)


def _are_bare(budget: DisruptionBudget, scenario: Scenario) -> bool:
    """Whether a budget covers only pods without a controller, of the set and of those that run."""
    if not _budgets(scenario).first_of_kinds(budget).keys() <= {"Pod"}:
        return False
    running = () if scenario.cluster is None else scenario.cluster.inventory.pods
    return not any(b.owner is not None and covers(budget, b.namespace, b.pod.labels) for b in running)


def is_linted(budget: DisruptionBudget, scenario: Scenario) -> bool:
    """Whether its bound is written in the manifests: not in a snapshot, and not counted by an operator."""
    moved = getattr(budget.source, "moved", None)
    return budget in _budgets(scenario).linted and (moved is None or moved(budget.bound_path).is_exact)


def is_without_pods(budget: DisruptionBudget, scenario: Scenario) -> bool:
    """Whether a budget of the set selects no pod: none of the set's workloads and none that runs."""
    if _budgets(scenario).first_covered(budget):
        return False
    running = () if scenario.cluster is None else scenario.cluster.inventory.pods
    return not any(covers(budget, bound.namespace, bound.pod.labels) for bound in running)
