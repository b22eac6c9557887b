"""A verdict is no surer than what it rests on, and it and the rule that names its cause are one finding."""

from __future__ import annotations

import pytest

from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.runs.courses import Courses
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.ends.bad_ends import bad_end
from kubesched_lint.findings import Finding
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from, stated
from kubesched_lint.sources.manifests.loader import documents

NODES = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes: [{name: worker, count: 2, zones: [a], allocatable: {cpu: "4", memory: 16Gi}}]
"""
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {POD containers: [{name: c, image: "registry.example.com/web:1", resources: {requests: {cpu: CPU}}}]}
"""
QUOTA = """
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: few, namespace: shop}
spec: {hard: {pods: "2"}}
"""
LIMITS = """
---
apiVersion: v1
kind: LimitRange
metadata: {name: least, namespace: shop}
spec: {limits: [{type: Container, min: {cpu: 200m}}]}
"""


def web(cpu: str = "100m", pod: str = "") -> str:
    return WEB.replace("POD", pod).replace("CPU", cpu)


def found(manifests: str, cluster: str = NODES, *, fresh_since: str = "") -> dict[str, Finding]:
    known = stated(cluster_from([("c.yaml", cluster.encode())], "c.yaml"), ClusterOptions(fresh_since=fresh_since))
    read = manifest_set(documents("m.yaml", manifests.encode(), is_read), "default")
    report, _ = lint(read, known, Options(), Rulebook.shipped().select("ci"))
    assert not report.errors
    return {finding.rule: finding for finding in report.findings if finding.severity.word != "note"}


def severities(manifests: str, cluster: str = NODES) -> dict[str, str]:
    return {rule: finding.severity.word for rule, finding in found(manifests, cluster).items()}


def test_a_quota_that_lets_no_rollout_end_is_told_once_and_as_an_error() -> None:
    """The first deploy may come before the quota counts; the next rollout creates the pods once more."""
    stuck = web().replace("maxSurge: 0, maxUnavailable: 1", "maxSurge: 1, maxUnavailable: 0")
    assert severities(stuck + QUOTA) == {"quota-refuses-pods": "error"}


def test_the_cluster_s_quota_makes_no_pod_wait() -> None:
    """Its line is in no manifest, and the words are the same."""
    live = NODES + "objects:\n- " + QUOTA.replace('"2"', '"3"')[5:].replace("\n", "\n  ")
    stuck = web().replace("maxSurge: 0, maxUnavailable: 1", "maxSurge: 1, maxUnavailable: 0")
    (finding,) = found(stuck, live).values()
    assert "allows 3 pods, so the extra pod is not created, and maxUnavailable is 0" in finding.message
    book = Rulebook.shipped()
    read = manifest_set(documents("m.yaml", web().encode(), is_read), "default")
    few = cluster_from([("c.yaml", live.replace('"3"', '"2"').encode())], "c.yaml")
    (alone,) = lint(read, few, Options(), [book.get("pods-stay-pending")])[0].findings
    assert alone.message.startswith("1 of 3 pods of Deployment shop/web is not created: ")


def test_what_the_same_set_brings_may_come_after_the_pods() -> None:
    """A bare pod is made once; a Deployment's next rollout makes its pods once more, and all of them are refused."""
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: one, namespace: shop}\nspec:\n"
    pod += '  containers: [{name: c, image: "registry.example.com/web:1", resources: {requests: {cpu: 100m}}}]\n'
    assert severities(pod + LIMITS) == {"admission-refuses-pods": "warning"}
    assert severities(web() + LIMITS) == {"admission-refuses-pods": "error"}
    assert severities(web(), NODES + "objects:\n- " + LIMITS[5:].replace("\n", "\n  ")) == {
        "admission-refuses-pods": "error"
    }


@pytest.mark.parametrize(("fresh_since", "severity"), [("", "error"), ("2026-01-01T00:00:00", "warning")])
def test_pods_of_others_that_draw_may_stand_elsewhere_tomorrow(fresh_since: str, severity: str) -> None:
    """Without them the pods wait, too; yet nothing shows where they are by now."""
    running = """objects:
- apiVersion: v1
  kind: Pod
  metadata: {name: store, namespace: shop, labels: {app: store}}
  spec: {nodeName: worker-a-1, containers: [{name: c, image: "i", resources: {requests: {cpu: "3"}}}]}
"""
    term = "{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: store}}}"
    near = f"affinity: {{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}},"
    said = found(web("500m", near), NODES + running, fresh_since=fresh_since)
    assert [finding.severity.word for finding in said.values()] == [severity]


@pytest.mark.parametrize(("known", "severity"), [("", "warning"), ("kinds: [Pod]\n", "error")])
def test_a_pod_that_no_list_shows_may_break_a_circle(known: str, severity: str) -> None:
    """Each requires the other; a running pod with the label of one of them lets both start."""
    term = "{{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{app: {0}}}}}}}"
    near = "affinity: {{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{0}]}}}},"
    api, db = (
        web(pod=near.format(term.format(other))).replace("web", name) for name, other in (("api", "db"), ("db", "api"))
    )
    assert severities(f"{api}---\n{db}", NODES + known) == {"affinity-deadlock-cycle": severity}


