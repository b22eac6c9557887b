"""Of workloads that only ask for room, courses are aimed at the one that asks for the most."""

from __future__ import annotations

from kubesched_lint.engine.bounds.competition.harder import harder
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import ZONE, Node
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.runs.aims import Aim
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.verdicts.matrix import Matrix

NODES = tuple(Node(f"n{i}", {ZONE: f"z{i % 3}"}, allocatable={"cpu": 4000, "pods": 30}) for i in range(6))


def of(name: str, cpu: int, replicas: int = 2, **more) -> Workload:
    pod = Pod("default", {"app": name}, requests={"cpu": cpu}, **more)
    return Workload("Deployment", "default", name, pod, replicas=replicas)


def test_only_who_asks_for_no_less_of_anything_on_the_same_nodes_is_harder() -> None:
    workloads = (
        of("small", 100),
        of("large", 900),
        of("many", 200, replicas=5),
        of("elsewhere", 2000, node_selector={ZONE: "z0"}),
        of("strong", 2000, priority=5),
        of("port", 50, node_name="n0"),
    )
    setting = SimulatedSet(NODES, Inventory(), workloads)
    assert [harder(setting.member(i)) for i in range(len(workloads))] == [1, 1, 2, 3, 4, 5]


def test_who_asks_about_one_workload_compares_no_other_two() -> None:
    asked: list[int] = []

    class Wanted(tuple):
        def __getitem__(self, number):
            asked.append(number)
            return super().__getitem__(number)

    setting = SimulatedSet(NODES, Inventory(), tuple(of(f"w{i}", 100 + i) for i in range(50)))
    setting.__dict__["wanted"] = Wanted(setting.wanted)
    assert harder(setting.member(0)) == 49
    assert 50 <= len(asked) < 3 * 50


def aimed_at(monkeypatch, *workloads: Workload) -> tuple[list[str], set[int]]:
    """The verdicts after the loss of a zone, and at whom courses were aimed."""
    aimed, matrix = set[int](), Matrix(SimulatedSet(NODES, Inventory(), workloads), Effort(states=10))
    original = matrix.seeded.ends

    def ends(event, number, turn=0, **more):
        aimed.update([turn.number] if isinstance(turn, Aim) else [])
        return original(event, number, turn, **more)

    monkeypatch.setattr(matrix.seeded, "ends", ends)
    return [matrix.cell("zone-loss", number).verdict for number in range(len(workloads))], aimed


def test_one_course_is_aimed_for_all_that_are_not_harder(monkeypatch) -> None:
    verdicts, aimed = aimed_at(monkeypatch, *(of(f"w{i}", 400 + 10 * i) for i in range(16)))
    assert verdicts.count("likely") > 8
    assert aimed == {15}


def test_each_gets_a_course_of_its_own_where_the_harder_one_may_wait(monkeypatch) -> None:
    verdicts, aimed = aimed_at(monkeypatch, of("large", 1500), *(of(f"w{i}", 400 + i) for i in range(15)))
    assert verdicts[0] == "depends"
    assert len(aimed) > 8
