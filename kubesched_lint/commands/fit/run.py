"""``fit``: the least and the most pods that find a node, by the bounds and the search that ``simulate`` uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.limits import MOST_PLACES, MOST_SCALED
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.limits import MOST_STEPS
from kubesched_lint.engine.base.releases import not_modelled
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.engine.events.answers.event_bounds import EventBounds
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.placing.growth.growth import growth_plan
from kubesched_lint.engine.placing.growth.plan import Added
from kubesched_lint.engine.placing.limits import MOST_PODS_TRIED
from kubesched_lint.engine.placing.placing import Copies, Placing
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.scenario.others.running import lasting_state
from kubesched_lint.engine.scenario.premises.mutated import mutation_notes
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.engine.scenario.settings.user_settings import Premises
from kubesched_lint.engine.scenario.storage.claims import NO_OTHER_USER, never_chosen
from kubesched_lint.engine.scheduler.framework import diagnose, message
from kubesched_lint.engine.verdicts.matrix import Matrix
from kubesched_lint.engine.verdicts.missing_facts import lacks_of
from kubesched_lint.explaining.objects.refused import refused_objects, sentence
from kubesched_lint.notebook import Shown

_MORE = 100
"""Pods for which pools are asked to add nodes."""
_NOT_KNOWN = "not known: "
_EFFORT = Effort(states=4_000, runs=1)
_Group = tuple[str, str, str]
"""Name, label and value of a zone or a node group."""


class Counts(Struct, frozen=True):
    """More pods that find a node in every order (``least``), and in any order (``most``)."""

    least: int
    most: int

    @property
    def certain(self) -> int | None:
        """How many fit in every order and no more in any; None if that depends on the order."""
        return self.most if self.least == self.most else None

    def __str__(self) -> str:
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"


class OnPools(Struct, frozen=True):
    """What node groups add for ``asked`` pods beyond today's nodes."""

    asked: int
    fit: int
    added: tuple[Added, ...]
    limited: tuple[str, ...]
    """Pools whose limits refuse more."""
    message: str


class Fit(Shown, Struct, frozen=True):
    """The answer. ``placed`` is what kube-scheduler places one after another, one of the orders; None: not counted."""

    pods: str
    """In words: ``like Deployment shop/web``, ``with cpu 2 and memory 4Gi``."""
    counts: Counts
    placed: int | None
    binds: str
    """The scheduler's message about one pod more than it placed; empty if there are too many to count."""
    by_group: Mapping[str, Counts]
    """Zone or node group → pods that fit there if all must go there."""
    pools: OnPools | None
    running: int
    """Pods of the workload that run already."""
    assumes: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    """What was not counted, because there is too much of it."""
    is_known: bool = True
    """Whether all that decides about the pods is known; if not, none is sure to fit."""


