"""What quotas grant, for the exhaustive reference (the resourcequota admission plugin, v1.36)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.worlds.admission import milli
from tests.worlds.filters import Kind

Value = dict[str, Any]


def is_counted(quotas: Sequence[Value], workload: Value) -> bool:
    return any(q["metadata"]["namespace"] == workload["metadata"]["namespace"] for q in quotas)


def is_granted(quotas: Sequence[Value], kind: Kind, beside: Sequence[Kind]) -> bool:
    """Whether every quota of the namespace has room for one more such pod."""
    for quota in quotas:
        if quota["metadata"]["namespace"] != kind.pod.namespace:
            continue
        for resource, hard in quota["spec"]["hard"].items():
            used = sum(_asked(k, resource) or 0 for k in beside if k.pod.namespace == kind.pod.namespace)
            asked = _asked(kind, resource)
            if asked is None or (asked and used + asked > milli(hard)):
                return False
    return True


def _asked(kind: Kind, resource: str) -> int | None:
    """Thousandths; None where the quota wants it said and a container does not say it."""
    if resource in ("pods", "count/pods"):
        return 1000
    limits = resource.startswith("limits.")
    name = resource.removeprefix("requests.").removeprefix("limits.")
    said = [(c.limits if limits else c.requests).get(name) for c in kind.pod.containers]
    if any(amount is None for amount in said):
        return None
    total = sum(amount or 0 for amount in said)
    if total or not limits:  # PodLimits adds overhead to limits that are not zero
        total += kind.pod.overhead.get(name, 0)
    return total * (1 if name == "cpu" else 1000)
