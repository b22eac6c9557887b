"""A hook gives a part of the set (``--partial``): where pods of the rest could change a verdict, it is a warning."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.findings import Finding
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

NODES = b"""
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: small, count: 1, zones: [a], allocatable: {cpu: "4", memory: 16Gi}}
- {name: large, count: 1, zones: [b], allocatable: {cpu: "32", memory: 64Gi}}
"""
SET = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, tier: front}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {SELECTED}}
      containers: [{name: c, image: "registry.example.com/web:1", resources: {requests: {cpu: "CPU"}}}]
"""
OTHER = """---
apiVersion: apps/v1
kind: Deployment
metadata: {name: banner, namespace: shop}
spec:
  replicas: 4
  selector: {matchLabels: {app: banner}}
  template:
    metadata: {labels: {app: banner, tier: front}}
    spec:
      nodeSelector: {topology.kubernetes.io/zone: a}
      containers: [{name: c, image: "registry.example.com/banner:1", resources: {requests: {cpu: 100m}}}]
"""


def findings(selected: str, cpu: str = "3", *, partial: bool, beside: str = "") -> list[Finding]:
    text = SET.replace("SELECTED", selected).replace("CPU", cpu) + beside
    manifests = manifest_set(documents("m.yaml", text.encode(), is_read), "default")
    cluster = cluster_from([("c.yaml", NODES)], "c.yaml")
    options = Options(partial=partial)
    report, _ = lint(manifests, cluster, options, Rulebook.shipped().select("ci"))
    return [f for f in report.findings if f.evidence.kind == "proof" and f.evidence.event == "deploy"]


def test_a_spread_counts_pods_that_were_not_given() -> None:
    """Four small pods in zone a let zone b take five of this workload."""
    for partial, severity in ((False, "error"), (True, "warning")):
        (found,) = findings("tier: front", partial=partial)
        assert (found.rule, found.severity.word) == ("spread-unsatisfiable", severity)
        rest = "the rest of the set, which was not given (--partial)"
        assert (found.evidence.assumes[-1].endswith(f"no pods of what was not read: {rest}")) is partial
    assert findings("tier: front", partial=False, beside=OTHER) == []


@pytest.mark.parametrize("partial", [False, True])
def test_its_own_pods_were_given(partial: bool) -> None:
    (found,) = findings("app: web", partial=partial)
    assert (found.rule, found.severity.word) == ("spread-unsatisfiable", "error")


@pytest.mark.parametrize("partial", [False, True])
def test_no_pods_of_others_make_a_node_larger(partial: bool) -> None:
    (found,) = findings("tier: front", "40", partial=partial)
    assert (found.rule, found.severity.word) == ("resource-exceeds-any-node", "error")


BESIDE_CACHES = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: cache, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: cache}}
  template:
    metadata: {labels: {app: cache}}
    spec:
      containers: [{name: c, image: "registry.example.com/cache:1"}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: front, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: front}}
  template:
    metadata: {labels: {app: front}}
    spec:
      affinity:
        podAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {labelSelector: {matchLabels: {app: cache}}, topologyKey: kubernetes.io/hostname}
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {labelSelector: {matchLabels: {app: front}}, topologyKey: kubernetes.io/hostname}
      containers: [{name: c, image: "registry.example.com/front:1"}]
"""


@pytest.mark.parametrize(("partial", "severity"), [(False, "error"), (True, "warning")])
def test_pods_of_the_rest_may_be_those_that_others_must_be_near(partial: bool, severity: str) -> None:
    """Of the known caches one node has one; the verdict that the rule explains says so, too."""
    manifests = manifest_set(documents("m.yaml", BESIDE_CACHES.encode(), is_read), "default")
    cluster = cluster_from([("c.yaml", NODES.replace(b"large, count: 1", b"large, count: 2"))], "c.yaml")
    report, _ = lint(manifests, cluster, Options(partial=partial), Rulebook.shipped().select("ci"))
    (found,) = (f for f in report.findings if f.severity.word != "note")
    assert (found.rule, found.severity.word) == ("anti-affinity-exceeds-domains", severity)
    assert any("--partial" in premise for premise in found.evidence.assumes) is partial
