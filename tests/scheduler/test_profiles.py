"""A configured scheduler: its plugins, weights and arguments decide, as recorded of a real kube-scheduler v1.36.2."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.verify.agreement import Agreement
from kubesched_lint.commands.verify.decisions import verify_decisions
from kubesched_lint.commands.verify.recordings import kind_of, read_cases
from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.profiles.plugins import Plugin, PluginSet, at_point, weights
from kubesched_lint.engine.cluster.profiles.read import profiles_of
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.nodes.node import Node, Taint
from kubesched_lint.engine.model.pod import FILTERS, WEIGHTS, BoundPod, Pod, SchedulerProfile, Volume, profile_of
from kubesched_lint.engine.scheduler import framework
from kubesched_lint.engine.scheduler.detail import Details
from kubesched_lint.engine.scheduler.framework import diagnose, message, static_reach
from kubesched_lint.engine.scheduler.placement import is_sampled
from kubesched_lint.engine.scheduler.preemption.preemption import preempt

RECORDED = Path(__file__).parents[2] / "fixtures" / "conformance" / "profiles.jsonl.gz"


def agreement(cases: list[dict[str, Any]]) -> Agreement:
    account = Agreement("decisions")
    for case in cases:
        assert kind_of(case) == "decisions"
        for _ in verify_decisions(case, account):
            pass
    return account


def test_every_decision_of_five_configurations_agrees() -> None:
    account = agreement(list(read_cases(str(RECORDED))))
    assert [d for d in account.disagreements if not d.explained] == []
    asked = {question: score.asked for question, score in account.questions.items()}
    assert asked["feasible"] > 250
    assert asked["message"] > 60
    assert asked["total"] > 150


def test_they_are_decided_differently_by_the_default_configuration() -> None:
    """Else the recordings would prove nothing."""
    for configuration in ("bin-packing", "list-constraints", "ratio", "two-profiles"):
        cases = [
            {**case, "schedulerProfiles": []}
            for case in read_cases(str(RECORDED))
            if case["id"].startswith(configuration)
        ]
        assert cases
        assert agreement(cases).disagreements, configuration


def test_a_pod_that_no_scheduler_has_decided_about_is_no_answer() -> None:
    case = {
        "id": "x",
        "kubernetes": "v1.36.2",
        "namespaces": [],
        "nodes": [{"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}],
        "decisions": [
            {
                "pod": {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
                "feasible": [],
                "node": None,
                "message": None,
            }
        ],
    }
    assert agreement([case]).disagreements == []
    case["decisions"][0]["message"] = "0/1 nodes are available: 1 Insufficient cpu."  # type: ignore[index]
    assert agreement([case]).disagreements


# --- Which plugins run -----------------------------------------------------------------------------------------------


def names(point: str, custom: Mapping[str, PluginSet]) -> tuple[str, ...]:
    return tuple(plugin.name for plugin in at_point(point, custom))


def enabled(*plugins: str | tuple[str, int]) -> PluginSet:
    return PluginSet(tuple(Plugin(p) if isinstance(p, str) else Plugin(*p) for p in plugins))


def test_without_changes_they_are_the_default_plugins() -> None:
    assert [name for name in names("filter", {}) if name != "DynamicResources"] == list(FILTERS)
    assert {name: weight for name, weight in weights({}) if name in WEIGHTS} == WEIGHTS
    assert same_values(profiles_of({}), {"default-scheduler": SchedulerProfile()})


def test_what_the_point_enables_again_comes_first_and_what_only_it_enables_last() -> None:
    custom = {"filter": enabled("Mine", "NodePorts", "TaintToleration")}
    found = names("filter", custom)
    assert found[:2] == ("NodePorts", "TaintToleration")
    assert found[-1] == "Mine"
    assert len(found) == len(set(found)) == len(names("filter", {})) + 1


def test_a_plugin_disabled_at_multi_point_runs_nowhere() -> None:
    custom = {"multiPoint": PluginSet(disabled=frozenset(["TaintToleration"]))}
    for point in ("filter", "preScore", "score"):
        assert "TaintToleration" in names(point, {})
        assert "TaintToleration" not in names(point, custom)


def test_a_star_at_a_point_leaves_what_the_point_enables() -> None:
    custom = {"score": PluginSet((Plugin("ImageLocality", 4),), frozenset("*")), "multiPoint": enabled("Mine")}
    assert dict(weights(custom)) == {"ImageLocality": 4}


def test_a_weight_at_the_point_counts_before_that_of_multi_point() -> None:
    custom = {
        "multiPoint": enabled(("NodeResourcesFit", 20)),
        "score": enabled(("NodeResourcesFit", 9), "NodeAffinity"),
    }
    found = dict(weights(custom))
    assert (found["NodeResourcesFit"], found["NodeAffinity"], found["TaintToleration"]) == (9, 1, 3)


def test_a_plugin_of_somebodys_own_and_an_extender_are_not_modelled() -> None:
    found = profiles_of(
        {
            "profiles": [{"plugins": {"filter": {"enabled": [{"name": "Mine"}]}}}],
            "extenders": [
                {
                    "urlPrefix": "http://gpu/",
                    "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}],
                }
            ],
        }
    )["default-scheduler"]
    assert found.unmodelled == ("the extender http://gpu/", "the plugin Mine")
    assert found.ignored_resources == {"example.com/gpu"}


# --- What a profile changes for a pod --------------------------------------------------------------------------------


def state_of(*nodes: Node) -> ClusterState:
    return ClusterState(NodeIndex(nodes))


def pod_of(profile: dict[str, Any], **fields: Any) -> Pod:
    return Pod("default", {}, profile=profiles_of({"profiles": [profile]})["default-scheduler"], **fields)


def node(name: str, cpu: int = 4000, **fields: Any) -> Node:
    return Node(name, {"kubernetes.io/hostname": name}, allocatable={"cpu": cpu, "pods": 10}, **fields)


TAINTED = node("a", taints=(Taint("team", "x", "NoSchedule"),))


@pytest.mark.parametrize("point", ["filter", "multiPoint"])
def test_a_disabled_filter_keeps_no_node_away(point: str) -> None:
    state = state_of(TAINTED)
    without = {"plugins": {point: {"disabled": [{"name": "TaintToleration"}]}}}
    for profile, fits in (({}, 0), (without, 1)):
        pod = pod_of(profile)
        assert diagnose(pod, state).feasible == fits
        assert static_reach(pod, state.index).usable == fits


HOST_B = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["b"]}]}


def added(*terms: Mapping[str, object]) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"pluginConfig": [{"name": "NodeAffinity", "args": {"addedAffinity": required}}]}


@pytest.mark.parametrize(
    ("terms", "detail"),
    [
        ((HOST_B,), "asks for kubernetes.io/hostname=b, the node has kubernetes.io/hostname=a"),
        ((HOST_B, HOST_B), "matches none of the 2 terms of addedAffinity"),
    ],
)
def test_the_detail_names_what_added_affinity_asks_for(terms: tuple[Mapping[str, object]], detail: str) -> None:
    pod, state = pod_of(added(*terms), node_selector={"kubernetes.io/os": "linux"}), state_of(node("a"))
    (rejection,) = diagnose(pod, state).rejections
    assert Details(pod, state).of(rejection, 0) == detail


def test_added_affinity_keeps_nodes_away_in_the_words_of_kube_scheduler() -> None:
    pod, state = pod_of(added(HOST_B)), state_of(node("a"))
    assert message(diagnose(pod, state)) == (
        "0/1 nodes are available: 1 node(s) didn't match scheduler-enforced node affinity."
    )
    assert static_reach(pod, state.index).matching == 0


WITHOUT_STATE = {
    "NodeResourcesFit": 'error reading "PreFilterNodeResourcesFit" from cycleState: not found',
    "NodePorts": 'reading "PreFilterNodePorts" from cycleState: not found',
    "PodTopologySpread": 'reading "PreFilterPodTopologySpread" from cycleState: not found',
    "InterPodAffinity": 'error reading "PreFilterInterPodAffinity" from cycleState: not found',
    "VolumeBinding": "not found",
    "VolumeRestrictions": 'cannot read "PreFilterVolumeRestrictions" from cycleState',
}


@pytest.mark.parametrize(("plugin", "error"), WITHOUT_STATE.items())
def test_a_filter_without_its_prefilter_fails_for_every_pod_that_reaches_it(plugin: str, error: str) -> None:
    without = {"plugins": {"preFilter": {"disabled": [{"name": plugin}]}}}
    state = state_of(TAINTED, node("b"))
    pod = pod_of(without)
    found = diagnose(pod, state)
    assert found.feasible == 0
    assert message(found, "preemption: …") == f'running "{plugin}" filter plugin: {error}'
    assert static_reach(pod, state.index).usable == 0
    assert message(diagnose(pod, state_of(TAINTED))) == "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
    both = {"plugins": {point: {"disabled": [{"name": plugin}]} for point in ("preFilter", "filter", "reserve")}}
    assert diagnose(pod_of(both), state).feasible == 2


@pytest.mark.parametrize("plugin", ["NodeAffinity", "VolumeZone", "NodeVolumeLimits"])
def test_some_filters_need_no_prefilter(plugin: str) -> None:
    without = {"plugins": {"preFilter": {"disabled": [{"name": plugin}]}}}
    assert diagnose(pod_of(without), state_of(node("a"))).feasible == 1
    assert profile_of(pod_of(without)).half_disabled == ()


@pytest.mark.parametrize(
    ("point", "plugin", "known"),
    [
        ("preScore", "TaintToleration", "TaintToleration runs at score and not at preScore"),
        ("preScore", "PodTopologySpread", "PodTopologySpread runs at score and not at preScore"),
        ("preScore", "InterPodAffinity", "InterPodAffinity runs at score and not at preScore"),
        ("preScore", "NodeResourcesFit", ""),
        ("preScore", "NodeAffinity", ""),
        ("preFilter", "DynamicResources", "DynamicResources runs at filter and not at preFilter"),
        ("filter", "DynamicResources", "DynamicResources runs at reserve and not at filter"),
        ("score", "TaintToleration", ""),
    ],
)
def test_plugins_that_fail_in_some_attempts_are_named(point: str, plugin: str, known: str) -> None:
    profile = profile_of(pod_of({"plugins": {point: {"disabled": [{"name": plugin}]}}}))
    assert profile.failing == ()
    assert next(iter(profile.half_disabled), "") == known


@pytest.mark.parametrize(
    ("plugins", "judges", "weight"),
    [
        ({}, True, 2),
        ({"multiPoint": {"enabled": [{"name": "DynamicResources", "weight": 5}]}}, True, 5),
        ({"score": {"disabled": [{"name": "DynamicResources"}]}}, True, 0),
        ({"postFilter": {"disabled": [{"name": "DynamicResources"}]}}, True, 2),
        ({"multiPoint": {"disabled": [{"name": "DynamicResources"}]}}, False, 0),
    ],
)
def test_devices_count_as_the_profile_says(plugins: dict[str, Any], judges: bool, weight: int) -> None:
    profile = profile_of(pod_of({"plugins": plugins}))
    assert (profile.allocates_devices, profile.devices_weight) == (judges, weight)


def test_only_extended_resources_can_be_ignored() -> None:
    fit = {"ignoredResources": ["example.com/gpu", "cpu"], "ignoredResourceGroups": ["other.com"]}
    profile = {"pluginConfig": [{"name": "NodeResourcesFit", "args": fit}]}
    state = state_of(node("a"))
    for requests, fits in (({"example.com/gpu": 1, "other.com/x": 1}, 1), ({"cpu": 5000}, 0), ({"more.com/x": 1}, 0)):
        pod = pod_of(profile, requests=requests)
        assert diagnose(pod, state).feasible == fits
        assert static_reach(pod, state.index).usable == fits


def test_without_default_preemption_nothing_is_evicted() -> None:
    state = state_of(node("a"))
    state.place(BoundPod("low", "a", Pod("default", {}, requests={"cpu": 4000}, priority=0)), 0)
    pods = {
        True: pod_of({}, requests={"cpu": 1000}, priority=9),
        False: pod_of(
            {"plugins": {"postFilter": {"disabled": [{"name": "DefaultPreemption"}]}}},
            requests={"cpu": 1000},
            priority=9,
        ),
    }
    for preempts, pod in pods.items():
        found = preempt(pod, diagnose(pod, state), state)
        assert (found.chosen is not None) is preempts
    assert found.message == "no new claims to deallocate"


def test_how_many_nodes_are_scored_follows_the_profile() -> None:
    state = state_of(*(node(f"n{i}") for i in range(150)))
    assert is_sampled(diagnose(pod_of({}), state))
    assert not is_sampled(diagnose(pod_of({"percentageOfNodesToScore": 100}), state))
    everywhere = profiles_of({"percentageOfNodesToScore": 100, "profiles": [{}]})["default-scheduler"]
    assert not is_sampled(diagnose(replace(pod_of({}), profile=everywhere), state))


def test_the_kubelet_knows_no_profile() -> None:
    """A pod that names its node goes to the kubelet, which checks resources that the scheduler ignores."""
    fit = {"ignoredResources": ["example.com/gpu"]}
    profile = {"pluginConfig": [{"name": "NodeResourcesFit", "args": fit}]}
    pod = pod_of(profile, requests={"example.com/gpu": 1}, node_name="a")
    assert not diagnose(pod, state_of(node("a"))).feasible


def test_plugins_that_a_pod_gives_nothing_to_do_are_not_asked() -> None:
    """As upstream, where their PreFilter says Skip; one without its PreFilter fails whatever the pod has."""
    plain = Pod("default", {})
    asked = {plugin.NAME for plugin in framework._filters(plain, False)}
    assert {"NodeResourcesFit", "InterPodAffinity", "TaintToleration", "NodeUnschedulable"} <= asked
    assert asked.isdisjoint({"NodeName", "NodePorts", "VolumeBinding", "PodTopologySpread"})
    mounting = replace(plain, volumes=(Volume("data", "persistentVolumeClaim", "data"),))
    assert {"VolumeBinding", "VolumeZone"} <= {plugin.NAME for plugin in framework._filters(mounting, False)}
    failing = replace(plain, profile=SchedulerProfile(failing=("NodePorts",)))
    assert "NodePorts" in {plugin.NAME for plugin in framework._filters(failing, False)}
