"""Other people's running pods prove an error only while the cluster's file is fresh; lint and simulate agree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.runs.courses import Courses
from kubesched_lint.engine.runs.event_outcomes import EventOutcomes
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.findings import Hazard, proof
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from, stated
from kubesched_lint.sources.manifests.loader import documents

CAPTURED = "2026-11-20T08:00:00Z"


def cluster(fresh_since: str) -> Cluster:
    node: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"kubernetes.io/hostname": "n"}, "creationTimestamp": CAPTURED},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "other",
            "namespace": "elsewhere",
            "labels": {"app": "other"},
            "creationTimestamp": CAPTURED,
        },
        "spec": {"nodeName": "n", "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]},
        "status": {"phase": "Running"},
    }
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, pod]}).encode()
    return stated(cluster_from([("c.json", text)], "c.json"), ClusterOptions(fresh_since=fresh_since))


def needing_one_core(replicas: int) -> ManifestSet:
    """Return a Deployment whose pods each need one core."""
    web = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "replicas": replicas,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
            },
        },
    }
    return manifest_set(documents("m.json", json.dumps(web).encode(), is_read), "default")


def said(replicas: int, fresh_since: str) -> tuple[str, bool, bool]:
    """Return the severity that lint gives, whether simulate proves the deploy bad, and whether both name the age."""
    manifests = needing_one_core(replicas)
    nodes = cluster(fresh_since)
    report, _ = lint(manifests, nodes, Options(), Rulebook.shipped().select("ci"))
    (finding,) = (f for f in report.findings if f.evidence.kind == "proof" and f.evidence.event == "deploy")
    (cell,) = simulate(manifests, nodes, Options(), ["deploy"]).rows[0].cells
    premises = [any(CAPTURED in premise for premise in found) for found in (finding.evidence.assumes, cell.assumes)]
    assert premises[0] == premises[1]
    return finding.severity.word, cell.verdict == "bad" and cell.proven, premises[0]


@pytest.mark.parametrize(
    ("replicas", "fresh_since", "expected"),
    [
        (3, "2026-11-19T00:00:00+00:00", ("error", True, False)),
        (3, "", ("error", True, False)),
        (3, "2026-11-21T00:00:00+00:00", ("warning", False, True)),
        (5, "2026-11-21T00:00:00+00:00", ("error", True, False)),
    ],
    ids=["fresh", "whatever-its-age", "stale", "stale-and-too-large-for-the-empty-node"],
)
def test_old_pods_of_others_prove_no_error(replicas: int, fresh_since: str, expected: tuple[str, bool, bool]) -> None:
    assert said(replicas, fresh_since) == expected


def test_the_numbers_of_a_proof_without_old_pods_hold_beside_them() -> None:
    """The empty node takes four pods, beside the other pod it takes two: nobody may read that four run."""
    nodes = cluster("2026-11-21T00:00:00+00:00")
    (cell,) = simulate(needing_one_core(5), nodes, Options(), ["deploy"]).rows[0].cells
    assert (cell.proven, cell.bound.least, cell.bound.most, cell.text) == (True, 2, 4, "2–4/5")
    assert cell.worst is not None
    assert cell.worst.bound == 2


def test_only_the_pods_of_today_are_shown_in_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace without the old pods of others would be followed for nothing: it is another end that people see."""
    others = []
    original = Courses.event_outcomes

    def event_outcomes(self: Courses, *args: object) -> EventOutcomes:
        others.append(bool(self.simulated.others))
        return original(self, *args)

    monkeypatch.setattr(Courses, "event_outcomes", event_outcomes)
    (cell,) = simulate(needing_one_core(85), cluster("2026-11-21T00:00:00+00:00"), Options(), ["deploy"]).rows[0].cells
    assert cell.proven
    assert cell.worst is not None
    assert others
    assert all(others)


def test_a_file_without_a_date_is_not_fresh() -> None:
    assert Cluster(inventory=cluster("").inventory)._age_of_pods("2026-11-21T00:00:00+00:00") == "of unknown age"


@pytest.mark.parametrize(("near", "severity"), [("other", "warning"), ("nobody", "error")])
def test_old_pods_that_may_help_are_asked_for_by_rules_and_cells(near: str, severity: str) -> None:
    """Beside a pod that matches its affinity, a workload may find more room elsewhere: no scenario shows where.

    The rule claims that pods wait in every scenario.
    """
    term = {"labelSelector": {"matchLabels": {"app": near}}, "topologyKey": "kubernetes.io/hostname"}
    terms = [{**term, "namespaces": ["elsewhere"]}]
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    web = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "affinity": affinity,
                    "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
                },
            },
        },
    }
    rule = Rulebook.shipped().get("pod-count-limit")

    def check(it: Member) -> Iterator[Hazard]:
        yield Hazard(at=it.workload.replicas_path, evidence=proof("3 > 2", event="deploy"), values={})

    claiming = replace(rule, code=lambda: check, card="m.md", messages={"": "it waits"}, helps={"": "mend it"})
    manifests = manifest_set(documents("m.json", json.dumps(web).encode(), is_read), "default")
    nodes = cluster("2026-11-21T00:00:00+00:00")
    (finding,) = lint(manifests, nodes, Options(), (claiming,), is_refuting=False)[0].findings
    assert finding.severity.word == severity
    (cell,) = simulate(manifests, nodes, Options(), ["deploy"]).rows[0].cells
    assert (cell.verdict, cell.proven) == ("bad", severity == "error")
    for assumed in (finding.evidence.assumes, cell.assumes):
        assert any(CAPTURED in premise for premise in assumed) == (severity == "warning")
