"""What proves that a workload does not survive an event is an error where a user asks it to survive the event."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.workloads.workload import SURVIVES
from kubesched_lint.findings import Finding
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

NODES = b"""
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes: [{name: worker, count: 2, zones: [a], allocatable: {cpu: "4", memory: 16Gi}}]
"""
SET = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: gate, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: gate}
  minReplicas: 2
  maxReplicas: MOST
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: gate, namespace: shop, annotations: {"NOTE": "EVENTS"}}
spec:
  replicas: 2
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {app: gate}}
  template:
    metadata: {labels: {app: gate}}
    spec:
      containers:
      - {name: gate, image: "registry.example.com/gate:1", resources: {requests: {cpu: "1"}}}
"""
QUOTA = """---
apiVersion: v1
kind: ResourceQuota
metadata: {name: small, namespace: shop}
spec: {hard: {pods: "5"}}
"""


def read(most: int = 8, events: str = "") -> ManifestSet:
    text = SET.replace("MOST", str(most)).replace("NOTE", SURVIVES).replace("EVENTS", events)
    return manifest_set(documents("m.yaml", text.encode(), is_read), "default")


def of_the_maximum(manifests: ManifestSet, options: Options | None = None) -> Finding:
    cluster = cluster_from([("c.yaml", NODES)], "c.yaml")
    report, _ = lint(manifests, cluster, options or Options(), Rulebook.shipped().select("ci"))
    (found,) = (f for f in report.findings if f.evidence.event == "hpa-max")
    return found


def test_pods_that_a_quota_refuses_at_the_maximum_do_not_wait() -> None:
    text = SET.replace("MOST", "7").replace("NOTE", SURVIVES).replace("EVENTS", "") + QUOTA
    found = of_the_maximum(manifest_set(documents("m.yaml", text.encode(), is_read), "default"))
    assert "2 of 7 pods of Deployment shop/gate are not created: " in found.message
    assert "Pending" not in found.message
    assert found.help.endswith("or raise pods to 7 in quota small")


@pytest.mark.parametrize("most", [8, 12], ids=["no-rollout-ends", "pods-wait"])
def test_a_bad_end_at_the_maximum_is_a_warning_with_proof(most: int) -> None:
    found = of_the_maximum(read(most))
    assert found.severity.word == "warning"
    assert found.evidence.kind == "proof"


@pytest.mark.parametrize("most", [8, 12], ids=["no-rollout-ends", "pods-wait"])
def test_the_configuration_makes_it_an_error(most: int) -> None:
    assert of_the_maximum(read(most), Options(survive=("hpa-max",))).severity.word == "error"
    assert of_the_maximum(read(most), Options(survive=("drain",))).severity.word == "warning"


def test_an_annotation_of_the_workload_makes_it_an_error() -> None:
    assert of_the_maximum(read(events="drain, hpa-max")).severity.word == "error"
    assert of_the_maximum(read(events="drain")).severity.word == "warning"


def test_a_change_that_raises_the_maximum_makes_it_an_error() -> None:
    for before, severity in ((4, "error"), (8, "warning"), (10, "warning")):
        manifests = replace_before(read(), read(before))
        assert of_the_maximum(manifests).severity.word == severity, before


def replace_before(after: ManifestSet, before: ManifestSet) -> ManifestSet:
    return replace(after, before=before.inventory)


def test_a_severity_that_a_user_sets_stands() -> None:
    from kubesched_lint.findings import Severity

    mild = Options(survive=("hpa-max",), severities={"scale-out-stays-pending": Severity.NOTE})
    assert of_the_maximum(read(), mild).severity.word == "note"


@pytest.mark.parametrize(("survive", "lost"), [(("node-loss",), "node"), (("zone-loss",), "zone")])
def test_a_loss_is_judged_where_a_user_asks_for_it(survive: tuple[str, ...], lost: str) -> None:
    nodes = NODES.replace(b"count: 2, zones: [a]", b"count: 1, zones: [a, b]")
    cluster, options = cluster_from([("c.yaml", nodes)], "c.yaml"), Options(survive=survive)
    manifests = read(2)
    text = manifests.documents[1].text.replace("replicas: 2", "replicas: 8")
    manifests = manifest_set(documents("m.yaml", text.encode(), is_read), "default")
    book = Rulebook.shipped()
    for chosen, expected in ((options, [(f"{lost}-loss", "error")]), (Options(), [])):
        report, _ = lint(manifests, cluster, chosen, chosen.rules(book))
        found = [f for f in report.findings if f.rule == "does-not-survive"]
        assert [(f.evidence.event, f.severity.word) for f in found] == expected


def test_a_drain_that_never_ends_is_an_error_where_a_user_asks_for_it() -> None:
    budget = """---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: gate, namespace: shop}
spec: {minAvailable: 2, selector: {matchLabels: {app: gate}}}
"""
    text = SET.replace("MOST", "2").replace("NOTE", SURVIVES).replace("EVENTS", "") + budget
    manifests, cluster = (
        manifest_set(documents("m.yaml", text.encode(), is_read), "default"),
        cluster_from([("c.yaml", NODES)], "c.yaml"),
    )
    for survive, severity in (((), "warning"), (("drain",), "error")):
        report, _ = lint(manifests, cluster, Options(survive=survive), Rulebook.shipped().select("ci"))
        (found,) = (f for f in report.findings if f.rule == "drain-stuck")
        assert (found.evidence.kind, found.severity.word) == ("proof", severity)


SPREAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, annotations: {"NOTE": "EVENTS"}}
spec:
  replicas: 3
  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        minDomains: 3
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
      containers:
      - {name: web, image: "registry.example.com/web:1", resources: {requests: {cpu: "3"}}}
"""


@pytest.mark.parametrize("by_annotation", [True, False])
@pytest.mark.parametrize("event", ["node-loss", "zone-loss", "drain"])
def test_whatever_proves_that_pods_wait_after_an_event_is_an_error(event: str, by_annotation: bool) -> None:
    """A spread, too, and the drain, of which no rule counts domains; in any profile, and only where it is asked."""
    nodes = NODES.replace(b"count: 2, zones: [a]", b"count: 1, zones: [a, b, c]")
    cluster = cluster_from([("c.yaml", nodes)], "c.yaml")
    text = SPREAD.replace("NOTE", SURVIVES).replace("EVENTS", event if by_annotation else "")
    manifests = manifest_set(documents("m.yaml", text.encode(), is_read), "default")
    options = Options() if by_annotation else Options(survive=(event,))
    report, _ = lint(manifests, cluster, options, options.rules(Rulebook.shipped()))
    assert [(f.rule, f.evidence.event, f.severity.word) for f in report.findings if f.severity.word == "error"] == [
        ("does-not-survive", event, "error")
    ]
    plain = manifest_set(documents("m.yaml", SPREAD.encode(), is_read), "default")
    report, _ = lint(plain, cluster, Options(), Options().rules(Rulebook.shipped()))
    assert "does-not-survive" not in {f.rule for f in report.findings}
