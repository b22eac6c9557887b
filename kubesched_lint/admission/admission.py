"""The admission of one cluster: every engine asks here what becomes of a pod that somebody creates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from kubesched_lint.admission.mutating import SYSTEM_PRIORITY_CLASSES, admit

if TYPE_CHECKING:
    from kubesched_lint.model.inventory import Inventory
    from kubesched_lint.model.labels import Labels
    from kubesched_lint.model.pod import Pod
    from kubesched_lint.model.policy import LimitRange, PriorityClass, RuntimeClass


class Admission:
    """``objects`` are the manifests laid over the cluster."""

    def __init__(self, objects: Inventory) -> None:
        self.objects = objects

    def stored(self, pod: Pod, extra_labels: Labels | None = None) -> Pod:
        """The pod as the API server stores it; ``extra_labels`` are those that its controller adds."""
        return admit(
            pod,
            extra_labels=extra_labels,
            priority_classes=self._given_classes,
            runtime_classes=self.runtime_classes,
            limit_ranges=self.limit_ranges.get(pod.namespace, ()),
        )

    @cached_property
    def priority_classes(self) -> Mapping[str, PriorityClass]:
        """By name, with Kubernetes' own two."""
        return {**SYSTEM_PRIORITY_CLASSES, **self._given_classes}

    @cached_property
    def _given_classes(self) -> Mapping[str, PriorityClass]:
        return {c.name: c for c in self.objects.priority_classes}

    @cached_property
    def runtime_classes(self) -> Mapping[str, RuntimeClass]:
        return {c.name: c for c in self.objects.runtime_classes}

    @cached_property
    def limit_ranges(self) -> Mapping[str, tuple[LimitRange, ...]]:
        """By namespace."""
        found: dict[str, tuple[LimitRange, ...]] = {}
        for limit in self.objects.limit_ranges:
            found[limit.namespace] = (*found.get(limit.namespace, ()), limit)
        return found
