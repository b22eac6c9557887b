"""Where a set is too large for a search, courses with some pods first and others last find both ends of an event."""

from __future__ import annotations

import yaml

from kubesched_lint.engine.events.answers.cells import BAD, BY_SCORES, DEPENDS, FINE, LIKELY
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.pod import BoundPod, Owner
from kubesched_lint.engine.runs.aims import Aim
from kubesched_lint.engine.runs.courses import Courses, Effort, Steps
from kubesched_lint.sources.clusters.read import cluster_from
from tests.events.simulated import HOSTNAME, ZONE, apart, asking, cell, report_of, sketch, workload


def deployed(cluster, *objects):
    return report_of(cluster, *objects, events=("deploy",))


def test_who_always_comes_early_comes_last_in_one_course():
    """27 nodes with room for one pod each: 27 pods of one workload leave the other none when they are quicker."""
    found = deployed(sketch(9, pods="1"), workload("Deployment", "one", 1), workload("Deployment", "many", 27))
    alone = cell(found, "one", "deploy")
    assert alone.verdict == DEPENDS
    assert alone.worst is not None
    assert alone.best is not None
    assert (alone.worst.bound, alone.best.bound) == (0, 1)


def test_who_always_comes_late_comes_first_in_one_course():
    """20 pods of one workload find room beside 200 small ones only while no small one has taken it."""
    small = workload("Deployment", "small", 216, asking("500m"))
    large = workload("Deployment", "large", 20, asking("4"))
    found = deployed(sketch(9), small, large)
    assert cell(found, "large", "deploy").verdict == DEPENDS


def test_with_room_to_spare_no_course_ends_badly():
    found = deployed(sketch(9, pods="1"), workload("Deployment", "one", 1), workload("Deployment", "many", 26))
    assert cell(found, "one", "deploy").verdict == FINE


def aimed(monkeypatch) -> list[str]:
    """Return a list to which each course is added that aims at a workload: the name of that."""
    names, original = [], Courses.ends

    def ends(self, event, number, aim=None, **more):
        names.extend([self.simulated.workloads[number].name] if aim else [])
        return original(self, event, number, aim, **more)

    monkeypatch.setattr(Courses, "ends", ends)
    return names


def test_no_course_aims_at_pods_beside_which_one_more_finds_room(monkeypatch):
    """Counting does not prove that one may run: many may come near it. But 5 of 27 nodes are empty in the end."""
    names = aimed(monkeypatch)
    near_many = workload("Deployment", "one", 1, beside("many", ZONE))
    found = deployed(sketch(9, pods="1"), near_many, workload("Deployment", "many", 21))
    assert cell(found, "one", "deploy").verdict == LIKELY
    assert not names


def test_pods_that_no_order_gives_a_node_displace_nobody(monkeypatch):
    """The pods of one workload wait for a label that no node has: a course with them first is like any other."""
    names = aimed(monkeypatch)
    waiting = workload("Deployment", "lost", 3, {**asking("1"), "nodeSelector": {"pool": "none"}})
    near_many = workload("Deployment", "one", 1, beside("many", ZONE))
    deployed(sketch(9, pods="1"), waiting, near_many, workload("Deployment", "many", 21))
    assert "one" not in names
    fits = workload("Deployment", "late", 9, asking("1"))
    deployed(sketch(9, pods="1"), fits, near_many, workload("Deployment", "many", 21))
    assert "one" in names, "a pod of late waits, which may come before it"


def test_who_always_finds_room_comes_last_behind_others_in_several_orders():
    """Of 27 nodes some are full for an agent of half a core only where the others come in a lucky order."""
    others = [
        workload("Deployment", "nine", 9, asking("2")),
        workload("DaemonSet", "large", None, asking("1500m")),
        workload("Deployment", "one", 1, asking("3")),
        workload("Deployment", "twenty", 20, asking("2")),
    ]
    agents = workload("DaemonSet", "agent", None, asking("500m"))
    found = cell(deployed(sketch(9), *others, agents), "agent", "deploy")
    assert found.verdict == DEPENDS
    assert found.worst is not None


def test_what_ends_alike_in_every_course_is_not_proven():
    """Any scheduler may fill each node with small pods; the default one leaves room on all of them in every course."""
    small = workload("Deployment", "small", 60, asking("1"))
    agents = workload("DaemonSet", "agent", None, asking("500m"))
    found = deployed(sketch(9), small, agents)
    agent = cell(found, "agent", "deploy")
    assert (agent.verdict, agent.proven) == (BY_SCORES, False)


