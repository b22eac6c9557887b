"""The assumptions of a cell of the matrix, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.engine.base.text import SHOWN, and_more, first_few
from kubesched_lint.engine.controllers.statefulset import budget
from kubesched_lint.engine.events.start.evictable_pods import guests_of
from kubesched_lint.engine.events.start.groups import assumed_templates, unknown_templates
from kubesched_lint.engine.events.start.preemption_scope import PreemptionScope
from kubesched_lint.engine.events.start.simulated_set import UNKNOWN_CLASS, SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.model.storage import is_local
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scheduler.plugins.node_volume_limits import migrated
from kubesched_lint.engine.scheduler.plugins.volume_binding import NO_PROVISIONER

_GATED = "the feature gate MaxUnavailableStatefulSet is off by default up to 1.36 (pkg/features/kube_features.go)"


def _names(member: SimulatedMember, others: Sequence[int], itself: bool) -> str:
    """Return the names of the workload, if ``itself`` is one of ``others``, and of some more of these."""
    few = [member.number] * itself + [i for i in others if i != member.number][:SHOWN]
    return ", ".join(str(member.set.workloads[i]) for i in few) + and_more(len(others) - len(few))


def premises(member: SimulatedMember, scope: PreemptionScope) -> Iterator[str]:
    """Yield the assumptions about a workload; ``scope`` is the preemption in its group."""
    simulated = member.set
    workload = member.workload
    if member.never_ready:
        yield f"the pods that an event makes of {workload} never become ready"
    else:
        yield "pods become ready as soon as they are bound"
    yield "nothing else is created"
    ignored = workload.strategy.max_unavailable
    gated = workload.kind == "StatefulSet" and budget(workload, 1, simulated.kubernetes_version) is None
    if gated and ignored not in (None, 1):
        yield f"maxUnavailable {ignored} of a StatefulSet does nothing: {_GATED}"
    names = _names(member, unknown_templates(member), member.is_template_unknown)
    if names:
        yield f"whether the manifest changes the template of {names} is unknown: the verdict covers both cases"
    names = _names(member, assumed_templates(member), member.looks_unchanged)
    if names:
        yield f"the manifest changes nothing of {names} that running pods show: a changed image is a rollout"
    if has_unknown_class(workload):
        yield "volumes of an unknown class are provisioned in their pod's zone, and stay there"
    for provisioner in _unlocated(simulated, workload):
        yield f"volumes that {provisioner} makes {_where(simulated, provisioner)}: no CSINode says where they are"
    if _has_jobs(simulated):
        yield "no pod of a Job has ended yet"
    if any(scaler.mode != "Off" for scaler in simulated.objects.vertical_autoscalers):
        yield "VerticalPodAutoscalers leave requests as they are written"
    if scope.strong:
        yield "pods preempt as kube-scheduler's DefaultPreemption does it, and victims are gone at once"
    if simulated.supposed is not None and simulated.supposed.change.halted:
        halted = first_few(sorted(simulated.supposed.change.halted))
        yield f"nothing is evicted from {halted}, because most of a zone is unreachable (--unhealthy-zone-threshold)"
    end = [f"{bound.namespace}/{bound.name}" for bound in (*simulated.terminating_of_others, *simulated.terminating)]
    if end:
        yield f"pods that terminate end: {first_few(end)}"
    yield from _of_guests(simulated)


def _unlocated(simulated: SimulatedSet, workload: Workload) -> list[str]:
    """Return the provisioners of new volumes for which no CSINode has topology keys, so that ours are a guess."""
    storage = simulated.cluster.storage
    classes = (storage.classes.get(t.storage_class or "") for t in workload.claim_templates)
    makers = {c.provisioner for c in classes if c is not None and c.provisioner and c.name != UNKNOWN_CLASS.name}
    return sorted(m for m in makers - {NO_PROVISIONER} if migrated(m) not in _located(simulated)) if makers else []


def _where(simulated: SimulatedSet, provisioner: str) -> str:
    """Return the words for ``engine.scheduler.binding.topology_keys`` where no CSINode has the driver."""
    if is_local(provisioner):
        return "stay on their node"
    csi_nodes = simulated.cluster.storage.csi_nodes
    some = sum(node.name in csi_nodes for node in simulated.nodes)
    if not some:
        return "are reached from their zone"
    return (
        "are reached from every node" if some == len(simulated.nodes) else "are reached from every node or their zone"
    )


@once_per_set
def _located(simulated: SimulatedSet) -> frozenset[str]:
    """Return the drivers that some CSINode has."""
    return frozenset(name for csi_node in simulated.cluster.storage.csi_nodes.values() for name in csi_node.drivers)


@once_per_set
def _has_jobs(simulated: SimulatedSet) -> bool:
    return any(w.kind == "Job" for w in simulated.workloads)


def _of_guests(simulated: SimulatedSet) -> Iterator[str]:
    hosted = guests_of(simulated).hosted
    if hosted:
        names = [str(guest.workload) for guest in hosted if guest.workload.kind != "Pod"]
        make = f"; {first_few(names)} create theirs again" if names else ""
        yield f"bare pods that are not in the manifests and are evicted do not come back{make}"
    if sum(len(guest.pods) for guest in hosted) < len(simulated.objects.pods):
        others = "other pods" if hosted else "pods"
        yield f"{others} that are not in the manifests stay where they are, and do not come back from lost nodes"


def has_unknown_class(workload: Workload) -> bool:
    """Whether the binding mode of a claim template's volumes is unknown."""
    return any(t.storage_class == UNKNOWN_CLASS.name for t in workload.claim_templates)
