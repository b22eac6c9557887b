"""Counts of devices bound every placement: per node, for the whole set, and over time."""

from __future__ import annotations

from kubesched_lint.engine.events.answers.cells import BAD
from kubesched_lint.engine.placing.together.joint import contradictions
from kubesched_lint.engine.scenario.devices.devices import devices_of
from kubesched_lint.engine.scenario.others.running import lasting_state
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scheduler.devices.groups import DeviceGroups
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from tests.devices.sets import (
    GPU_CLASS,
    Value,
    claim,
    cluster_of,
    devices_on,
    manifests_of,
    node,
    scenario_of,
    template,
    using,
)
from tests.devices.test_trials_with_devices import running
from tests.events.simulated import cell, report_of
from tests.worlds.agreement import rulebook

NODES = (node("n0"), node("n1"), GPU_CLASS)
BOTH = (devices_on("n0", 3), devices_on("n1", 1))
OF_MODEL = 'device.attributes["gpu.example.com"].model == "{}"'


def model(name: str) -> Value:
    return {"attributes": {"model": {"string": name}}}


def of_model(name: str, template_name: str, **more: int) -> Value:
    selectors = [{"cel": {"expression": OF_MODEL.format(name)}}]
    return template(template_name, selectors=selectors, **more)


def groups(scenario: Scenario) -> DeviceGroups:
    found = devices_of(scenario)
    assert found is not None
    return DeviceGroups((w.pod for w in scenario.manifests.workloads), found, scenario.index)


def rooms(scenario: Scenario) -> list[float]:
    return [groups(scenario).room(w.pod, scenario.index.all) for w in scenario.manifests.workloads]


def named(template_name: str, name: str, replicas: int = 1) -> Value:
    return using(replicas, name, resourceClaimTemplateName=template_name)


def test_a_node_has_room_for_as_many_pods_as_its_devices_allow() -> None:
    assert rooms(scenario_of(cluster_of(*NODES, *BOTH), template(), using(1))) == [4]
    assert rooms(scenario_of(cluster_of(*NODES, *BOTH), template(count=2), using(1))) == [1]
    tainted = devices_on("n0", 3, taints=[{"key": "k", "effect": "NoSchedule"}])
    assert rooms(scenario_of(cluster_of(*NODES, tainted, BOTH[1]), template(), using(1))) == [1]
    everything = template()
    everything["spec"]["spec"]["devices"]["requests"][0]["exactly"] = {
        "deviceClassName": "gpu",
        "allocationMode": "All",
    }
    assert rooms(scenario_of(cluster_of(*NODES, *BOTH), everything, using(1))) == [4]


def test_requests_for_different_devices_do_not_compete() -> None:
    mixed = (devices_on("n0", 2, **model("a")), devices_on("n1", 2, **model("b")))
    sets = (of_model("a", "a"), of_model("b", "b"), named("a", "left"), named("b", "right"))
    scenario = scenario_of(cluster_of(*NODES, *mixed), *sets)
    assert len(groups(scenario).groups) == 2
    assert groups(scenario).is_counted
    overlapping = scenario_of(cluster_of(*NODES, *mixed), *sets, template("any"), named("any", "both"))
    assert len(groups(overlapping).groups) == 1
    assert not groups(overlapping).is_counted
    assert rooms(overlapping) == [4, 4, 4]  # an upper bound: which device a pod may get is left out


def test_shared_claims_and_watchers_take_no_device_for_themselves() -> None:
    scenario = scenario_of(cluster_of(*NODES, *BOTH), claim(), using(1, resourceClaimName="gpu"))
    assert rooms(scenario) == [float("inf")]
    watching = template(adminAccess=True)
    assert rooms(scenario_of(cluster_of(*NODES, *BOTH), watching, using(1))) == [float("inf")]


def test_devices_of_others_are_not_free() -> None:
    scenario = scenario_of(cluster_of(*NODES, *BOTH, *running("old", "n0")), template(), using(1))
    devices = lasting_state(scenario).devices
    assert devices is not None
    (only,) = DeviceGroups((w.pod for w in scenario.manifests.workloads), devices, scenario.index).groups
    assert DeviceGroups((w.pod for w in scenario.manifests.workloads), devices, scenario.index).free(only) == [2, 1]


def test_workloads_that_want_more_devices_together_than_there_are_cannot_run_together() -> None:
    cluster = cluster_of(*NODES, *BOTH)
    (found,) = contradictions(scenario_of(cluster, template(), using(3), using(2, "serve")))
    assert (found.wanted, found.placed, found.because) == (5, 4, ("devices of class gpu",))
    assert not contradictions(scenario_of(cluster, template(), using(2), using(2, "serve")))
    report, _ = lint(
        manifests_of(template(), using(3), using(2, "serve")),
        cluster,
        Options(profile="strict"),
        rulebook().select("strict"),
    )
    (error,) = [f for f in report.findings if f.rule == "set-does-not-fit"]
    assert error.severity.word == "error"


def test_a_node_with_one_device_takes_no_pod_that_wants_two() -> None:
    odd = (devices_on("n0", 3), devices_on("n1", 3))
    sets = (template(count=2), using(2), using(1, "serve"))
    (found,) = contradictions(scenario_of(cluster_of(*NODES, *odd), *sets))
    assert (found.wanted, found.placed) == (3, 2)


def test_too_many_nodes_to_search_are_counted() -> None:
    nodes = [node(f"m{i}") for i in range(30)]
    slices = [devices_on(f"m{i}", 2) for i in range(30)]
    result = report_of(cluster_of(*nodes, *slices, GPU_CLASS), template(), using(61), events=("deploy",))
    found = cell(result, "train", "deploy")
    assert (found.verdict, found.proven, found.bound.most) == (BAD, True, 60)
    assert found.why == "the nodes have devices for 60 of its pods"
