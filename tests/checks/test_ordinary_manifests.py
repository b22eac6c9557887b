"""What is ordinary in a cluster is left alone, and what looks like it but is a hazard is not."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.findings import Finding, Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

THREE = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 1, zones: [a, b, c], allocatable: {cpu: "4", memory: 16Gi}}
"""
BOOK = Rulebook.shipped()


def found(rule: str, manifest: str, cluster: str | None = None, *, version: str = "1.36") -> list[Finding]:
    snapshot = None if cluster is None else cluster_from([("cluster.yaml", cluster.encode())], "cluster.yaml")
    manifests = manifest_set(documents("m.yaml", manifest.encode(), is_read), "default")
    assert not manifests.errors
    report, _ = lint(manifests, snapshot, Options(kubernetes_version=version), [BOOK.get(rule)])
    assert not report.errors
    return list(report.findings)


def workload(
    kind: str = "Deployment",
    spec: str = "",
    *,
    top: str = "replicas: 3",
    namespace: str = "shop",
    name: str = "web",
    labels: str = "app: web",
    container: str = "",
) -> str:
    own = "" if kind == "DaemonSet" else f"  {top}\n"
    extra = "  serviceName: web\n" if kind == "StatefulSet" else ""
    where = f"namespace: {namespace}" if namespace else ""
    return (
        f"apiVersion: apps/v1\nkind: {kind}\nmetadata:\n  name: {name}\n  {where}\nspec:\n{own}{extra}"
        f"  selector: {{matchLabels: {{{labels}}}}}\n  template:\n    metadata: {{labels: {{{labels}}}}}\n"
        f"    spec:\n      {spec or 'hostNetwork: false'}\n"
        f"      containers:\n      - {{name: main, image: 'example:1'{container and ', '}{container}}}\n"
    )


BLANKET = "tolerations: [{operator: Exists}]"


@pytest.mark.parametrize(
    "manifest",
    [
        workload("DaemonSet", BLANKET),
        workload(spec=BLANKET, namespace="kube-system"),
        workload(spec=BLANKET, namespace="cnpg-system"),
        workload(spec=f"hostNetwork: true\n      {BLANKET}"),
        workload(spec=f"priorityClassName: system-cluster-critical\n      {BLANKET}"),
        workload(spec=f"nodeSelector: {{node-role.kubernetes.io/control-plane: ''}}\n      {BLANKET}"),
        workload(spec="tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: 300}]"),
    ],
    ids=["daemon", "kube-system", "operator", "host network", "critical", "control plane", "with seconds"],
)
def test_blanket_tolerations_have_their_place(manifest: str) -> None:
    assert found("toleration-blanket", manifest) == []


def test_a_blanket_toleration_elsewhere_is_a_hazard() -> None:
    assert len(found("toleration-blanket", workload(spec=BLANKET))) == 1


def port(number: int, address: str = "") -> str:
    ip = f", hostIP: {address}" if address else ""
    return f"ports: [{{containerPort: 80, hostPort: {number}{ip}}}]"


def two(first: str, second: str, kind: str = "DaemonSet") -> str:
    return workload(kind, name="a", labels="app: a", container=first) + "---\n" + workload(
        kind, name="b", labels="app: b", container=second
    )  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "clashes"),
    [
        (port(80), port(80), True),
        (port(80), port(81), False),
        (port(80, "10.0.0.1"), port(80, "10.0.0.2"), False),
        (port(80, "10.0.0.1"), port(80), True),
        (port(80, "10.0.0.1"), port(80, "10.0.0.1"), True),
    ],
)
def test_ports_clash_as_node_ports_says(first: str, second: str, clashes: bool) -> None:
    assert bool(found("hostport-cross-workload", two(first, second), THREE)) is clashes


def test_two_deployments_share_a_port_as_long_as_there_are_nodes_for_both() -> None:
    few = two(port(80), port(80), "Deployment").replace("replicas: 3", "replicas: 1")
    assert found("hostport-cross-workload", few, THREE) == []
    assert len(found("hostport-cross-workload", few.replace("replicas: 1", "replicas: 2"), THREE)) == 1


@pytest.mark.parametrize(("strategy", "stuck"), [("", True), ("strategy: {type: Recreate}", False)])
def test_a_host_port_deadlocks_only_rolling_updates(strategy: str, stuck: bool) -> None:
    top = "replicas: 3" + (f"\n  {strategy}" if strategy else "")
    assert bool(found("hostport-rollout-deadlock", workload(top=top, container=port(80)), THREE)) is stuck


