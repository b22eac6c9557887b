"""The input of a simulation: nodes, objects and workloads, with facts that are computed from them once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from operator import or_
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.engine.admission.admission import Admission
from kubesched_lint.engine.admission.decision import Decision
from kubesched_lint.engine.base.releases import RECORDED
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import NodeSet, of
from kubesched_lint.engine.cluster.pods.alike import Alike, alike
from kubesched_lint.engine.cluster.pods.known_pods import KnownPods
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.controllers.bounds import daemon_bounds, rolling_bounds
from kubesched_lint.engine.controllers.daemonset import targets
from kubesched_lint.engine.events.search.events import admitted, revision_of
from kubesched_lint.engine.events.search.hypotheses import Hypothesis
from kubesched_lint.engine.events.start.coupling import PodSelection
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import ZONE, Node
from kubesched_lint.engine.model.pod import BoundPod, Pod, PodAffinityTerm
from kubesched_lint.engine.model.policy import Autoscaler, DisruptionBudget, ResourceQuota
from kubesched_lint.engine.model.resources import device_class_resources
from kubesched_lint.engine.model.storage import Claim, StorageClass
from kubesched_lint.engine.model.workloads.workload import ROLLED_OUT, Workload
from kubesched_lint.engine.scheduler.framework import static_feasible
from kubesched_lint.engine.scheduler.plugins.inter_pod_affinity import selects_pod

T = TypeVar("T")
UNREACHABLE_OF = {"node-unreachable": "node-loss", "zone-unreachable": "zone-loss"}
"""What happens if lost nodes are only unreachable → if they are deleted. A cell of the second shows the worse."""
LOSSES = ("drain", *UNREACHABLE_OF.values(), *UNREACHABLE_OF)
"""Events that delete pods of nodes, also of others."""
UNKNOWN_CLASS = StorageClass("unknown to kubesched-lint", "unknown", "WaitForFirstConsumer")
"""Stand-in for an unknown StorageClass: provisions a volume where the pod lands (WaitForFirstConsumer)."""


class SimulatedSet(Struct, frozen=True, dict=True):
    """Nodes, the pods of others, and the workloads in the order in which they are applied."""

    nodes: tuple[Node, ...]
    objects: Inventory
    """The manifests laid over the cluster; ``pods`` are pods of others, which stay where they are.

    Terminating pods of others are left out. Their end requeues the pods that wait for their room, so a deployment
    ends as if they had gone before it: any scheduler may act that late.
    """
    workloads: tuple[Workload, ...]
    running: Mapping[int, tuple[BoundPod, ...]] = field(default_factory=dict)
    """By place in ``workloads``: the running pods, older revisions first."""
    changes: Mapping[int, bool | None] = field(default_factory=dict)
    """By place, for workloads that run: whether the manifest changes the template (default True); None: unknown."""
    sizes: Mapping[int, int] = field(default_factory=dict)
    """By place, for workloads that run: the number of replicas in the cluster, if known."""
    scalers: Mapping[int, Autoscaler] = field(default_factory=dict)
    scaled: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """By place in ``workloads``: the numbers of replicas to which a user plans to scale it."""
    supposed: Hypothesis | None = None
    """A hypothesis to simulate, as one more event."""
    together: bool = True
    """Whether everything is applied at once; else each object settles before the next is created."""
    kubernetes_version: str = RECORDED
    never_ready: frozenset[int] = frozenset()
    """Places in ``workloads``: pods that an event creates for these workloads never become ready."""
    claim_templates: Mapping[int, tuple[Claim, ...]] = field(default_factory=dict)
    """By place in ``workloads``: the templates of a StatefulSet, also if the binding mode of their class is unknown."""
    decisions: Mapping[int, Decision] = field(default_factory=dict)
    """By place in ``workloads``: where the API server creates no pod, or it is unknown whether it does."""

    terminating_of_others: tuple[BoundPod, ...] = ()
    """Pods of others that terminate."""
    terminating: tuple[BoundPod, ...] = ()
    """Pods of the set that terminate: their controllers make others when they are gone."""
    kept_on: tuple[NodeSet, ...] = ()
    """Per workload: nodes that its new pods may not use, but where its pods may stand since before they changed."""
    to_be_deleted: tuple[BoundPod, ...] = ()
    """Pods of others that a controller of the set may delete and not recreate (see ``created``)."""
    returning: Mapping[int, tuple[Pod, ...]] = field(default_factory=dict)
    """By place: pods that ran before, with volumes, and whose successors are all that the workload wants now."""
    looks_unchanged: frozenset[int] = frozenset()
    """Places where ``changes`` says False only because nothing that the running pods show is to change."""
    rivals: frozenset[int] | None = None
    """The workloads whose pods may be beside those of the one that is asked about; None: all."""

    def member(self, number: int) -> SimulatedMember:
        """Return the workload at a place in ``workloads``."""
        return SimulatedMember(self, number)

    @property
    def members(self) -> Sequence[SimulatedMember]:
        return [SimulatedMember(self, number) for number in range(len(self.workloads))]

    def memo(self, build: Callable[[SimulatedSet], T]) -> T:
        """Return ``build(self)``, computed once."""
        if build not in self._answers:
            self._answers[build] = build(self)
        return self._answers[build]  # type: ignore[return-value]

    @cached_property
    def _answers(self) -> dict[object, object]:
        return {}

    def supposes(self, event: str) -> Hypothesis | None:
        """Return the hypothesis of this name; None for any other event."""
        return self.supposed if self.supposed is not None and self.supposed.event == event else None

    def parts(self, event: str) -> frozenset[str]:
        """Return the event; for a hypothesis, also the ordinary events that it contains."""
        hypothesis = self.supposes(event)
        return (
            frozenset([event, UNREACHABLE_OF.get(event, event)]) if hypothesis is None else hypothesis.parts | {event}
        )

    def drains(self, event: str) -> bool:
        """Whether an event drains nodes, which budgets may stop."""
        return "drain" in self.parts(event)

    def deletes(self, event: str) -> bool:
        """Whether an event deletes pods of nodes, also of others."""
        return not self.parts(event).isdisjoint(LOSSES)

    @cached_property
    def refused(self) -> frozenset[int]:
        """Workloads for which the API server creates no pod."""
        return frozenset(i for i, decision in self.decisions.items() if decision.refusal is not None)

    @cached_property
    def created(self) -> SimulatedSet:
        """This set without the refused workloads; their running pods count as pods of others."""
        if not self.refused:
            return self
        kept = [i for i in range(len(self.workloads)) if i not in self.refused]
        staying = tuple(b for i in sorted(self.refused) for b in self.running.get(i, ()))
        return replace(
            self._among(kept),
            objects=self.objects.with_pods((*self.objects.pods, *staying)),
            to_be_deleted=tuple(
                b for i in sorted(self.refused) if self.member(i).may_lose_pods for b in self.running.get(i, ())
            ),
        )

    def among(self, kept: Sequence[int]) -> SimulatedSet:
        """Return the set of some workloads, renumbered, without the others and their pods."""
        pods, usable, quotas = (tuple(facts[i] for i in kept) for facts in (self.pods, self.usable, self.quotas))
        return self._sharing(self._among(kept), pods=pods, usable=usable, quotas=quotas)

    def part(self, kept: Sequence[int], **facts: Any) -> SimulatedSet:
        """Return the set of some workloads, renumbered, in which some ``facts`` (fields) differ."""
        return replace(self._among(kept), **facts)

    def beside(self, rivals: Iterable[int]) -> SimulatedSet:
        """Return the set in which only these workloads have pods beside the one that is asked about.

        It serves every workload of which nothing runs, and that selectors, ports, claims and quotas tie to no other.
        """
        reduced = replace(self, rivals=frozenset(rivals))
        return self._sharing(reduced, pods=self.pods, usable=self.usable, quotas=self.quotas, selection=self.selection)

    def _sharing(self, part: SimulatedSet, **own: object) -> SimulatedSet:
        """Return ``part``, a set on the same nodes, with what these two share."""
        shared = {"index": self.index, "cluster": self.cluster, "rooms": self.rooms, "admission": self.admission}
        part.__dict__.update(shared | own)
        return part

    def _among(self, kept: Sequence[int]) -> SimulatedSet:
        return replace(
            self,
            workloads=tuple(self.workloads[i] for i in kept),
            running=_renumbered(self.running, kept),
            changes=_renumbered(self.changes, kept),
            looks_unchanged=frozenset(n for n, i in enumerate(kept) if i in self.looks_unchanged),
            sizes=_renumbered(self.sizes, kept),
            scalers=_renumbered(self.scalers, kept),
            scaled=_renumbered(self.scaled, kept),
            supposed=self.supposed and replace(self.supposed, sizes=_renumbered(self.supposed.sizes, kept)),
            never_ready=frozenset(n for n, i in enumerate(kept) if i in self.never_ready),
            claim_templates=_renumbered(self.claim_templates, kept),
            decisions=_renumbered(self.decisions, kept),
        )

    @cached_property
    def index(self) -> NodeIndex:
        return NodeIndex(self.nodes, device_class_resources(self.objects.device_classes, self.kubernetes_version))

    @cached_property
    def cluster(self) -> ClusterState:
        """The nodes with only the pods of others. Callers must undo their placements."""
        placed = [group for group in self.others if group.positions]
        known = KnownPods.of(self.objects)
        return ClusterState(self.index, self.objects, placed, kubernetes_version=self.kubernetes_version, known=known)

    @cached_property
    def others(self) -> Sequence[Alike]:
        """The pods outside the set, also those on no known node."""
        return alike(self.objects.pods, self.index.positions, everywhere=True)

    @cached_property
    def rooms(self) -> dict[Hashable, Any]:
        """The cache of the room beside the pods of others (see ``room_of``), shared by sets of fewer workloads."""
        return {}

    @cached_property
    def admission(self) -> Admission:
        """The admission of every pod that is made here: running pods do not change how one is stored."""
        return Admission(self.objects, self.kubernetes_version)

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """The admitted pod of each workload."""
        return tuple(admitted(self.admission, w, 0) for w in self.workloads)

    @cached_property
    def usable(self) -> tuple[int, ...]:
        """Per workload: the nodes where its pods may ever be."""
        feasible = tuple(map(self._open, self.workloads, self.pods))
        return tuple(map(or_, feasible, self.kept_on)) if self.kept_on else feasible

    def _open(self, workload: Workload, pod: Pod) -> NodeSet:
        feasible = static_feasible(pod, self.index)
        return feasible & targets(pod, self.index)[0] if workload.kind == "DaemonSet" else feasible

    @cached_property
    def wanted(self) -> tuple[int, ...]:
        """Per workload: how many pods it wants."""
        return tuple(
            targets(pod, self.index)[0].bit_count() if w.kind == "DaemonSet" else w.replicas
            for w, pod in zip(self.workloads, self.pods, strict=True)
        )

    @cached_property
    def quotas(self) -> tuple[tuple[ResourceQuota, ...], ...]:
        """Per workload: the quotas that count its pods."""
        if not self.objects.quotas:
            return ((),) * len(self.workloads)
        return tuple(self.admission.quotas_of(w, pod) for w, pod in zip(self.workloads, self.pods, strict=True))

    @cached_property
    def most_wished(self) -> tuple[int, ...]:
        """Per workload: the most pods that it may want during any event, quotas aside."""
        return tuple(map(self._count_most, self.members))

    def _count_most(self, member: SimulatedMember) -> int:
        most = max(member.wanted, *member.scaled, 0 if member.scaler is None else member.scaler.max_replicas)
        supposed = 0 if self.supposed is None else self.supposed.sizes.get(member.number, 0)
        return member.with_surge(max(most, supposed))

    def is_alone(self, budget: DisruptionBudget) -> bool:
        """Whether a budget selects the pods of one workload only."""
        return self._guarded[budget] == 1

    @cached_property
    def budgets(self) -> Sequence[Sequence[DisruptionBudget]]:
        """Per workload: the budgets that select its pods."""
        budgets_of_pods: list[list[DisruptionBudget]] = [[] for _ in self.pods]
        for budget in self.objects.budgets:
            for number in self.selection.of(budget.selector, budget.namespace) if budget.selector is not None else ():
                budgets_of_pods[number].append(budget)
        return budgets_of_pods

    @cached_property
    def _guarded(self) -> Mapping[DisruptionBudget, int]:
        """Budget → number of workloads that it guards."""
        return Counter(budget for guards in self.budgets for budget in guards)

    @cached_property
    def kinds(self) -> tuple[tuple[Pod, ...], ...]:
        """Per workload: its pod, and running pods with other templates."""
        running = self.running
        return tuple(
            (pod, *dict.fromkeys(b.pod for b in running[i])) if i in running else (pod,)
            for i, pod in enumerate(self.pods)
        )

    def need_devices(self, members: Iterable[int]) -> bool:
        """Return whether devices may serve pods of some of the workloads."""
        return bool(self._with_claims) and not self._with_claims.isdisjoint(members)

    @cached_property
    def names_devices(self) -> bool:
        """Whether states tell which devices each pod holds, because numbers do not decide."""
        return not all(each.is_counted for each in self.objects.allocator)

    @cached_property
    def _with_claims(self) -> frozenset[int]:
        return frozenset(i for i, pods in enumerate(self.kinds) if any(map(self.cluster.may_serve, pods)))

    def selects(self, term: PodAffinityTerm, holder: Pod, other: Pod) -> bool:
        return selects_pod(term, holder.namespace, other, self.cluster)

    def draws(self, other: Pod, pod: Pod) -> bool:
        """Whether all required affinity of ``pod`` selects another one, so that it may be placed near that."""
        return all(self.selects(term, pod, other) for term in pod.required_affinity)

    @cached_property
    def selection(self) -> PodSelection:
        """Finds the workloads whose pods a term or a selector selects."""
        return PodSelection(self.pods, self.cluster)

    @cached_property
    def reach(self) -> tuple[NodeSet, ...]:
        """Per workload: the nodes that it may ever use, and those where it already runs."""
        at = self.index.positions
        return tuple(
            nodes | of([at[b.node] for b in self.running.get(i, ()) if b.node in at])
            for i, nodes in enumerate(self.usable)
        )


class SimulatedMember(Struct, frozen=True, eq=False):
    """One of the workloads of a set, and what is known of it there."""

    set: SimulatedSet
    number: int
    """Its place in ``set.workloads``."""

    def within(self, other: SimulatedSet) -> SimulatedMember:
        """Return the same workload in a set that differs in something else."""
        return other.member(self.number)

    @property
    def workload(self) -> Workload:
        return self.set.workloads[self.number]

    @property
    def pod(self) -> Pod:
        """Its admitted pod."""
        return self.set.pods[self.number]

    @property
    def kinds(self) -> tuple[Pod, ...]:
        """Its pod, and running pods with other templates."""
        return self.set.kinds[self.number]

    @property
    def usable(self) -> NodeSet:
        """The nodes where its pods may ever be."""
        return self.set.usable[self.number]

    @property
    def reach(self) -> NodeSet:
        """The nodes that it may ever use, and those where it already runs."""
        return self.set.reach[self.number]

    @property
    def quotas(self) -> tuple[ResourceQuota, ...]:
        """The quotas that count its pods."""
        return self.set.quotas[self.number]

    @property
    def budgets(self) -> Sequence[DisruptionBudget]:
        """The budgets that select its pods."""
        return self.set.budgets[self.number]

    @property
    def decision(self) -> Decision | None:
        """Why the API server creates none of its pods, or may not; None: it creates them."""
        return self.set.decisions.get(self.number)

    @property
    def claim_templates(self) -> tuple[Claim, ...]:
        return self.set.claim_templates.get(self.number, ())

    @property
    def looks_unchanged(self) -> bool:
        """Whether ``changes_template`` is False only because nothing that the running pods show is to change."""
        return self.number in self.set.looks_unchanged

    @property
    def never_ready(self) -> bool:
        """Whether the pods that an event creates for it never become ready."""
        return self.number in self.set.never_ready

    @property
    def others(self) -> Iterator[SimulatedMember]:
        return (other for other in self.set.members if other.number != self.number)

    # --- how many pods it wants -------------------------------------------------------------------------------------

    @property
    def wanted(self) -> int:
        return self.set.wanted[self.number]

    @property
    def most_wished(self) -> int:
        """The most pods that it may want during any event, quotas aside."""
        return self.set.most_wished[self.number]

    @property
    def scaler(self) -> Autoscaler | None:
        return self.set.scalers.get(self.number)

    @property
    def scaled(self) -> tuple[int, ...]:
        """The numbers of replicas to which a user plans to scale it."""
        return self.set.scaled.get(self.number, ())

    def with_surge(self, wanted: int) -> int:
        """Return the most pods that a rollout of it may want at this size."""
        workload = self.workload
        if workload.kind == "Deployment":
            return wanted + rolling_bounds(workload.strategy, wanted)[0]
        surges = workload.kind == "DaemonSet" and daemon_bounds(workload.strategy, 1)[0]
        return wanted * 2 if surges else wanted

    # --- what runs already ------------------------------------------------------------------------------------------

    @property
    def running(self) -> tuple[BoundPod, ...]:
        """Its running pods, older revisions first."""
        return self.set.running.get(self.number, ())

    @property
    def changes_template(self) -> bool | None:
        """Whether the manifest changes the template of what runs; None: unknown. True where nothing runs."""
        return self.set.changes.get(self.number, True)

    @property
    def returning(self) -> tuple[Pod, ...]:
        """Pods that ran before, with volumes, and whose successors are all that it wants now."""
        return self.set.returning.get(self.number, ())

    @property
    def kept(self) -> int:
        """How many running pods stay and count while no template changes and no more are wanted.

        A DaemonSet counts one pod on each node that should have one.
        """
        index = self.set.index
        at = [b.node for b in self.running if b.node in index.positions and not b.terminating]
        if self.workload.kind != "DaemonSet":
            return len(at)
        return (index.named(at) & targets(self.pod, index)[0]).bit_count()

    @property
    def is_settled(self) -> bool:
        """Whether all its running pods are of one revision."""
        return len({revision_of(self.workload, b) for b in self.running}) <= 1

    @property
    def is_template_unknown(self) -> bool:
        """Whether it is unknown if the manifest changes its running pods."""
        return bool(self.running) and self.changes_template is None

    @property
    def may_lose_pods(self) -> bool:
        """Whether its controller may delete running pods, in a rollout or because there are too many."""
        rolls = self.workload.kind in ROLLED_OUT and self.changes_template is not False
        return rolls or len(self.running) > self.wanted


def once_per_set(build: Callable[[SimulatedSet], T]) -> Callable[[SimulatedSet], T]:
    """Return ``build`` with its result cached for each set."""

    @wraps(build)
    def remembered(simulated: SimulatedSet) -> T:
        return simulated.memo(build)

    return remembered


def once_per_member(build: Callable[[SimulatedMember], T]) -> Callable[[SimulatedMember], T]:
    """Return ``build`` with its result cached for each workload of a set."""

    @once_per_set
    def known(simulated: SimulatedSet) -> dict[int, T]:
        return {}

    @wraps(build)
    def remembered(member: SimulatedMember) -> T:
        answers = known(member.set)
        if member.number not in answers:
            answers[member.number] = build(member)
        return answers[member.number]

    return remembered


@once_per_set
def zones(simulated: SimulatedSet) -> dict[str, list[str]]:
    """Return zone → names of its nodes."""
    nodes_of_zones: dict[str, list[str]] = {}
    for node in simulated.nodes:
        if ZONE in node.labels:
            nodes_of_zones.setdefault(node.labels[ZONE], []).append(node.name)
    return nodes_of_zones


def _renumbered(values: Mapping[int, T], kept: Sequence[int]) -> dict[int, T]:
    """Return ``values`` keyed by place in ``kept`` instead of by number."""
    return {place: values[number] for place, number in enumerate(kept) if number in values}
