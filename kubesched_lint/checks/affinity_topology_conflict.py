"""Affinity and anti-affinity to the same pods in one topology, which cannot both hold."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.pod import PodAffinityTerm
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.findings import Hazard, Place, proof


def check(it: Member) -> Iterator[Hazard]:
    pod = it.pod
    for near in pod.required_affinity:
        for far in pod.required_anti_affinity:
            if near.topology_key != far.topology_key or _first_of_its_kind(near, it):
                continue
            if _covers(far, near, it.workload):
                yield Hazard(
                    at=near.path,
                    evidence=proof(
                        f"every pod that {near.selector} selects is one that {far.selector} repels",
                        demand=1,
                        supply=0,
                    ),
                    values={
                        "near": str(near.selector),
                        "far": str(far.selector),
                        "key": near.topology_key,
                        "replicas": it.replicas,
                    },
                    related=(Place(far.path, "and repels them here"),),
                )


def _covers(far: PodAffinityTerm, near: PodAffinityTerm, workload: Workload) -> bool:
    """Whether ``far`` selects every pod that ``near`` selects: fewer conditions, at least the same namespaces."""
    if near.selector is None or far.selector is None:
        return False
    if not set(far.selector.requirements) <= set(near.selector.requirements):
        return False
    if far.namespace_selector is not None and far.namespace_selector.is_empty:
        return True
    if near.namespace_selector != far.namespace_selector:
        return False
    own = (workload.namespace,) if near.namespace_selector is None else ()
    return set(near.namespaces or own) <= set(far.namespaces or own)


def _first_of_its_kind(near: PodAffinityTerm, member: Member) -> bool:
    """Whether the pod matches its own affinity: then one replica may start, and this proof does not hold."""
    return member.scenario.namespaces.selects(near, member.workload.namespace, member.pod, unknown=True)
