"""The engine is a library: its page and its example run, it loads no linter, and it answers as the linter does."""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint import load_cluster, simulate
from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.library import EVENTS, candidates, cluster_of, placed, scenario_of, verdicts
from kubesched_lint.engine.model.decode.fields import DecodeError

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/engine"


def objects(name: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads((EXAMPLE / name).read_text())["items"]
    return items


def test_the_page_runs() -> None:
    failed, tried = doctest.testfile(str(ROOT / "docs/engine.md"), module_relative=False)
    assert (failed, tried > 10) == (0, True)


def test_the_example_prints_what_its_page_shows() -> None:
    shown = re.search(r"\$ python (.*?)\n(.*?)```", (EXAMPLE / "README.md").read_text(), re.DOTALL)
    assert shown is not None
    done = subprocess.run([sys.executable, *shown[1].split()], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (shown[2], 1)


def test_it_loads_nothing_of_the_linter() -> None:
    code = (
        "import sys, kubesched_lint.engine.library\n"
        "print(*(name for name in sys.modules if name.startswith('kubesched_lint')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name.split(".")[1] for name in done.stdout.split() if "." in name} == {"engine"}


def test_its_verdicts_are_those_of_simulate() -> None:
    cluster, manifests = objects("cluster.json"), objects("set.json")
    found = verdicts(scenario_of(manifests, cluster_of(cluster)))
    shown = simulate(objects=manifests, cluster=load_cluster(objects=cluster))
    told = {(o.object, o.event): (o.verdict, o.proven) for o in shown.outcomes}
    assert {(v.workload, v.event): (v.verdict, v.is_proven) for v in found} == told
    assert len(found) == 2 * len(EVENTS)


def test_nodes_that_are_left_out_and_pods_that_wait_have_the_schedulers_words() -> None:
    scenario = scenario_of(objects("set.json"), cluster_of(objects("cluster.json")))
    web = ObjectRef("Deployment", "shop", "web")
    assert candidates(scenario, "Deployment", "shop", "web").nodes == ("a", "b", "c")
    end = placed(scenario)
    assert (sum(end.nodes[web].values()), end.pending[web][0]) == (3, 1)
    with pytest.raises(KeyError):
        candidates(scenario, "Deployment", "shop", "nobody")
    with pytest.raises(ValueError, match="there is no event lunch"):
        verdicts(scenario, ("lunch",))


def test_rules_of_0_1_find_the_scenario_by_its_old_name() -> None:
    scenario = scenario_of(objects("set.json"), cluster_of(objects("cluster.json")))
    assert scenario.member(scenario.manifests.workloads[0]).world is scenario


def test_a_wrong_type_is_an_error_with_its_path() -> None:
    with pytest.raises(DecodeError, match="replicas"):
        scenario_of([{"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": "four"}}], cluster_of([]))


def node(name: str) -> dict[str, object]:
    labels = {"kubernetes.io/hostname": name}
    room = {"cpu": "2", "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": room},
    }


def pod(name: str, phase: str) -> dict[str, object]:
    container = {"name": "a", "image": "a:1", "resources": {"requests": {"cpu": "2"}}}
    spec = {"nodeName": "a", "containers": [container]}
    meta = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": phase}}


def test_it_reads_a_cluster_as_the_linter_does() -> None:
    """Finished pods take no room, and a ReplicaSet of a Deployment is one of its revisions."""
    web = objects("set.json")[1]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1", "controller": True}
    meta = {"name": "web-1", "namespace": "shop", "labels": {"pod-template-hash": "1"}, "ownerReferences": [owner]}
    revision = {**web, "kind": "ReplicaSet", "metadata": meta}
    there = [node("a"), node("b"), pod("over", "Succeeded"), pod("runs", "Running"), web, revision]
    ours, theirs = cluster_of(there), load_cluster(objects=there)
    assert ours.kinds == theirs.kinds
    assert [str(workload.ref) for workload in ours.inventory.workloads] == ["Deployment shop/web"]
    assert same_values(tuple(ours.inventory.lists()), tuple(theirs.inventory.lists()))
    found = candidates(scenario_of(objects("set.json"), ours), "Deployment", "shop", "web")
    assert (found.nodes, found.reasons) == (("b",), {"a": ("NodeResourcesFit: Insufficient cpu",)})


def test_what_the_api_server_refuses_is_no_scenario() -> None:
    refused = {**objects("set.json")[0], "spec": {**objects("set.json")[0]["spec"], "replicas": -1}}
    with pytest.raises(ValueError, match=r"the API server refuses Deployment search: spec.replicas: Invalid value: -1"):
        scenario_of([refused], cluster_of([node("a")]))
