"""What counting proves, no search contradicts; and closed forms say what the search finds."""

from __future__ import annotations

import pytest
from hypothesis import assume
from msgspec.structs import replace

from kubesched_lint.engine.base.releases import RECORDED
from kubesched_lint.engine.bounds.closed_forms import placed
from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.controllers.bounds import rolling_bounds
from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.search.hypotheses import Hypothesis, Newcomer, NodeChange, with_halted
from kubesched_lint.engine.events.start.preemption_scope import preemption_scope
from kubesched_lint.engine.events.start.simulated_set import UNREACHABLE_OF, SimulatedSet
from kubesched_lint.engine.events.start.sizes import size_after
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node, Taint
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.model.policy import Autoscaler, DisruptionBudget
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.runs.event_outcomes import EventOutcomes
from kubesched_lint.engine.runs.judging import is_stuck
from kubesched_lint.engine.scenario.pods.pod_labels import revision_label
from kubesched_lint.engine.verdicts.matrix import EVENTS
from tests import drawn as st
from tests.drawn import given
from tests.events import simulated
from tests.events.enclosed import is_enclosed, thorough
from tests.events.made_sets import nodes
from tests.events.made_sets import workload as made

KINDS = ("Deployment", "StatefulSet", "DaemonSet")
VERSIONS = (RECORDED, "1.37")
EVERY = (*EVENTS, *UNREACHABLE_OF)


@thorough
@given(nodes(), made("web", KINDS), made("db", KINDS, most=2), st.sampled_from(EVERY), st.sampled_from(VERSIONS))
def test_bounds_by_counting_enclose_every_end_of_any_scheduler(cluster, web, db, event, version):
    assume(is_enclosed(SimulatedSet(cluster, Inventory(), (web, db), kubernetes_version=version), event))


@st.composite
def running(draw, cluster, workload: Workload, *, changes: bool):
    """Some pods of one older template if that ``changes``, anywhere, as earlier templates and taints let them land."""
    app, tier = workload.name, draw(st.sampled_from(["", "old"]))
    old = draw(made(app, (workload.kind,), tier=tier)) if changes and draw(st.booleans()) else workload
    pod = Timeline((), Inventory()).admitted(old, 9)
    at = draw(st.lists(st.sampled_from([n.name for n in cluster]), max_size=3, unique=workload.kind == "DaemonSet"))
    return tuple(BoundPod(f"{app}-{i}", node, pod) for i, node in enumerate(at))


@thorough
@given(st.data(), nodes(most=3), st.sampled_from(EVERY), st.integers(1, 4))
def test_bounds_also_enclose_every_end_where_older_pods_run(data, cluster, event, most):
    tier = data.draw(st.sampled_from(["", "new"]))
    web, db = data.draw(made("web", KINDS, tier=tier)), data.draw(made("db", KINDS, most=2))
    scaler = Autoscaler("default", "web", web.ref, max_replicas=most)
    changes = {0: data.draw(st.booleans()), 1: True}
    drawn = ((i, data.draw(running(cluster, w, changes=changes[i]))) for i, w in enumerate((web, db)))
    run = {i: pods for i, pods in drawn if pods}
    assume(is_enclosed(SimulatedSet(cluster, Inventory(), (web, db), run, changes, scalers={0: scaler}), event))


@st.composite
def supposed(draw, cluster) -> Hypothesis:
    """Some of: nodes that go, a taint, a label that goes, a node that comes, new sizes, new templates, an upgrade."""
    names = [n.name for n in cluster]
    some = st.frozensets(st.sampled_from(names))
    effect = draw(st.sampled_from(["NoSchedule", "NoExecute"]))
    taint = Taint(draw(st.sampled_from(["dedicated", "new"])), "", effect)
    like = draw(st.sampled_from(cluster))
    newcomer = Newcomer(replace(like, name="new", labels={**like.labels, HOSTNAME: "new"}), like.name)
    change = NodeChange(
        draw(st.one_of(st.just(frozenset()), some)),
        ((draw(some), taint),) if draw(st.booleans()) else (),
        ((draw(some), draw(st.sampled_from([HOSTNAME, ZONE]))),) if draw(st.integers(0, 2)) == 0 else (),
        (newcomer,) if draw(st.integers(0, 2)) == 0 else (),
    )
    if draw(st.integers(0, 2)) == 0:
        change = with_halted(replace(change, unreachable=draw(some) - change.lost), cluster)
    sizes = {0: draw(st.integers(0, 4))} if draw(st.integers(0, 2)) == 0 else {}
    upgraded = tuple(draw(st.lists(st.sampled_from(names), max_size=2, unique=True)))
    return Hypothesis("what if", change, sizes, draw(st.booleans()), upgraded)


