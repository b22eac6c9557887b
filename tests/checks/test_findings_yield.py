"""What a trial saw is told unless better findings explain it all; nothing leans on what the API server refuses."""

from __future__ import annotations

import pytest

from kubesched_lint import lint
from kubesched_lint.engine.placing.together.joint import POD_LIMIT, Impossible, Short
from kubesched_lint.explaining.crowding.contradictions import values_of
from kubesched_lint.findings import Finding
from kubesched_lint.sources.clusters.read import cluster_from

SKETCH = b"""\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 2, zones: [a, b, c], allocatable: {cpu: 3920m, memory: 14Gi}}
"""


def found(text: str) -> dict[str, list[Finding]]:
    report = lint(text=text, cluster=cluster_from([("cluster.yaml", SKETCH)], "cluster.yaml"))
    assert not report.errors
    by_rule: dict[str, list[Finding]] = {}
    for finding in report.findings:
        by_rule.setdefault(finding.rule, []).append(finding)
    return by_rule


def made(
    kind: str, name: str, *, cpu: str = "100m", replicas: int = 2, port: int = 0, ip: str = "0.0.0.0", label: str = ""
) -> str:
    ports = f", ports: [{{containerPort: 80, hostPort: {port}, hostIP: {ip}}}]" if port else ""
    own = "" if kind == "DaemonSet" else f"  replicas: {replicas}\n  strategy: {{type: Recreate}}\n"
    return (
        f"---\napiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: shop}}\nspec:\n{own}"
        f"  selector: {{matchLabels: {{app: {name}}}}}\n"
        f"  template:\n    metadata: {{labels: {{app: {label or name}}}}}\n"
        "    spec:\n      containers:\n"
        f"      - {{name: c, image: 'c:1', resources: {{requests: {{cpu: '{cpu}'}}}}{ports}}}\n"
    )


def beside(manifest: str, other: str) -> str:
    """The same, sent to the nodes of another workload's pods."""
    affinity = (
        "      affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        f"[{{labelSelector: {{matchLabels: {{app: {other}}}}}, topologyKey: kubernetes.io/hostname}}]}}}}\n"
    )
    return manifest.replace("    spec:\n", f"    spec:\n{affinity}")


def test_a_verdict_does_not_yield_to_a_finding_that_explains_fewer_of_its_pods() -> None:
    """Six pods must stand where the port is taken: that two have no node with the port is the smaller part of it."""
    first = made("Deployment", "a", port=80, ip="10.0.0.1")
    second = made("Deployment", "b", port=80, ip="10.0.0.1", replicas=6)
    both = found(first + beside(second, "a"))
    assert "so 2 pods stay Pending" in both["hostport-cross-workload"][0].message
    assert "all 6 pods of Deployment shop/b" in both["pods-stay-pending"][0].message

    alone = found(first + second)
    assert "so 2 pods stay Pending" in alone["hostport-cross-workload"][0].message
    assert not {"deploy-leaves-pending", "pods-stay-pending"} & set(alone)


def test_what_the_api_server_refuses_is_not_among_the_demands_of_the_set() -> None:
    """42 pods of half a CPU fill the six nodes; the second Deployment is refused for its labels, and makes no pods."""
    full, more = made("Deployment", "a", cpu="500m", replicas=42), made("Deployment", "b", cpu="500m")
    both = found(full + more)
    assert "set-does-not-fit" in both
    assert "api-would-reject" not in both
    refused = found(full + more.replace("labels: {app: b}", "labels: {app: bb}"))
    assert "api-would-reject" in refused
    assert not {"set-does-not-fit", "deploy-leaves-pending"} & set(refused)


def test_a_port_of_something_refused_takes_no_node_for_sure() -> None:
    one = made("DaemonSet", "a", port=80)
    (sure,) = found(one + made("DaemonSet", "b", port=80))["hostport-cross-workload"]
    refused = found(made("DaemonSet", "a", port=80, label="other") + made("DaemonSet", "b", port=80))
    (unsure,) = refused["hostport-cross-workload"]
    assert (sure.severity.word, unsure.severity.word) == ("error", "warning")
    assert "the objects that the API server rejects are corrected: DaemonSet shop/a" in unsure.evidence.assumes


def test_two_that_take_one_host_port_are_told_once() -> None:
    rules = found(made("DaemonSet", "a", port=80) + made("Deployment", "b", port=80))
    assert set(rules) & {"hostport-cross-workload", "set-does-not-fit"} == {"hostport-cross-workload"}


def test_of_daemon_sets_each_node_takes_one_pod() -> None:
    """3920m hold one of two pods of 2 CPU: six wait, though the CPU of all nodes together would do for eleven."""
    (finding,) = found(made("DaemonSet", "a", cpu="2") + made("DaemonSet", "b", cpu="2"))["set-does-not-fit"]
    assert finding.message.startswith("at least 6 pods of DaemonSet shop/a and DaemonSet shop/b stay Pending")
    assert finding.message.endswith("they request 24 cpu, and their 6 nodes have 23520m")


@pytest.mark.parametrize(("count", "short", "said"), [
    (4, Short("cpu", 5000, 4000, 2), "they request 5 cpu, and their 2 nodes have 4"),
    (4, Short("memory", (4 << 30) + 1, 4 << 30, 1), "they request 4294967297 memory, and their 1 node has 4294967296"),
    (12, Short(POD_LIMIT, 12, 10, 2), "their 2 nodes take 10 more of 12 pods"),
    (3, Short("host port 80", 3, 2, 2), "each takes host port 80, and they have 2 nodes"),
    (4, None, "node by node, their requests leave room for 3 of 4"),
])  # fmt: skip
def test_what_is_short_together_is_said_with_its_numbers(count: int, short: Short | None, said: str) -> None:
    found = Impossible((), count, 3, (short.name if short else "resources",), short)
    assert values_of(found)["lack"] == said
    together = Impossible((), count, 3, ("resources", "anti-affinity"))
    assert values_of(together)["lack"] == f"because of resources and anti-affinity, only 3 of {count} run"


def scaled(name: str, most: int) -> str:
    return (
        f"---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: {name}, namespace: shop}}\n"
        f"spec:\n  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {name}}}\n"
        f"  minReplicas: 1\n  maxReplicas: {most}\n"
    )


def apart(manifest: str, name: str) -> str:
    """The same, with a zone for each replica."""
    terms = f"[{{labelSelector: {{matchLabels: {{app: {name}}}}}, topologyKey: topology.kubernetes.io/zone}}]"
    affinity = f"      affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {terms}}}}}\n"
    return manifest.replace("    spec:\n", f"    spec:\n{affinity}")


def test_the_maximum_of_an_autoscaler_is_held_against_what_really_limits() -> None:
    in_three_zones = found(apart(made("Deployment", "a", replicas=6, cpu="2"), "a") + scaled("a", 80))
    assert set(in_three_zones) == {"anti-affinity-exceeds-domains"}
    fits_now = found(apart(made("Deployment", "a", replicas=2, cpu="2"), "a") + scaled("a", 80))
    assert "anti-affinity-hpa-max-exceeds-domains" in fits_now
    assert "scale-to-hpa-max-pending" not in fits_now
    (by_port,) = found(made("Deployment", "a", port=80) + scaled("a", 10))["scale-to-hpa-max-pending"]
    assert "each takes host port 80 of a node" in by_port.message
    assert "to at most 6" in by_port.help
