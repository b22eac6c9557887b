"""What was noise in the manifests of eighty-eight public repositories that people apply."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kubesched_lint import lint, load_cluster
from kubesched_lint.findings import Finding, Report
from kubesched_lint.linter.results.causes import one_per_cause
from kubesched_lint.sources.manifests.recognizing.meant import reason_of

NODES = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodeGroups: complete
nodes: [{name: worker, count: 2, zones: [a, b, c], allocatable: {cpu: "4", memory: 16Gi}}]
"""
WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: shop}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME, app.kubernetes.io/name: model, app.kubernetes.io/part-of: llm, role: NAME}}
    spec: {SPEC, containers: [{name: app, image: "registry.example.com/app:1.0"}]}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: shop, labels: {app.kubernetes.io/name: canary, role: NAME}}
spec: {SPEC, containers: [{name: app, image: "registry.example.com/app:1.0"}]}
"""
SCALER = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: a, namespace: shop}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}, maxReplicas: 4}
"""


def deployment(name: str, spec: str, replicas: int = 1) -> str:
    return WORKLOAD.replace("NAME", name).replace("SPEC", spec).replace("REPLICAS", str(replicas))


def pod(name: str, spec: str) -> str:
    return POD.replace("NAME", name).replace("SPEC", spec)


def found(*objects: str, rule: str) -> list[Finding]:
    report = lint(text="---".join(objects), cluster=load_cluster(text=NODES))
    return [finding for finding in one_per_cause(report).findings if finding.rule == rule]


def spread(when: str, key: str = "topology.kubernetes.io/zone") -> str:
    return f"topologySpreadConstraints: [{{maxSkew: 1, topologyKey: {key}, whenUnsatisfiable: {when}}}]"


@pytest.mark.parametrize(
    ("when", "replicas", "scaler", "severity"),
    [
        ("ScheduleAnyway", 1, (), "note"),
        ("ScheduleAnyway", 2, (), "warning"),
        ("ScheduleAnyway", 1, (SCALER,), "warning"),
        ("DoNotSchedule", 1, (), "warning"),  # it refuses nodes without the label
    ],
)
def test_a_selector_that_counts_nothing_harms_no_single_replica(
    when: str, replicas: int, scaler: tuple[str, ...], severity: str
) -> None:
    (one,) = found(deployment("a", spread(when), replicas), *scaler, rule="spread-selector-noop")
    assert one.severity.word == severity


def test_a_constraint_that_somebody_copied_is_one_cause() -> None:
    zones = [deployment(name, spread("ScheduleAnyway"), 2) for name in ("a", "b")]
    hosts = deployment("c", spread("ScheduleAnyway", "kubernetes.io/hostname"), 2)
    first, other = found(*zones, hosts, rule="spread-selector-noop")
    assert [also.object.name for also in first.also if also.rule == first.rule] == ["b"]
    assert other.object.name == "c"


@pytest.mark.parametrize(("make", "severity"), [(pod, "note"), (deployment, "warning")])
def test_somebody_chose_the_node_of_a_bare_pod(make: object, severity: str) -> None:
    (one,) = found(make("a", "nodeName: w-amd-3"), rule="nodename-bypass")  # type: ignore[operator]
    assert one.severity.word == severity


def apart(labels: str) -> str:
    term = f"{{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{{labels}}}}}}}"
    return f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"


def test_anti_affinity_to_a_group_is_meant_for_others() -> None:
    rule = "anti-affinity-crosses-releases"
    by_name = apart("app.kubernetes.io/name: model")
    assert found(deployment("a", by_name, 2), deployment("b", by_name, 2), rule=rule)
    by_part = apart("app.kubernetes.io/name: model, app.kubernetes.io/part-of: llm")
    assert not found(deployment("a", by_part, 2), deployment("b", by_part, 2), rule=rule)
    canary = apart("app.kubernetes.io/name: canary")
    assert not found(pod("a", canary), pod("b", canary), rule=rule)


def test_a_key_that_a_tool_fills_in_is_no_unknown_field() -> None:
    refused = pod("a", "dnsPolicy: Default").replace("image:", "image: x, MY_IMAGE|-image:")
    assert not found(refused, rule="api-would-reject")
    assert found(refused.replace("MY_IMAGE|-image", "MY_IMAGE"), rule="api-would-reject")


