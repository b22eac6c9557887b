"""Every score plugin on clusters small enough to do the sums by hand; what no recording shows cites its source."""

from __future__ import annotations

from math import log

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.admission.schedulers import owner_selector
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import first
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node, Taint
from kubesched_lint.engine.model.pod import (
    BoundPod,
    Container,
    NodeSelectorTerm,
    Pod,
    PodAffinityTerm,
    PreferredNodeTerm,
    SpreadConstraint,
    Toleration,
    Volume,
    WeightedPodAffinityTerm,
)
from kubesched_lint.engine.model.policy import Namespace, Service
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scheduler.scores.levels import highest
from kubesched_lint.engine.scheduler.scores.node_resources import scoring_requests
from kubesched_lint.engine.scheduler.scoring import score

MB = 1 << 20
GI = 1 << 30
WEB = Selector((Requirement("app", "In", ("web",)),))


def node(name, *, zone=None, cpu=4000, memory=8 * GI, **more):
    labels = {HOSTNAME: name, **more.pop("labels", {})}
    if zone is not None:
        labels[ZONE] = zone
    return Node(name, labels, allocatable={"cpu": cpu, "memory": memory, "pods": 110}, **more)


def pod(app="web", *, namespace="shop", image="", **requests):
    return Pod(namespace, {"app": app}, containers=(Container("c", requests, image=image),), requests=requests)


def standing(*places):
    """``(node name, pod)`` or ``(node name, pod, "terminating")``."""
    return tuple(
        BoundPod(f"p{i}", where, which, terminating=bool(gone)) for i, (where, which, *gone) in enumerate(places)
    )


def scores(plugin, copy, nodes, *, pods=(), owner=None, **objects):
    state = ClusterState(NodeIndex(nodes), Inventory(pods=pods, **objects))
    return score(copy, state, state.index.all, owner).by_plugin.get(plugin)


# --- NodeResourcesFit and NodeResourcesBalancedAllocation -----------------------------------------------------------


def test_least_allocated_averages_the_free_shares_of_cpu_and_memory():
    found = scores(
        "NodeResourcesFit",
        pod(cpu=1000, memory=2 * GI),
        [node("a"), node("b"), node("c", cpu=0)],
        pods=standing(("b", pod(cpu=2000, memory=5 * GI))),
    )
    # a: (75 + 75) / 2; b: (25 + 12) / 2 with 12.5 rounded down first; c: memory alone.
    assert found == {"a": 75, "b": 18, "c": 75}


def test_a_container_without_requests_counts_100m_and_200mi():
    assert scoring_requests(pod()) == (100, 200 * MB)
    # 3900 / 4000 = 97.5 and 7992 / 8192 = 97.6, both rounded down.
    assert scores("NodeResourcesFit", pod(), [node("a")]) == {"a": 97}


def test_a_written_zero_request_is_no_missing_one():
    assert scoring_requests(pod(cpu=0, memory=0)) == (0, 0)


def test_pods_already_there_count_with_the_defaults_too():
    crowd = standing(*(("a", pod()) for _ in range(9)))
    # cpu: (4000 - 1000) / 4000 = 75; memory: (8192 - 2000) / 8192 = 75.6.
    assert scores("NodeResourcesFit", pod(), [node("a")], pods=crowd) == {"a": 75}


def test_the_pod_level_request_replaces_the_containers_defaults():
    # resource_allocation.go fills what containers lack whatever the pod level says; the pod level then overrides.
    assert scoring_requests(replace(pod(), pod_requests={"cpu": 300}, requests={"cpu": 300})) == (300, 200 * MB)


def test_overhead_is_part_of_what_is_asked():
    assert scoring_requests(replace(pod(cpu=100), overhead={"cpu": 50, "memory": MB})) == (150, 201 * MB)


def test_a_node_that_would_overflow_scores_zero_for_that_resource():
    found = scores("NodeResourcesFit", pod(cpu=5000, memory=2 * GI), [node("a")])
    assert found == {"a": 37}  # (0 + 75) / 2


def test_a_node_of_unknown_size_counts_as_empty():
    sketched = replace(node("b"), allocatable=None)
    found = score(pod(cpu=1000, memory=GI), ClusterState(NodeIndex([node("a"), sketched])), 0b11).by_plugin
    assert found["NodeResourcesFit"]["b"] == 100
    assert found["NodeResourcesBalancedAllocation"]["b"] == 75


