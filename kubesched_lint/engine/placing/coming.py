"""The pods of a set that come to the scheduler, or to a node that they name, and the order in which they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.admission.schedulers import owner_selector
from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.controllers.daemonset import pinned, with_daemon_tolerations
from kubesched_lint.engine.controllers.statefulset import pod_with_claims
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import Pod, knows_scheduler
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.placing import Copies
from kubesched_lint.engine.placing.wanted import lasting_pods_wanted
from kubesched_lint.engine.scenario.applying.order import sync_wave
from kubesched_lint.engine.scenario.nodes.unknown_nodes import unknown_nodes
from kubesched_lint.engine.scenario.pods.pod_labels import read_labels, values_known
from kubesched_lint.engine.scenario.quotas import granted
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scenario.storage.claims import is_known, modelled_templates
from kubesched_lint.engine.scheduler.preemption.eviction import NOBODY, preempting_priority


class Queued(Copies):
    """Pods of a workload of the set; a DaemonSet has one entry per node.

    ``place``: the node of a DaemonSet's pod, or the replica of a StatefulSet, counted from 0, where each has an entry;
    None if one entry has all pods.
    """

    __slots__ = ("place", "workload")

    def __init__(
        self,
        workload: Workload,
        pod: Pod,
        owner: Selector | None,
        left: int,
        behind: Queued | None = None,
        *,
        ends: bool = False,
        place: str | int | None = None,
    ) -> None:
        super().__init__(pod, owner, left, behind, ends=ends)
        self.workload = workload
        self.place = place


class Coming(Struct, frozen=True):
    """The order in which pods come: those of one workload after another, in apply order, if nothing else is said."""

    seed: int
    """Breaks ties between places."""
    first: tuple[frozenset[Workload], ...] = ()
    """Workloads whose pods come first, group by group; those of the others follow, the last first."""
    mixed: bool = False
    """The pods of all workloads come in turn, one of each at a time, in an order that the seed shuffles."""

    def ordered(self, entries: Sequence[Queued], scenario: Scenario) -> list[Queued]:
        """Return the entries, which are in apply order, in the order of this trial."""
        in_turn = list(entries)
        if self.mixed:
            Random(self.seed).shuffle(in_turn)
            for queued in in_turn:
                queued.alternate = True
        elif self.first:
            place = {workload: -number for number, workload in enumerate(scenario.as_created)}
            in_turn.sort(key=lambda queued: (self._group(queued.workload), place[queued.workload]))
        return sorted(in_turn, key=lambda queued: wave_of(queued.workload, scenario))

    def _group(self, workload: Workload) -> int:
        return next((n for n, group in enumerate(self.first) if workload in group), len(self.first))


def wave_of(workload: Workload, scenario: Scenario) -> int:
    """Return the sync wave: Argo CD creates the pods of a wave after those of the waves before it."""
    return sync_wave(workload.annotations) if scenario.premises.apply_order == "argocd" else 0


@once_per_scenario
def created_counts(scenario: Scenario) -> Mapping[Workload, int]:
    """Workload → number of its pods that the API server creates if the set is created in apply order."""
    wanted = [(workload, lasting_pods_wanted(scenario.member(workload))) for workload in scenario.as_created]
    counts = [count for _, count in wanted]
    if scenario.objects.quotas:
        counts = granted(wanted, scenario)
    return {workload: count for (workload, _), count in zip(wanted, counts, strict=True)}


def created_pods(scenario: Scenario, of: Workload | None = None) -> Iterator[Queued]:
    """Yield the pods of the whole set that are bound or scheduled, or those ``of`` one workload."""
    counts = created_counts(scenario)
    for workload in scenario.as_created if of is None else [of] if of in counts else []:
        yield from first_pods(queued_pods(scenario.member(workload)), counts[workload])


def first_pods(queue: Iterable[Queued], most: int) -> Iterator[Queued]:
    """Yield the entries with so many of their pods as are created."""
    for queued in queue:
        queued.left = min(queued.left, most)
        most -= queued.left
        yield queued


def queued_pods(it: Member) -> Iterator[Queued]:
    """Yield the workload's pods that are bound or scheduled; none for Jobs, whose pods end."""
    pod = followed(it.pod, it)
    if pod is None or not values_known(it.workload.pod):
        return
    if it.workload.kind == "DaemonSet":
        pod = with_daemon_tolerations(pod)
        for position in positions(it.daemon_nodes):
            node = it.scenario.index.names[position]
            yield Queued(it.workload, pinned(pod, node), None, 1, place=node)
    elif it.workload.kind == "StatefulSet" and (it.scenario.varying_labels or modelled_templates(it)):
        known = replace(it.workload, claim_templates=modelled_templates(it))
        before: Queued | None = None
        for ordinal in range(it.replicas):
            own = it.pod_of_ordinal(ordinal) if it.scenario.varying_labels else pod
            each = followed(own, it)
            if each is not None:
                claiming = pod_with_claims(known, each, ordinal)
                owner = owner_selector(it.workload, each.labels)
                queued = Queued(it.workload, claiming, owner, 1, before, place=ordinal)
                before = queued if it.workload.pod_management != "Parallel" else None
                yield queued
    elif it.workload.stays:
        yield Queued(it.workload, pod, owner_selector(it.workload, pod.labels), it.replicas)


def scheduled_pod(it: Member) -> Pod | None:
    """A pod as ``followed_pod`` returns it; None, too, if it names its node, so that no scheduler chooses one."""
    pod = followed_pod(it)
    return None if pod is None or pod.node_name else pod


def followed_pod(it: Member) -> Pod | None:
    """A pod with only the volumes whose binding is known; None if it is not known who binds it (``followed``).

    Also None if it selects a label that differs between pods of the workload: then no pod represents all of them.
    """
    pod = it.pod
    return None if read_labels((it.workload.pod,)) else followed(pod, it)


def followed(pod: Pod, member: Member) -> Pod | None:
    """Return a pod of a workload with only the volumes whose binding is known; None if it is not known who binds it.

    A pod that names its node is bound as it is created, if the kubelet has room for it: ``diagnose`` says so. For a
    critical pod the kubelet drives others out, and nothing says which.
    """
    pod = _with_known_volumes(pod, member)
    if unknown_nodes(pod, member.scenario):
        return None  # whether any node matches is unknown
    if pod.node_name:
        return None if preempting_priority(pod) > NOBODY else pod
    return pod if not pod.scheduling_gates and knows_scheduler(pod) else None


def _with_known_volumes(pod: Pod, member: Member) -> Pod:
    known = tuple(v for v in pod.volumes if is_known(member, v))
    return pod if len(known) == len(pod.volumes) else replace(pod, volumes=known)
