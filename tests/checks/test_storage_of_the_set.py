"""Claims, volumes and classes of the manifests count like those of the snapshot."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.findings import Report, Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.rulebook.own import rulebook_with
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import sketch, snapshot
from tests.events.test_storage_verdicts import EVERYTHING, NODES

PINNED = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-a}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: gp3
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: KEY, operator: In, values: [a]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: gp3, volumeName: pv-a, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  nodeSelector: {topology.kubernetes.io/zone: b}
  containers: [{name: c, image: "x:1"}]
  volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]
"""
POD = PINNED.rpartition("---")[2]


def report(text: str, cluster: Cluster) -> Report:
    found = manifest_set(documents("set.yaml", text.encode(), is_read), "default")
    return lint(found, cluster, Options(), rulebook_with().select("default", (), ()))[0]


def skipped(found: Report) -> set[str]:
    return {skip.rule for skip in found.skipped}


def test_a_volume_of_the_set_pins_a_pod_of_the_set() -> None:
    found = report(PINNED.replace("KEY", "topology.kubernetes.io/zone"), sketch(zones="ab"))
    assert [(f.rule, f.severity) for f in found.findings] == [("pv-zone-pinning-conflict", Severity.ERROR)]


def test_rules_about_claims_are_skipped_where_nobody_brings_one() -> None:
    rules = {"pv-zone-pinning-conflict", "pvc-missing", "storageclass-missing"}
    assert rules <= skipped(report(POD, sketch(zones="ab")))


def test_a_claim_is_not_missing_where_no_claims_were_captured() -> None:
    other_claim = PINNED.split("---")[1]
    found = report(f"{other_claim.replace('name: data', 'name: other')}---{POD}", sketch(zones="ab"))
    assert "pvc-missing" in skipped(found)
    assert not found.findings


EPHEMERAL = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: "x:1"}]
  volumes:
  - name: s
    ephemeral:
      volumeClaimTemplate:
        spec: {accessModes: [ReadWriteOnce], storageClassName: none-such, resources: {requests: {storage: 1Gi}}}
"""
NEVER = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: MODE
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: "x:1"}]}
  volumeClaimTemplates:
  - metadata: {name: d}
    spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
"""


def rules_of(found: Report) -> list[Any]:
    return [(f.rule, f.severity) for f in found.findings if f.severity is not Severity.NOTE]


def test_an_ephemeral_volume_of_a_class_that_is_not_there_is_told_at_its_line() -> None:
    found = report(EPHEMERAL, snapshot(*NODES, kinds=EVERYTHING))
    assert rules_of(found) == [("storageclass-missing", Severity.ERROR)]
    assert found.findings[0].location.span.line == 11
    assert "none-such" in found.findings[0].message


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("Immediate", "pod has unbound immediate PersistentVolumeClaims"),
        ("WaitForFirstConsumer", "2 node(s) didn't find available persistent volumes to bind"),
    ],
)
@pytest.mark.parametrize("kinds", [EVERYTHING, ()])
def test_a_class_that_makes_no_volumes_leaves_the_pods_of_a_stateful_set_pending(
    mode: str, reason: str, kinds: tuple[str, ...]
) -> None:
    found = report(NEVER.replace("MODE", mode), snapshot(*NODES, kinds=kinds))
    is_known = "StorageClass" in kinds
    assert rules_of(found) == [("pods-stay-pending", Severity.ERROR if is_known else Severity.WARNING)]
    assert "all 2 pods" in found.findings[0].message
    assert reason in found.findings[0].message


@pytest.mark.parametrize(("provisioner", "waits"), [("kubernetes.io/no-provisioner", True), ("", False)])
def test_a_class_whose_provisioner_a_patch_adds_is_unknown(provisioner: str, waits: bool) -> None:
    """The API server refuses a class without one, so a base that has none is not all that is applied."""
    text = f"""
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {{name: own}}
{provisioner and f"provisioner: {provisioner}"}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data}}
spec: {{accessModes: [ReadWriteOnce], storageClassName: own, resources: {{requests: {{storage: 1Gi}}}}}}
---{POD.replace("zone: b", "zone: a")}"""
    found = report(text, sketch(zones="ab"))
    assert ("pods-stay-pending" in {finding.rule for finding in found.findings}) is waits