def test_balance_is_judged_by_its_change():
    lopsided = pod(cpu=2000)
    found = scores(
        "NodeResourcesBalancedAllocation",
        pod(memory=4 * GI),
        [node("even"), node("uneven")],
        pods=standing(("uneven", lopsided)),
    )
    # even: 0 % and 50 % leave 75 of 100: 50 + (50 + 75 - 100) / 2 = 62 rounded down.
    # uneven: from 75 to 100, both half used: 50 + (50 + 100 - 75) / 2 = 87 rounded down.
    assert found == {"even": 62, "uneven": 87}


def test_a_pod_without_requests_is_not_scored_for_balance():
    # balanced_allocation.go, PreScore: best-effort pods are skipped, kubernetes/kubernetes#129138.
    assert scores("NodeResourcesBalancedAllocation", pod(), [node("a")]) is None


# --- TaintToleration and NodeAffinity -------------------------------------------------------------------------------


def test_each_preferred_taint_that_is_not_tolerated_costs_its_share():
    spot, slow = Taint("spot", "", "PreferNoSchedule"), Taint("slow", "yes", "PreferNoSchedule")
    nodes = [node("a"), node("b", taints=(spot,)), node("c", taints=(spot, slow)), node("d", taints=(slow,))]
    assert scores("TaintToleration", pod(), nodes) == {"a": 300, "b": 150, "c": 0, "d": 150}
    tolerant = replace(
        pod(), tolerations=(Toleration("spot", "Exists"), Toleration("slow", "Exists", "", "NoSchedule"))
    )
    assert scores("TaintToleration", tolerant, nodes) == {"a": 300, "b": 300, "c": 0, "d": 0}


def test_without_any_disliked_taint_all_nodes_score_300():
    hard = node("a", taints=(Taint("gpu", "", "NoSchedule"),))
    assert scores("TaintToleration", pod(), [hard, node("b")]) == {"a": 300, "b": 300}


