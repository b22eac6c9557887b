"""Further nodes of a group: what they may be like, so that no error is false. Each case was a false error once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from kubesched_lint.engine.model.nodes.node import NodePool
from kubesched_lint.findings import Severity
from tests.pools.test_node_groups import ALONE, GROUP, cluster_of, deployment, found, node

ERROR = Severity.ERROR


def errors(manifests: str, nodes: Sequence[object], *others: object, said: str = "complete") -> list[str]:
    """The rules of the errors about Deployment shop/web."""
    return [
        f.rule
        for f in found(manifests, cluster_of(nodes, *others, said=said))
        if f.severity is ERROR and f.object.name == "web"
    ]


def web(spec: str = "", replicas: int = 6, cpu: str = "3") -> str:
    requests = f"{{requests: {{cpu: '{cpu}', memory: 64Mi}}}}"
    return deployment(f"{spec}\n      containers: [{{name: c, image: i, resources: {requests}}}]", replicas)


def agent(spec: str, cpu: str = "2", meta: str = "") -> str:
    return f"""\
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: agent{meta}, namespace: shop}}
spec:
  selector: {{matchLabels: {{app: agent{meta}}}}}
  template:
    metadata: {{labels: {{app: agent{meta}}}}}
    spec:
      {spec}
      containers: [{{name: c, image: i, PORTS resources: {{requests: {{cpu: '{cpu}', memory: 64Mi}}}}}}]