@thorough
@given(st.data(), nodes(most=3), made("web", KINDS), made("db", KINDS, most=2), st.sampled_from([None, 1, "50%"]))
def test_bounds_enclose_every_end_of_a_hypothesis(data, cluster, web, db, allowed):
    """The budget lets ``allowed`` pods be missing; None: there is none."""
    selects = Selector((Requirement("app", "In", ("web",)),))
    budgets = () if allowed is None else (DisruptionBudget("default", "keep", selects, max_unavailable=allowed),)
    what = data.draw(supposed(cluster))
    assume(is_enclosed(SimulatedSet(cluster, Inventory(budgets=budgets), (web, db), supposed=what), "what if"))


def test_an_upgrade_may_be_stuck_where_no_pod_is_wanted_any_more():
    """The node of a pod is unreachable and upgraded, and its Deployment scaled to none: a budget holds the drain."""
    cluster = tuple(Node(f"n{i}", {HOSTNAME: f"n{i}"}, allocatable={"cpu": 4000, "pods": 110}) for i in range(2))
    selects = Selector((Requirement("app", "In", ("web",)),))
    budget = DisruptionBudget("default", "keep", selects, max_unavailable=1)
    change = with_halted(NodeChange(unreachable=frozenset(["n0"])), cluster)
    what = Hypothesis("what if", change, {0: 0}, False, ("n0",))
    assert is_enclosed(SimulatedSet(cluster, Inventory(budgets=(budget,)), (_apart(1),), supposed=what), "what if")


HASHED = {
    "labelSelector": {"matchLabels": {"app": "web"}},
    "topologyKey": HOSTNAME,
    "matchLabelKeys": ["pod-template-hash"],
}


@pytest.mark.parametrize("event", ["hpa-max", "scale-down", "node-loss", "rollout", "deploy"])
@pytest.mark.parametrize("old", [HASHED, {**HASHED, "topologyKey": ZONE}])
def test_pods_of_the_old_template_run_beside_those_of_the_new_one(event, old):
    """Two old pods and two new ones, one of each per node: a rollout to three ends so, whatever happens then."""
    cluster = tuple(Node(f"n{i}", {HOSTNAME: f"n{i}"}, allocatable={"cpu": 4000, "pods": 110}) for i in range(2))
    before = Timeline((), Inventory()).admitted(_apart(3, old), 9)
    runs = {0: tuple(BoundPod(f"web-{i}", f"n{i}", before) for i in range(2))}
    web = _apart(3, HASHED)
    scaler = Autoscaler("default", "web", web.ref, max_replicas=4)
    assert is_enclosed(SimulatedSet(cluster, Inventory(), (web,), runs, {0: True}, scalers={0: scaler}), event)


def test_pods_of_the_old_template_also_run_beside_the_new_ones_of_a_hypothesis():
    """Each node holds one pod of each template: an old pod and two new ones run, and the rollout does not end."""
    room = {"cpu": 4000, "pods": 110}
    node, added = (Node(name, {HOSTNAME: name}, allocatable=room) for name in ("n0", "n1"))
    what = Hypothesis("what if", NodeChange(added=(Newcomer(added, "n0"),)), rolls=True)
    assert is_enclosed(SimulatedSet((node,), Inventory(), (_apart(3, HASHED),), supposed=what), "what if")


@pytest.mark.parametrize("old_cpu", ["500m", "1500m"])
@pytest.mark.parametrize("changes", [True, False, None])
def test_amid_a_rollout_of_which_nothing_runs_it_is_stuck_whether_or_not_the_template_changes(changes, old_cpu):
    """A pod of each revision waits; the node has room for one of the old revision, or for none."""
    node = Node("n0", {HOSTNAME: "n0"}, allocatable={"cpu": 1000, "pods": 9})
    old, web = (
        decode_workload(simulated.workload("Deployment", "web", 2, simulated.asking(cpu)), "default")
        for cpu in (old_cpu, "1500m")
    )
    book = Timeline((), Inventory())
    waiting = tuple(BoundPod(f"web-{i}", "", book.admitted(w, 8 + i)) for i, w in enumerate((old, web)))
    setting = SimulatedSet((node,), Inventory(), (web,), {0: waiting}, {0: changes})
    assert not setting.member(0).is_settled
    assert count(setting.member(0), "deploy").always_stuck
    assert is_enclosed(setting, "deploy")


