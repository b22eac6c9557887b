"""The start of a simulation: the manifests applied to the cluster, with running pods assigned to their owners."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.admission.decision import CREATED
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodes.index import AMPLE
from kubesched_lint.engine.cluster.pods.running import HASH
from kubesched_lint.engine.cluster.revisions import by_revision
from kubesched_lint.engine.controllers.statefulset import claim_name
from kubesched_lint.engine.events.start.simulated_set import UNKNOWN_CLASS, SimulatedSet
from kubesched_lint.engine.model.decode.nodes import decode_pod_object
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import BoundPod, Owner, Pod
from kubesched_lint.engine.model.policy import ReplicaSet
from kubesched_lint.engine.model.storage import Claim
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.rollout import changes, looks_unchanged
from kubesched_lint.engine.placing.scenarios import amid_rollout, as_it_stands, without_workloads
from kubesched_lint.engine.scenario.devices.over_time import followed_devices
from kubesched_lint.engine.scenario.others.running import lasting_pods
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scenario.storage.claim_names import claim_named, known_ordinals
from kubesched_lint.engine.scenario.storage.claims import bound_volume, settled_storage, without_unknown_storage


@once_per_scenario
def simulated_set_of(scenario: Scenario) -> SimulatedSet:
    """Return the set without CronJobs (their schedule is unknown) and Deployments paused during a rollout."""
    cluster = scenario.cluster
    assert cluster is not None, "a simulation needs nodes"
    amid = amid_rollout(scenario)
    if amid:
        scenario = without_workloads(scenario, amid)
    ordered = simulated(scenario)
    bare = {(w.namespace, w.name) for w in ordered if w.kind == "Pod"}
    running = {i: by_revision(w, _its_own(scenario.member(w), bare), cluster) for i, w in enumerate(ordered)}
    sized = tuple(
        as_it_stands(w, running[i]) if w.suspended else w
        for i, w in enumerate(_sized(scenario.member(w)) for w in ordered)
    )
    # If nothing runs, a paused or suspended workload is not scaled either (deployment/sync.go, scale).
    scalers = {
        i: s
        for i, w in enumerate(ordered)
        if (s := scenario.member(w).autoscaler) is not None and not _is_empty(sized[i])
    }
    objects = _with_settled_storage(scenario.objects, scenario)
    changing = {i: changes(scenario.member(w), running[i]) for i, w in enumerate(ordered) if running[i]}
    kept = frozenset(
        i for i, new in changing.items() if new is None and looks_unchanged(scenario.member(ordered[i]), running[i])
    )
    whole_set = SimulatedSet(
        tuple(_nodes(scenario, cluster)),
        replace(
            objects,
            pods=lasting_pods(scenario).pods,
            storage_classes=(*objects.storage_classes, UNKNOWN_CLASS),
            allocator=followed_devices(scenario),
        ),
        sized,
        {i: tuple(_rescheduled(scenario.member(ordered[i]), pods)) for i, pods in running.items() if pods},
        {i: False if i in kept else new for i, new in changing.items()},
        {i: size for i, w in enumerate(ordered) if running[i] and (size := _size(w, cluster)) is not None},
        scalers,
        looks_unchanged=kept,
        kubernetes_version=scenario.premises.kubernetes_version,
        terminating_of_others=tuple(b for b in scenario.other_pods if b.terminating and not b.kept_by_finalizers),
        terminating=tuple(b for w in ordered for b in scenario.member(w).running_pods if b.terminating),
        claim_templates={i: w.claim_templates for i, w in enumerate(ordered) if w.claim_templates},
        decisions={i: d for i, w in enumerate(ordered) if (d := scenario.admission.decision(w)) is not CREATED},
    )
    whole_set.__dict__["admission"] = scenario.admission
    if not scenario.pools and not cluster.resources_left_out:
        whole_set.__dict__["index"] = scenario.index
    return whole_set


def simulated(scenario: Scenario) -> Sequence[Workload]:
    """Return the workloads of a set, in its order: no CronJobs, and no Deployments paused during a rollout."""
    amid = set(amid_rollout(scenario))
    return [w for w in scenario.order.workloads if w.kind != "CronJob" and w not in amid]


def _nodes(scenario: Scenario, cluster: Cluster) -> Iterator[Node]:
    """Yield the nodes, with more than enough of the resources that the sketch need not write.

    The pods keep their requests for these resources, because quotas count them.
    """
    ample = {} if scenario.cluster is None else dict.fromkeys(scenario.cluster.resources_left_out, AMPLE)
    for node in cluster.inventory.nodes:
        known = node.allocatable
        yield node if known is None or not ample else replace(node, allocatable={**known, **ample})


def _its_own(it: Member, bare: Collection[tuple[str, str]]) -> tuple[BoundPod, ...]:
    """Its running pods, and those that its ReplicaSets still lack; without bare Pods that the set itself defines."""
    running = it.running_pods
    if it.workload.kind == "Deployment" and it.is_created:
        return (*running, *_yet_to_come(it, running))
    if it.workload.kind == "Pod" or not bare:
        return running
    return tuple(b for b in running if b.owner is not None or (b.namespace, b.name) not in bare)


def _rescheduled(it: Member, running: Sequence[BoundPod]) -> Iterator[BoundPod]:
    """Yield running pods with what the scheduler's configuration adds to their next copies."""
    given = it.scenario.admission.schedulers.for_next_copy
    return (b if (pod := given(b.pod, it.workload)) is b.pod else replace(b, pod=pod) for b in running)


