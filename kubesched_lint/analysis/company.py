"""In how many topology domains a workload finds the pods that its required affinity asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.model.pod import PodAffinityTerm
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import record

if TYPE_CHECKING:
    from kubesched_lint.analysis.facts import Facts

PREMISE = "the pods that it must be near stay where they are once placed"


@record
class Company:
    """``whom`` the pods must be near, and the most domains in which these can be at the same time."""

    whom: tuple[str, ...]
    most: int


def company(workload: Workload, topology_key: str, facts: Facts) -> Company | None:
    """The most domains of a key where some pod answers the required affinity; None where that has no bound.

    Each pod that answers stands in one domain of the affinity's own key. A workload that answers itself brings its
    company along, Jobs come and go, and who may be preempted moves.
    """
    terms = facts.pod(workload).required_affinity
    if not terms or all(facts.repels_itself(workload, term) for term in terms):
        return None
    targets = tuple(facts.selection.selected_by_all(terms, workload.namespace))
    if any(t is workload or not _is_there(t) or facts.may_be_preempted(t) for t in targets):
        return None
    running = [
        group
        for group in facts.running.alike
        if all(facts.namespaces.selects(t, workload.namespace, group.pod, unknown=True) for t in terms)
    ]
    pods = sum(_coming(target, facts) for target in targets) + sum(len(group.bound) for group in running)
    names = (*map(str, targets), *(f"Pod {g.bound[0].namespace}/{g.bound[0].name}" for g in running))
    if not names:
        return None  # nobody answers at all: affinity-selector-matches-nothing
    most = min(sum(sorted(_sizes(workload, term, topology_key, facts), reverse=True)[:pods]) for term in terms)
    return Company(names, most)


def _is_there(target: Workload) -> bool:
    """Whether its pods stay once they run."""
    return target.stays or target.kind == "DaemonSet"


def _coming(target: Workload, facts: Facts) -> int:
    """The most pods of a workload of the set beside those that run: none where these are all, and stay."""
    if target.kind == "DaemonSet":
        return facts.index.all.bit_count()
    scaler = facts.autoscaler(target)
    most = max(facts.replicas(target), scaler.max_replicas if scaler is not None else 0)
    running = len(facts.running_pods(target))
    return most - running if running and most >= running and facts.template_changed(target) is False else most


def _sizes(workload: Workload, term: PodAffinityTerm, topology_key: str, facts: Facts) -> Iterator[int]:
    """For each domain of the term, how many domains of ``topology_key`` it has that the workload can use."""
    usable = facts.usable(workload)
    apart: list[NodeSet] = [nodes & usable for nodes in facts.index.domains(topology_key).values() if nodes & usable]
    for nodes in facts.index.domains(term.topology_key).values():
        if nodes & usable:
            yield 1 if term.topology_key == topology_key else sum(1 for domain in apart if domain & nodes)
