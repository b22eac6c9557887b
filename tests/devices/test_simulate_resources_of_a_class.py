"""Extended resources over time: on each node its device plugin serves them, or devices of a class."""

from __future__ import annotations

from kubesched_lint.engine.events.answers.cells import BAD, FINE, UNKNOWN
from tests.devices.sets import Value, cluster_of, devices_on, node, template, using
from tests.devices.test_simulate_with_devices import short
from tests.devices.test_trials_with_devices import by_resource, plugged, running, serving
from tests.events.simulated import cell, other, report_of
from tests.events.test_what_runs_already import running as running_of

MIXED = (node("n0"), plugged("n1", 1), serving(), devices_on("n0", 2), devices_on("n1", 2))


def told(event: str, *objects: Value, cluster: tuple[Value, ...] = MIXED) -> tuple[str, bool, int, int]:
    return short(cell(report_of(cluster_of(*cluster), *objects, events=(event,)), "train", event))


def test_the_plugin_serves_its_node_and_devices_the_others() -> None:
    assert told("deploy", by_resource(3)) == (FINE, True, 3, 3)
    assert told("deploy", by_resource(4)) == (BAD, True, 3, 3)
    assert told("deploy", by_resource(2, amount=2)) == (BAD, True, 1, 1)
    assert told("node-loss", by_resource(3))[2] == 1


def test_claims_take_devices_that_the_plugin_does_not_offer() -> None:
    """The devices of n1 serve claims alone; those of n0 serve whoever comes first."""
    assert told("deploy", by_resource(3), template(), using(2, "serve"))[2:] == (2, 3)
    assert told("deploy", by_resource(1), template(), using(2, "serve")) == (FINE, True, 1, 1)


def without_surge(replicas: int) -> Value:
    made = by_resource(replicas)
    made["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    return made


def test_old_pods_hold_what_serves_them() -> None:
    surging = by_resource(3)
    surging["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    found = cell(report_of(cluster_of(*MIXED), surging, events=("rollout",)), "train", "rollout")
    assert (found.verdict, found.stuck) == (BAD, True)
    assert told("rollout", without_surge(3)) == (FINE, True, 3, 3)


def claims_of(pods: list[Value], at: str) -> list[Value]:
    """The claims that the scheduler made for running pods; each has one device of the node."""
    names = [each["metadata"]["name"] for each in pods if each["kind"] == "Pod" and each["spec"]["nodeName"] == at]
    found = []
    for i, name in enumerate(names):
        made = running(name, at)[1]
        made["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
        request = made["spec"]["devices"]["requests"][0]["name"] = "container-0-request-0"
        made["status"]["allocation"]["devices"]["results"][0] |= {"request": request, "device": f"gpu-{i}"}
        found.append(made)
    return found


def test_running_pods_keep_what_serves_them() -> None:
    live = running_of(by_resource(3), "n0", "n0", "n1")
    cluster = (*MIXED, *live, *claims_of(live, "n0"))
    assert told("deploy", without_surge(3), cluster=cluster) == (FINE, True, 3, 3)
    assert told("deploy", without_surge(4), cluster=cluster) == (BAD, True, 3, 3)


def test_a_running_pod_that_lacks_its_devices_makes_it_unknown() -> None:
    live = running_of(by_resource(3), "n0", "n0", "n1")
    assert told("deploy", by_resource(4), cluster=(*MIXED, *live))[0] == UNKNOWN
    assert told("deploy", by_resource(4), cluster=(*MIXED, *live, *claims_of(live, "n1")))[0] == UNKNOWN


def test_preemption_frees_what_a_plugin_offers_and_no_devices() -> None:
    """On trial, the scheduler leaves the claims of victims allocated."""
    ranks = [
        other("PriorityClass", name, "scheduling.k8s.io/v1", value=value) for name, value in (("low", 1), ("high", 9))
    ]
    low, high = by_resource(3), by_resource(2)
    low["metadata"]["name"], low["spec"]["template"]["spec"]["priorityClassName"] = "serve", "low"
    high["spec"]["template"]["spec"]["priorityClassName"] = "high"
    low["spec"]["selector"] = {"matchLabels": {"app": "serve"}}
    low["spec"]["template"]["metadata"]["labels"] = {"app": "serve"}
    live = running_of(low, "n0", "n0", "n1")
    for each in (one for one in live if one["kind"] == "Pod"):
        each["spec"]["priority"] = 1
    cluster = (*MIXED, *live, *claims_of(live, "n0"), *ranks)
    assert told("deploy", low, high, cluster=cluster)[2:] == (1, 1)