@thorough
@given(nodes(), made("web", ("Deployment",), most=5))
def test_closed_forms_are_what_the_search_finds(cluster, web):
    setting = SimulatedSet(cluster, Inventory(), (web,))
    exact = placed(setting.member(0), web.replicas)
    assume(exact is not None)
    timeline = timeline_of(setting, (0,), expected=False, most_states=5000)
    assume(timeline.sound)
    ends = EventOutcomes(setting, (0,), [timeline], []).ends("deploy", 0)
    assert {e.outcome.bound for e in ends} == {exact.pods}, exact.why


def rollout_is_stuck(workload: Workload, replicas: int, domains: int) -> bool:
    """Self anti-affinity that selects both revisions: no domain is free for the new pod, and none is freed.

    Stuck exactly when maxUnavailable resolves to 0 and every domain is taken; with the defaults that is
    replicas = domains of 1, 2 or 3.
    """
    return rolling_bounds(workload.strategy, replicas)[1] == 0 and replicas >= domains


def test_a_rollout_without_a_spare_domain_is_stuck_exactly_where_the_closed_form_says():
    for domains in range(1, 5):
        cluster = tuple(Node(f"n{i}", {ZONE: f"z{i}"}, allocatable={"cpu": 4000, "pods": 110}) for i in range(domains))
        for replicas in range(1, domains + 1):
            web = _apart(replicas)
            setting = SimulatedSet(cluster, Inventory(), (web,))
            timeline = timeline_of(setting, (0,), expected=False, most_states=5000)
            ends = EventOutcomes(setting, (0,), [timeline], []).ends("rollout", 0)
            assert {not e.outcome.complete for e in ends} == {rollout_is_stuck(web, replicas, domains)}
            event_bounds = count(setting.member(0), "rollout")
            assert event_bounds.always_stuck == rollout_is_stuck(web, replicas, domains)


def test_a_daemon_set_lacks_nothing_where_its_only_node_is_lost():
    """Its pod fits nowhere; once the node is gone it wants none, although its affinity leaves room for none."""
    near = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOSTNAME}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    spec = {"affinity": affinity, "containers": [{"name": "c", "resources": {"requests": {"cpu": "8"}}}]}
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    meta = {"name": "web", "namespace": "default"}
    web = {"kind": "DaemonSet", "metadata": meta, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    room = {"cpu": 4000, "pods": 110}
    closed = Node("n1", {HOSTNAME: "n1"}, taints=(Taint("dedicated", "gpu", "NoSchedule"),), allocatable=room)
    cluster = (Node("n0", {HOSTNAME: "n0"}, allocatable=room), closed)
    setting = SimulatedSet(cluster, Inventory(), (decode_workload({"apiVersion": "apps/v1", **web}, "default"),))
    assert count(setting.member(0), "deploy").most.pods == 0
    assert count(setting.member(0), "node-loss").most.pods == 1


def test_a_new_template_removes_the_waiting_pods_of_a_lost_node():
    """The DaemonSet's pod waits on its node. The node goes and the template changes: the controller syncs."""
    node = Node("n0", {HOSTNAME: "n0"}, allocatable={"cpu": 4000, "pods": 110})
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "8"}}}]}
    labels = {"app": "web"}
    body = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}}
    web = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "web"}, "spec": body}
    what = Hypothesis("what if", NodeChange(lost=frozenset(["n0"])), rolls=True)
    setting = SimulatedSet((node,), Inventory(), (decode_workload(web, "default"),), supposed=what)
    timeline = timeline_of(setting, (0,), expected=False, most_states=5000)
    ends = EventOutcomes(setting, (0,), [timeline], []).ends("what if", 0)
    assert [(e.outcome.wanted, e.outcome.pending, is_stuck("what if", e)) for e in ends] == [(0, 0, False)]
    assert is_enclosed(setting, "what if")


def test_a_daemon_sets_pod_does_not_count_where_none_should_be():
    """Its pod runs on a node that it no longer selects; on the node that it selects it finds no room."""
    cluster = tuple(Node(n, {HOSTNAME: n}, allocatable={"cpu": c, "pods": 9}) for n, c in (("n0", 300), ("n1", 4000)))
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [container], "nodeSelector": {HOSTNAME: "n0"}}
    labels = {"app": "web"}
    body = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}}
    web = decode_workload({"kind": "DaemonSet", "metadata": {"name": "web"}, "spec": body}, "default")
    runs = {0: (BoundPod("web-0", "n1", Timeline((), Inventory()).admitted(web, 9)),)}
    setting = SimulatedSet(cluster, Inventory(), (web,), runs, {0: False})
    assert setting.member(0).kept == 0
    assert is_enclosed(setting, "deploy")