def test_a_service_without_a_spec_is_only_a_part() -> None:
    """Flux applies it to give up fields of a Service that Helm owns."""
    service = "\napiVersion: v1\nkind: Service\nmetadata: {name: gateway, namespace: shop}\n"
    assert [one.severity.word for one in found(service, rule="api-would-reject")] == ["note"]


def test_workloads_that_wait_for_one_daemonset_have_one_cause() -> None:
    daemon = deployment("zz", "nodeSelector: {pool: gpu}").replace("Deployment", "DaemonSet").replace("replicas: 1", "")
    readers = [deployment(name, "nodeSelector: {pool: gpu}") for name in ("a", "b")]
    some = load_cluster(text=NODES.replace("nodeGroups: complete\n", ""))
    folded = one_per_cause(lint(text="---".join((*readers, daemon)), cluster=some)).findings
    assert len([one for one in folded if one.rule == "daemonset-creation-order"]) == 1


@pytest.mark.parametrize("pool", ["", "taints: [{key: batch, value: x, effect: NoSchedule}], "])
def test_what_no_pool_provides_is_one_cause(pool: str) -> None:
    made = f"""
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: general}}
spec:
  template:
    metadata: {{labels: {{team: web}}}}
    spec: {{{pool}requirements: [{{key: kubernetes.io/arch, operator: In, values: [amd64]}}]}}
"""
    wanted = "nodeSelector: {team: web}" if pool else "nodeSelector: {team: db}"
    (one,) = found(made, deployment("a", wanted), deployment("b", wanted), rule="pool-cannot-provide-label")
    assert "b" in {also.object.name for also in one.also if also.rule == one.rule}


@pytest.mark.parametrize(
    ("folder", "reason"),
    [
        ("DEPRECATED", "archived files"), ("archived", "archived files"), ("obsolete", "archived files"),
        ("radarr.disabled", "disabled files"), ("apps-disabled", "disabled files"),
        ("disabled-apps", ""),
    ],
)  # fmt: skip
def test_a_folder_says_that_nobody_applies_it(folder: str, reason: str) -> None:
    assert reason_of(folder, "apps") == reason


def test_what_an_emptied_spec_lacks_is_one_cause() -> None:
    claim = "\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: shop}\n"
    (one,) = found(claim, rule="api-would-reject")
    assert len(one.also) == 1
    assert len(found(claim + "spec: {accessModes: [Often]}\n", rule="api-would-reject")) == 2


def test_a_volume_that_is_refused_is_not_missing_as_well() -> None:
    disk = "volumes: [{name: data, azureDisk: {diskName: d, diskURI: WHERE}}]"
    mounted = pod("a", disk).replace("image:", "volumeMounts: [{name: data, mountPath: /d}], image:")
    (one,) = found(mounted.replace("WHERE", '""'), rule="api-would-reject")
    assert "diskURI: Required value" in one.message
    unknown = pod("a", "dnsPolicy: Default").replace("image:", "volumeMounts: [{name: x, mountPath: /d}], image:")
    (other,) = found(unknown, rule="api-would-reject")
    assert "Not found" in other.message


def test_an_entry_that_patches_an_object_is_not_the_object() -> None:
    """As Hive's SyncSet has them."""
    entry = (
        "apiVersion: v1\nkind: Namespace\nname: observability\npatchType: merge\npatch: {metadata: {labels: {a: b}}}"
    )
    report = lint(text=entry, cluster=load_cluster(text=NODES))
    assert not report.findings
    assert any("says how to patch an object" in skipped.reason for skipped in report.skipped)


@pytest.mark.parametrize("image", ["<your image>", "FILLED BY THE OPERATOR", "registry.example.com/APP_IMAGE:1.0"])
def test_nobody_applies_a_pod_with_the_image_left_open(image: str) -> None:
    wanting = pod("a", "nodeSelector: {pool: gpu}")
    assert found(wanting, rule="nodeselector-matches-nothing")
    open_image = wanting.replace("registry.example.com/app:1.0", image)
    assert not found(open_image, rule="nodeselector-matches-nothing")