def test_a_scale_down_that_ends_badly_is_a_warning() -> None:
    from kubesched_lint.findings import Hazard, proof
    from kubesched_lint.linter.results.rule_results import severity_of

    rule = Rulebook.shipped().get("pods-stay-pending")
    for event, severity in (("deploy", "error"), ("scale-down", "warning")):
        hazard = Hazard(at=(), evidence=proof("", event=event), values={})
        assert severity_of(rule, hazard, None).word == severity


def test_where_a_stateful_set_has_volumes_its_pods_may_run() -> None:
    claims = "".join(
        f"""- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {{name: data-db-{i}, namespace: shop}}
  spec:
    storageClassName: fast
    volumeName: pv-{i}
    accessModes: [ReadWriteOnce]
    resources: {{requests: {{storage: 1Gi}}}}
- apiVersion: v1
  kind: PersistentVolume
  metadata: {{name: pv-{i}}}
  spec:
    capacity: {{storage: 1Gi}}
    accessModes: [ReadWriteOnce]
    storageClassName: fast
    csi: {{driver: ebs.csi.aws.com, volumeHandle: vol-{i}}}
    claimRef: {{namespace: shop, name: data-db-{i}}}
    nodeAffinity:
      required:
        nodeSelectorTerms: [{{matchExpressions: [{{key: topology.kubernetes.io/zone, operator: In, values: [a]}}]}}]
"""
        for i in range(2)
    )
    zones = NODES.replace("zones: [a]", "zones: [a, b, c]")
    database = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 3
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: db}}
      containers: [{name: db, image: "registry.example.com/db:1", volumeMounts: [{name: data, mountPath: /data}]}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
    rule = "statefulset-spread-pvc-deadlock"
    for kinds, severity in (("Node", "warning"), ("Pod", "error")):
        cluster = zones.replace("nodes:", f"kinds: [{kinds}]\nnodes:") + "objects:\n" + claims
        assert severities(database, cluster) == {rule: severity}


STUCK = web("3").replace("maxSurge: 0, maxUnavailable: 1", "maxSurge: 1, maxUnavailable: 0")
THREE = NODES.replace("count: 2", "count: 3")


def stuck(replicas: int, more: str = "", cluster: str = THREE) -> Finding:
    text = STUCK.replace("replicas: 3", f"replicas: {replicas}").replace("spec:\n", f"spec:\n  {more}\n", 1)
    (finding,) = found(text, cluster).values()
    assert (finding.rule, finding.severity.word) == ("rollout-never-ends", "error")
    return finding


def test_the_help_of_a_stuck_rollout_says_what_its_fix_costs() -> None:
    one = stuck(1, cluster=NODES.replace("count: 2", "count: 1"))
    assert "its pod holds 3 of 4 cpu of its only node, the next needs 3 more" in one.message
    assert "(with one replica that is downtime, as Recreate is)" in one.help
    assert "the old pod serves, and after 600 seconds Kubernetes reports ProgressDeadlineExceeded" in one.help
    assert "(one pod is missing at a time), or make room for one more pod; until then the old pods" in stuck(3).help


def test_a_deadline_that_is_never_met_is_not_promised() -> None:
    assert "after 90 seconds Kubernetes" in stuck(3, "progressDeadlineSeconds: 90").help
    assert stuck(3, f"progressDeadlineSeconds: {2**31 - 1}").help.endswith("until then the old pods serve")


def test_a_limit_of_pods_and_a_quota_are_named_as_such() -> None:
    full = THREE.replace("memory: 16Gi", 'memory: 16Gi, pods: "1"')
    (finding,) = found(STUCK.replace("cpu: 3", "cpu: 100m"), full).values()
    assert "none of the 3 nodes that it can use may run a further pod by its limit of pods" in finding.message
    small = STUCK.replace("cpu: 3", "cpu: 100m") + QUOTA.replace('"2"', '"3"')
    (finding,) = found(small, THREE).values()
    assert "or raise pods to 4 in quota few; until then" in finding.help


def test_a_daemonset_that_surges_names_the_nodes_without_room_for_two() -> None:
    daemon = (
        STUCK.replace("Deployment", "DaemonSet").replace("  replicas: 3\n", "").replace("strategy", "updateStrategy")
    )
    (finding,) = found(daemon, THREE).values()
    assert "3 nodes of 3 have no room for a new pod beside its old one (3 cpu each)" in finding.message


SCALER = """
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: LEAST
  maxReplicas: 3
"""


@pytest.mark.parametrize(("least", "size"), [(2, "with 3 replicas, "), (3, "")])
def test_what_is_stuck_now_and_at_the_maximum_is_told_once(least: int, size: str) -> None:
    (finding,) = found(STUCK + SCALER.replace("LEAST", str(least)), THREE).values()
    assert finding.message.startswith(f"{size}the next rollout of Deployment shop/web never ends")


@pytest.mark.parametrize(
    ("status", "later"), [("", False), ("\nstatus: {}", True), ('\nstatus: {hard: {pods: "2"}}', False)]
)
def test_a_quota_without_a_status_yet_refuses_no_first_pod(status: str, later: bool) -> None:
    """Its controller has to write ``status.hard`` first; a list that shows no status says nothing of it."""
    live = NODES + "objects:\n- " + (QUOTA.rstrip() + status)[5:].replace("\n", "\n  ")
    (finding,) = found(web(), live).values()
    assert (finding.rule, finding.severity.word) == ("quota-refuses-pods", "error")  # the next rollout is refused
    assert finding.message.startswith("once the quota is applied, ") is later
    read = manifest_set(documents("m.yaml", web().encode(), is_read), "default")
    deploy = simulate(read, cluster_from([("c.yaml", live.encode())], "c.yaml"), Options(), ["deploy"]).rows[0].cells[0]
    assert (deploy.verdict, deploy.proven) == ("bad", not later)


def test_room_that_is_short_is_named_before_a_spread_that_allows_as_many() -> None:
    """A spread lets in no more than there is room for, so counting finds the same number twice."""
    constraint = (
        "topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, "
        "whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}],"
    )
    (finding,) = found(STUCK.replace("{ containers", "{" + constraint + " containers"), THREE).values()
    assert "none of the 3 nodes that it can use has 3 cpu left for the extra pod" in finding.message
    assert finding.evidence.text.startswith("the 3 nodes that it may use have cpu for 3")


@pytest.mark.parametrize(
    ("pod", "cause", "reason"),
    [
        (
            "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
            "[{labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname}]}},",
            "anti-affinity-exceeds-domains",
            "one a node by its anti-affinity",
        ),
        (
            "initContainers: [{name: i, image: i, restartPolicy: Always, ports: [{containerPort: 80, hostPort: 80}]}],",
            "hostport-replicas-exceed-nodes",
            "one a node by host port 80",
        ),
    ],
)
def test_what_keeps_pods_apart_is_no_lack_of_cpu(pod: str, cause: str, reason: str) -> None:
    """Whoever ignores the rule that tells of it still has the error, with its reason."""
    read = manifest_set(documents("m.yaml", web(pod=pod).encode(), is_read), "default")
    options = Options(ignore=(cause,))
    report, _ = lint(
        read, cluster_from([("c.yaml", NODES.encode())], "c.yaml"), options, options.rules(Rulebook.shipped())
    )
    (finding,) = (f for f in report.findings if f.rule == "resource-insufficient-free")
    assert finding.message.endswith(f"2 fit on the 2 nodes it can use, even when empty ({reason})")
    assert "cpu" not in f"{finding.help} {finding.evidence.text}"
    assert found(web(cpu="3"))["resource-insufficient-free"].message.endswith("(cpu 3 each)")


def test_that_gates_hold_pods_back_is_said_once_and_is_no_proof() -> None:
    """A gate is there for a controller to remove it, and no file shows whether one does."""
    findings = found(web(pod="schedulingGates: [{name: example.com/wait}],"))
    assert {rule: finding.severity.word for rule, finding in findings.items()} == {"scheduling-gate-stuck": "warning"}


@pytest.mark.parametrize(("node", "rules"), [("", {"affinity-deadlock-cycle"}), ("nodeName: worker-1,", set())])
def test_pods_that_name_their_node_wait_for_nobody(node: str, rules: set[str]) -> None:
    """No scheduler asks for their affinity, so that who waits for them waits not for long."""

    def near(other: str) -> str:
        term = f"{{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{app: {other}}}}}}}"
        return f"affinity: {{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}},"

    a, b = web(pod=f"{node} {near('b')}").replace("web", "a"), web(pod=near("a")).replace("web", "b")
    assert {rule for rule in found(f"{a}---{b}") if "affinity" in rule} == rules


def test_what_a_remedy_would_change_is_counted_and_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a rollout ends if an old pod goes first took a deployment of the whole set, and nobody saw its trace."""
    followed: list[object] = []
    follow = Courses._run
    monkeypatch.setattr(Courses, "_run", lambda *given: followed.append(given) or follow(*given))
    many = web("3").replace("replicas: 3", "replicas: 70")
    scenario = Scenario(
        manifest_set(documents("m.yaml", many.encode(), is_read), "default").inventory,
        cluster_from([("c.yaml", NODES.replace("count: 2", "count: 60").encode())], "c.yaml"),
    )
    (workload,) = scenario.manifests.workloads
    silent = bad_end(scenario.member(workload), "deploy", is_told=False)
    assert not followed
    told = bad_end(scenario.member(workload), "deploy")
    assert followed
    assert silent is not None
    assert told is not None
    assert (silent.cell.verdict, silent.cell.bound, silent.unless) == (told.cell.verdict, told.cell.bound, told.unless)
