"""A volume that is made where a pod lands ties the pod to that zone, so that zones are not alike any more."""

from __future__ import annotations

from kubesched_lint.engine.events.answers.cells import BAD
from tests.events.simulated import HOSTNAME, apart, asking, cell, other, report_of, sketch, workload


def test_a_course_with_volumes_in_several_zones_is_told_to_its_end():
    """Three zones with a node each. Whoever comes first, one of the four pods with disks finds no node left."""
    local = other("StorageClass", "disk", "storage.k8s.io/v1", provisioner="ebs.csi.aws.com")
    local["volumeBindingMode"] = "WaitForFirstConsumer"
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "storageClassName": "disk",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    db = workload(
        "StatefulSet",
        "db",
        4,
        {**asking("1"), **apart("db", HOSTNAME)},
        serviceName="db",
        podManagementPolicy="Parallel",
        volumeClaimTemplates=[claim],
    )
    found = report_of(sketch(1, "abc", "2", "110", local), db, workload("Deployment", "web", 1, asking("1500m")))
    assert cell(found, "db", "deploy").verdict == BAD
    for event in ("rollout", "zone-loss"):
        worst = cell(found, "db", event).worst
        assert worst is not None
        assert worst.lines
