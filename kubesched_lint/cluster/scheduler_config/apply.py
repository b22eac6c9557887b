"""What a profile adds to the pods that it schedules.

A pod without spread constraints gets the configured list, as if its manifest had it: every bound, trial and rule then
follows it. Mirrors buildDefaultConstraints of ``pkg/scheduler/framework/plugins/podtopologyspread/common.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubesched_lint.model.labels import Requirement, Selector
from kubesched_lint.model.pod import Pod, SchedulerProfile
from kubesched_lint.model.policy import Service
from kubesched_lint.record import replace


def scheduled_by(
    pod: Pod,
    profiles: Mapping[str, SchedulerProfile],
    services: Iterable[Service],
    owner: Selector | None = None,
    *,
    per_revision: bool = False,
) -> Pod:
    """Return the pod with its profile, and with the profile's default spread constraints if it has none.

    ``owner`` is the selector of its ReplicaSet or StatefulSet. ``per_revision``: that of a ReplicaSet names the
    revision as well.
    """
    profile = profiles.get(pod.scheduler_name)
    if profile is None:
        return pod
    spread = pod.spread
    if not spread and profile.default_spread:
        selector = default_selector(pod, services, owner)
        if not selector.is_empty:
            # Upstream drops the matchLabelKeys of a default constraint when it sets the selector.
            keys = (POD_TEMPLATE_HASH,) if per_revision else ()
            spread = tuple(
                replace(one, selector=selector, match_label_keys=keys, path=pod.path) for one in profile.default_spread
            )
    return replace(pod, profile=profile, spread=spread)


POD_TEMPLATE_HASH = "pod-template-hash"


def default_selector(pod: Pod, services: Iterable[Service], owner: Selector | None) -> Selector:
    """Return the combined selector of the Services that select the pod and of its owner (helper.DefaultSelector)."""
    pairs: dict[str, str] = {}
    for service in services:
        if service.namespace == pod.namespace and all(pod.labels.get(k) == v for k, v in service.selector.items()):
            pairs.update(service.selector)
    found = Selector(tuple(Requirement(key, "In", (value,)) for key, value in pairs.items()))
    return found if owner is None else found.and_also(*owner.requirements)
