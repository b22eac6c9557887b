"""Pods that are resized in place count as kube-scheduler v1.36 counts them.

Upstream: ``PodRequests`` with UseStatusResources, ``component-helpers/resource/helpers.go`` of release-1.36.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from kubesched_lint.engine.admission.quotas import asked
from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.cluster.collecting.pods import PodReader
from kubesched_lint.engine.cluster.pods.known_pods import class_key
from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.model.resources import is_resizing, made_anew, nonzero_requests, settled
from kubesched_lint.sources.capture.resources import RESOURCES
from kubesched_lint.sources.redaction.redact import Redactor

Value = dict[str, Any]
INFEASIBLE = {"type": "PodResizePending", "status": "True", "reason": "Infeasible", "message": "hunter2 is too small"}
DEFERRED = {**INFEASIBLE, "reason": "Deferred"}
IN_PROGRESS = {"type": "PodResizeInProgress", "status": "True"}


def container(cpu: str = "1", name: str = "c", limit: str = "", **more: Any) -> Value:
    limits = {"limits": {"cpu": limit}} if limit else {}
    return {"name": name, "resources": {"requests": {"cpu": cpu}, **limits}, **more}


def status(allocated: str = "", actual: str | None = "", name: str = "c", limit: str = "") -> Value:
    """``actual`` None: the kubelet says nothing of what it has set; ``""``: the requests are absent."""
    found: Value = {"name": name, "image": "hunter2", "containerID": "containerd://hunter2", "ready": True}
    if allocated:
        found["allocatedResources"] = {"cpu": allocated}
    if actual is not None:
        limits = {"limits": {"cpu": limit}} if limit else {}
        found["resources"] = {**({"requests": {"cpu": actual}} if actual else {}), **limits}
    return found


def pod(*containers: Value, conditions: tuple[Value, ...] = (), of_pod: Value | None = None, **said: Any) -> Value:
    spec = {"nodeName": "n1", "containers": list(containers), **({"resources": of_pod} if of_pod else {})}
    spec["initContainers"] = said.pop("init", [])
    ready = {"type": "Ready", "status": "True"}
    conditions = (ready, *conditions)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "shop"},
        "spec": spec,
        "status": {"phase": "Running", "conditions": list(conditions), **said},
    }


def read(value: Value) -> Pod:
    """The pod as every reader sees it: plain values, JSON, a snapshot, a redacted snapshot."""
    plain, quick = PodReader().value(value), PodReader().json(json.dumps(value).encode())
    kept = captured(value)
    assert plain is not None
    assert same_values(plain, quick)
    assert same_values(plain, PodReader().value(kept))
    redacted = PodReader().value(Redactor(b"secret").item(kept))
    assert redacted is not None
    assert redacted.pod.requests == plain.pod.requests
    assert b"hunter2" not in json.dumps(kept).encode()
    return plain.pod


def captured(value: Value) -> Value:
    resource = next(each for each in RESOURCES if each.kind == "Pod")
    kept = msgspec.json.decode(json.dumps(value).encode(), type=resource.part)
    assert resource.cut is not None
    assert resource.cut(kept)
    found: Value = json.loads(msgspec.json.encode(kept))
    return found


CASES = {
    # determineEffectiveRequests: max(rs.Spec, rs.Actuated, rs.Allocated)
    "as requested": (pod(container("1"), containerStatuses=[status("1", "1")]), 1000),
    "grown, and not yet allocated": (
        pod(container("3"), conditions=(DEFERRED,), containerStatuses=[status("1", "1")]),
        3000,
    ),
    "shrunk, and still allocated": (pod(container("1"), containerStatuses=[status("3", "3")]), 3000),
    "shrunk and allocated, and not yet set": (
        pod(container("1"), conditions=(IN_PROGRESS,), containerStatuses=[status("1", "3")]),
        3000,
    ),
    # if IsPodResizeInfeasible(pod): return max(rs.Actuated, rs.Allocated)
    "infeasible": (pod(container("3"), conditions=(INFEASIBLE,), containerStatuses=[status("1", "1")]), 1000),
    "infeasible beside one in progress": (
        pod(container("3"), conditions=(IN_PROGRESS, INFEASIBLE), containerStatuses=[status("1", "2")]),
        2000,
    ),
    # IsPodResizeInfeasible: return condition.Reason == v1.PodReasonInfeasible of the first such condition
    "deferred before infeasible": (
        pod(container("3"), conditions=(DEFERRED, INFEASIBLE), containerStatuses=[status("1", "1")]),
        3000,
    ),
    # if found && cs.Resources != nil
    "infeasible without a status": (pod(container("3"), conditions=(INFEASIBLE,)), 3000),
    "infeasible, and nothing set": (
        pod(container("3"), conditions=(INFEASIBLE,), containerStatuses=[status("1", None)]),
        3000,
    ),
    "infeasible, and nothing requested before": (
        pod(container("3"), conditions=(INFEASIBLE,), containerStatuses=[status()]),
        0,
    ),
    "allocated, and nothing said of what is set": (pod(container("1"), containerStatuses=[status("3", None)]), 1000),
    "of another name": (pod(container("1"), containerStatuses=[status("3", "3", "d")]), 1000),
    # for each container: addResourceList(reqs, containerReqs)
    "one grows and one shrinks": (
        pod(
            container("3"),
            container("1", "d"),
            containerStatuses=[status("1", "1"), status("3", "3", "d")],
        ),
        6000,
    ),
    # init containers: only if *container.RestartPolicy == v1.ContainerRestartPolicyAlways
    "a sidecar": (
        pod(
            container("1"),
            init=[container("1", "s", restartPolicy="Always")],
            initContainerStatuses=[status("2", "2", "s")],
        ),
        3000,
    ),
    "an init container": (
        pod(container("1"), init=[container("1", "i")], initContainerStatuses=[status("4", "4", "i")]),
        1000,
    ),
    # PodRequests: if pod.Status.Resources != nil: reqs[resourceName] = effectiveReqs[resourceName]
    "pod-level": (
        pod(
            container("1"),
            of_pod={"requests": {"cpu": "2"}},
            resources={"requests": {"cpu": "4"}},
            allocatedResources={"cpu": "2"},
        ),
        4000,
    ),
    "pod-level, infeasible": (
        pod(
            container("1"),
            conditions=(INFEASIBLE,),
            of_pod={"requests": {"cpu": "4"}},
            resources={"requests": {"cpu": "2"}},
            allocatedResources={"cpu": "2"},
        ),
        2000,
    ),
    "pod-level, and nothing set": (
        pod(container("1"), of_pod={"requests": {"cpu": "2"}}, allocatedResources={"cpu": "4"}),
        2000,
    ),
    "pod-level, infeasible, and nothing requested before": (
        pod(container("1"), conditions=(INFEASIBLE,), of_pod={"requests": {"cpu": "4"}}, resources={}),
        0,
    ),
    "the status of a pod without pod-level requests": (
        pod(container("1"), resources={"requests": {"cpu": "4"}}, allocatedResources={"cpu": "4"}),
        1000,
    ),
}


@pytest.mark.parametrize(("value", "cpu"), CASES.values(), ids=CASES)
def test_a_bound_pod_counts_as_upstream_counts_it(value: Value, cpu: int) -> None:
    assert read(value).requests.get("cpu", 0) == cpu


@pytest.mark.parametrize(("value", "cpu"), CASES.values(), ids=CASES)
def test_its_next_copy_counts_with_the_spec(value: Value, cpu: int) -> None:
    found = read(value)
    without = read({**value, "status": {"phase": "Running"}})
    assert same_values(made_anew(found), without)
    assert is_resizing(found) == (found.requests != without.requests)
    assert (class_key(found, False) == class_key(without, False)) == (found.requests == without.requests)


@pytest.mark.parametrize(
    ("case", "cpu"),
    {
        "shrunk, and still allocated": 1000,
        "shrunk and allocated, and not yet set": 1000,
        "grown, and not yet allocated": 3000,
        "infeasible": 1000,
        "infeasible beside one in progress": 1000,
        "one grows and one shrinks": 4000,
        "pod-level": 2000,
        "pod-level, infeasible": 2000,
    }.items(),
)
def test_what_the_kubelet_does_ends(case: str, cpu: int) -> None:
    """A kubelet sets what it has allocated, allocates less at once, and never more of a resize that is infeasible."""
    found = read(CASES[case][0])
    later = settled(found)
    assert later.requests["cpu"] == cpu
    assert (later is found) == (found.requests == later.requests)
    assert settled(later) is later


def test_scoring_adds_its_defaults_to_what_the_pod_holds() -> None:
    """applyNonMissing(containerReqs, …) comes after determineEffectiveRequests."""
    bare = pod(container("3"), conditions=(INFEASIBLE,), containerStatuses=[status()])
    assert nonzero_requests(read(bare)) == (100, 200 << 20)
    assert nonzero_requests(read(CASES["infeasible"][0])) == (1000, 200 << 20)


def test_quotas_count_what_the_pod_holds() -> None:
    """PodUsageFunc: PodRequests and PodLimits, both with UseStatusResources."""
    grown = container("3", limit="6")
    waits, fails = (
        read(pod(grown, conditions=(why,), containerStatuses=[status("1", "1", limit="2")]))
        for why in (DEFERRED, INFEASIBLE)
    )
    assert [asked(waits, entry) for entry in ("requests.cpu", "limits.cpu")] == [3000, 6000]
    assert [asked(fails, entry) for entry in ("requests.cpu", "limits.cpu")] == [1000, 2000]


def test_a_pod_that_waits_counts_with_its_spec() -> None:
    """computePodResourceRequest: no UseStatusResources."""
    value = pod(container("1"), containerStatuses=[status("3", "3")])
    del value["spec"]["nodeName"]
    assert read(value).requests == {"cpu": 1000}


def test_pods_share_one_pod_while_their_statuses_say_the_same() -> None:
    reader, texts = PodReader(), []
    for number in range(6):
        value = pod(container("1"), containerStatuses=[status("1", "3" if number % 2 else "1")])
        value["metadata"] |= {"name": f"p{number}"}
        value["status"]["containerStatuses"][0]["containerID"] = f"containerd://{number}"
        texts.append(json.dumps(value).encode())
    found = [bound for text in texts if isinstance(bound := reader.json(text), BoundPod)]
    assert len(found) == 6
    assert len({bound.pod for bound in found}) == 2


def test_a_snapshot_keeps_the_sizes_of_resized_pods_alone() -> None:
    plain = captured(pod(container("1"), of_pod={"requests": {"cpu": "1"}}, containerStatuses=[status("1", "1")]))
    assert set(plain["status"]) == {"phase", "conditions"}
    resized = captured(pod(container("3"), conditions=(INFEASIBLE,), containerStatuses=[status("1", "1")]))
    assert resized["status"]["containerStatuses"] == [
        {"name": "c", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}
    ]
    assert resized["status"]["conditions"][1] == {
        "type": "PodResizePending",
        "status": "True",
        "reason": "Infeasible",
    }
