"""What one node or zone may take with it: hand-made cases, and every end of drawn deploys."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import assume
from msgspec.structs import replace

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.runs.event_outcomes import EventOutcomes
from kubesched_lint.engine.verdicts.at_once import at_once, weakened
from kubesched_lint.report.simulation.cell_details import taken_at_once
from tests import drawn as st
from tests.drawn import given
from tests.events import simulated
from tests.events.enclosed import thorough
from tests.events.made_sets import nodes, workload
from tests.events.test_tied import cluster, web
from tests.program import called

ROOT = Path(__file__).parents[2]


def spread(key: str, skew: int = 1, **more: object) -> dict:
    constraint = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", **more}
    return {"topologySpreadConstraints": [{**constraint, "labelSelector": {"matchLabels": {"app": "web"}}}]}


@pytest.mark.parametrize(
    ("spec", "replicas", "node", "zone"),
    [
        ({}, 3, 3, 3),
        (simulated.apart("web", HOSTNAME), 3, 1, 2),
        (simulated.apart("web", ZONE), 3, 1, 1),
        (spread(ZONE), 3, 1, 1),
        (spread(ZONE), 7, 3, 3),
        (spread(ZONE, 2), 7, 3, 3),
        (spread(ZONE, 2), 6, 3, 3),
        (spread(HOSTNAME), 6, 1, 2),
        (spread(ZONE, minDomains=9), 3, 1, 1),
        ({**spread(ZONE), **simulated.apart("web", HOSTNAME)}, 6, 1, 2),
        ({"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}, 3, 1, 2),
    ],
)
def test_hard_rules_limit_what_one_loss_takes(spec: dict, replicas: int, node: int, zone: int) -> None:
    setting = SimulatedSet(cluster(), Inventory(), (web(replicas, "100m", spec),))
    limits = {limit.key: (limit.most, bool(limit.because)) for limit in at_once(setting.member(0))}
    assert limits == {HOSTNAME: (node, node < replicas), ZONE: (zone, zone < replicas)}


def test_more_workloads_and_nodes_cost_no_more_looks_each(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: Counter[str] = Counter()

    def counted(kind: type, name: str) -> None:
        look = getattr(kind, name)
        monkeypatch.setattr(kind, name, lambda *given: looks.update([name]) or look(*given))

    counted(Selector, "matches")
    counted(NodeIndex, "domains_of")
    for key in (HOSTNAME, ZONE):
        needed = []
        for size in (6, 60):
            asks = simulated.asking("100m")
            others = (simulated.workload("Deployment", f"w{i}", 3, asks) for i in range(size))
            workloads = (web(3, "100m", spread(key)), *(decode_workload(other, "default") for other in others))
            setting = SimulatedSet(cluster(each=size), Inventory(), workloads)
            looks.clear()
            assert [limit.most for limit in at_once(setting.member(0))] == ([1, 3] if key == HOSTNAME else [1, 1])
            needed.append(dict(looks))
        assert needed[0] == needed[1]


def test_pods_of_others_that_a_selector_counts_bound_nothing() -> None:
    other = replace(web(9, "100m"), name="other")
    setting = SimulatedSet(cluster(), Inventory(), (web(3, "100m", spread(ZONE)), other))
    assert [limit.most for limit in at_once(setting.member(0))] == [3, 3]


def test_running_pods_tell_what_a_loss_takes_today() -> None:
    own = web(3, "100m")
    running = {0: tuple(BoundPod(f"web-{i}", node, own.pod) for i, node in enumerate(("na0", "na1", "nb0")))}
    setting = SimulatedSet(cluster(), Inventory(), (own,), running=running)
    assert [limit.today for limit in at_once(setting.member(0))] == [1, 2]


@pytest.mark.parametrize(("zones", "most"), [("aab", 2), ("aaa", 3), ("aaab", 3)])
def test_a_rule_moves_no_pod_that_runs(zones: str, most: int) -> None:
    """The scheduler checks a spread when it binds a pod: what scaling down or an older template left uneven stays."""
    own = web(3, "100m", spread(ZONE))
    running = {0: tuple(BoundPod(f"web-{i}", f"n{zone}0", own.pod) for i, zone in enumerate(zones))}
    (_, limit) = at_once(SimulatedSet(cluster(), Inventory(), (own,), running=running).member(0))
    assert (limit.most, limit.taken) == (1, most)
    assert taken_at_once(limit).startswith(
        f"the loss of one zone may take {most} of 3 pods (spread over {ZONE} lets in 1, but moves"
    )


def test_one_node_or_one_zone_is_no_choice() -> None:
    assert not list(at_once(SimulatedSet(cluster("a", each=1), Inventory(), (web(2, "100m"),)).member(0)))
    assert [limit.key for limit in at_once(SimulatedSet(cluster("a"), Inventory(), (web(2, "100m"),)).member(0))] == [
        HOSTNAME
    ]


def most_placed(setting: SimulatedSet, number: int, key: str) -> int:
    """The most pods of a workload in one domain over every end of every order; -1 if the search is given up."""
    everybody, names = range(len(setting.workloads)), [n.name for n in setting.nodes]
    timeline = timeline_of(setting, everybody, expected=False, most_states=3000, preempting=False)
    if not timeline.sound:
        return -1
    most = -1
    for end in EventOutcomes(setting, everybody, [timeline], names).ends("deploy", number):
        per_domain = Counter[str]()
        for node, bound in zip(setting.nodes, end.state.bound, strict=True):
            slots = end.timeline.pod_types.slots
            per_domain[node.labels.get(key, "")] += sum(n for slot, n in bound if slots[slot].workload == number)
        most = max(most, *per_domain.values())
    return most


@thorough
@given(nodes(most=4), workload("web", most=4), workload("db"), st.sampled_from([HOSTNAME, ZONE]))
def test_no_deploy_puts_more_pods_into_one_domain(found, own, other, key) -> None:
    setting = SimulatedSet(found, Inventory(), (own, other))
    limits = {limit.key: limit.most for limit in at_once(setting.member(0))}
    assume(key in limits)
    assert most_placed(setting, 0, key) <= limits[key]


def test_a_change_that_weakens_the_protection_says_so_in_plan() -> None:
    case = ROOT / "fixtures" / "outsiders" / "inert-anti-affinity" / "plan-loses-protection"
    done = called("plan", "before", "after", "-c", "cluster.yaml", cwd=case)
    assert "one lost node may now take all 3 pods at once (before: 1 of 3)" in done.stdout
    value = json.loads(called("plan", "before", "after", "-c", "cluster.yaml", "-f", "json", cwd=case).stdout)
    (row,) = value["workloads"]
    assert row["lostAtOnce"][0] == {"domain": "node", "before": 1, "after": 3, "wanted": 3}
    back = called("plan", "after", "before", "-c", "cluster.yaml", cwd=case).stdout
    assert "at once" not in back


def test_more_replicas_alone_weaken_nothing() -> None:
    before, after = (SimulatedSet(cluster(), Inventory(), (web(n, "100m", spread(ZONE)),)) for n in (3, 7))
    assert not list(weakened(list(at_once(before.member(0))), list(at_once(after.member(0)))))
    lost = SimulatedSet(cluster(), Inventory(), (web(7, "100m"),))
    assert [new.domain for _, new in weakened(list(at_once(after.member(0))), list(at_once(lost.member(0))))] == [
        "node",
        "zone",
    ]
