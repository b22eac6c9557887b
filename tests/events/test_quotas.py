"""ResourceQuotas: pods beyond them are never made, and what that leaves open is said."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.admission.quotas import asked, canonical, in_words, required_by, unset
from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS, FINE, LIKELY, UNKNOWN
from kubesched_lint.engine.events.start.quotas import have_shares, shares
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import HOSTNAME, Node
from kubesched_lint.engine.model.pod import BoundPod, Owner
from kubesched_lint.engine.model.policy import ResourceQuota
from kubesched_lint.report.simulation.report import as_text
from tests.events.simulated import asking, cell, other, report_of, sketch, workload
from tests.events.test_what_runs_already import running


def quota(name="compute", **hard):
    entries = {key.replace("_", "."): value for key, value in hard.items()}
    return other("ResourceQuota", name, spec={"hard": entries})


@pytest.mark.parametrize(
    ("hard", "text", "why"),
    [
        ({"pods": "3"}, "3/5 −2", "ResourceQuota default/compute allows 3 pods"),
        ({"requests_cpu": "1500m"}, "3/5 −2", "allows 1500m of requests.cpu; each pod requests 500m"),
        ({"cpu": "2"}, "4/5 −1", "allows 2 of cpu; each pod requests 500m"),
        ({"pods": "4", "requests_cpu": "1"}, "2/5 −3", "1 of requests.cpu;"),
        ({"pods": "9"}, "5/5 ok", ""),
        ({"requests_ephemeral-storage": "1Mi"}, "5/5 ok", ""),  # it asks for none, and need not
    ],
)
def test_a_quota_caps_what_is_made(hard, text, why):
    """A quota of the cluster counts at once; a new one only if its controller is faster than the pods are made."""
    web, limit = workload("Deployment", "web", 5, asking("500m")), quota(**hard)
    here = cell(report_of(sketch(2, "abc", "4", "110", limit), web, events=("deploy",)), "web", "deploy")
    anew = cell(report_of(sketch(), web, limit, events=("deploy",)), "web", "deploy")
    assert here.text == anew.text == text
    assert why in here.why
    assert here.proven
    assert anew.proven == (not why)
    assert ("quota compute is in force before the pods are made" in anew.assumes) == bool(why)


def test_the_quota_is_blamed_in_the_words_of_the_controller():
    result = report_of(sketch(), workload("Deployment", "web", 5), quota(pods="3"), events=("deploy", "hpa-max"))
    here = cell(result, "web", "deploy")
    assert (
        here.message
        == 'pods "web-*" is forbidden: ' + "exceeded quota: compute, requested: pods=1, used: pods=3, limited: pods=3"
    )
    place = result.place(here)
    assert place is not None
    assert 'the controller says (FailedCreate): pods "web-*" is forbidden: exceeded quota' in as_text(
        result, verbose=True
    )


def test_all_entries_that_are_exceeded_are_told_in_order_and_in_canonical_amounts():
    pod = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "500m", "memory": "768Mi"}}}]}
    limit = quota(requests_cpu="1", cpu="1", memory="1536Mi", pods="9")
    result = report_of(sketch(), workload("Deployment", "web", 5, pod), limit, events=("deploy",))
    assert cell(result, "web", "deploy").message == (
        'pods "web-*" is forbidden: '
        "exceeded quota: compute, requested: cpu=500m,memory=768Mi,requests.cpu=500m, "
        "used: cpu=1,memory=1536Mi,requests.cpu=1, limited: cpu=1,memory=1536Mi,requests.cpu=1"
    )


@pytest.mark.parametrize("entry", ["requests_memory", "memory", "limits_cpu"])
def test_what_a_quota_wants_said_and_nobody_says_is_never_fine(entry):
    limit = quota(**{entry: "100Gi" if "memory" in entry else "100"})
    result = report_of(sketch(), workload("Deployment", "web", 5, asking("500m")), limit, events=("deploy", "rollout"))
    for event in ("deploy", "rollout"):
        here = cell(result, "web", event)
        assert (here.verdict, here.bound.most, here.proven) == (BAD, 0, False)
        assert "no LimitRange of namespace default fills it in" in here.assumes
        assert f"failed quota: compute: must specify {entry.replace('_', '.')} for: c" in here.message
    filling = other(
        "LimitRange",
        "defaults",
        spec={"limits": [{"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}}]},
    )
    result = report_of(sketch(), workload("Deployment", "web", 5, asking("500m")), limit, filling, events=("deploy",))
    assert cell(result, "web", "deploy").text == "5/5 ok"


@pytest.mark.parametrize(
    ("entry", "counts"),
    [
        ("requests.nvidia.com/gpu", 2),
        ("nvidia.com/gpu", 0),
        ("limits.nvidia.com/gpu", 0),
        ("hugepages-2Mi", 4 << 20),
        ("requests.hugepages-2Mi", 4 << 20),
        ("limits.hugepages-2Mi", 0),
        ("requests.storage", 0),
        ("services", 0),
        ("count/pods", 1),
        ("cpu", 1500),
        ("requests.cpu", 1500),
        ("limits.cpu", 3010),
        ("ephemeral-storage", 0),
    ],
)
def test_a_pod_counts_under_the_entries_that_kubernetes_tracks(entry, counts):
    pod = decode_workload(
        workload(
            "Deployment",
            "web",
            1,
            {
                "overhead": {"cpu": "10m"},
                "initContainers": [{"name": "i", "resources": {"limits": {"cpu": "3"}, "requests": {"cpu": "1490m"}}}],
                "containers": [
                    {
                        "name": "c",
                        "resources": {
                            "requests": {"cpu": "500m"},
                            "limits": {"cpu": "2", "nvidia.com/gpu": "2", "hugepages-2Mi": "4Mi"},
                        },
                    }
                ],
            },
        ),
        "default",
    ).pod
    assert asked(pod, entry) == counts


def test_a_quota_on_an_entry_that_no_pod_counts_under_bounds_nothing():
    pod = {"containers": [{"name": "c", "resources": {"limits": {"example.com/fpga": "1"}}}]}
    nodes = sketch()
    nodes = replace(nodes, inventory=replace(nodes.inventory, nodes=tuple(map(_with_fpga, nodes.inventory.nodes))))
    for entry, text in (("example.com/fpga", "3/3 ok"), ("requests.example.com/fpga", "1/3 −2")):
        limit = other("ResourceQuota", "compute", spec={"hard": {entry: "1"}})
        result = report_of(nodes, workload("Deployment", "web", 3, pod), limit, events=("deploy",))
        assert cell(result, "web", "deploy").text == text


def _with_fpga(node: Node) -> Node:
    return replace(node, allocatable={**(node.allocatable or {}), "example.com/fpga": 4})


def test_all_silent_containers_are_named_as_kubernetes_names_them():
    containers = [{"name": name} for name in ("b", "a")]
    containers.append({"name": "c", "resources": {"requests": {"cpu": "1"}}})
    pod = decode_workload(workload("Deployment", "web", 1, {"containers": containers}), "default").pod
    hard = {"memory": 1, "cpu": 1, "pods": 1}
    assert in_words(required_by(ResourceQuota("ns", "q", hard), unset(pod))) == "cpu for: a,b; memory for: a,b,c"


def test_lint_quotes_the_refusal_word_for_word():
    from kubesched_lint.checks.quota_refuses_pods import check
    from kubesched_lint.engine.scenario.scenario import Scenario

    web = decode_workload(workload("Deployment", "web", 1, {"containers": [{"name": "b"}, {"name": "a"}]}), "default")
    limit = ResourceQuota("default", "compute", {"memory": 1 << 30, "limits.cpu": 1000})
    (hazard,) = check(Scenario(Inventory(workloads=(web,), quotas=(limit,))).member(web))
    assert hazard.evidence.text == "failed quota: compute: must specify limits.cpu for: a,b; memory for: a,b"


@pytest.mark.parametrize(
    ("entry", "amount", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("requests.cpu", 2000, "2"),
        ("cpu", 2_000_000, "2k"),
        ("memory", 1536 << 20, "1536Mi"),
        ("limits.memory", 1 << 30, "1Gi"),
        ("memory", 10**9, "1G"),
        ("memory", 0, "0"),
        ("pods", 2000, "2k"),
        ("pods", 1500, "1500"),
    ],
)
def test_amounts_are_written_as_quantities_are(entry, amount, text):
    assert canonical(entry, amount) == text


def test_pods_that_go_use_up_no_quota():
    guest = other("Pod", "guest", spec={"nodeName": "w-a-1", "containers": [{"name": "c"}]})
    guest["metadata"] |= {"namespace": "default", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    cluster = sketch(2, "abc", "4", "110", guest)
    result = report_of(cluster, workload("Deployment", "web", 3), quota(pods="3"), events=("deploy",))
    assert cell(result, "web", "deploy").bound.most == 3


def test_a_surge_pod_that_no_quota_grants_blocks_a_rollout_that_spares_none():
    strict = {"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
    result = report_of(
        sketch(), workload("Deployment", "web", 3, **strict), quota(pods="3"), events=("deploy", "rollout")
    )
    assert cell(result, "web", "deploy").text == "3/3 ok"
    here = cell(result, "web", "rollout")
    assert (here.text, here.verdict, here.proven) == ("stuck", BAD, True)
    assert "exceeded quota" in here.message
    loose = {"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}}
    result = report_of(sketch(), workload("Deployment", "web", 3, **loose), quota(pods="3"), events=("rollout",))
    assert cell(result, "web", "rollout").verdict == UNKNOWN


def test_two_that_draw_on_one_quota_depend_on_who_comes_first():
    both = [workload("Deployment", name, 3) for name in ("a", "b")]
    result = report_of(sketch(), *both, quota(pods="4"), events=("deploy",))
    for name in ("a", "b"):
        here = cell(result, name, "deploy")
        assert (here.verdict, here.bound.least, here.bound.most) == (DEPENDS, 1, 3)
        assert here.message.endswith("exceeded quota: compute, requested: pods=1, used: pods=4, limited: pods=4")
    alone = report_of(sketch(), *both, quota(pods="2"), events=("deploy",))
    assert {cell(alone, name, "deploy").verdict for name in ("a", "b")} == {BAD}, "neither can have three"


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_runs_in_another_namespace_does_not_hide_a_race_for_a_quota(elsewhere):
    """Where a user of the quota runs, it is not known who keeps what."""
    both = [workload("Deployment", name, 3) for name in ("a", "b")]
    runs, limit = workload("Deployment", "runs", 1), quota(pods="4" if elsewhere else "5")
    for made in (*both, limit) if elsewhere else ():
        _elsewhere(made)
    result = report_of(sketch(2, "abc", "4", "110", *running(runs, "w-a-1")), *both, runs, limit, events=("deploy",))
    assert {cell(result, name, "deploy").verdict for name in ("a", "b")} == {DEPENDS if elsewhere else UNKNOWN}


@pytest.mark.parametrize("event", ["node-loss", "zone-loss", "drain"])
def test_who_was_short_of_a_quota_may_be_so_after_nodes_went(event):
    both = [workload("Deployment", name, 3) for name in ("a", "b")]
    found = cell(report_of(sketch(), *both, quota(pods="4"), events=(event,)), "a", event)
    assert (found.event, found.verdict, found.bound.most) == (event, DEPENDS, 3)
    assert found.bound.least <= 1
    agent = workload("DaemonSet", "b", None)
    unsure = cell(report_of(sketch(), both[0], agent, quota(pods="7"), events=(event,)), "a", event)
    assert unsure.verdict == UNKNOWN, "a DaemonSet wants a pod fewer for each node that is lost"


def test_who_is_scaled_below_what_a_quota_leaves_is_not_said_to_be_short():
    both = [workload("Deployment", name, 3) for name in ("a", "b")]
    found = cell(report_of(sketch(), *both, quota(pods="5"), events=("scale-down",)), "a", "scale-down")
    assert (found.wanted, found.verdict, found.proven) == (2, FINE, True)
    found = cell(report_of(sketch(), *both, quota(pods="4"), events=("scale-down",)), "a", "scale-down")
    assert (found.wanted, found.verdict) == (2, DEPENDS)


def test_a_quota_that_only_the_maximum_of_an_autoscaler_exceeds_leaves_all_other_cells_alone():
    names, both = ("a", "b"), [workload("Deployment", name, 2, asking("1")) for name in ("a", "b")]
    spec = [
        {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}, "maxReplicas": 5}
        for name in names
    ]
    scalers = [
        other("HorizontalPodAutoscaler", name, "autoscaling/v2", spec=each)
        for name, each in zip(names, spec, strict=True)
    ]
    result = report_of(sketch(2, "a", "3500m"), *both, *scalers, quota(pods="6"))
    for name in names:
        assert cell(result, name, "hpa-max").verdict != FINE
        loss = cell(result, name, "node-loss")
        assert (loss.verdict, loss.missing) == (DEPENDS, ()), "other pods may take the room of the node that is left"
        assert loss.worst is not None
        assert cell(result, name, "deploy").proven


def test_pods_of_others_use_the_quota_up():
    guest = other("Pod", "guest", spec={"nodeName": "w-a-1", "containers": [{"name": "c"}]})
    guest["metadata"]["namespace"] = "default"
    cluster = sketch(2, "abc", "4", "110", guest)
    result = report_of(cluster, workload("Deployment", "web", 3), quota(pods="3"), events=("deploy",))
    here = cell(result, "web", "deploy")
    assert here.text == "2/3 −1"
    assert "others use 1" in here.why


def test_what_a_new_quota_did_not_refuse_stays_in_every_event_that_makes_no_pod_anew():
    events = ("deploy", "node-loss", "zone-loss", "drain", "rollout")
    result = report_of(sketch(), workload("Deployment", "web", 8), quota(pods="6"), events=events)
    found = {event: cell(result, "web", event) for event in events}
    assert {one.verdict for one in found.values()} == {BAD}
    assert [event for event, one in found.items() if one.proven] == ["rollout"], "its surge pod is refused either way"
    premise = "quota compute is in force before the pods are made"
    assert [event for event, one in found.items() if premise in one.assumes] == list(events[:-1])


@pytest.mark.parametrize(("cpu", "verdict"), [("9", BAD), ("3", UNKNOWN)])
def test_what_a_loss_frees_of_a_quota_helps_no_pod_that_fits_on_no_node(cpu, verdict):
    guest = other("Pod", "guest", spec={"nodeName": "w-a-1", "containers": [{"name": "c"}]})
    guest["metadata"]["namespace"] = "default"
    cluster = sketch(2, "abc", "4", "110", guest)
    result = report_of(cluster, workload("Deployment", "web", 3, asking(cpu)), quota(pods="3"), events=("node-loss",))
    assert cell(result, "web", "node-loss").verdict == verdict


def test_a_quota_of_another_namespace_or_of_other_pods_is_none_of_its_business():
    elsewhere = quota(pods="1")
    elsewhere["metadata"]["namespace"] = "other"
    scoped = other(
        "ResourceQuota",
        "scoped",
        spec={
            "hard": {"pods": "1"},
            "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["x"]}]},
        },
    )
    result = report_of(sketch(), workload("Deployment", "web", 3), elsewhere, scoped, events=("deploy",))
    assert cell(result, "web", "deploy").text == "3/3 ok"
    classed = workload("Deployment", "web", 3, {"priorityClassName": "x", "containers": [{"name": "c"}]})
    known = other("PriorityClass", "x", "scheduling.k8s.io/v1", value=5)
    result = report_of(sketch(), classed, known, elsewhere, scoped, events=("deploy",))
    assert cell(result, "web", "deploy").text == "1/3 −2"


@pytest.mark.parametrize(
    ("scope", "spec", "text"),
    [
        ("BestEffort", {}, "1/3 −2"),
        ("NotBestEffort", {}, "3/3 ok"),
        ("Terminating", {}, "3/3 ok"),
        ("Terminating", {"activeDeadlineSeconds": 60}, "1/3 −2"),
        ("NotTerminating", {}, "1/3 −2"),
        ("CrossNamespacePodAffinity", {}, "3/3 ok"),
    ],
)
def test_a_quota_with_scopes_counts_the_pods_that_match_them(scope, spec, text):
    limit = other("ResourceQuota", "scoped", spec={"hard": {"pods": "1"}, "scopes": [scope]})
    web = workload("Deployment", "web", 3, {**spec, "containers": [{"name": "c"}]})
    here = cell(report_of(sketch(), web, limit, events=("deploy",)), "web", "deploy")
    assert (here.text == "3/3 ok") == (text == "3/3 ok")


def test_a_set_of_a_stateful_set_stops_where_a_quota_stops_its_claims():
    claim = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    web = workload("StatefulSet", "web", 3)
    web["spec"]["volumeClaimTemplates"] = [claim]
    for hard in ({"persistentvolumeclaims": "2"}, {"requests.storage": "2Gi"}):
        limit = other("ResourceQuota", "claims", spec={"hard": hard})
        here = cell(report_of(sketch(2, "abc", "4", "110", limit), web, events=("deploy",)), "web", "deploy")
        assert (here.bound.most, here.proven) == (2, True)
        anew = cell(report_of(sketch(), web, limit, events=("deploy",)), "web", "deploy")
        assert (anew.bound.most, anew.proven) == (2, False)


def test_a_quota_of_one_namespace_leaves_the_cells_of_another_alone():
    """Both want room on the same nodes, so that they are looked at together."""
    capped, free = workload("Deployment", "capped", 5, asking("1")), workload("Deployment", "free", 3, asking("1"))
    free["metadata"]["namespace"] = "elsewhere"
    result = report_of(sketch(2, "a", "4"), capped, free, quota(pods="2"), events=("deploy",))
    here = cell(result, "free", "deploy")
    assert (here.text, here.verdict, here.proven) == ("3/3 ok", FINE, True)


def _elsewhere(made: dict) -> dict:
    made["metadata"]["namespace"] = "elsewhere"
    return made


@pytest.mark.parametrize("event", ["deploy", "rollout", "node-loss", "drain"])
def test_traces_tell_of_a_workload_beside_two_that_race_for_the_quota_of_another_namespace(event):
    """Room decides about the free one; the racers get four pods between them, whoever comes first."""
    racers = [workload("Deployment", name, 3, asking("700m")) for name in ("a", "b")]
    free = _elsewhere(workload("Deployment", "free", 3, asking("900m")))
    found = cell(report_of(sketch(3, "a", "2"), *racers, free, quota(pods="4"), events=(event,)), "free", event)
    assert found.verdict != UNKNOWN
    assert (found.missing, found.worst is None) == ((), found.verdict == LIKELY)
    racing = cell(report_of(sketch(3, "a", "2"), *racers, free, quota(pods="4"), events=("rollout",)), "a", "rollout")
    assert racing.verdict == UNKNOWN
    assert "quota compute" not in racing.text


def _simulated(*workloads: dict, hard: int, running=()) -> SimulatedSet:
    nodes = tuple(Node(name, {HOSTNAME: name}, allocatable={"cpu": 4000, "pods": 110}) for name in "xy")
    limited = Inventory(quotas=(ResourceQuota("default", "q", {"pods": hard}),))
    made = tuple(decode_workload(each, "default") for each in workloads)
    return SimulatedSet(nodes, limited, made, running=dict(running), changes=dict.fromkeys(dict(running), False))


def test_who_creates_its_pods_first_takes_of_a_quota_what_the_next_lack():
    both = [workload("Deployment", "a", 3), workload("Deployment", "b", 3)]
    simulated = _simulated(*both, hard=4)
    assert shares(simulated, (0, 1)) == {0: 3, 1: 1}
    assert shares(simulated, (1, 0)) == {0: 1, 1: 3}
    assert have_shares(simulated, (0, 1))
    assert not have_shares(_simulated(*both, workload("DaemonSet", "c", None), hard=4), (0, 1, 2)), "on which nodes?"
    in_turn = [workload("StatefulSet", name, 3) for name in ("c", "d")]
    last = _simulated(in_turn[0], *both, hard=7)
    assert shares(last, (0, 1, 2)) == {0: 1, 1: 3, 2: 3}
    assert have_shares(last, (0, 1, 2))
    assert not have_shares(_simulated(*in_turn, hard=4), (0, 1)), "the second goes on where a pod of the first waits"


def test_what_runs_unchanged_keeps_its_share_of_a_quota():
    web = decode_workload(workload("Deployment", "web", 2), "default")
    owner = Owner("ReplicaSet", "web-abc")
    pods = tuple(BoundPod(f"web-{node}", node, web.pod, owner) for node in "xy")
    objects = [workload("Deployment", name, 2) for name in ("first", "web")]
    beside = _simulated(*objects, hard=3, running={1: pods})
    assert shares(beside, (0, 1)) == {0: 1}
    assert have_shares(beside, (0, 1))
    assert not have_shares(_simulated(*objects, hard=1, running={1: pods}), (0, 1)), "a lost pod may not come back"


def test_a_quota_of_another_namespace_takes_no_proof_from_a_pod_with_affinity():
    """The pods of many may preempt, and the quota is short for them: near and its leader stand all the same."""
    lead = workload("Deployment", "lead", 1)
    term = {"labelSelector": {"matchLabels": {"app": "lead"}}, "topologyKey": "topology.kubernetes.io/zone"}
    drawn = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    near = workload("Deployment", "near", 2, asking("100m", **drawn))
    many = _elsewhere(workload("Deployment", "many", 5, asking("1", priority=5)))
    cluster = sketch(3, "a", "4", "110", *running(lead, "w-a-1"), *running(near, "w-a-1", "w-a-2"))
    here = cell(report_of(cluster, lead, near, many, _elsewhere(quota(pods="4")), events=("deploy",)), "near", "deploy")
    assert (here.verdict, here.proven) == (FINE, True)
    leads = report_of(cluster, lead, near, many, quota(pods="2"), events=("deploy",))
    assert not cell(leads, "near", "deploy").proven, "its leader may not be made again once it is preempted"


def test_a_quota_of_the_snapshot_counts_and_is_not_pointed_at():
    limit = quota(pods="1")
    limit["metadata"]["namespace"] = "default"
    result = report_of(sketch(2, "abc", "4", "110", limit), workload("Deployment", "web", 3), events=("deploy",))
    here = cell(result, "web", "deploy")
    assert here.text == "1/3 −2"
    assert result.place(here) is None


def test_counting_and_the_words_of_lint_agree():
    """``counted`` is what rules may ask: it knows quotas too."""
    node = Node("n", {HOSTNAME: "n"}, allocatable={"cpu": 4000, "pods": 110})
    web = decode_workload(workload("Deployment", "web", 3), "default")
    limited = Inventory(quotas=(ResourceQuota("default", "q", {"pods": 2}),))
    assert count(SimulatedSet((node,), limited, (web,)).member(0), "deploy").most.pods == 2
    assert count(SimulatedSet((node,), Inventory(), (web,)).member(0), "deploy").is_fine


def test_room_enough_under_a_quota_is_fine_with_surge_and_at_the_maximum():
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
    result = report_of(sketch(), workload("Deployment", "web", 3), scaler, quota(pods="7"))
    assert {c.verdict for c in result.rows[0].cells} == {FINE}
    tight = report_of(sketch(), workload("Deployment", "web", 3), scaler, quota(pods="4"))
    assert cell(tight, "web", "hpa-max").text == "4/5 −1"


def test_a_daemonset_pod_that_a_quota_keeps_from_being_made_may_be_the_one_with_room():
    """Three nodes, one with room, and two pods that may exist: which two are made nobody knows."""
    guests = [other("Pod", f"guest-{zone}", spec={"nodeName": f"w-{zone}", **asking("3")}) for zone in "ab"]
    for guest in guests:
        guest["metadata"]["namespace"] = "elsewhere"
    cluster = sketch(1, "abc", "4", "110", *guests)
    result = report_of(cluster, workload("DaemonSet", "agent", None, asking("3")), quota(pods="2"), events=("deploy",))
    here = cell(result, "agent", "deploy")
    assert (here.verdict, here.bound.least, here.bound.most) == (BAD, 0, 1)
    every = report_of(cluster, workload("DaemonSet", "agent", None, asking("3")), quota(pods="3"), events=("deploy",))
    assert cell(every, "agent", "deploy").bound.least == 1


BASELINE = other("Namespace", "default")
BASELINE["metadata"]["labels"] = {"pod-security.kubernetes.io/enforce": "baseline"}
STRICT = {"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}


@pytest.mark.parametrize(
    ("beside", "is_stuck"),
    [
        ([workload("Deployment", "db", 1)], True),
        ([workload("StatefulSet", "db", 1)], False),  # it makes its pods one after another
        ([workload("Job", "db", 1)], False),  # its pod ends
        ([workload("Deployment", "db", 3)], False),  # the quota does not grant all of both
        ([workload("Deployment", "db", 1, {"priority": -1})], False),  # the extra pod may preempt it
        ([workload("Deployment", "db", 1, paused=True)], False),  # its controller creates no pod
        ([workload("Deployment", "db", 1, {"priorityClassName": "unknown"})], False),  # nobody has seen its class
        ([workload("Deployment", "db", 1, {"hostNetwork": True}), BASELINE], False),  # PodSecurity refuses its pod
    ],
)
def test_pods_of_others_stand_in_the_way_of_a_surge_pod(beside, is_stuck):
    """3 pods of web and 1 of db are all that the quota grants, so web's fourth pod is never made."""
    limit = quota(pods="4")
    result = report_of(sketch(), workload("Deployment", "web", 3, **STRICT), *beside, limit, events=("rollout",))
    here = cell(result, "web", "rollout")
    assert (here.always_stuck and here.proven) == is_stuck
    if is_stuck:
        assert "allows 4 pods; others use 1; with maxUnavailable 0" in here.why
        assert here.message.endswith("exceeded quota: compute, requested: pods=1, used: pods=4, limited: pods=4")


