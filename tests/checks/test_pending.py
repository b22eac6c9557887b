"""Waiting pods of a snapshot: the model's message, and whether kube-scheduler's says the same."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scenario.settings.user_settings import Premises
from kubesched_lint.explaining.pending import AGREES, DIFFERS, OLDER, UNTESTED, Waiting, agreement, waiting_pods
from kubesched_lint.library import load_cluster
from kubesched_lint.sources.capture.resources import RESOURCES

OURS = "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: "
OURS += "2 Preemption is not helpful for scheduling."
CAPTURED, JUST_BEFORE, LONG_BEFORE = "2026-11-01T12:00:00Z", "2026-11-01T11:57:00Z", "2026-11-01T09:00:00Z"


def node(name: str) -> dict[str, Any]:
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta,
        "status": {"allocatable": {"cpu": "2", "memory": "8Gi", "pods": "110"}},
    }


def pod(name: str, message: str = "", *, cpu: str = "4", on: str = "", **more: Any) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": name}},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}],
            **({"nodeName": on} if on else {}),
            **more.pop("spec", {}),
        },
        "status": {"phase": "Pending", **({"conditions": [condition]} if message else {}), **more},
    }


def snapshot(*pods: dict[str, Any]) -> Cluster:
    meta = {"kinds": ["Node", "Pod", "PersistentVolumeClaim"], "capturedAt": CAPTURED, "kubernetesVersion": "v1.36.2"}
    head = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSnapshot", "metadata": meta}
    return load_cluster(objects=[{**head, "items": [node("a"), node("b"), *pods]}])


def only(*pods: dict[str, Any]) -> Waiting:
    (found,) = waiting_pods(Scenario(Inventory(), snapshot(*pods))) or ()
    return found


def test_the_model_has_the_message_of_kube_scheduler() -> None:
    found = only(pod("big", OURS))
    assert (found.ours, found.theirs, found.verdict) == (OURS, OURS, AGREES)


def test_another_message_differs() -> None:
    assert only(pod("big", OURS.replace("2 Insufficient cpu", "2 Too many pods"))).verdict == DIFFERS


def test_a_message_about_another_number_of_nodes_is_older() -> None:
    found = only(pod("big", OURS.replace("0/2", "0/1").replace("2 I", "1 I").replace("2 P", "1 P")))
    assert (found.verdict, found.why) == (OLDER, "it counts 1 node, and there are 2 now")


@pytest.mark.parametrize(("when", "verdict"), [(JUST_BEFORE, OLDER), (LONG_BEFORE, DIFFERS)])
def test_a_message_may_be_older_than_pods_that_have_just_started(when: str, verdict: str) -> None:
    said = OURS.replace("2 Insufficient cpu", "2 Too many pods")
    assert only(pod("big", said), pod("small", cpu="1", on="a", startTime=when)).verdict == verdict


@pytest.mark.parametrize(
    ("waiting", "why"),
    [
        (pod("new"), "kube-scheduler has left no message yet"),
        (pod("own", OURS, spec={"schedulerName": "acme"}), "another scheduler, acme, wrote the message"),
        (pod("next", OURS, nominatedNodeName="a"), "preemption has nominated a for it"),
        (pod("hidden", "0/2 nodes are available: 2 (left out)."), "--redact left a part of the message out"),
    ],
)
def test_what_cannot_be_compared_is_not(waiting: dict[str, Any], why: str) -> None:
    found = only(waiting)
    assert (found.verdict, found.why) == (UNTESTED, why)


def test_gated_pods_do_not_wait_for_a_node() -> None:
    gated = pod("gated", "Scheduling is blocked", spec={"schedulingGates": [{"name": "acme.com/quota"}]})
    assert waiting_pods(Scenario(Inventory(), snapshot(gated))) == ()


def test_the_footer_counts() -> None:
    pods = [pod(f"big-{n}", OURS) for n in range(3)]
    other = pod("other", OURS.replace("2 Insufficient cpu", "2 Too many pods"))
    (text,) = agreement(snapshot(*pods, other), Premises())
    assert text == (
        "3 of 4 messages of kube-scheduler about pending pods agree with this model on this cluster; "
        "1 differs (kubesched-lint audit shows both messages)"
    )
    assert [*agreement(snapshot(pod("new")), Premises())] == []


def test_the_footer_of_a_very_large_cluster_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubesched_lint.explaining.pending.MOST_PODS_PENDING", 0)
    (text,) = agreement(snapshot(pod("big", OURS)), Premises())
    assert text == "kubesched-lint audit compares what kube-scheduler says of pending pods with this model"


def test_a_capture_keeps_the_scheduler_s_own_words_only() -> None:
    import msgspec

    (pods,) = (resource for resource in RESOURCES if resource.kind == "Pod")
    value = pod("big", OURS)
    value["status"]["conditions"].append({"type": "Ready", "status": "False", "reason": "x", "message": "secret"})
    part = msgspec.convert(value, pods.part)
    assert pods.cut is not None
    assert pods.cut(part)
    kept = msgspec.to_builtins(part)["status"]["conditions"]
    assert kept == [value["status"]["conditions"][0], {"type": "Ready", "status": "False"}]
    bound = msgspec.convert(pod("bound", OURS, on="a"), pods.part)
    assert pods.cut(bound)
    assert msgspec.to_builtins(bound)["status"]["conditions"] == [{"type": "PodScheduled", "status": "False"}]
