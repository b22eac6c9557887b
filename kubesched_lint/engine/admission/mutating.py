"""The API server's changes to a created pod: from what a user wrote to what is scheduled.

Mirrors, in the order in which they run (v1.36): ``plugin/pkg/admission/{limitranger,priority,defaulttolerationseconds,
runtimeclass}`` and ``pkg/registry/core/pod/strategy.go``. The decoder sets defaults of single fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from msgspec.structs import replace

from kubesched_lint.engine.apiserver.class_plugins import SYSTEM_PRIORITIES
from kubesched_lint.engine.model.labels import Labels, Requirement, Selector
from kubesched_lint.engine.model.pod import Container, Pod, PodAffinityTerm, SpreadConstraint, Toleration
from kubesched_lint.engine.model.policy import LimitRange, PriorityClass, RuntimeClass
from kubesched_lint.engine.model.resources import effective_requests, pod_level


@cache
def system_priority_classes() -> Mapping[str, PriorityClass]:
    """Return name → class of those that every API server creates."""
    return {name: PriorityClass(name, value) for name, value in SYSTEM_PRIORITIES.items()}


EVICTION_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_EVICTED_LATE = tuple(Toleration(key, "Exists", "", "NoExecute", 300) for key in EVICTION_TAINTS)


def admit(
    pod: Pod,
    *,
    extra_labels: Labels | None = None,
    priority_classes: Mapping[str, PriorityClass] | None = None,
    default_class: PriorityClass | None = None,
    runtime_classes: Mapping[str, RuntimeClass] | None = None,
    limit_ranges: Iterable[LimitRange] = (),
) -> Pod:
    """Return the pod as the API server would store it. Idempotent.

    ``extra_labels`` are those that its controller adds (``pod-template-hash``). For a class that is not given, the pod
    keeps its own values; ``default_class`` is that of pods without one. LimitRanges of other namespaces are skipped.
    """
    pod = _with_limit_ranges(pod, limit_ranges)
    # One copy for all three: with thousands of pods, copies are most of the cost of admission.
    pod = replace(
        pod,
        labels={**pod.labels, **extra_labels} if extra_labels else pod.labels,
        tolerations=with_default_tolerations(pod.tolerations),
        **_priority(pod, priority_classes or {}, default_class),
    )
    runtime_class = (runtime_classes or {}).get(pod.runtime_class)
    if runtime_class is not None:
        pod = _with_runtime_class(pod, runtime_class)
    return _with_label_keys(pod)


# --- LimitRanger ----------------------------------------------------------------------------------------------------


def _with_limit_ranges(pod: Pod, limit_ranges: Iterable[LimitRange]) -> Pod:
    """Return the pod with the missing values of its containers, each from the first LimitRange that has it.

    Mirrors mergePodResourceRequirements.
    """
    ranges = [limit_range for limit_range in limit_ranges if limit_range.namespace == pod.namespace]
    if not ranges:
        return pod
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    for limit_range in reversed(ranges):
        requests |= limit_range.default_requests
        limits |= limit_range.default_limits

    def sized(container: Container) -> Container:
        return replace(container, requests={**requests, **container.requests}, limits={**limits, **container.limits})

    containers, init_containers = map(sized, pod.containers), map(sized, pod.init_containers)
    return with_requests(replace(pod, containers=tuple(containers), init_containers=tuple(init_containers)))


def with_requests(pod: Pod) -> Pod:
    wanted = effective_requests(pod.containers, pod.init_containers, pod_level(pod), pod.overhead)
    return replace(pod, requests=wanted)


# --- Priority -------------------------------------------------------------------------------------------------------


def default_priority_class(classes: Iterable[PriorityClass]) -> PriorityClass | None:
    """Return the class of pods that name none; of several defaults, which only a race creates, the lowest.

    Mirrors getDefaultPriorityClass.
    """
    return min((c for c in classes if c.is_default), key=lambda c: c.value, default=None)


def _priority(pod: Pod, classes: Mapping[str, PriorityClass], default_class: PriorityClass | None) -> dict[str, Any]:
    """Return the fields of the pod that its class sets."""
    if pod.priority_class:
        priority_class = classes.get(pod.priority_class) or system_priority_classes().get(pod.priority_class)
        if priority_class is None:
            return {}
    else:
        priority_class = default_class
    if priority_class is None:
        priority, policy, name = pod.priority or 0, "PreemptLowerPriority", pod.priority_class
    elif pod.priority is not None and not pod.priority_class:
        return {}  # stored before there was a default class
    else:
        priority, policy, name = priority_class.value, priority_class.preemption_policy, priority_class.name
    return {
        "priority": priority,
        "priority_class": name,
        "preemption_policy": pod.preemption_policy or policy,
    }


# --- DefaultTolerationSeconds ---------------------------------------------------------------------------------------


def with_default_tolerations(tolerations: tuple[Toleration, ...]) -> tuple[Toleration, ...]:
    """Return the tolerations with the defaults: pods stay 300 s on a node that is not ready or unreachable."""
    if not tolerations:
        return _EVICTED_LATE
    added = tuple(
        toleration
        for toleration in _EVICTED_LATE
        if not any(t.key in (toleration.key, "") and t.effect in ("NoExecute", "") for t in tolerations)
    )
    return tolerations + added if added else tolerations


# --- RuntimeClass ---------------------------------------------------------------------------------------------------


def _with_runtime_class(pod: Pod, runtime_class: RuntimeClass) -> Pod:
    """Return the pod with its class's overhead, selector and tolerations.

    The API server refuses conflicting selectors.
    """
    tolerations = pod.tolerations + tuple(t for t in runtime_class.tolerations if t not in pod.tolerations)
    pod = replace(
        pod,
        overhead=pod.overhead or runtime_class.overhead,
        node_selector={**runtime_class.node_selector, **pod.node_selector},
        tolerations=tolerations,
        as_written=pod.as_written or pod,
    )
    return with_requests(pod)


# --- matchLabelKeys -------------------------------------------------------------------------------------------------


def _with_label_keys(pod: Pod) -> Pod:
    """Return the pod with matchLabelKeys as ``key in (value)`` in their selectors, mismatchLabelKeys as ``key notin``.

    Keys that the pod does not have are ignored, and a null selector stays null.
    """
    terms = (*pod.required_affinity, *pod.required_anti_affinity)
    weighted = (*pod.preferred_affinity, *pod.preferred_anti_affinity)
    if not (terms or weighted or pod.spread):
        return pod
    if not any(t.match_label_keys or t.mismatch_label_keys for t in (*terms, *(w.term for w in weighted))) and not any(
        c.match_label_keys for c in pod.spread
    ):
        return pod
    labels = pod.labels
    return replace(
        pod,
        required_affinity=tuple(_merged_term(t, labels) for t in pod.required_affinity),
        required_anti_affinity=tuple(_merged_term(t, labels) for t in pod.required_anti_affinity),
        preferred_affinity=tuple(replace(w, term=_merged_term(w.term, labels)) for w in pod.preferred_affinity),
        preferred_anti_affinity=tuple(
            replace(w, term=_merged_term(w.term, labels)) for w in pod.preferred_anti_affinity
        ),
        spread=tuple(_merged_constraint(c, labels) for c in pod.spread),
    )


def _merged_term(term: PodAffinityTerm, labels: Labels) -> PodAffinityTerm:
    selector = _merged(term.selector, "In", term.match_label_keys, labels)
    selector = _merged(selector, "NotIn", term.mismatch_label_keys, labels)
    return term if selector is term.selector else replace(term, selector=selector)


def _merged_constraint(constraint: SpreadConstraint, labels: Labels) -> SpreadConstraint:
    selector = _merged(constraint.selector, "In", constraint.match_label_keys, labels)
    return constraint if selector is constraint.selector else replace(constraint, selector=selector)


def _merged(selector: Selector | None, operator: str, keys: tuple[str, ...], labels: Labels) -> Selector | None:
    if selector is None or not keys:
        return selector
    return selector.and_also(*(Requirement(key, operator, (labels[key],)) for key in keys if key in labels))
