"""Every workload's verdict, as ``lint``, ``simulate`` and ``why`` tell it: the words of the issue, from the tool."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kubesched_lint.cli.app import app
from kubesched_lint.engine.placing.growth.plan import Added, listed

CLUSTER = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: now, zones: [eu-west-1a], allocatable: {cpu: "1", memory: 4Gi}}
pools:
- {name: general, zones: [eu-west-1a, eu-west-1b], labels: {pool: general}, taints: [],
   shapes: [{name: m6i.large, allocatable: {cpu: 1930m, memory: 7Gi}}], limits: {nodes: 5}}
"""


def deployment(name: str, replicas: int, cpu: str, zone: str = "") -> str:
    where = f"\n      nodeSelector: {{topology.kubernetes.io/zone: {zone}}}" if zone else ""
    return f"""---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:{where}
      containers:
      - {{name: main, image: "registry.example.com/main:1", resources: {{requests: {{cpu: {cpu}}}}}}}
"""


SET = (
    deployment("calm", 1, '"1"')
    + deployment("grown", 2, '"1"', "eu-west-1b")
    + deployment("limited", 20, "900m")
    + deployment("never", 2, '"1"', "eu-west-1c")
)
VERDICTS = (
    "fits today: shop/calm",
    "2 pods of shop/grown fit after adding 2 × m6i.large in eu-west-1b (pool general)",
    "and 12 more nowhere: pool limit reached (general)",
    "2 pods of shop/never fit nowhere: no pool can ever help",
)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "set.yaml").write_text(SET)
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    return str(tmp_path / "set.yaml"), str(tmp_path / "cluster.yaml")


def output(*arguments: str) -> str:
    return CliRunner().invoke(app, [*arguments], env={"COLUMNS": "300", "NO_COLOR": "1"}).output


@pytest.mark.parametrize("command", [["lint", "-v"], ["simulate", "--events", "deploy"]], ids=["lint", "simulate"])
def test_each_of_the_four_verdicts_is_told(files: tuple[str, str], command: list[str]) -> None:
    said = output(*command, files[0], "--cluster", files[1])
    assert [verdict for verdict in VERDICTS if verdict not in said] == []


def test_many_kinds_of_nodes_are_summed_up() -> None:
    kinds = [Added("p", "a", f"m{number}", number + 1) for number in range(6)]
    assert listed(kinds[:1]) == "1 × m0 in a (pool p)"
    assert listed(kinds[:4]).endswith("3 × m2 in a (pool p) and 4 more nodes of another kind")
    assert listed(kinds).endswith("3 × m2 in a (pool p) and 15 more nodes of 3 other kinds")


def test_simulate_names_and_draws_the_added_nodes(files: tuple[str, str]) -> None:
    said = output("simulate", files[0], "--cluster", files[1], "--events", "deploy", "--picture", "deploy")
    assert "added nodes: general-eu-west-1b-m6i.large-1, general-eu-west-1b-m6i.large-2," in said
    assert said.count("│ general-eu-west-1b-m6i.large-2 │") == 2  # before and after


def test_why_tells_what_pools_would_add_beside_the_nodes_of_today(files: tuple[str, str]) -> None:
    said = output("why", "deployment/shop/grown", files[0], "--cluster", files[1])
    assert "with the nodes that pools could add: 2 pods of shop/grown fit after adding 2 × m6i.large" in said
    assert "does not fit on the only existing node." in said
    assert said.index("with the nodes that pools") < said.index("1 node does not fit:"), "it is a part of the verdict"
    assert "stays Pending." not in said
    assert "no pool can ever help" in output("why", "deployment/shop/never", files[0], "--cluster", files[1])


def test_a_pool_that_contradicts_itself_is_told_and_breaks_nothing(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text(deployment("web", 2, '"1"'))
    twice = "{key: a, operator: In, values: [x]}, {key: a, operator: NotIn, values: [x]}"
    cluster = f"apiVersion: kubesched-lint/v1\nkind: ClusterSketch\npools: [{{name: p, requirements: [{twice}]}}]\n"
    (tmp_path / "cluster.yaml").write_text(cluster)
    command = ("lint", str(tmp_path / "set.yaml"), "--cluster", str(tmp_path / "cluster.yaml"))
    for said in (output(*command), output(*command, "-v")):
        assert "pool p can make no node" in said
        assert "failed" not in said
        assert "error[pods-stay-pending]: all 2 pods of Deployment shop/web stay Pending" in said
    assert "2 pods of shop/web fit nowhere: no pool can ever help" in said
