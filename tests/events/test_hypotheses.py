"""``simulate --lose``, ``--taint``, ``--unlabel``, ``--add``, ``--upgrade``, ``--image-change``: an event more each."""

from __future__ import annotations

import pytest

from kubesched_lint import simulate
from kubesched_lint.engine.events.answers.cells import BAD, FINE, UNKNOWN
from kubesched_lint.report.simulation.report import as_json, as_text
from tests.events.simulated import HOSTNAME, ZONE, Value, apart, asking, cell, other, report_of, sketch, workload

WEB = workload("Deployment", "web", 3, apart("web"))
"""One pod per zone."""
DB = workload("StatefulSet", "db", 2, asking("3"))
"""One pod per node of 4 CPUs."""


def cells_of(*asked: tuple[str, str], objects: tuple[Value, ...] = (WEB,), cluster=None, **more):
    """Return event → cell of the first workload."""
    result = report_of(cluster or sketch(1), *objects, events=("deploy",), suppose=asked, **more)
    return {found.event: found for found in result.rows[0].cells}


def told(found) -> tuple[str, str, bool]:
    return found.verdict, found.text, found.proven


def keep(minimum: int, app: str = "web") -> Value:
    spec = {"minAvailable": minimum, "selector": {"matchLabels": {"app": app}}}
    return other("PodDisruptionBudget", "keep", "policy/v1", spec=spec)


def test_a_zone_that_goes_takes_one_of_three_pods_along() -> None:
    found = cells_of(("lose", "zone=a"), ("lose", "node/w-b"))
    assert told(found["lose zone=a"]) == (BAD, "2/3 −1", True)
    assert told(found["lose node/w-b"]) == (BAD, "2/3 −1", True)
    assert told(found["all at once"]) == (BAD, "1/3 −2", True)


def test_every_node_may_go() -> None:
    found = cells_of(*(("lose", f"zone={zone}") for zone in "abc"))
    assert told(found["all at once"]) == (BAD, "0/3 −3", True)


def test_every_node_may_go_under_a_daemon_set() -> None:
    """No node is left to count pods on: it wants none, and the others wait."""
    agent = workload("DaemonSet", "agent", None, asking("1"))
    lost = [("lose", f"zone={zone}") for zone in "abc"]
    assert told(cells_of(*lost, objects=(agent, DB))["all at once"])[0] == FINE
    assert told(cells_of(*lost, objects=(DB, agent))["all at once"]) == (BAD, "0/2 −2", True)


def test_one_hypothesis_or_the_same_one_twice_has_no_column_for_all() -> None:
    assert list(cells_of(("lose", "zone=a"), ("lose", "zone=a"))) == ["deploy", "lose zone=a"]


def test_a_zone_goes_while_somebody_scales() -> None:
    found = cells_of(("lose", "zone=a"), scale=["web=2"])
    assert list(found) == ["deploy", "scale-to-2", "lose zone=a", "all at once"]
    assert told(found["all at once"]) == (FINE, "2/2 ok", True)


def test_two_sizes_of_one_workload_do_not_happen_at_once() -> None:
    result = report_of(sketch(1), WEB, events=(), suppose=[("lose", "zone=a")], scale=["web=2", "web=4"])
    assert result.events == ("scale-to-2", "scale-to-4", "lose zone=a")
    assert any("no column `all at once`" in note for note in result.notes)


def test_a_taint_of_noschedule_moves_nothing_until_pods_are_replaced() -> None:
    found = cells_of(("taint", "zone=a:pool=spot:NoSchedule"), ("image-change", ""))
    assert told(found["taint zone=a:pool=spot:NoSchedule"]) == (FINE, "3/3 ok", True)
    assert found["all at once"].verdict == BAD
    assert found["all at once"].text == "stuck"


