"""A proof that an exact run beats is no error: a warning that asks for a report, and a failure under tests."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.simulate import run
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.engine.bounds import counting
from kubesched_lint.engine.cluster.nodeset import lowest
from kubesched_lint.engine.events.answers.event_bounds import Bound, EventBounds
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.placing import attempts, placing
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.verdicts import matrix
from kubesched_lint.engine.verdicts.matrix import Matrix
from kubesched_lint.engine.verdicts.refuting import Claim, Refuter
from kubesched_lint.findings import Hazard, Severity, proof
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

CLUSTER = b"""
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 1, zones: [a, b], allocatable: {cpu: "4", memory: 16Gi}}
"""


def deployment(name="web", replicas=2, **spec):
    labels = {"app": name}
    pod = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}], **spec}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def read(*objects, cluster=CLUSTER):
    text = "\n---\n".join(map(json.dumps, objects)).encode()
    return manifest_set(documents("m.yaml", text, is_read), "default"), cluster_from(
        [("c.yaml", cluster)], "c.yaml", elastic=False
    )


def claiming(values, event="deploy"):
    """A shipped rule whose check claims, whatever it sees, that pods stay Pending."""
    rule = Rulebook.shipped().get("pod-count-limit")

    def check(it):
        yield Hazard(at=it.workload.replicas_path, evidence=proof("2 > 1", event=event), values=values)

    return replace(rule, code=lambda: check, card="m.md", messages={"": "it waits"}, helps={"": "mend it"})


def found(values, *objects, event="deploy"):
    manifests, cluster = read(*objects)
    report, _ = lint(manifests, cluster, Options(), (claiming(values, event),))
    assert not report.errors
    return report.findings


@pytest.fixture
def quiet(monkeypatch):
    monkeypatch.setattr(attempts, "raising", False)


def test_what_a_run_beats_is_a_warning_that_asks_for_a_report(quiet):
    (finding,) = found({}, deployment())
    assert finding.severity is Severity.WARNING
    assert finding.evidence.kind == "pattern"
    assert finding.evidence.text == (
        "a run contradicts the proof: 2 > 1; yet a run of the model binds 2 of 2. "
        "Please report this bug in kubesched-lint"
    )


def test_under_tests_it_raises():
    with pytest.raises(attempts.RefutedError, match="a run of the model binds 2 of 2"):
        found({}, deployment())


@pytest.mark.parametrize(("pending", "holds"), [(1, True), (2, False)])
def test_the_number_that_the_message_names_is_held_against_the_run(quiet, pending, holds):
    (finding,) = found({"pending": pending}, deployment(replicas=9))  # 8 fit
    assert (finding.severity is Severity.ERROR) == holds


def test_a_rolling_update_that_ends_beats_a_proof_that_none_does(quiet):
    (finding,) = found({}, deployment(), event="rollout")
    assert "a trace of the model ends well" in finding.evidence.text
    full = deployment(replicas=8)
    full["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    (finding,) = found({}, full, event="rollout")
    assert finding.severity is Severity.ERROR


def test_lower_priorities_make_way_in_a_run(quiet):
    important = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 9,
    }
    running = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "old", "namespace": "shop"},
        "spec": {
            "nodeName": "worker-a",
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "4"}}}],
        },
    }
    cluster = CLUSTER.replace(b"[a, b]", b"[a]") + b"objects:\n- " + json.dumps(running).encode()
    manifests, seen = read(important, deployment(replicas=1, priorityClassName="high"), cluster=cluster)
    report, _ = lint(manifests, seen, Options(), (claiming({}),))
    (finding,) = report.findings
    assert finding.severity is Severity.WARNING, "the pod preempts the one that runs"


def test_a_quota_holds_in_a_run(quiet):
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": "shop"},
        "spec": {"hard": {"pods": "1"}},
    }
    (finding,) = found({"pending": 1}, quota, deployment())
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize("spec", [{"schedulingGates": [{"name": "g"}]}, {"schedulerName": "other"}])
def test_what_the_model_does_not_follow_is_not_run(quiet, spec):
    (finding,) = found({}, deployment(**spec))
    assert finding.evidence.kind == "proof"


@pytest.mark.parametrize(("cpu", "holds"), [("3", False), ("5", True)])
def test_pods_of_a_job_end_and_let_the_others_run(quiet, cpu, holds):
    """Four pods where two find room at once: nobody waits for good, unless none finds room at all."""
    job = deployment("reindex")
    job |= {"apiVersion": "batch/v1", "kind": "Job"}
    spec = {**job["spec"]["template"]["spec"], "restartPolicy": "Never"}
    spec["containers"] = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]
    job["spec"] = {"parallelism": 4, "completions": 4, "template": {"metadata": {}, "spec": spec}}
    (finding,) = found({}, job)
    assert (finding.severity is Severity.ERROR) == holds


def test_every_definition_of_an_object_is_run_as_it_is_written(quiet):
    small, large = deployment(replicas=2), deployment(replicas=9)
    assert {f.severity for f in found({"pending": 1}, small, large)} == {Severity.WARNING, Severity.ERROR}


def test_a_cell_that_a_run_contradicts_is_unknown(quiet, monkeypatch):
    """Planted: counting that calls everything fine."""

    def fine(member, event):
        wanted = member.wanted
        return EventBounds(wanted, Bound(wanted, "planted"), Bound(wanted, "planted"))

    monkeypatch.setattr(counting, "count", fine)
    monkeypatch.setattr(matrix, "count", fine)
    monkeypatch.setattr(run, "proofs_about_placement", lambda *_: ())  # a rule proves the truth
    manifests, cluster = read(deployment(replicas=9))
    (row,) = simulate(manifests, cluster, Options(), ("deploy",)).rows
    (cell,) = row.cells
    assert (cell.verdict, cell.proven, str(cell.bound)) == ("unknown", False, "0–9")
    assert "planted; yet a run of the model binds 8 of 9. Please report this" in cell.missing[0]


def test_one_refuter_answers_a_rule_and_a_cell(quiet):
    """Both claim that a pod waits, and no pod waits."""
    manifests, cluster = read(deployment())
    scenario = Scenario(manifests.inventory, cluster)
    said = Claim("2 > 1", "deploy", wanted=2, most=1)
    of_rule, of_cell = replace(said, of=scenario.as_deployed), replace(said, number=0)
    doubt = "2 > 1; yet a run of the model binds 2 of 2. Please report this bug in kubesched-lint"
    assert Refuter(scenario).doubt(of_rule) == doubt
    assert Refuter(scenario, Matrix(simulated_set_of(scenario))).doubt(of_cell) == doubt


def test_what_is_placed_beside_it_beats_a_cell_and_no_rule(quiet):
    """The proof of a rule holds for its pods alone, that of a cell beside the whole set: 8 pods find room."""
    manifests, cluster = read(deployment("api", 8), deployment("web", 2))
    scenario = Scenario(manifests.inventory, cluster)
    web = next(w for w in scenario.as_deployed if w.name == "web")
    number = simulated_set_of(scenario).workloads.index(web)
    at_least = Claim("there is room", "deploy", wanted=2, least=2, most=2)
    assert not Refuter(scenario).doubt(replace(at_least, of=(web,)))
    assert "binds 0 of 2" in Refuter(scenario, Matrix(simulated_set_of(scenario))).doubt(
        replace(at_least, number=number)
    )


def test_what_admission_refuses_is_not_created_in_a_run():
    """Nothing is refuted, or this would raise."""
    strict = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    strict["metadata"]["labels"] = {"pod-security.kubernetes.io/enforce": "restricted"}
    manifests, cluster = read(strict, deployment())
    (row,) = simulate(manifests, cluster, Options(), ("deploy",)).rows
    assert (row.cells[0].verdict, str(row.cells[0].bound)) == ("bad", "0")


@pytest.mark.parametrize("most", [0, 1])
def test_a_run_with_too_many_preemptions_says_nothing(monkeypatch, most):
    """Else the pods that may preempt no more would count as waiting."""
    monkeypatch.setattr(placing, "MOST_EVICTIONS", most)
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    ]
    manifests, cluster = read(
        *classes, deployment("low", 8), deployment("high", 1, priorityClassName="high"), cluster=CLUSTER
    )
    scenario = Scenario(manifests.inventory, cluster)
    low, high = scenario.as_deployed
    expected = {low: 1, high: 0} if most else None
    assert attempts.pods_left(scenario, [low, high], lowest) == expected


def test_no_paused_deployment_helps_in_a_run(quiet):
    """It makes no pods, so pods that must be near its pods wait. A run that creates them would beat a true proof."""
    near = {"labelSelector": {"matchLabels": {"app": "api"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    paused = deployment("api")
    (finding,) = (f for f in found({}, paused, deployment(affinity=affinity)) if f.object.name == "web")
    assert finding.severity is Severity.WARNING, "its pods find a node"
    paused["spec"]["paused"] = True
    (finding,) = (f for f in found({}, paused, deployment(affinity=affinity)) if f.object.name == "web")
    assert "a run contradicts the proof" not in finding.evidence.text
