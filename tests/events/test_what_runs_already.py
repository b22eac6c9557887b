"""Applying what runs already does nothing; scaling an unchanged template is no rollout; the unknown is told twice."""

from __future__ import annotations

from copy import deepcopy

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.cluster.revisions import by_revision, running_pods_of
from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS, FINE, UNKNOWN
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.scenario.scenario import Scenario
from tests.events.simulated import HOSTNAME, ZONE, apart, asking, cell, other, report_of, sketch, workload

NODES = ("w-a", "w-b", "w-c")


def running(live: dict, *nodes: str, template_hash: str = "abc", with_sets: bool = True) -> list[dict]:
    """The live object, its ReplicaSet and its pods as a snapshot has them."""
    kind, name, body = live["kind"], live["metadata"]["name"], live["spec"]
    live = deepcopy(live)
    live["metadata"]["namespace"] = "default"
    labels = {**body["template"]["metadata"]["labels"]}
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u", "controller": True}
    found = [live] if with_sets else []
    if kind == "Deployment":
        labels["pod-template-hash"] = template_hash
        set_name = f"{name}-{template_hash}"
        made = other("ReplicaSet", set_name, "apps/v1", spec={**deepcopy(body), "replicas": len(nodes)})
        made["metadata"] |= {"namespace": "default", "labels": labels, "ownerReferences": [owner]}
        made["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "1"}
        made["spec"]["template"]["metadata"]["labels"] = labels
        found += [made] if with_sets else []
        owner = {**owner, "kind": "ReplicaSet", "name": set_name}
    else:
        labels["controller-revision-hash"] = template_hash
    for i, node in enumerate(nodes):
        pod = other("Pod", f"{owner['name']}-{i}", spec={**deepcopy(body["template"]["spec"]), "nodeName": node})
        pod["metadata"] |= {"namespace": "default", "labels": labels, "ownerReferences": [owner]}
        found.append(pod)
    return found


WEB = workload("Deployment", "web", 3, apart("web", HOSTNAME))


def scaled(replicas: int) -> dict:
    return {**WEB, "spec": {**WEB["spec"], "replicas": replicas}}


@pytest.mark.parametrize(
    ("replicas", "text", "verdict"),
    [(3, "3/3 ok", FINE), (2, "2/2 ok", FINE), (4, "3/4 −1", BAD), (0, "no pods", "none")],
)
def test_an_unchanged_template_is_scaled_and_not_rolled_out(replicas, text, verdict):
    deployed = cell(report_of(sketch(1, "abc", "4", "110", *running(WEB, *NODES)), scaled(replicas)), "web", "deploy")
    assert (deployed.text, deployed.verdict) == (text, verdict)
    assert not deployed.stuck


@pytest.mark.parametrize(("at", "most"), [(NODES[:2], 3), (("w-a", "gone"), 5), (("gone",), 4), (("w-a", "w-a"), 5)])
def test_counting_adds_the_pods_that_stand_where_the_filters_let_in_none(at, most):
    """At most one pod a node, of three: those that run elsewhere stay beside three new ones."""
    live = scaled(6)
    manifests = replace(Inventory(), workloads=(decode_workload(live, "default"),))
    running_ones = running(live, *at)
    bounds = count(
        simulated_set_of(Scenario(manifests, sketch(1, "abc", "4", "110", *running_ones))).member(0), "deploy"
    )
    assert bounds.most.pods == most
    assert bounds.is_bad


@pytest.mark.parametrize(("at", "stuck"), [(NODES, True), (NODES[:2], False), ((*NODES[:2], "gone"), False)])
def test_counting_proves_a_rollout_stuck_that_starts_with_all_pods(at, stuck):
    """With fewer the rollout begins with the new pods that are missing, and another one may go then."""
    changed = deepcopy(WEB)
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "web:2"
    changed["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    manifests = replace(Inventory(), workloads=(decode_workload(changed, "default"),))
    setting = simulated_set_of(Scenario(manifests, sketch(1, "abc", "4", "110", *running(WEB, *at))))
    assert setting.changes[0] is True
    assert count(setting.member(0), "deploy").always_stuck is stuck


def test_a_changed_template_is_still_rolled_out():
    changed = deepcopy(WEB)
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "web:2"
    result = report_of(sketch(1, "abc", "4", "110", *running(WEB, *NODES)), changed)
    assert cell(result, "web", "deploy").text == "stuck"
    assert cell(result, "web", "deploy").proven


def test_where_nothing_that_pods_show_changes_only_an_image_may():
    result = report_of(sketch(1, "abc", "4", "110", *running(WEB, *NODES, with_sets=False)), WEB)
    deployed = cell(result, "web", "deploy")
    assert (deployed.text, deployed.proven) == ("3/3 ok", True)
    assert any("changes nothing of Deployment default/web that running pods show" in a for a in deployed.assumes)
    assert cell(result, "web", "rollout").text == "stuck"


LABELLED = deepcopy(WEB)
LABELLED["spec"]["template"]["metadata"]["labels"]["more"] = "by-a-webhook"
"""What runs if somebody else labels the pods of WEB, or if WEB lost a label: nobody can tell."""


def test_where_nobody_can_tell_both_are_told():
    result = report_of(sketch(1, "abc", "4", "110", *running(LABELLED, *NODES, with_sets=False)), WEB)
    deployed = cell(result, "web", "deploy")
    assert (deployed.text, deployed.verdict, deployed.proven) == ("may get stuck", DEPENDS, False)
    assert any("whether the manifest changes the template of Deployment default/web" in a for a in deployed.assumes)


def test_a_pod_that_cannot_be_of_the_template_tells_a_change():
    before = workload("Deployment", "web", 3)
    result = report_of(sketch(1, "abc", "4", "110", *running(before, *NODES, with_sets=False)), WEB)
    assert cell(result, "web", "deploy").text == "stuck"


def test_no_rollout_ends_where_no_node_has_the_label_of_a_spread():
    """The pods that run may stand anywhere, if an older template let them in: no new one passes the filter."""
    spread = {"maxSkew": 1, "topologyKey": f"{ZONE}s", "whenUnsatisfiable": "DoNotSchedule"}
    changed = workload("Deployment", "web", 3)
    changed["spec"]["template"]["spec"]["topologySpreadConstraints"] = [
        {**spread, "labelSelector": {"matchLabels": {"app": "web"}}}
    ]
    live = running(workload("Deployment", "web", 3), *NODES)
    result = report_of(sketch(1, "abc", "4", "110", *live), changed, events=("deploy", "rollout"))
    for event in ("deploy", "rollout"):
        rolled = cell(result, "web", event)
        assert (rolled.text, rolled.always_stuck, rolled.proven) == ("stuck", True, True)
        assert f"no node that it may use has the label {ZONE}s" in rolled.why


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_an_unchanged_set_keeps_its_pods(kind):
    """The nodes have become too small for a pod: what stands stays, and a rollout would not come through."""
    live = workload(kind, "db", None if kind == "DaemonSet" else 3, asking("3"))
    standing = running(live, *NODES)
    result = report_of(sketch(1, "abc", "2", "110", *standing), live)
    assert cell(result, "db", "deploy").text == "3/3 ok"
    assert cell(result, "db", "rollout").verdict == BAD


def test_pods_that_stand_where_none_would_be_let_in_count_after_a_loss():
    """Two stand in one zone since before the rule: losing a zone may leave both."""
    live = workload("Deployment", "web", 3, apart("web", ZONE))
    cluster = sketch(12, "abc", "4", "110", *running(live, "w-a-1", "w-a-2", "w-b-1"))
    lost = cell(report_of(cluster, live, states=1), "web", "zone-loss")
    assert lost.bound.most == 3


def test_the_newest_revision_is_that_of_the_newest_replicaset():
    """Amid a stuck rollout one pod is new: applying the same manifest goes on with it, and does not start anew."""
    new = deepcopy(WEB)
    new["spec"]["template"]["spec"]["containers"][0]["image"] = "web:2"
    old_set, *old_pods = running(WEB, "w-a", "w-b")[1:]
    live, new_set, *new_pods = running(new, "w-c", template_hash="xyz")
    new_set["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = "2"
    cluster = sketch(1, "abc", "4", "110", live, new_set, old_set, *new_pods, *old_pods)
    (web,) = cluster.inventory.workloads
    ordered = by_revision(web, running_pods_of(web, cluster), cluster)
    assert [bound.node for bound in ordered] == ["w-a", "w-b", "w-c"]
    deployed = cell(report_of(cluster, new), "web", "deploy")
    assert deployed.text == "stuck"
    assert deployed.worst is not None
    assert deployed.worst.lines == ("deploy: nothing moves",)


@pytest.mark.parametrize(
    ("written", "version", "said"),
    [
        (2, "1.36", True),
        ("50%", "1.35.4", True),
        (1, "1.36", False),
        (None, "1.36", False),
        (2, "1.37", False),
        (2, "1.35.3", False),
    ],
)
def test_max_unavailable_of_a_statefulset_is_said_to_do_nothing_while_its_gate_is_off(written, version, said):
    rolling = {} if written is None else {"maxUnavailable": written}
    db = workload("StatefulSet", "db", 3, updateStrategy={"type": "RollingUpdate", "rollingUpdate": rolling})
    rollout = cell(report_of(sketch(), db, version=version), "db", "rollout")
    assert any("MaxUnavailableStatefulSet" in a for a in rollout.assumes) == said


def test_a_pod_that_a_replicaset_lacks_comes_before_or_after_the_new_ones():
    """Nobody of the old revision stands yet: an old pod may take the only place, and then no surge pod fits."""
    live = workload("Deployment", "web", 1, asking("3"))
    changed = deepcopy(live)
    changed["spec"]["template"]["spec"] |= apart("web", HOSTNAME)
    (deployment, replica_set, _) = running(live, "w")
    replica_set["spec"]["replicas"] = 1
    deployed = cell(report_of(sketch(1, "a", "4", "110", deployment, replica_set), changed), "web", "deploy")
    assert (deployed.verdict, deployed.proven) == (DEPENDS, False)


def test_pods_of_two_revisions_are_not_all_of_the_template_even_where_no_new_one_is_created():
    limits = other("LimitRange", "l", spec={"limits": [{"type": "Container", "max": {"cpu": "50m"}}]})
    limits["metadata"]["namespace"] = "default"
    web = workload("Deployment", "web", 2)
    old = deepcopy(web)
    old["spec"]["template"]["spec"]["containers"][0]["image"] = "web:0"
    (_, before, first), (live, newest, second) = running(old, "w-a", template_hash="old"), running(web, "w-b")
    newest["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = "2"
    both = report_of(sketch(1, "ab", "4", "110", limits, before, first, live, newest, second), web)
    assert cell(both, "web", "deploy").verdict != FINE
    one = report_of(sketch(1, "ab", "4", "110", limits, *running(web, "w-a", "w-b")), web)
    assert cell(one, "web", "deploy").verdict == FINE


def test_pods_whose_affinity_nobody_answers_any_more_stay_when_another_node_is_drained():
    """Counting says that no new pod is let in: the one that stands is not one of those."""
    near = {"labelSelector": {"matchLabels": {"app": "gone"}}, "topologyKey": ZONE}
    lonely = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}}
    web = workload("Deployment", "web", 1, lonely)
    drained = cell(report_of(sketch(1, "ab", "4", "110", *running(web, "w-a")), web, states=1), "web", "drain")
    assert drained.bound.most == 1


def test_others_say_too_that_nobody_knows_whether_a_template_changes():
    db = workload("Deployment", "db", 1, apart("web", HOSTNAME))
    result = report_of(sketch(1, "abc", "4", "110", *running(LABELLED, *NODES, with_sets=False)), WEB, db)
    assert any("the template of Deployment default/web" in a for a in cell(result, "db", "deploy").assumes)


def test_of_two_templates_one_may_change_and_the_other_not():
    """Only where that of db changes, which then asks for less, and that of web does not, both pods of web fit."""
    web, db = workload("Deployment", "web", 2, asking("2500m")), workload("Deployment", "db", 1, asking("100m"))
    before = (workload("Deployment", "web", 1, asking("600m")), workload("Deployment", "db", 1, asking("3")))
    standing = [pod for live in before for pod in running(live, "w", with_sets=False)]
    deployed = cell(report_of(sketch(1, "a", "4", "110", *standing), web, db), "web", "deploy")
    assert (deployed.verdict, deployed.proven) == (DEPENDS, False)


def test_amid_a_rollout_the_size_that_is_meant_is_no_change():
    """One old pod is left of two: it is not scaled up again before the new ones are made."""
    live = workload("Deployment", "web", 2)
    old = deepcopy(live)
    old["spec"]["template"]["spec"]["containers"][0]["image"] = "web:0"
    (_, before, standing), (deployment, newest) = running(old, "w", template_hash="old"), running(live)
    newest["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = "2"
    manifests = replace(Inventory(), workloads=(decode_workload(live, "default"),))
    setting = simulated_set_of(Scenario(manifests, sketch(1, "a", "4", "110", deployment, before, standing, newest)))
    timeline = timeline_of(setting, [0], expected=True, most_states=100)
    starts = timeline.phases[0].origins
    assert starts
    assert all(timeline.pod_types.slots[slot].revision > 0 for start in starts for slot, _, _ in start.waiting)


def test_an_old_pod_that_is_yet_to_come_may_go_where_no_new_one_may():
    """It tolerates the cordon, and lands on the drained node."""
    old, web = (
        workload("Deployment", "web", 1, {"tolerations": [{"operator": "Exists"}]}),
        workload("Deployment", "web", 1),
    )
    (deployment, replica_set, _) = running(old, "w")
    drained = cell(report_of(sketch(1, "a", "4", "110", deployment, replica_set), web, states=1), "web", "drain")
    assert drained.bound.most == 1


def test_new_pods_of_the_template_that_runs_may_get_more_from_a_limit_range():
    """One runs without requests; with those of the LimitRange no other fits."""
    live = workload("Deployment", "web", 2, {"containers": [{"name": "c"}], **apart("web", HOSTNAME)})
    limits = other("LimitRange", "limits", spec={"limits": [{"type": "Container", "defaultRequest": {"cpu": "3"}}]})
    cluster = sketch(1, "ab", "2", "110", *running(live, "w-a"))
    assert cell(report_of(cluster, live, events=("deploy",)), "web", "deploy").verdict == FINE
    deployed = cell(report_of(cluster, limits, live, events=("deploy",)), "web", "deploy")
    assert (deployed.verdict, deployed.bound.least) == (UNKNOWN, 1)
    assert "get other requests from a LimitRange" in deployed.missing[-1]


@pytest.mark.parametrize("is_stored", [True, False])
@pytest.mark.parametrize("replicas", [2, 1])
def test_a_workload_whose_new_pods_are_refused_may_still_take_pods_away(replicas, is_stored):
    """A quota wants requests said: no new pod of web comes, and what a smaller web frees is there for db.

    A quota that comes with db refuses nothing until its status has been written, and db may be quicker.
    """
    live = workload("Deployment", "web", 2, {"containers": [{"name": "c"}]})
    smaller = {**live, "spec": {**live["spec"], "replicas": replicas}}
    quota = other("ResourceQuota", "q", spec={"hard": {"pods": "2", "requests.cpu": "4"}})
    quota["metadata"]["namespace"] = "default"
    there, here = ((quota,), ()) if is_stored else ((), (quota,))
    cluster = sketch(1, "abc", "4", "110", *running(live, "w-a", "w-b"), *there)
    deployed = cell(
        report_of(cluster, *here, smaller, workload("Deployment", "db", 1), events=("deploy",)), "db", "deploy"
    )
    if replicas == 2:
        assert (deployed.verdict, deployed.bound.most, deployed.proven) == (BAD, 0, is_stored)
        assert ("quota q is in force before the pods are made" in deployed.assumes) is not is_stored
    else:
        assert deployed.verdict == UNKNOWN
        assert "may be taken away" in deployed.missing[-1]


def test_where_no_pod_is_made_anew_the_few_that_run_are_too_few():
    """A LimitRange refuses new pods of a DaemonSet that wants three and has one, or two where one is lost."""
    limit = other("LimitRange", "small", spec={"limits": [{"type": "Container", "max": {"cpu": "50m"}}]})
    limit["metadata"]["namespace"] = "default"
    agent = workload("DaemonSet", "agent", None)
    result = report_of(sketch(1, "abc", "4", "110", limit, *running(agent, "w-a-1")), agent)
    for event in ("deploy", "rollout", "node-loss", "drain"):
        found = cell(result, "agent", event)
        assert (found.verdict, found.bound.most, found.missing) == (BAD, 1, ()), event
    pair = report_of(sketch(1, "ab", "4", "110", limit, *running(agent, "w-a-1")), agent)
    assert cell(pair, "agent", "node-loss").verdict == UNKNOWN, "the lost node may be the one that lacks its pod"


@pytest.mark.parametrize("version", ["1.35.3", "1.36", "1.37"])
def test_which_ordinals_of_a_parallel_statefulset_wait_is_not_tried_one_by_one(version):
    """18 of 24 pods wait: there are 134,596 choices of them, and an update tells only a few apart."""
    db = workload("StatefulSet", "db", 24, asking("3"), podManagementPolicy="Parallel")
    rollout = cell(report_of(sketch(2, "abc", "4"), db, events=("rollout",), version=version), "db", "rollout")
    assert rollout.verdict == "bad"
