"""``plan`` of a change of nodes and pools: the cluster's file, NodePools among the manifests, a plan of Terraform."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint import load_cluster
from kubesched_lint.commands.plan import judging
from kubesched_lint.commands.plan.plan_result import Plan
from kubesched_lint.commands.plan.run import plan
from kubesched_lint.commands.plan.version import Version
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.linter.options import Options
from kubesched_lint.report.plan.as_markdown import as_markdown
from kubesched_lint.report.plan.as_text import as_text
from kubesched_lint.sources.clusters.terraform import TerraformError, read_terraform
from tests.plan.changed_worlds import read, rulebook
from tests.plan.test_plan import web
from tests.plan.test_plan_command import found, git
from tests.program import called

Value = dict[str, Any]
GROUPS = {
    "aws_eks_node_group": "eks.amazonaws.com/nodegroup",
    "google_container_node_pool": "cloud.google.com/gke-nodepool",
    "azurerm_kubernetes_cluster_node_pool": "kubernetes.azure.com/agentpool",
}


def node(name: str, pool: str, zone: str = "a", key: str = "eks.amazonaws.com/nodegroup", **labels: str) -> Value:
    own = {key: pool, "pool": pool, ZONE: zone, "kubernetes.io/hostname": name, **labels}
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": own}, "status": status}


def pod_on(node_name: str) -> Value:
    spec = {"nodeName": node_name, "containers": [{"name": "c", "image": "c:1"}]}
    metadata = {"name": f"other-{node_name}", "namespace": "infra"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def in_pool(pool: str, name: str = "web", replicas: int = 2) -> Value:
    value = web(replicas=replicas)
    value["metadata"]["name"] = name
    labels = {"app": name}
    value["spec"]["selector"]["matchLabels"] = value["spec"]["template"]["metadata"]["labels"] = labels
    value["spec"]["template"]["spec"]["nodeSelector"] = {"pool": pool}
    return value


def planned(
    before: list[Value], after: list[Value], nodes: list[Value], former: list[Value] | None = None, **more: Any
) -> Plan:
    sides = (Version(name, read(values), Options()) for name, values in (("before", before), ("after", after)))
    was = None if former is None else load_cluster(objects=former)
    return plan(*sides, load_cluster(objects=nodes), rulebook(), ("deploy",), former=was, **more)


def lines_of(shown: Plan) -> list[str]:
    return [line.strip() for line in as_text(shown).splitlines()]


# --- the cluster's file -----------------------------------------------------------------------------------------------


def test_a_pool_that_goes_is_a_row_and_who_loses_nodes_is_said() -> None:
    general = [node(f"g{n}", "general") for n in range(2)]
    special = [node(f"s{n}", "special") for n in range(2)]
    objects = [in_pool("special"), in_pool("general", "api")]
    shown = planned(objects, objects, general, [*general, *special, pod_on("s0")])
    lines = lines_of(shown)
    assert lines[0] == "after this change 2 pods stay Pending on these nodes: shop/web"
    assert "pool special  removed, its 2 nodes go" in lines
    assert "1 pod runs on nodes that go" in lines
    assert "loses all nodes: shop/web" in lines
    assert "| pool special | removed, its 2 nodes go |" in as_markdown(shown)
    assert not shown.is_empty


def test_nodes_that_come_go_and_change_are_named() -> None:
    before = [node("g0", "general"), node("g1", "general"), node("g2", "general")]
    after = [node("g0", "general", team="x"), node("g1", "general", team="x"), node("g3", "general", team="x")]
    after[0]["status"]["allocatable"]["cpu"] = after[1]["status"]["allocatable"]["cpu"] = "2"
    after[2]["status"]["allocatable"]["cpu"] = "2"
    (change,) = planned([web()], [web()], after, before).pools
    assert (change.name, change.action) == ("pool general", "3 nodes: g2 goes and g3 comes")
    assert change.fields == ("label team unset → x", "cpu of a node 4 → 2")


def test_the_same_nodes_are_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do they make a plan simulate what no change touches."""
    simulated: list[object] = []
    monkeypatch.setattr(judging, "simulate", lambda *given, **named: simulated.append(given))
    nodes = [node("g0", "general"), pod_on("g0")]
    assert planned([web()], [web()], nodes, copy.deepcopy(nodes)).is_empty
    assert simulated == []


