"""Work that several cells need is done once, and what only one workload needs is not kept."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.simulate import run
from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.bounds.competition import full_nodes
from kubesched_lint.engine.bounds.competition.contenders import _selected as selected
from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.cluster.pods.known_pods import KnownPods
from kubesched_lint.engine.events.answers.cells import NONE, UNKNOWN
from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.search.hypotheses import NodeChange
from kubesched_lint.engine.events.search.node_events import drain, lose
from kubesched_lint.engine.events.start.shapes import shape
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.events.transitions import budget_counts
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.runs import courses
from kubesched_lint.engine.runs.aims import Aim
from kubesched_lint.engine.runs.courses import Courses, Effort
from kubesched_lint.engine.runs.event_outcomes import with_new_template
from tests.events.simulated import apart, asking, report_of, sketch, workload


def simulated_set_of(*manifests) -> SimulatedSet:
    nodes = tuple(
        Node(f"n{i}", {HOSTNAME: f"n{i}", ZONE: "abc"[i % 3]}, allocatable={"cpu": 4000, "memory": 8 << 30, "pods": 9})
        for i in range(6)
    )
    return SimulatedSet(
        nodes, Inventory(), tuple(decode_workload(m, "default", None, i) for i, m in enumerate(manifests))
    )


@pytest.fixture
def alone(monkeypatch) -> Courses:
    """Courses of two workloads, each followed by itself, as in a large set."""
    monkeypatch.setattr(courses, "FEW_RUN", 0)
    monkeypatch.setattr(courses, "MOST_AIMED", 0)
    setting = simulated_set_of(*(workload("Deployment", name, 2, asking("1")) for name in ("a", "b")))
    return Courses(setting, Effort(), lambda members: False)


def test_with_nobody_beside_it_courses_aimed_at_a_workload_share_its_deployment(alone):
    aims = [alone.event_outcomes(0, Aim(0, first)) for first in (True, False)]
    assert aims[0].deployed is aims[1].deployed
    assert aims[0].nodes != aims[1].nodes, "one loses the nodes with the fewest pods, the other those with the most"


def test_courses_of_one_workload_are_forgotten_after_it(alone):
    before = alone.event_outcomes(0)
    alone.event_outcomes(1)
    after = alone.event_outcomes(0)
    assert after.deployed is not before.deployed
    assert after.deployed[0].states == before.deployed[0].states


def test_aimed_courses_follow_nothing_where_counting_proves_how_each_ends(alone):
    """Two pods always find room in the empty cluster; of seven that need a node each, one never does."""
    tight = simulated_set_of(workload("Deployment", "a", 7, asking("3")), workload("Deployment", "b", 2, asking("1")))
    for followed, proven in ((alone, True), (Courses(tight, Effort(), lambda members: False), False)):
        for event in ("deploy", "node-loss", "drain"):
            assert followed.ends(event, 0)
            assert bool(followed.ends(event, 0, Aim(0, first=True))) is not proven


def test_older_pods_of_its_own_are_rivals_of_a_workload_alone(monkeypatch):
    """Each new pod of 1 core waits for an old one of 3.5: no course of the rollout ends well."""
    monkeypatch.setattr(courses, "FEW_RUN", 0)
    monkeypatch.setattr(courses, "MOST_AIMED", 0)
    several = [workload("Deployment", name, 6, asking("1")) for name in ("a", "b")]
    plain = simulated_set_of(*several)
    assert Courses(plain, Effort(), lambda members: False).always_ends_well("rollout", 0)
    pod = plain.pods[0]
    old = replace(pod, labels={**pod.labels, "pod-template-hash": "old"}, requests={**pod.requests, "cpu": 3500})
    runs = {0: tuple(BoundPod(f"a-{i}", f"n{i}", old) for i in range(6))}
    running = replace(plain, running=runs, changes={0: True})
    assert not Courses(running, Effort(), lambda members: False).always_ends_well("rollout", 0)


def test_equal_workloads_share_the_bound_on_full_nodes(monkeypatch):
    asked = []
    original = full_nodes.Filling

    def counting(*arguments):
        asked.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(full_nodes, "Filling", counting)
    crowd = [workload("Deployment", f"crowd{i}", 3, asking("700m")) for i in range(3)]
    twins = [workload("Deployment", name, 2, {**asking("1500m"), **apart(name)}) for name in ("a", "b", "c")]
    setting = simulated_set_of(*crowd, *twins)
    first = [str(count(setting.member(3), event).least) for event in ("deploy", "zone-loss")]
    once = len(asked)
    assert once
    assert [[str(count(setting.member(i), e).least) for e in ("deploy", "zone-loss")] for i in (4, 5)] == [first, first]
    assert len(asked) == once


def test_cells_are_told_although_the_work_is_used_up(monkeypatch):
    """What follows the cells has steps of its own: else every cell would be lost with the last one."""
    monkeypatch.setattr(run, "MOST_STEPS", 5_000)
    several = [workload("Deployment", f"w{i}", 4, asking("900m")) for i in range(8)]
    found = report_of(sketch(2, "abc", "8"), workload("Deployment", "one", 1), *several)
    verdicts = {cell.verdict for row in found.rows for cell in row.cells} - {NONE}
    assert UNKNOWN in verdicts, "the work sufficed, so that nothing is tried"
    assert verdicts != {UNKNOWN}
    assert not any("nothing was simulated" in note for note in found.notes)


def test_workloads_alike_share_the_deployment_of_others_against_them():
    agents = [workload("DaemonSet", name, None, asking(cpu)) for name, cpu in (("a", "1"), ("b", "1"), ("c", "2"))]
    setting = simulated_set_of(*agents, workload("Deployment", "web", 4, asking("1")))
    followed = Courses(setting, Effort(), lambda members: False)
    timelines = [followed.event_outcomes(i, Aim(i, first=False, against=True)).deployed[0] for i in range(3)]
    others, own = zip(*(timeline.phases for timeline in timelines), strict=True)
    assert others[0] is others[1]
    assert others[0] is not others[2]
    for i, timeline in enumerate(timelines):
        assert own[i].name == "deploy"
        assert {setting.workloads[i].key, setting.workloads[3].key} == set(timeline.numbers), "others are not in it"


def test_each_end_of_a_deployment_is_continued_on_nodes_of_its_own(monkeypatch):
    """Four courses end far apart, and a rollout of each workload starts from all of them: one model would go to and
    fro. Whether they share one changes nothing else."""
    setting = simulated_set_of(*(workload("Deployment", name, 3, asking("300m")) for name in "abc"))
    original, ends = Timeline.model, []
    for model in (original, lambda self, place=0: original(self)):
        monkeypatch.setattr(Timeline, "model", model)
        timeline = timeline_of(setting, range(3), expected=True, most_states=0, runs=4, seed=1)
        before = len(timeline.states)
        for one in setting.workloads:
            timeline.rollout(with_new_template(one))
        shown = [timeline.model(place)._shown for place in range(before)]
        assert len(set(shown)) == (before if model is original else 1)
        ends.append(timeline.states)
    assert before > 2
    assert ends[0] == ends[1]


def test_workloads_of_one_shape_share_their_skews(monkeypatch):
    def spread(name, pods, cpu):
        constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
        selects = {"labelSelector": {"matchLabels": {"app": name}}}
        return workload("Deployment", name, pods, {**asking(cpu), "topologySpreadConstraints": [constraint | selects]})

    several = [spread("a", 2, "1"), spread("b", 2, "1"), spread("c", 3, "1"), spread("d", 2, "2")]
    asked, original = [], run.skews

    def counting(member, **more):
        asked.append(member.workload.name)
        return original(member, **more)

    monkeypatch.setattr(run, "skews", counting)
    shared = report_of(sketch(3, "abc", "8"), *several, events=("deploy",)).skews
    assert asked == ["a", "c", "d"]
    monkeypatch.setattr(run, "shape", lambda *_: None)
    assert same_values(report_of(sketch(3, "abc", "8"), *several, events=("deploy",)).skews, shared)
    assert {each.workload.name for each in shared} == {"a", "b", "c", "d"}


def test_nobody_runs_a_set_for_skews_that_no_report_shows(monkeypatch):
    """No cell needs them, and each takes twenty runs; with them, the cells are the same."""
    spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    selects = {"labelSelector": {"matchLabels": {"app": "web"}}}
    web = workload("Deployment", "web", 3, {**asking("1"), "topologySpreadConstraints": [spread | selects]})
    told = report_of(sketch(3, "abc", "8"), web)
    monkeypatch.setattr(run, "skews", lambda *_, **__: pytest.fail("nobody asked for skews"))
    untold = report_of(sketch(3, "abc", "8"), web, skews=False)
    assert told.skews
    assert not untold.skews
    assert same_values(told.rows, untold.rows)


def test_workloads_with_other_preferences_are_of_another_shape():
    """Scores decide the skew of what need not spread: only one of the two prefers to."""
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "b"}}}
    wishes = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}
    plain, apart_by_wish = asking("1"), {**asking("1"), "affinity": {"podAntiAffinity": wishes}}
    several = [workload("Deployment", "a", 4, plain), workload("Deployment", "b", 4, apart_by_wish)]
    for pair in (several, several[::-1]):
        found = report_of(sketch(3, "abc", "8"), *pair)
        assert {each.workload.name for each in found.skews} == {"b"}


@pytest.mark.parametrize(("home", "is_shared"), [("kube-system", True), ("default", False)])
def test_running_pods_that_a_workload_may_meet_keep_it_from_sharing(home, is_shared):
    """A pod of its namespace may have labels that its selectors or those of its scores match."""
    several = [workload("Deployment", name, 2, asking("1")) for name in ("a", "b")]
    plain = simulated_set_of(*several)
    pod = replace(plain.pods[0], namespace=home, labels={"app": "a"})
    setting = replace(plain, objects=Inventory(pods=(BoundPod("other", "n0", pod),)))
    assert (shape(setting.member(0)) == shape(setting.member(1)) is not None) is is_shared


def test_a_running_pod_that_repels_others_keeps_those_it_may_reach_from_sharing():
    far = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": HOSTNAME, "namespaces": ["default"]}
    spec = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [far]}}}
    several = [workload("Deployment", name, 2, asking("1")) for name in ("a", "b")]
    plain, guard = simulated_set_of(*several), simulated_set_of(workload("Deployment", "guard", 1, spec)).pods[0]
    pods = (BoundPod("guard", "n0", replace(guard, namespace="kube-system")),)
    assert shape(replace(plain, objects=Inventory(pods=pods)).member(0)) is None


def test_pods_of_a_set_are_stored_once_whoever_is_beside_them() -> None:
    """What is kept for each workload is shared: ten thousand of them have it in memory together."""
    whole = simulated_set_of(*(workload("Deployment", name, 2, asking("1")) for name in ("a", "b", "c")))
    part, few = whole.beside((1,)), whole.among((0, 2))
    assert part.admission is whole.admission is few.admission
    assert part.selection is whole.selection
    assert selected(whole) is whole.selection, "each workload has one contender"
    assert len(whole.admission._stored) == 3, "no later revision is stored that nobody asks for"


def test_timelines_on_a_few_nodes_share_the_nodes_after_a_loss() -> None:
    setting = simulated_set_of(*(workload("Deployment", name, 2, asking("1")) for name in ("a", "b")))
    timelines = [timeline_of(setting, [i], expected=True, most_states=0, runs=1, seed=1) for i in (0, 1)]
    for timeline in timelines:
        lose(timeline, ["n0"])
    assert timelines[0].index is timelines[1].index is not setting.index
    assert timelines[0].model() is not timelines[1].model(), "they have other pods"


def test_what_is_known_of_pods_outlasts_a_loss() -> None:
    plain = simulated_set_of(workload("Deployment", "a", 2, asking("1")))
    objects = Inventory(pods=tuple(BoundPod(f"other-{i}", f"n{i}", plain.pods[0]) for i in range(2)))
    left = NodeChange(lost=frozenset(["n0"])).objects(objects)
    assert [bound.node for bound in left.pods] == ["n1"]
    assert KnownPods.of(left) is KnownPods.of(objects)


def test_budgets_select_pods_once_for_all_phases(monkeypatch) -> None:
    asked, original = [], budget_counts.covers

    def counting(budget, namespace, labels):
        asked.append(labels["app"])
        return original(budget, namespace, labels)

    monkeypatch.setattr(budget_counts, "covers", counting)
    plain = simulated_set_of(*(workload("Deployment", name, 2, asking("1")) for name in ("a", "b")))
    budgets = tuple(DisruptionBudget("default", name, Selector(), min_available=1) for name in ("x", "y"))
    setting = replace(plain, objects=Inventory(budgets=budgets))
    timeline = timeline_of(setting, [0, 1], expected=True, most_states=0, runs=1, seed=1)
    once = None
    for node in setting.index.names:
        drain(timeline.fork(), node)
        once = once or len(asked)
    assert once
    assert len(asked) == once
