"""The number of topology domains that can hold pods matching a workload's required affinity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.model.pod import PodAffinityTerm
from kubesched_lint.model.workload import Workload
from kubesched_lint.world.running import all_running_pods
from kubesched_lint.world.staying import may_be_preempted
from kubesched_lint.world.world import Member

if TYPE_CHECKING:
    from kubesched_lint.world.world import World

PREMISE = "the pods that it must be near stay where they are once placed"


class Company(Struct, frozen=True):
    """``whom`` (names) the pods must be near, and ``most`` domains that these can occupy at the same time."""

    whom: tuple[str, ...]
    most: int


def company(it: Member, topology_key: str) -> Company | None:
    """The most domains of a key in which some pod matches the required affinity; None without a bound.

    Each matching pod is in one domain of the affinity's own key. There is no bound if the workload matches itself, or
    if a matching pod belongs to a Job (it ends) or may be preempted (it moves).
    """
    terms = it.pod.required_affinity
    if not terms or all(it.repels_itself(term) for term in terms):
        return None
    targets = tuple(it.world.selection.selected_by_all(terms, it.workload.namespace))
    if any(t is it.workload or not _is_there(t) or may_be_preempted(it.world.member(t)) for t in targets):
        return None
    running = [
        group
        for group in all_running_pods(it.world).alike
        if all(it.world.namespaces.selects(t, it.workload.namespace, group.pod, unknown=True) for t in terms)
    ]
    pods = sum(_coming(target, it.world) for target in targets) + sum(len(group.bound) for group in running)
    names = (*map(str, targets), *(f"Pod {g.bound[0].namespace}/{g.bound[0].name}" for g in running))
    if not names:
        return None  # no pod matches: affinity-selector-matches-nothing reports it
    most = min(sum(sorted(_sizes(it, term, topology_key), reverse=True)[:pods]) for term in terms)
    return Company(names, most)


def _is_there(target: Workload) -> bool:
    """Whether its pods stay once they run."""
    return target.stays or target.kind == "DaemonSet"


def _coming(target: Workload, world: World) -> int:
    """The most pods of a workload that may still come; running pods are subtracted if the template is unchanged."""
    if target.kind == "DaemonSet":
        return world.index.all.bit_count()
    scaler = world.member(target).autoscaler
    most = max(world.member(target).replicas, scaler.max_replicas if scaler is not None else 0)
    running = len(world.member(target).running_pods)
    return most - running if running and most >= running and world.member(target).template_changed is False else most


def _sizes(it: Member, term: PodAffinityTerm, topology_key: str) -> Iterator[int]:
    """For each domain of the term, the number of ``topology_key`` domains in it that the workload can use."""
    usable = it.usable
    apart: list[NodeSet] = [nodes & usable for nodes in it.world.index.domains(topology_key).values() if nodes & usable]
    for nodes in it.world.index.domains(term.topology_key).values():
        if nodes & usable:
            yield 1 if term.topology_key == topology_key else sum(1 for domain in apart if domain & nodes)