def test_the_file_of_the_base_commit_is_the_cluster_before(tmp_path: Path) -> None:
    both = [node("g0", "general"), node("s0", "special")]
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": both}))
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/web.yaml").write_text(json.dumps(in_pool("special", replicas=1)))
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "base")
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": both[:1]}))
    ask = ("-c", "nodes.json", "--events", "deploy", "--format", "json")
    value = found(called("plan", "main", "shop", *ask, cwd=tmp_path))
    assert [(one["name"], one["action"]) for one in value["pools"]] == [("pool special", "removed, its 1 node goes")]
    assert value["nodeLosses"] == [{"object": "Deployment shop/web", "before": 1, "after": 0}]
    git(tmp_path, "commit", "-q", "-a", "-m", "smaller")
    two = found(called("plan", "main~1..main", "shop", *ask, cwd=tmp_path))
    assert (two["pools"], two["isEmpty"]) == ([], True), "two commits are compared on one cluster"
    (tmp_path / "old.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": both}))
    given = found(called("plan", "shop", "--cluster-before", "old.json", *ask, cwd=tmp_path))
    assert given["pools"] == value["pools"]


# --- NodePools among the manifests ------------------------------------------------------------------------------------


def node_pool(name: str = "spot", **spec: Any) -> Value:
    labels = {"pool": name, **spec.pop("labels", {})}
    template = {"metadata": {"labels": labels}, "spec": {"requirements": [], **spec.pop("template", {})}}
    metadata = {"name": name}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": metadata,
        "spec": {"template": template, **spec},
    }


def spot_nodes() -> list[Value]:
    return [node(f"s{n}", "spot", key="karpenter.sh/nodepool") for n in range(2)]


def test_a_node_pool_that_is_removed_takes_its_nodes_along() -> None:
    objects = [in_pool("spot")]
    shown = planned([*objects, node_pool()], objects, [*spot_nodes(), node("g0", "general")])
    assert "pool spot  removed" in lines_of(shown)
    assert [(str(loss.object), loss.before, loss.after) for loss in shown.losses] == [("Deployment shop/web", 2, 0)]
    assert any(note.startswith("assumed: Karpenter deletes the 2 nodes of spot") for note in shown.notes)


def test_another_template_replaces_the_nodes_and_other_limits_do_not() -> None:
    objects = [in_pool("spot")]
    nodes = [*spot_nodes(), node("g0", "general")]
    other = planned([*objects, node_pool()], [*objects, node_pool(labels={"team": "x"})], nodes)
    assert [change.fields for change in other.pools] == [("label team unset → x",)]
    assert [loss.after for loss in other.losses] == [0]
    limits = planned([*objects, node_pool()], [*objects, node_pool(limits={"cpu": "10"})], nodes)
    assert [change.fields for change in limits.pools] == [("limit of cpu none → 10",)]
    assert limits.losses == ()


def test_a_pool_that_the_cluster_has_otherwise_is_said() -> None:
    objects = [in_pool("spot"), node_pool(limits={"cpu": "10"})]
    shown = planned(objects, objects, [*spot_nodes(), node_pool(limits={"cpu": "40"})])
    (note,) = (note for note in shown.notes if note.startswith("drift"))
    assert note == "drift: the cluster's pool spot is not that of the manifests: limit of cpu 40 → 10"
    assert note in as_text(shown).replace("\n  ", " ")


# --- Terraform --------------------------------------------------------------------------------------------------------


def eks(name: str, machine: str = "m5.xlarge", size: int = 2, **more: Any) -> Value:
    taints = [{"key": "own", "value": name, "effect": "NO_SCHEDULE"}] if more.pop("tainted", False) else []
    scaling = [{"desired_size": size, "min_size": 0, "max_size": 9}]
    labels = {"pool": name, **more.pop("labels", {})}
    values = {"node_group_name": name, "labels": labels, "taint": taints, "instance_types": [machine]}
    return resource("aws_eks_node_group", name, {**values, "scaling_config": scaling, "subnet_ids": [], **more})


def gke(name: str, machine: str = "e2-standard-4", size: int = 2, **more: Any) -> Value:
    taints = [{"key": "own", "value": name, "effect": "NO_SCHEDULE"}] if more.pop("tainted", False) else []
    config = [{"machine_type": machine, "labels": {"pool": name, **more.pop("labels", {})}, "taint": taints}]
    values = {"name": name, "node_count": size, "node_locations": ["a"], "node_config": config}
    return resource("google_container_node_pool", name, {**values, **more})


