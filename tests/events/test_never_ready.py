"""New pods that never become ready: what holds, what gets stuck, and how far it gets."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.controllers.bounds import lets_unready_go
from kubesched_lint.engine.events.answers.cells import BAD, FINE
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.report.simulation.report import as_json, as_text
from tests.events.simulated import asking, cell, other, report_of, sketch, workload


def rolling(surge, unavailable, kind="Deployment"):
    key = "strategy" if kind == "Deployment" else "updateStrategy"
    return {key: {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}}


def simulated(*objects, events=("deploy", "rollout"), cluster=None, never=("default/web",)):
    return report_of(cluster or sketch(), *objects, events=events, never_ready=never)


@pytest.mark.parametrize(
    ("surge", "unavailable", "ready", "bound"),
    [
        (1, 0, 4, 5),  # nothing old goes; the surge pod runs beside them
        (0, 1, 3, 4),
        (1, 1, 3, 5),
        ("25%", "25%", 3, 5),
        ("50%", 0, 4, 6),
        (0, "100%", 0, 4),  # every old pod may go
    ],
)
def test_a_deployment_keeps_what_max_unavailable_promises(surge, unavailable, ready, bound):
    outcome = simulated(workload("Deployment", "web", 4, **rolling(surge, unavailable)))
    here = cell(outcome, "web", "rollout")
    assert (here.verdict, here.proven) == (BAD, True)
    assert here.text == f"stuck, {ready}/4 ready"
    assert f"; 4 of 4 run, {ready} are ready" in here.why
    assert here.worst.bound == bound
    assert here.at, "the strategy is what lets no more go"


def test_recreate_keeps_nothing():
    outcome = simulated(workload("Deployment", "web", 3, strategy={"type": "Recreate"}))
    assert cell(outcome, "web", "rollout").text == "stuck, 0/3 ready"


def test_an_ordered_statefulset_stops_at_its_first_pod_and_loses_one_at_a_rollout():
    outcome = simulated(workload("StatefulSet", "web", 3))
    deploy = cell(outcome, "web", "deploy")
    assert (deploy.text, deploy.bound.most) == ("0/3 ready", 1)
    assert cell(outcome, "web", "rollout").text == "stuck, 2/3 ready"


def test_a_parallel_statefulset_makes_all_its_pods():
    outcome = simulated(workload("StatefulSet", "web", 3, podManagementPolicy="Parallel"))
    deploy = cell(outcome, "web", "deploy")
    assert (deploy.text, deploy.bound.least) == ("0/3 ready", 3)
    assert cell(outcome, "web", "rollout").text == "stuck, 2/3 ready"


@pytest.mark.parametrize(("surge", "unavailable", "ready"), [(0, 1, 5), (0, 2, 4), (1, 0, 6)])
def test_a_daemonset_replaces_as_many_as_may_be_unavailable(surge, unavailable, ready):
    agent = workload("DaemonSet", "web", None, **rolling(surge, unavailable, "DaemonSet"))
    assert cell(simulated(agent), "web", "rollout").text == f"stuck, {ready}/6 ready"


def test_scaling_up_adds_pods_that_are_not_ready_and_scaling_down_takes_none_that_are():
    scaler = other(
        "HorizontalPodAutoscaler",
        "web",
        "autoscaling/v2",
        spec={
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 1,
            "maxReplicas": 5,
        },
    )
    outcome = simulated(workload("Deployment", "web", 2), scaler, events=("hpa-max", "scale-down"))
    assert cell(outcome, "web", "hpa-max").text == "2/5 ready"
    assert cell(outcome, "web", "scale-down").verdict == FINE


def test_a_drain_goes_on_only_as_far_as_the_budget_lets_ready_pods_go():
    """Two on one node: the first that is evicted comes back unready, and the second must stay."""
    budget = other(
        "PodDisruptionBudget",
        "keep",
        "policy/v1",
        spec={"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    )
    objects = (workload("Deployment", "web", 4, asking("1")), budget)
    ready = simulated(*objects, events=("drain",), cluster=sketch(1, "ab"), never=())
    assert cell(ready, "web", "drain").text == "4/4 ok"
    here = cell(simulated(*objects, events=("drain",), cluster=sketch(1, "ab")), "web", "drain")
    assert here.text == "blocked (PDB keep)"
    assert "the drain gives up" in here.worst.lines[-1]


# eviction.go: unhealthyPodEvictionPolicy
@pytest.mark.parametrize(
    ("policy", "healthy", "lets"),
    [("IfHealthyBudget", 2, True), ("IfHealthyBudget", 1, False), ("AlwaysAllow", 0, True)],
)
def test_unready_pods_may_go_while_the_budget_is_met_or_always(policy, healthy, lets):
    budget = DisruptionBudget("default", "b", max_unavailable=1, unhealthy_pod_eviction_policy=policy)
    assert lets_unready_go(budget, 3, healthy) == lets


def test_a_budget_that_wants_no_healthy_pod_grants_no_exception():
    budget = DisruptionBudget("default", "b", min_available=0)
    assert not lets_unready_go(budget, 3, 3)


def test_others_are_not_held_up():
    outcome = simulated(workload("Deployment", "web", 2), workload("Deployment", "api", 2))
    assert cell(outcome, "api", "rollout").text == "2/2 ok"
    assert cell(outcome, "api", "deploy").verdict == FINE


def test_the_assumption_is_said():
    outcome = simulated(workload("Deployment", "web", 2), workload("Deployment", "api", 2))
    text = as_text(outcome, verbose=True)
    assert "the pods that an event makes of Deployment default/web never become ready" in text
    assert "number of ready pods in the end" in text
    assert '"ready": {"min": 0, "max": 0}' in " ".join(as_json(outcome).split()).replace("{ ", "{").replace(" }", "}")


def test_on_a_large_cluster_nothing_is_called_fine_that_was_not_established():
    outcome = simulated(workload("StatefulSet", "web", 3), cluster=sketch(40), events=("deploy", "rollout", "drain"))
    assert {c.verdict for c in outcome.rows[0].cells}.isdisjoint({FINE})


def test_a_name_that_nobody_has_is_refused():
    with pytest.raises(ValueError, match="no workload default/nobody"):
        simulated(workload("Deployment", "web", 2), never=("default/nobody",))
