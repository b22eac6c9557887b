"""What ``simulate`` says of gangs after their deployment, and beside other workloads."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint.commands.simulate.run import simulate as simulated
from kubesched_lint.engine.events.answers.cells import UNKNOWN
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.library import lint, load_cluster, simulate
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents

GATES = "GenericWorkload=true,GangScheduling=true"
TOPOLOGY = f"{GATES},TopologyAwareWorkloadScheduling=true"
OTHER = (
    "---\napiVersion: v1\nkind: Pod\nmetadata: {name: o, namespace: shop}\nspec: {containers: [{name: c, image: i}]}\n"
)


def group(count: int, constraints: str = "") -> str:
    return f"""\
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {{name: g, namespace: shop}}
spec: {{schedulingPolicy: {{gang: {{minCount: {count}}}}}{constraints}}}
---
"""


def workload(kind: str, replicas: int, spec: str = "", pod: str = "", cpu: int = 1) -> str:
    fields = (
        f"parallelism: {replicas}" if kind == "Job" else f"replicas: {replicas}, selector: {{matchLabels: {{a: b}}}}"
    )
    policy = "Never" if kind == "Job" else "Always"
    return f"""\
apiVersion: {"batch/v1" if kind == "Job" else "apps/v1"}
kind: {kind}
metadata: {{name: w, namespace: shop}}
spec:
  {{{fields}{spec}, template: {{metadata: {{labels: {{a: b}}}}, spec: {{restartPolicy: {policy}{pod},
    schedulingGroup: {{podGroupName: g}},
    containers: [{{name: c, image: "i:1", resources: {{requests: {{cpu: "{cpu}"}}}}}}]}}}}}}
"""


def sketch(nodes: int, cpu: int, more: str = "") -> str:
    one = f'{{name: node, count: {nodes}, zones: [a], allocatable: {{cpu: "{cpu}", memory: 8Gi}}}}'
    return f"apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nelastic: false\nnodes:\n- {one}\n{more}"


def cells(manifests: str, cluster: str, *events: str, gates: str = GATES) -> dict[str, Any]:
    found = simulate(text=manifests, cluster=load_cluster(text=cluster), events=list(events), feature_gates=gates)
    return {cell.event: cell for cell in found.outcomes if cell.object.name == "w"}


EVENTS = ("deploy", "node-loss", "drain")


@pytest.mark.parametrize("beside", ["", OTHER])
def test_a_gang_with_room_in_every_order_is_fine_whatever_happens(beside: str) -> None:
    found = cells(group(4) + workload("Job", 4) + beside, sketch(3, 4), *EVENTS)
    assert {event: (cell.verdict, cell.bound) for event, cell in found.items()} == dict.fromkeys(
        EVENTS, ("fine", (4, 4))
    )


DOUBTS = [
    (group(4) + workload("Job", 4), sketch(2, 2), "node-loss", GATES, "not every order of its pods ends well"),
    (
        group(4, ", schedulingConstraints: {topology: [{key: topology.kubernetes.io/zone}]}")
        + workload("Job", 4)
        + OTHER,
        sketch(3, 8),
        "deploy",
        TOPOLOGY,
        "nodes with one topology.kubernetes.io/zone hold all its pods",
    ),
    (
        group(2) + workload("Job", 4, pod=", priority: 5") + OTHER,
        sketch(3, 8),
        "deploy",
        GATES,
        "pods have different priorities, and a group evicts others in its own way",
    ),
    (
        group(3)
        + workload(
            "Deployment",
            3,
            pod=", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
            "[{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {a: b}}}]}}",
        )
        + OTHER,
        sketch(3, 8),
        "deploy",
        GATES,
        "its pods need others beside them, and an attempt may take these back",
    ),
    (
        group(4) + workload("Deployment", 4, ", strategy: {type: Recreate}"),
        sketch(3, 8),
        "rollout",
        GATES,
        "fewer than 4 of its pods may run at a time",
    ),
]


@pytest.mark.parametrize(("manifests", "cluster", "event", "gates", "reason"), DOUBTS)
def test_what_is_not_known_about_a_gang_has_its_reason(
    manifests: str, cluster: str, event: str, gates: str, reason: str
) -> None:
    found = manifest_set(documents("set.yaml", manifests.encode(), is_read), "shop")
    report = simulated(found, load_cluster(text=cluster), Options(feature_gates=gates), [event])
    [cell] = [row.cells[0] for row in report.rows if report.workloads[row.number].name == "w"]
    assert cell.verdict == UNKNOWN
    assert cell.missing == (f"what becomes of PodGroup g, whose pods are tried together: {reason}",)


@pytest.mark.parametrize(
    ("strategy", "verdict"),
    [
        (", strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}", "fine"),
        (", strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 2}}", "fine"),
        (", strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 3}}", "unknown"),
    ],
)
def test_a_rollout_that_leaves_enough_pods_goes_on_pod_by_pod(strategy: str, verdict: str) -> None:
    found = cells(group(2) + workload("Deployment", 4, strategy), sketch(3, 4), "rollout")
    assert found["rollout"].verdict == verdict


def test_a_rollout_without_room_is_stuck_with_its_gang_too() -> None:
    full = workload("Deployment", 4, ", strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}")
    assert cells(group(2) + full, sketch(1, 4), "rollout")["rollout"].text == "stuck"


def ordered(text: str) -> str:
    return text.replace("selector:", "serviceName: s, selector:")


@pytest.mark.parametrize(("management", "verdict"), [("OrderedReady", "bad"), ("Parallel", "fine")])
def test_an_ordered_statefulset_never_completes_a_quorum(management: str, verdict: str) -> None:
    manifests = group(2) + ordered(workload("StatefulSet", 3, f", podManagementPolicy: {management}"))
    cell = cells(manifests, sketch(3, 4), "deploy")["deploy"]
    assert cell.verdict == verdict
    found = lint(text=manifests, cluster=load_cluster(text=sketch(3, 4)), feature_gates=GATES).findings
    told = [f.message for f in found if f.rule == "podgroup-min-count"]
    assert bool(told) == (verdict == "bad")
    if told:
        assert (
            "PodGroup g needs 2 pods, and a StatefulSet makes the next one only when the one before is ready" in told[0]
        )
        assert "create 1 before one is ready: a StatefulSet with podManagementPolicy OrderedReady" in cell.because


def test_an_ordered_statefulset_with_its_first_pod_in_the_quorum_starts() -> None:
    manifests = group(1) + ordered(workload("StatefulSet", 3))
    assert cells(manifests, sketch(3, 4), "deploy")["deploy"].verdict == "fine"


RUNNING = """\
---
apiVersion: v1
kind: Pod
metadata:
  name: w-{0}
  namespace: shop
  labels: {{a: b}}
  ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: w, uid: u, controller: true}}]
