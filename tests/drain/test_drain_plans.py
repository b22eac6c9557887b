"""``drain`` against a plain model of every order of events, and what it says of small clusters."""

from __future__ import annotations

import json
import re
import shlex
from itertools import islice
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from typer.testing import CliRunner

from kubesched_lint.cli.subcommands.drain import app
from kubesched_lint.commands.drain.nodes import selector_of
from kubesched_lint.commands.drain.obstacles import allowing_one
from kubesched_lint.commands.drain.plan import IMPOSSIBLE, POSSIBLE, PROVEN, UNKNOWN, DrainPlan, Obstacle, Tight, Wave
from kubesched_lint.commands.drain.run import Effort
from kubesched_lint.commands.drain.run import _one_each as one_each
from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.report.drain.report import as_text
from tests.drain import families
from tests.drain.recorded import compared
from tests.drain.run import disagreement
from tests.events.simulated import asking, other, workload
from tests.program import called

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_plans_agree_with_a_plain_model(first: int) -> None:
    """Possible or not, and how few waves; ``python -m tests.drain.run`` has more clusters."""
    found = [disagreement(seed) for seed in range(first, first + 20)]
    assert [difference for _, difference in found if difference] == []
    assert {"possible, proven", "impossible, proven, smallest"} <= {said for said, _ in found}


@pytest.mark.parametrize("states", [8, 100])
def test_plans_of_searches_that_were_cut_short_claim_nothing_false(states: int) -> None:
    """Seed 154: one budget is the smallest set, though some orders also end for lack of room."""
    found = [disagreement(seed, Effort(states=states)) for seed in (*range(40, 60), 154)]
    assert [difference for _, difference in found if difference] == []
    assert states > 8 or any(said == "impossible, proven, not smallest" for said, _ in found)


def test_recorded_drains_end_as_the_plan_says() -> None:
    """A part of the recordings; ``python -m tests.drain.recorded FILE`` takes whole files."""
    found = list(islice(compared(ROOT / "fixtures" / "conformance" / "lifecycles.jsonl.gz"), 20))
    asked = [one for one in found if not isinstance(one, str)]
    assert len(asked) > 10
    assert not [one for one in asked if one.is_wrong]
    assert {one.plan.verdict for one in asked} == {"possible", "impossible"}


def test_drains_of_recorded_families_end_as_the_plan_says() -> None:
    found = list(families.compared(ROOT / "fixtures" / "conformance" / "families.jsonl.gz"))
    asked = [one for one in found if not isinstance(one, str)]
    assert (len(found), len(asked)) == (69, 64)
    assert not [one for one in asked if one.is_wrong]
    proven = [one for one in asked if one.plan.evidence == "proven"]
    assert (len(proven), {one.plan.verdict for one in proven}) == (60, {"possible", "impossible"})


# --- the command ------------------------------------------------------------------------------------------------------

CLUSTER = str(ROOT / "fixtures" / "drain" / "cluster.yaml")
MANIFESTS = str(ROOT / "fixtures" / "drain" / "shop")
SCHEMA = json.loads((ROOT / "kubesched_lint" / "schemas" / "drain.schema.json").read_bytes())


def run(*arguments: str):
    return CliRunner().invoke(app, [*arguments, "-c", CLUSTER])


def test_the_examples_of_the_page_are_what_it_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "drain.md").read_text()
    monkeypatch.chdir(ROOT)
    commands = re.findall("^kubesched-lint drain (.+)$", page, re.MULTILINE)
    printed, refused = (CliRunner().invoke(app, shlex.split(arguments)) for arguments in commands)
    assert (printed.exit_code, refused.exit_code) == (0, 1)
    for ended, shown in zip((printed, refused), page.split("```text\n")[1:], strict=True):
        assert ended.output.startswith(shown.split("```")[0])
    assert "fixtures/drain/shop/queue.yaml:" in refused.output


@pytest.mark.parametrize(
    ("arguments", "code", "verdict", "evidence"),
    [
        (("--pool", "general", "--surge", "1"), 0, "possible", "proven"),
        (("--nodes", "topology.kubernetes.io/zone=eu-west-1a", "--remove"), 3, "impossible", "today's nodes"),
        (("--nodes", "general-eu-west-1a-1"), 0, "possible", "proven"),
    ],
)
def test_json_is_valid_under_its_schema(arguments, code, verdict, evidence) -> None:
    printed = run(MANIFESTS, *arguments, "--format", "json")
    value = json.loads(printed.output)
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(_closed(SCHEMA)).validate(value)
    assert (printed.exit_code, value["verdict"], value["evidence"]) == (code, verdict, evidence)


