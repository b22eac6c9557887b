"""One object defined twice in a set: no finding rests on two definitions side by side, and the report says so."""

from __future__ import annotations

from pathlib import Path as File

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.findings import Report, Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

SKETCH = File(__file__).parent.parent.parent / "fixtures" / "clusters" / "three-zones.yaml"


def three_zones() -> Cluster:
    return cluster_from([(SKETCH.name, SKETCH.read_bytes())], SKETCH.name)


def report(files: dict[str, str], profile: str = "ci") -> Report:
    entries = [d for path, text in files.items() for d in documents(path, text.encode(), is_read)]
    manifests = manifest_set(entries, "default")
    assert not manifests.errors
    found, _ = lint(manifests, three_zones(), Options(profile=profile), Rulebook.shipped().select(profile))
    assert not found.errors
    return found


def rules(found: Report) -> list[tuple[str, str]]:
    return [(f.location.path, f.rule) for f in found.findings]


ALONE = """
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - labelSelector: {matchLabels: {app: web}}
            topologyKey: topology.kubernetes.io/zone"""


def deployment(replicas: int, pod: str = "", name: str = "web") -> str:
    return f"""apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec:
  replicas: {replicas}
  strategy: {{rollingUpdate: {{maxSurge: 0, maxUnavailable: 1}}}}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:{pod}
      containers: [{{name: web, image: "registry.example.com/web:1"}}]
"""


SCALER = """---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  minReplicas: 7
  maxReplicas: 9
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 500m}}}]
"""


def test_an_autoscaler_of_another_folder_gives_no_replicas_to_a_namesake() -> None:
    here = deployment(3, ALONE)
    found = report({"a/web.yaml": here, "b/web.yaml": deployment(7) + SCALER})
    assert rules(found) == []
    assert rules(report({"a/web.yaml": here + SCALER})) == [("a/web.yaml", "anti-affinity-exceeds-domains")]
    (note,) = found.summary.notes
    assert note == "judged apart, because they define the same workloads: a and b"


def test_an_autoscaler_scales_each_copy_in_its_own_file() -> None:
    """Of two copies in its file either is its target: it was kept from the first, which then wanted five pods."""
    few = SCALER.replace("minReplicas: 7", "minReplicas: 2").replace("maxReplicas: 9", "maxReplicas: 3")
    copies = deployment(5, ALONE) + few + "---\n" + deployment(5, ALONE)
    assert "anti-affinity-exceeds-domains" not in {rule for _, rule in rules(report({"web.yaml": copies}))}


def test_what_is_wrong_with_one_definition_alone_is_said_of_it_as_before() -> None:
    found = report({"a/web.yaml": deployment(4, ALONE), "b/web.yaml": deployment(2)})
    assert rules(found) == [("a/web.yaml", "anti-affinity-exceeds-domains")]
    assert found.findings[0].severity is Severity.ERROR


def test_each_of_three_definitions_is_judged() -> None:
    files = {f"{at}/web.yaml": deployment(4, ALONE) for at in "abc"}
    assert rules(report(files)) == [(path, "anti-affinity-exceeds-domains") for path in files]


def test_an_autoscaler_whose_target_is_in_two_other_folders_makes_no_error_of_either() -> None:
    files = {
        "a/web.yaml": deployment(3, ALONE),
        "b/web.yaml": deployment(3, ALONE.replace("app: web", "app: web, tier: x")),
        "scaling/hpa.yaml": SCALER.removeprefix("---"),
    }
    assert not [f for f in report(files).findings if f.severity is Severity.ERROR]


def test_two_definitions_of_one_daemon_do_not_compete_for_a_host_port() -> None:
    daemon = """apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: shop}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      containers: [{name: agent, image: "agent:V", ports: [{containerPort: 9000, hostPort: 9000}]}]
"""
    other = daemon.replace("agent", "other")
    assert rules(report({"a/agent.yaml": daemon, "b/agent.yaml": daemon.replace(":V", ":W")})) == []
    assert rules(report({"a/agent.yaml": daemon, "b/other.yaml": other})) != []


CLASS = """apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: shared}
provisioner: filestore.csi.storage.gke.io
volumeBindingMode: MODE
"""
CLAIM = """apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop}
spec: {accessModes: [ReadWriteMany], storageClassName: shared, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  storageClassName: shared
  accessModes: [ReadWriteMany]
  capacity: {storage: 1Gi}
  csi: {driver: filestore.csi.storage.gke.io, volumeHandle: x}
---
"""
READER = "\n      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"


def test_two_storage_classes_of_one_name_leave_no_claim_unbound() -> None:
    files = {
        "1-class.yaml": CLASS.replace("MODE", "WaitForFirstConsumer"),
        "2-class.yaml": CLASS.replace("MODE", "Immediate"),
        "web.yaml": CLAIM + deployment(2, READER),
    }
    for without in ("1-class.yaml", "2-class.yaml"):
        assert rules(report({path: text for path, text in files.items() if path != without})) == []
    assert rules(report(files)) == []


def test_a_copy_that_differs_in_one_file_is_told_and_one_in_another_file_named_in_a_note() -> None:
    def severities_of(files: dict[str, str]) -> tuple[list[Severity], int]:
        found = report(files)
        return [f.severity for f in found.findings if f.rule == "defined-twice"], len(found.summary.notes)

    assert severities_of({"web.yaml": deployment(1) + "---\n" + deployment(2)}) == ([Severity.WARNING], 1)
    assert severities_of({"a.yaml": deployment(1), "b.yaml": deployment(2)}) == ([], 1)
    assert severities_of({"a/web.yaml": deployment(1), "b/web.yaml": deployment(2)}) == ([], 1)
    assert severities_of({"web.yaml": deployment(1) + "---\n" + deployment(1)}) == ([], 0)


BUDGET = """---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
"""


def test_a_second_copy_is_no_other_workload_that_a_budget_guards() -> None:
    one = deployment(2) + BUDGET
    assert ("a/web.yaml", "drain-stuck") in rules(report({"a/web.yaml": one}))
    both = rules(report({"a/web.yaml": one, "b/web.yaml": one}))
    assert [place for place, rule in both if rule == "drain-stuck"] == ["a/web.yaml", "b/web.yaml"]


def test_each_definition_is_judged_as_it_stands() -> None:
    """The copy with three replicas lets one go; the one with two lets none go, whatever stands beside it."""
    found = rules(report({"a/web.yaml": deployment(2) + BUDGET, "b/web.yaml": deployment(3) + BUDGET}))
    assert [place for place, rule in found if rule == "drain-stuck"] == ["a/web.yaml"]


def test_one_pod_is_told_in_the_singular() -> None:
    one = deployment(1) + BUDGET.replace("minAvailable: 2", "minAvailable: 1")
    (found,) = (f for f in report({"a/web.yaml": one}).findings if f.rule == "drain-stuck")
    assert found.evidence.text.startswith("1 running pod, ")
    assert found.evidence.assumes == ("Deployment web runs 1 replica",)
    assert [place.label for place in found.related] == ["1 replica"]