spec:
  nodeName: node-a-1
  schedulingGroup: {{podGroupName: g}}
  containers: [{{name: c, image: "i:1", resources: {{requests: {{cpu: "1"}}}}}}]
status: {{phase: Running}}
"""


@pytest.mark.parametrize(("count", "name", "verdict"), [(2, "g", "fine"), (3, "g", "unknown"), (2, "other", "unknown")])
def test_running_pods_of_the_group_count_towards_the_quorum(count: int, name: str, verdict: str) -> None:
    more = "".join(RUNNING.format(number) for number in range(2)).replace("podGroupName: g", f"podGroupName: {name}")
    found = cells(group(count) + workload("ReplicaSet", 3), sketch(2, 2) + more, "deploy")
    assert found["deploy"].verdict == verdict


def test_scaling_down_a_gang_that_may_not_start_is_unknown() -> None:
    scaler = (
        "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: w, namespace: shop}\n"
        "spec: {minReplicas: 1, maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: w}}\n"
    )
    gang = group(4) + workload("Deployment", 4) + scaler
    assert cells(gang, sketch(1, 4), "scale-down")["scale-down"].verdict == "fine"
    assert (
        cells(
            gang + OTHER.replace("image: i", "image: i, resources: {requests: {cpu: 1}}"), sketch(1, 4), "scale-down"
        )["scale-down"].verdict
        == "unknown"
    )


def test_a_cron_job_in_a_group_is_no_reason_to_fail() -> None:
    cron = workload("Job", 1).replace("kind: Job", "kind: CronJob").replace("name: w,", "name: cron,")
    cron = (
        cron.replace("{parallelism: 1, template:", "{schedule: '0 0 * * *', jobTemplate: {spec: {template:").rstrip()
        + "}}\n"
    )
    found = cells(group(2) + workload("Job", 2) + "---\n" + cron, sketch(3, 4), "deploy")
    assert found["deploy"].verdict == "unknown"
