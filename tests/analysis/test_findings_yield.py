"""What a trial saw is told unless better findings explain it all; nothing leans on what the API server refuses."""

from __future__ import annotations

from kubesched_lint import lint
from kubesched_lint.cluster.read import cluster_from
from kubesched_lint.findings import Finding

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


def test_a_trial_does_not_yield_to_a_finding_that_explains_fewer_of_its_pods() -> None:
    """Six pods must stand where the port is taken: that two have no node with the port is the smaller part of it."""
    first = made("Deployment", "a", port=80, ip="10.0.0.1")
    second = made("Deployment", "b", port=80, ip="10.0.0.1", replicas=6)
    both = found(first + beside(second, "a"))
    assert "so 2 pods stay Pending" in both["hostport-cross-workload"][0].message
    assert "at least 6 of 6 pods of Deployment shop/b" in both["deploy-leaves-pending"][0].message

    alone = found(first + second)
    assert "so 2 pods stay Pending" in alone["hostport-cross-workload"][0].message
    assert "deploy-leaves-pending" not in alone
