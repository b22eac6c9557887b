"""Node groups inferred from nodes: complete, open or undecided, and what each makes of an error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import dedent

import pytest

from kubesched_lint.commands.lint.run import report_on
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodepools import known
from kubesched_lint.engine.cluster.nodepools.groups import inferred_groups
from kubesched_lint.engine.cluster.nodepools.known import KnownGroups
from kubesched_lint.engine.cluster.nodepools.label_demand import LabelDemand, demand_of
from kubesched_lint.engine.cluster.nodepools.templates import templates
from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
from kubesched_lint.engine.model.nodes.node import AUTOPILOT, KARPENTER, Node, NodePool
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.placing.scenarios import with_groups
from kubesched_lint.findings import Finding, Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from tests.pools.conftest import read_set

GROUP = "eks.amazonaws.com/nodegroup"
ZONES = ("eu-1a", "eu-1b", "eu-1c")


def node(name: str, zone: str = "eu-1a", labels: Mapping[str, str] | None = None, **more: object) -> dict[str, object]:
    """A Node as kubectl prints it; ``taints``, ``cpu``, ``memory`` and ``annotations`` may be given."""
    placed = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone} if zone else {}
    taints = [dict(zip(("key", "value", "effect"), t, strict=True)) for t in more.get("taints", ())]  # type: ignore[attr-defined]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**placed, **(labels or {})}, "annotations": more.get("annotations", {})},
        "spec": {"taints": taints},
        "status": {
            "allocatable": {"cpu": more.get("cpu", "3920m"), "memory": more.get("memory", "14Gi"), "pods": "58"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def cluster_of(
    nodes: Sequence[object], *others: object, said: str = "", declared: tuple[NodePool, ...] = ()
) -> Cluster:
    import json

    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, *others]})
    return cluster_from([("c.json", text.encode())], "c.json").as_stated(ClusterOptions(None, said, declared))


def eks(group: str = "general", count: int = 3, **labels: str) -> list[dict[str, object]]:
    return [
        node(f"{group}-{i}", ZONES[i % 3], {GROUP: group, "pool": group, "team": f"t{i}", **labels})
        for i in range(count)
    ]


def groups_of(nodes: Sequence[object]) -> tuple[NodePool, ...]:
    return inferred_groups(cluster_of(nodes).inventory.nodes, ())


def found(manifests: str, cluster: Cluster) -> list[Finding]:
    book = Rulebook.shipped()
    options = Options(profile="strict")
    report, _ = lint(read_set(dedent(manifests)), cluster, options, book.select("strict", (), ()))
    return list(report.findings)


def severity_of(rule: str, manifests: str, cluster: Cluster) -> Severity | None:
    return next((f.severity for f in found(manifests, cluster) if f.rule == rule), None)


def deployment(spec: str, replicas: int = 1) -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      {spec}
"""


TYPO = deployment("nodeSelector: {pool: genral}\n      containers: [{name: c, image: i}]")
HUGE = deployment("containers: [{name: c, image: i, resources: {requests: {cpu: '1000'}}}]")
ALONE = """\
affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
        {labelSelector: {matchLabels: {app: web}}, topologyKey: KEY}]}}
      containers: [{name: c, image: i}]"""
PER_ZONE = deployment(ALONE.replace("KEY", "topology.kubernetes.io/zone"), 5)
PER_HOST = deployment(ALONE.replace("KEY", "kubernetes.io/hostname"), 30)


# --- what is inferred ------------------------------------------------------------------------------------------------


def test_a_group_has_what_its_nodes_have_in_common_in_every_zone_of_the_cluster() -> None:
    shared = {GROUP: "gpu", "pool": "gpu", "disk": "ssd"}
    one = node("gpu-1", "eu-1a", {**shared, "by-hand": "x"}, taints=[("gpu", "yes", "NoSchedule")])
    two = node("gpu-2", "eu-1a", shared, taints=[("gpu", "yes", "NoSchedule"), ("odd", "", "NoSchedule")])
    gpu = next(g for g in groups_of([one, two, *eks()]) if g.name == "gpu")
    assert gpu.labels == shared
    assert [str(taint) for taint in gpu.taints] == ["gpu=yes:NoSchedule"]
    assert gpu.zones == ZONES
    assert gpu.inferred


