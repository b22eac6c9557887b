"""A CSI driver sets its labels when it registers on a node, so a sketch need not state them."""

from __future__ import annotations

import pytest

from kubesched_lint import lint, load_cluster

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