@pytest.mark.parametrize("event", ["node-loss", "zone-loss", "drain"])
@pytest.mark.parametrize("budget", [None, 0, 1])
@pytest.mark.parametrize("runs", [False, True])
def test_a_zone_that_is_lost_or_cordoned_limits_no_spread(event, budget, runs):
    """A zone without room holds the other one at one pod; once it is gone, all three may run there."""
    cluster = tuple(
        Node(f"n{zone}", {HOSTNAME: f"n{zone}", ZONE: zone}, allocatable={"cpu": cpu, "pods": 110})
        for zone, cpu in (("a", 300), ("b", 4000))
    )
    own = {"matchLabels": {"app": "web"}}
    rule = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "nodeTaintsPolicy": "Honor"}
    spec = {**simulated.asking("600m"), "topologySpreadConstraints": [{**rule, "labelSelector": own}]}
    web = decode_workload(simulated.workload("Deployment", "web", 3, spec), "default")
    selects = Selector((Requirement("app", "In", ("web",)),))
    budgets = () if budget is None else (DisruptionBudget("default", "keep", selects, max_unavailable=budget),)
    one = (BoundPod("web-0", "nb", Timeline((), Inventory()).admitted(web, 9)),)
    setting = SimulatedSet(cluster, Inventory(budgets=budgets), (web,), {0: one} if runs else {}, {0: False})
    assert count(setting.member(0), "deploy").is_bad
    assert count(setting.member(0), event).most.pods == 3
    assert is_enclosed(setting, event)


@pytest.mark.parametrize(("old", "stuck"), [(None, False), (81, False), (80, True)])
def test_a_surging_pod_waits_only_for_an_old_one_with_its_host_port(old, stuck):
    """A DaemonSet that runs on both nodes gets the host port 80."""

    def agent(port: int | None):
        ports = [{"containerPort": 80, "hostPort": port}] if port else []
        surging = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        spec = {"containers": [{"name": "c", "ports": ports}]}
        made = simulated.workload("DaemonSet", "agent", None, spec, updateStrategy=surging)
        return decode_workload(made, "default")

    cluster = tuple(Node(f"n{i}", {HOSTNAME: f"n{i}"}, allocatable={"cpu": 4000, "pods": 110}) for i in range(2))
    pod = Timeline((), Inventory()).admitted(agent(old), 9)
    runs = {0: tuple(BoundPod(f"agent-{i}", f"n{i}", pod) for i in range(2))}
    setting = SimulatedSet(cluster, Inventory(), (agent(80),), runs, {0: True})
    assert count(setting.member(0), "deploy").always_stuck is stuck
    assert is_enclosed(setting, "deploy")


@pytest.mark.parametrize(("cpu", "most"), [(1000, 3), (3000, 2)])
def test_a_pod_that_was_made_smaller_in_place_may_leave_room_for_a_new_one(cpu, most):
    """Two nodes of 4 CPUs hold a pod of 3 each, or one that somebody has resized, and a third one comes."""
    cluster = tuple(Node(f"n{i}", {HOSTNAME: f"n{i}"}, allocatable={"cpu": 4000, "pods": 110}) for i in range(2))
    web = decode_workload(simulated.workload("Deployment", "web", 3, simulated.asking("3")), "default")
    pod = Timeline((), Inventory()).admitted(web, 9)
    pods = replace(pod, requests={**pod.requests, "cpu": cpu}), pod
    runs = {0: tuple(BoundPod(f"web-{i}", f"n{i}", own) for i, own in enumerate(pods))}
    assert count(SimulatedSet(cluster, Inventory(), (web,), runs, {0: False}).member(0), "deploy").most.pods == most


@pytest.mark.parametrize(("cpu", "is_told"), [(1000, True), (3000, False)])
def test_where_a_pod_was_resized_in_place_no_search_is_believed(cpu, is_told):
    """A search takes all pods of one template for the first of them."""
    cluster = (Node("n0", {HOSTNAME: "n0"}, allocatable={"cpu": 8000, "pods": 110}),)
    web = decode_workload(simulated.workload("Deployment", "web", 2, simulated.asking("3")), "default")
    pod = Timeline((), Inventory()).admitted(web, 9)
    pod = replace(pod, labels={**pod.labels, revision_label(web): "abc"})
    pods = replace(pod, requests={**pod.requests, "cpu": cpu}), pod
    runs = {0: tuple(BoundPod(f"web-{i}", "n0", own) for i, own in enumerate(pods))}
    scope = preemption_scope(SimulatedSet(cluster, Inventory(), (web,), runs, {0: False}), (0,))
    assert (scope.uncounted, "different requests" in scope.untold) == (is_told, is_told), scope


