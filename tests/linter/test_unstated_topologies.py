"""A CSI driver sets its labels when it registers on a node, so a sketch need not state them."""

from __future__ import annotations

import pytest

from kubesched_lint import lint, load_cluster
from kubesched_lint.linter.results.causes import one_per_cause

SET = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: cinder.csi.openstack.org
volumeBindingMode: WaitForFirstConsumer
allowedTopologies:
- matchLabelExpressions:
  - {key: topology.cinder.csi.openstack.org/zone, values: [nova]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: fast
  resources: {requests: {storage: 10Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: db, namespace: shop}
spec:
  containers: [{name: db, image: x}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
"""
SKETCH = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodeGroups: complete
nodes: [{name: worker, count: 2, zones: [nova], labels: {%s}, allocatable: {cpu: "4", memory: 16Gi}}]
"""


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("", set()),
        ("topology.cinder.csi.openstack.org/zone: nova", set()),
        ("topology.cinder.csi.openstack.org/zone: other", {"allowed-topologies-conflict"}),
    ],
)
def test_a_label_of_a_driver_is_judged_where_nodes_have_it(labels: str, expected: set[str]) -> None:
    rules = {"allowed-topologies-conflict", "deploy-leaves-pending"}
    found = lint(text=SET, cluster=load_cluster(text=SKETCH % labels)).findings
    assert {f.rule for f in found} & rules == expected


def test_several_claims_of_one_class_are_one_cause() -> None:
    volume = "  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}"
    claim = SET.split("---")[1]
    two = f"{SET.replace(volume, volume + ', {name: more, persistentVolumeClaim: {claimName: more}}')}"
    two += f"---{claim.replace('name: data', 'name: more')}"
    nodes = load_cluster(text=SKETCH % "topology.cinder.csi.openstack.org/zone: other")
    found = lint(text=two, cluster=nodes)
    of_rule = [f for f in one_per_cause(found).findings if f.rule == "allowed-topologies-conflict"]
    assert [len([a for a in f.also if a.rule == f.rule]) for f in of_rule] == [1]


def test_a_driver_names_its_topology_as_it_likes() -> None:
    own = SET.replace("topology.cinder.csi.openstack.org/zone", "directpv.min.io/identity")
    known = "directpv.min.io/identity: other"
    for labels, expected in (("", set()), (known, {"allowed-topologies-conflict"})):
        found = lint(text=own, cluster=load_cluster(text=SKETCH % labels)).findings
        assert {f.rule for f in found} & {"allowed-topologies-conflict", "deploy-leaves-pending"} == expected


@pytest.mark.parametrize(("labels", "is_error"), [("", False), ("topology.hostpath.csi/node: a", True)])
def test_a_selector_on_a_label_of_a_driver_is_judged_where_nodes_have_it(labels: str, is_error: bool) -> None:
    pod = """
apiVersion: v1
kind: Pod
metadata: {name: db, namespace: shop}
spec:
  nodeSelector: {topology.hostpath.csi/node: csi-node}
  containers: [{name: db, image: x}]
"""
    found = lint(text=pod, cluster=load_cluster(text=SKETCH % labels)).findings
    assert ("nodeselector-matches-nothing" in {f.rule for f in found}) is is_error


SELECTS = """
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: shop}
spec:
  nodeSelector: {%s: x}
  containers: [{name: c, image: x}]
"""


@pytest.mark.parametrize(
    ("key", "is_unstated"),
    [
        ("topology.linode.com/region", True),
        ("topology.gke.io/zone", True),
        ("nvidia.com/gpu.product", False),
        ("topology.kubernetes.io/zone", False),
        ("cloud.google.com/gke-accelerator", False),
        ("example.com/rack", False),
    ],
)
def test_a_label_that_a_driver_sets_is_unknown_in_a_sketch(key: str, is_unstated: bool) -> None:
    report = lint(text=SELECTS % key, cluster=load_cluster(text=SKETCH % ""))
    assert ("nodeselector-matches-nothing" in {f.rule for f in report.findings}) is not is_unstated
    reasons = [skip.reason for skip in report.skipped if skip.rule == "nodeselector-matches-nothing"]
    assert (reasons == [f"the sketch gives no node the label {key}; write it to have selectors on it checked"]) is (
        is_unstated
    )
    if is_unstated:
        stated = lint(text=SELECTS % key, cluster=load_cluster(text=SKETCH % f"{key}: other"))
        assert "nodeselector-matches-nothing" in {f.rule for f in stated.findings}


CLAIM = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: x, volumeMounts: [{name: data, mountPath: /data}]}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: NAME
  resources: {requests: {storage: 10Gi}}
"""
CLASS = """---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: shared}
provisioner: NAME
volumeBindingMode: WaitForFirstConsumer
"""


@pytest.mark.parametrize(
    ("name", "is_attached"),
    [
        ("ebs.csi.aws.com", True),
        ("driver.longhorn.io", True),
        ("transfsync.example.com", True),
        ("nfs.csi.k8s.io", False),
        ("cluster.local/nfs-subdir-external-provisioner", False),
        ("rook-ceph.cephfs.csi.ceph.com", False),
        ("efs.csi.aws.com", False),
        ("file.csi.azure.com", False),
        ("rancher.io/local-path", False),
        ("topolvm.io", False),
        ("zfs.csi.openebs.io", False),
        ("org.democratic-csi.zfs-iscsi", True),
        ("csi.juicefs.com", False),
        ("fsx.csi.aws.com", False),
        ("ceph-filesystem", False),
        ("standard-rwx", False),
        ("standard-rwo", True),
        ("rook-ceph.rbd.csi.ceph.com", True),
        ("k8s.io/minikube-hostpath", False),
    ],
)
def test_a_volume_that_is_not_attached_may_be_used_on_two_nodes(name: str, is_attached: bool) -> None:
    cluster = load_cluster(text=SKETCH % "")
    defined = lint(text=CLAIM.replace("NAME", "shared") + CLASS.replace("NAME", name), cluster=cluster).findings
    assert ("claim-shared-by-replicas" in {f.rule for f in defined}) is is_attached


@pytest.mark.parametrize(("name", "is_attached"), [("gp3", True), ("local-path", False), ("nfs-client", False)])
def test_the_name_of_a_class_that_is_not_known_may_tell(name: str, is_attached: bool) -> None:
    found = lint(text=CLAIM.replace("NAME", name), cluster=load_cluster(text=SKETCH % "")).findings
    assert ("claim-shared-by-replicas" in {f.rule for f in found}) is is_attached