def fit(workload: Workload, pods: str, manifests: Inventory, cluster: Cluster, premises: Premises) -> Fit:
    """Count more pods like those of a workload on today's nodes, beside all running pods; nobody is evicted for them.

    ``manifests`` have the classes and quotas that the pods meet; none of their workloads runs. Raises ClusterError
    without nodes, ValueError for pods that the API server refuses, and OutOfWorkError.
    """
    if not cluster.knows_nodes:
        raise ClusterError(cluster.path, 0, 0, "the snapshot has no nodes, because they were not captured")
    member = Scenario(replace(manifests, workloads=(workload,)), cluster, premises).member(workload)
    refused = refused_objects(member.scenario).get(workload.source)
    if refused is not None:
        raise ValueError(f"the API server refuses {workload}: {sentence(refused)}")
    refusal = member.scenario.admission.decision(workload).refusal
    if refusal is not None:
        raise ValueError(f"the API server refuses such pods: {refusal.answer_to(workload)}")
    more = _more_like(member)
    scenario = member.scenario.with_workloads((more,))
    for claim, _, _ in never_chosen(scenario.member(more)):
        why = f"the claim {claim.name} waits until the scheduler has chosen a node, and nodeName bypasses the scheduler"
        assumes = tuple(a for a in _assumes(scenario.member(more), premises) if not a.startswith(_NOT_KNOWN))
        return Fit(pods, Counts(0, 0), 0, why, {}, None, len(member.running_pods), (*assumes, NO_OTHER_USER))
    with work.within(MOST_STEPS):
        today = _Counting(scenario.without_pools, more)
        counts = today.counts()
        placed, binds = work.tried(lambda: today.placed(counts), (counts.certain, ""))
        names = list(_groups(scenario.without_pools))
        groups = dict(_alone(scenario.without_pools, more, names[:MOST_PLACES]))
        pools = work.tried(lambda: _on_pools(scenario, more, counts.least), None, 1) if scenario.pools else None
    assumes = (*_assumes(scenario.member(more), premises), *mutation_notes(member.scenario))
    left_out = tuple(
        _left_out(today, placed, len(names) - len(groups), misses_pools=bool(scenario.pools) and not pools)
    )
    running = len(member.running_pods)
    return Fit(pods, counts, placed, binds, groups, pools, running, assumes, left_out, today.is_known)


def _left_out(today: _Counting, placed: int | None, groups: int, *, misses_pools: bool) -> Iterator[str]:
    if today.is_cut:
        yield "whether more than the least are sure to fit"
    if placed is None:
        yield "how many kube-scheduler places"
    if groups:
        yield f"{many(groups, 'zone or node group', 'zones and node groups')}, each alone"
    if misses_pools:
        yield "what pools add"


def _more_like(it: Member) -> Workload:
    """Return a workload of further pods, under a name of its own: those that run stay where they are, as any others.

    The new pods have the revision of the running ones, so that ``matchLabelKeys`` compare the two. Its kind adopts no
    pods without a controller, as a ReplicaSet would: those were counted as new ones that run already.
    """
    workload, running = it.workload, it.running_pods
    labels = running[-1].pod.labels if running and workload.kind != "StatefulSet" else workload.pod.labels
    pod = replace(it.scenario.admission.pod_of(workload), labels=labels, preemption_policy="Never")
    kind = workload.kind if workload.kind == "StatefulSet" else "Deployment"
    return replace(workload, kind=kind, name=f"{workload.name}-more", pod=pod, suspended="", custom=None)


