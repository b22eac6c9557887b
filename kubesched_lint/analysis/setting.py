"""What a simulation starts from: the manifests laid over the cluster, running pods given to their owners."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kubesched_lint.admission.decision import CREATED
from kubesched_lint.analysis.claims import bound_volume, claim_named, told_ordinals, without_unknown_storage
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.held import amid_rollout, as_it_stands, without
from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.cluster.revisions import HASH, by_revision, runs_newest
from kubesched_lint.lifecycle.setting import UNKNOWN_CLASS, Setting
from kubesched_lint.model.decode.nodes import decode_pod_object
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.pod import BoundPod, Owner, Pod, PodAffinityTerm, SpreadConstraint, WeightedPodAffinityTerm
from kubesched_lint.model.policy import ReplicaSet
from kubesched_lint.model.storage import Claim
from kubesched_lint.model.workload import ROLLED_OUT, Workload
from kubesched_lint.record import replace


def setting_of(facts: Facts) -> Setting:
    """CronJobs are left out: nobody knows when their pods come. Likewise Deployments paused amid a rollout."""
    cluster = facts.cluster
    assert cluster is not None, "a simulation needs nodes"
    amid = amid_rollout(facts)
    if amid:
        facts = Facts(without(facts.manifests, amid), cluster, facts.premises)
    ordered = [w for w in facts.in_order if w.kind != "CronJob"]
    bare = {(w.namespace, w.name) for w in ordered if w.kind == "Pod"}
    running = {i: by_revision(w, _its_own(w, facts, bare), cluster) for i, w in enumerate(ordered)}
    sized = tuple(as_it_stands(w, running[i]) if w.held else w for i, w in enumerate(_sized(w, facts) for w in ordered))
    # Where nothing runs, a held workload is not scaled either (deployment/sync.go, scale).
    scalers = {
        i: s for i, w in enumerate(ordered) if (s := facts.autoscaler(w)) is not None and not _is_empty(sized[i])
    }
    objects = _with_settled_storage(facts.objects, facts)
    return Setting(
        tuple(cluster.inventory.nodes),
        replace(objects, pods=facts.lasting.pods, storage_classes=(*objects.storage_classes, UNKNOWN_CLASS)),
        sized,
        {i: pods for i, pods in running.items() if pods},
        {i: changes(w, running[i], facts) for i, w in enumerate(ordered) if running[i]},
        {i: size for i, w in enumerate(ordered) if running[i] and (size := _size(w, cluster)) is not None},
        scalers,
        kubernetes_version=facts.premises.kubernetes_version,
        leaving=tuple(b for b in facts.other_pods if b.terminating and not b.held),
        claim_templates={i: w.claim_templates for i, w in enumerate(ordered) if w.claim_templates},
        decisions={i: d for i, w in enumerate(ordered) if (d := facts.admission.decision(w)) is not CREATED},
    )


def _its_own(workload: Workload, facts: Facts, bare: Collection[tuple[str, str]]) -> tuple[BoundPod, ...]:
    """Its running pods; a bare Pod of the set that it takes over is told as what the set calls it."""
    running = facts.running_pods(workload)
    if workload.kind == "Deployment" and facts.is_created(workload):
        return (*running, *_yet_to_come(workload, running, facts))
    if workload.kind == "Pod" or not bare:
        return running
    return tuple(b for b in running if b.owner is not None or (b.namespace, b.name) not in bare)


def _size(workload: Workload, cluster: Cluster) -> int | None:
    """How many replicas a Deployment of the cluster is meant to have; amid a rollout others may run."""
    live = cluster.running.live(workload) if workload.kind == "Deployment" else None
    return None if live is None else live.replicas


def _yet_to_come(workload: Workload, running: Sequence[BoundPod], facts: Facts) -> Iterator[BoundPod]:
    """Pods that ReplicaSets lack: they are made as soon as their controller looks, whatever is applied."""
    assert facts.cluster is not None, "ReplicaSets are those of a cluster"
    for owner in facts.cluster.running.replica_sets_of(workload):
        own = [b for b in running if b.pod.labels.get(HASH) == owner.template_hash and not b.terminating]
        lacking = owner.replicas - len(own)
        pod = (own[0].pod if own else _made_of(owner, facts)) if lacking > 0 else None
        if pod is not None:
            controller = Owner("ReplicaSet", owner.name)
            yield from (BoundPod(f"{owner.name}-{n}", "", pod, controller) for n in range(lacking))


def _made_of(owner: ReplicaSet, facts: Facts) -> Pod | None:
    """The pod of a ReplicaSet; None where the cluster does not tell its template."""
    if not isinstance(owner.template, dict):
        return None
    return facts.admission.stored(decode_pod_object(owner.template, owner.namespace))


def changes(workload: Workload, running: Sequence[BoundPod], facts: Facts) -> bool | None:
    """Whether applying the manifest makes a new revision; None where neither the snapshot nor the pods tell."""
    if workload.held or _takes_over(running):
        return True
    changed = facts.template_changed(workload)
    if changed is None and any(_tells_a_change(workload.pod, bound.pod) for bound in running[-1:]):
        return True
    if changed is False and not runs_newest(workload, running, facts.cluster):
        return True
    return changed


def _takes_over(running: Sequence[BoundPod]) -> bool:
    """Whether some were made by nobody, so that they are of no revision."""
    return any(b.owner is None and not b.pod.labels.get(HASH) for b in running)


def stays(workload: Workload, running: Sequence[BoundPod], facts: Facts) -> bool:
    """Whether pods that run may stay as they are when the manifest is applied, whatever it asks of new ones."""
    if not any(b.node and not b.terminating for b in running):
        return False
    assert facts.cluster is not None, "pods run on a cluster"
    running = by_revision(workload, running, facts.cluster)
    replaces = workload.kind in ROLLED_OUT and not _takes_over(running)
    return not replaces or not changes(workload, running, facts)


def _tells_a_change(written: Pod, running: Pod) -> bool:
    """Whether a pod that runs cannot be of the written template: it lacks what that asks for."""
    return (
        not written.labels.items() <= running.labels.items()
        or not written.node_selector.items() <= running.node_selector.items()
        or not set(written.tolerations) <= set(running.tolerations)
        or not set(written.host_ports) <= set(running.host_ports)
        or any(_terms(one) != _terms(other) for one, other in zip(_rules(written), _rules(running), strict=True))
    )


def _rules(pod: Pod) -> tuple[Sequence[PodAffinityTerm | WeightedPodAffinityTerm | SpreadConstraint], ...]:
    return (
        pod.required_affinity,
        pod.required_anti_affinity,
        pod.preferred_affinity,
        pod.preferred_anti_affinity,
        pod.spread,
    )


def _terms(rules: Sequence[PodAffinityTerm | WeightedPodAffinityTerm | SpreadConstraint]) -> list[object]:
    """Without those whose selectors the API server completes by label keys."""
    terms = (r.term if isinstance(r, WeightedPodAffinityTerm) else r for r in rules)
    return [t for t in terms if not t.match_label_keys and not getattr(t, "mismatch_label_keys", ())]


def _with_settled_storage(objects: Inventory, facts: Facts) -> Inventory:
    storage = facts.storage
    return replace(
        objects,
        claims=tuple(storage.claims.values()),
        volumes=tuple(storage.volumes.values()),
        storage_classes=tuple(storage.classes.values()),
    )


def _is_empty(workload: Workload) -> bool:
    return bool(workload.held) and not workload.replicas


def _sized(workload: Workload, facts: Facts) -> Workload:
    known = without_unknown_storage(facts, workload)
    tied = tuple(replace(t, storage_class=UNKNOWN_CLASS.name) for t in _tied_templates(workload, known, facts))
    if tied:
        known = replace(known, claim_templates=(*known.claim_templates, *tied))
    return known if workload.kind in ("DaemonSet", "Pod") else replace(known, replicas=facts.replicas(workload))


def _tied_templates(workload: Workload, known: Workload, facts: Facts) -> Iterator[Claim]:
    """Templates of an unknown class of which some ordinal has its volume already: that is where its pod goes."""
    for template in workload.claim_templates:
        if template in known.claim_templates:
            continue
        names = [f"{template.name}-{workload.name}-{ordinal}" for ordinal in told_ordinals(facts, workload)]
        bound = [name for name in names if bound_volume(facts, workload.namespace, name) is not None]
        if bound and all(name in bound or claim_named(facts, workload.namespace, name) is None for name in names):
            yield template