def _closed(schema):
    """Every key that is written has a description."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _closed(value) for key, value in schema.items()}
    return {**found, "additionalProperties": False} if "properties" in found and "$schema" not in found else found


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--pool", "generall"), "did you mean `general`?"),
        (("--nodes", "zone=x"), "selects no node"),
        (("--nodes", "a b"), "is no label selector"),
        (("--pool", "general", "--nodes", "x"), "exclude each other"),
        (("--surge", "1", "--remove"), "exclude each other"),
        (("general-eu-west-1a-1",), "is a node, not a path: use --nodes general-eu-west-1a-1"),
        (("general-eu-west-1a-1", "general-eu-west-1b-1"), "are nodes, not paths: use --nodes general-eu-west-1a-1,"),
    ],
)
def test_nodes_that_nobody_can_choose_are_an_error(arguments, says) -> None:
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert says in refused.output


def test_nodes_without_pods_prove_no_drain() -> None:
    nodes = str(ROOT / "fixtures" / "clusters" / "three-zones.yaml")
    refused = CliRunner().invoke(app, ["-c", nodes])
    assert (refused.exit_code, "holds no Pods" in refused.output) == (2, True)
    planned = CliRunner().invoke(app, [f"{MANIFESTS}/web.yaml", "-c", nodes, "-v"])
    assert "- no running pods, volumes, quotas or disruption budgets are known beyond the manifests" in planned.output


def test_the_first_line_is_the_answer_and_the_last_its_premises() -> None:
    company = ROOT / "fixtures/company"
    done = CliRunner().invoke(app, ["-c", str(company / "cluster.json"), "--no-config"])
    first, *_, last = done.output.splitlines()
    assert first == "draining 9 nodes never ends: 1 obstacle, and maybe more"
    assert last.startswith("assumes that ")
    assert last.endswith(" more (-v)")
    assert "3 nodes: ip-10-0-1-11, ip-10-0-2-11, ip-10-0-3-11" in done.output, "their common domain says nothing"
    assert done.output.count("PodDisruptionBudget shop/checkout (budget)") == 1
    assert "\n  help     set maxUnavailable: 1 without minAvailable, or run one replica more\n" in done.output


@pytest.mark.parametrize(("bound", "said"), [
    ({"min_available": 3}, "set maxUnavailable: 1 without minAvailable, or run one replica more"),
    ({"min_available": "100%"}, "set maxUnavailable: 1 without minAvailable"),
    ({"max_unavailable": 0}, "set maxUnavailable: 1"),
])  # fmt: skip
def test_a_budget_that_allows_nothing_says_what_to_change(bound: dict[str, int | str], said: str) -> None:
    """One replica more helps no budget that counts by percent, or from the top."""
    assert allowing_one(DisruptionBudget("shop", "web", **bound)) == said


def test_what_one_message_says_of_one_object_is_told_once() -> None:
    """A reader met one message three times for each of eleven workloads."""
    message = "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 No victims."
    obstacles = []
    for name in ("a", "b", "c", "d", "e"):
        ref = ObjectRef("StatefulSet", "data", name)
        for kind, line in (("taint", 7), ("room", 9)):
            at = Location(f"{name}.yaml", Span(line, 3, line, 9))
            obstacles.append(Obstacle(kind, ref, f"1 pod of {ref} finds no node", ("n1",), message, at))
    why = "the plans that were tried end badly"
    plan = DrainPlan(UNKNOWN, "", ("n1",), obstacles=tuple(obstacles), missing=(why,))
    lines = as_text(plan).splitlines()
    assert lines[0] == f"unknown whether 1 node can be drained: {why}"
    assert lines[2:6] == [
        "StatefulSet data/a: 1 pod finds no node",
        "  on       1 node: n1",
        "  because  room a.yaml:9:3, taint 7:3",
        "  message  0/2 nodes are available: 2 Insufficient cpu",
    ]
    assert lines[-1] == "and 2 more obstacles: StatefulSet data/d, StatefulSet data/e (-v)"
    assert as_text(plan, verbose=True).count(message) == 5
    assert as_text(replace(plan, verdict=IMPOSSIBLE)).count("1 pod finds no node") == 5, "all of them have to go"


def test_room_is_told_of_each_workload_that_lacks_it() -> None:
    """Of all but the first, "taint" was left, though no taint was new and the nodes were full."""
    refs = [ObjectRef("Deployment", "default", name) for name in ("web", "db")]
    message = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)."
    each = [Obstacle(kind, ref, "1 pod finds no node", ("n1",), message) for ref in refs for kind in ("taint", "room")]
    obstacles = one_each([*each, *each])
    assert [(obstacle.of.name, obstacle.kind) for obstacle in obstacles] == [
        ("web", "taint"), ("web", "room"), ("db", "taint"), ("db", "room")
    ]  # fmt: skip
    lines = as_text(DrainPlan(UNKNOWN, "", ("n1",), obstacles=obstacles)).splitlines()
    assert lines.count("  because  room, taint") == 2
    assert f"  message  {message.removesuffix('.')}" in lines, "without a full stop, whatever Kubernetes says after it"


def test_a_table_of_long_names_fits_the_terminal() -> None:
    names = tuple(f"gke-prod-general-{number}963c5-{number}" for number in range(10, 20))
    tight = Tight("europe-west1a", "cpu", 24625, 31360)
    waves = tuple(Wave(pair, tight=tight) for pair in zip(names[::2], names[1::2], strict=True))
    plan = DrainPlan(POSSIBLE, PROVEN, names, waves)
    assert names[0] in as_text(plan)
    lines = as_text(plan, room=80).splitlines()
    assert max(map(len, lines)) <= 80
    assert "europe-west1a: cpu 79%" in lines[3]
    assert len({line.split()[1] for line in lines[3:]}) == len(waves), "cut names differ"


def test_a_selector_is_read_as_kubectl_reads_it() -> None:
    labels = [{"a": "1"}, {"a": "2", "b": ""}, {"c": "x"}]
    selected = {
        text: [number for number, each in enumerate(labels) if selector_of(text).matches(each)]
        for text in ("a=1", "a==2", "a!=1", "a in (1, 2)", "a notin (1),!c", "b", "!a", "a in (2),b=")
    }
    assert list(selected.values()) == [[0], [1], [1, 2], [0, 1], [1], [1], [2], [1]]


@pytest.mark.parametrize("cpu", ["1", "9"])
def test_what_a_card_does_not_know_of_drains_is_missing(tmp_path: Path, cpu: str) -> None:
    """The operator of CloudNativePG has a budget of its own for the primary, and switches over."""
    (tmp_path / "pg.yaml").write_text(
        "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: orders, namespace: shop}\n"
        f"spec: {{instances: 2, resources: {{requests: {{cpu: '{cpu}'}}}}, storage: {{size: 1Gi}}}}\n"
    )
    printed = run(str(tmp_path), "--nodes", "general-eu-west-1a-1", "--format", "json")
    value = json.loads(printed.output)
    assert (printed.exit_code, value["verdict"]) == (3, "unknown")
    assert any("PodDisruptionBudget for the primary" in missing for missing in value["missing"])


def test_what_preemption_leaves_open_is_a_premise_without_two_colons(tmp_path: Path) -> None:
    """ "No pod drives out another: preemption: web may drive out db, which PDB db guards: …" """
    nodes = [{"name": "n", "count": 2, "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}]
    sketch = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": nodes}
    (tmp_path / "nodes.yaml").write_text(json.dumps(sketch))
    budget = other("PodDisruptionBudget", "db", "policy/v1", spec={"maxUnavailable": 1})
    budget["spec"]["selector"] = {"matchLabels": {"app": "db"}}
    top = other("PriorityClass", "top", "scheduling.k8s.io/v1", value=9)
    made = [top, budget, workload("Deployment", "db", 2, asking("1"))]
    made.append(workload("Deployment", "web", 2, asking("2", priorityClassName="top")))
    (tmp_path / "set.yaml").write_text("\n---\n".join(map(json.dumps, made)))
    text = called("drain", "-v", "set.yaml", "-c", "nodes.yaml", cwd=tmp_path).stdout
    premise = "no pod drives out another; not followed: Deployment default/web may drive out Deployment default/db"
    assert f"  - {premise}, which PDB db guards: " in text
