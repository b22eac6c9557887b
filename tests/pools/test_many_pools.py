"""Any number of pools: nodes are made per kind that pods can distinguish, not per pool, type and choice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kubesched_lint.engine.cluster.nodepools import templates
from kubesched_lint.engine.cluster.nodepools.label_demand import LabelDemand
from kubesched_lint.engine.model.nodes.node import KARPENTER, NodePool
from kubesched_lint.engine.placing.growth.plan import GROWN
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.findings import Finding

Findings = Callable[..., dict[str, Finding]]
Writer = Callable[..., str]
TODAY = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: now, zones: [a, b, c], labels: {karpenter.sh/nodepool: p0}, allocatable: {cpu: "2", memory: 8Gi}}
"""


def node_pool(name: str, labels: str = "{}", more: str = "") -> str:
    return f"""
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  template:
    metadata: {{labels: {labels}}}
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: d}}
      requirements:
      - {{key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}}
      - {{key: topology.kubernetes.io/zone, operator: In, values: [a, b, c]}}{more}
"""


def test_pools_that_pods_cannot_distinguish_share_their_nodes(
    facts_of: Callable[[str, str], Scenario], findings_of: Findings, deployment: Writer
) -> None:
    manifests = "\n".join(deployment(f"w{n}", 20, "3", "hostNetwork: true") for n in range(20))
    manifests = manifests.replace("{name: main,", "{name: main, ports: [{containerPort: 80}],")
    one, many = (TODAY + "".join(node_pool(f"p{n}") for n in range(count)) for count in (1, 40))
    alone, together = facts_of(manifests, one).potential, facts_of(manifests, many).potential
    assert alone.complete
    assert together.complete
    assert len(together.nodes) - len(alone.nodes) == 39 * 3  # one node for each further pool and zone
    assert not findings_of(deployment("w", 60, "3", "nodeSelector: {team: t39}"), TODAY + node_pool("q", "{team: t39}"))


def test_many_values_of_a_label_are_no_reason_to_stop(
    facts_of: Callable[[str, str], Scenario], deployment: Writer
) -> None:
    manifests = "\n".join(deployment(f"w{n}", pod=f"nodeSelector: {{team: t{n}}}") for n in range(60))
    teams = node_pool("p0", more="\n      - {key: team, operator: Exists}")
    scenario = facts_of(manifests, TODAY + teams)
    assert scenario.potential.complete
    assert len(scenario.potential.nodes) < 1_000
    assert all(scenario.member(w).usable for w in scenario.manifests.workloads)


def test_the_last_of_a_dozen_pools_serves_its_team(
    plan_of: Callable[..., object], findings_of: Findings, deployment: Writer
) -> None:
    pools = "".join(node_pool(f"p{n}", f"{{team: t{n}}}") for n in range(12))
    manifests = "\n".join(deployment(f"w{n}", 3, pod=f"nodeSelector: {{team: t{n}}}") for n in (0, 11))
    assert {v.kind for v in plan_of(manifests, TODAY + pools).verdicts} == {GROWN}  # type: ignore[attr-defined]
    assert not findings_of(manifests, TODAY + pools)
    (wrong,) = findings_of(deployment(pod="nodeSelector: {team: nobody}"), TODAY + pools).values()
    assert (wrong.rule, wrong.severity.word) == ("pool-cannot-provide-label", "error")


def test_labels_are_chosen_once_for_each_machine_type_and_not_for_each_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A region has hundreds of machine types, and the values of a label are the same for all of them."""
    pool = NodePool("p", maker=KARPENTER, cloud="aws")
    demand = LabelDemand({"karpenter.sh/capacity-type": ("spot",), "kubernetes.io/arch": ("arm64",)})
    asked: list[str] = []
    for name in ("_choices", "_values"):
        real = getattr(templates, name)
        monkeypatch.setattr(templates, name, lambda *a, name=name, real=real: asked.append(name) or real(*a))
    counts = []
    for zones in (["a"], ["a", "b", "c"]):
        asked.clear()
        kinds = [*templates.templates(pool, demand, zones)]
        assert {kind.zone for kind in kinds} == {*zones}
        counts.append((asked.count("_choices"), asked.count("_values")))
    assert counts[0] == counts[1]
    assert counts[0][1] < 10 < counts[0][0]