@pytest.mark.parametrize(("replicas", "stuck"), [(2, False), (3, True), (4, False)])
def test_a_host_port_deadlocks_only_at_as_many_replicas_as_nodes(replicas: int, stuck: bool) -> None:
    manifest = workload(top=f"replicas: {replicas}", container=port(80))
    assert bool(found("hostport-rollout-deadlock", manifest, THREE)) is stuck


def spread(**fields: object) -> str:
    constraint: dict[str, object] = {
        "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": "{matchLabels: {app: web}}", **fields,
    }  # fmt: skip
    return "topologySpreadConstraints: [{" + ", ".join(f"{k}: {v}" for k, v in constraint.items()) + "}]"


@pytest.mark.parametrize(
    ("replicas", "fields", "stuck"),
    [
        (3, {"minDomains": 4}, True),
        (2, {"minDomains": 4}, False),
        (3, {"minDomains": 3}, False),
        (3, {"minDomains": 4, "maxSkew": 2}, False),
        (3, {"minDomains": 4, "matchLabelKeys": "[pod-template-hash]"}, False),
        (3, {"minDomains": 4, "labelSelector": "{matchLabels: {app: web, version: v1}}"}, False),
    ],
)
def test_min_domains_stops_a_rollout_exactly_when_the_old_pods_fill_it(
    replicas: int, fields: dict[str, object], stuck: bool
) -> None:
    manifest = workload(spec=spread(**fields), top=f"replicas: {replicas}")
    if "version" in manifest:
        manifest = manifest.replace("metadata: {labels: {app: web}}", "metadata: {labels: {app: web, version: v1}}")
    hazards = found("spread-mindomains-rollout", manifest, THREE)
    assert bool(hazards) is stuck
    assert all(h.severity is Severity.ERROR for h in hazards)


@pytest.mark.parametrize(
    ("kind", "key", "absent"),
    [
        ("Deployment", "pod-template-hash", False),
        ("StatefulSet", "pod-template-hash", True),
        ("StatefulSet", "controller-revision-hash", False),
        ("StatefulSet", "apps.kubernetes.io/pod-index", False),
        ("DaemonSet", "controller-revision-hash", False),
        ("Deployment", "controller-revision-hash", True),
        ("Deployment", "topology.kubernetes.io/zone", True),
    ],
)
def test_each_controller_puts_its_own_labels_on_pods(kind: str, key: str, absent: bool) -> None:
    manifest = workload(kind, spread(matchLabelKeys=f"[{key}]"))
    assert bool(found("spread-matchlabelkeys-absent-label", manifest)) is absent


GPU = "resources: {limits: {example.com/gpu: 1}}"


def device_class(name: str, resource: str = "") -> str:
    spec = f"{{extendedResourceName: {resource}}}" if resource else "{}"
    return f"---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {{name: {name}}}\nspec: {spec}\n"


def test_what_a_device_class_offers_bars_no_node() -> None:
    assert len(found("extended-resource-missing", workload(container=GPU), THREE)) == 1
    offered = workload(container=GPU) + device_class("gpu", "example.com/gpu")
    for rule in ("extended-resource-missing", "resource-exceeds-any-node", "resource-insufficient-free"):
        assert found(rule, offered, THREE) == []
    assert len(found("extended-resource-missing", workload(container=GPU) + device_class("fpga"), THREE)) == 1


def test_a_device_class_offers_its_own_name_as_well() -> None:
    implicit = workload(container=GPU.replace("example.com/gpu", "deviceclass.resource.kubernetes.io/gpu"))
    assert found("extended-resource-missing", implicit, THREE) == []
    assert found("resource-exceeds-any-node", implicit + device_class("gpu"), THREE) == []


OTHER = "namespaces: [store]"


def repelling(where: str) -> str:
    return (
        "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
        f"kubernetes.io/hostname, labelSelector: {{matchLabels: {{app: web}}}}, {where}}}]}}}}"
    )


@pytest.mark.parametrize(
    ("namespace", "where", "gap"),
    [
        ("shop", OTHER, True),
        ("", OTHER, False),  # a kustomization or -n will name it
        ("shop", "namespaces: [store, shop]", False),
        ("shop", "namespaceSelector: {}", False),
        ("shop", "namespaceSelector: {matchLabels: {team: store}}", False),  # nobody told us the labels of shop
        ("shop", "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: store}}", True),
    ],
)
def test_a_namespace_gap_is_claimed_only_where_the_namespaces_are_known(namespace: str, where: str, gap: bool) -> None:
    manifest = workload(spec=repelling(where), namespace=namespace)
    assert bool(found("anti-affinity-namespace-gap", manifest)) is gap


@pytest.mark.parametrize(("version", "wrong"), [("1.33", False), ("1.35", True), ("1.36", True)])
def test_the_namespace_selector_bug_has_its_versions(version: str, wrong: bool) -> None:
    where = "namespaceSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}"
    hazards = found("namespaceselector-negative-regression", workload(spec=repelling(where)), version=version)
    assert bool(hazards) is wrong


