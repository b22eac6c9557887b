"""What spread-rollout-skew simulates in a set of many workloads."""

from __future__ import annotations

import pytest

import kubesched_lint
from kubesched_lint.explaining.spreading import skews as simulated_skews
from kubesched_lint.findings import Finding
from tests.hostile.shapes.parts import nodes, stream, workload

ZONE = "topology.kubernetes.io/zone"


def spread(name: str, replicas: int, key: str = ZONE) -> dict[str, object]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": name}},
    }
    return workload(name, {"topologySpreadConstraints": [constraint]}, replicas=replicas)


def found(*workloads: dict[str, object]) -> list[Finding]:
    cluster = kubesched_lint.load_cluster(text={"c.yaml": nodes(6)})
    report = kubesched_lint.lint(text={"m.yaml": stream(workloads)}, cluster=cluster, select=["spread-rollout-skew"])
    return list(report.findings)


def test_a_large_set_simulates_few_workloads_and_those_that_depend_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated, skews = [], simulated_skews.skews

    def counted(member: object, **more: object) -> object:
        simulated.append(member)
        return skews(member, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(simulated_skews, "skews", counted)
    two, many = [spread(f"two{i}", 2) for i in range(20)], [spread(f"many{i}", 10) for i in range(2)]
    hosts = [spread(f"host{i}", 4, "kubernetes.io/hostname") for i in range(2)]
    fours = [spread(f"four{i}", 4) for i in range(20)]
    findings = found(*two, *many, *hosts, *fours)
    assert len(simulated) == 15
    severity = {f.object.name: f.severity.word for f in findings if f.object}
    assert {severity[f"two{i}"] for i in range(20)} == {severity["host0"]} == {"note"}
    assert severity["many0"] == "warning"
    assert [severity[f"four{i}"] for i in range(20)] == ["note"] * 15 + ["warning"] * 5


def test_what_is_simulated_alone_ends_as_in_a_small_set() -> None:
    small = found(spread("four", 4))
    large = found(spread("four", 4), *(workload(f"w{i}") for i in range(40)))
    assert [f.severity for f in small] == [f.severity for f in large]
