"""What a simulation starts from: the manifests laid over the cluster, running pods given to their owners."""

from __future__ import annotations

from dataclasses import replace

from kubesched_lint.analysis.claims import without_unknown_storage
from kubesched_lint.analysis.facts import Facts
from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.model.workload import Workload


def setting_of(facts: Facts) -> Setting:
    """CronJobs are left out: nobody knows when their pods come."""
    cluster = facts.cluster
    assert cluster is not None, "a simulation needs nodes"
    ordered = [w for w in facts.in_order if w.kind != "CronJob"]
    running = {i: facts.running_pods(w) for i, w in enumerate(ordered)}
    scalers = {i: s for i, w in enumerate(ordered) if (s := facts.autoscaler(w)) is not None}
    sized = tuple(_sized(w, facts) for w in ordered)
    objects = _overlaid(facts.manifests, cluster.inventory)
    return Setting(
        tuple(cluster.inventory.nodes),
        replace(objects, pods=facts.other_pods),
        sized,
        {i: pods for i, pods in running.items() if pods},
        scalers,
        kubernetes_version=facts.premises.kubernetes_version,
    )


def _sized(workload: Workload, facts: Facts) -> Workload:
    known = without_unknown_storage(facts, workload)
    return known if workload.kind in ("DaemonSet", "Pod") else replace(known, replicas=facts.replicas(workload))


def _overlaid(upper: Inventory, lower: Inventory) -> Inventory:
    """Both sides' objects; of two that share namespace and name, the manifest's."""
    merged = {}
    for name in Inventory.__slots__:
        found: dict[object, object] = {}
        for item in (*getattr(lower, name), *getattr(upper, name)):
            found[getattr(item, "kind", ""), getattr(item, "namespace", ""), getattr(item, "name", id(item))] = item
        merged[name] = tuple(found.values())
    return Inventory(**merged)  # type: ignore[arg-type]  # every field is a tuple of its kind
