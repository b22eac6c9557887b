"""Messages count nodes that exist; nodes that pools could add are named by their pools."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kubesched_lint.findings import Finding

Findings = Callable[..., dict[str, Finding]]
Writer = Callable[..., str]
TODAY = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: now, count: 6, zones: [a], labels: {pool: general, kubernetes.io/arch: amd64},
   allocatable: {cpu: "2", memory: 8Gi}}
"""
POOLS = """
pools:
- {name: general, zones: [a, b], labels: {pool: general, kubernetes.io/arch: amd64},
   shapes: [{name: two, allocatable: {cpu: "2", memory: 8Gi}}]}
- {name: extra, zones: [a], labels: {disk: fast, kubernetes.io/arch: amd64},
   shapes: [{name: two, allocatable: {cpu: "2", memory: 8Gi}}]}
"""
AFFINE = (
    "affinity:\n  podAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n"
    "    - {labelSelector: {matchLabels: {app: web}}, topologyKey: rack}"
)


def test_the_nearest_label_is_counted_on_existing_nodes(findings_of: Findings, deployment: Writer) -> None:
    found = findings_of(deployment(replicas=90, pod="nodeSelector: {pool: genral}"), TODAY + POOLS)
    assert "6 nodes have pool=general" in found["pool-cannot-provide-label"].message
    new = findings_of(deployment(replicas=90, pod="nodeSelector: {disk: fats}"), TODAY + POOLS)
    assert "new nodes of a pool have disk=fast" in new["pool-cannot-provide-label"].message


def test_usable_nodes_are_counted_and_pools_named(findings_of: Findings, deployment: Writer) -> None:
    (found,) = findings_of(deployment(pod=AFFINE), TODAY + POOLS).values()
    assert "over rack, a label that no node it may use has" in found.message
    assert found.evidence.text == "none of 6 nodes and no new node of pools general, extra has the label rack"
    (found,) = findings_of(deployment(pod=AFFINE), TODAY).values()
    assert "over rack, a label that no node it may use has" in found.message
    assert found.evidence.text == "none of 6 nodes has the label rack"


def test_a_request_beyond_every_machine_names_the_machine(findings_of: Findings, deployment: Writer) -> None:
    nodes = TODAY.replace("count: 6", "count: 0") + POOLS
    found = findings_of(deployment(cpu="3"), nodes)["resource-exceeds-any-node"]
    assert "it requests cpu 3; no node, and none that a pool can add, has more than 2" in found.message
    assert found.evidence.text == (
        "cpu 3 > 2, the largest allocatable of new nodes of pools general, extra (two in a (pool general))"
    )


@pytest.mark.parametrize("pools", ["", POOLS], ids=["without pools", "with pools"])
@pytest.mark.parametrize("key", ["kubernetes.io/arch", "beta.kubernetes.io/arch"])
def test_no_other_architecture_is_proposed(findings_of: Findings, deployment: Writer, pools: str, key: str) -> None:
    (found,) = findings_of(deployment(pod=f"nodeSelector: {{{key}: arm64}}"), TODAY + pools).values()
    assert found.severity.word == "error"
    assert not found.fixes
    assert "label nodes with" not in found.help
    assert "have kubernetes.io/arch=amd64" not in found.message


def test_the_nearest_label_is_the_first_proposal(findings_of: Findings, deployment: Writer) -> None:
    near = findings_of(deployment(pod="nodeSelector: {pool: genral}"), TODAY)["nodeselector-matches-nothing"]
    assert near.help.startswith("write pool=general, or ask for a label that nodes have")
    far = findings_of(deployment(pod="nodeSelector: {colour: blue}"), TODAY)["nodeselector-matches-nothing"]
    assert far.help.startswith("label nodes with colour=blue")
    system = findings_of(deployment(pod="nodeSelector: {karpenter.sh/capacity-type: spot}"), TODAY)
    assert system["nodeselector-matches-nothing"].help.startswith("ask for labels that nodes have")


DAEMONS = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: agent:1}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: network}
spec:
  selector: {matchLabels: {app: network}}
  template:
    metadata: {labels: {app: network}}
    spec:
      tolerations: [{operator: Exists, effect: NoSchedule}]
      containers: [{name: network, image: network:1}]
"""
TAINTED = "- {name: gpu, zones: [a], taints: [gpu=yes:NoSchedule], allocatable: {cpu: '2', memory: 8Gi}}"


def test_a_daemonset_misses_no_node_that_only_a_pool_could_add(findings_of: Findings) -> None:
    alone, _, _ = DAEMONS.partition("---")
    found = findings_of(alone, TODAY + POOLS, profile="strict")
    assert list(found) == ["pods-without-requests"]
    assert found["pods-without-requests"].message.startswith("6 of 6 pods lack a request")
    missed = findings_of(alone, TODAY + TAINTED + POOLS, profile="strict")["daemonset-misses-tainted-nodes"]
    assert "no pod for 1 of the 7 nodes it matches: gpu, because of gpu=yes:NoSchedule" in missed.message
    shared = findings_of(DAEMONS, TODAY + TAINTED + POOLS)["daemonset-misses-shared-nodes"]
    assert "no pod for 1 node where" in shared.message
    assert ": gpu, because of gpu=yes:NoSchedule" in shared.message


@pytest.mark.parametrize("key", ["node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type", "disk"])
def test_a_daemonset_for_another_machine_type_is_meant_as_it_is(findings_of: Findings, key: str) -> None:
    alone, _, _ = DAEMONS.partition("---")
    daemon = alone.replace("    spec: {", f"    spec: {{nodeSelector: {{{key}: m6i.2xlarge}}, ")
    nodes = TODAY.replace("pool: general,", f"{key}: m6i.xlarge,")
    found = findings_of(daemon, nodes)["daemonset-matches-no-node"]
    assert found.severity.word == ("warning" if key == "disk" else "note")