def test_scaling_down_halves_what_has_no_autoscaler():
    setting = SimulatedSet((), Inventory(), (_apart(5),))
    assert size_after(setting.member(0), "scale-down") == 3


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize(("replicas", "stuck"), [(1, False), (3, True)])
def test_pods_that_repel_only_their_own_revision_share_a_node_in_a_rollout(replicas, stuck, near):
    """One per node of each revision: the new pod starts beside the old one, which a bound must not forbid."""
    web = _apart(replicas, HASHED, near=[HASHED] * near)
    cluster = (Node("n0", {HOSTNAME: "n0"}, allocatable={"cpu": 4000, "pods": 110}),)
    setting = SimulatedSet(cluster, Inventory(), (web,))
    timeline = timeline_of(setting, (0,), expected=False, most_states=5000)
    ends = EventOutcomes(setting, (0,), [timeline], []).ends("rollout", 0)
    assert {not e.outcome.complete for e in ends} == {stuck}
    event_bounds = count(setting.member(0), "rollout")
    assert event_bounds.always_stuck == stuck
    assert all(min(e.outcome.bound, replicas) <= event_bounds.most.pods for e in ends)


IN_ZONE = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": ZONE}


def _apart(replicas: int, term=IN_ZONE, near=()):
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {"podAntiAffinity": {required: [term]}} | ({"podAffinity": {required: near}} if near else {})
    spec = {"containers": [{"name": "c"}], "affinity": affinity}
    body = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": spec},
    }
    value = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": body}
    return decode_workload(value, "default")


@pytest.mark.parametrize("shape", ["apart", "spread"])
@pytest.mark.parametrize("keys", [[], ["pod-template-hash"]])
def test_revisions_that_do_not_see_each_other_are_not_said_to_be_stuck(shape, keys):
    """Found on a large cluster, where nobody searches: with matchLabelKeys the new pods have domains of their own."""
    if shape == "apart":
        spec = simulated.apart("web")
        terms = spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    else:
        terms = [
            {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "minDomains": 5,
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ]
        spec = {"topologySpreadConstraints": terms}
    if keys:
        terms[0]["matchLabelKeys"] = keys
    for each in (2, 10):
        result = simulated.report_of(
            simulated.sketch(each), simulated.workload("Deployment", "web", 3, spec), events=("rollout",)
        )
        here = simulated.cell(result, "web", "rollout")
        assert (here.verdict == "bad") == (not keys), here
        assert here.proven == (not keys) or here.verdict == "fine"


def test_one_per_node_bounds_what_a_spread_over_unequal_zones_lets_in():
    """Zones of 3, 3 and 1 nodes, one pod a node, skew 1: 2 + 2 + 1, fewer than the seven nodes or the zones' room."""
    cluster = tuple(
        Node(f"n{i}", {ZONE: f"z{i // 3}", HOSTNAME: f"n{i}"}, allocatable={"cpu": 4000, "pods": 110}) for i in range(7)
    )
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    spec = {**simulated.apart("web", HOSTNAME), "topologySpreadConstraints": [spread]}
    web = decode_workload(simulated.workload("Deployment", "web", 7, spec), "default")
    assert count(SimulatedSet(cluster, Inventory(), (web,)).member(0), "deploy").most.pods == 5


@pytest.mark.parametrize("event", ["node-loss", "zone-loss"])
@pytest.mark.parametrize("least", [None, 2])
def test_pods_that_a_spread_let_in_stay_when_the_loss_lowers_its_limit(event, least):
    """Two zones of two nodes hold four pods each. Without a node, or with too few domains, fewer could come now."""
    cluster = tuple(
        Node(f"n{i}", {ZONE: f"z{i // 2}", HOSTNAME: f"n{i}"}, allocatable={"cpu": 4000, "pods": 2}) for i in range(4)
    )
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **({} if least is None else {"minDomains": least}),
    }
    web = decode_workload(
        simulated.workload("Deployment", "web", 8, {"topologySpreadConstraints": [spread]}), "default"
    )
    assert is_enclosed(SimulatedSet(cluster, Inventory(), (web,)), event)
