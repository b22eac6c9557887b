"""Pods that are alike share one decoded Pod, and what is shared is what each would have been by itself."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.cluster.collecting.pods import PodReader
from kubesched_lint.engine.model.pod import BoundPod
from tests import drawn as st
from tests.drawn import given
from tests.share import examples

CLUSTERS = Path(__file__).parents[2] / "fixtures" / "clusters"
PODS = [
    item
    for item in json.loads(gzip.decompress((CLUSTERS / "kubectl-get.json.gz").read_bytes()))["items"]
    if item["kind"] == "Pod"
]


def pod(name: str = "p", *, spec: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **meta}, "spec": {"containers": [{"name": "c"}], **(spec or {})}}


def read(*pods: dict[str, Any]) -> list[BoundPod]:
    reader = PodReader()
    found = [reader.json(json.dumps(p).encode()) for p in pods]
    return [p for p in found if p is not None]


def test_the_recorded_pods_are_some_twenty_kinds_of_pod() -> None:
    bound = read(*PODS)
    assert len(bound) == 199
    assert len({b.pod for b in bound}) == 19


def test_sharing_changes_nothing() -> None:
    reader = PodReader()
    assert same_values(read(*PODS), [reader.value(p) for p in PODS])


def test_equal_pods_of_a_controller_share_one_pod_also_as_plain_values() -> None:
    """Those of sketches and of YAML come so."""

    def owned(name: str, owner: str, node: str, cpu: str) -> dict[str, Any]:
        owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}]
        requests = {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], "nodeName": node}
        return pod(name, spec=requests, namespace="shop", ownerReferences=owners)

    reader = PodReader()
    pods = [owned(f"{owner}-{i}", owner, f"n{i}", "1") for i in range(3) for owner in ("a", "b")]
    bound = [b for b in map(reader.value, pods) if b is not None]
    assert [b.node for b in bound] == ["n0", "n0", "n1", "n1", "n2", "n2"]
    assert len({b.pod for b in bound if b.owner is not None and b.owner.name == "a"}) == 1
    other = reader.value(owned("a-3", "a", "n3", "2"))
    assert other is not None
    assert other.pod.requests["cpu"] == 2_000
    assert other.pod not in {b.pod for b in bound}


def test_token_volumes_with_random_names_do_not_set_pods_apart() -> None:
    def one(token: str) -> dict[str, Any]:
        mounts = [{"name": token, "mountPath": "/var/run/secrets"}]
        return pod(
            token,
            spec={
                "volumes": [{"name": token, "projected": {"sources": []}}, {"name": "d", "emptyDir": {}}],
                "containers": [{"name": "c", "volumeMounts": mounts}],
            },
        )

    a, b = read(one("kube-api-access-abcde"), one("kube-api-access-fghij"))
    assert a.pod is b.pod


def test_claims_do() -> None:
    def one(claim: str) -> dict[str, Any]:
        return pod(claim, spec={"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": claim}}]})

    a, b = read(one("data-0"), one("data-1"))
    assert [v.claim for v in a.pod.volumes] == ["data-0"]
    assert [v.claim for v in b.pod.volumes] == ["data-1"]


def pinned(node: str, owner: str = "DaemonSet", **spec: Any) -> dict[str, Any]:
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    owners = [{"kind": owner, "name": "agent", "uid": "1", "controller": True}]
    return pod(f"agent-{node}", spec={"nodeName": node, "affinity": affinity, **spec}, ownerReferences=owners)


def test_what_pods_share_beside_names_and_images_is_decoded_once() -> None:
    def one(name: str) -> dict[str, Any]:
        container = {"name": name, "image": name, "resources": {"requests": {"cpu": "1"}}}
        spec = {"containers": [container], "initContainers": [container], "tolerations": [{"key": "a"}]}
        return pod(name, spec=spec, labels={"app": name}, namespace=name)

    a, b = (bound.pod for bound in read(one("a"), one("b")))
    assert a is not b
    assert (a.namespace, a.labels) == ("a", {"app": "a"})
    assert (b.namespace, b.labels) == ("b", {"app": "b"})
    assert [(c.name, c.image) for c in (*b.containers, *b.init_containers)] == [("b", "b"), ("b", "b")]
    assert a.tolerations is b.tolerations
    assert a.requests is b.requests


def test_daemon_pods_share_although_each_is_pinned_to_its_node() -> None:
    a, b = read(pinned("n1"), pinned("n2"))
    assert a.pod is b.pod
    assert a.pod.required_node_terms is None
    assert (a.node, b.node) == ("n1", "n2")


def test_a_waiting_daemon_pod_and_pins_of_others_stay_as_they_are() -> None:
    waiting = pinned("n1")
    del waiting["spec"]["nodeName"]
    a, b, c = read(waiting, pinned("n1", "ReplicaSet"), pinned("n1"))
    assert a.pod.required_node_terms
    assert b.pod.required_node_terms
    assert c.pod.required_node_terms is None


def test_a_label_that_equals_the_node_name_is_no_pin() -> None:
    def one(node: str) -> dict[str, Any]:
        term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"on": node}}}
        daemon = pinned(node)
        daemon["spec"]["affinity"]["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        return daemon

    a, b = read(one("n1"), one("n2"))
    assert a.pod is not b.pod
    assert a.pod.required_anti_affinity != b.pod.required_anti_affinity


def test_owners_times_and_states_are_each_pods_own() -> None:
    first = pod("a", creationTimestamp="2026-01-01T00:00:00Z", deletionTimestamp="2026-01-02T00:00:00Z")
    first["status"] = {"conditions": [{"type": "Ready", "status": "False"}], "startTime": "2026-01-01T00:00:01Z"}
    second = pod("b", ownerReferences=[{"kind": "Job", "name": "j", "uid": "u", "controller": True}])
    second["status"] = {"nominatedNodeName": "n9"}
    a, b = read(first, second)
    assert a.pod is b.pod
    assert (a.terminating, a.ready, a.created, a.start_time) == (
        True,
        False,
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:01Z",
    )
    assert b.owner is not None
    assert (b.terminating, b.ready, b.owner.kind, b.owner.name, b.nominated_node) == (False, True, "Job", "j", "n9")


@pytest.mark.parametrize(
    ("finalizers", "held"),
    [(None, False), (["batch.kubernetes.io/job-tracking"], False), (["example.com/hold"], True)],
)
def test_a_terminating_pod_is_held_by_finalizers_but_those_of_jobs(finalizers: list[str] | None, held: bool) -> None:
    going = pod("a", finalizers=finalizers, deletionTimestamp="2026-01-02T00:00:00Z")
    staying = pod("a", finalizers=finalizers)
    for bound in (*read(going), PodReader().value(going)):
        assert bound is not None
        assert bound.kept_by_finalizers is held
    assert not read(staying)[0].kept_by_finalizers


_VALUES: dict[str, st.Drawn[Any]] = {
    "nodeName": st.sampled_from(["n1", "n2"]),
    "schedulerName": st.sampled_from(["default-scheduler", "other"]),
    "nodeSelector": st.sampled_from([{"a": "b"}, {"a": "c"}, None]),
    "tolerations": st.sampled_from([[{"operator": "Exists"}], [{"key": "a", "effect": "NoExecute"}], []]),
    "priority": st.sampled_from([0, 1000, None]),
    "priorityClassName": st.sampled_from(["high", ""]),
    "preemptionPolicy": st.sampled_from(["Never", "PreemptLowerPriority"]),
    "runtimeClassName": st.sampled_from(["gvisor", None]),
    "hostNetwork": st.booleans(),
    "overhead": st.sampled_from([{"cpu": "10m"}, {"cpu": "20m"}]),
    "resources": st.sampled_from([{"requests": {"cpu": "1"}}, {"limits": {"cpu": "1"}}, {}]),
    "schedulingGates": st.sampled_from([[{"name": "wait"}], []]),
    "schedulingGroup": st.sampled_from([{"podGroupName": "a"}, {"podGroupName": "b"}]),
    "hostUsers": st.booleans(),
    "resourceClaims": st.sampled_from([[{"name": "gpu"}], []]),
    "topologySpreadConstraints": st.sampled_from(
        [[{"maxSkew": n, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}] for n in (1, 2)]
    ),
    "affinity": st.sampled_from(
        [{"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": k}]}} for k in "ab"]
        + [{"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]}}]
        + [
            {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": n, "preference": {}}]}}
            for n in (1, 2)
        ]
    ),
    "volumes": st.sampled_from(
        [[{"name": "v", "persistentVolumeClaim": {"claimName": c}}] for c in "ab"]
        + [[{"name": "v", "csi": {"driver": d}}] for d in "ab"]
        + [[{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": s}}}}] for s in "ab"]
        + [[{"name": n, "emptyDir": {}}] for n in "ab"]
        + [[{"name": "v", "image": {"reference": r}}] for r in "ab"]
        + [[{"name": "v", "gcePersistentDisk": {"pdName": "d", "readOnly": r}}] for r in (True, False)]
        + [[{"name": "v", "iscsi": {"iqn": i}}] for i in "ab"]
        + [[{"name": "v", "rbd": {"image": i}}] for i in "ab"]
        + [[{"name": "v", "awsElasticBlockStore": {"volumeID": i}}] for i in "ab"]
        + [[{"name": "v", k: {"x": "y"}}] for k in ("azureDisk", "azureFile", "cinder")]
    ),
    "containers": st.lists(
        st.fixed_dictionaries(
            {"name": st.sampled_from("ab")},
            optional={
                "image": st.sampled_from(["x:1", "x:2"]),
                "resources": st.sampled_from([{"requests": {"cpu": c}} for c in ("1", "2")] + [{}]),
                "ports": st.sampled_from([[{"containerPort": 80}], [{"hostPort": 80, "containerPort": 80}], []]),
                "env": st.sampled_from([[{"name": "A"}], []]),
                "restartPolicyRules": st.sampled_from([[{"action": "RestartAllContainers"}], []]),
            },
        ),
        max_size=2,
    ),
    "initContainers": st.lists(
        st.fixed_dictionaries(
            {"name": st.sampled_from("ij")},
            optional={
                "image": st.sampled_from(["x:1", "x:2"]),
                "restartPolicy": st.sampled_from(["Always", None]),
                "resources": st.sampled_from([{"requests": {"cpu": c}} for c in ("1", "2")]),
            },
        ),
        max_size=1,
    ),
}
_PODS = st.builds(
    lambda spec, labels, namespace: {
        "metadata": {"name": "p", "labels": labels, "namespace": namespace},
        "spec": spec,
    },
    st.fixed_dictionaries({}, optional=_VALUES),
    st.sampled_from([{"app": "a"}, {"app": "b"}, None]),
    st.sampled_from(["x", "y"]),
)


@st.composite
def _alike(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Pods that differ in few fields or in none, for only these might be taken for each other; and one more."""
    first, another = draw(_PODS), draw(_PODS)
    changes = draw(st.lists(st.lists(st.sampled_from([*_VALUES]), max_size=2), min_size=1, max_size=6))
    others = [
        {
            "metadata": draw(st.sampled_from([first, another]))["metadata"],
            "spec": {**first["spec"], **{key: draw(_VALUES[key]) for key in keys}},
        }
        for keys in changes
    ]
    return [first, *others, another]