def test_each_machine_type_is_a_shape_of_its_own_with_the_most_that_any_node_offers() -> None:
    key = "node.kubernetes.io/instance-type"
    nodes = [
        node("a", labels={GROUP: "g", key: "m6i.large"}, cpu="1930m", memory="7Gi"),
        node("b", labels={GROUP: "g", key: "m6i.large"}, cpu="1930m", memory="7100Mi"),
        node("c", labels={GROUP: "g", key: "m6i.xlarge"}, cpu="3920m"),
    ]
    (group,) = groups_of(nodes)
    assert {s.name: (s.allocatable or {})["cpu"] for s in group.shapes} == {"m6i.large": 1930, "m6i.xlarge": 3920}
    assert group.shapes[0].allocatable is not None
    assert group.shapes[0].most is not None
    assert group.shapes[0].allocatable["memory"] == 7 * 2**30
    assert group.shapes[0].most["memory"] > group.shapes[0].allocatable["memory"]


def test_a_label_that_every_node_has_with_its_own_value_may_take_any_on_a_further_node() -> None:
    (group,) = groups_of(eks())
    demand = demand_of([Pod("shop", {}, node_selector={"team": "t9"})])
    made = list(templates(group, demand, ()))
    assert {t.labels.get("team") for t in made} == {None, "t9"}
    one, two = (made[0].node(number, None) for number in (1, 2))
    assert one.labels["team"] != two.labels["team"], "anti-affinity by this label finds a domain on each further node"


def test_nodes_without_a_zone_make_a_group_without_one() -> None:
    (group,) = groups_of([node("a", "", {GROUP: "g"})])
    (made,) = templates(group, LabelDemand(), ())
    assert "topology.kubernetes.io/zone" not in made.node(1, None).labels


@pytest.mark.parametrize(
    ("labels", "annotations", "name"),
    [
        ({"cloud.google.com/gke-nodepool": "pool-1"}, {}, "pool-1"),
        ({"kubernetes.azure.com/agentpool": "np1"}, {}, "np1"),
        ({"kops.k8s.io/instancegroup": "nodes-eu-1a"}, {}, "nodes-eu-1a"),
        ({}, {"machine.openshift.io/machine": "openshift-machine-api/c-worker-eu-1a-x7k2p"}, "c-worker-eu-1a"),
        ({}, {"cluster.x-k8s.io/machine": "md-0-abc-xyz", "cluster.x-k8s.io/owner-name": "md-0-abc"}, "md-0-abc"),
        ({}, {"cluster.x-k8s.io/machine": "md-0-abc-xyz"}, "md-0-abc"),
    ],
)
def test_groups_are_named_as_their_platform_names_them(
    labels: dict[str, str], annotations: dict[str, str], name: str
) -> None:
    assert [g.name for g in groups_of([node("a", labels=labels, annotations=annotations)])] == [name]


def test_control_plane_nodes_are_of_no_group() -> None:
    labels = {"kops.k8s.io/instancegroup": "control-plane-eu-1a", "node-role.kubernetes.io/control-plane": ""}
    assert not groups_of([node("a", labels=labels)])


def test_groups_of_two_platforms_with_one_name_stay_apart() -> None:
    nodes = [node("a", labels={GROUP: "default"}), node("b", labels={"karpenter.sh/nodepool": "default"})]
    names = [g.name for g in groups_of(nodes)]
    assert len(set(names)) == 2


def test_of_a_node_pool_that_nobody_wrote_down_the_machines_are_open() -> None:
    machine = {"node.kubernetes.io/instance-type": "m6i.large", "kubernetes.io/arch": "amd64"}
    (pool,) = groups_of([node("a", labels={"karpenter.sh/nodepool": "p", "team": "a", **machine})])
    assert (pool.maker, pool.cloud, pool.shapes) == (KARPENTER, "aws", ())
    assert "node.kubernetes.io/instance-type" not in pool.labels
    assert pool.labels == {"karpenter.sh/nodepool": "p"}, "a requirement may give team another value"


def test_autopilot_is_recognised_by_the_names_of_its_nodes() -> None:
    (pool,) = groups_of([node("gk3-c-nap-1", labels={"cloud.google.com/gke-nodepool": "nap-1"})])
    assert pool.maker == AUTOPILOT