def _size(workload: Workload, cluster: Cluster) -> int | None:
    """The wanted replicas of a Deployment of the cluster; None without one. During a rollout more or fewer may run."""
    live = cluster.running.live(workload) if workload.kind == "Deployment" else None
    return None if live is None else live.replicas


def _yet_to_come(it: Member, running: Sequence[BoundPod]) -> Iterator[BoundPod]:
    """Yield the pods that ReplicaSets lack: their controller creates them at once, whatever is applied."""
    assert it.scenario.cluster is not None, "ReplicaSets are those of a cluster"
    for owner in it.scenario.cluster.running.replica_sets_of(it.workload):
        own = [b for b in running if b.pod.labels.get(HASH) == owner.template_hash and not b.terminating]
        lacking = owner.replicas - len(own)
        pod = (own[0].pod if own else _made_of(owner, it)) if lacking > 0 else None
        if pod is not None:
            controller = Owner("ReplicaSet", owner.name)
            yield from (BoundPod(f"{owner.name}-{n}", "", pod, controller) for n in range(lacking))


def _made_of(owner: ReplicaSet, member: Member) -> Pod | None:
    """The pod of a ReplicaSet; None if the cluster's data has no template."""
    if not isinstance(owner.template, dict):
        return None
    return member.scenario.admission.stored(
        decode_pod_object(owner.template, owner.namespace), source=member.workload.source
    )


def _with_settled_storage(objects: Inventory, scenario: Scenario) -> Inventory:
    storage = settled_storage(scenario)
    return replace(
        objects,
        claims=tuple(storage.claims.values()),
        volumes=tuple(storage.volumes.values()),
        storage_classes=tuple(storage.classes.values()),
    )


def _is_empty(workload: Workload) -> bool:
    return bool(workload.suspended) and not workload.replicas


def _sized(it: Member) -> Workload:
    known = without_unknown_storage(it)
    tied = tuple(replace(t, storage_class=UNKNOWN_CLASS.name) for t in _tied_templates(it, known))
    if tied:
        known = replace(known, claim_templates=(*known.claim_templates, *tied))
    is_sized = known.replicas == it.replicas or it.workload.kind in ("DaemonSet", "Pod")
    return known if is_sized else replace(known, replicas=it.replicas)


def _tied_templates(it: Member, known: Workload) -> Iterator[Claim]:
    """Templates of an unknown class where some ordinal already has a volume, which fixes that pod's place."""
    for template in it.workload.claim_templates:
        if template in known.claim_templates:
            continue
        first = it.workload.first_ordinal
        names = [claim_name(it.workload, template, ordinal - first) for ordinal in known_ordinals(it)]
        bound = [name for name in names if bound_volume(it.scenario, it.workload.namespace, name) is not None]
        if bound and all(
            name in bound or claim_named(it.scenario, it.workload.namespace, name) is None for name in names
        ):
            yield template
