"""Preemption within a set: the search follows it where it can, and says precisely why where it cannot."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import HealthCheck, assume, settings
from msgspec.structs import replace

from kubesched_lint.engine.answers.cells import BAD, DEPENDS, FINE, LIKELY, UNKNOWN
from kubesched_lint.engine.answers.cells import outcome as counted
from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.search.trace import replays, trace
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.runs.event_outcomes import with_new_template
from kubesched_lint.report.simulation.report import as_text
from kubesched_lint.sources.clusters.read import cluster_from
from tests import drawn as st
from tests.drawn import given
from tests.events import tiny_explorer
from tests.events.made_sets import nodes
from tests.events.made_sets import workload as made
from tests.events.simulated import apart, asking, cell, other, report_of, sketch, workload
from tests.share import examples

CLASSES = [
    other("PriorityClass", name, "scheduling.k8s.io/v1", value=value)
    for name, value in (("high", 1000), ("middle", 500), ("low", 1))
]


def ranked(kind: str, name: str, replicas: int | None, cpu: str, rank: str, **spec):
    return workload(kind, name, replicas, asking(cpu, priorityClassName=rank, **spec))


# --- followed -------------------------------------------------------------------------------------------------------


def test_the_stronger_takes_the_room_and_the_weaker_keeps_what_is_left():
    result = report_of(
        sketch(), *CLASSES, ranked("Deployment", "high", 4, "3", "high"), ranked("Deployment", "low", 4, "3", "low")
    )
    assert cell(result, "high", "deploy").text == "4/4 ok"
    low = cell(result, "low", "deploy")
    assert (low.text, low.verdict) == ("2/4 −2", BAD)
    assert cell(result, "high", "rollout").text == "4/4 ok", "its surge pod drives out another"
    assert "high preempts 1 × low on w-" in as_text(result, verbose=True)


def test_no_verdict_about_other_schedulers_rests_on_preemption():
    result = report_of(
        sketch(), *CLASSES, ranked("Deployment", "high", 4, "3", "high"), ranked("Deployment", "low", 4, "3", "low")
    )
    assert not cell(result, "low", "deploy").proven
    assert cell(result, "high", "deploy").proven, "for DefaultPreemption, which its premises name"
    assert any("DefaultPreemption" in premise for premise in cell(result, "high", "deploy").assumes)
    crowd = report_of(
        sketch(), *CLASSES, ranked("Deployment", "high", 7, "3", "high"), ranked("Deployment", "low", 1, "3", "low")
    )
    assert cell(crowd, "high", "deploy").proven, "six nodes hold six, whoever is driven out"


def test_equal_pods_of_different_sizes_go_as_their_ages_have_it():
    """One small and one large of equal rank on a node: which of them goes depends on which is older."""
    result = report_of(
        sketch(1, "a", "4"),
        *CLASSES,
        ranked("Deployment", "small", 1, "1500m", "low"),
        ranked("Deployment", "large", 1, "2", "low"),
        ranked("Deployment", "high", 1, "1500m", "high"),
        events=("deploy",),
    )
    assert cell(result, "high", "deploy").text == "1/1 ok"
    assert {cell(result, name, "deploy").verdict for name in ("small", "large")} == {DEPENDS}


def test_never_preempting_keeps_waiting():
    polite = other("PriorityClass", "polite", "scheduling.k8s.io/v1", value=1000, preemptionPolicy="Never")
    result = report_of(
        sketch(1, "a", "4"),
        polite,
        ranked("Deployment", "high", 1, "3", "polite"),
        workload("Deployment", "low", 1, asking("3")),
        events=("deploy",),
    )
    assert cell(result, "high", "deploy").verdict == DEPENDS
    assert cell(result, "low", "deploy").verdict == DEPENDS


def test_a_daemonset_of_high_priority_takes_its_place_on_every_node():
    result = report_of(
        sketch(),
        *CLASSES,
        ranked("DaemonSet", "agent", None, "2", "high"),
        ranked("Deployment", "web", 6, "3", "low"),
        events=("deploy",),
    )
    assert cell(result, "agent", "deploy").text == "6/6 ok"
    assert cell(result, "web", "deploy").text == "0/6 −6"


def test_beyond_the_search_courses_play_preemption_too():
    result = report_of(
        sketch(10),
        *CLASSES,
        ranked("Deployment", "high", 25, "3", "high"),
        ranked("Deployment", "low", 25, "3", "low"),
        events=("deploy",),
    )
    assert cell(result, "high", "deploy").text == "25/25 ok"
    low = cell(result, "low", "deploy")
    assert (low.verdict, low.bound.most) == (BAD, 25)
    assert "random traces of the default scheduler end badly" in low.why


thorough = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@thorough
@given(nodes(most=3), made("web", most=2), made("db"), st.booleans(), st.booleans())
def test_the_search_finds_what_upstreams_preemption_may_do_for_any_ages(cluster, web, db, together, rolls):
    assume(web.replicas + db.replicas <= 4)
    assume(not any(w.pod.required_affinity or len(w.pod.required_anti_affinity) > 1 for w in (web, db)))
    web = replace(web, pod=replace(web.pod, priority=1000))
    workloads = [web, db]
    timeline = Timeline(cluster, Inventory(), foreseen=workloads, preempting=True)
    timeline.deploy(workloads, together=together)
    tiny = tiny_explorer.TinyExplorer(cluster, workloads, [[timeline.admitted(w, 0)] for w in workloads], expected=True)
    tiny.preempting = True
    ends = {frozenset()}
    if not together:
        ends = tiny.ends(ends, [0, 0], [web.replicas, 0])
    ends = tiny.ends(ends, [0, 0], [web.replicas, db.replicas])
    assert _sets(timeline) == {_outcome(e, [0, 0]) for e in ends}
    assert all(all(map(replays, trace(timeline.phases, end))) for end in timeline.states)
    if rolls:
        tiny.pods[0].append(timeline.admitted(web, 1))
        timeline.rollout(with_new_template(web))
        ends = tiny.ends(ends, [1, 0], [web.replicas, db.replicas])
        assert _sets(timeline) == {_outcome(e, [1, 0]) for e in ends}


def _sets(timeline: Timeline):
    transitions = timeline.phases[-1].transitions
    return {
        tuple(
            (e.bound, e.pending, e.new, e.unready)
            for e in (counted(transitions, w, transitions.counts(state)) for w in transitions.desired_states)
        )
        for state in timeline.states
    }


def _outcome(end, newest):
    return tuple(tiny_explorer.outcome(end, number, revision) for number, revision in enumerate(newest))


# --- not followed, and why ------------------------------------------------------------------------------------------


def tight(*more, events=("deploy",), cluster=None):
    return report_of(
        cluster or sketch(1, "ab", "4"),
        *CLASSES,
        ranked("Deployment", "high", 2, "3", "high"),
        ranked("Deployment", "low", 2, "3", "low"),
        *more,
        events=events,
    )


def test_a_budget_spares_nobody_where_no_other_node_helps():
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "low"}}}
    result = tight(other("PodDisruptionBudget", "keep", "policy/v1", spec=spec))
    assert cell(result, "high", "deploy").text == "2/2 ok"
    low = cell(result, "low", "deploy")
    assert (low.verdict, low.proven, low.text) == (BAD, False, "0–2/2")


def test_traces_follow_a_third_priority():
    result = tight(ranked("Deployment", "between", 1, "3", "middle"))
    assert cell(result, "high", "deploy").text == "2/2 ok"
    assert {cell(result, name, "deploy").verdict for name in ("between", "low")} == {BAD}


def test_a_running_pod_that_somebody_else_controls_is_named():
    guest = other("Pod", "guest", spec={"nodeName": "w-a", "containers": [{"name": "c"}], "priority": 0})
    owner = {"apiVersion": "example.org/v1", "kind": "Game", "name": "go", "uid": "1", "controller": True}
    guest["metadata"].update(namespace="default", ownerReferences=[owner])
    here = cell(tight(cluster=sketch(1, "ab", "4", "110", guest)), "low", "deploy")
    assert here.verdict == UNKNOWN
    assert "(priority 1000) may drive out pod default/guest (priority 0), which is not of the set" in here.missing[-1]


def test_what_has_room_by_counting_is_fine_whoever_outranks_it():
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "low"}}}
    roomy = report_of(
        sketch(),
        *CLASSES,
        ranked("Deployment", "high", 2, "100m", "high"),
        ranked("Deployment", "low", 2, "100m", "low"),
        other("PodDisruptionBudget", "keep", "policy/v1", spec=spec),
        events=("deploy", "node-loss"),
    )
    assert {c.verdict for row in roomy.rows for c in row.cells} == {FINE}


def test_what_no_preemption_can_help_stays_proven():
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "low"}}}
    result = report_of(
        sketch(1, "ab", "4"),
        *CLASSES,
        ranked("Deployment", "high", 3, "3", "high"),
        ranked("Deployment", "low", 2, "3", "low"),
        other("PodDisruptionBudget", "keep", "policy/v1", spec=spec),
        events=("deploy",),
    )
    here = cell(result, "high", "deploy")
    assert (here.verdict, here.proven) == (BAD, True)


# --- bare pods ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", ["node-loss", "zone-loss", "drain"])
def test_nobody_makes_a_bare_pod_again(event):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone"}, "spec": asking("100m")}
    result = report_of(sketch(), pod, events=("deploy", event))
    assert cell(result, "alone", "deploy").text == "1/1 ok"
    here = cell(result, "alone", event)
    assert (here.verdict, here.bound.least, here.bound.most) == (DEPENDS, 0, 1)
    assert "no controller recreates a bare pod" in here.why
    assert result.place(here) is not None
    assert here.message.startswith("cannot delete Pods that declare no controller") == (event == "drain")


def nodes_of(*sizes: str):
    return cluster_from(
        [
            (
                "nodes.yaml",
                yaml.safe_dump(
                    {
                        "apiVersion": "kubesched-lint/v1",
                        "kind": "ClusterSketch",
                        "nodes": [
                            {"name": f"w{i}", "count": 1, "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}}
                            for i, cpu in enumerate(sizes)
                        ],
                    }
                ).encode(),
            )
        ],
        "nodes.yaml",
    )


def test_a_bare_pod_with_a_free_node_may_still_be_driven_out_of_the_one_it_has():
    """Five nodes, of which the others can fill two: no pod waits, but a bare one does not come again."""
    alone = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone"}}
    weak = {**alone, "spec": asking("500m", priorityClassName="low")}
    middle = {**alone, "metadata": {"name": "beside"}, "spec": asking("1500m", priorityClassName="middle")}
    cluster = nodes_of("1", "1", "3", "2", "3")
    strong = ranked("Deployment", "strong", 2, "2", "high")
    here = cell(report_of(cluster, *CLASSES, weak, middle, strong, events=("deploy",)), "alone", "deploy")
    assert here.verdict == LIKELY
    small = ranked("Deployment", "strong", 2, "1", "high")
    here = cell(report_of(cluster, *CLASSES, weak, middle, small, events=("deploy",)), "alone", "deploy")
    assert (here.verdict, here.proven) == (FINE, True), "who always has a place drives nobody out"


@pytest.mark.parametrize(("provisioner", "returns"), [("disk.example.com", True), ("rancher.io/local-path", False)])
def test_a_pod_with_a_volume_of_its_own_goes_back_to_it_when_it_is_driven_out(provisioner, returns):
    """The large nodes are full then: a volume that every node of the zone reaches leaves it the small ones."""
    late = other("StorageClass", "late", "storage.k8s.io/v1", provisioner=provisioner)
    late["volumeBindingMode"] = "WaitForFirstConsumer"
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "storageClassName": "late",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    weak = ranked("StatefulSet", "db", 1, "500m", "low", schedulerName="default-scheduler")
    weak["spec"]["volumeClaimTemplates"] = [claim]
    strong = ranked("Deployment", "strong", 2, "2", "high")
    cluster = nodes_of("1", "1", "2", "2")
    here = cell(report_of(cluster, *CLASSES, late, weak, strong, events=("deploy",)), "db", "deploy")
    assert here.proven == (here.verdict == FINE) == returns


def test_a_pod_with_two_terms_may_overlook_that_the_one_it_replaces_has_gone():
    """Its like of a lost node keeps the zone closed for a while, and its deletion satisfies one of two terms only."""
    spec = asking("1", **apart("web"))
    term = {"labelSelector": {"matchLabels": {"app": "absent"}}, "topologyKey": "kubernetes.io/hostname"}
    spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"].append(term)
    one_zone = report_of(sketch(2, "a"), workload("Deployment", "web", 1, spec), events=("node-loss",))
    assert cell(one_zone, "web", "node-loss").verdict == DEPENDS
    two_zones = report_of(sketch(2, "ab"), workload("Deployment", "web", 1, spec), events=("node-loss",))
    assert (cell(two_zones, "web", "node-loss").verdict, cell(two_zones, "web", "node-loss").proven) == (FINE, True)