def test_an_autoscaler_may_take_the_pods_that_stand_in_the_way():
    scaler = other(
        "HorizontalPodAutoscaler",
        "db",
        "autoscaling/v2",
        spec={
            "minReplicas": 1,
            "maxReplicas": 2,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "db"},
        },
    )
    made = [workload("Deployment", "web", 3, **STRICT), workload("Deployment", "db", 2), scaler, quota(pods="5")]
    assert not cell(report_of(sketch(), *made, events=("rollout",)), "web", "rollout").always_stuck


def test_pods_that_run_unchanged_stand_in_the_way_of_a_surge_pod():
    """Two of the five pods of the quota are those of db, which nobody changes or outranks: web has three."""
    db, web = workload("StatefulSet", "db", 2), workload("Deployment", "web", 3, **STRICT)
    cluster = sketch(1, "abc", "4", "110", *running(db, "w-a", "w-b"), *running(web, "w-a", "w-b", "w-c"))

    def rolled_out(*more: dict, objects=(db,)):
        return cell(report_of(cluster, *objects, web, *more, events=("rollout",)), "web", "rollout")

    tight = rolled_out(quota(pods="5"))
    assert (tight.always_stuck, tight.proven) == (True, True)
    assert "allows 5 pods; others use 2" in tight.why
    assert rolled_out(quota(pods="6")).verdict == FINE
    strong = workload("Deployment", "strong", 1, {"priority": 5})
    strong["metadata"]["namespace"] = "elsewhere"
    assert not rolled_out(quota(pods="5"), strong).always_stuck, "a pod of db may be preempted"
    scaler = _scaler("db", 3)
    scaler["spec"]["scaleTargetRef"]["kind"] = "StatefulSet"
    assert not rolled_out(quota(pods="5"), scaler).always_stuck, "its autoscaler may take a pod of db"
    changed = workload("StatefulSet", "db", 2, asking("200m"))
    assert not rolled_out(quota(pods="5"), objects=(changed,)).always_stuck, "a pod of db goes before the next comes"


