"""The facts of kubesched-lint 0.1, which checks of installed packages use: ``check(workload, facts)``.

Shipped checks use a ``Member`` or a ``Scenario``. Packages may use these as long as docs/versioning.md promises.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.premises.premises import SET_PREMISES
from kubesched_lint.engine.scenario.scenario import Member, Scenario

_OF_A_MEMBER = frozenset(
    {"autoscaler", "is_created", "pod", "reach", "replicas", "running_pods", "template_changed", "tolerated", "usable"}
)
_ASKED_OF_A_MEMBER = frozenset({"pod_of_ordinal", "repels_itself", "selected_workloads", "surely_selects"})
_WITH_A_MEMBER = {
    "copies": "engine.scenario.others.room:most_copies",
    "may_be_preempted": "engine.scenario.others.staying:may_be_preempted",
    "most_free": "engine.scenario.others.room:most_free",
    "node_miss": "explaining.near_misses.nearest:miss_of",
    "node_premises": "engine.scenario.premises.premises:node_premises",
    "preempts": "engine.scenario.others.staying:preempts",
    "room": "engine.scenario.others.room:domain_room",
    "running_premises": "engine.scenario.premises.premises:running_premises",
    "shortage": "engine.scenario.others.room:shortage_on",
    "staying": "engine.scenario.others.staying:staying",
    "taints_in_the_way": "engine.scenario.others.room:taints_in_the_way",
    "tightest_resource": "engine.scenario.others.room:tightest_resource",
    "too_small": "engine.scenario.others.room:too_small",
}
_WITH_THE_SCENARIO = {
    "nearest_key": "explaining.near_misses.nearest:nearest_key_of",
    "nearest_node": "explaining.near_misses.nearest:nearest_node",
    "nearest_priority_class": "explaining.near_misses.nearest:nearest_priority_class",
    "nodes_carry": "explaining.near_misses.nearest:nodes_carry",
    "refusals": "explaining.objects.refused:refusals_of",
    "running_match": "engine.scenario.others.running:running_match",
}
_OF_THE_SCENARIO = {
    "at_rest": "engine.placing.trial:at_rest",
    "blocked": "engine.placing.reachability:blocked_affinities",
    "circles": "engine.placing.reachability:affinity_circles",
    "contradictions": "engine.placing.together.joint:contradictions",
    "demands": "engine.placing.together.joint:demands_of",
    "drawing": "engine.scenario.quotas:drawers",
    "empty": "engine.scenario.others.running:empty_state",
    "growth": "engine.placing.growth.growth:growth_plan",
    "host_port_users": "explaining.crowding.ports:host_port_users",
    "lasting": "engine.scenario.others.running:lasting_pods",
    "node_premise": "engine.scenario.premises.premises:node_premise",
    "others": "engine.scenario.others.running:pods_of_others",
    "place_names": "engine.scenario.storage.volume_places:place_names",
    "proves_absence": "engine.scenario.premises.premises:proves_absence",
    "running": "engine.scenario.others.running:all_running_pods",
    "setting": "engine.placing.from_scenario:simulated_set_of",
    "state": "engine.scenario.others.running:lasting_state",
    "staying_beside_set": "engine.scenario.others.staying:staying_beside_set",
    "storage": "engine.scenario.storage.claims:settled_storage",
    "storage_to_be": "engine.scenario.storage.claims:storage_to_be",
    "trials": "engine.placing.trial:trials_of",
    "trials_evict": "engine.placing.trial:evicted_in_trials",
}


class Facts:
    """A scenario with the names of 0.1: ``facts.pod(workload)``, ``facts.replicas(workload)``, ``facts.index`` …"""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    @property
    def without_pools(self) -> Facts:
        return Facts(self._scenario.without_pools)

    @property
    def set_premises(self) -> tuple[str, ...]:
        return SET_PREMISES

    @property
    def elastic_premise(self) -> str:
        assert self._scenario.cluster is not None, "nodes are elastic on a cluster"
        return self._scenario.cluster.elastic_premise

    @property
    def in_order(self) -> tuple[Workload, ...]:
        return self._scenario.order.workloads

    def comes_before(self, workload: Workload, other: Workload) -> bool:
        return self._scenario.order.comes_before(workload, other)

    def __getattr__(self, name: str) -> Any:
        scenario = self._scenario
        if name in _OF_A_MEMBER:
            return lambda workload: getattr(scenario.member(workload), name)
        if name in _ASKED_OF_A_MEMBER:
            return lambda workload, *rest, **named: getattr(scenario.member(workload), name)(*rest, **named)
        if name in _WITH_A_MEMBER:
            function = _function(_WITH_A_MEMBER[name])
            return lambda workload, *rest, **named: function(scenario.member(workload), *rest, **named)
        if name in _WITH_THE_SCENARIO:
            function = _function(_WITH_THE_SCENARIO[name])
            return lambda *rest, **named: function(scenario, *rest, **named)
        if name in _OF_THE_SCENARIO:
            return _function(_OF_THE_SCENARIO[name])(scenario)
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(scenario, name)


def _function(home: str) -> Callable[..., Any]:
    module, name = home.split(":")
    function: Callable[..., Any] = getattr(import_module(f"kubesched_lint.{module}"), name)
    return function


def of_package(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt a check or fix for ``(workload, facts)`` or ``(facts)`` to a member or a scenario."""

    @wraps(function)
    def asked(*subjects: object, **params: object) -> Any:
        given: list[object] = []
        for subject in subjects:
            if isinstance(subject, Member):
                given += (subject.workload, Facts(subject.scenario))
            else:
                given.append(Facts(subject) if isinstance(subject, Scenario) else subject)
        return function(*given, **params)

    return asked
