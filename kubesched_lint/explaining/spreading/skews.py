"""The simulations of two rules: how evenly pods end after rollouts, and after an autoscaler has shrunk them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from msgspec.structs import replace

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.events.limits import MOST_PODS
from kubesched_lint.engine.events.start.sizes import scale_event
from kubesched_lint.engine.model.nodes.node import HOSTNAME
from kubesched_lint.engine.model.policy import Autoscaler
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.runs.skew import Skew, skews
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.explaining.spreading.limits import MOST_AT_ONCE, MOST_NODES, MOST_WORKLOADS

_RUNS_OF_A_ROLLOUT, _RUNS_OF_SCALING = 5, 10


def rollouts_of(it: Member) -> Sequence[Skew]:
    """Skews after some rollouts, simulated with the exact scheduler and controller; empty if that is not possible."""
    if it.workload.suspended or it.scenario.cluster is None or len(it.scenario.index) > MOST_NODES:
        return ()
    if it.replicas > MOST_PODS:
        return ()
    scenario = it.scenario
    if len(scenario.manifests.workloads) > MOST_WORKLOADS:
        if it.workload.ref not in _simulated_alone(scenario):
            return ()
        scenario = scenario.with_workloads((it.workload,))
    simulated = simulated_set_of(scenario)
    number = next(i for i, w in enumerate(simulated.workloads) if w.ref == it.workload.ref)
    if simulated.workloads[number].replicas > MOST_PODS:
        return ()
    return tuple(skews(simulated.member(number), runs=_RUNS_OF_A_ROLLOUT, only="rollout"))


@once_per_scenario
def _simulated_alone(scenario: Scenario) -> frozenset[ObjectRef]:
    """The first workloads of a large set whose severity depends on a simulation."""
    open_ones = (w for w in scenario.manifests.workloads if w.kind == "Deployment" and _is_open(w))
    return frozenset(workload.ref for workload in islice(open_ones, MOST_WORKLOADS // 2))


def _is_open(workload: Workload) -> bool:
    return 2 < workload.replicas < MOST_AT_ONCE and any(c.topology_key != HOSTNAME for c in workload.pod.spread)


def ends_of_scaling(it: Member, scaler: Autoscaler) -> Sequence[Skew]:
    """Skews after the autoscaler has shrunk it to its minimum, in simulated runs; empty if that is not possible."""
    low, high = max(scaler.min_replicas, 1), scaler.max_replicas
    large = (
        len(it.scenario.manifests.workloads) > MOST_WORKLOADS or len(it.scenario.index) > MOST_NODES or high > MOST_PODS
    )
    if large or it.scenario.pools:
        return ()
    start = simulated_set_of(it.scenario)
    number = next((i for i, w in enumerate(start.workloads) if w.ref == it.workload.ref), None)
    if number is None:
        return ()
    sized = list(start.workloads)
    sized[number] = replace(sized[number], replicas=high)
    simulated = replace(start, workloads=tuple(sized), running={}, scaled={number: (low,)})
    return tuple(skews(simulated.member(number), runs=_RUNS_OF_SCALING, only=scale_event(low)))
