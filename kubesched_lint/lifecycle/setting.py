"""What a simulation starts from, and which workloads can get into each other's way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, TypeVar

from kubesched_lint import work
from kubesched_lint.admission.decision import Decision
from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.cluster.nodeset import NodeSet, of, positions
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.controllers.bounds import daemon_bounds, rolling_bounds
from kubesched_lint.controllers.daemonset import targets
from kubesched_lint.controllers.pdb import covers
from kubesched_lint.lifecycle.coupling import joined, selecting, sharing
from kubesched_lint.lifecycle.events import Story, revision_of
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.labels import Selector
from kubesched_lint.model.node import Node
from kubesched_lint.model.pod import BoundPod, Pod, PodAffinityTerm
from kubesched_lint.model.policy import Autoscaler, DisruptionBudget, ResourceQuota
from kubesched_lint.model.storage import Claim, StorageClass
from kubesched_lint.model.workload import ROLLED_OUT, SCALED, Workload
from kubesched_lint.record import replace as replace_record
from kubesched_lint.scheduler.framework import static_feasible
from kubesched_lint.scheduler.plugins.inter_pod_affinity import selects_pod

if TYPE_CHECKING:
    from kubesched_lint.lifecycle.crowding import Crowd
    from kubesched_lint.lifecycle.guests import Guest, Guests

T = TypeVar("T")
MOST_UNTOLD = 2
"""Of so many manifests each may change what runs or not; of more it is asked of all of them at once."""
UNKNOWN_CLASS = StorageClass("unknown to kubesched-lint", "unknown", "WaitForFirstConsumer")
"""What a class that no snapshot told of may do for all we know: make a volume where a pod lands."""


@dataclass(frozen=True)
class Setting:
    """Nodes, the pods of others, and the workloads in the order in which they are applied."""

    nodes: tuple[Node, ...]
    objects: Inventory
    """Manifests and cluster laid over each other; ``pods`` are those of others, which stay where they are.

    Others that terminate are not among them. They end by themselves and wake who waits for their room, so that a
    deployment ends as if they had gone before it: any scheduler might have looked that late.
    """
    workloads: tuple[Workload, ...]
    running: Mapping[int, tuple[BoundPod, ...]] = field(default_factory=dict)
    """By place in ``workloads``: the pods that run already, those of older revisions first."""
    changes: Mapping[int, bool | None] = field(default_factory=dict)
    """Of those that run: whether the manifest changes their template (as where nothing is said); None: unknown."""
    sizes: Mapping[int, int] = field(default_factory=dict)
    """Of those that run: the number of replicas in the cluster, where it is known."""
    scalers: Mapping[int, Autoscaler] = field(default_factory=dict)
    scaled: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """By place in ``workloads``: the numbers of replicas to which somebody means to scale it."""
    together: bool = True
    """Everything is applied at once; else each object settles before the next is created."""
    kubernetes_version: str = "1.36"
    never_ready: frozenset[int] = frozenset()
    """By place in ``workloads``: whose pods, those that an event makes, never become ready."""
    claim_templates: Mapping[int, tuple[Claim, ...]] = field(default_factory=dict)
    """By place in ``workloads``: those of a StatefulSet, also where it is not known how their class binds."""
    decisions: Mapping[int, Decision] = field(default_factory=dict)
    """By place in ``workloads``: of which the API server creates no pod, or nobody knows whether it does."""

    leaving: tuple[BoundPod, ...] = ()
    """Pods of others that terminate."""
    going: tuple[BoundPod, ...] = ()
    """Those of others that a controller of the set may take away and not make again; see ``created``."""

    @cached_property
    def refused(self) -> frozenset[int]:
        """Workloads of which the API server creates no pod."""
        return frozenset(i for i, decision in self.decisions.items() if decision.refusal is not None)

    @cached_property
    def created(self) -> Setting:
        """The same without the workloads that are refused; pods of them that run are pods of others."""
        if not self.refused:
            return self
        kept = [i for i in range(len(self.workloads)) if i not in self.refused]
        staying = tuple(b for i in sorted(self.refused) for b in self.running.get(i, ()))
        return replace(
            self,
            objects=replace_record(self.objects, pods=(*self.objects.pods, *staying)),
            workloads=tuple(self.workloads[i] for i in kept),
            running=_renumbered(self.running, kept),
            changes=_renumbered(self.changes, kept),
            sizes=_renumbered(self.sizes, kept),
            scalers=_renumbered(self.scalers, kept),
            scaled=_renumbered(self.scaled, kept),
            never_ready=frozenset(n for n, i in enumerate(kept) if i in self.never_ready),
            going=tuple(b for i in sorted(self.refused) if self._takes_away(i) for b in self.running.get(i, ())),
            claim_templates=_renumbered(self.claim_templates, kept),
            decisions=_renumbered(self.decisions, kept),
        )

    def _takes_away(self, number: int) -> bool:
        """Whether its controller may delete pods that run, for a rollout or because they are too many."""
        rolls = self.workloads[number].kind in ROLLED_OUT and self.changes.get(number, True) is not False
        return rolls or len(self.running.get(number, ())) > self.wanted(number)

    @cached_property
    def index(self) -> NodeIndex:
        return NodeIndex(self.nodes)

    @cached_property
    def cluster(self) -> ClusterState:
        """The nodes with the pods of others alone. Undo what you place."""
        return ClusterState(self.index, self.objects, kubernetes_version=self.kubernetes_version)

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """The admitted pod of each workload."""
        book = Story((), self.objects)
        return tuple(book.admitted(w, 0) for w in self.workloads)

    def reaches_old(self, selector: Selector | None, number: int) -> bool:
        """Whether a selector of the pods matches those of another revision too: none by a revision's hash does."""
        return selector is not None and selector.matches(self._later[number].labels)

    def repels_old_alone(self, term: PodAffinityTerm, number: int) -> bool:
        """Whether a term of its pods selects those of another revision, and not their own: mismatchLabelKeys."""
        pod = self.pods[number]
        return self.selects(term, pod, self._later[number]) and not self.selects(term, pod, pod)

    @cached_property
    def _later(self) -> tuple[Pod, ...]:
        book = Story((), self.objects)
        return tuple(book.admitted(w, 1) for w in self.workloads)

    @cached_property
    def usable(self) -> tuple[int, ...]:
        """Per workload the nodes it may ever use."""
        return tuple(static_feasible(pod, self.index) for pod in self.pods)

    def wanted(self, number: int) -> int:
        """How many pods a workload wants."""
        return self._wanted[number]

    @cached_property
    def _wanted(self) -> tuple[int, ...]:
        return tuple(
            targets(pod, self.index)[0].bit_count() if w.kind == "DaemonSet" else w.replicas
            for w, pod in zip(self.workloads, self.pods, strict=True)
        )

    def most(self, number: int) -> int:
        """The most pods it may have at any time: at HPA maximum, with surge, as far as quotas let it."""
        return self._most[number]

    @cached_property
    def _most(self) -> tuple[int, ...]:
        return tuple(map(self._as_far_as_granted, range(len(self.workloads))))

    def _as_far_as_granted(self, number: int) -> int:
        if not self.quotas[number]:
            return self.most_wished(number)
        from kubesched_lint.lifecycle.quotas import cap

        granted = cap(self, number)
        return self.most_wished(number) if granted is None else min(self.most_wished(number), granted.pods)

    @cached_property
    def quotas(self) -> tuple[tuple[ResourceQuota, ...], ...]:
        """Per workload those that count its pods."""
        if not self.objects.quotas:
            return ((),) * len(self.workloads)
        from kubesched_lint.admission.admission import Admission

        asked = Admission(self.objects)
        return tuple(asked.quotas_of(w, pod) for w, pod in zip(self.workloads, self.pods, strict=True))

    @cached_property
    def capped(self) -> Mapping[int, int]:
        """Workloads that get exactly so many pods, for no other draws on the quota that caps them."""
        from kubesched_lint.lifecycle.quotas import cap, is_alone

        kinds = (*SCALED, "Job")
        alone = (
            i
            for i in self.quota_short
            if self.workloads[i].kind in kinds and not self.running.get(i) and is_alone(self, i)
        )
        return {i: granted.pods for i in alone if (granted := cap(self, i)) is not None}

    def _as_granted(self, number: int) -> Workload:
        workload, most = self.workloads[number], self.capped.get(number)
        if most is None or workload.replicas <= most:
            return workload
        return replace_record(workload, replicas=most)

    def most_wished(self, number: int) -> int:
        """The same if no quota stood in the way."""
        return self._most_wished[number]

    @cached_property
    def _most_wished(self) -> tuple[int, ...]:
        return tuple(map(self._count_most, range(len(self.workloads))))

    def _count_most(self, number: int) -> int:
        workload = self.workloads[number]
        wanted = self.wanted(number)
        scaler = self.scalers.get(number)
        if scaler is not None:
            wanted = max(wanted, scaler.max_replicas)
        wanted = max(wanted, *self.scaled.get(number, (0,)))
        if workload.kind == "Deployment":
            return wanted + rolling_bounds(workload.strategy, wanted)[0]
        return wanted * self._per_node(workload) if workload.kind == "DaemonSet" else wanted

    @cached_property
    def quota_short(self) -> frozenset[int]:
        """Workloads of which a ResourceQuota may keep pods from being made."""
        from kubesched_lint.lifecycle.quotas import short

        return short(self) if self.objects.quotas else frozenset()

    @cached_property
    def guests(self) -> Guests:
        """Pods that are not of the set."""
        from kubesched_lint.lifecycle.guests import Guests

        return Guests(self)

    @cached_property
    def crowd(self) -> Crowd:
        """Whom all pods of the set may have beside them."""
        from kubesched_lint.lifecycle.crowding import crowd

        return crowd(self)

    def guards(self, number: int) -> Sequence[DisruptionBudget]:
        """The budgets that select the pods of a workload."""
        return self._guards[number]

    def is_alone(self, budget: DisruptionBudget) -> bool:
        """Whether a budget selects the pods of one workload only."""
        return self._guarded[id(budget)] == 1

    @cached_property
    def _guards(self) -> Sequence[Sequence[DisruptionBudget]]:
        work.spend(len(self.objects.budgets) * len(self.pods) // 4)
        return [[b for b in self.objects.budgets if covers(b, p.namespace, p.labels)] for p in self.pods]

    @cached_property
    def _guarded(self) -> Mapping[int, int]:
        """How many workloads a budget guards, by its ``id``."""
        return Counter(id(budget) for guards in self._guards for budget in guards)

    # --- coupling ---------------------------------------------------------------------------------------------------

    @cached_property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """Workloads that can change where each other's pods fit, directly or through others."""
        contended = [i for i in range(len(self.pods)) if not self._is_roomy(i)]
        return self._joined([*self._pairs(), *pairwise(contended)])

    @cached_property
    def acquainted(self) -> tuple[tuple[int, ...], ...]:
        """The same, but for room: workloads tied by selectors, host ports or claims."""
        return self._joined(self._pairs())

    def group(self, number: int) -> tuple[int, ...]:
        """The one of ``components`` that a workload is in."""
        return self._group_of[number]

    @cached_property
    def _group_of(self) -> Mapping[int, tuple[int, ...]]:
        return {i: members for members in self.components for i in members}

    def acquaintances(self, number: int) -> tuple[int, ...]:
        """The one of ``acquainted`` that a workload is in."""
        return self._acquaintances_of[number]

    @cached_property
    def _acquaintances_of(self) -> Mapping[int, tuple[int, ...]]:
        return {i: members for members in self.acquainted for i in members}

    def _joined(self, pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
        return joined(len(self.workloads), pairs)

    @cached_property
    def kinds(self) -> tuple[tuple[Pod, ...], ...]:
        """Per workload its pod, and those of other templates that run."""
        running = self.running
        return tuple(
            (pod, *{id(b.pod): b.pod for b in running[i]}.values()) if i in running else (pod,)
            for i, pod in enumerate(self.pods)
        )

    def _pairs(self) -> Iterator[tuple[int, int]]:
        kinds = self.kinds
        owners = [i for i, own in enumerate(kinds) for _ in own]
        pairs = selecting([pod for own in kinds for pod in own], self.cluster)
        yield from ((owners[a], owners[b]) for a, b in pairs if owners[a] != owners[b])
        yield from sharing([[("port", p.protocol, p.port) for pod in own for p in pod.host_ports] for own in kinds])
        yield from sharing(
            [[("claim", pod.namespace, v.claim) for pod in own for v in pod.volumes if v.claim] for own in kinds]
        )

    def selects(self, term: PodAffinityTerm, holder: Pod, other: Pod) -> bool:
        return selects_pod(term, holder.namespace, other, self.cluster)

    def _is_roomy(self, number: int) -> bool:
        """Whether each node of its reach has room for all pods at once that may come there: resources never decide."""
        tight = [(r, free) for r, free in self._least_free(number) if free < self._whole_demand.get(r, 0)]
        return not tight or all(free >= self._demand_near(self.reach[number], r) for r, free in tight)

    def _demand_near(self, nodes: NodeSet, resource: str) -> int:
        """What those may ask for that can come to any of these nodes; pods that run already may be anywhere."""
        found = self._near.get((nodes, resource))
        if found is None:
            found = sum(
                (1 if resource == "pods" else pod.requests.get(resource, 0)) * self.most(i)
                for i, pod in enumerate(self.pods)
                if self.usable[i] & nodes
            )
            running = [b.pod for pods in self.running.values() for b in pods]
            found += sum(1 if resource == "pods" else pod.requests.get(resource, 0) for pod in running)
            self._near[nodes, resource] = found
        return found

    @cached_property
    def _near(self) -> dict[tuple[NodeSet, str], int]:
        return {}

    @cached_property
    def _whole_demand(self) -> Mapping[str, int]:
        total: dict[str, int] = {"pods": 0}
        pods = [(pod, self.most(i)) for i, pod in enumerate(self.pods)]
        pods += [(bound.pod, 1) for running in self.running.values() for bound in running]
        for pod, count in pods:
            total["pods"] += count
            for resource, amount in pod.requests.items():
                total[resource] = total.get(resource, 0) + amount * count
        return total

    def _per_node(self, workload: Workload) -> int:
        return 2 if daemon_bounds(workload.strategy, 1)[0] else 1

    def _least_free(self, number: int) -> Iterator[tuple[str, float]]:
        at = list(positions(self.reach[number]))
        asked = (r for pod in self.kinds[number] for r, amount in pod.requests.items() if amount)
        for resource in dict.fromkeys(("pods", *asked)):
            free = self.cluster.ledger.free(resource)
            yield resource, min((free[p] for p in at), default=0)

    # --- what runs already ------------------------------------------------------------------------------------------

    def is_settled(self, number: int) -> bool:
        """Whether all its running pods are of one revision."""
        return len({revision_of(self.workloads[number], b) for b in self.running.get(number, ())}) <= 1

    def worlds(self, members: Iterable[int]) -> tuple[frozenset[int], ...]:
        """Which manifests of which nobody can tell change what runs: every answer; all or none where they are many."""
        unknown = [i for i in members if self.is_untold(i)]
        if len(unknown) > MOST_UNTOLD:
            return (frozenset(unknown), frozenset())
        counts = range(len(unknown), -1, -1)
        return tuple(frozenset(chosen) for count in counts for chosen in combinations(unknown, count))

    def is_untold(self, number: int) -> bool:
        """Whether nobody can tell if the manifest of a workload changes what runs of it."""
        return bool(self.running.get(number)) and self.changes.get(number, True) is None

    @cached_property
    def reach(self) -> tuple[NodeSet, ...]:
        """Per workload the nodes that it may ever use, and those where it runs already."""
        at = self.index.positions
        return tuple(
            nodes | of([at[b.node] for b in self.running.get(i, ()) if b.node in at])
            for i, nodes in enumerate(self.usable)
        )

    def untold(self, number: int) -> tuple[int, ...]:
        """Those in the group of a workload of which nobody can tell whether their manifests change what runs."""
        return self._untold[self.group(number)]

    @cached_property
    def _untold(self) -> Mapping[tuple[int, ...], tuple[int, ...]]:
        return {members: tuple(filter(self.is_untold, members)) for members in self.components}

    # --- the story --------------------------------------------------------------------------------------------------

    def story(
        self,
        members: Sequence[int],
        *,
        expected: bool,
        most_states: int,
        runs: int = 0,
        seed: int = 0,
        unready: bool = False,
        preempting: bool = False,
        changed: Collection[int] = (),
        guests: Sequence[Guest] = (),
        precedence: Mapping[int, int] | None = None,
    ) -> Story:
        """The members deployed, with ``unready`` those of ``never_ready`` in vain; see ``Story`` for the options.

        ``changed``: of whom nobody can tell, and whose manifests change what runs. ``guests`` may have to go, all
        others stay where they are.
        """
        chosen = [self._as_granted(i) for i in members]
        moving = {id(bound) for guest in guests for bound in guest.pods}
        staying = tuple(bound for bound in self.objects.pods if id(bound) not in moving)
        story = Story(
            self.nodes,
            replace_record(self.objects, pods=staying) if moving else self.objects,
            foreseen=chosen,
            expected=expected,
            most_states=most_states,
            runs=runs,
            seed=seed,
            kubernetes_version=self.kubernetes_version,
            never_ready=[self.workloads[i].ref for i in self.never_ready],
            preempting=preempting,
            precedence={self.workloads[i].ref: value for i, value in (precedence or {}).items()},
        )
        for guest in guests:
            story.host(guest)
        for i in members:
            if self.running.get(i):
                changes = self.changes.get(i, True)
                changes = i in changed if changes is None else changes
                story.adopt(self.workloads[i], self.running[i], changed=changes, size=self.sizes.get(i))
        if unready:
            story.from_now_unready()
        story.deploy(chosen, together=self.together)
        return story


def _renumbered(values: Mapping[int, T], kept: Sequence[int]) -> dict[int, T]:
    """By place in ``kept`` what was by number."""
    return {place: values[number] for place, number in enumerate(kept) if number in values}
