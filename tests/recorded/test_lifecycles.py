"""Recorded lifecycles as a user meets them: the whole set through lint and simulate, not only the engine beneath.

The first deployment, a first drain or loss, and a change applied to what runs after the first deployment are each held
against what ``lint`` and the matrix said before. ``tests/events`` holds every phase against the engine.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.commands.verify.agreement import Agreement
from kubesched_lint.commands.verify.lifecycle_sets import deployments_of, verify_lifecycle_sets
from kubesched_lint.commands.verify.recordings import LIFECYCLES, read_cases
from tests.share import first

KNOWN = Path(__file__).parent / "open_lifecycles.txt"
FIXTURES = Path(__file__).parents[2] / "fixtures" / "conformance"
LEFT_OUT = ["l60000", "l60016", "l60029"]
"""They take most of the time of lifecycles-wide-2: their searches are cut short, once more for each hypothesis. What no
other recording takes, branches of bounds, of words of cells and of the choice of traces, tests/events takes.
``RECORDED=all`` judges them, too."""


@pytest.mark.parametrize(
    ("name", "every", "cells"),
    first(
        2,
        [
            ("lifecycles-wide", 2, 150),
            ("lifecycles-midrollout", 1, 50),
            ("lifecycles", 2, 200),
            ("lifecycles-wide-2", 1, 300),
        ],
    ),
)
def test_no_cell_and_no_error_about_a_recorded_lifecycle_is_contradicted(name: str, every: int, cells: int) -> None:
    account = Agreement(LIFECYCLES)
    for case in list(read_cases(str(FIXTURES / f"{name}.jsonl.gz")))[::every]:
        if case["id"] not in LEFT_OUT or os.environ.get("RECORDED") == "all":
            list(verify_lifecycle_sets(case, account))
    found = {f"{d.case} {d.pod}: {d.question}" for d in account.disagreements}
    known = {line for line in KNOWN.read_text(encoding="utf-8").splitlines() if line.startswith(f"{name}: ")}
    assert sorted({f"{name}: {line}" for line in found} ^ known) == [], "contradicted; or mended: strike the line off"
    assert account.figures["cells established"].asked > cells


def test_a_change_is_asked_about_on_what_runs() -> None:
    """The set is then the changed one, and the cluster holds the pods where the first deployment left them."""
    cases = read_cases(str(FIXTURES / "lifecycles.jsonl.gz"))
    found = [(case, value) for case in cases for value in deployments_of(case) if "then" in value["id"]]
    assert len(found) > 30
    for case, value in found:
        run = case["runs"][int(value["id"].split()[2])]
        bound = sum(count for seen in run[0]["workloads"].values() for count in seen["bound"].values())
        assert bound == sum("nodeName" in o["spec"] for o in value["before"] if o["kind"] == "Pod")


def _surging() -> dict[str, Any]:
    """A DaemonSet with a host port rolls out with surge: the new pod waits for the port of the old one, for good."""
    port = {"containerPort": 8080, "hostPort": 8080}
    template = {
        "metadata": {"labels": {"app": "cache"}},
        "spec": {"containers": [{"name": "c", "image": "x", "ports": [port]}]},
    }
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    spec = {"selector": {"matchLabels": {"app": "cache"}}, "template": template, "updateStrategy": strategy}
    daemons = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "cache", "namespace": "default"}}
    changed = {**template, "metadata": {"labels": {"app": "cache"}, "annotations": {"revision": "2"}}}
    bound = {"n0": 1, "n1": 1}
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
            "spec": {},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
        }
        for name in bound
    ]
    waits = {"0/2 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.": 1}
    seen = {"bound": bound, "desired": 2, "pending": {}, "updated": 2}
    return {
        "id": "surging",
        "kubernetes": "v1.36.2",
        "mode": "sequential",
        "nodes": nodes,
        "objects": [{**daemons, "spec": spec}],
        "steps": [{"name": "rollout", "apply": {**daemons, "spec": {**spec, "template": changed}}}],
        "runs": [
            [
                {"phase": "initial", "quiescent": True, "workloads": {"DaemonSet/cache": seen}},
                {
                    "phase": "rollout",
                    "quiescent": True,
                    "workloads": {"DaemonSet/cache": {**seen, "pending": waits, "updated": 0}},
                },
            ]
        ],
    }


def test_a_pod_that_surges_in_vain_is_one_more_than_wanted() -> None:
    """All elders run, so that none lacks."""
    account = Agreement(LIFECYCLES)
    list(verify_lifecycle_sets(_surging(), account))
    assert [f"{d.case} {d.pod}: {d.question}" for d in account.disagreements] == []
    assert account.figures["cells established"].asked == 2


def _in_two_revisions() -> dict[str, Any]:
    """Two zones take a pod of each revision: the rollout is stuck with two of each, and one of three waits."""
    apart = {
        "labelSelector": {"matchLabels": {"app": "cache"}},
        "topologyKey": "topology.kubernetes.io/zone",
        "matchLabelKeys": ["pod-template-hash"],
    }

    def cache(image: str) -> dict[str, Any]:
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
        template = {
            "metadata": {"labels": {"app": "cache"}},
            "spec": {"affinity": affinity, "containers": [{"name": "c", "image": image}]},
        }
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}
        spec = {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "cache"}},
            "strategy": strategy,
            "template": template,
        }
        meta = {"name": "cache", "namespace": "default"}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}

    def node(name: str, zone: str) -> dict[str, Any]:
        labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
        meta = {"name": name, "labels": labels}
        status = {"allocatable": {"cpu": "4", "pods": "20"}}
        return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {}, "status": status}

    waits = {"0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.": 1}
    first = {"bound": {"n0": 1, "n1": 1}, "new_pods": 3, "old_pods": 0}
    then = {"bound": {"n0": 2, "n1": 2}, "new_pods": 3, "old_pods": 2}
    stuck = {"pending": waits, "replicas": 3, "rollout": "stuck"}
    phases = [
        {"phase": phase, "quiescent": True, "workloads": {"Deployment/cache": {**seen, **stuck}}}
        for phase, seen in (("initial", first), ("rollout", then))
    ]
    return {
        "id": "two-revisions",
        "kubernetes": "v1.36.2",
        "mode": "sequential",
        "nodes": [node("n0", "a"), node("n1", "b")],
        "objects": [cache("one")],
        "steps": [{"name": "rollout Deployment default/cache", "apply": cache("two")}],
        "runs": [phases],
    }


def test_pods_of_two_revisions_are_more_than_the_newest_alone_could_have() -> None:
    """More pods run than the error says have room: they are not of one revision, so that it stands."""
    account = Agreement(LIFECYCLES)
    list(verify_lifecycle_sets(_in_two_revisions(), account))
    assert [f"{d.case} {d.pod}: {d.question}" for d in account.disagreements] == []
    assert account.questions["no error on what ran"].asked == 2
