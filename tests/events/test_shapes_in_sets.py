"""Workloads that may exchange their names in each course of a set: what is known of one holds for the other."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.events.answers.cells import BY_SCORES, FINE, UNKNOWN
from kubesched_lint.engine.events.start.shapes import shape_in_set
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.model.storage import Claim, PersistentVolume
from kubesched_lint.engine.runs.courses import Courses
from kubesched_lint.engine.verdicts import by_scores
from kubesched_lint.engine.verdicts.matrix import Matrix
from tests.events.simulated import asking, cell, report_of, sketch, workload


def simulated_set_of(*manifests, nodes: int = 4, objects: Inventory | None = None) -> SimulatedSet:
    labelled = [{HOSTNAME: f"n{i}", ZONE: "ab"[i % 2]} for i in range(nodes)]
    made = tuple(Node(n[HOSTNAME], n, allocatable={"cpu": 2000, "memory": 8 << 30, "pods": 9}) for n in labelled)
    workloads = (decode_workload(m, "default", None, i) for i, m in enumerate(manifests))
    return SimulatedSet(made, objects or Inventory(), tuple(workloads))


def near(app: str, what: str = "podAffinity", key: str = HOSTNAME):
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"affinity": {what: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def deployments(*specs):
    return [workload("Deployment", f"w{i}", 1, {**asking("100m"), **spec}) for i, spec in enumerate(specs)]


def alike(setting: SimulatedSet) -> set[tuple[int, int]]:
    """Pairs of workloads of one shape."""
    shapes = [shape_in_set(setting.member(i)) for i in range(len(setting.workloads))]
    return {(i, j) for i, j in combinations(range(len(shapes)), 2) if shapes[i] == shapes[j] is not None}


def test_a_star_is_one_shape_around_its_centre():
    setting = simulated_set_of(*deployments({}, near("w0"), near("w0"), near("w0")))
    assert alike(setting) == {(1, 2), (1, 3), (2, 3)}


def test_each_of_a_chain_is_another_shape():
    assert not alike(simulated_set_of(*deployments({}, near("w0"), near("w1"), near("w2"))))


def test_selectors_of_own_pods_only_are_alike():
    apart = [near(f"w{i}", "podAntiAffinity") for i in range(3)]
    assert alike(simulated_set_of(*deployments(*apart))) == {(0, 1), (0, 2), (1, 2)}


def test_who_is_selected_by_another_is_not_alike():
    assert alike(simulated_set_of(*deployments({}, {}, {}, near("w1", "podAntiAffinity")))) == {(0, 2)}


def test_what_runs_already_has_pods_of_its_own():
    plain = simulated_set_of(*deployments({}, {}))
    assert alike(plain) == {(0, 1)}
    assert not alike(replace(plain, running={0: (BoundPod("w0-x", "n0", plain.pods[0]),)}))


def test_who_is_created_first_is_not_as_who_comes_later():
    assert not alike(replace(simulated_set_of(*deployments({}, {})), together=False))


def mounting(*names: str):
    return [{"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": name}}]} for name in names]


def test_claims_that_differ_in_their_names_only_are_alike():
    claims = [Claim("default", f"c{i}", "s", request=1 << (30 + (i == 2))) for i in range(4)]
    setting = simulated_set_of(*deployments(*mounting("c0", "c1", "c2", "c3")), objects=Inventory(claims=tuple(claims)))
    assert alike(setting) == {(0, 1), (0, 3), (1, 3)}
    shared = simulated_set_of(*deployments(*mounting("c0", "c1", "c1")), objects=Inventory(claims=tuple(claims)))
    assert alike(shared) == {(1, 2)}


def test_a_claim_is_as_the_volume_that_is_kept_for_it():
    claims = [Claim("default", f"c{i}", "s", f"v{i}") for i in range(4)]
    volumes = [
        PersistentVolume(f"v{i}", "s", labels={ZONE: "ab"[i > 1]}, claim_ref=("default", f"c{i}", "")) for i in range(3)
    ]
    objects = Inventory(claims=tuple(claims), volumes=tuple(volumes))
    setting = simulated_set_of(*deployments(*mounting("c0", "c1", "c2", "c3")), objects=objects)
    assert alike(setting) == {(0, 1)}, "one has its volume elsewhere, another names a volume that is not kept for it"


def drawn(random: Random) -> SimulatedSet:
    """Few workloads that ask for one of two things, so that many are alike."""
    found = []
    specs = []
    for _ in range(2):
        what, key = random.choice(["podAffinity", "podAntiAffinity"]), random.choice([HOSTNAME, ZONE])
        near_whom = random.choice(["own", "w0", "x", "y"]) if random.random() < 0.8 else ""
        specs.append((random.choice(["700m", "1500m"]), near_whom, what, key, random.choice(["", "x"])))
    replicas = 1 + (random.random() < 0.2)
    for i in range(3):
        cpu, near_whom, what, key, label = random.choice(specs)
        spec = asking(cpu)
        if near_whom:
            spec |= near(f"w{i}" if near_whom == "own" else near_whom, what, key)
        made = workload("Deployment", f"w{i}", replicas, spec)
        if label and random.random() < 0.8:
            made["spec"]["template"]["metadata"]["labels"] = made["spec"]["selector"]["matchLabels"] = {"app": label}
        found.append(made)
    return simulated_set_of(*found, nodes=random.randint(2, 3))


def test_a_search_finds_the_same_for_workloads_of_one_shape():
    """The search follows every course: so each course of one is a course of the other, with their names exchanged."""
    compared = Counter[str]()
    for seed in range(40):
        setting = drawn(Random(seed))
        matrix = Matrix(setting)
        for i, j in alike(setting):
            for event in ("deploy", "rollout", "node-loss", "drain"):
                one, other = (matrix.cell(event, number) for number in (i, j))
                said = [(c.verdict, c.bound.least, c.bound.most, c.stuck, c.proven, c.text) for c in (one, other)]
                assert said[0] == said[1], f"seed {seed}: {event} of {setting.workloads[i]} and {setting.workloads[j]}"
                compared[one.verdict] += 1
    assert len(compared) > 2
    assert compared.total() > 60, compared


@pytest.fixture
def followed(monkeypatch):
    """The workloads for which an aimed course was asked for."""
    found, original = [], Courses.ends

    def ends(self, event, number, aim=None, **more):
        if aim:
            found.append((event, self.simulated.workloads[number].name))
        return original(self, event, number, aim, **more)

    monkeypatch.setattr(Courses, "ends", ends)
    return found


def test_one_of_a_shape_follows_the_aimed_course(followed):
    """Small pods may fill every node; the default scheduler leaves room for the agents in each course.

    It leaves no room for another pod of an agent, so another order might keep one waiting.
    """
    small = workload("Deployment", "small", 60, asking("1"))
    agents = [workload("DaemonSet", f"agent{i}", None, asking("300m")) for i in range(3)]
    found = report_of(sketch(9), small, *agents, events=("deploy",))
    cells = [cell(found, f"agent{i}", "deploy") for i in range(3)]
    assert {name for _, name in followed} == {"agent0"}
    assert {each.verdict for each in cells} <= {BY_SCORES, UNKNOWN}
    assert len({(each.text, each.missing, each.bound) for each in cells}) == 1


def test_what_is_shown_of_another_has_its_own_name(monkeypatch):
    """Both are in each course: in the words of a course of one, the two have exchanged their names."""
    small = workload("Deployment", "small", 60, asking("1"))
    agents = [workload("DaemonSet", f"agent{i}", None, asking("250m")) for i in range(2)]
    asked, original = [], by_scores._anywhere

    def anywhere(courses, event, number):
        asked.append(number)
        return original(courses, event, number)

    monkeypatch.setattr(by_scores, "_anywhere", anywhere)
    found = report_of(sketch(9), small, *agents, events=("deploy",))
    one, other = (cell(found, name, "deploy").worst for name in ("agent0", "agent1"))
    assert len(asked) == 1
    assert one is not None
    assert other is not None
    swapped = [line.replace("agent0", "agent?").replace("agent1", "agent0") for line in one.lines]
    assert [line.replace("agent?", "agent1") for line in swapped] == list(other.lines)
    assert one.lines != other.lines


def test_what_counting_proves_asks_for_no_later_turn(followed):
    found = report_of(sketch(9), *deployments({}, {}), events=("deploy",))
    assert cell(found, "w0", "deploy").verdict == FINE
    assert not followed
