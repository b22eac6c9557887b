"""Machine types that the table does not list: bounded by the largest that their cloud sells."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kubesched_lint.engine.cluster.nodepools.unknown import other_types, unlisted_type
from kubesched_lint.engine.cluster.nodes.shapes import shapes_of
from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.placing.growth.plan import GROWN, NEVER, Plan
from kubesched_lint.findings import Finding

Findings = Callable[..., dict[str, Finding]]
Writer = Callable[..., str]
TODAY = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: now, zones: [eu-west-1a], labels: {karpenter.sh/nodepool: general}, allocatable: {cpu: "2", memory: 8Gi}}
"""


def node_pool(*requirements: str, node_class: str = "{group: karpenter.k8s.aws, kind: EC2NodeClass, name: d}") -> str:
    listed = "".join(f"\n      - {one}" for one in requirements)
    return f"""
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: general}}
spec:
  template:
    spec:
      nodeClassRef: {node_class}
      requirements:
      - {{key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a]}}{listed}
"""


CMR = "{key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}"


@pytest.mark.parametrize(
    ("cpu", "requirements", "is_error"),
    [
        ("1000", (CMR,), True),
        ("380", (CMR,), False),
        ("1000", (), False),  # u7inh-32tb.480xlarge has 1,920
        ("2000", (), True),
        ("40", (CMR, "{key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ['33']}"), True),
        ("250", ("{key: karpenter.k8s.aws/instance-family, operator: In, values: [m99, c6i]}",), False),
        ("400", ("{key: karpenter.k8s.aws/instance-family, operator: In, values: [m99, c6i]}",), True),
        ("400", ("{key: node.kubernetes.io/instance-type, operator: In, values: [r99.huge]}",), True),
    ],
)
def test_a_request_beyond_the_largest_machine_is_an_error(
    findings_of: Findings, deployment: Writer, cpu: str, requirements: tuple[str, ...], is_error: bool
) -> None:
    found = findings_of(deployment(cpu=cpu), TODAY + node_pool(*requirements))
    assert ("resource-exceeds-any-node" in found) == is_error
    if is_error:
        assert found["resource-exceeds-any-node"].severity.word == "error"
        assert any("larger machines" in premise for premise in found["resource-exceeds-any-node"].evidence.assumes)


def test_a_pool_of_an_unknown_cloud_has_no_bound(findings_of: Findings, deployment: Writer) -> None:
    other = node_pool(node_class="{group: karpenter.example.com, kind: NodeClass, name: d}")
    assert not findings_of(deployment(cpu="5000"), TODAY + other)


def test_devices_have_no_bound(plan_of: Callable[[str, str], Plan], deployment: Writer) -> None:
    manifests = deployment().replace('cpu: "1"', 'cpu: "1", vendor.example/fpga: 2')
    (verdict,) = plan_of(manifests.replace("requests", "limits"), TODAY + node_pool(CMR)).verdicts
    assert verdict.kind == GROWN
    (verdict,) = plan_of(deployment(cpu="1000"), TODAY + node_pool(CMR)).verdicts
    assert verdict.kind == NEVER


def test_no_listed_machine_exceeds_the_bound_of_its_group() -> None:
    for cloud in ("aws", "gcp", "azure"):
        for name, shape in shapes_of(cloud).items():
            bound = unlisted_type(name, cloud).most
            assert bound is not None
            assert shape.most is not None
            assert all(bound[r] >= shape.most[r] for r in ("cpu", "memory", "pods")), name


def test_memory_is_bounded_too() -> None:
    smallest = Requirement("karpenter.k8s.aws/instance-memory", "Lt", ("8193",))
    assert (other_types("aws", (smallest,)).most or {})["memory"] == 8 << 30
    assert (other_types("azure", ()).most or {})["cpu"] == 1_792_000
    assert other_types("", ()).most is None


def test_the_help_deducts_the_daemonsets_of_the_node(findings_of: Findings, deployment: Writer) -> None:
    agent = (
        deployment("agent", cpu="500m").replace("kind: Deployment", "kind: DaemonSet").replace("  replicas: 1\n", "")
    )
    plain = TODAY.replace("labels: {karpenter.sh/nodepool: general}, ", "")
    assert "at most 2 of cpu" in findings_of(deployment(cpu="3"), plain)["resource-exceeds-any-node"].help
    beside = findings_of(agent + "\n" + deployment(cpu="3"), plain)["resource-exceeds-any-node"]
    assert "at most 1500m of cpu (the DaemonSets there" in beside.help
