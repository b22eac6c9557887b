"""The start of a drain: the workloads of manifests and cluster, with their pods where the cluster file shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec.structs import replace

from kubesched_lint.commands.limits import MOST_TRIES
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.search.events import ForeignWorkload, Timeline
from kubesched_lint.engine.events.start.preemption_scope import PreemptionScope, preemption_scope
from kubesched_lint.engine.events.start.quotas import most_pods
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.model.workloads.workload import Custom, Workload
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.objects.refused import accepted, what_is_refused
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.linter.reading.running_set import running_set

_REMADE = ("ReplicaSet", "ReplicationController", "Job")


class RunningCluster:
    """The workloads with their pods, before anything is drained. ``deploys``: nothing runs, so all is deployed first.

    Pods that belong to no known workload move as workloads of their own: a bare pod does not come back, and a
    controller that is not modelled makes each pod again.
    """

    def __init__(self, manifests: ManifestSet, cluster: Cluster, options: Options) -> None:
        written = Scenario(manifests.inventory, cluster, manifests.premises(options))
        self.rejected = what_is_refused(written)
        """What the API server refuses, which the drain does not meet."""
        applied = accepted(written).manifests
        live = running_set(cluster).inventory
        running = frozenset(w.key for w in applied.workloads if cluster.running.pods_of(w))
        is_empty = cluster.origin != "snapshot" or not cluster.inventory.pods
        self.deploys = bool(applied.workloads) and not running and is_empty
        known = running | {w.key for w in live.workloads}
        absent = {w.key: w for w in applied.workloads if w.key not in known}  # several environments may define one
        self.absent = () if self.deploys else tuple(absent.values())
        ours = tuple(w for w in applied.workloads if self.deploys or w.key in known)
        inventory = _one_each(replace(applied, workloads=ours).over(live))
        self.scenario = Scenario(inventory, cluster, manifests.premises(options))
        self.simulated: SimulatedSet = simulated_set_of(self.scenario).created
        self.refused = tuple(
            self.scenario.member(w) for w in inventory.workloads if not self.scenario.member(w).is_created
        )
        self.members = tuple(i for i in range(len(self.simulated.workloads)) if self.deploys or self._runs(i))

    def _runs(self, number: int) -> bool:
        return bool(self.simulated.running.get(number))

    @cached_property
    def staying(self) -> tuple[BoundPod, ...]:
        """Pods that a drain leaves where they are: those of DaemonSets, and static pods of a kubelet (mirror pods)."""
        moving = {bound for guest in self.guests for bound in guest.pods}
        return tuple(bound for bound in self.simulated.objects.pods if bound not in moving)

    @cached_property
    def guests(self) -> tuple[ForeignWorkload, ...]:
        """The pods that no known workload owns, by owner, except those that stay."""
        groups: dict[object, list[BoundPod]] = {}
        for bound in self.simulated.objects.pods:
            if bound.node and not bound.kept_by_finalizers and not bound.outlasts_drains:
                groups.setdefault(_owner_of(bound), []).append(bound)
        return tuple(map(_guest, groups.values()))

    @cached_property
    def scope(self) -> PreemptionScope:
        return preemption_scope(self.simulated, self.members)

    @property
    def preempts(self) -> bool:
        """Whether some pod may preempt others in a way that a search can follow."""
        return bool(self.scope.strong) and not self.scope.open_

    @cached_property
    def unready(self) -> tuple[str, ...]:
        """Names of the pods on nodes that are not ready."""
        running = (bound for i in self.members for bound in self.simulated.running.get(i, ()))
        others = (bound for guest in self.guests for bound in guest.pods)
        return tuple(f"{b.namespace}/{b.name}" for b in (*running, *others) if b.node and not b.ready)

    def timeline(
        self, targets: Sequence[str], *, expected: bool, most_states: int = 0, runs: int = 0, seed: int = 0
    ) -> Timeline:
        """Return a timeline that stands where the cluster stands; events may select each of ``targets``."""
        timeline = timeline_of(
            self.simulated,
            self.members,
            expected=expected,
            most_states=most_states,
            runs=runs,
            seed=seed,
            preempting=self.preempts,
            guests=self.guests,
            marks={name: name for name in targets},
            by_readiness=True,
            deployed=self.deploys,
        )
        pods = len(self.simulated.objects.pods) + sum(most_pods(self.simulated.member(i)) for i in self.members)
        timeline.most_work = max(runs, 1) * MOST_TRIES * (10 + pods) * (50 + len(timeline.nodes) + pods)
        for number, desired in timeline.desired_states.items():
            if desired.spec.kind == "Pod":
                timeline.desired_states[number] = desired._replace(made=True)
        return timeline


def _owner_of(bound: BoundPod) -> object:
    owner = bound.owner
    if owner is None:  # equal bare pods form one guest
        return bound.namespace, tuple(sorted(bound.pod.labels.items())), bound.pod
    return owner.kind, bound.namespace, owner.name


def _guest(group: Sequence[BoundPod]) -> ForeignWorkload:
    first = group[0]
    owner = first.owner
    if owner is None:
        return ForeignWorkload(
            Workload("Pod", first.namespace, first.name, first.pod, replicas=len(group)), tuple(group)
        )
    workload = Workload("ReplicaSet", first.namespace, owner.name, first.pod, replicas=len(group))
    if owner.kind in _REMADE:
        return ForeignWorkload(replace(workload, kind=owner.kind), tuple(group))
    ref = ObjectRef(owner.kind, first.namespace, owner.name)
    return ForeignWorkload(replace(workload, custom=Custom(ref, owner=owner.kind, owner_name=owner.name)), tuple(group))


def _one_each(inventory: Inventory) -> Inventory:
    """Return the inventory with the last definition of each workload."""
    return replace(inventory, workloads=tuple({w.key: w for w in inventory.workloads}.values()))


def unmodelled_controllers(guests: Sequence[ForeignWorkload]) -> Iterator[str]:
    """Yield ``Rollout shop/web`` for controllers that are not modelled: they are taken to make lost pods again."""
    for guest in guests:
        owner = guest.pods[0].owner
        if owner is not None and owner.kind not in _REMADE:
            yield str(guest.workload.ref)
