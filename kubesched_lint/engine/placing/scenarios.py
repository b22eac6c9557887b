"""Would an answer still hold if …? The other scenarios in which a question is asked again, and the loop that asks.

One ``WhatIf`` describes one fact on which an answer may depend; ``engine.verdicts.what_if`` has the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.text import first_few
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.pods.template import AS_IT_RUNS
from kubesched_lint.engine.model.resources import made_anew
from kubesched_lint.engine.placing.growth.plan import Plan
from kubesched_lint.engine.placing.limits import MOST_SPARE
from kubesched_lint.engine.scenario.pods.pod_labels import revision_label
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scheduler.tolerance import leaves

if TYPE_CHECKING:
    from kubesched_lint.engine.cluster.cluster import Cluster
    from kubesched_lint.engine.cluster.nodeset import NodeSet
    from kubesched_lint.engine.model.nodes.node import Taint
    from kubesched_lint.engine.model.pod import BoundPod
    from kubesched_lint.engine.model.workloads.workload import Workload
    from kubesched_lint.engine.scenario.pools.offers import NodeOffer


T = TypeVar("T")


class WhatIf(Struct, Generic[T], frozen=True):
    """One fact that may differ from a scenario. Each function gets an answer and the scenario that gave it."""

    name: str
    """Completes "Would it still hold if …?"."""
    concerns: Callable[[T, Scenario], bool]
    """Return whether the answer may depend on it."""
    judge: Callable[[T, Scenario, Sequence[T | None]], T | None]
    """Return what is left of the answer, given those of the other scenarios (None for no answer); None if nothing."""
    scenarios: Callable[[T, Scenario], Sequence[Scenario]] = lambda answer, scenario: ()
    """Return the scenarios in which the fact differs; empty if none can be made: then nothing confirms the answer."""


def surviving(
    answer: T,
    scenario: Scenario,
    rows: Iterable[WhatIf[T]],
    ask: Callable[[T, Scenario], T | None] = lambda answer, scenario: None,
) -> T | None:
    """Return what the rows leave of an answer given in ``scenario``; None if nothing. ``ask`` answers in another one.

    Rows accumulate: the next row starts from the scenarios in which the previous row confirmed the answer.
    """
    left: T | None = answer
    scenarios: Sequence[Scenario] = (scenario,)
    for row in rows:
        if left is None or not row.concerns(left, scenario):
            continue
        others = [other for each in scenarios for other in row.scenarios(left, each)]
        again = [ask(left, other) for other in others]
        scenarios = [other for other, answered in zip(others, again, strict=True) if answered is not None] or scenarios
        left = row.judge(left, scenario, again)
    return left


@once_per_scenario
def without_others(scenario: Scenario) -> Scenario:
    """The scenario without the running pods of others, as if they had gone since the cluster's file was written."""
    cluster = scenario.cluster
    assert cluster is not None
    others = set(scenario.other_pods)
    kept = tuple(bound for bound in cluster.inventory.pods if bound not in others)
    return scenario.on(replace(cluster, stale="", inventory=replace(cluster.inventory, pods=kept)))


@once_per_scenario
def without_expected(scenario: Scenario) -> Scenario:
    """The scenario in which webhooks change nothing in the next pods but what is certain."""
    cluster = scenario.cluster
    assert cluster is not None
    return scenario.on(replace(cluster, expects_mutations=False))


def fresh_premise(cluster: Cluster) -> str:
    """The premise of a proof that needs the running pods of others, which may have changed by now."""
    return f"fresh pods show no other room than those of {cluster.path} ({cluster.stale})"


@once_per_scenario
def with_groups(scenario: Scenario) -> Scenario | None:
    """The scenario whose pools are the node groups that nodes show; None if no node comes, or if any may (--elastic).

    These are all node groups only if ``scenario.node_groups.are_all``.
    """
    cluster = scenario.cluster
    if cluster is None or cluster.grown or cluster.is_elastic_by_option or not scenario.is_elastic:
        return None
    return scenario.on(replace(cluster.with_pools(scenario.node_groups.inferred), grown=True, node_groups=""))


