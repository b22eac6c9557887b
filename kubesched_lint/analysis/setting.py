"""What a simulation starts from: the manifests laid over the cluster, running pods given to their owners."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.claims import bound_volume, claim_named, told_ordinals, without_unknown_storage
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.held import amid_rollout, as_it_stands, without
from kubesched_lint.lifecycle.setting import UNKNOWN_CLASS, Setting
from kubesched_lint.model.storage import Claim
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import replace


def setting_of(facts: Facts) -> Setting:
    """CronJobs are left out: nobody knows when their pods come. Likewise Deployments paused amid a rollout."""
    cluster = facts.cluster
    assert cluster is not None, "a simulation needs nodes"
    amid = amid_rollout(facts)
    if amid:
        facts = Facts(without(facts.manifests, amid), cluster, facts.premises)
    ordered = [w for w in facts.in_order if w.kind != "CronJob"]
    running = {i: facts.running_pods(w) for i, w in enumerate(ordered)}
    sized = tuple(as_it_stands(w, running[i]) if w.held else w for i, w in enumerate(_sized(w, facts) for w in ordered))
    # Where nothing runs, a held workload is not scaled either (deployment/sync.go, scale).
    scalers = {
        i: s for i, w in enumerate(ordered) if (s := facts.autoscaler(w)) is not None and not _is_empty(sized[i])
    }
    return Setting(
        tuple(cluster.inventory.nodes),
        replace(
            facts.objects,
            pods=facts.other_pods,
            storage_classes=(*facts.objects.storage_classes, UNKNOWN_CLASS),
        ),
        sized,
        {i: pods for i, pods in running.items() if pods},
        scalers,
        kubernetes_version=facts.premises.kubernetes_version,
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
