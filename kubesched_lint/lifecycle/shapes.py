"""Workloads that are equal but for their names: what a trace shows of one holds for the other as well."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from kubesched_lint.lifecycle.setting import Setting, once_per_setting, once_per_workload
from kubesched_lint.model.pod import Pod, PodAffinityTerm
from kubesched_lint.record import replace
from kubesched_lint.scheduler.plugins.inter_pod_affinity import named_namespaces


@once_per_workload
def shape(setting: Setting, number: int) -> Hashable | None:
    """Return everything that traces of a workload depend on, except names; None if they may depend on more.

    It leaves out the other workloads of the set: the caller knows that no trace has them, or that all have the same.
    """
    workload, pod = setting.workloads[number], setting.pods[number]
    if workload.claim_templates or pod.volumes or pod.resource_claims or setting.running.get(number):
        return None
    if workload.custom is not None or setting.quotas[number] or setting.guards(number) or _may_meet(setting, pod):
        return None
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
        # Selectors have names: all that they can select is the pod itself.
        tuple(
            tuple((weight, term.topology_key, term.path, setting.selects(term, pod, pod)) for weight, term in terms)
            for terms in _terms(pod)
        ),
        tuple(
            (repr(replace(c, selector=None)), c.selector is not None and c.selector.matches(pod.labels))
            for c in pod.spread
        ),
        (workload.kind, workload.replicas, repr(workload.strategy), workload.pod_management, workload.first_ordinal),
        (workload.min_ready_seconds, workload.suspended, number in setting.never_ready),
        (repr(setting.scalers.get(number)) if number in setting.scalers else "", setting.scaled.get(number)),
        setting.usable[number],
    )


def _terms(pod: Pod) -> Sequence[Sequence[tuple[int, PodAffinityTerm]]]:
    """Return (weight, term) for each kind of pod affinity; required terms have weight 0."""
    required = [[(0, term) for term in terms] for terms in (pod.required_affinity, pod.required_anti_affinity)]
    preferred = (pod.preferred_affinity, pod.preferred_anti_affinity)
    return *required, *([(each.weight, each.term) for each in terms] for terms in preferred)


class _Outside(NamedTuple):
    """The pods outside the set."""

    namespaces: frozenset[str]
    """Those that have such pods, or that terms of such pods name."""
    is_everywhere: bool
    """Whether such a term selects namespaces by label."""


@once_per_setting
def _outside(setting: Setting) -> _Outside:
    kinds = {id(bound.pod): bound.pod for bound in setting.objects.pods}.values()
    held = [(pod.namespace, term) for pod in kinds for terms in _terms(pod) for _, term in terms]
    named = (name for own, term in held for name in named_namespaces(term, own))
    by_label = any(term.namespace_selector is not None for _, term in held)
    return _Outside(frozenset((*(pod.namespace for pod in kinds), *named)), by_label)


def _may_meet(setting: Setting, pod: Pod) -> bool:
    """Whether a selector may tie a pod to pods outside the set: selectors of spread and of scores stay in a namespace.

    Their labels are names, so that workloads of one shape may differ in it.
    """
    outside = _outside(setting)
    if outside.is_everywhere or pod.namespace in outside.namespaces:
        return True
    own = [term for terms in _terms(pod) for _, term in terms]
    return bool(outside.namespaces) and any(term.namespaces or term.namespace_selector is not None for term in own)
