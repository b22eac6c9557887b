"""Workloads that are equal but for their names: what a trace shows of one holds for the other as well."""

from __future__ import annotations

from collections.abc import Hashable

from kubesched_lint.lifecycle.setting import Setting
from kubesched_lint.record import replace


def shape(setting: Setting, number: int) -> Hashable | None:
    """Return everything that traces of a workload depend on, except names; None if they may depend on more.

    It leaves out other workloads: the caller knows that they are not in the traces, or the same for each of the shape.
    """
    workload, pod = setting.workloads[number], setting.pods[number]
    if workload.claim_templates or pod.volumes or pod.resource_claims or setting.running.get(number):
        return None
    if workload.custom is not None or setting.quotas[number] or setting.guards(number):
        return None
    terms = [*pod.required_affinity, *pod.required_anti_affinity]
    if any(bound.pod.required_anti_affinity or terms or pod.spread for bound in setting.objects.pods):
        return None  # a term may select pods outside the set by name, or they this one
    bare = replace(
        pod,
        namespace="",
        labels={},
        required_affinity=(),
        required_anti_affinity=(),
        preferred_affinity=(),
        preferred_anti_affinity=(),
        spread=(),
        as_written=None,
    )
    return (
        repr(bare),
        tuple((term.topology_key, term.path, setting.selects(term, pod, pod)) for term in pod.required_affinity),
        tuple((term.topology_key, term.path, setting.selects(term, pod, pod)) for term in pod.required_anti_affinity),
        tuple(
            (repr(replace(c, selector=None)), c.selector is not None and c.selector.matches(pod.labels))
            for c in pod.spread
        ),
        (workload.kind, workload.replicas, repr(workload.strategy), workload.pod_management, workload.first_ordinal),
        (workload.min_ready_seconds, workload.suspended, number in setting.never_ready),
        (repr(setting.scalers.get(number)) if number in setting.scalers else "", setting.scaled.get(number)),
        setting.usable[number],
    )