@pytest.mark.parametrize("image", ["'${IMAGE}'", "'$IMAGE:${TAG}'", "registry.example.com/app:LATEST"])
def test_a_variable_for_the_image_leaves_the_rest_as_it_is(image: str) -> None:
    wanting = pod("a", "nodeSelector: {pool: gpu}").replace("registry.example.com/app:1.0", image)
    assert found(wanting, rule="nodeselector-matches-nothing")


LOCAL = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: data}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: CLASS
  VOLUME
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop}
spec: {accessModes: [ReadWriteOnce], storageClassName: CLASS, resources: {requests: {storage: 1Gi}}}
"""
PINNED = "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [HOST]}]}]}}"  # noqa: E501


def with_volume(volume: str, host: str = "", of: str = '""') -> str:
    pinned = f"local: {{path: /d}}\n  {PINNED.replace('HOST', host)}" if host else volume
    return LOCAL.replace("VOLUME", pinned).replace("CLASS", of)


CLAIMING = "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"


def claiming(name: str) -> str:
    return deployment(name, CLAIMING).replace("image:", "volumeMounts: [{name: data, mountPath: /d}], image:")


@pytest.mark.parametrize(
    ("volume", "findings"), [("hostPath: {path: /d}", 0), ("csi: {driver: d, volumeHandle: v}", 1)]
)
def test_a_volume_that_nobody_attaches_holds_up_no_rollout(volume: str, findings: int) -> None:
    assert len(found(with_volume(volume), claiming("a"), rule="claim-shared-by-replicas")) == findings


@pytest.mark.parametrize(("host", "findings"), [("node01", 0), ("worker-a-11", 0)])
def test_a_volume_on_a_node_that_the_sketch_may_have_is_reachable(host: str, findings: int) -> None:
    volume = with_volume("", host).replace('storageClassName: "", resources', "volumeName: data, resources")
    report = lint(text="---".join((volume, claiming("a"))), cluster=load_cluster(text=NODES))
    assert not [one for one in report.findings if one.rule == "deploy-leaves-pending"]
    assert [one.rule for one in report.findings if one.severity.word == "error"] == (
        ["pv-zone-pinning-conflict"] if host.startswith("worker") else []
    )


CLASS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: regional}
provisioner: driver.example.com
volumeBindingMode: MODE
allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/region, values: [far]}]}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop}
spec: {accessModes: [ReadWriteOnce], storageClassName: regional, resources: {requests: {storage: 1Gi}}}
"""


@pytest.mark.parametrize(("mode", "findings"), [("Immediate", 0), ("WaitForFirstConsumer", 1)])
def test_nobody_knows_where_a_class_that_binds_at_once_makes_a_volume(mode: str, findings: int) -> None:
    """The provisioner may ignore allowedTopologies; the scheduler reads them only of claims that wait for a pod."""
    objects = (CLASS.replace("MODE", mode), claiming("a"))
    assert len(found(*objects, rule="allowed-topologies-conflict")) == findings


def test_a_job_does_not_make_pods_without_end() -> None:
    job = """
apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: shop}
spec: {template: {spec: {nodeName: w-amd-3, restartPolicy: Never, containers: [{name: c, image: x}]}}}
"""
    (one,) = found(job, rule="nodename-bypass")
    assert one.message.endswith("the Job fails after its backoffLimit")


# --- fifty-six further ones, from which somebody deploys a cluster ----------------------------------------------------

OLD_BUDGET = """
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: a, namespace: shop}
spec: {minAvailable: 1, selector: {matchLabels: {app: a}}}
"""


def test_a_budget_that_the_server_refuses_holds_up_no_drain() -> None:
    web = deployment("a", "dnsPolicy: Default")
    assert not found(web, OLD_BUDGET, rule="drain-stuck")
    assert len(found(web, OLD_BUDGET, rule="api-would-reject")) == 1
    assert len(found(web, OLD_BUDGET.replace("v1beta1", "v1"), rule="drain-stuck")) == 1