# --- complete, open, undecided ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "manifests"),
    [
        ("nodeselector-matches-nothing", TYPO),
        ("resource-exceeds-any-node", HUGE),
        ("anti-affinity-exceeds-domains", PER_ZONE),
    ],
)
def test_what_no_further_node_cures_is_an_error_if_the_groups_are_complete(rule: str, manifests: str) -> None:
    assert severity_of(rule, manifests, cluster_of(eks(), said="complete")) is Severity.ERROR
    for said in ("", "open"):
        (finding,) = [f for f in found(manifests, cluster_of(eks(), said=said)) if f.rule == rule]
        assert (finding.severity, finding.if_complete) == (Severity.WARNING, Severity.ERROR)
        assert finding.evidence.assumes[-1] == (
            'there are no others than the node group general (node-groups = "complete" states that)'
        )


@pytest.mark.parametrize("said", ["complete", "open", ""])
def test_simulate_asks_for_no_statement_that_is_made(said: str) -> None:
    (row,) = simulate(read_set(PER_ZONE), cluster_of(eks(), said=said), Options(), ("deploy",)).rows
    (cell,) = row.cells
    assert cell.proven == (said == "complete")
    named = "others come only from the node group general" in " ".join(cell.assumes)
    assert (named, any("states that" in premise for premise in cell.assumes)) == (said == "complete", False)


@pytest.mark.parametrize("said", ["complete", "open", ""])
def test_what_further_nodes_cure_is_a_warning_in_any_case(said: str) -> None:
    (finding,) = [f for f in found(PER_HOST, cluster_of(eks(), said=said)) if f.rule == "anti-affinity-exceeds-domains"]
    assert (finding.severity, finding.if_complete, finding.if_fixed) == (Severity.WARNING, None, Severity.ERROR)


def test_an_error_names_the_groups_that_do_not_help() -> None:
    (finding,) = [f for f in found(TYPO, cluster_of(eks(), said="complete")) if f.severity is Severity.ERROR]
    assert finding.evidence.text == ("0 of 3 nodes match pool=genral; more nodes of node group general change nothing")
    assert "others come only from the node group general" in finding.evidence.assumes[0]


def test_the_node_groups_are_inferred_once_for_all_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(nodes: Sequence[Node], pools: Iterable[NodePool]) -> tuple[NodePool, ...]:
        calls.append(len(nodes))
        return inferred_groups(nodes, pools)

    monkeypatch.setattr(known, "inferred_groups", counted)
    mistakes = "---\n".join(TYPO.replace("web", f"web-{i}") for i in range(4))
    errors = [f for f in found(mistakes, cluster_of(eks(), said="complete")) if f.severity is Severity.ERROR]
    assert (len(errors), len(calls)) == (4, 1)


def test_a_group_at_zero_that_is_declared_makes_its_workload_fit() -> None:
    gpu = deployment("nodeSelector: {pool: gpu}\n      containers: [{name: c, image: i}]")
    rule = "nodeselector-matches-nothing"
    declared = (NodePool("gpu", "cluster-autoscaler", labels={"pool": "gpu"}, zones=("eu-1a",)),)
    assert severity_of(rule, gpu, cluster_of(eks(), said="complete")) is Severity.ERROR
    assert severity_of(rule, gpu, cluster_of(eks(), said="open")) is Severity.WARNING
    assert severity_of(rule, gpu, cluster_of(eks(), said="complete", declared=declared)) is None


def test_a_declared_group_without_zones_has_those_of_the_nodes() -> None:
    there = deployment(
        "nodeSelector: {pool: gpu, topology.kubernetes.io/zone: ZONE}\n      containers: [{name: c, image: i}]"
    )
    declared = (NodePool("gpu", "cluster-autoscaler", labels={"pool": "gpu"}),)
    cluster = cluster_of(eks(), said="complete", declared=declared)
    assert not [f for f in found(there.replace("ZONE", "eu-1b"), cluster) if f.severity is not Severity.NOTE]
    assert [f for f in found(there.replace("ZONE", "eu-9z"), cluster) if f.severity is Severity.ERROR]


def test_under_elastic_nothing_is_complete() -> None:
    import json

    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": eks()}).encode()
    cluster = cluster_from([("c.json", text)], "c.json", elastic=True).as_stated(ClusterOptions(True, "complete"))
    assert severity_of("nodeselector-matches-nothing", TYPO, cluster) is Severity.WARNING


def test_a_cluster_that_is_not_elastic_has_nothing_to_decide() -> None:
    fixed = cluster_of([node("a"), node("b")])
    assert not KnownGroups(fixed).decision
    assert KnownGroups(cluster_of(eks())).decision.startswith("is the node group seen (general) all there is?")
    for said in ("complete", "open"):
        assert not KnownGroups(cluster_of(eks(), said=said)).decision


