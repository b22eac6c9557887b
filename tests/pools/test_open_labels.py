"""A label that a sketch or a placeholder leaves open is no proof, with pools and without."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.engine.cluster.nodepools.label_demand import demand_of
from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.model.pod import NodeSelectorTerm, Pod, SchedulerProfile
from kubesched_lint.findings import Finding
from kubesched_lint.sources.clusters.read import cluster_from
from tests.pools.conftest import read_set
from tests.pools.test_simulate_with_pools import NODES, POOL, Writer, simulated

MANY = NODES.replace("{name: node, zones: [a]", "{name: node, zones: [a], count: 2")


@pytest.mark.parametrize("cluster", [MANY, MANY + POOL % 3], ids=["nodes", "pools"])
@pytest.mark.parametrize(
    "label",
    [
        "pool: ${POOL}",
        "pool: <pool>",
        "pool: '{{ pool }}'",
        "pool: REPLACE_ME",
        "kubernetes.io/hostname: other-host",
        "node.kubernetes.io/instance-type: m5.xlarge",
    ],
)
def test_lint_and_simulate_wait_for_the_value(
    deployment: Writer, findings_of: Callable[..., dict[str, Finding]], cluster: str, label: str
) -> None:
    manifests = deployment(cpu="100m", pod=f"nodeSelector:\n  {label}")
    assert not {rule for rule, f in findings_of(manifests, cluster).items() if f.evidence.kind != "pattern"}
    report = simulated(manifests, cluster, "deploy")
    assert not report.is_bad
    (row,) = report.rows
    assert row.cells[0].verdict == "unknown"
    known = cluster_from([("c.yaml", cluster.encode())], "c.yaml")
    explained = answer(Question("deploy/web"), read_set(manifests).inventory, known)
    assert any(note.startswith("not known: ") for note in explained.notes)


@pytest.mark.parametrize("cluster", [MANY, MANY + POOL % 3], ids=["nodes", "pools"])
def test_a_placeholder_beside_a_label_that_no_node_has_is_no_excuse(
    deployment: Writer, findings_of: Callable[..., dict[str, Finding]], cluster: str
) -> None:
    manifests = deployment(cpu="100m", pod="nodeSelector: {pool: '${POOL}', topology.kubernetes.io/zone: z}")
    assert [f.severity.word for f in findings_of(manifests, cluster).values() if f.evidence.kind == "proof"] == [
        "error"
    ]
    assert simulated(manifests, cluster, "deploy").is_bad


@pytest.mark.parametrize(("zones", "is_error"), [("", False), ("zones: [a, b], ", True), ("zones: [a, c], ", False)])
def test_a_pool_that_names_no_zones_may_have_one_that_a_pod_does_not_exclude(
    deployment: Writer, findings_of: Callable[..., dict[str, Finding]], zones: str, is_error: bool
) -> None:
    other = f"{{matchExpressions: [{{key: {ZONE}, operator: NotIn, values: [a, b]}}]}}"
    required = f"{{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{other}]}}}}"
    manifests = deployment(cpu="100m", pod=f"affinity: {{nodeAffinity: {required}}}")
    cluster = NODES + (POOL % 9).replace("zones: [a, b], ", zones)
    assert any(f.severity.word == "error" for f in findings_of(manifests, cluster).values()) == is_error
    assert simulated(manifests, cluster, "deploy").is_bad == is_error


@pytest.mark.parametrize("zones", ["", "zones: [a], "])
def test_an_error_says_that_it_knows_all_zones_of_a_pool_that_names_none(
    deployment: Writer, findings_of: Callable[..., dict[str, Finding]], zones: str
) -> None:
    term = f"{{labelSelector: {{matchLabels: {{app: web}}}}, topologyKey: {ZONE}}}"
    required = f"podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}"
    cluster = NODES + (POOL % 9).replace("zones: [a, b], ", zones)
    found = findings_of(deployment(replicas=3, cpu="100m", pod=f"affinity: {{{required}}}"), cluster)
    premise, *_ = found["anti-affinity-exceeds-domains"].evidence.assumes
    assert ("in the zones of the cluster" in premise) == (not zones)


def test_what_a_scheduler_adds_to_pods_is_a_zone_that_they_ask_for() -> None:
    term = NodeSelectorTerm((Requirement(ZONE, "In", ("c",)),))
    pod = Pod("default", {}, profile=SchedulerProfile(added_node_terms=(term,)))
    assert demand_of([pod]).values(ZONE) == ("c",)