def test_a_rollout_under_way_may_wait_for_a_pod_that_others_take_from_the_quota_first():
    """One runs, one may surge, and two of another workload want the two that are left of three."""
    live = workload("Deployment", "web", 1)
    changed = workload("Deployment", "web", 1, asking("200m"))
    cluster = sketch(1, "abc", "4", "110", *running(live, "w-a"))
    others = workload("Deployment", "db", 2)
    tight = cell(report_of(cluster, changed, others, quota(pods="3"), events=("deploy",)), "web", "deploy")
    assert not (tight.verdict == FINE and tight.proven)
    roomy = cell(report_of(cluster, changed, others, quota(pods="5"), events=("deploy",)), "web", "deploy")
    assert (roomy.verdict, roomy.proven) == (FINE, True)


def test_old_pods_that_ask_for_more_keep_the_quota_from_new_ones():
    """Two old pods use 2.8 of 3 CPUs: no new one is created, although four of them would be within the quota."""
    old, web = (workload("Deployment", "web", n, asking(cpu)) for n, cpu in ((2, "1400m"), (4, "500m")))
    result = report_of(sketch(1, "abc", "4", "110", *running(old, "w-a", "w-b")), web, quota(requests_cpu="3"))
    assert all(cell(result, "web", event).verdict != FINE for event in ("deploy", "rollout"))


