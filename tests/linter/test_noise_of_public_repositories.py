"""What was noise in the manifests of eighty-eight public repositories that people apply."""

from __future__ import annotations

import pytest

from kubesched_lint import lint, load_cluster
from kubesched_lint.findings import Finding
from kubesched_lint.manifests.meant import reason_of
from kubesched_lint.report.causes import one_per_cause

NODES = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodeGroups: complete
nodes: [{name: worker, count: 2, zones: [a, b, c], allocatable: {cpu: "4", memory: 16Gi}}]
"""
WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: shop}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME, app.kubernetes.io/name: model, app.kubernetes.io/part-of: llm, role: NAME}}
    spec: {SPEC, containers: [{name: app, image: "registry.example.com/app:1.0"}]}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: shop, labels: {app.kubernetes.io/name: canary, role: NAME}}
spec: {SPEC, containers: [{name: app, image: "registry.example.com/app:1.0"}]}
"""
SCALER = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: a, namespace: shop}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}, maxReplicas: 4}
"""


def deployment(name: str, spec: str, replicas: int = 1) -> str:
    return WORKLOAD.replace("NAME", name).replace("SPEC", spec).replace("REPLICAS", str(replicas))


def pod(name: str, spec: str) -> str:
    return POD.replace("NAME", name).replace("SPEC", spec)


def found(*objects: str, rule: str) -> list[Finding]:
    report = lint(text="---".join(objects), cluster=load_cluster(text=NODES))
    return [finding for finding in one_per_cause(report).findings if finding.rule == rule]


def spread(when: str, key: str = "topology.kubernetes.io/zone") -> str:
    return f"topologySpreadConstraints: [{{maxSkew: 1, topologyKey: {key}, whenUnsatisfiable: {when}}}]"


@pytest.mark.parametrize(
    ("when", "replicas", "scaler", "severity"),
    [
        ("ScheduleAnyway", 1, (), "note"),
        ("ScheduleAnyway", 2, (), "warning"),
        ("ScheduleAnyway", 1, (SCALER,), "warning"),
        ("DoNotSchedule", 1, (), "warning"),  # it refuses nodes without the label
    ],
)
def test_a_selector_that_counts_nothing_harms_no_single_replica(
    when: str, replicas: int, scaler: tuple[str, ...], severity: str
) -> None:
    (one,) = found(deployment("a", spread(when), replicas), *scaler, rule="spread-selector-noop")
    assert one.severity.word == severity


def test_a_constraint_that_somebody_copied_is_one_cause() -> None:
    zones = [deployment(name, spread("ScheduleAnyway"), 2) for name in ("a", "b")]
    hosts = deployment("c", spread("ScheduleAnyway", "kubernetes.io/hostname"), 2)
    first, other = found(*zones, hosts, rule="spread-selector-noop")
    assert [also.object.name for also in first.also if also.rule == first.rule] == ["b"]
    assert other.object.name == "c"


@pytest.mark.parametrize(("make", "severity"), [(pod, "note"), (deployment, "warning")])
def test_somebody_chose_the_node_of_a_bare_pod(make: object, severity: str) -> None:
    (one,) = found(make("a", "nodeName: w-amd-3"), rule="nodename-bypass")  # type: ignore[operator]
    assert one.severity.word == severity


def apart(labels: str) -> str:
    term = f"{{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{{labels}}}}}}}"
    return f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"


def test_anti_affinity_to_a_group_is_meant_for_others() -> None:
    rule = "anti-affinity-crosses-releases"
    by_name = apart("app.kubernetes.io/name: model")
    assert found(deployment("a", by_name, 2), deployment("b", by_name, 2), rule=rule)
    by_part = apart("app.kubernetes.io/name: model, app.kubernetes.io/part-of: llm")
    assert not found(deployment("a", by_part, 2), deployment("b", by_part, 2), rule=rule)
    canary = apart("app.kubernetes.io/name: canary")
    assert not found(pod("a", canary), pod("b", canary), rule=rule)


def test_a_key_that_a_tool_fills_in_is_no_unknown_field() -> None:
    refused = pod("a", "dnsPolicy: Default").replace("image:", "image: x, MY_IMAGE|-image:")
    assert not found(refused, rule="api-would-reject")
    assert found(refused.replace("MY_IMAGE|-image", "MY_IMAGE"), rule="api-would-reject")


def test_a_service_without_a_spec_is_only_a_part() -> None:
    """Flux applies it to give up fields of a Service that Helm owns."""
    service = "\napiVersion: v1\nkind: Service\nmetadata: {name: gateway, namespace: shop}\n"
    assert [one.severity.word for one in found(service, rule="api-would-reject")] == ["note"]


def test_workloads_that_wait_for_one_daemonset_have_one_cause() -> None:
    daemon = deployment("zz", "nodeSelector: {pool: gpu}").replace("Deployment", "DaemonSet").replace("replicas: 1", "")
    readers = [deployment(name, "nodeSelector: {pool: gpu}") for name in ("a", "b")]
    assert len(found(*readers, daemon, rule="daemonset-creation-order")) == 1


@pytest.mark.parametrize("pool", ["", "taints: [{key: batch, value: x, effect: NoSchedule}], "])
def test_what_no_pool_provides_is_one_cause(pool: str) -> None:
    made = f"""
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: general}}
spec:
  template:
    metadata: {{labels: {{team: web}}}}
    spec: {{{pool}requirements: [{{key: kubernetes.io/arch, operator: In, values: [amd64]}}]}}
"""
    wanted = "nodeSelector: {team: web}" if pool else "nodeSelector: {team: db}"
    (one,) = found(made, deployment("a", wanted), deployment("b", wanted), rule="pool-cannot-provide-label")
    assert "b" in {also.object.name for also in one.also if also.rule == one.rule}


@pytest.mark.parametrize(
    ("folder", "reason"),
    [
        ("DEPRECATED", "archived files"), ("archived", "archived files"), ("obsolete", "archived files"),
        ("archive", ""), ("radarr.disabled", "disabled files"), ("apps-disabled", "disabled files"),
        ("disabled-apps", ""),
    ],
)  # fmt: skip
def test_a_folder_says_that_nobody_applies_it(folder: str, reason: str) -> None:
    assert reason_of(folder, "apps") == reason
