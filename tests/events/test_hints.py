"""Which events wake a waiting pod, by version: what a queueing hint passes over waits for the five-minute flush."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.events.answers.cells import FINE
from kubesched_lint.engine.events.transitions.hints import AFFINITY, may_miss, wakes_on_bind, wakes_on_delete
from kubesched_lint.engine.model.decode.nodes import decode_pod_object
from kubesched_lint.engine.model.inventory import Inventory
from tests.events.simulated import ZONE, asking, cell, other, report_of, sketch, workload

BY_LABEL = {"namespaceSelector": {"matchLabels": {"team": "shop"}}}


def term(app: str, **more):
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": ZONE, **more}


def pod(app: str, kind: str = "podAntiAffinity", *terms):
    spec = asking("100m", affinity={kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}})
    return decode_pod_object({"metadata": {"labels": {"app": app}}, "spec": spec}, "default")


def state(version: str) -> ClusterState:
    return ClusterState(NodeIndex(()), Inventory(), kubernetes_version=version)


@pytest.mark.parametrize(("version", "woken"), [("1.36", False), ("1.37", True)])
def test_a_deleted_pod_that_one_of_two_terms_selects_wakes_from_1_37_on(version, woken):
    waiting, gone = pod("web", "podAntiAffinity", term("web"), term("db")), pod("db")
    assert wakes_on_delete(waiting, frozenset([AFFINITY]), gone, state(version)) == woken
    assert may_miss([waiting], state(version)) != woken


@pytest.mark.parametrize(("more", "woken"), [({}, True), ({"namespaceSelector": {}}, True), (BY_LABEL, False)])
def test_a_hint_reads_no_labels_of_namespaces(more, woken):
    """kubernetes/kubernetes#141953: reproduced there on a cluster."""
    waiting, come = pod("web", "podAffinity", term("db", **more)), pod("db")
    assert wakes_on_bind(waiting, frozenset([AFFINITY]), come, state("1.36")) == woken
    assert may_miss([waiting], state("1.36")) != woken


@pytest.mark.parametrize("more", [{}, BY_LABEL])
def test_who_waits_for_a_friend_of_a_labelled_namespace_is_not_surely_fine(more):
    home = other("Namespace", "default")
    home["metadata"]["labels"] = {"team": "shop"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term("db", **more)]}}
    web = workload("Deployment", "web", 1, asking("100m", affinity=affinity))
    result = report_of(sketch(), home, web, workload("Deployment", "db", 1), events=("deploy",))
    assert (cell(result, "web", "deploy").verdict == FINE) == (not more)