def test_a_note_says_what_shows_the_effect_of_a_taint() -> None:
    alone, both = [("taint", "pool=spot:NoSchedule")], [("taint", "pool=spot:NoSchedule"), ("image-change", "")]
    notes = [report_of(sketch(1), WEB, events=(), suppose=asked).notes for asked in (alone, both)]
    assert [any("moves no running pod; --upgrade" in note for note in found) for found in notes] == [True, False]


def test_a_taint_of_noexecute_evicts() -> None:
    found = cells_of(("taint", "zone=a:gone:NoExecute"))
    assert told(found["taint zone=a:gone:NoExecute"]) == (BAD, "2/3 −1", True)


@pytest.mark.parametrize(("seconds", "verdict"), [(None, FINE), (300, UNKNOWN)])
def test_a_toleration_for_a_while_ends_and_the_pod_may_come_back(seconds: int | None, verdict: str) -> None:
    limit = {} if seconds is None else {"tolerationSeconds": seconds}
    toleration = {"key": "gone", "operator": "Exists", "effect": "NoExecute", **limit}
    web = workload("Deployment", "web", 3, {**apart("web"), "tolerations": [toleration]})
    found = cells_of(("taint", "gone:NoExecute"), objects=(web,))["taint gone:NoExecute"]
    assert found.verdict == verdict
    assert any("for 300 seconds" in missing for missing in found.missing) == (seconds is not None)


def test_nodes_without_a_label_keep_their_pods_but_get_no_new_ones() -> None:
    web = workload("Deployment", "web", 3, {"nodeSelector": {ZONE: "a"}})
    found = cells_of(("unlabel", "zone"), ("upgrade", ""), objects=(web,))
    assert found["unlabel zone"].verdict == FINE
    assert found["upgrade"].verdict == FINE
    assert told(found["all at once"]) == (BAD, "0/3 −3", True)


def test_daemons_leave_nodes_that_lose_their_label() -> None:
    agent = workload("DaemonSet", "agent", None, {"nodeSelector": {ZONE: "a"}})
    found = cells_of(("unlabel", "node/w-a-1:zone"), objects=(agent,), cluster=sketch(2))
    assert found["deploy"].text == "2/2 ok"
    assert told(found["unlabel node/w-a-1:zone"]) == (FINE, "1/1 ok", True)


def test_more_nodes_let_waiting_pods_in() -> None:
    found = cells_of(("add", "node/w=1"), objects=(DB,), cluster=sketch(1, "a"))
    assert told(found["deploy"]) == (BAD, "1/2 −1", True)
    assert told(found["add node/w=1"]) == (FINE, "2/2 ok", True)
    agent = workload("DaemonSet", "agent", None)
    assert cells_of(("add", "zone=a=2"), objects=(agent,))["add zone=a=2"].text == "5/5 ok"


def test_a_budget_stops_an_upgrade() -> None:
    found = cells_of(("upgrade", ""), ("upgrade", "zone=a"), objects=(WEB, keep(3)))
    assert told(found["upgrade"]) == (BAD, "blocked (PDB keep)", True)
    assert found["upgrade zone=a"].text == "blocked (PDB keep)"


def test_an_upgrade_goes_on_when_the_pod_of_a_replaced_node_has_come_back() -> None:
    assert told(cells_of(("upgrade", ""), objects=(WEB, keep(2)))["upgrade"]) == (FINE, "3/3 ok", True)


def test_an_upgrade_ends_where_each_pod_finds_another_node() -> None:
    web = workload("Deployment", "web", 3, apart("web", HOSTNAME))
    found = cells_of(("upgrade", ""), objects=(web, keep(2)), cluster=sketch(1, "abcd"))
    assert told(found["upgrade"]) == (FINE, "3/3 ok", True)


def test_a_trace_of_an_upgrade_names_each_step() -> None:
    """Four nodes have too many orders to search; courses that are drawn do not know their event by themselves."""
    web = workload("Deployment", "web", 5, apart("web", HOSTNAME))
    trace = cells_of(("upgrade", ""), objects=(web,), cluster=sketch(1, "abcd"))["upgrade"].worst.lines
    assert len(trace) == 9
    assert [line.partition(": ")[0].partition(" is ")[2] for line in trace[1:]] == ["drained", "replaced"] * 4


