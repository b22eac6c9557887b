"""Which workloads form a gang: pods that are to start together, and whose word that is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct

from kubesched_lint.engine.base.quirks import ONE_GATE_FOR_GANGS, has
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.model.feature_gates import (
    GANGS,
    GROUPS,
    OF_GROUPS,
    PREEMPTION,
    TOPOLOGY,
    completed,
    enabled,
    parsed,
)
from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.model.policy import COSCHEDULING, KUBERNETES, VOLCANO, PodGroup
from kubesched_lint.engine.model.workloads.workload import Workload, written_template
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario

KUEUE = "Kueue"
_QUEUE = "kueue.x-k8s.io/queue-name"
_KUEUE_GROUP = "kueue.x-k8s.io/pod-group-name"
_KUEUE_TOTAL = "kueue.x-k8s.io/pod-group-total-count"
_COSCHEDULING_GROUP = "scheduling.x-k8s.io/pod-group"
_VOLCANO_GROUP = "scheduling.k8s.io/group-name"


class Gang(Struct, frozen=True, eq=False):
    """The workloads of the manifests whose pods are in one group."""

    group: PodGroup
    members: tuple[Member, ...]

    @property
    def pods(self) -> int:
        """The number of pods at the start."""
        return sum(member.replicas for member in self.members)

    @property
    def at_once(self) -> int:
        """The number of pods that exist before any has a node."""
        return (
            self.pods if self.is_foreign else sum(at_once(member.workload, member.replicas) for member in self.members)
        )

    @property
    def has_one_scheduler(self) -> bool:
        """Whether its pods name one scheduler; else kube-scheduler refuses each attempt (frameworkForPodGroup)."""
        return len({member.pod.scheduler_name for member in self.members}) <= 1

    @property
    def needed(self) -> int:
        """The number of pods that must fit at the same time."""
        return self.pods if self.group.min_count is None else self.group.min_count

    @property
    def is_foreign(self) -> bool:
        """Whether another system than kube-scheduler decides when its pods may start."""
        return self.group.system != KUBERNETES

    def __str__(self) -> str:
        return f"{self.group.namespace}/{self.group.name}"


def at_once(workload: Workload, pods: int) -> int:
    """Return how many of a workload's ``pods`` exist before one has a node: an ordered StatefulSet waits for each."""
    is_ordered = workload.kind == "StatefulSet" and workload.pod_management == "OrderedReady"
    return min(pods, 1) if is_ordered else pods


@once_per_scenario
def gangs_of(scenario: Scenario) -> tuple[Gang, ...]:
    """The gangs of the manifests, in the order of their first workloads; those without their group object are left out.

    A group of kube-scheduler is one only with its feature gates; see ``gates_of``.
    """
    return tuple(gang for gang in _groups(scenario) if _counts(gang.group, scenario))


def loose_groups(scenario: Scenario) -> Iterator[Gang]:
    """Yield the PodGroups of the manifests whose pods start one by one: basic ones, and gangs without their gates."""
    ours = set(scenario.manifests.pod_groups)
    for gang in _groups(scenario):
        if not gang.is_foreign and gang.group in ours and not _counts(gang.group, scenario):
            yield gang


@once_per_scenario
def _groups(scenario: Scenario) -> tuple[Gang, ...]:
    gangs: dict[tuple[str, str, str], tuple[PodGroup, list[Member]]] = {}
    known = _known_groups(scenario)
    for workload in scenario.as_deployed:
        for system, name, stated in _groups_of(workload):
            group = known.get((system, workload.namespace, name), stated)
            if group is not None:
                at = (system, workload.namespace, name)
                gangs.setdefault(at, (group, []))[1].append(scenario.member(workload))
    return tuple(Gang(group, tuple(members)) for group, members in gangs.values())


def foreign_gangs_of(it: Member) -> Iterator[Gang]:
    """Yield the gangs of other systems that a workload is in."""
    return (gang for gang in gangs_of(it.scenario) if gang.is_foreign and it in gang.members)


def pod_group(scenario: Scenario, namespace: str, name: str) -> PodGroup | None:
    """Return the PodGroup of kube-scheduler: that of the manifests, else of the cluster."""
    return _known_groups(scenario).get((KUBERNETES, namespace, name))


def group_names(scenario: Scenario, namespace: str) -> Iterator[str]:
    """Yield the names of the PodGroups of kube-scheduler in a namespace."""
    return (name for system, where, name in _known_groups(scenario) if (system, where) == (KUBERNETES, namespace))


@once_per_scenario
def _known_groups(scenario: Scenario) -> Mapping[tuple[str, str, str], PodGroup]:
    return {(group.system, group.namespace, group.name): group for group in scenario.objects.pod_groups}


def group_around(it: Member) -> Gang | None:
    """Return the workloads in the same PodGroup of kube-scheduler, whatever its gates; None if no group is known."""
    return _around(it.scenario).get((it.workload.namespace, it.workload.pod.group))


@once_per_scenario
def _around(scenario: Scenario) -> Mapping[tuple[str, str], Gang]:
    return {(g.group.namespace, g.group.name): g for g in _groups(scenario) if not g.is_foreign}


def _counts(group: PodGroup, scenario: Scenario) -> bool:
    if group.system != KUBERNETES:
        return True
    return group.min_count is not None and {GROUPS, GANGS} <= set(enabled(gates_of(scenario)))


