"""A workload that already runs is its own previous revision: its pods are found, counted, and compared."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.pods.template import difference
from kubesched_lint.engine.cluster.revisions import live_replicas, running_pods_of, starting_replicas, template_changed
from kubesched_lint.engine.model.decode.policy import decode_autoscaler
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.sources.clusters.read import cluster_from, read_cluster

CLUSTERS = Path(__file__).parents[2] / "fixtures" / "clusters"


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return read_cluster(str(CLUSTERS / "kubectl-get.json.gz"))


def without(cluster: Cluster, *fields: str) -> Cluster:
    """The cluster as it is known when some lists were not captured."""
    return replace(cluster, inventory=replace(cluster.inventory, **dict.fromkeys(fields, ())))


def manifest(name: str) -> Workload:
    documents = list(yaml.safe_load_all((CLUSTERS / "running" / name).read_text()))
    return decode_workload(documents[0], "default")


def test_an_unchanged_workload_keeps_its_pods(cluster: Cluster) -> None:
    web = manifest("unchanged.yaml")
    assert template_changed(web, cluster) is False
    assert len(running_pods_of(web, cluster)) == 12
    assert live_replicas(web, cluster) == 12


def test_a_changed_template_replaces_them(cluster: Cluster) -> None:
    web = manifest("changed.yaml")
    assert template_changed(web, cluster) is True
    assert len(running_pods_of(web, cluster)) == 12


def test_a_scaled_workload_keeps_its_template(cluster: Cluster) -> None:
    web = manifest("scaled.yaml")
    assert template_changed(web, cluster) is False
    assert (live_replicas(web, cluster), starting_replicas(web, cluster, None)) == (12, 20)


def test_with_an_autoscaler_and_no_replicas_the_live_count_is_the_start(cluster: Cluster) -> None:
    documents = list(yaml.safe_load_all((CLUSTERS / "running" / "autoscaled.yaml").read_text()))
    web, scaler = decode_workload(documents[0], "default"), decode_autoscaler(documents[1], "default", None)
    assert starting_replicas(web, cluster, scaler) == 12
    assert starting_replicas(web, None, scaler) == 3
    assert starting_replicas(web, cluster, replace(scaler, max_replicas=9)) == 9
    assert starting_replicas(replace(web, replicas=0, replicas_written=True), cluster, scaler) == 0


@pytest.mark.parametrize(
    "lacking",
    [(), ("workloads",), ("replica_sets",), ("workloads", "replica_sets")],
    ids=lambda x: "+".join(x) or "none",
)
def test_the_pods_are_found_whatever_list_is_lacking(cluster: Cluster, lacking: tuple[str, ...]) -> None:
    partial = without(cluster, *lacking)
    for name, count in (("web", 12), ("api", 120), ("cache", 3), ("stuck", 5)):
        workload = replace(next(w for w in cluster.inventory.workloads if w.name == name))
        assert len(running_pods_of(workload, partial)) == count
        assert live_replicas(workload, partial) == count


def test_without_the_deployment_its_replica_set_tells_the_template(cluster: Cluster) -> None:
    partial = without(cluster, "workloads")
    assert template_changed(manifest("unchanged.yaml"), partial) is False
    assert template_changed(manifest("changed.yaml"), partial) is True
    assert template_changed(manifest("changed.yaml"), without(cluster, "workloads", "replica_sets")) is None


def test_stateful_sets_and_daemon_sets_own_theirs(cluster: Cluster) -> None:
    by_kind = {w.kind: w for w in cluster.inventory.workloads}
    assert sorted(p.name for p in running_pods_of(by_kind["StatefulSet"], cluster)) == ["db-0", "db-1", "db-2"]
    assert len(running_pods_of(by_kind["DaemonSet"], cluster)) == 56
    assert live_replicas(by_kind["DaemonSet"], cluster) == 56


def test_a_workload_of_the_same_name_elsewhere_is_another(cluster: Cluster) -> None:
    web = replace(manifest("unchanged.yaml"), namespace="staging")
    assert running_pods_of(web, cluster) == ()
    assert live_replicas(web, cluster) is None
    assert starting_replicas(web, cluster, None) == 12  # as written


def test_names_alone_do_not_make_an_owner(cluster: Cluster) -> None:
    """Without ReplicaSets, a pod belongs to a Deployment only if the Deployment also selects it."""
    web = manifest("unchanged.yaml")
    assert web.selector is not None
    other = replace(web, selector=replace(web.selector, requirements=web.selector.requirements[:0]))
    stranger = replace(other, selector=_selector(app="stranger"))
    partial = without(cluster, "replica_sets", "workloads")
    assert len(running_pods_of(other, partial)) == 12
    assert running_pods_of(stranger, partial) == ()


def _selector(**labels: str) -> Any:
    from kubesched_lint.engine.model.labels import Requirement, Selector

    return Selector(tuple(Requirement(k, "In", (v,)) for k, v in labels.items()))


def objects(*texts: str) -> Cluster:
    body = "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes: [{name: a}]\nobjects:\n" + "\n".join(texts)
    return cluster_from([("c.yaml", body.encode())], "c.yaml")


POD = "- {{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {labels}}}, spec: {{nodeName: a}}}}"


def test_a_sketched_pod_with_a_template_hash_belongs_to_the_deployment_of_its_name() -> None:
    cluster = objects(
        POD.format(name="web-api-5d9c-x7k2p", labels="{app: web, pod-template-hash: 5d9c}"),
        POD.format(name="web-5d9c-abcde", labels="{app: web, pod-template-hash: 5d9c}"),
        POD.format(name="web-zzz", labels="{app: web}"),
    )
    web = replace(manifest("unchanged.yaml"), namespace="default", selector=_selector(app="web"))
    assert [p.name for p in running_pods_of(web, cluster)] == ["web-5d9c-abcde"]
    assert [p.name for p in running_pods_of(replace(web, name="web-api"), cluster)] == ["web-api-5d9c-x7k2p"]


def test_a_bare_pod_is_found_by_its_name() -> None:
    cluster = objects(POD.format(name="tool", labels="{}"))
    pod = decode_workload({"kind": "Pod", "metadata": {"name": "tool"}, "spec": {}}, "default")
    assert [p.name for p in running_pods_of(pod, cluster)] == ["tool"]


def test_replica_sets_of_another_controller_are_not_a_deployments() -> None:
    cluster = objects(
        "- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-5d9c, labels: {pod-template-hash: 5d9c}, "
        "ownerReferences: [{kind: Rollout, name: web, controller: true}]}, spec: {replicas: 2, template: {}}}",
        "- {apiVersion: v1, kind: Pod, metadata: {name: web-5d9c-a, labels: {pod-template-hash: 5d9c, app: web}, "
        "ownerReferences: [{kind: ReplicaSet, name: web-5d9c, controller: true}]}, spec: {nodeName: a}}",
    )
    web = replace(manifest("unchanged.yaml"), namespace="default", selector=_selector(app="web"))
    assert running_pods_of(web, cluster) == ()
    assert live_replicas(web, cluster) is None


def test_terminating_pods_are_not_counted_as_live() -> None:
    cluster = objects(
        "- {apiVersion: v1, kind: Pod, metadata: {name: db-0, deletionTimestamp: '2026-01-01T00:00:00Z', "
        "ownerReferences: [{kind: StatefulSet, name: db, controller: true}]}, spec: {nodeName: a}}",
        "- {apiVersion: v1, kind: Pod, metadata: {name: db-1, "
        "ownerReferences: [{kind: StatefulSet, name: db, controller: true}]}, spec: {nodeName: a}}",
    )
    db = decode_workload({"kind": "StatefulSet", "metadata": {"name": "db"}, "spec": {"template": {}}}, "default")
    assert len(running_pods_of(db, cluster)) == 2
    assert live_replicas(db, cluster) == 1


def test_our_own_snapshot_shows_a_change_but_never_its_absence(cluster: Cluster) -> None:
    """It keeps no env, so equal parts prove nothing."""
    trimmed = replace(cluster, origin="snapshot")
    assert template_changed(manifest("changed.yaml"), trimmed) is True
    assert template_changed(manifest("unchanged.yaml"), trimmed) is None


STORED: dict[str, Any] = {
    "metadata": {"creationTimestamp": None, "labels": {"app": "web", "pod-template-hash": "5d9c"}},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "x:1",
                "imagePullPolicy": "IfNotPresent",
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "readinessProbe": {
                    "httpGet": {"path": "/", "port": "http", "scheme": "HTTP"},
                    "timeoutSeconds": 1,
                    "periodSeconds": 10,
                    "successThreshold": 1,
                    "failureThreshold": 3,
                },
                "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "1"}},
                "env": [
                    {"name": "NODE", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}}
                ],
            }
        ],
        "volumes": [{"name": "v", "configMap": {"name": "m", "defaultMode": 420}}, {"name": "e", "emptyDir": {}}],
        "serviceAccountName": "web",
        "serviceAccount": "web",
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    },
}
WRITTEN: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "x:1",
                "ports": [{"containerPort": 80}],
                "readinessProbe": {"httpGet": {"path": "/", "port": "http"}},
                "resources": {"requests": {"cpu": 0.5, "memory": "1024Mi"}, "limits": {"cpu": "1000m"}},
                "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
                "stdin": False,
            }
        ],
        "volumes": [{"name": "v", "configMap": {"name": "m"}}, {"name": "e", "emptyDir": {}}],
        "serviceAccountName": "web",
        "hostNetwork": False,
        "nodeSelector": {},
        "tolerations": [],
        "affinity": None,
    },
}


def test_what_the_api_server_fills_in_is_no_change() -> None:
    assert difference(WRITTEN, STORED) is False


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("metadata", "labels", "version"), "v2"),
        (("metadata", "annotations"), {"checksum/config": "1"}),
        (("spec", "containers", 0, "image"), "x:2"),
        (("spec", "containers", 0, "resources", "requests", "cpu"), "501m"),
        (("spec", "containers", 0, "env", 0, "name"), "OTHER"),
        (("spec", "containers", 0, "readinessProbe", "periodSeconds"), 5),
        (("spec", "nodeSelector"), {"pool": "general"}),
        (("spec", "hostNetwork"), True),
        (("spec", "automountServiceAccountToken"), False),
        (("spec", "terminationGracePeriodSeconds"), 0),
        (("spec", "volumes"), WRITTEN["spec"]["volumes"][:1]),
    ],
)
def test_a_written_value_that_is_stored_otherwise_is_a_change(path: tuple[str | int, ...], value: object) -> None:
    written = copy.deepcopy(WRITTEN)
    target: Any = written
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    assert difference(written, STORED) is True


@pytest.mark.parametrize("key", ["nodeSelector", "initContainers", "priorityClassName"])
def test_a_stored_value_that_nobody_writes_is_undecided(key: str) -> None:
    """The manifest may have dropped it, or another tool may own it."""
    stored = {**STORED, "spec": {**STORED["spec"], key: {"nodeSelector": {"a": "b"}}.get(key, [{"name": "x"}])}}
    assert difference(WRITTEN, stored) is None


def test_a_rollout_restart_is_not_undone_by_applying() -> None:
    meta = {**STORED["metadata"], "annotations": {"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}}
    assert difference(WRITTEN, {**STORED, "metadata": meta}) is False


def test_an_empty_selector_is_not_an_absent_one() -> None:
    term = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}

    def template(constraint: dict[str, Any]) -> dict[str, Any]:
        return {"metadata": {}, "spec": {"topologySpreadConstraints": [constraint]}}

    assert difference(template({**term, "labelSelector": {}}), template(term)) is True
    assert difference(template({**term, "labelSelector": None}), template(term)) is False
