"""Pods of different workloads come in any order: who waits in every one is told, and who waits in turn is a race."""

from __future__ import annotations

import pytest
import yaml

from kubesched_lint import lint
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.placing.together.joint import contradictions
from kubesched_lint.engine.placing.trial import _tried, trials_of
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scenario.settings.user_settings import Premises
from kubesched_lint.explaining.crowding.waiting import races, waiting_everywhere
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import FIXTURES, HOSTNAME, ZONE, Value, apart, asking, other, sketch, workload

RECORDED = FIXTURES / "races"


def scenario_of(cluster: Cluster, *objects: Value, tool: str = "kubectl") -> Scenario:
    text = "---\n".join(map(yaml.safe_dump, objects))
    found = manifest_set(documents("set.yaml", text.encode(), is_read), "default")
    return Scenario(found.inventory, cluster, Premises(apply_order=tool))


def waiting(scenario: Scenario) -> dict[str, int]:
    return {found.workload.name: found.fewest for found in waiting_everywhere(scenario)}


def raced(scenario: Scenario) -> list[tuple[set[str], int]]:
    return [({w.name for w in race.workloads}, race.fewest) for race in races(scenario)]


def test_of_a_stateful_set_and_a_deployment_either_may_wait_as_it_was_recorded() -> None:
    """In three of four deployments all pods of mailer ran and the second pod of redis waited, in one mailer waited."""
    report = lint(RECORDED / "wrong-victim.yaml", cluster=str(RECORDED / "over-by-20m.cluster.yaml"))
    (one,) = [found for found in report.findings if found.rule == "deploy-leaves-pending"]
    assert one.message.startswith(
        "at least 1 pod of StatefulSet default/redis and Deployment default/mailer may stay Pending: "
        "whichever comes last did in the simulated orders"
    )
    assert [related.label for related in one.related] == ["may wait instead"]


@pytest.mark.parametrize("kind", ["DaemonSet", "Deployment"])
def test_of_two_that_repel_each_other_one_waits(kind: str) -> None:
    replicas = None if kind == "DaemonSet" else 2
    scenario = scenario_of(
        sketch(2 if kind == "DaemonSet" else 1, "a"),
        workload(kind, "one", replicas, {**asking("1"), **apart("two", HOSTNAME)}),
        workload(kind, "two", replicas, asking("1")),
    )
    assert not waiting(scenario)
    ((names, fewest),) = raced(scenario)
    assert names == {"one", "two"}
    assert fewest == 2


@pytest.mark.parametrize("number", [2, 3, 4, 5])
def test_of_many_that_compete_for_one_place_none_waits_in_every_order(number: int) -> None:
    objects = [workload("Deployment", f"w{n}", 1, asking("3")) for n in range(number)]
    scenario = scenario_of(sketch(1, "a"), *objects)
    assert not waiting(scenario)
    ((names, fewest),) = raced(scenario)
    assert fewest == number - 1
    assert len(names) >= min(number, 3)


def test_a_set_that_fits_is_tried_once() -> None:
    scenario = scenario_of(sketch(1, "a"), *(workload("Deployment", name, 1, asking("1")) for name in ("one", "two")))
    assert not waiting(scenario)
    assert not raced(scenario)
    assert len(_tried(scenario)) == 1


def test_where_a_pod_has_no_node_no_trial_is_asked_whether_all_fit() -> None:
    two = [workload("Deployment", name, 1, asking("1")) for name in ("one", "two")]
    nowhere = workload("Deployment", "nowhere", 1, {**asking("1"), "nodeSelector": {ZONE: "z"}})
    for objects, trials in ((two, 1), ([*two, nowhere], 0)):
        scenario = scenario_of(sketch(1, "a"), *objects)
        assert contradictions(scenario) == ()
        assert len(_tried(scenario)) == trials


def test_who_does_not_fit_alone_waits_in_every_order() -> None:
    objects = [workload("Deployment", "large", 3, asking("3")), workload("Deployment", "small", 1, asking("1"))]
    assert waiting(scenario_of(sketch(2, "a"), *objects)) == {"large": 1}
    assert not raced(scenario_of(sketch(2, "a"), *objects))


def test_who_is_evicted_waits_although_it_fits_first() -> None:
    objects = [
        workload("Deployment", "low", 1, asking("3")),
        workload("Deployment", "high", 1, asking("3", priorityClassName="high")),
        other("PriorityClass", "high", "scheduling.k8s.io/v1", value=10),
    ]
    assert waiting(scenario_of(sketch(1, "a"), *objects)) == {"low": 1}


def test_who_needs_the_pods_of_another_comes_after_them() -> None:
    """``filler`` takes the node first, or else ``web`` comes right after ``db``, and all is well for it."""
    near: Value = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": HOSTNAME}
    spec = {**asking("2"), "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}}
    scenario = scenario_of(
        sketch(1, "a"),
        workload("Deployment", "db", 1, asking("1")),
        workload("Deployment", "filler", 1, asking("2")),
        workload("Deployment", "web", 1, spec),
    )
    assert not waiting(scenario)
    assert raced(scenario) == [({"filler", "web"}, 1)]


def test_races_on_nodes_apart_are_told_apart() -> None:
    def on(name: str, zone: str) -> Value:
        return workload("Deployment", name, 1, {**asking("3"), "nodeSelector": {ZONE: zone}})

    scenario = scenario_of(sketch(1, "ab"), on("a1", "a"), on("b1", "b"), on("a2", "a"), on("b2", "b"))
    assert sorted(raced(scenario), key=str) == [({"a1", "a2"}, 1), ({"b1", "b2"}, 1)]


@pytest.mark.parametrize(("policy", "left"), [("OrderedReady", 2), ("Parallel", 1)])
def test_a_stateful_set_makes_no_pod_before_the_one_before_it_runs(policy: str, left: int) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
    objects: list[Value] = []
    for ordinal, zone in enumerate("xa"):  # no node is in zone x
        name = f"data-db-{ordinal}"
        objects.append(other("PersistentVolumeClaim", name, spec={"volumeName": f"v{ordinal}", **claim}))
        terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]
        spec = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        }
        objects.append(other("PersistentVolume", f"v{ordinal}", spec=spec))
    template = {"metadata": {"name": "data"}, "spec": claim}
    db = workload("StatefulSet", "db", 2, podManagementPolicy=policy, volumeClaimTemplates=[template])
    cluster = sketch(1, "a", "4", "110", *objects)
    assert waiting(scenario_of(cluster, db)) == {"db": left}


def test_pods_of_a_stateful_set_come_one_after_another_between_those_of_others() -> None:
    """With room for five pods of six: if the pods come in turn, it is the set's last pod that waits."""
    objects = [workload("StatefulSet", "db", 3, asking("1")), workload("Deployment", "web", 3, asking("1"))]
    scenario = scenario_of(sketch(1, "a", "5"), *objects)
    assert [next(iter(trial.values()))[0] for trial in trials_of(scenario)] == [1, 1, 1]
    assert raced(scenario) == [({"db", "web"}, 1)]


@pytest.mark.parametrize(("tool", "left"), [("kubectl", {}), ("argocd", {"later": 1})])
def test_pods_of_a_later_sync_wave_never_come_first(tool: str, left: dict[str, int]) -> None:
    later = workload("Deployment", "later", 1, asking("3"))
    later["metadata"]["annotations"] = {"argocd.argoproj.io/sync-wave": "1"}
    scenario = scenario_of(sketch(1, "a"), later, workload("Deployment", "sooner", 1, asking("3")), tool=tool)
    assert waiting(scenario) == left
    assert len(raced(scenario)) == (tool == "kubectl")
