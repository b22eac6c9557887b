"""Jobs and CronJobs in the matrix, and DaemonSet pods that waited in the snapshot already."""

from __future__ import annotations

import pytest

from kubesched_lint.commands.simulate import cron_jobs
from kubesched_lint.engine.base import work
from kubesched_lint.engine.controllers.daemonset import pinned, pinned_to
from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS, FINE, NONE, UNKNOWN
from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import HOSTNAME, Node
from kubesched_lint.engine.model.pod import BoundPod
from tests.events.simulated import asking, cell, report_of, sketch, workload


def job(parallelism, completions, cpu="100m"):
    spec = {"template": {"spec": {"restartPolicy": "Never", **asking(cpu)}}}
    spec |= {} if parallelism is None else {"parallelism": parallelism}
    spec |= {} if completions is None else {"completions": completions}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": spec}


@pytest.mark.parametrize(
    ("parallelism", "completions", "wanted"),
    [(None, None, 1), (4, None, 4), (4, 2, 2), (2, 9, 2), (None, 9, 1), (0, 3, 0)],
)
def test_a_job_runs_as_many_pods_as_parallelism_allows_and_completions_need(parallelism, completions, wanted):
    here = cell(report_of(sketch(), job(parallelism, completions), events=("deploy",)), "once", "deploy")
    assert here.text == (f"{wanted}/{wanted} ok" if wanted else "no pods")


def test_a_jobs_pods_take_turns_where_room_is_short():
    result = report_of(sketch(1, "abc", "4"), job(4, None, "3"), events=("deploy", "node-loss", "rollout"))
    assert cell(result, "once", "deploy").text == "3/4 at once"
    assert cell(result, "once", "deploy").verdict == FINE, "pods of a Job end, and the fourth has its turn"
    assert cell(result, "once", "node-loss").text == "2/4 at once"
    assert cell(result, "once", "rollout").text == "–"
    assert "no pod of a Job has ended yet" in cell(result, "once", "deploy").assumes
    never = cell(report_of(sketch(), job(2, None, "5"), events=("deploy",)), "once", "deploy")
    assert (never.verdict, never.proven) == (BAD, True)
    crowded = report_of(
        sketch(1, "a", "4"), job(2, None, "3"), workload("Deployment", "web", 1, asking("3")), events=("deploy",)
    )
    assert cell(crowded, "once", "deploy").verdict == DEPENDS, "the Deployment's pod does not end"


def cron_job(name: str, cpu: str = "1", **spec: object) -> dict:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": job(None, None, cpu)["spec"]}, **spec},
    }


def test_a_run_of_a_cron_job_is_judged_beside_all_others():
    crowd = workload("Deployment", "web", 3, asking("3"))
    result = report_of(sketch(1, "abc", "4"), cron_job("nightly"), crowd, events=("deploy", "rollout"))
    assert [cell(result, "nightly", event).text for event in result.events] == ["1/1 ok", "–"]
    assert cell(result, "nightly", "deploy").proven
    assert cell(result, "web", "deploy").text == "3/3 ok", "a run is no part of what the others are judged beside"
    crowded = report_of(sketch(1, "abc", "4"), cron_job("nightly", "2"), crowd, events=("deploy",))
    assert cell(crowded, "nightly", "deploy").verdict == DEPENDS
    never = cell(report_of(sketch(), cron_job("nightly", "5"), crowd, events=("deploy",)), "nightly", "deploy")
    assert (never.verdict, never.proven, never.text) == (BAD, True, "0/1 −1")


def test_runs_that_take_too_much_work_are_unknown_and_all_other_rows_stand(monkeypatch):
    def endless(*_):
        while True:
            work.spend(work.SETUP)

    monkeypatch.setattr(cron_jobs, "Table", endless)
    crowd = workload("Deployment", "web", 3, asking("3"))
    result = report_of(sketch(1, "abc", "4"), cron_job("nightly"), crowd, events=("deploy", "rollout"))
    assert cell(result, "web", "deploy").text == "3/3 ok"
    assert cell(result, "nightly", "deploy").verdict == UNKNOWN
    assert cell(result, "nightly", "rollout").verdict == NONE
    assert not any("nothing was simulated" in note for note in result.notes)


def test_runs_of_several_cron_jobs_may_overlap_or_not():
    one, two = (cron_job(name, "3") for name in ("one", "two"))
    result = report_of(sketch(1, "a", "4"), one, two, events=("deploy",))
    assert not cell(result, "one", "deploy").proven, "alone it fits"
    assert cell(report_of(sketch(1, "a", "4"), one, events=("deploy",)), "one", "deploy").verdict == FINE
    roomy = cell(report_of(sketch(1, "ab", "4"), one, two, events=("deploy",)), "one", "deploy")
    assert (roomy.verdict, roomy.proven) == (FINE, True)
    assert "one run of every other CronJob is under way" in roomy.assumes


def test_a_suspended_cron_job_is_left_out_and_the_report_says_so():
    cron = cron_job("nightly", suspend=True)
    result = report_of(sketch(), cron, workload("Deployment", "web", 1), events=("deploy",))
    assert "not simulated (suspended): CronJob default/nightly" in result.notes


# --- adopting -------------------------------------------------------------------------------------------------------

NODES = tuple(Node(f"n{i}", {HOSTNAME: f"n{i}"}, allocatable={"cpu": 1000, "pods": 110}) for i in range(3))


def adopted(*running: BoundPod) -> tuple[Timeline, int]:
    agent = decode_workload(workload("DaemonSet", "agent", None, asking("600m")), "default")
    timeline = Timeline(NODES, Inventory(), foreseen=[agent])
    timeline.adopt(agent, running)
    return timeline, timeline.numbers["DaemonSet", "default", "agent"]


def waiting_for(node: str) -> BoundPod:
    agent = decode_workload(workload("DaemonSet", "agent", None, asking("600m")), "default")
    return BoundPod(f"agent-{node}", "", pinned(agent.pod, node))


def test_a_pod_is_pinned_to_the_node_that_its_affinity_names():
    assert pinned_to(waiting_for("n1").pod) == "n1"
    assert pinned_to(decode_workload(workload("DaemonSet", "agent", None), "default").pod) == ""


def test_a_waiting_pod_of_the_snapshot_waits_for_its_own_node():
    timeline, _ = adopted(waiting_for("n2"))
    (state,) = timeline.states
    assert state.waiting == ()
    assert [len(queue) for queue in state.pinned] == [0, 0, 1]


def test_a_waiting_pod_whose_node_is_gone_is_nobodys():
    timeline, _ = adopted(waiting_for("gone"))
    (state,) = timeline.states
    assert state.waiting == ()
    assert not any(state.pinned)
    assert len(state.orphans) == 1


def test_each_node_gets_one_pod_in_the_end():
    agent = decode_workload(workload("DaemonSet", "agent", None, asking("600m")), "default")
    timeline, number = adopted(waiting_for("n2"), BoundPod("agent-0", "n0", agent.pod))
    timeline.deploy([agent], together=True)
    for state in timeline.states:
        held = [sum(n for slot, n in here if timeline.pod_types.slots[slot].workload == number) for here in state.bound]
        assert held == [1, 1, 1]
        assert not any(state.pinned)
