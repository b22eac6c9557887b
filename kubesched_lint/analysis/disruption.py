"""PodDisruptionBudgets that select a workload's pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from kubesched_lint import work
from kubesched_lint.controllers.bounds import allowed_disruptions, covers, owner_kind
from kubesched_lint.findings import Evidence, proof
from kubesched_lint.model.labels import Selector
from kubesched_lint.model.policy import WITHOUT_SCALE, DisruptionBudget
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import Record
from kubesched_lint.text import many
from kubesched_lint.world.pod_labels import labels_when_created
from kubesched_lint.world.world import Member, World, once_per_world

_STEPS = 3
"""Work units (see ``work``) to check whether a budget covers a pod."""
_MANY = 100
"""Pods of which a bound allows some to be missing, unless it allows that of no number."""
_Label = tuple[str, str] | None
_Alike = tuple[str, Selector]
"""Namespace and selector; budgets with the same pair cover the same pods."""


class Budgets:
    """Budgets of the set and of the cluster, grouped by selector and indexed by a label that the selector requires."""

    def __init__(self, world: World) -> None:
        live = () if world.cluster is None else world.cluster.inventory.budgets
        self.linted = frozenset(map(id, world.manifests.budgets))
        self._world = world
        self._alike: dict[_Alike, list[tuple[int, DisruptionBudget]]] = {}
        self._group: dict[int, int] = {}
        self._posted: dict[tuple[str, _Label], list[list[tuple[int, DisruptionBudget]]]] = {}
        for number, budget in enumerate((*world.manifests.budgets, *live)):
            if budget.selector is None:
                continue
            group = self._alike.setdefault((budget.namespace, budget.selector), [])
            group.append((number, budget))
            self._group[id(budget)] = id(group)
            if len(group) == 1:
                for label in _posted_under(budget.selector):
                    self._posted.setdefault((budget.namespace, label), []).append(group)
        self._first_covered: dict[int, Sequence[Workload]] = {}
        self._first_of_kinds: dict[int, Mapping[str, Workload]] = {}

    def of(self, workload: Workload) -> Iterator[DisruptionBudget]:
        """Yield the budgets that cover its pods, in their order."""
        if not self._posted:
            return
        found: list[tuple[int, DisruptionBudget]] = []
        labels = labels_when_created(workload)
        for label in (None, *labels.items()):
            for group in self._posted.get((workload.namespace, label), ()):
                work.spend(_STEPS)
                if covers(group[0][1], workload.namespace, labels):
                    found += group
        for _, budget in sorted(found, key=lambda one: one[0]):
            work.spend()
            yield budget

    def first_covered(self, budget: DisruptionBudget) -> Sequence[Workload]:
        """The first workloads whose pods the budget covers, at most two."""
        if budget.selector is None:
            return ()
        group = self._group[id(budget)]
        if group not in self._first_covered:
            self._first_covered[group] = tuple(islice(self._covered(budget, budget.selector), 2))
        return self._first_covered[group]

    def first_of_kinds(self, budget: DisruptionBudget) -> Mapping[str, Workload]:
        """Kind of the controller of covered pods → the first such workload that is not scaled to nothing."""
        if budget.selector is None:
            return {}
        group = self._group[id(budget)]
        if group not in self._first_of_kinds:
            found = self._first_of_kinds[group] = dict[str, Workload]()
            for workload in self._covered(budget, budget.selector):
                if workload.kind == "DaemonSet" or self._world.member(workload).replicas:
                    found.setdefault(owner_kind(workload), workload)
        return self._first_of_kinds[group]

    def _covered(self, budget: DisruptionBudget, selector: Selector) -> Iterator[Workload]:
        for label in _posted_under(selector):
            for workload in self._workloads.get((budget.namespace, label), ()):
                work.spend(_STEPS)
                if covers(budget, workload.namespace, labels_when_created(workload)):
                    yield workload

    @cached_property
    def _workloads(self) -> dict[tuple[str, _Label], list[Workload]]:
        """The workloads under each label that a budget requires; thousands have labels of their own."""
        found: dict[tuple[str, _Label], list[Workload]] = {key: [] for key in self._posted}
        for workload in self._world.manifests.workloads:
            for label in (None, *labels_when_created(workload).items()):
                if (workload.namespace, label) in found:
                    found[workload.namespace, label].append(workload)
        return found


def _posted_under(selector: Selector) -> Sequence[_Label]:
    """Return labels; each selected pod has at least one. ``(None,)`` if the selector implies none."""
    posting = next((r for r in selector.requirements if r.operator == "In"), None)
    return (None,) if posting is None else [(posting.key, value) for value in dict.fromkeys(posting.values)]


@once_per_world
def _budgets(world: World) -> Budgets:
    return Budgets(world)


def budgets_of(it: Member) -> Iterator[DisruptionBudget]:
    """Budgets of the set, else of the cluster, that select its pods."""
    seen = set()
    for budget in _budgets(it.world).of(it.workload):
        if budget.name not in seen:
            seen.add(budget.name)
            yield budget


def stuck_budgets(it: Member) -> Iterator[DisruptionBudget]:
    """Yield budgets of its pods alone that allow no eviction even if all replicas are healthy.

    None for a DaemonSet's pods, which a drain leaves, or a bare pod, which no controller recreates.
    """
    replicas = it.replicas
    if it.workload.stays and it.workload.kind != "Pod" and replicas:
        for budget in budgets_of(it):
            if not guards_others(budget, it) and not allowed_disruptions(budget, replicas, replicas):
                yield budget


def nothing_may_go(it: Member, budget: DisruptionBudget) -> Evidence:
    """Return the proof that a budget of ``stuck_budgets`` allows no eviction."""
    return proof(
        f"{many(it.replicas, 'healthy pod')}, {budget.bound}: 0 disruptions allowed",
        demand=1,
        supply=0,
        assumes=(f"{it.workload.ref.kind} {it.workload.ref.name} runs {many(it.replicas, 'replica')}",),
    )


class Unscaled(Record):
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
    if not it.replicas and it.workload.kind != "DaemonSet":
        return
    for budget in budgets_of(it):
        if not budget.asks_for_scale or not allowed_disruptions(budget, _MANY, _MANY):
            continue
        if kind not in WITHOUT_SCALE and not (kind == "Pod" and _are_bare(budget, it.world)):
            continue
        beside = {k: w for k, w in _budgets(it.world).first_of_kinds(budget).items() if k != "DaemonSet"}
        hit = next((w for k, w in beside.items() if k != kind), beside.get(kind))
        if hit is not None:
            yield Unscaled(budget, hit)


def _are_bare(budget: DisruptionBudget, world: World) -> bool:
    """Whether a budget covers only pods without a controller, of the set and of those that run."""
    if not _budgets(world).first_of_kinds(budget).keys() <= {"Pod"}:
        return False
    running = () if world.cluster is None else world.cluster.inventory.pods
    return not any(b.owner is not None and covers(budget, b.namespace, b.pod.labels) for b in running)


def is_linted(budget: DisruptionBudget, world: World) -> bool:
    """Whether the budget is in the manifests: a finding cannot point at a line of a snapshot."""
    return id(budget) in _budgets(world).linted


def is_without_pods(budget: DisruptionBudget, world: World) -> bool:
    """Whether a budget of the set selects no pod: none of the set's workloads and none that runs."""
    if _budgets(world).first_covered(budget):
        return False
    running = () if world.cluster is None else world.cluster.inventory.pods
    return not any(covers(budget, bound.namespace, bound.pod.labels) for bound in running)


def guards_others(budget: DisruptionBudget, it: Member) -> bool:
    """Whether a budget also selects pods of other workloads, so that its counts include theirs."""
    return any(other is not it.workload for other in _budgets(it.world).first_covered(budget))
