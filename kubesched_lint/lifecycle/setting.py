"""What a simulation starts from, and which workloads can get into each other's way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property, wraps
from typing import TypeVar

from kubesched_lint import work
from kubesched_lint.admission.decision import Decision
from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.cluster.nodeset import NodeSet, of
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.controllers.bounds import covers, daemon_bounds, rolling_bounds
from kubesched_lint.controllers.daemonset import targets
from kubesched_lint.lifecycle.coupling import Selection
from kubesched_lint.lifecycle.events import Story, revision_of
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.labels import Selector
from kubesched_lint.model.node import Node
from kubesched_lint.model.pod import BoundPod, Pod, PodAffinityTerm
from kubesched_lint.model.policy import Autoscaler, DisruptionBudget, ResourceQuota
from kubesched_lint.model.storage import Claim, StorageClass
from kubesched_lint.model.workload import ROLLED_OUT, Workload
from kubesched_lint.record import record, replace
from kubesched_lint.scheduler.framework import static_feasible
from kubesched_lint.scheduler.plugins.inter_pod_affinity import selects_pod

T = TypeVar("T")
UNKNOWN_CLASS = StorageClass("unknown to kubesched-lint", "unknown", "WaitForFirstConsumer")
"""What a class that no snapshot told of may do for all we know: make a volume where a pod lands."""


@record
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

    def memo(self, build: Callable[[Setting], T]) -> T:
        """Return ``build(self)``, computed once."""
        if build not in self._answers:
            self._answers[build] = build(self)
        return self._answers[build]  # type: ignore[return-value]

    @cached_property
    def _answers(self) -> dict[object, object]:
        return {}

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
            objects=replace(self.objects, pods=(*self.objects.pods, *staying)),
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

    @cached_property
    def quotas(self) -> tuple[tuple[ResourceQuota, ...], ...]:
        """Per workload those that count its pods."""
        if not self.objects.quotas:
            return ((),) * len(self.workloads)
        from kubesched_lint.admission.admission import Admission

        asked = Admission(self.objects)
        return tuple(asked.quotas_of(w, pod) for w, pod in zip(self.workloads, self.pods, strict=True))

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

    @cached_property
    def kinds(self) -> tuple[tuple[Pod, ...], ...]:
        """Per workload its pod, and those of other templates that run."""
        running = self.running
        return tuple(
            (pod, *{id(b.pod): b.pod for b in running[i]}.values()) if i in running else (pod,)
            for i, pod in enumerate(self.pods)
        )

    def selects(self, term: PodAffinityTerm, holder: Pod, other: Pod) -> bool:
        return selects_pod(term, holder.namespace, other, self.cluster)

    @cached_property
    def selection(self) -> Selection:
        """Whose pods a term or a selector selects."""
        return Selection(self.pods, self.cluster)

    def _per_node(self, workload: Workload) -> int:
        return 2 if daemon_bounds(workload.strategy, 1)[0] else 1

    # --- what runs already ------------------------------------------------------------------------------------------

    def is_settled(self, number: int) -> bool:
        """Whether all its running pods are of one revision."""
        return len({revision_of(self.workloads[number], b) for b in self.running.get(number, ())}) <= 1

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


def once_per_setting(build: Callable[[Setting], T]) -> Callable[[Setting], T]:
    """Make a function of a setting compute its answer once for each setting."""

    @wraps(build)
    def remembered(setting: Setting) -> T:
        return setting.memo(build)

    return remembered


def _renumbered(values: Mapping[int, T], kept: Sequence[int]) -> dict[int, T]:
    """By place in ``kept`` what was by number."""
    return {place: values[number] for place, number in enumerate(kept) if number in values}