def test_a_run_infers_the_groups_once_and_tells_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(nodes: Sequence[Node], pools: Iterable[NodePool]) -> tuple[NodePool, ...]:
        asked.append(len(nodes))
        return inferred_groups(nodes, pools)

    monkeypatch.setattr(known, "inferred_groups", counted)
    manifests = read_set(deployment("containers: [{name: c, image: i}]"))
    report = report_on(manifests, cluster_of(eks(), said="complete"), (), Options(), Rulebook.shipped())
    assert asked == [3]
    assert "nodes may come from 1 node group (general)" in str(report.summary.notes)
    assert report_on(manifests, cluster_of(eks()), (), Options(), Rulebook.shipped()).summary.undecided
    assert not report_on(read_set(""), cluster_of(eks()), (), Options(), Rulebook.shipped()).summary.undecided


def test_the_maximum_of_an_autoscaler_is_judged_with_further_nodes() -> None:
    spread = """topologySpreadConstraints: [{maxSkew: 1, minDomains: 4, topologyKey: topology.kubernetes.io/zone,
        whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]
      containers: [{name: c, image: i}]"""
    scaler = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {minReplicas: 1, maxReplicas: 90, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
"""
    rule = "scale-to-hpa-max-pending"
    for said in ("complete", "open", ""):
        assert severity_of(rule, deployment(spread, 3) + scaler, cluster_of(eks(), said=said)) is Severity.WARNING
    room = deployment("containers: [{name: c, image: i, resources: {requests: {cpu: '3'}}}]", 1)
    assert severity_of(rule, room + scaler, cluster_of(eks(), said="complete")) is None, "further nodes give the room"


@pytest.mark.parametrize("nodes", [eks(), [node("gk3-a", labels={"cloud.google.com/gke-nodepool": "p"})]])
def test_a_scenario_of_groups_has_none_to_ask_for_again(nodes: list[object]) -> None:
    from kubesched_lint.engine.scenario.scenario import Scenario

    scenario = Scenario(read_set(TYPO).inventory, cluster_of(nodes))
    grown = with_groups(scenario)
    assert grown is not None
    assert not grown.is_elastic
    assert with_groups(grown) is None


SKETCH = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
{more}
nodes:
- name: general
  zones: [eu-1a, eu-1b, eu-1c]
  labels: {{eks.amazonaws.com/nodegroup: general, pool: general}}
  allocatable: {{cpu: 3920m, memory: 14Gi}}
"""
GPU_AT_ZERO = "pools: [{name: gpu, labels: {pool: gpu}, taints: ['gpu=present:NoSchedule'], zones: [eu-1a]}]"


def sketched(*more: str) -> Cluster:
    return cluster_from([("c.yaml", SKETCH.format(more="\n".join(more)).encode())], "c.yaml")


@pytest.mark.parametrize(
    "more",
    [("nodeGroups: complete",), ("nodeGroups: complete", GPU_AT_ZERO), (GPU_AT_ZERO,)],
    ids=["no pools", "said to be complete", "complete by its pools"],
)
def test_the_node_groups_of_today_still_grow_beside_a_group_at_zero(more: tuple[str, ...]) -> None:
    """What further nodes of ``general`` cure is no error, although the sketch declares another pool alone."""
    assert severity_of("anti-affinity-exceeds-domains", PER_HOST, sketched(*more)) is Severity.WARNING
    for mistake in (TYPO, HUGE, PER_ZONE):
        (finding,) = [f for f in found(mistake, sketched(*more)) if f.severity is Severity.ERROR]
        assert "; more nodes of node group general change nothing" in finding.evidence.text


def test_pools_that_name_the_groups_of_the_nodes_are_all_that_grows() -> None:
    pools = "pools: [{name: general, zones: [eu-1a], labels: {pool: general}, limits: {nodes: 5}}]"
    assert not KnownGroups(sketched(pools)).is_elastic
    assert [f.rule for f in found(PER_HOST, sketched(pools))] == ["pool-limit-reached", "pods-without-requests"]


@pytest.mark.parametrize(
    "more", [("nodeGroups: open",), ("nodeGroups: open", GPU_AT_ZERO), ("morePools: true", GPU_AT_ZERO)]
)
def test_beside_a_group_at_zero_there_may_be_others_if_the_sketch_says_so(more: tuple[str, ...]) -> None:
    assert not [f for f in found(TYPO, sketched(*more)) if f.severity is Severity.ERROR]