@settings(max_examples=examples(300), deadline=None)
@given(_alike())
def test_whatever_is_alike_was_alike(pods: list[dict[str, Any]]) -> None:
    """A field that the key forgets would let a later pod inherit another's value."""
    assert same_values(read(*pods), [PodReader().value(p) for p in copy.deepcopy(pods)])
    listed = PodReader().listed(
        json.dumps({"items": [{"apiVersion": "v1", "kind": "Pod", **p} for p in pods]}).encode()
    )
    assert listed is not None
    assert same_values([*listed], [PodReader().value(p) for p in copy.deepcopy(pods)])


def test_a_listed_pod_that_waits_says_why() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are …"}
    waiting = {"metadata": {"name": "p"}, "spec": {}, "status": {"phase": "Pending", "conditions": [condition]}}
    listed = PodReader().listed(json.dumps({"items": [{"apiVersion": "v1", "kind": "Pod", **waiting}]}).encode())
    (found,) = listed or ()
    assert found is not None
    assert same_values(found, PodReader().value(waiting))
    assert found.unscheduled is not None
    assert found.unscheduled.message == condition["message"]


@pytest.mark.parametrize(
    "other",
    [
        {"items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "p"}, "spec": {}}]},
        {"items": [{"apiVersion": "x/v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}]},
        {"items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": 1}}]},
        {"items": [], "kind": "PodList"},
    ],
)
def test_a_list_that_may_hold_anything_else_is_left_to_the_slower_reader(other: dict[str, Any]) -> None:
    assert PodReader().listed(json.dumps(other).encode()) is None