def test_preferred_node_terms_add_up_and_an_empty_one_matches_nothing():
    def term(weight, *requirements):
        return PreferredNodeTerm(weight, NodeSelectorTerm(requirements))

    copy = replace(
        pod(),
        preferred_node_terms=(
            term(30, Requirement("disk", "In", ("ssd",))),
            term(11, Requirement("gpus", "Gt", ("1",))),
            term(50),  # nodeaffinity.go: NewPreferredSchedulingTerms drops it
        ),
    )
    nodes = [node("a", labels={"disk": "ssd", "gpus": "2"}), node("b", labels={"gpus": "4"}), node("c")]
    assert scores("NodeAffinity", copy, nodes) == {"a": 200, "b": 2 * (100 * 11 // 41), "c": 0}
    assert scores("NodeAffinity", pod(), nodes) is None


# --- ImageLocality (image_locality.go; zero in every recording) -----------------------------------------------------


def test_images_at_hand_count_by_size_and_by_how_many_nodes_have_them():
    # The table of image_locality_test.go, "pod with multiple large images": sizes shrink with the share of holders.
    copy = replace(pod(), containers=tuple(Container(str(size), image=f"gcr.io/{size}") for size in (300, 600, 900)))
    nodes = [
        node("a", images={"gcr.io/600:latest": 600 * MB, "gcr.io/900:latest": 900 * MB}),
        node("b", images={f"gcr.io/{size}:latest": size * MB for size in (300, 600, 900)}),
        node("c"),
    ]
    assert scores("ImageLocality", copy, nodes) == {"a": 32, "b": 36, "c": 0}


def test_init_containers_and_image_volumes_count_too():
    nodes = [
        node("a", images={"gcr.io/40:latest": 40 * MB, "gcr.io/300:latest": 300 * MB}),
        node("b", images={"gcr.io/30:latest": 30 * MB}),
    ]
    init = replace(pod(image="gcr.io/30"), init_containers=(Container("i", image="gcr.io/300"),))
    assert scores("ImageLocality", init, nodes) == {"a": 6, "b": 0}  # 100 * (150 - 23) / (2000 - 23)
    mounted = replace(pod(image="gcr.io/30"), volumes=(Volume("v", "image", disk={"reference": "gcr.io/300"}),))
    assert scores("ImageLocality", mounted, nodes) == {"a": 12, "b": 0}  # 100 * (150 - 23) / (1000 - 23)


@pytest.mark.parametrize(("version", "best"), [("1.36", 12), ("1.37", 6)])
def test_an_image_volume_makes_the_highest_score_harder_from_1_37_on(version, best):
    # kubernetes#138951: 100 * (150 - 23) / (1000 - 23), then / (2000 - 23), as for a container.
    nodes = [node("a", images={"gcr.io/300:latest": 300 * MB}), node("b")]
    mounted = replace(pod(image="gcr.io/30"), volumes=(Volume("v", "image", disk={"reference": "gcr.io/300"}),))
    state = ClusterState(NodeIndex(nodes), kubernetes_version=version)
    assert score(mounted, state, state.index.all).by_plugin["ImageLocality"] == {"a": best, "b": 0}


def test_a_port_in_the_registry_is_no_tag():
    nodes = [node("a", images={"reg:5000/app:latest": 1000 * MB})]
    assert scores("ImageLocality", pod(image="reg:5000/app"), nodes) == {"a": 100}


# --- PodTopologySpread ----------------------------------------------------------------------------------------------


def spread(key, max_skew=1, selector=WEB, **more):
    return SpreadConstraint(max_skew, key, "ScheduleAnyway", selector, **more)


@pytest.mark.parametrize(
    ("max_skew", "expected"),
    [
        # Pods 4/3/2/1, weight ln(4 + 2): raw 7, 5, 4, 2; then raw + (max_skew - 1).
        (1, (28, 57, 71, 100)),
        (2, (37, 62, 75, 100)),
        (3, (44, 66, 77, 100)),
    ],
)
def test_spread_over_nodes_prefers_the_emptiest_and_forgives_with_max_skew(max_skew, expected):
    nodes = [node(name) for name in "abcd"]
    crowd = standing(*((name, pod()) for name, count in zip("abcd", (4, 3, 2, 1), strict=True) for _ in range(count)))
    copy = replace(pod(), spread=(spread(HOSTNAME, max_skew),))
    found = scores("PodTopologySpread", copy, nodes, pods=crowd)
    assert found == {name: 2 * value for name, value in zip("abcd", expected, strict=True)}


def test_domains_are_those_of_feasible_nodes_but_pods_on_other_nodes_count():
    nodes = [node("a1", zone="a"), node("a2", zone="a"), node("b1", zone="b"), node("c1", zone="c")]
    crowd = standing(("a2", pod()), ("a2", pod()), ("c1", pod()), ("c1", pod()), ("c1", pod()))
    state = ClusterState(NodeIndex(nodes), Inventory(pods=crowd))
    copy = replace(pod(), spread=(spread(ZONE),))
    found = score(copy, state, 0b0101).by_plugin["PodTopologySpread"]
    # a1 and b1 are feasible: two domains, ln 4 a pod. a: round(2.77) = 3, b: 0.
    assert round(2 * log(4)) == 3
    assert found == {"a1": 0, "b1": 200}


def test_a_node_without_the_key_scores_nothing_where_the_pod_names_the_constraint():
    nodes = [node("a", zone="a"), node("b", zone="b"), node("x")]
    copy = replace(pod(), spread=(spread(ZONE), spread(HOSTNAME)))
    assert scores("PodTopologySpread", copy, nodes) == {"a": 200, "b": 200, "x": 0}


def test_terminating_pods_and_other_namespaces_do_not_count():
    nodes = [node("a"), node("b")]
    crowd = standing(("a", pod(), "terminating"), ("a", pod(namespace="lab")), ("b", pod()))
    copy = replace(pod(), spread=(spread(HOSTNAME),))
    assert scores("PodTopologySpread", copy, nodes, pods=crowd) == {"a": 200, "b": 0}


def test_an_empty_selector_counts_nothing_and_so_prefers_nothing():
    nodes = [node("a"), node("b")]
    copy = replace(pod(), spread=(spread(HOSTNAME, selector=Selector()),))
    assert scores("PodTopologySpread", copy, nodes, pods=standing(("a", pod()))) == {"a": 200, "b": 200}


def test_a_node_that_the_policies_leave_out_counts_by_hostname_only():
    # scoring.go counts the hostname's pods in Score, where no policy is asked; other keys in PreScore, where it is.
    tainted = Taint("gpu", "", "NoSchedule")
    nodes = [node("a", labels={"serial": "1"}, taints=(tainted,)), node("b", labels={"serial": "2"})]
    crowd = standing(("a", pod()))
    for key, expected in ((HOSTNAME, {"a": 0, "b": 200}), ("serial", {"a": 200, "b": 200})):
        copy = replace(pod(), spread=(spread(key, node_taints_policy="Honor"),))
        assert scores("PodTopologySpread", copy, nodes, pods=crowd) == expected


def test_match_label_keys_narrow_what_counts():
    nodes = [node("a"), node("b")]
    old, new = (replace(pod(), labels={"app": "web", "revision": name}) for name in ("old", "new"))
    copy = replace(new, spread=(spread(HOSTNAME, match_label_keys=("revision", "absent")),))
    assert scores("PodTopologySpread", copy, nodes, pods=standing(("a", old), ("b", new))) == {"a": 200, "b": 0}


def test_a_pod_with_hard_constraints_only_is_not_scored_even_if_a_service_selects_it():
    hard = SpreadConstraint(1, ZONE, "DoNotSchedule", WEB)
    service = Service("shop", "web", {"app": "web"})
    copy = replace(pod(), spread=(hard,))
    assert scores("PodTopologySpread", copy, [node("a", zone="a")], services=(service,)) is None


# The system's default constraints: podtopologyspread/plugin.go systemDefaultConstraints, plugins/helper/spread.go.


def test_pods_of_a_service_are_spread_by_default_over_hosts_and_zones():
    # scoring_test.go, "system defaulting, nodes don't have zone, pods match service": as one constraint of maxSkew 3.
    nodes = [node(name) for name in "abcd"]
    crowd = standing(*((name, pod()) for name, count in zip("abcd", (4, 3, 2, 1), strict=True) for _ in range(count)))
    found = scores("PodTopologySpread", pod(), nodes, pods=crowd, services=(Service("shop", "web", {"app": "web"}),))
    assert found == {"a": 88, "b": 132, "c": 154, "d": 200}


def test_pods_that_neither_service_nor_owner_selects_are_not_spread():
    nodes = [node("a"), node("b")]
    others = (
        Service("lab", "web", {"app": "web"}),
        Service("shop", "db", {"app": "db"}),
        Service("shop", "headless", {}),  # without a selector
        Service("shop", "canary", {"app": "web", "track": "canary"}),  # selects more than the pod has
    )
    assert scores("PodTopologySpread", pod(), nodes, services=others) is None


def test_service_and_owner_select_together():
    nodes = [node("a"), node("b")]
    blue, green = (replace(pod(), labels={"app": "web", "pod-template-hash": name}) for name in ("blue", "green"))
    crowd = standing(("a", blue), ("a", blue), ("b", green))
    services = (Service("shop", "web", {"app": "web"}),)
    owner = Selector((Requirement("pod-template-hash", "In", ("green",)),))
    # Hosts: ln(2 + 2) a pod; 2 for maxSkew 3. By the service alone a: round(2 * 1.39 + 2) = 5 and b: round(3.39) = 3.
    by_service = scores("PodTopologySpread", green, nodes, pods=crowd, services=services)
    assert by_service == {"a": 2 * (100 * (5 + 3 - 5) // 5), "b": 200}
    # With the ReplicaSet's selector only green pods count: a: 2, b: 3.
    both = scores("PodTopologySpread", green, nodes, pods=crowd, services=services, owner=owner)
    assert both == {"a": 200, "b": 2 * (100 * (3 + 2 - 3) // 3)}


def test_by_default_nodes_without_a_zone_are_one_more_zone():
    # scoring_test.go, "system default constraints and a replicaset": "mars" and "" are two domains, so ln(2 + 2).
    nodes = [node("a", zone="mars"), node("b", zone="mars"), node("c"), node("d")]
    crowd = standing(*(("a", pod()) for _ in range(3)), *(("c", pod()) for _ in range(3)))
    found = scores("PodTopologySpread", pod(), nodes, pods=crowd, owner=WEB)
    hosts, zones = log(4 + 2), log(2 + 2)
    raw = {
        "a": round(3 * hosts + 2 + 3 * zones + 4),  # 16
        "b": round(2 + 3 * zones + 4),  # 10
        "c": round(3 * hosts + 2),  # 7: no zone, so nothing is added for it
        "d": 2,
    }
    assert raw == {"a": 16, "b": 10, "c": 7, "d": 2}
    assert found == {name: 2 * (100 * (16 + 2 - value) // 16) for name, value in raw.items()}


def test_by_default_pods_on_nodes_without_a_zone_count_for_the_zone_named_nothing():
    # scoring.go reads a missing label as "", which a node may also carry as a value.
    nodes = [node("a", zone=""), node("b", zone="mars"), node("c")]
    crowd = standing(*(("c", pod()) for _ in range(3)))
    found = scores("PodTopologySpread", pod(), nodes, pods=crowd, owner=WEB)
    hosts, zones = log(3 + 2), log(2 + 2)
    raw = {"a": round(2 + 3 * zones + 4), "b": 6, "c": round(3 * hosts + 2)}
    assert raw == {"a": 10, "b": 6, "c": 7}
    assert found == {name: 2 * (100 * (10 + 6 - value) // 10) for name, value in raw.items()}


def test_owner_selectors_are_those_of_replicasets_and_statefulsets():
    def workload(kind):
        return Workload(kind, "shop", "web", pod(), selector=WEB)

    hashed = {"app": "web", "pod-template-hash": "5d4f"}
    by_hash = Requirement("pod-template-hash", "In", ("5d4f",))
    assert owner_selector(workload("Deployment"), hashed) == WEB.and_also(by_hash)
    assert owner_selector(workload("Deployment"), {"app": "web"}) == WEB
    assert owner_selector(workload("StatefulSet"), hashed) == WEB
    # spread.go, DefaultSelector: "not owned by a supported controller".
    assert owner_selector(workload("DaemonSet"), hashed) is None
    assert owner_selector(workload("Job"), hashed) is None


# --- InterPodAffinity -----------------------------------------------------------------------------------------------


def prefer(key, weight=10, selector=WEB, **more):
    return (WeightedPodAffinityTerm(weight, PodAffinityTerm(key, selector, **more)),)


ZONES = [node("a1", zone="a"), node("a2", zone="a"), node("b1", zone="b"), node("x")]


def test_preferred_affinity_counts_every_matching_pod_of_the_domain():
    copy = replace(pod("db"), preferred_affinity=prefer(ZONE))
    crowd = standing(("a1", pod()), ("a2", pod()), ("b1", pod()), ("x", pod()))
    found = scores("InterPodAffinity", copy, ZONES, pods=crowd)
    # a: 20, b: 10, x: 0 for want of the key.
    assert found == {"a1": 200, "a2": 200, "b1": 100, "x": 0}


def test_preferred_anti_affinity_goes_on_balancing_after_every_domain_has_a_pod():
    copy = replace(pod(), preferred_anti_affinity=prefer(ZONE))
    crowd = standing(("a1", pod()), ("a2", pod()), ("b1", pod()))
    found = scores("InterPodAffinity", copy, ZONES, pods=crowd)
    assert found == {"a1": 0, "a2": 0, "b1": 100, "x": 200}  # -20, -10, 0


def test_running_pods_weigh_on_newcomers_by_their_preferences_and_their_required_affinity():
    holders = standing(
        ("a1", replace(pod("db"), preferred_affinity=prefer(HOSTNAME, 3))),
        ("a2", replace(pod("db"), required_affinity=(PodAffinityTerm(HOSTNAME, WEB),))),  # hardPodAffinityWeight 1
        ("b1", replace(pod("db"), preferred_anti_affinity=prefer(HOSTNAME, 1))),
        ("x", replace(pod("db"), required_anti_affinity=(PodAffinityTerm("rack", WEB),))),  # only filters
    )
    found = scores("InterPodAffinity", pod(), ZONES, pods=holders)
    assert found == {"a1": 200, "a2": 100, "b1": 0, "x": 2 * 25}  # 3, 1, -1, 0


def test_terminating_pods_still_attract():
    copy = replace(pod("db"), preferred_affinity=prefer(HOSTNAME))
    found = scores("InterPodAffinity", copy, ZONES, pods=standing(("b1", pod(), "terminating")))
    assert found == {"a1": 0, "a2": 0, "b1": 200, "x": 0}


def test_nothing_attracts_or_repels_means_the_plugin_is_skipped_or_equal():
    assert scores("InterPodAffinity", pod(), ZONES, pods=standing(("a1", pod()))) is None
    same = replace(pod(), preferred_affinity=prefer(HOSTNAME), preferred_anti_affinity=prefer(HOSTNAME))
    assert not any(scores("InterPodAffinity", same, ZONES, pods=standing(("a1", pod()))).values())


def test_namespaces_of_a_preference_are_its_own_the_listed_or_the_selected():
    # scoring_test.go, "Affinity with pods matching both NamespaceSelector and Namespaces fields" and its neighbours.
    namespaces = (Namespace("shop", {}), Namespace("lab", {"team": "a"}), Namespace("den", {"team": "b"}))
    team = Selector((Requirement("team", "In", ("a",)),))
    crowd = standing(
        ("a1", pod()), ("a2", pod(namespace="lab")), ("b1", pod(namespace="den")), ("x", pod(namespace="unknown"))
    )

    def attracted(**term):
        copy = replace(pod("db"), preferred_affinity=prefer(HOSTNAME, **term))
        found = scores("InterPodAffinity", copy, ZONES, pods=crowd, namespaces=namespaces) or {}
        return {name for name, value in found.items() if value}

    assert attracted() == {"a1"}
    assert attracted(namespaces=("den",)) == {"b1"}
    assert attracted(namespace_selector=team) == {"a2"}
    assert attracted(namespaces=("den",), namespace_selector=team) == {"a2", "b1"}
    # Everything attracts alike, so nothing stands out: the scores are equal, which normalises to zero.
    assert attracted(namespace_selector=Selector()) == set()


def test_a_running_pods_preference_selects_the_newcomer_by_its_namespaces_labels():
    # scoring_test.go, "Affinity symmetry with namespace selector".
    namespaces = (Namespace("shop", {"team": "a"}), Namespace("lab", {"team": "b"}))
    chosen = Selector((Requirement("team", "In", ("a",)),))
    holder = replace(pod("db", namespace="lab"), preferred_affinity=prefer(HOSTNAME, namespace_selector=chosen))
    crowd = standing(("a1", holder))
    found = scores("InterPodAffinity", pod(), ZONES, pods=crowd, namespaces=namespaces)
    assert found == {"a1": 200, "a2": 0, "b1": 0, "x": 0}
    assert scores("InterPodAffinity", pod(namespace="lab"), ZONES, pods=crowd, namespaces=namespaces) is None


def test_a_purely_negative_namespace_selector_of_a_newcomer_selects_every_namespace():
    # kubernetes/kubernetes#141526, since 1.35.
    namespaces = (Namespace("shop", {"team": "a"}), Namespace("lab", {"team": "b"}))
    others = Selector((Requirement("team", "NotIn", ("b",)),))
    copy = replace(pod("db"), preferred_affinity=prefer(HOSTNAME, namespace_selector=others))
    inventory = Inventory(pods=standing(("a1", pod(namespace="lab"))), namespaces=namespaces)
    for version, expected in (("1.33", 0), ("1.36", 200)):
        state = ClusterState(NodeIndex(ZONES), inventory, kubernetes_version=version)
        found = score(copy, state, state.index.all).by_plugin.get("InterPodAffinity", {})
        assert found.get("a1", 0) == expected


# --- all together ---------------------------------------------------------------------------------------------------


def test_the_total_is_the_sum_and_the_best_are_all_that_reach_it():
    nodes = [node("a"), node("b", taints=(Taint("spot", "", "PreferNoSchedule"),)), node("c"), node("d", cpu=2000)]
    state = ClusterState(NodeIndex(nodes))
    found = score(pod(cpu=500, memory=GI), state, state.index.all)
    assert found.total == {
        name: sum(values[name] for values in found.by_plugin.values()) for name in ("a", "b", "c", "d")
    }
    assert state.index.names_of(found.best) == ["a", "c"]


def test_ties_that_different_plugins_make_up_for_are_found_too():
    # Node 0 has 10 + 0, node 1 has 0 + 10, node 2 has 5 + 5, node 3 has 9 + 0.
    left, right = {10: 0b0001, 0: 0b0010, 5: 0b0100, 9: 0b1000}, {0: 0b1001, 10: 0b0010, 5: 0b0100}
    assert highest([left, right], first(4)) == (10, 0b0111)
    assert highest([left, right], 0b1000) == (9, 0b1000)
    assert highest([left, right], 0) == (0, 0)


def test_only_feasible_nodes_are_scored_and_shape_the_scale():
    nodes = [node("a", labels={"disk": "ssd"}), node("b", labels={"disk": "hdd"}), node("c")]
    copy = replace(
        pod(),
        preferred_node_terms=tuple(
            PreferredNodeTerm(weight, NodeSelectorTerm((Requirement("disk", "In", (disk,)),)))
            for weight, disk in ((100, "ssd"), (10, "hdd"))
        ),
    )
    state = ClusterState(NodeIndex(nodes))
    assert score(copy, state, 0b111).by_plugin["NodeAffinity"] == {"a": 200, "b": 20, "c": 0}
    assert score(copy, state, 0b110).by_plugin["NodeAffinity"] == {"b": 200, "c": 0}
