"""Annotations by which pods keep autoscalers from removing their node: for ever, or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.nodes.node import KARPENTER, NodePool
from kubesched_lint.engine.model.workloads.workload import DO_NOT_DISRUPT, DO_NOT_EVICT, EVICTION_NOTES, SAFE_TO_EVICT
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.tolerance import first_untolerated
from kubesched_lint.findings import Hazard, Place, pattern

_ANNOTATIONS: Path = ("metadata", "annotations")
_ACTIVE = {DO_NOT_DISRUPT: "true", SAFE_TO_EVICT: "false"}
"""The values that keep a pod where it is; compared letter by letter."""
_DURATION = re.compile(r"(?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+")


def check(it: Member) -> Iterator[Hazard]:
    workload = it.workload
    if workload.custom is not None:
        return
    on_pods = dict(workload.eviction_notes)
    for key, value in on_pods.items():
        yield from _of_pods(it, key, value)
    for key in EVICTION_NOTES if workload.kind != "Pod" else ():
        if key in workload.annotations and key not in on_pods:
            written = f"{key}: {workload.annotations[key]!r}"
            text = f"{key} stands in metadata, and not in the metadata of the pod template"
            at = (*_ANNOTATIONS, key)
            yield Hazard(at=at, evidence=pattern(text), variant="misplaced", values={"annotation": written})


def _of_pods(it: Member, key: str, value: str) -> Iterator[Hazard]:
    written = f"{key}: {value!r}"
    at = (*it.workload.pod.path[:-1], *_ANNOTATIONS, key)
    if key == DO_NOT_EVICT:
        text = f"Karpenter has read {DO_NOT_DISRUPT} since NodePools came"
        yield Hazard(at=at, evidence=pattern(text), variant="renamed", values={"annotation": key})
    elif value != _ACTIVE[key]:
        if _is_meant(key, value):
            text = f"only {_ACTIVE[key]!r} keeps the pod"
            yield Hazard(at=at, evidence=pattern(text), variant="unread", values={"annotation": written})
    elif (it.workload.stays and it.workload.kind != "Pod") or (it.workload.kind, key) == ("DaemonSet", DO_NOT_DISRUPT):
        yield from _kept(it, at, key, written)


def _is_meant(key: str, value: str) -> bool:
    """Whether somebody means the value to keep the pod, and nobody reads it so. Karpenter also reads how long."""
    said = value.strip().lower()
    if key == SAFE_TO_EVICT:
        return said in ("false", "no", "off", "0")
    return said not in ("false", "no", "off", "") and not _DURATION.fullmatch(value)


def _kept(it: Member, at: Path, key: str, written: str) -> Iterator[Hazard]:
    """Yield what an annotation keeps; nothing where each pool that may run the pods bounds how long it waits."""
    pools = _pools(it) if key == DO_NOT_DISRUPT else ()
    for_ever = [pool for pool in pools if pool.expires_after and not pool.drain_limit]
    if pools and all(pool.expires_after and pool.drain_limit for pool in pools):
        return
    if for_ever:
        first = for_ever[0]
        yield Hazard(
            at=at,
            evidence=pattern(f"NodePool {first.name} has expireAfter {first.expires_after}, no terminationGracePeriod"),
            variant="expires",
            values={"annotation": key, "pools": tuple(pool.name for pool in for_ever), "after": first.expires_after},
            related=tuple(Place(_ANNOTATIONS[:1], "expires", pool.source) for pool in for_ever[:1] if pool.source),
        )
    else:
        yield Hazard(at=at, evidence=pattern(f"{it.workload.kind} with {written}"), values={"annotation": written})


def _pools(it: Member) -> Sequence[NodePool]:
    """The pools of Karpenter whose nodes the pods may run on, by taints and by labels that the pools set."""
    pod = it.workload.pod
    return [
        pool
        for pool in it.scenario.pools
        if pool.maker == KARPENTER
        and not pool.inferred
        and first_untolerated(pod.tolerations, pool.taints) is None
        and all(pool.labels.get(key, value) == value for key, value in pod.node_selector.items())
    ]