@pytest.mark.parametrize("replicas", [2, 40])
def test_an_upgrade_has_no_end_where_pods_come_back_to_a_cordoned_node(replicas: int) -> None:
    """A search and traces: whether the drain of a node ends depends on where the pods go."""
    web = workload("Deployment", "web", replicas, {**asking("10m"), "tolerations": [{"operator": "Exists"}]})
    named = workload("Deployment", "named", 1, {**asking("10m"), "nodeName": "w-a"})
    found = cells_of(("upgrade", "zone=a"), objects=(named, web))["upgrade zone=a"]
    assert (found.verdict, found.proven) == (UNKNOWN, False)


def test_all_roll_out_at_once() -> None:
    """Each alone finds room for its surge; both together need one CPU more than the node has."""
    cluster = sketch(1, "a", "3")
    both = (workload("Deployment", "web", 1, asking("1")), workload("Deployment", "api", 1, asking("1")))
    result = report_of(cluster, *both, events=("rollout",), suppose=[("image-change", "")])
    assert [cell(result, name, "rollout").text for name in ("web", "api")] == ["1/1 ok", "1/1 ok"]
    assert [cell(result, name, "image-change").text for name in ("web", "api")] == ["1/1 ok", "1/1 ok"]
    full = report_of(sketch(1, "a", "2"), *both, events=(), suppose=[("image-change", "")])
    assert [cell(full, name, "image-change").text for name in ("web", "api")] == ["stuck", "stuck"]


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("lose", "node/w-d", "--lose: no node is named 'w-d'; did you mean `w-"),
        ("lose", "zone=d", "no node has the label topology.kubernetes.io/zone=d; there is a, b, c"),
        ("lose", "zoen=a", "no node has a label 'zoen'; did you mean `zone`"),
        ("lose", "w-a", "'w-a' chooses no nodes: write node/NAME, KEY=VALUE"),
        ("lose", "zone=a,kubernetes.io/hostname=w-b", "no node has all of the labels"),
        ("taint", "a=b", "'a=b' is no taint: write"),
        ("taint", "a=b:NoExec", "did you mean `NoExecute`"),
        ("taint", ":a=b:NoExecute", "is no taint"),
        ("unlabel", "rack", "no node has a label 'rack'"),
        ("unlabel", "zone=a:", "is no label"),
        ("add", "zone=a=0", "with N from 1 to 100"),
        ("add", "spot=1", "'spot' chooses no nodes"),
        ("add", "kubernetes.io/os=linux=1", "are of 3 kinds; name a node to copy: node/w-a, node/w-b, node/w-c"),
        ("upgrade", "pool=a", "no node has a label 'pool'"),
    ],
)
def test_what_cannot_be_meant_is_said(option: str, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        report_of(sketch(1), WEB, suppose=[(option, text)])


def test_reports_name_hypotheses_as_they_were_written() -> None:
    result = report_of(sketch(1), WEB, events=(), suppose=[("lose", "zone=a"), ("image-change", "")])
    assert "lose zone=a 2/3!, all at once stuck!" in as_text(result, verbose=True)
    assert '"event": "all at once"' in as_json(result)


def test_the_library_takes_them_too() -> None:
    found = simulate(
        objects=[WEB],
        cluster=sketch(),
        events=(),
        lose=["zone=a"],
        taint=["zone=b:x:NoSchedule"],
        unlabel=["zone"],
        add={"node/w-a-1": 1},
        upgrade="zone=c",
        image_change=True,
    )
    assert [o.event for o in found.outcomes] == [
        "lose zone=a",
        "taint zone=b:x:NoSchedule",
        "unlabel zone",
        "add node/w-a-1=1",
        "upgrade zone=c",
        "image-change",
        "all at once",
    ]
