"""What no recording exercises, held against the sources of v1.36 (paths below ``pkg/scheduler``)."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.model.devices.devices import DeviceClass
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Taint
from kubesched_lint.engine.model.pod import NodeSelectorTerm, PodAffinityTerm, SpreadConstraint, Toleration
from kubesched_lint.engine.model.policy import Namespace
from kubesched_lint.engine.scheduler.framework import diagnose, message, static_reach, untolerated_taints
from kubesched_lint.engine.scheduler.placement import is_sampled, nodes_to_find
from kubesched_lint.engine.scheduler.preemption.preemption import preempt
from tests.scheduler.small import PLENTY, bound, feasible, node, pod, reasons, selecting, state

OWN = PodAffinityTerm(HOSTNAME, selecting(app="web"))
TWO = (node("n0", "a"), node("n1", "b"))


# --- terminating pods -----------------------------------------------------------------------------------------------


def test_a_terminating_pod_still_repels_and_is_repelled() -> None:
    """framework/plugins/interpodaffinity/filtering.go: no look at the deletion timestamp."""
    leaving = bound("b0", "n0", pod(), terminating=True)
    assert feasible(pod(required_anti_affinity=(OWN,)), state(TWO, leaving)) == ["n1"]
    holder = bound("b0", "n0", pod(required_anti_affinity=(OWN,)), terminating=True)
    assert feasible(pod(), state(TWO, holder)) == ["n1"]


def test_a_terminating_pod_still_holds_its_resources() -> None:
    """framework/types.go, NodeInfo.update."""
    leaving = bound("b0", "n0", pod(requests={"cpu": 7000}), terminating=True)
    assert feasible(pod(requests={"cpu": 2000}), state(TWO, leaving)) == ["n1"]


def test_a_terminating_pod_is_not_counted_for_spread() -> None:
    """framework/plugins/podtopologyspread/common.go, countPodsMatchSelector (#87621)."""
    hard = (SpreadConstraint(1, ZONE, "DoNotSchedule", selecting(app="web")),)
    stays = bound("b0", "n0", pod())
    assert feasible(pod(spread=hard), state(TWO, stays)) == ["n1"]
    assert feasible(pod(spread=hard), state(TWO, replace(stays, terminating=True))) == ["n0", "n1"]


# --- spread ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "taken"), [(HOSTNAME, 2), (ZONE, 2)])
@pytest.mark.parametrize(("min_domains", "fits"), [(None, True), (2, True), (3, False)])
def test_below_min_domains_the_least_count_is_zero(key: str, taken: int, min_domains: int | None, fits: bool) -> None:
    """framework/plugins/podtopologyspread/filtering.go, minMatchNum."""
    hard = (SpreadConstraint(1, key, "DoNotSchedule", selecting(app="web"), min_domains),)
    where = state(TWO, bound("b0", "n0", pod()), bound("b1", "n1", pod()))
    assert feasible(pod(spread=hard), where) == (["n0", "n1"] if fits else [])


def test_a_node_that_the_policy_excludes_counts_as_empty() -> None:
    nodes = (node("n0", "a", taints=(Taint("t"),)), node("n1", "b"))
    spread = SpreadConstraint(1, ZONE, "DoNotSchedule", selecting(app="web"))
    where = state(nodes, bound("b0", "n1", pod()))
    assert feasible(pod(spread=(spread,)), where) == []
    assert feasible(pod(spread=(replace(spread, node_taints_policy="Honor"),)), where) == ["n1"]


def test_the_first_constraint_that_fails_gives_the_reason() -> None:
    skewed = SpreadConstraint(1, HOSTNAME, "DoNotSchedule", selecting(app="web"))
    unlabelled = SpreadConstraint(1, "rack", "DoNotSchedule", selecting(app="web"))
    nodes = (node("n0", labels={"rack": "r"}), node("n1", labels={"rack": "r"}), node("n2"))
    where = state(nodes, bound("b0", "n0", pod()))
    assert [r for _, r, _ in reasons(pod(spread=(skewed, unlabelled)), where, "n2")] == [
        "node(s) didn't match pod topology spread constraints (missing required label)"
    ]
    assert [r for _, r, _ in reasons(pod(spread=(skewed, unlabelled)), where, "n0")] == [
        "node(s) didn't match pod topology spread constraints"
    ]


# --- affinity -------------------------------------------------------------------------------------------------------


def test_one_holder_may_repel_on_a_wider_key_than_the_first() -> None:
    zone = PodAffinityTerm(ZONE, selecting(app="web"))
    holder = bound("b0", "n0", pod(required_anti_affinity=(OWN, zone)))
    nodes = (node("n0", "a"), node("n1", "a"), node("n2", "b"))
    assert feasible(pod(), state(nodes, holder)) == ["n2"]


def test_the_first_pod_needs_all_keys_and_nobody_matching_on_any_of_them() -> None:
    """framework/plugins/interpodaffinity/filtering.go, satisfyPodAffinity: the whole map has to be empty."""
    terms = (PodAffinityTerm(ZONE, selecting(app="web")), PodAffinityTerm("rack", selecting(app="web")))
    nodes = (node("n0", "a", labels={"rack": "r"}), node("n1", "b"))
    first = pod(required_affinity=terms)
    assert feasible(first, state(nodes)) == ["n0"]
    # A match on n1 counts for the zone alone, and that is enough to make nobody the first.
    assert feasible(first, state(nodes, bound("b0", "n1", pod()))) == []


def test_affinity_needs_one_pod_that_matches_all_terms() -> None:
    terms = (PodAffinityTerm(ZONE, selecting(app="web")), PodAffinityTerm(ZONE, selecting(tier="front")))
    apart = (bound("b0", "n0", pod()), bound("b1", "n0", pod(labels={"tier": "front"})))
    assert feasible(pod(app="db", required_affinity=terms), state(TWO, *apart)) == []
    both = bound("b2", "n0", pod(labels={"app": "web", "tier": "front"}))
    assert feasible(pod(app="db", required_affinity=terms), state(TWO, *apart, both)) == ["n0"]


NEGATIVE = Selector((Requirement("env", "NotIn", ("prod",)),))


@pytest.mark.parametrize(("version", "fits"), [("1.33", ["n0", "n1"]), ("v1.36.2", ["n1"])])
def test_a_negative_namespace_selector_of_a_new_pod_selects_every_namespace(version: str, fits: list[str]) -> None:
    """kubernetes/kubernetes#141526: the selector is merged into a copy, then asked again without labels."""
    term = replace(OWN, namespace_selector=NEGATIVE)
    namespaces = (Namespace("shop", {"env": "prod"}), Namespace("lab", {"env": "dev"}))
    where = state(TWO, bound("b0", "n0", pod()), namespaces=namespaces, version=version)
    assert feasible(pod("lab", required_anti_affinity=(term,)), where) == fits


def test_the_selector_of_a_running_pod_means_what_it_says() -> None:
    namespaces = (Namespace("shop", {"env": "prod"}), Namespace("lab", {"env": "dev"}))
    holder = bound("b0", "n0", pod(required_anti_affinity=(replace(OWN, namespace_selector=NEGATIVE),)))
    where = state(TWO, holder, namespaces=namespaces)
    assert feasible(pod("shop"), where) == ["n0", "n1"]
    assert feasible(pod("lab"), where) == ["n1"]


def test_unknown_namespaces_have_only_the_label_that_all_have() -> None:
    by_name = Selector((Requirement("kubernetes.io/metadata.name", "In", ("lab",)),))
    holder = bound("b0", "n0", pod(required_anti_affinity=(replace(OWN, namespace_selector=by_name),)))
    assert feasible(pod("lab"), state(TWO, holder)) == ["n1"]
    assert feasible(pod("shop"), state(TWO, holder)) == ["n0", "n1"]


# --- taints, features, DRA ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("operator", "taint"), [("Gt", "6"), ("Lt", "4")])
@pytest.mark.parametrize("version", ["1.34", "1.36", "1.37"])
def test_a_toleration_that_compares_tolerates_nothing(operator: str, taint: str, version: str) -> None:
    """TaintTolerationComparisonOperators is alpha and off in every version (pkg/features/kube_features.go)."""
    nodes = (node("n0", taints=(Taint("slots", taint),)),)
    tolerant = pod(tolerations=(Toleration("slots", operator, "5"),))
    assert feasible(tolerant, state(nodes, version=version)) == []


def test_a_required_feature_must_be_declared() -> None:
    """framework/plugins/nodedeclaredfeatures/nodedeclaredfeatures.go."""
    nodes = (node("n0", declared_features=("RestartAllContainersOnContainerExits",)), node("n1"))
    needy = pod(required_features=("RestartAllContainersOnContainerExits",))
    assert feasible(needy, state(nodes)) == ["n0"]
    assert reasons(needy, state(nodes), "n1") == [
        ("NodeDeclaredFeatures", "node(s) didn't match Pod's required features", False)
    ]
    assert feasible(needy, state(nodes, version="1.35")) == ["n0", "n1"]


def test_an_extended_resource_that_dra_allocates_is_not_missed() -> None:
    """framework/plugins/noderesources/fit.go, shouldDelegateResourceToDRA."""
    nodes = (node("n0"), node("n1", allocatable={**PLENTY, "example.com/gpu": 1}))
    wanting = pod(requests={"example.com/gpu": 2})
    assert feasible(wanting, state(nodes)) == []
    served = state(nodes, device_classes=[DeviceClass("gpus", "example.com/gpu")])
    assert feasible(wanting, served) == ["n0"]  # n1 has a device plugin, whose one device is too few


@pytest.mark.parametrize(("version", "fits"), [("1.34", []), ("1.35.3", []), ("1.36", ["n0"]), ("1.37", ["n0"])])
def test_devices_are_extended_resources_from_1_36_on(version: str, fits: list[str]) -> None:
    """DRAExtendedResource is alpha and off up to 1.35, on in 1.36 and locked in 1.37."""
    wanting = pod(requests={"example.com/gpu": 1})
    classes = [DeviceClass("gpus", "example.com/gpu")]
    assert feasible(wanting, state([node("n0")], version=version, device_classes=classes)) == fits


def test_unknown_allocatable_holds_everything() -> None:
    assert feasible(pod(requests={"cpu": 10**9}), state([node("n0", allocatable=None)])) == ["n0"]


def test_resources_may_give_one_node_several_reasons() -> None:
    """framework/plugins/noderesources/fit.go, fitsRequest: beyond allocatable is beyond preemption."""
    nodes = (node("n0", allocatable={"cpu": 1000, "memory": 100, "pods": 1}),)
    where = state(nodes, bound("b0", "n0", pod(requests={"memory": 60})))
    wanting = pod(requests={"cpu": 2000, "memory": 50, "ephemeral-storage": 0})
    assert sorted(reasons(wanting, where, "n0")) == [
        ("NodeResourcesFit", "Insufficient cpu", False),
        ("NodeResourcesFit", "Insufficient memory", True),
        ("NodeResourcesFit", "Too many pods", True),
    ]
    assert diagnose(wanting, where).resolvable == 0


def test_two_pods_on_one_port_free_it_only_together() -> None:
    """NodeInfo keeps ports as a set and would free it with the first; the kubelet, which decides, does not."""
    from kubesched_lint.engine.model.pod import HostPort

    asking = pod(host_ports=(HostPort(80),))
    where = state([node("n0")])
    first, _ = where.place(asking, 0), where.place(asking, 0)
    where.remove(first)
    assert feasible(asking, where) == []


# --- PreFilter and messages -----------------------------------------------------------------------------------------


def test_node_names_that_conflict_end_the_attempt() -> None:
    """framework/plugins/nodeaffinity/node_affinity.go, PreFilter; DynamicResources then has no state of its own."""
    fields = tuple(Requirement("metadata.name", "In", (name,)) for name in ("n0", "n1"))
    torn = pod(required_node_terms=(NodeSelectorTerm(fields=fields),))
    where = state(TWO)
    diagnosis = diagnose(torn, where)
    text = message(diagnosis, preempt(torn, diagnosis, where).message)
    assert text == "0/2 nodes are available: pod affinity terms conflict. not found"


def test_nodes_beside_those_named_are_counted_for_the_plugin() -> None:
    """schedule_one.go, findNodesThatFitPod."""
    named = pod(required_node_terms=(NodeSelectorTerm(fields=(Requirement("metadata.name", "In", ("n0",)),)),))
    where = state((node("n0", unschedulable=True), node("n1"), node("n2")))
    assert message(diagnose(named, where)) == (
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def test_gated_pods_and_empty_clusters_have_messages_of_their_own() -> None:
    """pkg/registry/core/pod/strategy.go, applySchedulingGatedCondition; schedule_one.go, ErrNoNodesAvailable."""
    gated = diagnose(pod(scheduling_gates=("example.com/hold",)), state(TWO))
    assert gated.waits_for
    assert gated.feasible == 0
    assert message(gated) == "Scheduling is blocked due to non-empty scheduling gates"
    assert message(diagnose(pod(), state(()))) == "no nodes available to schedule pods"


def test_reasons_are_sorted_as_strings() -> None:
    """framework/types.go, FitError.Error: 10 comes before 2."""
    nodes = [node(f"c{i}", unschedulable=True) for i in range(10)] + [
        node(f"t{i}", taints=(Taint("t"),)) for i in range(2)
    ]
    assert message(diagnose(pod(), state(nodes))) == (
        "0/12 nodes are available: 10 node(s) were unschedulable, 2 node(s) had untolerated taint(s)."
    )


# --- nominated pods -------------------------------------------------------------------------------------------------


def test_a_node_set_aside_must_take_the_pod_beside_its_guest() -> None:
    """framework/runtime/framework.go, RunFilterPluginsWithNominatedPods: guests of equal or higher priority."""
    waiting = bound("g", "", pod(requests={"cpu": 7000}, priority=100), nominated_node="n0")
    where = state(TWO, waiting)
    assert feasible(pod(requests={"cpu": 2000}, priority=100), where) == ["n1"]
    assert feasible(pod(requests={"cpu": 2000}, priority=1000), where) == ["n0", "n1"]
    assert where.pod_count(0) == 0


def test_a_guest_that_may_never_arrive_cannot_fulfil_an_affinity() -> None:
    waiting = bound("g", "", pod(app="db", priority=100), nominated_node="n0")
    seeking = pod(required_affinity=(PodAffinityTerm(HOSTNAME, selecting(app="db")),), priority=0)
    assert feasible(seeking, state(TWO, waiting)) == []


# --- sampling -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "percentage", "found"),
    [
        (1, 0, 1),
        (99, 0, 99),
        (100, 0, 100),
        (250, 0, 120),  # 50 - 250/125 = 48 %
        (1000, 0, 420),
        (5000, 0, 500),
        (6000, 0, 300),  # not below 5 %
        (1000, 5, 100),  # not below 100 nodes
        (1000, 100, 1000),
        (99, 10, 99),
    ],
)
def test_large_clusters_are_searched_only_in_part(nodes: int, percentage: int, found: int) -> None:
    """schedule_one.go, numFeasibleNodesToFind."""
    assert nodes_to_find(nodes, percentage) == found


def test_the_scheduler_samples_where_more_nodes_fit_than_it_looks_for() -> None:
    many = diagnose(pod(), state([node(f"n{i}") for i in range(250)]))
    assert is_sampled(many)
    few = diagnose(pod(), state([node(f"n{i}", unschedulable=i >= 120) for i in range(250)]))
    assert not is_sampled(few)


# --- what no other pod influences -----------------------------------------------------------------------------------


def test_static_reach_narrows_step_by_step() -> None:
    nodes = (
        node("n0"),
        node("n1", labels={"disk": "hdd"}),
        node("n2", taints=(Taint("t"),)),
        node("n3", unschedulable=True),
        node("n4", allocatable={**PLENTY, "cpu": 100}),
        node("n5", allocatable={"cpu": 8000, "pods": 0}),
    )
    wanting = pod(
        requests={"cpu": 500},
        required_node_terms=(NodeSelectorTerm((Requirement("disk", "DoesNotExist"),)),),
    )
    where = state(nodes)
    found = [where.index.names_of(nodes) for nodes in static_reach(wanting, where.index)]
    assert found == [["n0", "n2", "n3", "n4", "n5"], ["n0", "n3", "n4", "n5"], ["n0"]]
    assert untolerated_taints(wanting, nodes[2]) == (Taint("t"),)
    assert untolerated_taints(wanting, nodes[0]) == ()


# --- versions -------------------------------------------------------------------------------------------------------
