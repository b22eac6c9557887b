"""``why`` tells of a pod beside the rest of the set, as a trial of ``lint`` does; ``--alone`` leaves the rest out."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import yaml

from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.commands.why.explain import Explanation
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import BAD, FINE
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.placing.coming import Coming
from kubesched_lint.engine.placing.trial import tried
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import ZONE, Value, apart, asking, cell, other, report_of, sketch, workload


def inventory(*objects: Value) -> Inventory:
    text = "---\n".join(yaml.safe_dump(o) for o in objects)
    return manifest_set(documents("set.yaml", text.encode(), is_read), "default").inventory


def why(cluster: Cluster, name: str, *objects: Value, **more: Any) -> Explanation:
    return answer(Question(name, **more), inventory(*objects), cluster)


SMALL = sketch(1, "ab", "4")
FILLER = workload("Deployment", "filler", 2, asking("3"))
WEB = workload("Deployment", "web", 1, asking("2"))


def test_what_the_set_takes_first_is_gone() -> None:
    found = why(SMALL, "web", FILLER, WEB)
    assert not found.fitting
    assert found.message == (
        "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
    )
    assert any("2 pods of the other manifests were placed first, in one possible order" in note for note in found.notes)
    assert cell(report_of(SMALL, FILLER, WEB), "web", "deploy").verdict != FINE


def test_who_found_no_node_is_named_and_who_comes_later_is_counted() -> None:
    huge = workload("Deployment", "a-huge", 2, asking("9"))
    found = why(SMALL, "web", huge, workload("Deployment", "b", 1), WEB, workload("Deployment", "z", 3))
    assert found.notes[-1] == (
        "1 pod of the other manifests was placed first, in one possible order; "
        "2 more found no node (Deployment default/a-huge); 3 come later (--alone places none)"
    )


def test_alone_leaves_the_set_out_and_says_so() -> None:
    found = why(SMALL, "web", FILLER, WEB, alone=True)
    assert len(found.fitting) == 2
    assert "the pods of the other manifests are not placed (--alone)" in found.notes


def test_a_workload_without_others_has_no_note_of_them() -> None:
    for alone in (True, False):
        assert not why(SMALL, "web", WEB, alone=alone).notes


def test_a_workload_that_comes_first_has_no_note_of_later_ones() -> None:
    assert not why(SMALL, "web", WEB, FILLER).notes


def test_who_comes_first_in_apply_order_is_first() -> None:
    assert why(SMALL, "web", WEB, FILLER).fitting
    helm = [FILLER, other("Pod", "web", spec={"containers": [{"name": "c", **asking("2")["containers"][0]}]})]
    assert not why(SMALL, "web", *helm).fitting
    assert why(SMALL, "web", *helm, apply_order="helm").fitting


def test_who_waits_for_a_later_one_is_asked_again() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": ZONE}
    near = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    found = why(SMALL, "web", workload("Deployment", "web", 1, near), workload("StatefulSet", "db", 1))
    assert [node.node for node in found.fitting]
    assert any(note.startswith("1 pod of the other manifests was placed first") for note in found.notes)


def test_running_pods_of_the_set_stay_and_only_the_missing_are_made() -> None:
    pod = {"containers": asking("3")["containers"]}
    owner = {"kind": "ReplicaSet", "name": "filler-1", "uid": "u", "controller": True}
    live = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "filler-1-x",
            "namespace": "default",
            "labels": {"app": "filler", "pod-template-hash": "1"},
            "ownerReferences": [owner],
        },
        "spec": {"nodeName": "w-a", **pod},
    }
    found = why(sketch(1, "abc", "4", "110", live), "web", FILLER, WEB)
    assert any(note.startswith("1 pod of the other manifests") for note in found.notes)
    assert len(found.fitting) == 1
    assert not next(node for node in found.nodes if node.node == "w-a").fits


def test_the_others_victims_are_named() -> None:
    high = other("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000)
    first = workload("Deployment", "web", 1, {**asking("2"), "priorityClassName": "high"})
    found = why(SMALL, "web", high, FILLER, first)
    assert found.nominated
    assert found.victims == ("default/filler-…",)


def test_paused_workloads_and_jobs_take_no_room() -> None:
    paused = workload("Deployment", "filler", 2, asking("3"), paused=True)
    assert why(SMALL, "web", paused, WEB).fitting
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "load"},
        "spec": {"parallelism": 2, "template": {"spec": {"restartPolicy": "Never", **asking("3")}}},
    }
    found = why(SMALL, "web", job, WEB)
    assert found.fitting
    assert "pods of Job default/load are left out, because they finish" in found.notes


def test_a_daemonset_comes_in_its_turn() -> None:
    agent = workload("DaemonSet", "agent", None, asking("2"))
    assert len(why(SMALL, "agent", FILLER, agent).fitting) == 0
    assert len(why(SMALL, "agent", agent, FILLER).fitting) == 2


@pytest.mark.parametrize("seed", range(30))
def test_why_and_a_trial_agree(seed: int) -> None:
    """The last replica of a workload fits where the trial, with the same draws, leaves none over."""
    draw = Random(seed)
    names = [f"w{i}" for i in range(draw.randint(2, 4))]
    objects = []
    for name in names:
        spec = asking(f"{draw.choice([500, 1000, 2000])}m")
        if draw.random() < 0.5:
            spec |= apart(draw.choice(names), draw.choice([ZONE, "kubernetes.io/hostname"]))
        objects.append(workload(draw.choice(["Deployment", "StatefulSet"]), name, draw.randint(1, 3), spec))
    cluster = sketch(draw.randint(1, 2), draw.choice(["a", "ab", "abc"]), "2")
    manifests = inventory(*objects)
    left = tried(Scenario(manifests, cluster), Coming(1)).left
    for made in manifests.workloads:
        found = answer(Question(made.name, made.replicas, seed=1), manifests, cluster)
        assert bool(found.fitting) == (made not in left)


@pytest.mark.parametrize("name", ["filler", "web", "db", "cache"])
def test_why_and_simulate_agree_where_simulate_is_sure(name: str) -> None:
    objects = [FILLER, WEB, workload("StatefulSet", "db", 3, apart("db")), workload("Deployment", "cache", 2)]
    found = cell(report_of(SMALL, *objects), name, "deploy")
    fits = bool(why(SMALL, name, *objects, replica=found.wanted).fitting)
    assert found.verdict not in (FINE, BAD) or fits == (found.verdict == FINE)
    assert {"db": BAD, "cache": FINE}.get(name, found.verdict) == found.verdict
