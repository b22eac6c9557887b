"""A pod that names its node goes past the scheduler: it is judged by what the node's kubelet looks at."""

from __future__ import annotations

import pytest
import yaml

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.pod import Pod, Volume
from kubesched_lint.engine.placing.together.joint import contradictions
from kubesched_lint.engine.placing.trial import trials_of
from kubesched_lint.engine.scenario.others.running import lasting_state
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scheduler.binding import bind
from kubesched_lint.findings import Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.rulebook._generated import RULES
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import HOSTNAME, apart, asking, cell, other, report_of, sketch, workload

STORAGE = "storage.k8s.io/v1"
SPREAD = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": HOSTNAME,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ]
}
NEAR_NOBODY = {
    "affinity": {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "nobody"}}}
            ]
        }
    }
}
ELSEWHERE = {"topologySpreadConstraints": [{**SPREAD["topologySpreadConstraints"][0], "topologyKey": "absent"}]}


@pytest.mark.parametrize("conditions", [SPREAD, apart("web", HOSTNAME), NEAR_NOBODY, ELSEWHERE])
@pytest.mark.parametrize("states", [1, 4000])
def test_conditions_that_nobody_checks_keep_no_pod_away(conditions, states):
    """Recorded: 4 of 4 pods run on the node that they name, whatever their spread constraint says."""
    web = workload("Deployment", "web", 4, {**conditions, "nodeName": "w-a-1"})
    web["spec"]["template"]["spec"]["containers"][0]["image"] = "web:1"
    deployed = cell(report_of(sketch(), web, states=states), "web", "deploy")
    assert deployed.text == "4/4 ok"
    found = manifest_set(documents("set.yaml", yaml.safe_dump(web).encode(), is_read), "default")
    report, _ = lint(found, sketch(), Options(), RULES)
    assert [f.rule for f in report.findings if f.severity is Severity.ERROR] == []
    assert "nodename-bypass" in [f.rule for f in report.findings]


def test_neither_cordons_nor_the_anti_affinity_of_others_keep_it_away():
    guard = workload("Deployment", "guard", 6, apart("web", HOSTNAME))
    web = workload("Deployment", "web", 1, {"nodeName": "w-a-1"})
    assert cell(report_of(sketch(), guard, web, events=("deploy",)), "web", "deploy").text == "1/1 ok"


def test_the_kubelet_counts_room_and_matches_the_node_selector():
    big = workload("Deployment", "big", 2, asking("3", nodeName="w-a-1"))
    assert cell(report_of(sketch(), big), "big", "deploy").text == "1/2 −1"
    lost = workload("Deployment", "lost", 1, {"nodeName": "w-a-1", "nodeSelector": {"disk": "ssd"}})
    refused = cell(report_of(sketch(), lost), "lost", "deploy")
    assert refused.text == "0/1 −1"
    assert refused.message == "", "the scheduler has no words for a pod that it does not see"


def test_a_cordon_keeps_out_no_pod_that_names_the_node():
    """Its controller makes the evicted pod again, and the kubelet takes it."""
    web, rival = (
        workload("Deployment", "web", 1, asking("1", nodeName="w")),
        workload("Deployment", "db", 2, asking("2")),
    )
    drained = cell(report_of(sketch(1, "a"), web, rival, states=1), "web", "drain")
    assert drained.bound.most == 1


def test_a_drain_that_evicts_a_bare_pod_makes_room_for_those_that_name_the_node():
    """A cordon keeps nobody out who goes past the scheduler: counting and searching agree about the freed place."""
    guest = other("Pod", "guest", spec={"nodeName": "w", **asking("1")})
    guest["metadata"]["namespace"] = "default"
    cluster = sketch(1, "a", "4", "1", guest)
    one = workload("Deployment", "web", 1, asking("500m", nodeName="w"))
    searched = cell(report_of(cluster, one, events=("drain",)), "web", "drain")
    counted = cell(report_of(cluster, one, events=("drain",), states=1), "web", "drain")
    assert counted.bound.least <= searched.bound.least <= searched.bound.most <= counted.bound.most == 1


def beside(rival: dict, *objects: dict) -> Scenario:
    text = yaml.safe_dump_all([rival, *objects])
    return Scenario(manifest_set(documents("set.yaml", text.encode(), is_read), "default").inventory, sketch(1, "a"))


def test_a_trial_counts_the_room_of_pods_that_name_their_node():
    named = workload("Deployment", "named", 1, asking("3", nodeName="w"))
    scenario = beside(named, workload("Deployment", "other", 1, asking("2")))
    ends = [{w.name: left for w, left in trial.items()} for trial in trials_of(scenario)]
    assert ends[0]["other"] == (1, "0/1 nodes are available: 1 Insufficient cpu.")
    assert ends[1]["named"] == (1, "the kubelet of w refuses it: Insufficient cpu")


def test_a_critical_pod_that_names_its_node_is_in_no_trial():
    """Its kubelet drives out others, and nothing says which."""
    named = workload("Deployment", "named", 1, asking("3", nodeName="w", priorityClassName="system-node-critical"))
    assert trials_of(beside(named, workload("Deployment", "other", 1, asking("2")))) == ({}, {}, {})


def test_those_that_name_their_node_are_short_of_room_together_with_others():
    named, rival = (
        workload("Deployment", "named", 1, asking("3", nodeName="w")),
        workload("Deployment", "other", 1, asking("2")),
    )
    (short,) = contradictions(beside(named, rival))
    assert (short.wanted, short.placed, short.short.asked, short.short.room) == (2, 1, 5000, 4000)


def test_no_scheduler_binds_the_claims_of_a_pod_that_names_its_node():
    objects = [
        other("StorageClass", "late", STORAGE, provisioner="csi.x", volumeBindingMode="WaitForFirstConsumer"),
        other("PersistentVolumeClaim", "data", spec={"storageClassName": "late", "accessModes": ["ReadWriteOnce"]}),
    ]
    scenario = Scenario(Inventory(), sketch(1, "a", "4", "110", *objects))
    state = lasting_state(scenario)
    (key,) = state.storage.claims
    volume = Volume("data", "persistentVolumeClaim", claim="data")
    bind(Pod("default", {}, node_name="w", volumes=(volume,)), 0, state)
    assert not state.storage.claims[key].volume_name
    bind(Pod("default", {}, volumes=(volume,)), 0, state)
    assert state.storage.claims[key].volume_name


def test_running_pods_that_repel_it_keep_it_away_no_more_than_those_of_the_set():
    """No kubelet asks the anti-affinity of others, and a proof that it does was refuted by a trace."""
    containers = [{"name": "c", "image": "x"}]
    guard = other("Pod", "guard", spec={"nodeName": "w", "containers": containers, **apart("web", HOSTNAME)})
    cluster = sketch(1, "a", "4", "110", guard)
    web = workload("Deployment", "web", 2, {"nodeName": "w"})
    assert cell(report_of(cluster, web, states=1, events=("rollout",)), "web", "rollout").text == "2/2 ok"
