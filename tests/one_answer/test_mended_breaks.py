"""The smallest input of each break that was found, and what both commands say of it now."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kubesched_lint.findings import Severity
from tests.one_answer.invariants import is_proven_bad, more_facts_keep_proofs, one_answer
from tests.one_answer.scenes import COUNTING, Scene, in_scenario, of_scenario, with_pods
from tests.worlds.clusters import HOST, item
from tests.worlds.generator import World, seeded


def node(name: str, cpu: str = "4", **more: str) -> dict[str, object]:
    labels = {HOST: name, **more}
    return item(
        "Node", name, meta={"labels": labels}, status={"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "9"}}
    )


def workload(kind: str, name: str, replicas: int = 1, *, cpu: str = "1", **spec: object) -> dict[str, object]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], **spec}}
    whole = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return item(kind, name, "default", "apps/v1", spec=whole)


def scene(*manifests: dict[str, object], nodes: int = 1) -> Scene:
    world = World(list(manifests), [node(f"n{number}") for number in range(nodes)])
    asked = in_scenario("made", world)
    assert list(one_answer(asked)) == []
    return asked


def test_a_cron_job_that_fits_nowhere_fails_simulate() -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "9"}}}
    pod = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": pod}}}
    asked = scene(item("CronJob", "nightly", "default", "batch/v1", spec=spec))
    assert asked.is_bad
    (row,) = asked.simulated.rows
    assert [(cell.event, cell.verdict, cell.proven) for cell in row.cells if cell.verdict != "none"] == [
        ("deploy", "bad", True)
    ]
    assert not asked.simulated.shortages


def test_a_budget_of_a_version_that_is_gone_fails_simulate() -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
    budget = item("PodDisruptionBudget", "a", "default", "policy/v1beta1", spec=spec)
    asked = scene(workload("Deployment", "a", 2), budget)
    assert asked.simulated.is_bad
    assert ["PodDisruptionBudget default/a" in line for line in asked.simulated.refused] == [True]


def test_a_node_that_pods_name_may_come() -> None:
    asked = scene(workload("Deployment", "a", nodeName="gone"))
    assert not asked.is_bad
    assert any("no node gone comes" in premise for cell in asked.cells.values() for premise in cell.assumes)


def test_what_a_kubelet_refuses_is_an_error() -> None:
    """Pods with nodeName ask no scheduler, but their kubelet has no room for them."""
    asked = scene(workload("Deployment", "a", 2, cpu="3", nodeName="n0"))
    assert [f.message.partition(":")[0] for f, _ in asked.errors] == ["1 of 2 pods of Deployment default/a never runs"]


def test_a_rollout_without_room_on_the_named_node_is_an_error() -> None:
    asked = scene(workload("Deployment", "a", 1, cpu="3", nodeName="n0"))
    assert [finding.rule for finding, _ in asked.errors] == ["rollout-never-ends"]


@pytest.mark.parametrize("seed", [76, 747])
def test_a_copy_of_an_object_hides_no_error(seed: int) -> None:
    """76: what the set lacks with the definition below. 747: a workload beside one that is written twice."""
    asked = replace(of_scenario(seed), effort=COUNTING)
    assert asked.manifests.inventory.has_duplicates
    assert asked.is_bad
    assert list(one_answer(asked)) == []


def test_pods_that_a_new_limit_range_refuses_are_never_rolled_out() -> None:
    """Whether it counts before the first pods are made is open; later pods are refused, and the rule says by what."""
    limits = item("LimitRange", "l", "default", spec={"limits": [{"type": "Container", "default": {"cpu": "500m"}}]})
    asked = scene(limits, workload("Deployment", "a", 2))
    assert [(f.rule, f.evidence.event) for f, _ in asked.errors] == [("admission-refuses-pods", "rollout")]


def test_a_pod_that_terminates_is_named_where_pods_must_be_near_it() -> None:
    """Their gates hold them back as well, but a controller may remove these in time."""
    less, more = (in_scenario(str(others), with_pods(seeded(596), of_others=others)) for others in (False, True))
    assert any(map(is_proven_bad, less.cells.values()))
    assert all("pod default/guest-2 terminates" in lost.more for lost in more_facts_keep_proofs(less, more))


@pytest.mark.parametrize("is_stored", [False, True])
def test_no_further_node_helps_against_a_quota(is_stored: bool) -> None:
    """Seed 18 of the ordinary companies: two pods and the surge pod of a rollout need more than the quota allows."""
    quota = item(
        "ResourceQuota", "q", "default", spec={"hard": {"requests.cpu": "2"}}, status={"hard": {"requests.cpu": "2"}}
    )
    nodes = [node(f"n{number}", **{"eks.amazonaws.com/nodegroup": "g"}) for number in range(2)]
    there, here = ([quota], []) if is_stored else ([], [quota])
    asked = in_scenario("made", World([*here, workload("Deployment", "a", 2)], [*nodes, *there]))
    assert asked.cluster.elastic_premise
    assert [finding.rule for finding, _ in asked.errors] == ["rollout-never-ends"]
    assert list(one_answer(asked)) == []


def test_what_a_set_lacks_stays_an_error_beside_running_pods() -> None:
    """``fixtures/outsiders``: over-a beside a guest. Here the guest takes what the set needs."""
    guest = item("Pod", "guest", "kube-system", spec={"nodeName": "n0", "containers": [_container("1")]})
    apps = [workload("Deployment", name, 1, cpu="2", nodeSelector={HOST: "n0"}) for name in ("a", "b")]
    asked = in_scenario("made", World(apps, [node("n0"), {**guest, "status": {"phase": "Running"}}]))
    assert [f.severity for f, _ in asked.findings if f.rule == "set-does-not-fit"] == [Severity.ERROR]
    assert list(one_answer(asked)) == []


def _container(cpu: str) -> dict[str, object]:
    return {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}


def cron_job(name: str, **pod: object) -> dict[str, object]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [container], "restartPolicy": "Never", **pod}
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    return item(
        "CronJob",
        name,
        "default",
        "batch/v1",
        spec={"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}},
    )


def apart_from(name: str) -> dict[str, object]:
    term = {"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": HOST}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def proven_deploys(asked: Scene) -> set[str]:
    return {ref.name for (ref, event), cell in asked.cells.items() if event == "deploy" and is_proven_bad(cell)}


def test_a_run_of_a_cron_job_that_running_pods_keep_away_fails_lint() -> None:
    """Counting the room of nodes alone says that it fits."""
    runs = item(
        "Pod",
        "other",
        "default",
        spec={"nodeName": "n0", "containers": [{"name": "c", "image": "i"}], "affinity": apart_from("nightly")},
        status={"phase": "Running"},
    )
    asked = in_scenario("made", World([cron_job("nightly"), cron_job("daily")], [node("n0"), runs]))
    assert list(one_answer(asked)) == []
    assert asked.is_bad
    assert proven_deploys(asked) == {"nightly"}


def test_runs_that_are_judged_alone_end_as_beside_all_others() -> None:
    """Of several CronJobs, those that ask nothing of other workloads need no world with these."""
    beside = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOST}
            ]
        }
    }
    asked = scene(
        workload("Deployment", "web", 2),
        cron_job("fits", affinity=apart_from("fits")),
        cron_job("nowhere", nodeSelector={"disk": "tape"}),
        cron_job("near", affinity=beside),
        cron_job("near-nobody", affinity=beside, nodeSelector={"disk": "tape"}),
    )
    assert proven_deploys(asked) == {"nowhere", "near-nobody"}