def aks(name: str, machine: str = "Standard_D4s_v5", size: int = 2, **more: Any) -> Value:
    taints = [f"own={name}:NoSchedule"] if more.pop("tainted", False) else []
    labels = {"pool": name, **more.pop("labels", {})}
    values = {"name": name, "vm_size": machine, "node_count": size, "node_labels": labels, "node_taints": taints}
    return resource("azurerm_kubernetes_cluster_node_pool", name, {**values, **more})


def resource(kind: str, name: str, values: Value) -> Value:
    return {"address": f"{kind}.{name}", "mode": "managed", "type": kind, "name": name, "values": values}


def terraform(folder: Path, before: list[Value], after: list[Value]) -> Path:
    path = folder / "tfplan.json"
    prior = {"values": {"root_module": {"resources": before}}}
    inner = {"child_modules": [{"resources": after}]}
    path.write_text(
        json.dumps({"format_version": "1.2", "prior_state": prior, "planned_values": {"root_module": inner}})
    )
    return path


CLOUDS = {"aws_eks_node_group": eks, "google_container_node_pool": gke, "azurerm_kubernetes_cluster_node_pool": aks}


@pytest.fixture(params=CLOUDS)
def cloud(request: pytest.FixtureRequest) -> tuple[Any, str]:
    return CLOUDS[request.param], GROUPS[request.param]


def test_a_group_that_terraform_removes_takes_its_nodes_along(tmp_path: Path, cloud: tuple[Any, str]) -> None:
    make, key = cloud
    nodes = [*(node(f"s{n}", "special", key=key) for n in range(2)), node("g0", "general", key=key)]
    path = terraform(tmp_path, [make("special"), make("general", size=1)], [make("general", size=1)])
    objects = [in_pool("special")]
    shown = planned(objects, objects, nodes, terraform=read_terraform(str(path)))
    assert "pool special  removed, its 2 nodes go" in lines_of(shown)
    assert [(loss.before, loss.after) for loss in shown.losses] == [(2, 0)]
    assert lines_of(shown)[0] == "after this change 2 pods stay Pending on these nodes: shop/web"


def test_a_group_that_comes_has_nodes(tmp_path: Path, cloud: tuple[Any, str]) -> None:
    make, key = cloud
    path = terraform(tmp_path, [make("general", size=1)], [make("general", size=1), make("special")])
    objects = [in_pool("special")]
    shown = planned(objects, objects, [node("g0", "general", key=key)], terraform=read_terraform(str(path)))
    assert [(change.name, change.action) for change in shown.pools] == [("pool special", "added")]
    (one,) = shown.workloads
    assert (one.direction, [c.after.text for c in one.cells if c.after]) == ("better", ["2/2 ok"])
    assert any(note.startswith("assumed: 2 nodes of ") for note in shown.notes)


def test_other_labels_and_taints_are_set_on_its_nodes(tmp_path: Path, cloud: tuple[Any, str]) -> None:
    make, key = cloud
    nodes = [node(f"s{n}", "special", key=key) for n in range(2)]
    path = terraform(tmp_path, [make("special")], [make("special", tainted=True, labels={"team": "x"})])
    objects = [in_pool("special")]
    shown = planned(objects, objects, nodes, terraform=read_terraform(str(path)))
    (change,) = shown.pools
    assert change.fields == ("label team unset → x", "taint own=special:NoSchedule new")
    assert [(loss.before, loss.after) for loss in shown.losses] == [(2, 0)]


def test_a_group_whose_name_comes_with_the_apply_is_neither_removed_nor_forgotten(
    tmp_path: Path, cloud: tuple[Any, str]
) -> None:
    """As with node_group_name_prefix: a plan leaves out what is known only after the apply."""
    make, key = cloud
    nodes = [*(node(f"s{n}", "special", key=key) for n in range(2)), node("g0", "general", key=key)]
    after, new = make("special", labels={"team": "x"}), make("spot")
    for group in (after, new):
        name = "node_group_name" if "node_group_name" in group["values"] else "name"
        group["values"][f"{name}_prefix"] = f"{group['values'].pop(name)}-"
    path = terraform(tmp_path, [make("special"), make("general", size=1)], [after, make("general", size=1), new])
    objects = [in_pool("special")]
    shown = planned(objects, objects, nodes, terraform=read_terraform(str(path)))
    actions = [(change.name, change.action, change.fields) for change in shown.pools]
    assert actions == [("pool special", "reshaped", ("label team unset → x",)), ("pool spot", "added", ())]
    assert not shown.losses
    assert sum("gets its name when it is applied: called " in note for note in shown.notes) == 2