def test_the_order_does_not_matter_where_no_node_of_the_group_ever_comes() -> None:
    daemon = deployment("zz", "nodeSelector: {pool: gpu}").replace("Deployment", "DaemonSet").replace("replicas: 1", "")
    objects = "---".join((deployment("a", "nodeSelector: {pool: gpu}"), daemon))
    some = load_cluster(text=NODES.replace("nodeGroups: complete\n", ""))
    rules = [{one.rule for one in lint(text=objects, cluster=it).findings} for it in (load_cluster(text=NODES), some)]
    assert ["daemonset-creation-order" in found for found in rules] == [False, True]


@pytest.mark.parametrize(("of", "severity"), [("storageClassName: fast, ", "warning"), ("", "note")])
def test_nobody_knows_whether_the_default_class_attaches_its_volumes(of: str, severity: str) -> None:
    claim = f"""
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data, namespace: shop}}
spec: {{accessModes: [ReadWriteOnce], {of}resources: {{requests: {{storage: 1Gi}}}}}}
"""
    (one,) = found(claim, claiming("a"), rule="claim-shared-by-replicas")
    assert one.severity.word == severity


def test_one_line_that_overlays_render_is_one_cause_whatever_its_namespace() -> None:
    (one,) = lint(text="---".join((LOCAL_FAST, claiming("a"))), cluster=load_cluster(text=NODES)).findings
    other = replace(one, object=replace(one.object, namespace="prod"), cause="prod/data", fingerprint="other")
    (folded,) = one_per_cause(Report((one, other))).findings
    assert [also.object.namespace for also in folded.also] == ["prod"]


LOCAL_FAST = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop}
spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
"""


@pytest.mark.parametrize(("name", "namespace", "findings"), [("APPNAME", "ARCNS", 0), ("a", "ARCNS", 1)])
def test_capitals_beside_a_name_that_is_filled_in_are_filled_in_too(name: str, namespace: str, findings: int) -> None:
    named = pod(name, "dnsPolicy: Default").replace(f"role: {name}", "role: x").replace(": shop", f": {namespace}")
    assert len(found(named, rule="api-would-reject")) == findings


def test_a_placeholder_inside_what_is_refused_is_filled_in() -> None:
    web = deployment("a", "dnsPolicy: Default")
    for label in ("app", "env"):
        assert not found(web.replace("{app: a}", f"{{{label}: 'x-${{ENV}}-'}}"), rule="api-would-reject")
        assert not found(web.replace("{app: a}", f"{{{label}: '{{TEAM_ID}}'}}"), rule="api-would-reject")
        assert found(web.replace("{app: a}", f"{{{label}: '{{team}}'}}"), rule="api-would-reject")


@pytest.mark.parametrize(("open_ones", "findings"), [(1, 1), (2, 0)])
def test_an_image_that_most_workloads_run_anywhere_has_several_architectures(open_ones: int, findings: int) -> None:
    """Examples of an autoscaler run one image everywhere, and one of them shows how to select arm64."""
    bound = deployment("bound", "nodeSelector: {kubernetes.io/arch: arm64}")
    others = [deployment(f"open-{number}", "hostNetwork: false") for number in range(open_ones)]
    nodes = "".join(
        f"- {{name: {arch}, labels: {{kubernetes.io/arch: {arch}}}, allocatable: {{cpu: '4', memory: 16Gi}}}}\n"
        for arch in ("amd64", "arm64")
    )
    cluster = load_cluster(text=f"apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes:\n{nodes}")
    report = lint(text="---".join([bound, *others]), cluster=cluster)
    assert sum(finding.rule == "architecture-left-open" for finding in report.findings) == findings


CLUSTER = "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: db, namespace: shop}\nspec: {SPEC}\n"
JOBS = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: jobs, namespace: shop}
spec:
  replicatedJobs:
  - name: w
    template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}}
"""


@pytest.mark.parametrize(("made", "findings"), [(CLUSTER.replace("SPEC", "instances: 1"), 0), (JOBS, 1)])
def test_an_operator_sets_what_pod_security_requires(made: str, findings: int) -> None:
    """CloudNativePG's pods keep to ``restricted``; the template of a JobSet is the user's."""
    labels = "{pod-security.kubernetes.io/enforce: restricted}"
    namespace = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, labels: {labels}}}\n"
    assert len(found(namespace, made, rule="admission-refuses-pods")) == findings
