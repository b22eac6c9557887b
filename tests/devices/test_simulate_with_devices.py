"""Devices over time, where only their number matters: pods hold them until they are gone."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS, FINE, UNKNOWN, Cell
from kubesched_lint.engine.events.states.states import FRESH, PodTypes, empty, with_bound, with_leaving, with_waiting
from kubesched_lint.engine.events.transitions.placement_model import PlacementModel
from kubesched_lint.engine.model.pod import SchedulerProfile
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from tests.devices.inventories import DRIVER
from tests.devices.sets import (
    GPU_CLASS,
    KINDS,
    Value,
    alternative,
    asking_for,
    claim,
    cluster_of,
    devices_on,
    exactly,
    node,
    scenario_of,
    template,
    using,
    with_models,
)
from tests.devices.test_trials_with_devices import running as holding
from tests.events.simulated import asking, cell, other, report_of, workload
from tests.events.test_what_runs_already import running

NODES = (node("n0"), node("n1"), GPU_CLASS)
DEVICES = (devices_on("n0", 2), devices_on("n1", 2))
ON_N1 = {"request": "gpu", "driver": DRIVER, "pool": "n1", "device": "gpu-0"}
AT_N1 = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}


def simulated(*objects: Value, cluster: tuple[Value, ...] = DEVICES, **more: Any) -> SimulationReport:
    return report_of(cluster_of(*NODES, *cluster), *objects, **more)


def deployed(*objects: Value, cluster: tuple[Value, ...] = DEVICES) -> Cell:
    return cell(simulated(*objects, cluster=cluster, events=("deploy",)), "train", "deploy")


def running_on(name: str) -> Value:
    """A pod of nobody that shares the claim."""
    reference = {"name": "gpu", "resourceClaimName": "gpu"}
    pod = other("Pod", "old", spec={**asking("2", resourceClaims=[reference]), "nodeName": name})
    return {**pod, "status": {"phase": "Running"}}


def short(found: Cell) -> tuple[str, bool, int, int]:
    return found.verdict, found.proven, found.bound.least, found.bound.most


def test_as_many_pods_run_as_there_are_devices() -> None:
    assert short(deployed(template(), using(4))) == (FINE, True, 4, 4)
    found = deployed(template(), using(5))
    assert short(found) == (BAD, True, 4, 4)
    assert found.message.startswith("0/2 nodes are available: 2 cannot allocate all claims.")


def test_a_pod_with_two_devices_leaves_odd_ones_idle() -> None:
    three = (devices_on("n0", 3), devices_on("n1", 3))
    assert short(deployed(template(count=2), using(3), cluster=three)) == (BAD, True, 2, 2)


def test_old_pods_hold_devices_until_they_are_gone() -> None:
    surging = using(4)
    result = simulated(template(), surging, events=("deploy", "rollout"))
    assert cell(result, "train", "deploy").verdict == FINE
    rollout = cell(result, "train", "rollout")
    assert rollout.verdict == FINE  # 25% may be unavailable, so an old pod goes first
    surging["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    stuck = cell(simulated(template(), surging, events=("rollout",)), "train", "rollout")
    assert (stuck.verdict, stuck.stuck) == (BAD, True)


def test_the_devices_of_a_lost_node_are_lost() -> None:
    result = simulated(template(), using(3), events=("node-loss",))
    assert short(cell(result, "train", "node-loss"))[::2] == (BAD, 2)


def test_two_workloads_compete_for_the_same_devices() -> None:
    found = cell(simulated(template(), using(3), using(2, "serve"), events=("deploy",)), "train", "deploy")
    assert short(found)[2:] == (2, 3)


def test_a_daemon_set_takes_one_device_on_each_node() -> None:
    daemon = using(0, "agent", kind="DaemonSet")
    del daemon["spec"]["replicas"]
    result = simulated(template(), daemon, using(3), events=("deploy",))
    assert short(cell(result, "train", "deploy"))[2:] == (2, 3)


# --- claims that pods share -------------------------------------------------------------------------------------------


def sharing(replicas: int, name: str = "train", cpu: str = "2", **more: Any) -> Value:
    return using(replicas, name, cpu, resourceClaimName="gpu", **more)


def test_pods_that_share_a_claim_run_on_one_node() -> None:
    assert short(deployed(claim(), sharing(2))) == (FINE, True, 2, 2)
    found = deployed(claim(), sharing(3))
    assert short(found) == (BAD, True, 2, 2)
    assert "1 resourceclaim not available on the node" in found.message


def test_a_shared_claim_takes_its_devices_once() -> None:
    one = (devices_on("n0", 2),)
    result = simulated(claim(), template(), sharing(3, cpu="1"), using(1, "serve"), cluster=one, events=("deploy",))
    assert short(cell(result, "train", "deploy")) == (FINE, True, 3, 3)
    assert short(cell(result, "serve", "deploy")) == (FINE, True, 1, 1)
    result = simulated(claim(), template(), sharing(3, cpu="1"), using(2, "serve"), cluster=one, events=("deploy",))
    assert short(cell(result, "train", "deploy"))[2:] == (0, 3)
    assert short(cell(result, "serve", "deploy"))[2:] == (1, 2)


def test_a_rollout_stays_on_the_node_of_the_shared_claim() -> None:
    """Old pods keep the claim on their node while they run, whatever is free on the other node."""
    surging = sharing(2)
    surging["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    stuck = cell(simulated(claim(), surging, events=("rollout",)), "train", "rollout")
    assert (stuck.verdict, stuck.stuck) == (BAD, True)
    surging["spec"]["strategy"] = {"type": "Recreate"}
    assert cell(simulated(claim(), surging, events=("rollout",)), "train", "rollout").verdict == FINE


def test_a_shared_claim_is_free_again_when_its_last_pod_is_gone() -> None:
    result = simulated(claim(), sharing(2), events=("node-loss", "drain"))
    assert short(cell(result, "train", "node-loss").deleted) == (FINE, True, 2, 2)
    assert short(cell(result, "train", "drain")) == (FINE, True, 2, 2)
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "train"}}}
    guard = other("PodDisruptionBudget", "guard", "policy/v1", spec=budget)
    drained = cell(simulated(claim(), sharing(2), guard, events=("drain",)), "train", "drain")
    assert (drained.verdict, drained.stuck) == (DEPENDS, True)  # the claim keeps a replacement on the cordoned node


def test_pods_of_a_lost_node_keep_their_claim_away_until_they_are_deleted() -> None:
    pod_types = PodTypes()
    scenario = scenario_of(cluster_of(*NODES, *DEVICES), claim(), sharing(2))
    setting = simulated_set_of(scenario)
    number = pod_types.join(setting.workloads[0], setting.pods[0], None)
    slot = pod_types.slot(number, 0)
    model = PlacementModel(pod_types, setting.index, setting.objects)
    waiting = with_waiting(empty(2), slot, FRESH, 1)
    assert model.candidate_nodes(waiting, slot) == (0, 1)
    assert model.candidate_nodes(with_bound(waiting, 1, slot, 1), slot) == (1,)
    assert model.candidate_nodes(with_leaving(waiting, slot, 1), slot) == ()
    beside_others = with_leaving(with_bound(waiting, 1, slot, 1), slot, 1)  # a taint drove only some pods away
    assert model.candidate_nodes(beside_others, slot) == (1,)
    assert model.candidate_nodes(with_bound(waiting, 0, slot, 1), slot) == (0,)


def test_claims_of_a_snapshot_that_do_not_fit_their_pods_stay_unknown() -> None:
    def told(*pods: Value, **status: Any) -> str:
        allocated = claim()
        allocated["status"] = {"allocation": {"devices": {"results": [ON_N1]}, "nodeSelector": AT_N1}, **status}
        return deployed(claim(), sharing(2), cluster=(*DEVICES, allocated, *pods)).verdict

    held = {"reservedFor": [{"resource": "pods", "name": "old", "uid": ""}]}
    assert told(running_on("n1"), **held) == BAD  # the other pod leaves room for one beside it
    assert told() == UNKNOWN  # allocated, and no pod uses it
    assert told(**held) == UNKNOWN
    assert told(running_on("n1")) == UNKNOWN


def test_a_pod_without_its_template_is_never_tried_and_leaves_the_others_alone() -> None:
    one = {**template(), "metadata": {"name": "one"}}
    serve = using(2, "serve", resourceClaimTemplateName="one")
    result = simulated(one, using(2), serve, events=("deploy",))
    lost = cell(result, "train", "deploy")
    assert short(lost) == (BAD, True, 0, 0)
    assert lost.message.startswith("not tried: ResourceClaimTemplate gpu does not exist")
    assert short(cell(result, "serve", "deploy")) == (FINE, True, 2, 2)


# --- requests that each node can meet in one way -------------------------------------------------------------------


def test_a_constraint_that_all_devices_of_a_node_meet_changes_nothing() -> None:
    alike = asking_for(exactly(count=2), constraints=[{"matchAttribute": f"{DRIVER}/model"}])
    assert short(deployed(alike, using(3), cluster=with_models("aa", "bb"))) == (BAD, True, 2, 2)
    apart = asking_for(exactly(count=2), constraints=[{"distinctAttribute": f"{DRIVER}/model"}])
    assert short(deployed(apart, using(2), cluster=with_models("ab", "aa"))) == (BAD, True, 1, 1)


def test_an_alternative_that_a_node_lacks_is_no_choice() -> None:
    either = asking_for({"name": "gpu", "firstAvailable": [alternative("a"), alternative("b", 2)]})
    assert short(deployed(either, using(4), cluster=with_models("aa", "bbb"))) == (BAD, True, 3, 3)


def test_all_devices_are_free_or_the_pod_waits() -> None:
    whole = asking_for(exactly(allocationMode="All"))
    assert short(deployed(whole, using(3), cluster=with_models("aaa", "a"))) == (BAD, True, 2, 2)
    one = {**template(), "metadata": {"name": "one"}}
    serve = using(1, "serve", resourceClaimTemplateName="one")
    result = simulated(whole, one, using(2), serve, cluster=with_models("aaa", "a"), events=("deploy",))
    assert short(cell(result, "train", "deploy")) == (DEPENDS, False, 1, 2)


def test_a_watcher_takes_no_device_from_others() -> None:
    watching = asking_for(exactly(allocationMode="All", adminAccess=True))
    one = {**template(), "metadata": {"name": "one"}}
    serve = using(2, "serve", resourceClaimTemplateName="one")
    result = simulated(watching, one, using(3), serve, cluster=with_models("a", "a"), events=("deploy",))
    assert short(cell(result, "train", "deploy")) == (FINE, True, 3, 3)
    assert short(cell(result, "serve", "deploy")) == (FINE, True, 2, 2)


def test_unknown_taint_rules_leave_only_what_too_few_devices_prove() -> None:
    cluster = cluster_of(*NODES, *DEVICES, kinds=[kind for kind in KINDS if kind != "DeviceTaintRule"])

    def deploy(replicas: int) -> Cell:
        return cell(report_of(cluster, template(), using(replicas), events=("deploy",)), "train", "deploy")

    unknown = deploy(4)
    assert unknown.verdict == UNKNOWN
    assert unknown.missing == ("which devices rules taint: the snapshot holds no DeviceTaintRule",)
    assert short(deploy(5)) == (BAD, True, 0, 4)


def test_old_pods_without_claims_run_beside_new_ones_for_which_the_devices_suffice() -> None:
    live = workload("Deployment", "train", 3)
    one_each = (devices_on("n0", 1), devices_on("n1", 1), *running(live, "n0", "n0", "n1"))
    result = simulated(template(), using(3), cluster=one_each, events=("deploy",), states=1)
    assert cell(result, "train", "deploy").bound.most == 3  # the old pod stays because its successor waits


def test_a_scheduler_without_the_plugin_leaves_the_kubelet_waiting() -> None:
    cluster = cluster_of(*NODES, *DEVICES)
    bare = SchedulerProfile(allocates_devices=False, devices_weight=0)
    cluster = replace(cluster, inventory=replace(cluster.inventory, schedulers=(bare,)))
    found = cell(report_of(cluster, template(), using(1), events=("deploy",)), "train", "deploy")
    assert found.missing == ("whether the kubelet starts it: default-scheduler has DynamicResources disabled",)


@pytest.mark.parametrize("gone", ["gpu-0", "gpu-99"])
def test_a_device_that_a_pod_holds_and_that_is_gone_takes_no_other(gone: str) -> None:
    pod, held = holding("old", "n0")
    held["status"]["allocation"]["devices"]["results"][0]["device"] = gone
    pod["spec"]["resourceClaims"] = [{"name": "x", "resourceClaimName": held["metadata"]["name"]}]
    held["metadata"]["ownerReferences"] = []
    found = deployed(template(), using(4), cluster=(*DEVICES, pod, held))
    assert found.verdict == (FINE if gone == "gpu-99" else BAD)
    assert not any("report this bug" in text for text in found.missing)
    assert found.bound.most == (3 if gone == "gpu-0" else 4)