def _scaler(name: str, most: int) -> dict:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    return other(
        "HorizontalPodAutoscaler", name, "autoscaling/v2", spec={"scaleTargetRef": target, "maxReplicas": most}
    )


@pytest.mark.parametrize("event", ["deploy", "rollout", "scale-down"])
@pytest.mark.parametrize("runs", [False, True])
def test_who_runs_and_is_not_changed_wants_no_more_of_a_quota_in_events_of_others(event, runs):
    """The maximum of db needs seven of the six pods: events of web, which the snapshot does not change, never do."""
    db, web = workload("Deployment", "db", 2), workload("Deployment", "web", 2)
    cluster = sketch(1, "abc", "4", "110", *(running(db, "w-a", "w-b") if runs else ()))
    result = report_of(cluster, db, web, _scaler("db", 5), quota(pods="6"))
    asked_of_web = cell(result, "web", event)
    assert (asked_of_web.verdict, asked_of_web.proven) == (FINE, True)
    assert cell(result, "db", "hpa-max").verdict != FINE
    changed = workload("Deployment", "db", 2, asking("200m"))
    rolled_out = cell(report_of(cluster, changed, web, _scaler("db", 5), quota(pods="4")), "web", "deploy")
    assert (rolled_out.verdict == FINE) == (not runs), "the rollout of db may take a pod more of the quota"