def beside(app: str, key: str):
    """Required affinity to pods of an app."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def test_no_more_run_than_fit_beside_those_that_they_must_be_near():
    """3 pods stand on 3 nodes at most: of 30 that want to be on theirs, 2 cores each, one finds room beside each."""
    hosts, many = workload("Deployment", "db", 3), workload("Deployment", "web", 30, beside("db", HOSTNAME))
    many["spec"]["template"]["spec"]["containers"] = asking("2")["containers"]
    result = report_of(sketch(9), hosts, many)
    found = cell(result, "web", "deploy")
    assert (found.verdict, found.bound.most) == (BAD, 3)
    assert found.text.startswith("0–3/30"), "nothing ran before, so that nothing is stuck"
    assert cell(result, "web", "rollout").text.startswith("stuck")
    assert found.why == "room for 3 in the nodes of the 3 pods that its affinity selects"


def test_with_a_node_go_both_the_pods_and_those_that_they_must_be_near():
    """A lost host comes back elsewhere, where one pod more finds room; but the one beside it has gone with its node."""
    many = workload("Deployment", "web", 5, {**asking("2"), **beside("db", HOSTNAME)})
    result = report_of(sketch(9), workload("Deployment", "db", 3), many)
    for event in ("node-loss", "zone-loss"):
        found = cell(result, "web", event)
        assert (found.verdict, found.bound.most) == (BAD, 3)
    assert cell(result, "web", "drain").bound.most == 5, "a budget may keep pods where no host is any more"


def test_a_daemonset_has_no_pod_where_the_key_of_its_affinity_is_missing():
    zoned = [{"name": "z", "count": 24, "zones": ["a"], "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}}]
    bare = [{"name": "bare", "count": 2, "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}}]
    value = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": zoned + bare}
    cluster = cluster_from([("cluster.yaml", yaml.safe_dump(value).encode())], "cluster.yaml")
    agents = workload("DaemonSet", "agent", None, beside("agent", ZONE))
    found = cell(deployed(cluster, agents), "agent", "deploy")
    assert (found.verdict, found.bound.most, found.wanted) == (BAD, 24, 26)


def test_where_each_loss_is_bad_the_example_is_the_node_with_the_most_pods():
    result = report_of(sketch(10, "abc", "4"), workload("Deployment", "web", 5, apart("web")))
    for event, gone in (("node-loss", "lost"), ("drain", "drained")):
        found = cell(result, "web", event).deleted or cell(result, "web", event)
        assert (found.verdict, found.proven, found.text) == (BAD, True, "3/5 −2")
        deployed, lost = found.worst.lines
        node = lost.partition(f" is {gone}")[0]
        assert f" {node}" in deployed


def test_a_workload_whose_courses_are_long_leaves_steps_to_those_after_it():
    steps = Steps(1_000)
    assert steps.of(0, rows=10, least=50) == 200, "twice a tenth: most workloads take no step"
    steps.take(200)
    assert steps.of(0, rows=10, least=50) == 0
    assert steps.of(1, rows=10, least=50) == 2 * 800 / 9
    assert steps.of(2, rows=10, least=300) == 300, "less would be enough for nothing"
    assert steps.of(7, rows=3, least=50) == 800, "the last one may take all that is left"


def test_unknown_manifests_change_all_in_one_course_and_nothing_in_the_other():
    """Each case would make all courses anew: with three manifests of which nobody knows, eight times as many."""
    made = [decode_workload(workload("Deployment", name, 1), "default") for name in "abc"]
    running = {
        i: (BoundPod(each.name, "w-a-1", each.pod, Owner("ReplicaSet", f"{each.name}-x")),)
        for i, each in enumerate(made)
    }
    nodes = sketch().inventory.nodes
    simulated = SimulatedSet(nodes, Inventory(), tuple(made), running=running, changes=dict.fromkeys(running))
    courses = Courses(simulated, Effort(), lambda members: False)
    first = courses.event_outcomes(0).deployed
    assert [timeline.runs for timeline in first] == [1, 1]
    revisions = [[len(kinds) for kinds in timeline.pod_types.revisions] for timeline in first]
    assert revisions == [[2, 2, 2], [1, 1, 1]]


def test_a_course_aims_from_the_event_on_where_the_deployment_is_sure():
    """It goes on from the deployment of courses without an aim; an event in which nobody else waits is not begun."""
    several = [decode_workload(workload("Deployment", name, 2, asking("500m")), "default") for name in ("web", "db")]
    setting = SimulatedSet(sketch(2, "ab", "4").inventory.nodes, Inventory(), tuple(several))
    courses = Courses(setting, Effort(runs=1), lambda members: False)
    plain = courses.event_outcomes(0).deployed[0]
    later = Aim(0, first=False, later=True)
    aimed = courses.event_outcomes(0, later).deployed[0]
    assert aimed.states[0] is plain.states[0]
    assert aimed.phases == plain.phases
    assert [*aimed.precedence.values()] == [0, 1], "after the event, its pods are tried last"
    assert courses.ends("node-loss", 0, later)
    assert courses.ends("rollout", 0, later) == []
    assert courses.ends("rollout", 0, Aim(0, first=False)), "after a deployment of its own it may tell more"