def _groups_of(workload: Workload) -> Iterator[tuple[str, str, PodGroup | None]]:
    """Yield (system, name, group that the workload itself describes) of each group that its pods are in."""
    labels = workload.pod.labels
    if workload.pod.group:
        yield KUBERNETES, workload.pod.group, None
    if _COSCHEDULING_GROUP in labels:
        yield COSCHEDULING, labels[_COSCHEDULING_GROUP], None
    if workload.pod.scheduler_name == "volcano":
        name = _annotations(workload).get(_VOLCANO_GROUP)
        if isinstance(name, str):
            yield VOLCANO, name, None
    if _KUEUE_GROUP in labels:
        total = str(_annotations(workload).get(_KUEUE_TOTAL, ""))
        least = int(total) if total.isdecimal() else None
        yield KUEUE, labels[_KUEUE_GROUP], _kueue(workload, labels[_KUEUE_GROUP], least)
    elif workload.kind == "Job" and _QUEUE in workload.labels:
        yield KUEUE, workload.name, _kueue(workload, workload.name, None)


def _kueue(workload: Workload, name: str, least: int | None) -> PodGroup:
    return PodGroup(workload.namespace, name, least, system=KUEUE)


def _annotations(workload: Workload) -> Mapping[str, object]:
    """The annotations of the pods; of a bare Pod its own."""
    if workload.kind == "Pod":
        return workload.annotations
    template = written_template(workload)
    metadata = template.get("metadata") if isinstance(template, dict) else None
    of_pods = metadata.get("annotations") if isinstance(metadata, dict) else None
    return of_pods if isinstance(of_pods, dict) else {}


@once_per_scenario
def gates_of(scenario: Scenario) -> Mapping[str, bool]:
    """The feature gates that are known: the user's word, over the sketch's, over what the cluster's objects show."""
    return completed(_known(scenario), one_gate=has(scenario.premises.kubernetes_version, ONE_GATE_FOR_GANGS))


def _known(scenario: Scenario) -> Mapping[str, bool]:
    if scenario.cluster is None:
        return parsed(scenario.premises.feature_gates)
    shown = _shown(scenario.cluster.inventory.pod_groups)
    return {**shown, **scenario.cluster.feature_gates, **parsed(scenario.premises.feature_gates)}


def gates_premise(scenario: Scenario) -> tuple[str, ...]:
    """The assumption of conclusions from gates that only the API server showed; empty if a user stated them all."""
    if scenario.cluster is None or scenario.cluster.origin == "sketch":
        return ()
    stated = parsed(scenario.premises.feature_gates)
    shown = [name for name in _known(scenario) if name in OF_GROUPS and name not in stated]
    return (f"kube-scheduler has the feature gates of the API server ({', '.join(shown)})",) if shown else ()


def _shown(groups: Iterable[PodGroup]) -> Mapping[str, bool]:
    """Return the gates without which the API server would not have stored these groups.

    GangScheduling leaves no trace.
    """
    stored = [group for group in groups if group.system == KUBERNETES]
    topology = {TOPOLOGY: True} if any(group.is_constrained for group in stored) else {}
    return {GROUPS: True, **topology} if stored else {}


def live_pods(scenario: Scenario) -> tuple[BoundPod, ...]:
    """The pods of the cluster, also those without a node."""
    return () if scenario.cluster is None else scenario.cluster.inventory.pods


@once_per_scenario
def live_groups(scenario: Scenario) -> Mapping[tuple[str, str], bool]:
    """(namespace, name) of each group with pods in the cluster → whether one of them has no node."""
    groups: dict[tuple[str, str], bool] = {}
    for bound in live_pods(scenario):
        if bound.pod.group:
            at = bound.namespace, bound.pod.group
            groups[at] = groups.get(at, False) or not bound.node
    return groups


@once_per_scenario
def lowest_live(scenario: Scenario) -> tuple[Pod, ...]:
    """A pod of the cluster with the lowest priority, if there is one."""
    pods = [bound.pod for bound in live_pods(scenario)]
    return (min(pods, key=lambda pod: pod.priority or 0),) if pods else ()


def enabled_gates(scenario: Scenario) -> Collection[str]:
    return enabled(gates_of(scenario))


def constraint(gang: Gang, scenario: Scenario) -> str:
    """Return the label of which all nodes of the gang must have one value; empty without such a constraint."""
    return gang.group.topology_key if TOPOLOGY in enabled_gates(scenario) else ""


def domains(gang: Gang, scenario: Scenario) -> tuple[NodeSet, ...]:
    """The sets of nodes one of which takes the whole gang; all nodes without a topology constraint."""
    key = constraint(gang, scenario)
    return tuple(scenario.index.domains(key).values()) if key else (scenario.index.all,)


def may_evict(gang: Gang, scenario: Scenario) -> bool:
    """Return whether the cluster runs pods of lower priority than the gang as a whole."""
    return gang.group.may_evict((member.pod for member in gang.members), lowest_live(scenario))


def preemption_premise(gang: Gang, scenario: Scenario) -> tuple[str, ...]:
    """The assumption of an answer that group-wide preemption could change; empty if it cannot, or its gate is known."""
    if gang.is_foreign or PREEMPTION in gates_of(scenario) or not may_evict(gang, scenario):
        return ()
    return (f"the feature gate {PREEMPTION} is off, as it is by default",)
