"""One bound serves all workloads with equal requests on the same nodes.

That no search contradicts these bounds is tested in ``test_bounds_enclose_the_search``.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from kubesched_lint.engine.bounds.competition import full_nodes, rivals
from kubesched_lint.engine.bounds.competition.demand import demand_of
from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.node import HOSTNAME, ZONE, Node
from kubesched_lint.engine.verdicts.matrix import EVENTS
from tests.events.simulated import apart, asking, workload
from tests.share import every

RACK = "rack"
"""A label that a third of the nodes have."""
KINDS = ("deploy", "rollout", "node-loss", "zone-loss", "scale-down")


def simulated_set_of(*manifests, nodes: int = 12, cpus: Sequence[int] = (4000,)) -> SimulatedSet:
    each = [{"cpu": cpu, "memory": 8 << 30, "pods": 9} for cpu in cpus]
    labelled = [{HOSTNAME: f"n{i}", ZONE: "abc"[i % 3], "pool": "xy"[i % 2]} for i in range(nodes)]
    for labels in labelled[::3]:
        labels[RACK] = labels[HOSTNAME]
    workloads = (decode_workload(m, "default", None, i) for i, m in enumerate(manifests))
    found = tuple(Node(n[HOSTNAME], n, allocatable=each[i % len(each)]) for i, n in enumerate(labelled))
    return SimulatedSet(found, Inventory(), tuple(workloads))


def drawn(draw: Random) -> SimulatedSet:
    """Many workloads of few shapes, so that most have others alike."""
    found = []
    for i in range(draw.randint(5, 14)):
        spec = asking(draw.choice(["500m", "1500m"]))
        if draw.random() < 0.3:
            spec = {**spec, **apart(f"w{i}", draw.choice([HOSTNAME, ZONE, RACK]))}
        if draw.random() < 0.3:
            spec = {**spec, "nodeSelector": {"pool": "x"}}
        found.append(workload(draw.choice(["Deployment", "StatefulSet"]), f"w{i}", draw.randint(1, 6), spec))
    return simulated_set_of(*found, nodes=draw.randint(3, 12))


@pytest.mark.parametrize("seed", every(4, range(100)))
def test_shared_bounds_prove_as_much_as_those_of_each_workload(seed, monkeypatch):
    monkeypatch.setattr(rivals, "FEW_ALIKE", 0)
    setting = drawn(Random(seed))
    shared = {(e, i): count(setting.member(i), e).is_fine for e in KINDS for i in range(len(setting.workloads))}
    monkeypatch.setattr(rivals, "FEW_ALIKE", 1_000)
    alone = drawn(Random(seed))
    assert shared == {(e, i): count(alone.member(i), e).is_fine for e in KINDS for i in range(len(alone.workloads))}


def test_more_workloads_alike_ask_for_no_more_bounds(monkeypatch):
    asked = []
    original = full_nodes._full_nodes

    def counting(*arguments):
        asked.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(full_nodes, "_full_nodes", counting)
    spent = []
    for number in (8, 32):
        asked.clear()
        setting = simulated_set_of(*(workload("Deployment", f"w{i}", 1 + i % 4, asking("100m")) for i in range(number)))
        assert all(count(setting.member(i), event).least is not None for event in EVENTS[:2] for i in range(number))
        spent.append(len(asked))
    assert 0 < spent[1] <= spent[0]


def test_a_workload_without_rivals_is_counted_as_if_it_were_alone():
    several = [workload("Deployment", f"w{i}", 12, asking("3")) for i in range(5)]
    setting = simulated_set_of(*several)
    assert not count(setting.member(0), "deploy").is_fine
    assert count(setting.beside(()).member(0), "deploy").is_fine
    assert count(simulated_set_of(several[0]).member(0), "deploy").is_fine
    assert not count(setting.beside((1, 2)).member(0), "deploy").is_fine


@pytest.mark.parametrize("seed", range(30))
def test_a_demand_fills_as_many_nodes_as_if_its_pods_were_summed_for_each_workload(seed):
    draw = Random(seed)
    workloads = [
        workload(
            draw.choice(["Deployment", "DaemonSet"]), f"w{i}", draw.randint(1, 5), asking(f"{draw.randint(2, 9)}00m")
        )
        for i in range(6)
    ]
    setting = simulated_set_of(*workloads, nodes=5, cpus=[draw.randint(1, 6) * 1000 for _ in range(5)])
    among = setting.index.all
    for number in range(len(workloads)):
        found = rivals.rivals_of(setting.member(number), draw.randint(0, 3))
        wants = full_nodes._wants(setting.pods[number])
        near = full_nodes._near(setting, wants, found, among)
        for resource, want in wants.items():
            plain = full_nodes._full_by(resource, near.kinds, near.choosing, among)
            assert demand_of(setting, among).most_filled(found, resource, want) == plain
