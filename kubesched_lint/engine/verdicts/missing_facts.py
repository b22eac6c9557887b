"""Unknown facts behind a verdict about a workload: what the model ignores, and what the snapshot lacks.

A lack that is ``unknown`` allows no verdict. Any other is an assumption, reported with the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.quirks import CSI_DRIVER_ON_THE_NODE, STORAGE_CAPACITY_SCORES, has
from kubesched_lint.engine.base.text import SHOWN, and_more
from kubesched_lint.engine.events.answers.event_bounds import GATES, MORE_PODS
from kubesched_lint.engine.model.feature_gates import CAPACITY_SCORES, DRIVERS, GANGS, GROUPS, TOPOLOGY
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.model.pod import EVERY_TAINT, Pod, profile_of, waits_for_unknown_scheduler
from kubesched_lint.engine.scenario.devices.devices import devices_unknown, needs_devices
from kubesched_lint.engine.scenario.gangs import foreign_gangs_of, gates_of, pod_group
from kubesched_lint.engine.scenario.others.neighbours import is_answered_by_waiting, others_selected
from kubesched_lint.engine.scenario.others.running import pods_of_others
from kubesched_lint.engine.scenario.premises.device_premises import ADMIN_LABEL, asks_for_admin_access
from kubesched_lint.engine.scenario.premises.premises import service_premises
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scenario.storage.claims import fates
from kubesched_lint.engine.scheduler.framework import static_feasible

if TYPE_CHECKING:
    from kubesched_lint.engine.cluster.nodes.index import NodeIndex
    from kubesched_lint.engine.scenario.scenario import Scenario


_LOSSES = ("node-loss", "zone-loss", "drain")


class Lack(Struct, frozen=True):
    text: str
    """The unknown fact if ``unknown``, else the assumption."""
    unknown: bool
    narrows: bool = True
    """Whether it can only keep pods from running: then a proof that some stay Pending still holds."""
    events: tuple[str, ...] = ()
    """The events that it concerns; all if empty."""
    doubts: str = ""
    """The premise (see ``Bound``) that it doubts: a proof that does not rest on this one holds all the same."""


def lacks_of(it: Member, *, nowhere: bool = False) -> tuple[Lack, ...]:
    """All that is missing for a verdict about one workload; empty for most.

    ``nowhere``: no node is open to its pods, whatever runs there and whatever volumes there are.
    """
    assert it.scenario.cluster is not None, "without a cluster there are no verdicts about nodes"
    if not it.scenario.cluster.knows_nodes:
        return (Lack("the nodes: the snapshot holds none, because they were not captured", True, narrows=False),)
    admission = it.scenario.admission
    closed = nowhere and (admission.tells_of_class(it.pod) or fits_nowhere(it))
    lacks = [Lack(premise, False, narrows=closed) for premise in admission.decision(it.workload).assumed]
    missing = [*_of_storage(it), *(_of_gaps(it) if it.scenario.cluster.origin == "snapshot" else ())]
    lacks += [replace(lack, narrows=True) if nowhere and not lack.events else lack for lack in missing]
    return (*unmodelled(it), *lacks)


def fits_nowhere(it: Member) -> bool:
    """Whether no node is large enough for a pod, whatever its labels and taints, and whatever runs there."""
    anywhere = replace(it.pod, node_selector={}, required_node_terms=None, tolerations=(EVERY_TAINT,))
    return not static_feasible(anywhere, it.scenario.index)


def unmodelled(it: Member) -> Iterator[Lack]:
    """Yield a lack for each feature that its pods use and the model ignores."""
    pod = it.workload.pod
    if waits_for_unknown_scheduler(it.pod):
        yield Lack(f"how {pod.scheduler_name} decides, the scheduler that its pods name", True, narrows=False)
    yield from (Lack(premise, False, narrows=False, doubts=GATES) for premise in _of_gates(it.pod))
    yield from (Lack(premise, False, narrows=False) for premise in _of_plugins(it.pod))
    # A selector that asks for more leaves out none of its own pods, and an unknown constraint only keeps pods away.
    yield from (Lack(premise, False) for premise in service_premises(it))
    for what in profile_of(it.pod).half_disabled:
        yield Lack(f"whether {pod.scheduler_name} binds its pods: {what}, and may fail", True)
    if needs_devices(pod, it.scenario):
        yield from (Lack(what, True) for what in filter(None, [devices_unknown(it.scenario)]))
        if pod.node_name:
            yield Lack(
                f"whether the kubelet of {pod.node_name} starts it: nodeName bypasses the scheduler's devices", True
            )
        if not profile_of(it.pod).allocates_devices:
            yield Lack(f"whether the kubelet starts it: {pod.scheduler_name} has DynamicResources disabled", True)
        labels = it.scenario.namespaces.labels.get(pod.namespace)
        if labels is not None and labels.get(ADMIN_LABEL) != "true" and asks_for_admin_access(it):
            yield Lack(f"who sets the label {ADMIN_LABEL} of namespace {pod.namespace}, which adminAccess needs", True)
    if pod.node_name and _mounts(it):
        yield Lack(
            f"whether the kubelet of {pod.node_name} can mount its claims: nodeName bypasses the scheduler", True
        )
    yield from _of_volume_gates(it)
    yield from _of_groups(it)
    yield from _of_passing(it)


def _of_passing(it: Member) -> Iterator[Lack]:
    """Yield what depends on pods that its affinity or a hard spread selects, and that no cell follows."""

    def lack(text: str, *, unknown: bool = False) -> Lack:
        return Lack(text, unknown, narrows=False, doubts=MORE_PODS)

    terms, namespace = it.pod.required_affinity, it.workload.namespace
    if terms:
        for other in it.scenario.selection.selected_by_all(terms, namespace):
            if other.kind == "CronJob":
                yield lack(f"when pods of {other} run, which its affinity selects", unknown=True)
        if is_answered_by_waiting(it):
            yield lack("pods outside the set that wait, and that its affinity selects, go on waiting")
    counted = [c.selector for c in it.pod.spread if c.is_hard and c.selector is not None]
    passing = (w for selector in counted for w in others_selected(it, selector) if w.kind == "CronJob")
    for other in dict.fromkeys(passing):
        yield lack(f"no pods of {other} run, which its spread counts")
    waiting = pods_of_others(it.scenario).waiting if counted else ()
    if any(pod.namespace == namespace and s.matches(pod.labels) for pod in waiting for s in counted):
        yield lack("pods outside the set that wait, and that its spread counts, go on waiting")


def _of_volume_gates(it: Member) -> Iterator[Lack]:
    """Yield what follows where gates about volumes are not as the version has them: the model follows the version."""
    if not _mounts(it) or it.scenario.cluster is None:
        return
    # An API server without the gate drops the field.
    stored = any(driver.is_needed_on_nodes for driver in it.scenario.cluster.inventory.csi_drivers)
    on = gates_of(it.scenario).get(DRIVERS, stored or None)
    version = it.scenario.premises.kubernetes_version
    if on is not None and on != has(version, CSI_DRIVER_ON_THE_NODE):
        yield Lack(f"which nodes {DRIVERS}={str(on).lower()} closes to its volumes", True, narrows=on)
    scored = gates_of(it.scenario).get(CAPACITY_SCORES)
    if scored is not None and scored != has(version, STORAGE_CAPACITY_SCORES):
        yield Lack(f"{CAPACITY_SCORES}={str(scored).lower()} changes no choice of a node", False, narrows=False)


def _of_groups(it: Member) -> Iterator[Lack]:
    """Yield what is unknown about a workload whose pods are in a group; gangs only keep pods from running."""
    for gang in foreign_gangs_of(it):
        system = gang.group.system
        yield Lack(f"{system} admits the pods of {gang} together, which is not known", False)
    name, gates = it.workload.pod.group, gates_of(it.scenario)
    if not name or gates.get(GROUPS) is False:
        return
    group = pod_group(it.scenario, it.workload.namespace, name)
    if GROUPS not in gates:
        yield Lack(f"whether the pods of group {name} start together: no feature gate {GROUPS} is stated", True)
    elif group is None:
        yield Lack(f"whether PodGroup {name} exists: its pods wait for it", True)
    elif (group.min_count is not None and gates.get(GANGS)) or (group.topology_key and gates.get(TOPOLOGY)):
        yield Lack(fate_of_group(name), True)


def fate_of_group(name: str) -> str:
    """Return the lack that an answer of ``engine.placing.gangs.fit`` about the group makes good."""
    return f"what becomes of PodGroup {name}, whose pods are tried together"


def outside_the_model(pod: Pod) -> Iterator[str]:
    """Yield the assumptions about its scheduling gates, and about plugins and extenders of its scheduler."""
    yield from (*_of_gates(pod), *_of_plugins(pod))


def _of_gates(pod: Pod) -> Iterator[str]:
    for gate in pod.scheduling_gates:
        yield f"no controller removes the scheduling gate {gate}"


def _of_plugins(pod: Pod) -> Iterator[str]:
    for name in profile_of(pod).unmodelled:
        yield f"{name} of {pod.scheduler_name} keeps no pod from a node, and evicts none"


def in_one_line(scenario: Scenario) -> Iterator[str]:
    """Yield assumptions about classes and volumes, unknown classes and failing schedulers, for the whole set."""
    assert scenario.cluster is not None
    for profile in scenario.objects.schedulers:
        for what in profile.half_disabled:
            yield f"unknown whether {profile.name} binds pods: {what}, and may fail ({profile.origin})"
    asking = [
        w
        for w in scenario.manifests.workloads
        if w.pod.priority_class or w.pod.runtime_class or _mounts(scenario.member(w))
    ]
    if scenario.cluster.origin == "snapshot":
        facts = dict.fromkeys(what for w in asking for what in scenario.admission.decision(w).unknown)
        status = "unknown, so there is no verdict on whether pods are created"
    else:
        facts = dict.fromkeys(lack.text for w in asking for lack in lacks_of(scenario.member(w)) if not lack.unknown)
        status = "assumed, because the cluster file does not say"
    if facts:
        more = and_more(len(facts) - SHOWN)
        yield f"{status}: {'; '.join(list(facts)[:SHOWN])}{more and ';'}{more}"


def _of_storage(it: Member) -> Iterator[Lack]:
    assert it.scenario.cluster is not None
    for what, fate in fates(it):
        if not fate.lack:
            continue
        if not fate.assumed:
            yield Lack(f"{what}: {fate.lack}", True, narrows=fate.narrows)
        elif fate.kind and it.scenario.cluster.origin == "snapshot":
            yield Lack(f"{what}: {fate.lack}; the snapshot holds no {fate.kind}", True, narrows=fate.narrows)
        else:
            yield Lack(f"{what}: {fate.assumed}", False, narrows=fate.narrows)
        if fate.stays_in and len(it.scenario.index.domains_with(ZONE, it.usable)) > 1:
            where = f"{what}: in which zone StorageClass {fate.stays_in} makes its volume, which never leaves it"
            yield Lack(where, True, events=_LOSSES)


# --- what a snapshot lacks ------------------------------------------------------------------------------------------


def looks_at_others(pod: Pod, index: NodeIndex) -> bool:
    """Whether more running pods could help the pod: by matching its affinity, or by filling domains of its spread.

    With fewer domains than minDomains the least count is 0, whatever runs there.
    """
    return bool(pod.required_affinity) or any(
        c.is_hard and len(index.domains(c.topology_key)) >= (c.min_domains or 1) for c in pod.spread
    )


def _of_gaps(it: Member) -> Iterator[Lack]:
    for kind, what, matters, narrows, events in _GAPS:
        if not it.scenario.cluster_has(kind) and matters(it):
            doubts = MORE_PODS if kind == "Pod" else ""
            yield Lack(_no(what, kind), True, narrows(it), events, doubts)


def of_unread_pods(scenario: Scenario) -> Iterator[Lack]:
    """Yield what a snapshot without pods lacks about a workload that they may help."""
    if scenario.cluster is not None and scenario.cluster.origin == "snapshot" and not scenario.cluster_has("Pod"):
        yield Lack(_no(_PODS, "Pod"), True, narrows=False, doubts=MORE_PODS)


def _no(what: str, kind: str) -> str:
    return f"{what}: the snapshot holds no {kind}"


def _always(_: object) -> bool:
    return True


def _never(_: object) -> bool:
    return False


def _needs_nobody(it: Member) -> bool:
    return not looks_at_others(it.pod, it.scenario.index)


def _names_namespaces(it: Member) -> bool:
    return not _selects_namespaces(it.workload.pod)


def _mounts(it: Member) -> bool:
    return bool(it.workload.claim_templates) or any(v.kind in _CLAIMING for v in it.workload.pod.volumes)


def _wants_devices(it: Member) -> bool:
    return needs_devices(it.workload.pod, it.scenario)


def _namespace_is_elsewhere(it: Member) -> bool:
    is_elsewhere = all(n.name != it.workload.namespace for n in it.scenario.manifests.namespaces)
    return is_elsewhere or _selects_namespaces(it.workload.pod)


def _selects_namespaces(pod: Pod) -> bool:
    return any(t.namespace_selector is not None for t in (*pod.required_affinity, *pod.required_anti_affinity))


def _has_no_scaler(it: Member) -> bool:
    return it.autoscaler is None and it.workload.kind in ("Deployment", "StatefulSet", "ReplicaSet")


_PODS = "which pods run on the nodes"
_CLAIMING = ("persistentVolumeClaim", "ephemeral")
_Matters = Callable[["Member"], bool]
_GAPS: tuple[tuple[str, str, _Matters, _Matters, tuple[str, ...]], ...] = (
    ("Pod", _PODS, _always, _needs_nobody, ()),
    ("ResourceQuota", "which quotas bound its namespace", _always, _always, ()),
    ("LimitRange", "which limits hold in its namespace", _always, _always, ()),
    ("Namespace", "the labels of namespaces", _namespace_is_elsewhere, _names_namespaces, ()),
    ("CSINode", "how many volumes a node takes", _mounts, _always, ()),
    ("CSIStorageCapacity", "how much room there is for volumes", _mounts, _always, ()),
    ("DeviceTaintRule", "which devices rules taint", _wants_devices, _always, ()),
    ("PodDisruptionBudget", "which budgets cover its pods", _always, _always, ("drain",)),
    ("HorizontalPodAutoscaler", "whether an autoscaler scales it", _has_no_scaler, _never, ("hpa-max",)),
)
"""Kind, what is unknown without it, which workloads that concerns, whether it only narrows, and its events.

``admission`` handles PriorityClasses and RuntimeClasses.
"""


# --- what a sketch or a list of nodes lacks -------------------------------------------------------------------------

_BESIDE = (("Pod", "running pods"), ("PersistentVolume", "volumes"), ("ResourceQuota", "quotas"))


def emptiness(scenario: Scenario, *more: tuple[str, str]) -> str:
    """The assumption about kinds that a sketch or kubectl's output leaves out; empty if none is missing.

    ``more`` are further (kind, noun) that matter.
    """
    assert scenario.cluster is not None
    missing = [noun for kind, noun in (*_BESIDE, *more) if not scenario.cluster_has(kind)]
    if scenario.cluster.origin == "snapshot" or not missing:
        return ""
    named = " or ".join(filter(None, (", ".join(missing[:-1]), missing[-1])))
    return f"no {named} are known beyond the manifests"