def with_known_growth(scenario: Scenario) -> Scenario:
    """``with_groups`` if there are no other node groups, else the same scenario."""
    if scenario.cluster is None or not scenario.node_groups.are_all:
        return scenario
    return with_groups(scenario) or scenario


@once_per_scenario
def without_suspended(scenario: Scenario) -> Scenario:
    """The scenario without paused and suspended workloads: they get no pods, so pools add no nodes for them."""
    suspended = [w for w in scenario.manifests.workloads if w.suspended]
    return without_workloads(scenario, suspended) if suspended else scenario


@once_per_scenario
def grown_scenario(scenario: Scenario) -> Scenario:
    """The scenario on today's nodes and those that the pools add for this set."""
    if not scenario.pools or scenario.cluster is None:
        return scenario
    from kubesched_lint.engine.placing.growth.growth import growth_plan

    return scenario.on(grown(scenario.cluster, growth_plan(without_suspended(scenario))))


def grown(cluster: Cluster, plan: Plan) -> Cluster:
    """The cluster with the nodes of a plan as if they were there."""
    if not plan.nodes:
        return cluster
    nodes = (*cluster.inventory.nodes, *plan.nodes)
    return replace(cluster, inventory=replace(cluster.inventory, nodes=nodes))


@once_per_scenario
def with_spares(scenario: Scenario) -> Scenario | None:
    """The scenario on the nodes of a plan plus more of every kind, as limits allow; it has no pools itself.

    Where limits allow no node of a pool's largest kind, it has one of the next smaller kind that they allow.
    None if the pools could add more than ``MOST_SPARE``.
    """
    from kubesched_lint.engine.cluster.nodepools.templates import first_allowed, fits_limits, take
    from kubesched_lint.engine.placing.growth.growth import growth_plan

    potential = scenario.potential
    if scenario.cluster is None or not potential.complete or len(potential.nodes) > MOST_SPARE:
        return None
    plan = growth_plan(scenario)
    left = {pool: dict(limits) for pool, limits in plan.left.items()}
    nodes = {node.name: node for node in plan.nodes}
    kinds: dict[NodeOffer, int] = {}
    ranked = []
    for node in potential.nodes:  # the first of each kind, then the second …
        kind = potential.by_name[node.name]
        kinds[kind] = kinds.get(kind, 0) + 1
        ranked.append((kinds[kind], node))
    for _, node in sorted(ranked, key=lambda pair: pair[0]):
        template = potential.by_name[node.name].template
        limits = left.get(template.pool.name, {})
        if node.name in nodes:
            continue
        if fits_limits(template, limits) == 0:
            smaller = first_allowed((offer.template for offer in potential.alike[node.name]), limits)
            if smaller is None:
                continue
            template, stem = smaller, smaller.stem
            name = next(name for n in count(1) if (name := f"{stem}-{n}") not in nodes)
            node = template.named(name, template.offered)
        nodes[node.name] = replace(node, allocatable=template.offered)
        take(template, limits)
    now = scenario.without_pools
    return now.on(grown(now.cluster or scenario.cluster, Plan(nodes=tuple(nodes.values()))))


# --- The cluster after all temporary taints and cordons are gone, and what a workload could use then ------------------


def without_transient(cluster: Cluster) -> Cluster:
    """The cluster without cordons and temporary taints; bare pods that do not tolerate a NoExecute taint are leaving.

    The taint eviction controller deletes them, at once or after their tolerationSeconds, and no controller recreates
    them (``pkg/controller/tainteviction/taint_eviction.go``, processPodOnNode). Pods with a controller come back
    elsewhere.
    """
    later = cluster.without_transient()
    taints = {node.name: taints for node in later.inventory.nodes if (taints := _evicting(node.taints))}
    if not taints:
        return later
    pods = tuple(_leaving(bound, taints.get(bound.node, ())) for bound in later.inventory.pods)
    return replace(later, inventory=replace(later.inventory, pods=pods))