@pytest.mark.parametrize("event", ["node-loss", "zone-loss", "drain"])
def test_pods_that_run_beyond_a_quota_do_not_come_back(event):
    """The quota became smaller than what runs: pods stay, but none is made anew while another one uses it up."""
    web = workload("Deployment", "web", 2)
    cluster = sketch(1, "abc", "4", "110", *running(web, "w-a", "w-b"))
    tight = report_of(cluster, web, quota(pods="1"))
    assert cell(tight, "web", "deploy").text == "2/2 ok", "nothing is made"
    assert (cell(tight, "web", event).verdict, cell(tight, "web", event).bound.least) == (UNKNOWN, 1)
    assert cell(report_of(cluster, web, quota(pods="2")), "web", event).proven


def test_pods_that_are_preempted_need_the_quota_again():
    """The strong pod takes the room of one of two pods, and the other alone uses up the quota."""
    web = workload("Deployment", "web", 2, asking("3"))
    strong = workload("Deployment", "strong", 1, {"priority": 9, **asking("3")})
    strong["metadata"]["namespace"] = "elsewhere"
    cluster = sketch(1, "abc", "4", "110", *running(web, "w-a", "w-b"))
    pinned = {"nodeSelector": {HOSTNAME: "w-a"}}
    strong["spec"]["template"]["spec"] |= pinned
    for pods, is_fine in (("1", False), ("2", True)):
        found = cell(report_of(cluster, web, strong, quota(pods=pods), events=("deploy",)), "web", "deploy")
        assert (found.verdict == FINE and found.proven) == is_fine


