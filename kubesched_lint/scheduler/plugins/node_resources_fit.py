"""A node must have left what a pod requests, and a place among its pods.

Mirrors ``pkg/scheduler/framework/plugins/noderesources/fit.go`` (v1.36), fitsRequest. A node whose allocatable is
unknown, as a sketch may leave it, has room for everything.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.cluster.ledger import PODS
from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.cluster.state import ClusterState
from kubesched_lint.model.pod import Pod
from kubesched_lint.scheduler.verdict import Rejection

NAME = "NodeResourcesFit"


def reject(pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
    """Every lacking resource is a reason of its own; a request above bare allocatable is beyond preemption."""
    ledger, index = state.ledger, state.index
    full = among & ledger.short_of(PODS, 1)
    if full:
        yield Rejection(NAME, "Too many pods", full, resolvable=True)
    for resource, amount in pod.requests.items():
        if amount <= 0:
            continue
        short = among & ledger.short_of(resource, amount)
        if resource in state.device_class_resources:
            # DRAExtendedResource: what no device plugin offers is allocated by DynamicResources instead.
            short &= ~index.short_of(resource, 1)
        if short:
            never = short & index.short_of(resource, amount)
            if never:
                yield Rejection(NAME, f"Insufficient {resource}", never, resolvable=False)
            if short != never:
                yield Rejection(NAME, f"Insufficient {resource}", short & ~never, resolvable=True)
