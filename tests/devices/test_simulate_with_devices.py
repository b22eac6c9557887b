"""Devices over time, where only their number matters: pods hold them until they are gone."""

from __future__ import annotations

from typing import Any

from kubesched_lint.commands.simulate.run import SimulationReport
from kubesched_lint.lifecycle.verdicts import BAD, FINE, UNKNOWN, Cell
from tests.devices.sets import GPU_CLASS, Value, claim, cluster_of, devices_on, node, template, using
from tests.lifecycle.simulated import cell, report_of, workload
from tests.lifecycle.test_what_runs_already import running

NODES = (node("n0"), node("n1"), GPU_CLASS)
DEVICES = (devices_on("n0", 2), devices_on("n1", 2))


def simulated(*objects: Value, cluster: tuple[Value, ...] = DEVICES, **more: Any) -> SimulationReport:
    return report_of(cluster_of(*NODES, *cluster), *objects, **more)


def deployed(*objects: Value, cluster: tuple[Value, ...] = DEVICES) -> Cell:
    return cell(simulated(*objects, cluster=cluster, events=("deploy",)), "train", "deploy")


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


def test_where_it_matters_which_device_a_pod_gets_the_cell_says_so() -> None:
    shared = deployed(claim(), using(2, resourceClaimName="gpu"))
    assert shared.verdict == UNKNOWN
    assert "which devices its pods hold over time" in shared.missing
    match = template(count=2)
    match["spec"]["spec"]["devices"]["constraints"] = [{"matchAttribute": "gpu.example.com/model"}]
    assert deployed(match, using(1)).verdict == UNKNOWN


def test_old_pods_without_claims_run_beside_new_ones_for_which_the_devices_suffice() -> None:
    live = workload("Deployment", "train", 3)
    one_each = (devices_on("n0", 1), devices_on("n1", 1), *running(live, "n0", "n0", "n1"))
    result = simulated(template(), using(3), cluster=one_each, events=("deploy",), states=1)
    assert (
        cell(result, "train", "deploy").bound.most == 3
    )  # two have devices, and the old pod stays because its successor waits