def test_other_machines_are_nodes_with_other_room(tmp_path: Path) -> None:
    nodes = [node(f"s{n}", "special", zone) for n, zone in enumerate("ab")]
    big = in_pool("special")
    big["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "3"
    path = terraform(tmp_path, [eks("special")], [eks("special", "m5.large")])
    shown = planned([big], [big], [*nodes, pod_on("s0")], terraform=read_terraform(str(path)))
    (change,) = shown.pools
    assert (change.fields, change.pods) == (("machine types m5.xlarge → m5.large",), 1)
    assert lines_of(shown)[0].startswith("after this change 2 pods stay Pending")
    room = {(one.zone, one.resource) for one in shown.room}
    assert {("a", "cpu"), ("b", "cpu")} <= room, "the new nodes are in the zones of the old ones"


def test_what_is_not_read_and_what_differs_is_said(tmp_path: Path) -> None:
    nodes = [node("s0", "special")]
    template = resource("aws_launch_template", "x", {"name": "x"})
    path = terraform(
        tmp_path, [eks("special", ami_type="AL2_x86_64")], [eks("special", size=5, ami_type="BOTTLEROCKET"), template]
    )
    shown = planned([web()], [web()], nodes, terraform=read_terraform(str(path)))
    told = "\n".join(shown.notes)
    assert "aws_eks_node_group.special: not read although it changes: ami_type" in told
    assert "not read: 1 changed resource that may make nodes (aws_launch_template.x)" in told
    assert "drift: aws_eks_node_group.special has 2 nodes in Terraform, 1 in the cluster" in told
    assert "another size is not applied" in told
    assert [change.fields for change in shown.pools] == [("size 2 → 5",)]


def test_a_file_without_a_plan_is_refused(tmp_path: Path) -> None:
    for name, text in (("state.json", '{"format_version": "1.0", "values": {}}'), ("x.json", "{"), ("list.json", "[]")):
        (tmp_path / name).write_text(text)
        with pytest.raises(TerraformError):
            read_terraform(str(tmp_path / name))
    (tmp_path / "web.yaml").write_text(json.dumps(web()))
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [node("g", "g")]}))
    ask = ("plan", "web.yaml", "web.yaml", "-c", "nodes.json", "--terraform", "state.json")
    done = called(*ask, cwd=tmp_path)
    assert (done.returncode, "holds no plan" in done.stderr) == (2, True)


def test_a_plan_with_too_much_is_refused(tmp_path: Path) -> None:
    path = terraform(tmp_path, [], [eks(f"g{n}", size=100_000) for n in range(2)])
    with pytest.raises(TerraformError, match="more than 150,000 nodes"):
        read_terraform(str(path))
    path.write_text('{"format_version": "1.2", "planned_values": ' + "[" * 100_000 + "]" * 100_000 + "}")
    with pytest.raises(TerraformError, match="nested too deeply"):
        read_terraform(str(path))


def test_odd_values_of_a_plan_are_no_crash(tmp_path: Path) -> None:
    odd = [
        resource("aws_eks_node_group", "a", {"node_group_name": 5, "labels": [], "taint": {}, "scaling_config": "x"}),
        resource("aws_eks_node_group", "b", {"node_group_name": "b", "labels": None, "taint": [None, 4]}),
        resource("google_container_node_pool", "c", {"name": "c", "node_config": [], "node_count": -1}),
        resource("azurerm_kubernetes_cluster", "d", {"default_node_pool": [{"name": "d", "node_taints": ["x", 4]}]}),
        {"type": "aws_eks_node_group"},
    ]
    path = terraform(tmp_path, [], odd)
    pools = read_terraform(str(path))
    assert sorted(group.pool.name for group in pools.after.values()) == ["aws_eks_node_group.a", "b", "c", "d"]
    assert planned([web()], [web()], [node("g0", "general")], terraform=pools).pools