@pytest.mark.parametrize(("granted", "is_fine"), [("3", True), ("2", False)])
def test_who_is_scaled_down_to_what_a_quota_grants_needs_no_more(granted, is_fine):
    """The pods of db fill two of three nodes and stay; of six pods of web half are granted, and half stay."""
    db, web = workload("Deployment", "db", 2, asking("4")), workload("Deployment", "web", 6, asking("500m"))
    limit = quota(pods=granted)
    for each in (web, limit):
        each["metadata"]["namespace"] = "elsewhere"
    cluster = sketch(1, "abc", "4", "110", *running(db, "w-a", "w-b"))
    smaller = cell(report_of(cluster, db, web, limit, events=("scale-down",)), "web", "scale-down")
    assert (smaller.verdict == FINE and smaller.proven) == is_fine


def test_whether_a_rollout_ends_may_depend_on_when_jobs_end():
    """Two pods of web and one of the Job use 1,500m of 1,900m; the surging pod has room once the Job's has ended."""
    web, job = workload("Deployment", "web", 2, asking("500m")), workload("Job", "migrate", None, asking("500m"))
    job = {**job, "apiVersion": "batch/v1", "spec": {"template": job["spec"]["template"], "parallelism": 1}}
    job["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    for cpu, fact in (("1900m", "whether the pods of Job default/migrate have ended by then"), ("1400m", "a proof")):
        cluster = sketch(2, "abc", "4", "110", quota(requests_cpu=cpu))
        here = cell(report_of(cluster, web, job, events=("rollout",)), "web", "rollout")
        assert any(missing.startswith(fact) for missing in here.missing) == (here.verdict == UNKNOWN), here
    assert here.verdict != FINE


def test_who_waits_for_its_own_pods_takes_nothing_more_of_a_quota() -> None:
    """A StatefulSet whose first pod fits nowhere creates no second one, so that all others get their pods."""
    stuck, fine = workload("StatefulSet", "b", 4, asking("1000")), workload("StatefulSet", "b", 4, asking("100m"))
    web, limit = workload("Deployment", "a", 2, asking("100m")), quota(pods="5")
    verdicts = [
        cell(report_of(sketch(), web, b, limit, events=("deploy",)), "a", "deploy").verdict for b in (stuck, fine)
    ]
    assert verdicts[0] != DEPENDS
    assert verdicts[1] == DEPENDS


@pytest.mark.parametrize("is_new", [False, True])
def test_pods_that_a_quota_refuses_for_their_size_make_no_other_cell_unknown(is_new: bool) -> None:
    """One workload, each pod of which asks for more than its quota has, made 116 of 247 cells of a set unknown."""
    limit = quota(requests_cpu="4")
    here = (sketch(2, "abc", "8", "110"), (limit,)) if is_new else (sketch(2, "abc", "8", "110", limit), ())
    huge, small = workload("Deployment", "huge", 3, asking("5")), workload("Deployment", "small", 2, asking("1"))
    report = report_of(here[0], huge, small, *here[1])
    cells = [c for row in report.rows for c in row.cells if report.workloads[row.number].name == "small"]
    assert {c.verdict for c in cells if c.event != "hpa-max"} == {FINE}
    premise = "quota compute is in force before the pods are made"
    assert all((premise in c.assumes) is is_new for c in cells if c.verdict == FINE)


def test_the_room_that_a_new_quota_leaves_to_others_is_a_premise() -> None:
    """The pods of its rival may be made before the quota counts, and then fill the nodes."""
    rival, web = workload("Deployment", "one", 10, asking("1")), workload("Deployment", "web", 8, asking("1"))
    rival["metadata"]["namespace"] = "a"
    limit = quota(requests_cpu="2")
    limit["metadata"]["namespace"] = "a"
    found = cell(report_of(sketch(12, "a", "1", "110"), rival, web, limit, events=("deploy",)), "web", "deploy")
    assert (found.verdict, found.proven) == (FINE, True)
    assert "quota compute is in force before the pods are made" in found.assumes
