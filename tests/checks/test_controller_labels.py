"""Labels that controllers set are known, and what differs from pod to pod is a set of values to selectors."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kubesched_lint import lint
from kubesched_lint.engine.events.answers.cells import FINE, UNKNOWN
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import HOSTNAME, ZONE, Value, cell, report_of, sketch
from tests.events.simulated import workload as simulated

NAME, INDEX = "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"
SNAPSHOT = sketch(2, "abc")


def workload(kind: str, name: str, replicas: int | None, spec: Value | None = None, **more: Any) -> Value:
    container = {"name": "c", "image": "x:1", "resources": {"requests": {"cpu": "1"}}}
    return simulated(kind, name, replicas, {"containers": [container], **(spec or {})}, **more)


def near(key: str, *values: str, operator: str = "In", field: str = "podAffinity", topology: str = HOSTNAME) -> Value:
    requirement: Value = {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
    term = {"labelSelector": {"matchExpressions": [requirement]}, "topologyKey": topology}
    return {"affinity": {field: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def job(name: str) -> Value:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x:1"}]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": {"spec": pod}}}


def rules(*objects: Value) -> set[str]:
    return {f.rule for f in lint(objects=objects, cluster=SNAPSHOT).findings}


@pytest.mark.parametrize(
    ("key", "value"), [(NAME, "db-0"), (NAME, "db-2"), (INDEX, "1"), ("controller-revision-hash", "db-5f9c")]
)
def test_affinity_to_a_label_of_a_statefulset_is_answered(key: str, value: str) -> None:
    assert not rules(workload("StatefulSet", "db", 3), workload("Deployment", "web", 1, near(key, value)))


@pytest.mark.parametrize(("key", "value"), [(NAME, "db-3"), (NAME, "bd-0"), (INDEX, "3"), (NAME, "web-0")])
def test_affinity_to_an_ordinal_that_is_not_made_is_not(key: str, value: str) -> None:
    found = rules(workload("StatefulSet", "db", 3), workload("Deployment", "web", 1, near(key, value)))
    assert "affinity-selector-matches-nothing" in found


def test_ordinals_begin_where_the_set_says() -> None:
    db = workload("StatefulSet", "db", 2, ordinals={"start": 5})
    assert not rules(db, workload("Deployment", "web", 1, near(NAME, "db-6")))
    assert rules(db, workload("Deployment", "web", 1, near(NAME, "db-0")))


@pytest.mark.parametrize("key", ["job-name", "batch.kubernetes.io/job-name"])
def test_affinity_to_the_pods_of_a_job_is_answered(key: str) -> None:
    said = "affinity-selector-matches-nothing"
    assert said not in rules(job("load"), workload("Deployment", "web", 1, near(key, "load")))
    assert said in rules(job("load"), workload("Deployment", "web", 1, near(key, "laod")))


@pytest.mark.parametrize(
    "key",
    ["controller-uid", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-completion-index"],
)
def test_what_nobody_can_know_of_a_job_is_not_held_against_it(key: str) -> None:
    assert not rules(job("load"), workload("Deployment", "web", 1, near(key, "0")))


def test_the_template_generation_of_a_daemonset_is_known_to_exist() -> None:
    agent = workload("DaemonSet", "agent", None)
    assert not rules(agent, workload("Deployment", "web", 1, near("pod-template-generation", "1")))


def test_anti_affinity_to_pods_without_an_ordinal_repels_no_replica() -> None:
    others = near(INDEX, operator="DoesNotExist", field="podAntiAffinity")
    assert not rules(workload("StatefulSet", "db", 7, others))
    assert rules(workload("Deployment", "db", 7, others))


def test_a_spread_that_counts_each_pod_alone_bounds_nothing() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "db"}},
        "matchLabelKeys": [INDEX],
        "minDomains": 4,
    }
    found = lint(
        objects=[workload("StatefulSet", "db", 9, {"topologySpreadConstraints": [constraint]})], cluster=SNAPSHOT
    )
    assert not [f for f in found.findings if f.severity.word == "error"]


def test_a_trial_places_each_ordinal_with_its_own_labels() -> None:
    """All go to the zone of the first; its two nodes hold four CPU each, so that one of nine waits."""
    db = workload("StatefulSet", "db", 9, near(INDEX, "0", topology=ZONE))
    messages = [f.message for f in lint(objects=[db], cluster=SNAPSHOT).findings]
    assert any(
        "1 of 9 pods of StatefulSet default/db may stay Pending: it did in every simulated order" in message
        for message in messages
    )


def test_simulate_says_that_it_does_not_follow_such_labels() -> None:
    result = report_of(SNAPSHOT, workload("StatefulSet", "db", 3), workload("Deployment", "web", 1, near(NAME, "db-0")))
    assert cell(result, "db", "deploy").verdict == FINE
    found = cell(result, "web", "deploy")
    assert (found.verdict, found.bound.least, found.bound.most) == (UNKNOWN, 0, 1)
    assert any(NAME in missing for missing in found.missing)


def test_sets_that_read_no_such_label_have_pods_as_before() -> None:
    text = yaml.safe_dump(workload("StatefulSet", "db", 3)).encode()
    manifests = manifest_set(documents("set.yaml", text, is_read), "default").inventory
    pod: Any = Scenario(manifests, SNAPSHOT).member(manifests.workloads[0]).pod
    assert not pod.varying
