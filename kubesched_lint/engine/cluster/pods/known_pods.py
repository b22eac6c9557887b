"""What cluster states that come and go, one after another, know of the same few pods."""

from __future__ import annotations

from collections.abc import Hashable

from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.limits import MOST_SHARED
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.resources import nonzero_requests


class KnownPods:
    """The keys of pods, and the pods as nodes label them."""

    def __init__(self) -> None:
        self._keys: dict[tuple[Pod, bool], int] = {}
        self._numbers: dict[Hashable, int] = {}
        self.labelled: dict[Hashable, Pod] = {}
        """Pods as scheduler.binding labels them, so that equal ones stay one object."""

    @classmethod
    def of(cls, objects: Inventory) -> KnownPods:
        """Return that of all simulations with these objects."""
        known_pods: KnownPods = objects.lasting.setdefault("pods", cls())
        return known_pods

    def key(self, pod: Pod, terminating: bool) -> int:
        """Return a number that is equal exactly for pods with equal class keys."""
        known = self._keys.get((pod, terminating))
        if known is None:
            if len(self._keys) >= MOST_SHARED:
                self._keys.clear()
                self.labelled.clear()
            known = self._numbers.setdefault(class_key(pod, terminating), len(self._numbers))
            self._keys[pod, terminating] = known
        return known


def class_key(pod: Pod, terminating: bool) -> Hashable:
    """Return a key that is equal exactly for pods that every rule about running pods treats alike."""
    return (
        pod.namespace,
        frozenset(pod.labels.items()),
        pod.required_affinity,
        pod.required_anti_affinity,
        pod.preferred_affinity,
        pod.preferred_anti_affinity,
        frozenset((name, amount) for name, amount in pod.requests.items() if amount),
        nonzero_requests(pod),
        pod.host_ports,
        tuple(
            (v.kind, v.claim, v.name if v.kind == "ephemeral" else "", v.read_only, repr(sorted(v.disk.items())))
            for v in pod.volumes
        ),
        pod.priority,
        pod.resource_claims,
        terminating,
    )
