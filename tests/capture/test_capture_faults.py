"""What goes wrong between us and an API server is tried again, is a named gap, or ends in one clear message."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kubesched_lint.sources.capture import CaptureError, Connection, Snapshot, capture, connect
from tests.capture.stand_in import ApiServer, Fault, cut, fine, hang, reset, says, status

NOW = "2026-11-21T04:00:00Z"
PODS = "/api/v1/pods"
pytestmark = pytest.mark.usefixtures("kubeconfig")


def patient(read_seconds: float = 30.0) -> tuple[Connection, list[float]]:
    """A connection that does not really sleep, and how long it would have."""
    naps: list[float] = []
    connection = connect(read_seconds=read_seconds)
    connection.sleep = naps.append
    return connection, naps


def captured(connection: Connection) -> Snapshot:
    return capture(connection, NOW, page=50)


@pytest.mark.parametrize("path", ["/api/v1/nodes", PODS, "/apis/storage.k8s.io/v1/storageclasses"])
def test_a_list_that_is_forbidden_is_a_gap(api: ApiServer, path: str) -> None:
    api.fails(path, status(403, "Forbidden"))
    connection, naps = patient()
    snapshot = captured(connection)
    plural = path.rpartition("/")[2]
    assert snapshot.gaps == (f"{plural}: forbidden (403)",)
    assert not naps, "asking again would not help"
    cluster = snapshot.cluster("c")
    kind = {"nodes": "Node", "pods": "Pod", "storageclasses": "StorageClass"}[plural]
    assert not cluster.has(kind)
    assert cluster.has("PersistentVolume")
    assert f"{plural}: forbidden (403)" in cluster.gaps


def test_a_list_that_becomes_forbidden_between_two_pages_is_a_gap_whole(api: ApiServer) -> None:
    api.fails(PODS, fine, status(403))
    snapshot = captured(patient()[0])
    assert snapshot.gaps == ("pods: forbidden (403)",)
    assert "Pod" not in snapshot.counts


def test_an_expired_token_begins_the_list_anew(api: ApiServer) -> None:
    api.fails(PODS, fine, fine, status(410, "Expired"))
    snapshot = captured(patient()[0])
    assert not snapshot.gaps
    assert snapshot.counts["Pod"] == 199, "none is there twice"
    assert [("continue" in path) for path in api.asked("pods")] == [False, True, True, False, True, True, True]


def test_a_list_that_keeps_expiring_is_asked_for_whole(api: ApiServer) -> None:
    api.fails(PODS, fine, status(410), fine, fine, status(410))
    snapshot = captured(patient()[0])
    assert snapshot.counts["Pod"] == 199
    assert "limit" not in api.asked("pods")[-1]


def test_a_server_that_calls_everything_expired_is_one_message(api: ApiServer) -> None:
    api.fails(PODS, *[status(410)] * 9)
    with pytest.raises(CaptureError, match="pods expire even when they are asked for at once"):
        captured(patient()[0])


@pytest.mark.parametrize("fault", [reset, cut, status(503), status(500), status(429, "", Retry_After="7")])
def test_what_may_pass_is_tried_again(api: ApiServer, fault: Fault) -> None:
    api.fails(PODS, fault, fine, fault, fault)
    connection, naps = patient()
    snapshot = captured(connection)
    assert snapshot.counts["Pod"] == 199
    assert not snapshot.gaps
    assert len(connection.retried) == 3
    assert len(naps) == 3
    assert naps[0] >= 0.5
    assert naps[2] >= 2 * naps[1], "each pause is longer"


def test_the_server_says_how_long_to_wait(api: ApiServer) -> None:
    api.fails(PODS, status(429, "", Retry_After="7"))
    connection, naps = patient()
    captured(connection)
    assert naps == [7.0]


def test_a_server_that_stays_busy_leaves_a_gap(api: ApiServer) -> None:
    api.fails(PODS, *[status(503)] * 4)
    assert captured(patient()[0]).gaps == ("pods: the server failed (503)",)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (reset, r"the connection broke while pods was read: .*\(4 attempts\)"),
        (cut, r"the connection broke while pods was read: .*\(4 attempts\)"),
        (hang(0.6), r"no answer for pods within 0.15 s \(--request-timeout\) \(4 attempts\)"),
    ],
)
def test_what_does_not_pass_is_one_message(api: ApiServer, fault: Fault, words: str) -> None:
    api.fails(PODS, *[fault] * 4)
    with pytest.raises(CaptureError, match=words) as caught:
        captured(patient(0.15 if "within" in words else 30.0)[0])
    assert str(caught.value).startswith(f"{api.url}: ")
    assert len(api.asked("pods")) == 4


def test_wrong_credentials_end_at_once(api: ApiServer) -> None:
    with pytest.raises(CaptureError, match="does not accept the credentials of context stranger"):
        captured(connect("stranger"))
    assert len(api.requests) == 1


def test_nobody_listens() -> None:
    connection = connect("gone")
    connection.sleep = lambda _: None
    with pytest.raises(CaptureError, match="refused; is the API server running"):
        captured(connection)


def test_a_context_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(CaptureError, match="no context `hero`: did you mean `here`"):
        connect("hero")
    with pytest.raises(CaptureError, match=r"no context `production`; the kubeconfig has here, stranger, gone"):
        connect("production")


@pytest.mark.parametrize("text", ["{", "clusters: 7", "- a\n- b", "", "\x00"])
def test_a_kubeconfig_of_any_shape_is_one_message(kubeconfig: Path, text: str) -> None:
    kubeconfig.write_text(text)
    with pytest.raises(CaptureError):
        connect()


def test_no_kubeconfig_at_all(kubeconfig: Path) -> None:
    kubeconfig.unlink()
    with pytest.raises(CaptureError, match="Set KUBECONFIG, or run inside a pod"):
        connect()


def test_a_login_page_is_not_an_api_server(api: ApiServer) -> None:
    api.fails("/version", says("<html>Please log in</html>"))
    with pytest.raises(CaptureError, match="does not answer as an API server does, but with '<html>"):
        captured(patient()[0])


@pytest.mark.parametrize(
    "answer",
    ['{"items":[', '{"items":7}', '{"items":[{"metadata":{"name":7},"spec":{}}]}', "null", "[]", '{"items":[{}]}'],
)
def test_an_answer_of_another_shape_is_a_gap(api: ApiServer, answer: str) -> None:
    api.fails(PODS, says(answer))
    (gap,) = captured(patient()[0]).gaps
    assert gap.startswith("pods: the answer is not what the API promises: ")


def test_without_discovery_the_known_versions_are_asked_for(api: ApiServer) -> None:
    api.fails("/apis", status(403))
    snapshot = captured(patient()[0])
    assert snapshot.gaps == ("API groups: not listed (403)",)
    assert snapshot.counts["Deployment"] == 4
    assert snapshot.cluster("c").has("NodePool"), "404: there are none"


def served(*groups: tuple[str, str]) -> Callable[[ApiServer], None]:
    def arrange(api: ApiServer) -> None:
        listed = [{"name": name, "versions": [{"version": version}]} for name, version in groups]
        api.extra["/apis"] = (200, {"groups": listed})

    return arrange


_BASE = [(g, "v1") for g in ("apps", "batch", "policy", "storage.k8s.io", "scheduling.k8s.io", "node.k8s.io")]


def test_an_api_in_no_version_that_is_known_is_a_gap(api: ApiServer) -> None:
    served(*_BASE, ("autoscaling", "v3"), ("karpenter.sh", "v9"))(api)
    assert captured(patient()[0]).gaps == (
        "horizontalpodautoscalers: not served as autoscaling/v2 or autoscaling/v1, only as v3",
        "nodepools.karpenter.sh: not served as karpenter.sh/v1, only as v9",
    )


def test_karpenter_is_captured_where_it_is_installed(api: ApiServer) -> None:
    served(*_BASE, ("autoscaling", "v1"), ("karpenter.sh", "v1"), ("karpenter.k8s.aws", "v1"))(api)
    api.extra["/apis/autoscaling/v1/horizontalpodautoscalers"] = (200, {"items": []})
    requirement = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"], "minValues": 1}
    inner = {"requirements": [requirement], "taints": [{"key": "spot", "effect": "NoSchedule"}], "expireAfter": "720h"}
    inner["nodeClassRef"] = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "al2023"}
    pool = {
        "metadata": {"name": "general", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "hunter2"}},
        "spec": {
            "template": {"metadata": {"labels": {"team": "a"}}, "spec": inner},
            "limits": {"cpu": "100"},
            "weight": 5,
        },
    }
    node_class = {
        "metadata": {"name": "al2023"},
        "spec": {"userData": "hunter2", "role": "hunter2", "kubelet": {"maxPods": 58, "clusterDNS": ["hunter2"]}},
        "status": {"subnets": [{"id": "hunter2", "zone": "eu-west-1a"}]},
    }
    api.extra["/apis/karpenter.sh/v1/nodepools"] = (200, {"items": [pool]})
    api.extra["/apis/karpenter.k8s.aws/v1/ec2nodeclasses"] = (200, {"items": [node_class]})
    snapshot = captured(patient()[0])
    assert (snapshot.counts["NodePool"], snapshot.counts["EC2NodeClass"]) == (1, 1)
    text = b"".join(snapshot.pieces())
    assert b"hunter2" not in text
    for kept in (b'"minValues":1', b'"maxPods":58', b'"zone":"eu-west-1a"', b'"weight":5'):
        assert kept in text, kept
    (read,) = snapshot.cluster("c").inventory.node_pools
    assert read.name == "general"
    assert read.requirements[0].values == ("spot",)