class _Counting:
    """Counts pods of the only workload of a scenario."""

    def __init__(self, scenario: Scenario, workload: Workload) -> None:
        self._it = scenario.member(workload)
        # The API server refuses a policy that differs from its class's: ours says that nobody is evicted. The pod as it
        # is written passed.
        made = {n: d for n, d in simulated_set_of(scenario).decisions.items() if d.refusal is None}
        self._simulated = replace(simulated_set_of(scenario), decisions=made)
        self.is_known = not any(lack.unknown and not lack.events for lack in lacks_of(self._it))
        self.is_cut = False
        """Whether the least may be too small, because there was too much to count."""

    def _asked(self, pods: int) -> SimulatedSet:
        return replace(self._simulated, workloads=(replace(self._simulated.workloads[0], replicas=pods),))

    def _count(self, pods: int) -> EventBounds:
        return count(self._asked(pods).member(0), "deploy")

    def counts(self) -> Counts:
        """Return both ends: the most by counting, the least as the largest number that is sure to fit.

        None is sure to fit if it is not known how something decides about its pods.
        """
        counts = self._counts()
        return counts if self.is_known else Counts(0, counts.most)

    def _counts(self) -> Counts:
        most = min(self._count(MOST_SCALED).most.pods, MOST_SCALED)
        low, high, middle = 0, most, most  # often all that may fit are sure to
        try:
            with work.within(work.share(0)):
                while low < high:
                    if self._count(middle).is_fine:
                        low = middle
                    else:
                        high = middle - 1
                    middle = (low + high + 1) // 2
        except work.OutOfWorkError:
            self.is_cut = True
        return Counts(low, most) if low == most else work.tried(lambda: self._searched(low, most), Counts(low, most))

    def _searched(self, least: int, most: int) -> Counts:
        """Return what is left between the ends by the largest number of which a search of every order proves something.

        One pod more than may fit shows all ends; of fewer, it may prove that all fit. What the default scheduler alone
        does is no proof.
        """
        size = most + 1
        while size > least:
            cell = Matrix(self._asked(size), _EFFORT).cell("deploy", 0)
            if cell.proven and not cell.missing:
                least = max(least, cell.bound.least)
                if cell.bound.most < size:  # in an order in which not all of them fit, no more of any larger number do
                    most = min(most, cell.bound.most)
                if cell.bound.by == "search":
                    break
            size //= 2
        return Counts(least, most)

    def placed(self, counts: Counts) -> tuple[int | None, str]:
        """Return how many pods kube-scheduler places one after another, and what stops the next one.

        That is its message, or what counting says where no node stops it: a quota.
        """
        most = counts.most
        if most > MOST_PODS_TRIED:
            return counts.certain, ""
        state = lasting_state(self._it.scenario)
        with state.undone():
            copies = Copies(self._it.pod, self._it.workload.selector, most + 1)
            Placing([copies], state).run()
            if not copies.left:
                return most, self._count(most + 1).most.why
            return most + 1 - copies.left, message(diagnose(self._it.pod, state))


def _alone(scenario: Scenario, workload: Workload, groups: Sequence[_Group]) -> Iterator[tuple[str, Counts]]:
    """Yield what fits in each group if all pods must go there, until the work for it has reached its limit."""
    for number, (name, key, value) in enumerate(groups):
        pod = replace(workload.pod, node_selector={**workload.pod.node_selector, key: value})
        pinned = replace(workload, pod=pod)
        manifests = replace(scenario.manifests, workloads=(pinned,))
        counting = _Counting(scenario.with_manifests(manifests), pinned)
        counts = work.tried(counting.counts, None, 2 * (len(groups) - number))
        if counts is None or counting.is_cut:
            return
        yield name, counts


def _groups(scenario: Scenario) -> Iterator[_Group]:
    """Yield each zone, then each node group; nothing if there is one only, because all nodes are in it."""
    nodes = scenario.index.nodes
    zones = sorted({node.labels[ZONE] for node in nodes if ZONE in node.labels})
    groups = [group.partition("=") for group in sorted({node.group for node in nodes if "=" in node.group})]
    if len(zones) + len(groups) > 1:
        yield from ((f"zone {zone}", ZONE, zone) for zone in zones)
        yield from ((value, key, value) for key, _, value in groups)


def _on_pools(scenario: Scenario, workload: Workload, today: int) -> OnPools:
    """Return what pools add for more pods than surely fit today."""
    asked = replace(workload, replicas=today + _MORE)
    plan = growth_plan(scenario.with_workloads((asked,)))
    fitting = sum(verdict.grown for verdict in plan.verdicts)
    limited = tuple(name for verdict in plan.verdicts for name in verdict.limited)
    return OnPools(
        _MORE, fitting, plan.added, limited, next((v.message for v in plan.verdicts if v.message), plan.skipped)
    )


def _assumes(it: Member, premises: Premises) -> Iterator[str]:
    scenario = it.scenario
    yield "nobody is evicted for the new pods"
    yield "only pods that run take room"
    for lack in lacks_of(it):
        if not lack.events:
            yield f"{_NOT_KNOWN}{lack.text}" if lack.unknown else lack.text
    if not scenario.knows_running_pods:
        yield "the cluster file shows none that run, so the nodes are empty"
    yield from not_modelled(premises.kubernetes_version, scenario.cluster.server_version if scenario.cluster else "")
