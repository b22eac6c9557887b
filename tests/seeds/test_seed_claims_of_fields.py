"""The founding documents' claims about single fields: B12 (fields of spread constraints), D3 (operators)."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.library import load_cluster, simulate
from tests.events.simulated import workload

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def node(name: str, zone: str, taints: tuple[str, ...] = (), **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: zone, **labels}},
        "spec": {"taints": [{"key": key, "effect": "NoSchedule"} for key in taints]},
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}},
    }


def spec(**more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}], **more}


def spread(**more: Any) -> list[dict[str, Any]]:
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **more}
    return [{**constraint, "labelSelector": {"matchLabels": {"app": "web"}}}]


def outcome(pod: dict[str, Any], nodes: list[dict[str, Any]], replicas: int = 4, event: str = "deploy") -> str:
    web = workload("Deployment", "web", replicas, pod)
    (result,) = simulate(objects=[web], cluster=load_cluster(objects=nodes), events=[event]).outcomes
    assert result.proven, result
    return result.text


THREE = [node("a", "za"), node("b", "zb", pool="x"), node("c", "zc", ("dedicated",), pool="x")]


@pytest.mark.parametrize(
    ("policy", "text"), [("Ignore", "2/4 −2"), ("Honor", "4/4 ok")], ids=["Ignore, the default", "Honor"]
)
def test_B12_node_taints_policy_decides_whether_a_closed_zone_counts(policy: str, text: str) -> None:
    """The tainted zone stays at 0 pods, and so each other one at maxSkew."""
    assert outcome(spec(topologySpreadConstraints=spread(nodeTaintsPolicy=policy)), THREE) == text


@pytest.mark.parametrize(
    ("policy", "text"), [("Honor", "4/4 ok"), ("Ignore", "1/4 −3")], ids=["Honor, the default", "Ignore"]
)
def test_B12_node_affinity_policy_decides_whether_a_zone_without_the_label_counts(policy: str, text: str) -> None:
    pod = spec(
        nodeSelector={"pool": "x"},
        topologySpreadConstraints=spread(nodeAffinityPolicy=policy, nodeTaintsPolicy="Honor"),
    )
    assert outcome(pod, THREE) == text


@pytest.mark.parametrize(("least", "text"), [(3, "4/4 ok"), (4, "3/4 −1")])
def test_B12_min_domains_makes_missing_zones_count_as_empty(least: int, text: str) -> None:
    nodes = [node("a", "za"), node("b", "zb"), node("c", "zc")]
    assert outcome(spec(topologySpreadConstraints=spread(minDomains=least)), nodes) == text


@pytest.mark.parametrize(
    ("keys", "text"), [(["pod-template-hash"], "3/3 ok"), (None, "stuck")], ids=["matchLabelKeys", "without"]
)
def test_B12_match_label_keys_leave_old_pods_out_of_a_rollout(keys: list[str] | None, text: str) -> None:
    """A fourth zone is missing and counts as empty: beside the old pods, no zone takes a new one."""
    more = {"matchLabelKeys": keys} if keys else {}
    nodes = [node("a", "za"), node("b", "zb"), node("c", "zc")]
    assert outcome(spec(topologySpreadConstraints=spread(minDomains=4, **more)), nodes, 3, "rollout") == text


OPERATORS = [
    ({"operator": "In", "values": ["2", "5"]}, {"n2", "n5"}),
    ({"operator": "NotIn", "values": ["2"]}, {"none", "n5"}),
    ({"operator": "Exists"}, {"n2", "n5"}),
    ({"operator": "DoesNotExist"}, {"none"}),
    ({"operator": "Gt", "values": ["2"]}, {"n5"}),
    ({"operator": "Lt", "values": ["5"]}, {"n2"}),
]


@pytest.mark.parametrize(("operator", "names"), OPERATORS, ids=[str(item["operator"]) for item, _ in OPERATORS])
def test_D3_each_operator_of_node_affinity_selects_what_it_says(operator: dict[str, Any], names: set[str]) -> None:
    nodes = [node("n2", "z", size="2"), node("n5", "z", size="5"), node("none", "z")]
    terms = [{"matchExpressions": [{"key": "size", **operator}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    apart = {"requiredDuringSchedulingIgnoredDuringExecution": [_to_itself()]}
    pod = spec(affinity={"nodeAffinity": required, "podAntiAffinity": apart})
    lacking = 3 - len(names)
    assert outcome(pod, nodes, 3) == (f"{len(names)}/3 −{lacking}" if lacking else "3/3 ok")
    only = [each for each in nodes if each["metadata"]["name"] in names]
    assert outcome(pod, only, len(names)) == f"{len(names)}/{len(names)} ok"


def _to_itself() -> dict[str, Any]:
    return {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}


def test_D3_preferred_node_affinity_never_blocks() -> None:
    term = {"weight": 100, "preference": {"matchExpressions": [{"key": "nowhere", "operator": "Exists"}]}}
    pod = spec(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}})
    assert outcome(pod, [node("a", "za")]) == "4/4 ok"
