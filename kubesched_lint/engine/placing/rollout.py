"""Rolling updates: how far they go above and below the replicas, and which running pods they replace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.cluster.pods.running import HASH
from kubesched_lint.engine.cluster.revisions import by_revision, runs_newest
from kubesched_lint.engine.controllers.bounds import rolling_bounds
from kubesched_lint.engine.controllers.daemonset import pinned_to
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import (
    BoundPod,
    Container,
    Pod,
    PodAffinityTerm,
    SpreadConstraint,
    Toleration,
    WeightedPodAffinityTerm,
)
from kubesched_lint.engine.model.workloads.workload import NO_DEADLINE, ROLLED_OUT, Workload
from kubesched_lint.engine.scenario.pods.pod_labels import REVISION_LABELS, revision_label
from kubesched_lint.engine.scenario.scenario import Member

OLD_PODS = "the old pods stand on nodes that the new ones may use as well"
"""Premise of every proof about a rollout: a change that also moves the workload may find room elsewhere."""


def fenceposts(workload: Workload, replicas: int) -> tuple[int, int]:
    """``(surge, unavailable)`` in pods, as the Deployment controller resolves them for this many replicas."""
    return rolling_bounds(workload.strategy, replicas)


def rollout_condition(workload: Workload, replicas: int) -> str:
    """Return what else to set for the rollout if every pod, old or new, has a place of its own and none is free.

    Empty if the rollout ends as it is written.
    """
    is_rolled = workload.kind == "Deployment" and workload.strategy.type == "RollingUpdate"
    if not is_rolled or not replicas or fenceposts(workload, replicas)[1]:
        return ""
    return " and set maxUnavailable: 1 (else a rollout gets stuck)"


def rollout_condition_of(it: Member, term: PodAffinityTerm, replicas: int) -> str:
    """Return the same of pods that a term of anti-affinity keeps apart: nothing if it lets revisions share a place."""
    return rollout_condition(it.workload, replicas) if repels_across_revisions(it, term) else ""


def price_of_going_first(replicas: int) -> str:
    """Return what it costs to delete an old pod before its replacement runs."""
    return "with one replica that is downtime, as Recreate is" if replicas == 1 else "one pod is missing at a time"


def until_it_ends(workload: Workload, replicas: int) -> str:
    """Return what becomes of a Deployment whose rollout never ends: its old pods stay, and Kubernetes says so late."""
    serving = "the old pod serves" if replicas == 1 else "the old pods serve"
    deadline = workload.strategy.progress_deadline
    if workload.custom is not None or deadline >= NO_DEADLINE:
        return serving
    return f"{serving}, and after {many(deadline, 'second')} Kubernetes reports ProgressDeadlineExceeded"


def repels_across_revisions(it: Member, term: PodAffinityTerm) -> bool:
    """Whether an old pod repels a new one: not when the term, as written, holds for one revision only."""
    pinned = {r.key for r in it.workload.selector.requirements} if it.workload.selector else set()
    apart = {*term.mismatch_label_keys, *(key for key in term.match_label_keys if key not in pinned)}
    if apart & ({revision_label(it.workload)} | it.workload.pod.labels.keys()):
        return False
    return selects_every_revision(it.workload, term.selector) and it.repels_itself(term)


def selects_every_revision(workload: Workload, selector: Selector | None) -> bool:
    """Whether a selector looks only at labels that no change of the template may touch."""
    pinned = {r.key for r in workload.selector.requirements} if workload.selector else set()
    return selector is not None and {r.key for r in selector.requirements} <= pinned


# --- Which running pods a deployment of the manifests replaces --------------------------------------------------------


def changes(it: Member, running: Sequence[BoundPod]) -> bool | None:
    """Whether applying the manifest makes a new revision; None if neither the snapshot nor the pods show it."""
    if it.workload.suspended or _takes_over(running):
        return True
    changed = it.template_changed
    if changed is None and any(_shows_change(it.workload.pod, bound.pod) for bound in running[-1:]):
        return True
    if changed is False and not runs_newest(it.workload, running, it.scenario.cluster):
        return True
    return changed


def _takes_over(running: Sequence[BoundPod]) -> bool:
    """Whether some pods have no owner and no revision."""
    return any(b.owner is None and not b.pod.labels.get(HASH) for b in running)


def stays(it: Member, running: Sequence[BoundPod]) -> bool:
    """Whether running pods may stay unchanged when the manifest is applied."""
    if not any(b.node and not b.terminating for b in running):
        return False
    assert it.scenario.cluster is not None, "pods run on a cluster"
    running = by_revision(it.workload, running, it.scenario.cluster)
    replaces = it.workload.kind in ROLLED_OUT and not _takes_over(running)
    return not replaces or not changes(it, running)


def _shows_change(written: Pod, running: Pod) -> bool:
    """Return whether a running pod lacks something that the written template sets: then it is of another template."""
    return (
        not written.labels.items() <= running.labels.items()
        or not written.node_selector.items() <= running.node_selector.items()
        or not set(written.tolerations) <= set(running.tolerations)
        or not set(written.host_ports) <= set(running.host_ports)
        or any(_terms(term) != _terms(other) for term, other in zip(_rules(written), _rules(running), strict=True))
    )


_GIVEN = (
    *("pod-template-generation", "job-name", "controller-uid", "batch.kubernetes.io/"),
    *("statefulset.kubernetes.io/", "apps.kubernetes.io/", "topology.kubernetes.io/"),
)
"""How the keys of labels begin that controllers and the API server add to pods, besides REVISION_LABELS."""


def looks_unchanged(it: Member, running: Sequence[BoundPod]) -> bool:
    """Whether running pods have every field of the template that scheduling reads as it is written, and its images.

    They may have more volumes and containers, which admission adds.
    """
    written, stored = it.workload.pod, it.pod
    return runs_newest(it.workload, running, it.scenario.cluster) and all(
        not _shows_change(written, pod)
        and _own_labels(pod) == _own_labels(written)
        and (pod.node_selector, _own_tolerations(pod)) == (stored.node_selector, _own_tolerations(stored))
        and _fixed(written) == _fixed(pod)
        and (
            written.required_node_terms == pod.required_node_terms
            or (not written.required_node_terms and pinned_to(pod))
        )
        and (not written.priority_class or written.priority_class == pod.priority_class)
        and _volumes(written) <= _volumes(pod)
        and _asks_alike(stored.containers, pod.containers)
        and _asks_alike(stored.init_containers, pod.init_containers)
        for pod in {bound.pod for bound in running}
    )


def _own_labels(pod: Pod) -> set[tuple[str, str]]:
    """Return the labels without those that controllers and the API server add."""
    return {
        label for label in pod.labels.items() if not label[0].startswith(_GIVEN) and label[0] not in REVISION_LABELS
    }


def _own_tolerations(pod: Pod) -> set[Toleration]:
    """Return the tolerations without those of the states of nodes, which controllers and admission add."""
    return {toleration for toleration in pod.tolerations if not toleration.key.startswith("node.kubernetes.io/")}


def _fixed(pod: Pod) -> tuple[object, ...]:
    rest = pod.pod_requests, pod.resource_claims, pod.runtime_class, pod.host_network, pod.scheduling_gates
    return (pod.scheduler_name, pod.group, *rest)


def _volumes(pod: Pod) -> set[tuple[str, str]]:
    return {(v.kind, v.claim or v.name) for v in pod.volumes}


def _asks_alike(written: Iterable[Container], running: Iterable[Container]) -> bool:
    """Whether each written container runs with the requests and the image that are written."""
    known = {c.name: (c.image, c.requests) for c in running}
    return all(known.get(c.name) == (c.image, c.requests) for c in written)


def _rules(pod: Pod) -> tuple[Sequence[PodAffinityTerm | WeightedPodAffinityTerm | SpreadConstraint], ...]:
    return (
        pod.required_affinity,
        pod.required_anti_affinity,
        pod.preferred_affinity,
        pod.preferred_anti_affinity,
        pod.spread,
    )


def _terms(rules: Sequence[PodAffinityTerm | WeightedPodAffinityTerm | SpreadConstraint]) -> list[object]:
    """The terms without those whose selectors the API server completes from label keys."""
    terms = (r.term if isinstance(r, WeightedPodAffinityTerm) else r for r in rules)
    return [t for t in terms if not t.match_label_keys and not getattr(t, "mismatch_label_keys", ())]