def _evicting(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    return tuple(t for t in taints if t.effect == "NoExecute")


def _leaving(bound: BoundPod, taints: tuple[Taint, ...]) -> BoundPod:
    if not taints or bound.owner is not None or bound.terminating:
        return bound
    leaving = any(leaves(bound.pod.tolerations, taint) for taint in taints)
    return replace(bound, terminating=True) if leaving else bound


def usable_without_transient(it: Member) -> NodeSet:
    """Nodes of ``Scenario.index`` that are open, or closed only by a cordon or a temporary taint."""
    from kubesched_lint.engine.scheduler.framework import static_feasible

    lasting = _nodes_without_transient(it.scenario)
    return it.usable if lasting is None else static_feasible(it.pod, lasting)


@once_per_scenario
def _nodes_without_transient(scenario: Scenario) -> NodeIndex | None:
    """Return the nodes after all transient states have ended, in their order; None if there are none."""
    assert scenario.cluster is not None, "a rule that reads nodes runs only with a cluster"
    later = scenario.cluster.without_transient()
    return None if later is scenario.cluster else NodeIndex(later.inventory.nodes, scenario.device_resources)


# --- Workloads that make no new pods until somebody resumes them: paused Deployments, suspended Jobs and CronJobs -----


def without_workloads(scenario: Scenario, workloads: Sequence[Workload]) -> Scenario:
    """The scenario without some workloads; their running pods then count as other pods, which stay."""
    gone = set(workloads)
    return scenario.with_workloads(tuple(w for w in scenario.manifests.workloads if w not in gone))


@once_per_scenario
def cron_runs(scenario: Scenario) -> Mapping[Workload, Workload]:
    """Return CronJob → the Job of its run, without suspended ones."""
    return {
        w: replace(w, kind="Job", name=f"{w.name}-run")
        for w in scenario.manifests.workloads
        if w.kind == "CronJob" and not w.suspended
    }


@once_per_scenario
def with_cron_runs(scenario: Scenario) -> Scenario:
    """Return the scenario in which one run of each CronJob is beside all else: nobody knows which of them overlap."""
    runs = cron_runs(scenario)
    return scenario.with_workloads(tuple(runs.get(w, w) for w in scenario.manifests.workloads))


def amid_rollout(scenario: Scenario) -> tuple[Workload, ...]:
    """Deployments that were paused while pods of two revisions run: they keep both."""
    paused = (w for w in scenario.manifests.workloads if w.suspended == "paused")
    return tuple(
        w
        for w in paused
        if len({b.pod.labels.get(revision_label(w)) for b in _staying(scenario.member(w).running_pods)}) > 1
    )


def as_it_stands(workload: Workload, running: Sequence[BoundPod]) -> Workload:
    """The workload as its controller treats it while it is paused or suspended: only running pods, or none."""
    staying = _staying(running)
    if workload.suspended != "paused" or not staying:
        return replace(workload, replicas=0)
    pod = replace(made_anew(staying[0].pod), path=workload.pod.path, labels_path=workload.pod.labels_path)
    return replace(workload, pod=pod, template=AS_IT_RUNS)


def _staying(running: Sequence[BoundPod]) -> Sequence[BoundPod]:
    return [bound for bound in running if not bound.terminating]


def resumed_premise(workload: Workload) -> str:
    """Return the premise of a hazard of a paused or suspended workload."""
    if workload.suspended == "paused":
        return f"{workload} is resumed: while {workload.suspended_field} is true no pod is made of a new template"
    return f"{workload} is resumed: while {workload.suspended_field} is true it has no pods"


def resumed_premise_of_others(workloads: Sequence[Workload]) -> str:
    """The premise of a hazard that needs pods of paused or suspended workloads."""
    return f"resumed: {first_few([f'{w} ({w.suspended})' for w in workloads])}"
