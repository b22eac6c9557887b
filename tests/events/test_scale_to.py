"""``simulate --scale web=15``: an event more, told like any other."""

from __future__ import annotations

import pytest

from kubesched_lint import lint, simulate
from kubesched_lint.checks.spread_scale_down_skew import worst_skew
from kubesched_lint.commands.why.naming import NamingError
from kubesched_lint.engine.events.answers.cells import BAD, FINE, NONE
from kubesched_lint.report.simulation.report import as_html_fragment, as_json, as_text
from tests.events.simulated import ZONE, Value, apart, asking, cell, other, report_of, sketch, snapshot, workload

SPREAD: Value = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ]
}
WEB = workload("Deployment", "web", 21, SPREAD)


def test_from_21_to_15_all_run_and_the_zones_may_be_uneven() -> None:
    result = report_of(sketch(), WEB, workload("Deployment", "api", 2), events=("deploy",), scale=["web=15"])
    assert result.events == ("deploy", "scale-to-15")
    found = cell(result, "web", "scale-to-15")
    assert (found.verdict, found.text, found.proven) == (FINE, "15/15 ok", True)
    assert cell(result, "api", "scale-to-15").verdict == NONE
    skews = {s.skew.event: s.skew for s in result.skews}
    assert skews["deploy"].worst == 0
    assert skews["scale-to-15"].worst > 1
    assert all(sum(counts) == 15 for counts, _ in skews["scale-to-15"].ends)


def test_every_report_names_the_number() -> None:
    result = report_of(sketch(), WEB, events=("deploy",), scale=["web=15"])
    assert as_text(result).startswith("                     scale\n             deploy  to 15\n")
    assert '"scale-to-15"' in as_json(result)
    assert "<th>scale to 15</th>" in as_html_fragment(result)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet"])
@pytest.mark.parametrize("spec", [{}, asking("3"), apart("web")], ids=["small", "large", "apart"])
def test_scaling_to_half_is_what_scale_down_tells(kind: str, spec: Value) -> None:
    result = report_of(sketch(1, "abc", "4"), workload(kind, "web", 4, spec), scale=["web=2"])
    down, to = cell(result, "web", "scale-down"), cell(result, "web", "scale-to-2")
    assert (down.verdict, down.bound, down.proven, down.text) == (to.verdict, to.bound, to.proven, to.text)


def test_scaling_up_beyond_the_room_is_bad() -> None:
    result = report_of(sketch(1, "ab", "4"), workload("Deployment", "web", 2, asking("3")), scale=["web=3"])
    found = cell(result, "web", "scale-to-3")
    assert (found.verdict, found.text, found.proven) == (BAD, "2/3 −1", True)
    assert result.is_bad


def test_scaling_to_what_it_has_and_to_nothing() -> None:
    result = report_of(sketch(), WEB, events=("deploy",), scale=["web=21", "web=0", "web=0"])
    assert result.events == ("deploy", "scale-to-0", "scale-to-21")
    assert cell(result, "web", "scale-to-21").text == "has 21"
    assert cell(result, "web", "scale-to-0").text == "0/0 ok"


def test_nothing_is_missing_where_no_pod_is_wanted_and_none_may_be_created() -> None:
    web = workload("Deployment", "web", 2, {"priorityClassName": "nope"})
    found = cell(
        report_of(snapshot(kinds=["Node", "PriorityClass"]), web, events=(), scale=["web=0"]), "web", "scale-to-0"
    )
    assert (found.verdict, found.text) == (FINE, "0/0 ok")


def test_an_autoscaler_is_named_that_may_undo_it() -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaler = other(
        "HorizontalPodAutoscaler",
        "web",
        "autoscaling/v2",
        spec={"scaleTargetRef": target, "minReplicas": 18, "maxReplicas": 30},
    )
    result = report_of(sketch(), WEB, scaler, events=("deploy",), scale=["web=15"])
    assert any("Deployment default/web has an autoscaler (18 to 30)" in note for note in result.notes)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("web", "not a number of replicas"),
        ("web=many", "not a number of replicas"),
        ("web=-1", "not a number of replicas"),
        ("wob=3", "nothing is named 'wob'"),
        ("agent=3", "DaemonSet default/agent has no replicas"),
        ("both=3", "'both' may mean deployment/default/both or statefulset/default/both"),
    ],
)
def test_what_cannot_be_meant_is_said(asked: str, said: str) -> None:
    objects = [WEB, workload("DaemonSet", "agent", None)]
    objects += [workload("Deployment", "both", 1), workload("StatefulSet", "both", 1)]
    with pytest.raises((ValueError, NamingError), match=said):
        report_of(sketch(), *objects, scale=[asked])


def test_the_kind_says_which_is_meant() -> None:
    objects = [workload("Deployment", "both", 2), workload("StatefulSet", "both", 2)]
    result = report_of(sketch(), *objects, events=("deploy",), scale=["sts/both=1"])
    assert [row.cells[-1].verdict for row in result.rows] == [NONE, FINE]


def test_the_library_takes_it_too() -> None:
    found = simulate(objects=[WEB], cluster=sketch(), events=("deploy",), scale={"default/web": 15})
    assert [o.event for o in found.outcomes] == ["deploy", "scale-to-15"]


def test_the_worst_skew_that_counting_allows() -> None:
    """Of 6 pods at 2/2/2, without 3: 2/1/0 is the worst; of 21 at 7/7/7, without 6: 7/7/1."""
    assert [worst_skew(*of) for of in [(6, 3, 3), (21, 15, 3), (21, 20, 3), (3, 2, 3), (20, 19, 3)]] == [2, 6, 1, 1, 2]
    assert worst_skew(9, 1, 1) == 0


@pytest.mark.parametrize(("low", "high", "said"), [(15, 21, True), (20, 21, False), (21, 21, False)])
def test_lint_tells_of_an_autoscaler_that_may_leave_zones_uneven(low: int, high: int, said: bool) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    bounds = {"scaleTargetRef": target, "minReplicas": low, "maxReplicas": high}
    scaler = other("HorizontalPodAutoscaler", "web", "autoscaling/v2", spec=bounds)
    found = lint(objects=[WEB, scaler], cluster=sketch(), profile="strict").findings
    mine = [f for f in found if f.rule == "spread-scale-down-skew"]
    assert len(mine) == said
    assert all(f.evidence.kind == "witness" and f.severity.word == "note" for f in mine)
