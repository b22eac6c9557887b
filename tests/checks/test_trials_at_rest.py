"""What stands when a trial begins: pods of workloads whose new pods the API server refuses stay where they are."""

from __future__ import annotations

import yaml

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.placing.trial import trials_of
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import asking, other, snapshot, workload


def test_pods_of_a_workload_that_is_refused_now_keep_their_room():
    node = other("Node", "n", status={"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "1"}})
    standing = other("Pod", "db-0", spec={"nodeName": "n", **asking("1")})
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "db", "uid": "u", "controller": True}
    standing["metadata"].update(namespace="default", labels={"app": "db"}, ownerReferences=[owner])
    cluster = snapshot(node, standing, kinds=["Node", "Pod", "PriorityClass", "Namespace"])
    objects = [
        workload("Deployment", "web", 1, asking("1")),
        workload("ReplicaSet", "db", 2, asking("1", priorityClassName="absent")),
    ]
    text = "---\n".join(map(yaml.safe_dump, objects))
    found = manifest_set(documents("set.yaml", text.encode(), is_read), "default")
    scenario = Scenario(found.inventory, cluster)
    (web,) = scenario.as_created
    assert [trial[web][0] for trial in trials_of(scenario)] == [1, 1, 1]
