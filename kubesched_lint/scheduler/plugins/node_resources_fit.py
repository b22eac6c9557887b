"""A node must have enough free resources for a pod's requests, and room for one more pod.

Mirrors ``pkg/scheduler/framework/plugins/noderesources/fit.go`` (v1.36), fitsRequest. A node of unknown allocatable, as
a sketch may have, has room for everything.
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
    """Yield one rejection per lacking resource; preemption cannot help if the request exceeds bare allocatable."""
    ledger, index = state.ledger, state.index
    full = among & ledger.short_of(PODS, 1)
    if full:
        yield Rejection(NAME, "Too many pods", full, resolvable=True)
    for resource, amount in pod.requests.items():
        if amount <= 0:
            continue
        short = among & ledger.short_of(resource, amount)
        if resource in state.device_class_resources:
            # DRAExtendedResource: DynamicResources allocates what no device plugin offers.
            short &= ~index.short_of(resource, 1)
        if short:
            never = short & index.short_of(resource, amount)
            if never:
                yield Rejection(NAME, f"Insufficient {resource}", never, resolvable=False)
            if short != never:
                yield Rejection(NAME, f"Insufficient {resource}", short & ~never, resolvable=True)
