"""A pod's usage under a ResourceQuota, and the API server's words when the quota refuses it.

Mirrors ``pkg/quota/v1/evaluator/core/pods.go`` (MatchingResources, podComputeUsageHelper, Constraints) and
``apiserver/pkg/admission/plugin/resourcequota/controller.go`` (CheckRequest, prettyPrint), read at commits d7ce957 and
030880a of kubernetes/kubernetes.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesched_lint.model.pod import Container, Pod
from kubesched_lint.model.resources import effective_requests, is_extended
from kubesched_lint.record import replace

PODS = ("pods", "count/pods")
"""``count/pods`` also counts finished pods, which a snapshot does not list."""
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_SAID_BY_ALL = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
"""If a quota has one of these, every container must set it: upstream calls this a mistake, and keeps it."""


def asked(pod: Pod, entry: str) -> int:
    """Return a pod's usage under a quota entry; 0 if the entry does not concern pods, or the usage is unknown.

    Extended resources count only under ``requests.``: no pod counts under ``nvidia.com/gpu`` or under ``limits.``.
    """
    if entry in PODS:
        return 1
    if entry.startswith("limits."):
        name = entry.removeprefix("limits.")
        return _limits(pod).get(name, 0) if name in _COMPUTE else 0
    name = entry.removeprefix("requests.")
    if name in _COMPUTE or name.startswith("hugepages-") or (name != entry and is_extended(name)):
        return pod.requests.get(name, 0)
    return 0


def unsaid(pod: Pod, hard: Mapping[str, int]) -> Mapping[str, tuple[str, ...]]:
    """Return quota entry → names of the containers that do not set it, both sorted; empty if all set all entries."""
    if pod.pod_requests is not None:
        return {}
    containers = (*pod.containers, *pod.init_containers)
    missing = {
        entry: tuple(sorted({c.name for c in containers if not _says(c, entry)}))
        for entry in sorted(_SAID_BY_ALL)
        if entry in hard
    }
    return {entry: names for entry, names in missing.items() if names}


def in_words(missing: Mapping[str, tuple[str, ...]]) -> str:
    """Return the missing entries in Kubernetes' words: ``cpu for: app,sidecar; memory for: app``."""
    return "; ".join(f"{entry} for: {','.join(names)}" for entry, names in missing.items())


def _says(container: Container, entry: str) -> bool:
    if entry.startswith("limits."):
        return entry.removeprefix("limits.") in container.limits
    return entry.removeprefix("requests.") in container.requests


def _limits(pod: Pod) -> Mapping[str, int]:
    """Return PodLimits; empty if the pod has pod-level requests, because pod-level limits are not decoded."""
    if pod.pod_requests is not None:
        return {}

    def limited(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(replace(c, requests=c.limits) for c in containers)

    total = effective_requests(limited(pod.containers), limited(pod.init_containers))
    return {name: amount + pod.overhead.get(name, 0) for name, amount in total.items()}


def canonical(entry: str, amount: int) -> str:
    """Return an amount as ``Quantity.String()`` writes it, never rounded: ``1536Mi``, ``2k`` for 2000.

    A multiple of 1024 bytes is assumed to be written in powers of 1024.
    """
    name = entry.removeprefix("requests.").removeprefix("limits.")
    if name == "cpu":
        return f"{amount}m" if amount % 1000 else _reduced(amount // 1000, 1000, "kMGTPE")
    if (name in _COMPUTE or name.startswith("hugepages-")) and amount and amount % 1024 == 0:
        return _reduced(amount, 1024, ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))
    return _reduced(amount, 1000, "kMGTPE")


def _reduced(amount: int, base: int, suffixes: str | tuple[str, ...]) -> str:
    suffix = ""
    for larger in suffixes:
        if not amount or amount % base:
            break
        amount, suffix = amount // base, larger
    return f"{amount}{suffix}"
