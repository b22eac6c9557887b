"""A plain snapshot of nodes lies on a cluster that grows: pairs in which the pools take the false alarm away."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kubesched_lint.engine.placing.growth.plan import Plan
from kubesched_lint.findings import Finding

Findings = Callable[..., dict[str, Finding]]
Writer = Callable[..., str]

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
TODAY = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
kinds: [Pod, PersistentVolumeClaim, PersistentVolume, StorageClass]
nodes:
- {name: node, zones: [eu-west-1a, eu-west-1b], allocatable: {cpu: "2", memory: 8Gi}}
"""
POOLS = """
pools:
- name: general
  zones: [eu-west-1a, eu-west-1b, eu-west-1c]
  labels: {disktype: ssd}
  shapes: [{name: m6i.xlarge, allocatable: {cpu: 3920m, memory: 14Gi}}]
"""
SPREAD = (
    f"topologySpreadConstraints:\n- {{maxSkew: 1, topologyKey: {ZONE}, whenUnsatisfiable: DoNotSchedule, %s"
    "labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [pod-template-hash]}"
)


def apart(key: str) -> str:
    return (
        "affinity:\n  podAntiAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n"
        f"    - {{labelSelector: {{matchLabels: {{app: web}}}}, topologyKey: {key}}}"
    )


CASES = {
    "resource-exceeds-any-node": {"cpu": "3"},
    "resource-insufficient-free": {"replicas": 9},
    "nodeselector-matches-nothing": {"pod": "nodeSelector: {disktype: ssd}"},
    "anti-affinity-exceeds-domains": {"replicas": 5, "pod": apart(HOSTNAME)},
    "rollout-surge-deadlock": {"replicas": 2, "pod": apart(ZONE)},
    "spread-too-few-domains-min": {"replicas": 3, "cpu": "1", "pod": SPREAD % "minDomains: 3, "},
    "hostport-replicas-exceed-nodes": {"replicas": 3, "pod": "hostNetwork: true"},
    "topology-key-missing-on-nodes": {
        "pod": "topologySpreadConstraints:\n- {maxSkew: 1, topologyKey: disktype, whenUnsatisfiable: DoNotSchedule, "
        "labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [pod-template-hash]}"
    },
}


@pytest.mark.parametrize("rule", CASES)
def test_the_alarm_goes_with_the_pools(findings_of: Findings, deployment: Writer, rule: str) -> None:
    manifests = deployment(**CASES[rule])
    if rule == "hostport-replicas-exceed-nodes":
        manifests = manifests.replace("{name: main,", "{name: main, ports: [{containerPort: 9100}],")
    plain = findings_of(manifests, TODAY)
    assert plain[rule].severity.word == "error"
    grown = findings_of(manifests, TODAY + POOLS)
    assert rule not in grown
    assert not [f for f in grown.values() if f.severity.word == "error"]


def test_two_workloads_that_do_not_fit_together_do_with_a_pool(findings_of: Findings, deployment: Writer) -> None:
    manifests = deployment("one", 2, "1500m") + "\n" + deployment("two", 2, "1500m")
    assert findings_of(manifests, TODAY)["set-does-not-fit"].severity.word == "error"
    assert not findings_of(manifests, TODAY + POOLS)


@pytest.mark.parametrize("elastic", ["karpenter.sh/nodepool: general", "eks.amazonaws.com/nodegroup: workers"])
def test_with_pools_a_proof_is_an_error_again(findings_of: Findings, deployment: Writer, elastic: str) -> None:
    """Without them nothing is proven on nodes of an autoscaler; with them it is known what can come."""
    manifests = deployment(cpu="4")
    nodes = TODAY.replace("zones:", f"labels: {{{elastic}}}, zones:")
    assert findings_of(manifests, nodes)["resource-exceeds-any-node"].severity.word == "warning"
    finding = findings_of(manifests, nodes + POOLS)["resource-exceeds-any-node"]
    assert finding.severity.word == "error"
    assert any("the pool general" in premise for premise in finding.evidence.assumes)


def test_a_karpenter_pool_tells_nothing_of_nodes_that_others_make(findings_of: Findings, deployment: Writer) -> None:
    pool = """
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      requirements:
      - {key: node.kubernetes.io/instance-type, operator: In, values: [m6i.large]}
      - {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a]}
"""
    own = TODAY.replace("zones:", "labels: {karpenter.sh/nodepool: general}, zones:")
    foreign = TODAY.replace("zones:", "labels: {eks.amazonaws.com/nodegroup: workers}, zones:")
    manifests = deployment(cpu="4")
    assert findings_of(manifests, own + pool)["resource-exceeds-any-node"].severity.word == "error"
    assert findings_of(manifests, foreign + pool)["resource-exceeds-any-node"].severity.word == "warning"


def test_what_no_pool_can_mend_stays_an_error(findings_of: Findings, deployment: Writer) -> None:
    running = """
objects:
- apiVersion: v1
  kind: Pod
  metadata: {name: writer, namespace: shop, labels: {app: writer}}
  spec: {nodeName: node-eu-west-1a, containers: [{name: c, image: x, resources: {requests: {cpu: "2"}}}]}
"""
    near = (
        "affinity:\n  podAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n"
        "    - {labelSelector: {matchLabels: {app: writer}}, topologyKey: %s}"
    )
    host = findings_of(deployment(pod=near % HOSTNAME), TODAY + POOLS + running)
    assert host["affinity-colocation-no-room"].severity.word == "error"
    assert not findings_of(deployment(pod=near % ZONE), TODAY + POOLS + running)
    rack = findings_of(deployment(pod=SPREAD.replace(ZONE, "rack") % ""), TODAY + POOLS)
    assert rack["topology-key-missing-on-nodes"].severity.word == "error"


@pytest.mark.parametrize("disk", ["", ", ephemeral-storage: 20Gi"], ids=["sketch", "as a snapshot has it"])
def test_disks_that_no_shape_tells_are_in_nobodys_way(
    findings_of: Findings, plan_of: Callable[[str, str], Plan], deployment: Writer, disk: str
) -> None:
    manifests = deployment(replicas=4).replace('cpu: "1"', 'cpu: "1", ephemeral-storage: 2Gi')
    cluster = (
        "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\n"
        f"nodes: [{{name: now, zones: [a], allocatable: {{cpu: 1, memory: 4Gi{disk}}}}}]\n"
        "pools: [{name: p, zones: [a], min: 1, labels: {pool: p}, shapes: [m6i.large]}]\n"
    )
    assert not findings_of(manifests, cluster)
    (verdict,) = plan_of(manifests, cluster).verdicts
    assert (verdict.today, verdict.grown, verdict.left) == (2, 2, 0)