@pytest.mark.parametrize(("surge", "hangs"), [("1", True), ("25%", True), ("0", False), ("0%", False)])
def test_a_daemon_set_hangs_on_its_port_only_with_surge(surge: str, hangs: bool) -> None:
    unavailable = 0 if hangs else 1
    manifest = workload("DaemonSet", container=port(80)).replace(
        "spec:\n  selector",
        f"spec:\n  updateStrategy: {{rollingUpdate: {{maxSurge: {surge}, maxUnavailable: {unavailable}}}}}\n  selector",
    )
    assert bool(found("daemonset-surge-hostport", manifest)) is hangs


def test_a_daemon_set_whose_zones_have_one_node_each_may_repel_itself() -> None:
    zone = repelling("").replace("kubernetes.io/hostname", "topology.kubernetes.io/zone").replace(", }", "}")
    assert found("daemonset-zone-anti-affinity", workload("DaemonSet", zone), THREE) == []
    two_each = THREE.replace("count: 1", "count: 2")
    (hazard,) = found("daemonset-zone-anti-affinity", workload("DaemonSet", zone), two_each)
    assert (hazard.evidence.demand, hazard.evidence.supply) == (6, 3)


def test_a_daemon_set_of_high_priority_does_not_starve() -> None:
    full = THREE + (
        "objects:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: p, namespace: x}\n"
        "  spec: {nodeName: worker-a, containers: [{name: c, image: i, resources: {requests: {cpu: '4'}}}]}\n"
    )
    asks = "resources: {requests: {cpu: 100m}}"
    (hazard,) = found("daemonset-starvation", workload("DaemonSet", container=asks), full)
    assert "worker-a" in hazard.message
    for name, count in (("system-node-critical", 0), ("nobody-told-us", 0)):
        manifest = workload("DaemonSet", f"priorityClassName: {name}", container=asks)
        assert len(found("daemonset-starvation", manifest, full)) == count


@pytest.mark.parametrize(("pods", "severity"), [("1", Severity.ERROR), ("2", None)])
def test_places_for_pods_are_counted(pods: str, severity: Severity | None) -> None:
    small = THREE.replace("memory: 16Gi", f"memory: 16Gi, pods: '{pods}'")
    hazards = found("pod-count-limit", workload(top="replicas: 4"), small)
    assert [h.severity for h in hazards] == ([severity] if severity else [])


def test_replicas_that_are_to_be_together_are_not_asked_to_stand_apart() -> None:
    together = repelling("").replace("podAntiAffinity", "podAffinity").replace(", }", "}")
    assert found("no-spread-or-anti-affinity", workload(spec=together)) == []
    assert len(found("no-spread-or-anti-affinity", workload())) == 1
    assert found("no-spread-or-anti-affinity", workload(top="replicas: 1")) == []


def test_variants_of_one_object_are_not_added_up() -> None:
    big = workload(top="replicas: 2", container="resources: {requests: {cpu: '4'}}")
    two_apps = (
        big
        + "---\n"
        + workload(name="b", labels="app: b", top="replicas: 2", container="resources: {requests: {cpu: '4'}}")
    )
    assert len(found("set-does-not-fit", two_apps, THREE)) == 1
    assert found("set-does-not-fit", big + "---\n" + big, THREE) == []


@pytest.mark.parametrize(
    ("first", "second", "reported"),
    [
        ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master", False),
        ("node-role.kubernetes.io/infra", "node-role.kubernetes.io/worker", False),
        ("node-role.kubernetes.io/infra", "disktype", True),
    ],
)
def test_one_role_or_another_is_meant_as_a_choice(first: str, second: str, reported: bool) -> None:
    terms = ", ".join(f"{{matchExpressions: [{{key: {key}, operator: Exists}}]}}" for key in (first, second))
    required = f"requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{terms}]}}"
    spec = f"affinity: {{nodeAffinity: {{{required}}}}}"
    assert bool(found("nodeaffinity-terms-ored", workload(spec=spec))) is reported


@pytest.mark.parametrize(("value", "reported"), [("<node-hostname>", False), ("${NODE}", False), ("elsewhere", True)])
def test_a_selector_that_is_still_to_be_filled_in_is_no_miss(value: str, reported: bool) -> None:
    """The node has a name of its own: against made-up names no hostname is a miss."""
    manifest = workload(spec=f"nodeSelector: {{kubernetes.io/hostname: '{value}'}}")
    named = THREE.replace("zones: [a, b, c]", "zones: [a]")
    assert bool(found("nodeselector-matches-nothing", manifest, named)) is reported
