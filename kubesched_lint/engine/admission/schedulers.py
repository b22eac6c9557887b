"""The profile of each pod's scheduler, and what the profile adds to the pod.

A pod without spread constraints gets the configured list, as if its manifest had it: rules, bounds and trials follow
it. Only rules about the text of a constraint look at the written pod. Where a version takes another value for a field
that nobody wrote (``Quirk.unwritten``), the pod gets that value, too.

Mirrors buildDefaultConstraints of ``pkg/scheduler/framework/plugins/podtopologyspread/common.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.base.quirks import unwritten
from kubesched_lint.engine.model.labels import Labels, Requirement, Selector
from kubesched_lint.engine.model.pod import Pod, SchedulerProfile, SpreadConstraint, profile_of
from kubesched_lint.engine.model.workload import SCALED, Workload

if TYPE_CHECKING:
    from kubesched_lint.engine.model.inventory import Inventory

POD_TEMPLATE_HASH = "pod-template-hash"
CONSTRAINTS, AFFINITY = "(defaultConstraints)", "(addedAffinity)"
"""No keys that an object can have: a path with one of them names what the profile adds to a pod."""


class Schedulers:
    """The configured profiles of kube-scheduler among ``objects``, and what its version takes for unwritten fields."""

    def __init__(self, objects: Inventory, kubernetes_version: str) -> None:
        self._objects = objects
        self._version = kubernetes_version
        self._unwritten = unwritten(kubernetes_version)
        self._profiles = {profile.name: profile for profile in objects.schedulers}
        self._again: dict[tuple[Pod, Workload | None], Pod] = {}

    def for_new_pod(self, pod: Pod, owner: Workload | None) -> Pod:
        """Return the pod with its profile, and with the profile's default spread constraints if it has none.

        ``owner`` is its workload; None for a pod without a controller.
        """
        if not self._profiles:
            if self._unwritten and pod.spread:
                return replace(pod, spread=completed(pod.spread, self._version))
            return pod
        profile = self._profiles.get(pod.scheduler_name) or SchedulerProfile(pod.scheduler_name, is_known=False)
        spread = pod.spread or tuple(self._default_spread(pod, profile, owner))
        return replace(pod, profile=profile, spread=completed(spread, self._version))

    def for_next_copy(self, pod: Pod, owner: Workload | None) -> Pod:
        """Return a pod of the snapshot as the scheduler sees its next copy; equal calls return the same object."""
        if not self._profiles and not self._unwritten:
            return pod
        if (pod, owner) not in self._again:
            self._again[pod, owner] = self.for_new_pod(pod, owner)
        return self._again[pod, owner]

    def owner_of(self, template: Pod, source: Source | None) -> Workload | None:
        """Return the workload with this source, or with this pod as decoded; None if there is none.

        Variations of a workload, as in simulations, have its source.
        """
        if not self._profiles:
            return None
        return self._owners.get(source) or self._owners.get(template)

    def _default_spread(
        self, pod: Pod, profile: SchedulerProfile, workload: Workload | None
    ) -> Iterator[SpreadConstraint]:
        if not profile.default_spread:
            return
        owner = None if workload is None else owner_selector(workload, pod.labels)
        selector = default_selector(pod, self._objects, owner)
        if not selector.is_empty:  # upstream drops the matchLabelKeys of a default constraint when it sets the selector
            for number, constraint in enumerate(profile.default_spread):
                at = (*pod.path, CONSTRAINTS, number)
                yield replace(constraint, selector=selector, match_label_keys=(), path=at)

    @cached_property
    def _owners(self) -> dict[Pod | Source | None, Workload]:
        return {workload.source or workload.pod: workload for workload in self._objects.workloads}


def completed(spread: Sequence[SpreadConstraint], kubernetes_version: str) -> tuple[SpreadConstraint, ...]:
    """Return constraints with what the scheduler of a version takes for fields that nobody wrote."""
    given = unwritten(kubernetes_version)
    if not given:
        return tuple(spread)
    return tuple(replace(c, **{f: value for f, value in given.items() if not getattr(c, f)}) for c in spread)


# --- What a profile adds ---------------------------------------------------------------------------------------------


def with_added_terms(written: Pod, stored: Pod) -> Pod:
    """Return the pod as written, with the constraints and the node affinity that the profile of ``stored`` adds."""
    terms = written.required_node_terms
    if terms is None:
        terms = profile_of(stored).added_node_terms
    return replace(written, spread=stored.spread, required_node_terms=terms)


def added_affinity(at: Path) -> Path:
    """Return the path of the node affinity that a profile adds to what is written at a path."""
    return (*at, AFFINITY)


def is_added(at: Path) -> bool:
    """Return whether a path names something that a profile adds to a pod."""
    return CONSTRAINTS in at or AFFINITY in at


def added_at(pod: Pod, at: Path) -> tuple[str, Path]:
    """Return what a profile adds at a path with ``is_added``: in words, and its path in the configuration."""
    profile = profile_of(pod)
    if AFFINITY in at:
        terms = profile.added_node_terms
        return "node affinity", terms[0].path if terms else ()
    number = at[at.index(CONSTRAINTS) + 1]
    constraints = profile.default_spread
    assert constraints is not None
    assert isinstance(number, int)
    return "spread constraint", constraints[number].path


def default_selector(pod: Pod, objects: Inventory, owner: Selector | None) -> Selector:
    """Return the combined selector of the Services that select the pod and of its owner (helper.DefaultSelector)."""
    pairs: dict[str, str] = {}
    for service in objects.services_of(pod.namespace, pod.labels):
        pairs.update(service.selector)
    found = Selector(tuple(Requirement(key, "In", (value,)) for key, value in pairs.items()))
    return found if owner is None else found.and_also(*owner.requirements)


def owner_selector(workload: Workload, labels: Labels) -> Selector | None:
    """Return the selector of the controller that owns a workload's pods, which have ``labels``.

    A ReplicaSet owns a Deployment's pods; its selector adds the pod-template-hash. Pods of DaemonSets and Jobs are not
    spread by their owner (``plugins/helper/spread.go``, DefaultSelector): None, as for a null selector.
    """
    if workload.selector is None or workload.kind not in SCALED:
        return None
    if workload.kind == "Deployment" and POD_TEMPLATE_HASH in labels:
        return workload.selector.and_also(Requirement(POD_TEMPLATE_HASH, "In", (labels[POD_TEMPLATE_HASH],)))
    return workload.selector