""".replace("PORTS ", "ports: [{containerPort: 80, hostPort: 80}]," if meta else "")


THREE = [node(f"n{i}", f"eu-1{'abc'[i]}", {GROUP: "g"}, cpu="4") for i in range(3)]
HIGH = """\
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 100000
"""
QUOTA = """\
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: few, namespace: shop}
spec: {hard: {pods: "6"}}
"""
LOST = (
    "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {a: b}}, "
)


@pytest.mark.parametrize(
    "manifests",
    [
        web() + agent("", cpu="5"),
        web() + agent("schedulingGates: [{name: x}]"),
        web() + agent("schedulerName: other"),
        web() + agent(f"{LOST}topologyKey: kubernetes.io/hostname}}]}}}}"),
        web(cpu="2500m") + agent("", cpu="1", meta="-a") + agent("", cpu="1", meta="-b"),
        web("priorityClassName: high") + agent("") + HIGH,
        web() + agent("") + QUOTA,
        web("priorityClassName: unheard-of") + agent(""),
        web("priorityClassName: high") + agent("priorityClassName: unheard-of") + HIGH,
    ],
    ids=[
        *("too-large", "gated", "other-scheduler", "no-match", "same-port", "lower-priority", "quota"),
        *("unknown-class", "daemonset-of-unknown-class"),
    ],
)
def test_a_daemonset_that_may_not_run_takes_no_room_on_further_nodes(manifests: str) -> None:
    assert not errors(manifests, THREE)


def test_a_daemonset_below_pods_of_priority_0_takes_no_room() -> None:
    low = HIGH.replace("high", "low").replace("100000", "-10")
    assert not errors(web() + agent("priorityClassName: low") + low, THREE)
    assert errors(web("priorityClassName: low") + agent("priorityClassName: low") + low, THREE)


def test_a_daemonset_that_runs_takes_its_room_on_further_nodes() -> None:
    assert errors(web() + agent(""), THREE)


def labelled(*labels: Mapping[str, str], zones: str = "abc", groups: str = "") -> list[dict[str, object]]:
    return [
        node(f"n{i}", f"eu-1{zones[i]}", {GROUP: f"g{groups[i : i + 1]}", **own}, cpu="4")
        for i, own in enumerate(labels)
    ]


TYPE = "node.kubernetes.io/instance-type"
ZONE_ID = "topology.k8s.aws/zone-id"


@pytest.mark.parametrize(
    ("spec", "replicas", "nodes"),
    [
        (
            ALONE.replace("KEY", "rack"),
            3,
            labelled({TYPE: "m6i.xlarge", "rack": "r1"}, {TYPE: "m5.xlarge", "rack": "r2"}),
        ),
        (ALONE.replace("KEY", ZONE_ID), 3, labelled({ZONE_ID: "z1"}, {ZONE_ID: "z2"}, groups="ab")),
        (ALONE.replace("KEY", "dc/rack_name"), 3, labelled({"dc/rack_name": "r1"}, {"dc/rack_name": "r1"})),
    ],
    ids=["rack-of-one-machine-each", "zone-id-of-one-node", "rack-of-all-nodes"],
)
def test_a_place_of_one_node_is_not_the_place_of_its_group(
    spec: str, replicas: int, nodes: list[dict[str, object]]
) -> None:
    assert not errors(deployment(spec, replicas), nodes)


def test_a_requirement_of_a_node_pool_that_nobody_wrote_down_may_give_another_value() -> None:
    nodes = [node(f"n{i}", labels={"karpenter.sh/nodepool": "p", "team": "a"}, cpu="4") for i in range(2)]
    assert not errors(web("nodeSelector: {team: b}", 1, "1"), nodes)
    assert errors(web("nodeSelector: {taem: a}", 1, "1"), nodes)
    assert errors(web("nodeSelector: {karpenter.sh/nodepool: q}", 1, "1"), nodes)


def test_a_further_node_may_be_in_a_place_of_today() -> None:
    cache = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "cache", "namespace": "shop", "labels": {"app": "cache"}},
        "spec": {
            "nodeName": "n0",
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3900m"}}}],
        },
        "status": {"phase": "Running"},
    }
    beside = (
        "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: "
        f"{{app: cache}}}}, topologyKey: {ZONE_ID}}}]}}}}"
    )
    nodes = labelled(*({ZONE_ID: f"euw1-az{i}"} for i in (1, 2, 3)))
    assert not errors(web(beside, 2, "1"), nodes, cache)


@pytest.mark.parametrize(
    ("selector", "labels"),
    [
        (
            "failure-domain.beta.kubernetes.io/zone: z1",
            [{"failure-domain.beta.kubernetes.io/zone": f"z{i}"} for i in (1, 2)],
        ),
        ("topology.ebs.csi.aws.com/zone: z1", [{"topology.ebs.csi.aws.com/zone": f"z{i}"} for i in (1, 2)]),
        (
            "topology.kubernetes.io/region: R2",
            [
                {"topology.kubernetes.io/zone": "nova-a", "topology.kubernetes.io/region": "R1"},
                {"topology.kubernetes.io/zone": "nova-b", "topology.kubernetes.io/region": "R2"},
            ],
        ),
        ("kubernetes.io/hostname: n7", [{"a": "b"}]),
    ],
    ids=["beta-zone", "csi-zone", "region", "hostname"],
)
def test_further_nodes_have_the_places_and_names_that_nodes_have(selector: str, labels: list[dict[str, str]]) -> None:
    nodes = [node(f"n{i}", "", {GROUP: "g", **own}, cpu="4") for i, own in enumerate(labels)]
    assert not errors(web(f"nodeSelector: {{{selector}}}", 10, "1"), nodes)


def test_a_group_that_has_a_node_without_a_zone_may_get_another() -> None:
    nodes = [node("n1", "eu-1a", {GROUP: "g"}), node("n2", "", {GROUP: "g"})]
    nowhere = (
        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
        "[{matchExpressions: [{key: topology.kubernetes.io/zone, operator: DoesNotExist}]}]}}}"
    )
    assert not errors(web(nowhere, 5, "1"), nodes)


def test_a_fargate_node_leaves_the_answer_to_the_user_and_the_premise_in_the_proof() -> None:
    fargate = node("f", "eu-1a", {"eks.amazonaws.com/compute-type": "fargate"}, cpu="2")
    (finding,) = [
        f
        for f in found(web(replicas=1, cpu="8"), cluster_of([*THREE, fargate], said="complete"))
        if f.severity is ERROR
    ]
    assert "no Fargate profile selects its pods" in finding.evidence.assumes
    assert not errors(web(replicas=1, cpu="8"), [*THREE, fargate], said="")


@pytest.mark.parametrize(
    ("nodes", "declared", "seen"),
    [
        ([node("f", labels={"eks.amazonaws.com/compute-type": "fargate"})], False, "these nodes"),
        (THREE, True, "the node group g"),
    ],
    ids=["fargate-alone", "open-list-and-pools-alone"],
)
def test_what_the_known_nodes_do_not_cure_would_be_an_error_if_they_were_all(
    nodes: Sequence[object], declared: bool, seen: str
) -> None:
    pools = (NodePool("g", "cluster-autoscaler", labels={GROUP: "g"}, zones=("eu-1a",)),) if declared else ()
    cluster = cluster_of(nodes, said="open" if declared else "", declared=pools)
    findings = [f for f in found(web("nodeSelector: {pool: genral}"), cluster) if f.severity > Severity.NOTE]
    assert [(f.severity, f.if_complete) for f in findings] == [(Severity.WARNING, ERROR)]
    assert findings[0].evidence.assumes[-1].startswith(f"there are no others than {seen} (")


def test_a_group_may_get_a_node_in_a_zone_that_only_a_pool_serves() -> None:
    nodes = [node(f"n{i}", f"eu-1{'ab'[i]}", {GROUP: "g"}) for i in range(2)]
    declared = (NodePool("gpu", "cluster-autoscaler", labels={"pool": "gpu"}, zones=("eu-1c",)),)
    per_zone = deployment(ALONE.replace("KEY", "topology.kubernetes.io/zone"), 3)
    findings = found(per_zone, cluster_of(nodes, said="complete", declared=declared))
    assert not [f for f in findings if f.severity is ERROR and f.rule.startswith("anti-affinity")]


def test_no_message_names_a_node_that_does_not_exist() -> None:
    nodes = [node(f"n{i}", "eu-1a", {GROUP: "g", "rack": f"r{i}"}) for i in range(3)]
    for spec in ("nodeSelector: {kubernetes.io/hostname: n9, pool: x}", "nodeSelector: {rak: r1}"):
        for finding in found(web(spec, 1, "1"), cluster_of(nodes, said="complete")):
            text = f"{finding.message} {finding.help} {finding.evidence.text}"
            assert "g-eu-1a" not in text, text
