"""The matrix of ``simulate``, on the founding documents' cases that need the passage of time and on a small shop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_options import SimulationOptions
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.events.answers.cells import Cell
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.verdicts.matrix import EVENTS
from kubesched_lint.linter.options import Options
from kubesched_lint.report.simulation.report import as_html_fragment, as_json, as_text
from kubesched_lint.sources.clusters.read import read_cluster

FIXTURES = Path(__file__).parents[2] / "fixtures"
SEEDS = FIXTURES / "seeds"


def simulated(path: Path, cluster: Path, events=EVENTS, pictured: str = "", **effort: int) -> SimulationReport:
    options, wishes = Options(), SimulationOptions(skews=True)
    manifests, nodes = read_manifests([str(path)], options), read_cluster(str(cluster))
    return simulate(manifests, nodes, options, events, Effort(**effort), pictured, wishes=wishes)


def seed(name: str, cluster: str = "cluster.yaml", **more) -> SimulationReport:
    return simulated(SEEDS / name, SEEDS / name / cluster, **more)


def cell(result: SimulationReport, workload: str, event: str) -> Cell:
    row = next(r for r in result.rows if result.workloads[r.number].name == workload)
    return next(c for c in row.cells if c.event == event)


def manifest(folder: Path, *objects: dict) -> Path:
    import yaml

    file = folder / "manifests.yaml"
    file.write_text("---\n".join(yaml.safe_dump(o) for o in objects))
    return file


def deployment(name: str, replicas: int, spec: dict | None = None, **more) -> dict:
    body = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}], **(spec or {})},
        },
        **more,
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": body}


# --- the founding documents -----------------------------------------------------------------------------------------


def test_a2_one_reader_and_one_writer_stand_on_each_node_of_the_pair():
    result = seed("A2", pictured="deploy")
    assert cell(result, "reader", "deploy").text == "3/3 ok"
    pairs = [box.pods for _, boxes in result.after.columns for box in boxes if box.name.startswith("pair")]
    assert [sum(count for _, _, count in pods) for pods in pairs] == [2, 2, 2]


def test_a3_what_comes_first_takes_the_room_with_a_witness_each_way():
    result = seed("A3", "tight.yaml")
    here = cell(result, "writer", "deploy")
    assert (here.verdict, here.bound.least, here.bound.most) == ("depends", 0, 3)
    assert "reader → pair" in "".join(here.worst.lines)
    assert "writer → pair" in "".join(here.best.lines)


def test_b9_a_rollout_with_no_spare_domain_is_stuck_and_the_term_is_to_blame():
    result = seed("B9")
    here = cell(result, "web", "rollout")
    assert (here.verdict, here.text, here.proven) == ("bad", "stuck", True)
    assert "maxUnavailable 0" in here.why
    assert here.message.startswith("0/4 nodes are available: 4 node(s) didn't match pod anti-affinity rules.")
    place = result.place(here)
    line = Path(place.path).read_text().splitlines()[place.span.line - 1]
    assert "labelSelector" in line or "topologyKey" in line
    assert cell(result, "web", "deploy").verdict == "fine"


def test_b3_the_autoscaler_makes_it_worse():
    here = cell(seed("B3-hpa"), "web", "hpa-max")
    assert (here.text, here.verdict, here.proven) == ("2/6 −4", "bad", True)


def test_b5_either_suffers_as_the_order_will_have_it():
    result = seed("B5")
    assert cell(result, "a", "deploy").verdict == cell(result, "b", "deploy").verdict == "depends"


def test_c3_c4_even_at_deploy_uneven_after_a_rollout_without_a_version_label():
    skews = {(s.skew.event): s.skew for s in seed("C4").skews}
    assert skews["deploy"].ends == (((7, 7, 7), 20),)
    assert skews["rollout"].worst >= 2
    assert len(skews["rollout"].ends) > 1


def test_c6_match_label_keys_keep_a_rollout_even():
    skews = {(s.skew.event): s.skew for s in seed("C6").skews}
    assert skews["rollout"].ends == (((7, 7, 7), 20),)


def test_d4_one_of_each_per_node_and_with_two_nodes_one_of_each_waits():
    three, two = seed("D4", "3-nodes.yaml"), seed("D4", "2-nodes.yaml")
    assert [cell(three, name, "deploy").text for name in ("redis-cache", "web-server")] == ["3/3 ok"] * 2
    assert [cell(two, name, "deploy").text for name in ("redis-cache", "web-server")] == ["2/3 −1"] * 2
    assert "a node of its own" in cell(two, "redis-cache", "deploy").why


def test_e6_the_zone_of_the_volumes_takes_all_twenty_with_it():
    result = seed("E6", events=("deploy", "zone-loss"), states=300)
    assert cell(result, "db", "deploy").text == "20/20 ok"
    loss = cell(result, "db", "zone-loss")
    assert loss.worst.bound == 0
    assert loss.worst.where == "eu-west-1a"


# --- other cells ----------------------------------------------------------------------------------------------------

THREE = FIXTURES / "clusters" / "three-zones.yaml"


def test_a_budget_that_allows_nothing_blocks_the_drain(tmp_path):
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
    }
    result = simulated(manifest(tmp_path, deployment("web", 6), budget), THREE, events=("deploy", "drain"))
    here = cell(result, "web", "drain")
    assert here.verdict in ("bad", "depends")
    assert "blocked (PDB keep)" in here.text or "may block (PDB keep)" in here.text
    assert "the drain gives up" in "".join(here.worst.lines)


def test_a_daemonset_that_surges_on_its_own_host_port_is_stuck(tmp_path):
    port = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    agent = deployment("agent", 0, port, updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    agent["kind"] = "DaemonSet"
    del agent["spec"]["replicas"]
    result = simulated(manifest(tmp_path, agent), THREE, events=("deploy", "rollout"))
    assert cell(result, "agent", "deploy").text == "6/6 ok"
    assert cell(result, "agent", "rollout").text == "stuck"


def test_losing_a_node_or_a_zone_is_told_over_every_node_and_zone(tmp_path):
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "topology.kubernetes.io/zone"}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    result = simulated(manifest(tmp_path, deployment("web", 3, apart)), THREE, events=("node-loss", "zone-loss"))
    loss = cell(result, "web", "node-loss")
    assert loss.deleted is not None
    assert loss.deleted.text == "3/3 ok", "each zone has a second node"
    assert loss.text == "2–3/3 unreachable", "its pod on a node that is only unreachable closes the zone"
    assert cell(result, "web", "zone-loss").text == "2/3 −1"


def test_what_runs_already_is_replaced_and_never_added_to(tmp_path):
    """Three pods of the old revision hold the three zones: with no surge to spare the new ones take their places."""
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "topology.kubernetes.io/zone"}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    pods = "".join(
        f"- {{apiVersion: v1, kind: Pod, metadata: {{name: web-abc-{i}, labels: {{app: web, pod-template-hash: abc}}}},"
        f" spec: {{nodeName: worker-eu-west-1{zone}-1, containers: [{{name: c}}]}}}}\n"
        for i, zone in enumerate("abc")
    )
    sketch = tmp_path / "cluster.yaml"
    sketch.write_text(f"{THREE.read_text()}objects:\n{pods}")
    in_place = {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}
    result = simulated(
        manifest(tmp_path, deployment("web", 3, apart, **in_place)), sketch, events=("deploy", "rollout")
    )
    here = cell(result, "web", "deploy")
    assert (here.text, here.verdict) == ("3/3 ok", "fine")
    stuck = simulated(manifest(tmp_path, deployment("web", 3, apart)), sketch, events=("deploy",))
    here = cell(stuck, "web", "deploy")
    assert (here.text, here.verdict) == ("stuck", "bad")
    assert here.bound.least == 3, "the old pods run on"


def test_large_clusters_are_told_by_counting_without_a_search(tmp_path):
    sketch = tmp_path / "cluster.yaml"
    sketch.write_text(
        "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes:\n"
        "- {name: w, count: 100, zones: [a, b, c], allocatable: {cpu: '4', memory: 16Gi, pods: '110'}}\n"
    )
    result = simulated(manifest(tmp_path, deployment("web", 50)), sketch)
    assert {c.verdict for r in result.rows for c in r.cells} == {"fine", "none"}
    assert cell(result, "web", "deploy").bound.by in ("closed-form", "bound")


# --- reports --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shop() -> SimulationReport:
    return simulated(FIXTURES / "shop", THREE, pictured="zone-loss")


def test_the_text_shows_matrix_reasons_and_picture(shop):
    text = as_text(shop, verbose=True)
    assert "shop/cache     3/6!   stuck!    ·     ok  ≤3/6! u     2/6!   3/6!" in text
    assert "cache.yaml:18:15" in text
    assert "before zone loss:" in text
    assert "waiting: " in text
    assert as_text(shop, color=True) != text


def test_the_json_names_evidence_for_every_cell_that_is_not_fine(shop):
    value = json.loads(as_json(shop))
    for workload in value["workloads"]:
        for each in workload["cells"]:
            if each["verdict"] == "bad":
                assert each["because"]
                assert each["worst"]
                assert each["assumes"]


def test_the_fragment_is_one_escaped_table(shop):
    fragment = as_html_fragment(shop)
    assert fragment.startswith('<table class="kubesched-matrix">')
    assert fragment.count("<tr>") == 1 + len(shop.rows)


def test_the_same_seed_tells_the_same_story(shop):
    assert as_text(simulated(FIXTURES / "shop", THREE, pictured="zone-loss"), verbose=True) == as_text(
        shop, verbose=True
    )


def test_an_unknown_event_is_named():
    with pytest.raises(ValueError, match="unknown event 'flood'"):
        seed("B9", events=("flood",))


def test_the_command_prints_the_matrix_and_exits_by_what_is_proven():
    from typer.testing import CliRunner

    from kubesched_lint.cli.subcommands.simulate import app

    runner = CliRunner()
    bad = runner.invoke(
        app, [str(SEEDS / "B9"), "-c", str(SEEDS / "B9" / "cluster.yaml"), "--events", "deploy,rollout"]
    )
    assert bad.exit_code == 1, bad.output
    assert "stuck" in bad.output
    fine = runner.invoke(app, [str(SEEDS / "B9"), "-c", str(SEEDS / "B9" / "cluster.yaml"), "--events", "deploy"])
    assert fine.exit_code == 0
    assert runner.invoke(app, [str(SEEDS / "B9"), "-c", "nowhere.yaml"]).exit_code == 2


def test_ordinals_below_the_partition_come_back_at_the_revision_they_had(tmp_path):
    from msgspec.structs import replace

    from kubesched_lint.engine.events.answers.cells import outcome
    from kubesched_lint.engine.events.search.events import Timeline
    from kubesched_lint.engine.events.search.node_events import lose
    from kubesched_lint.engine.model.inventory import Inventory
    from kubesched_lint.engine.runs.event_outcomes import with_new_template

    options = Options()
    body = deployment("db", 3)
    body["kind"] = "StatefulSet"
    (db,) = read_manifests([str(manifest(tmp_path, body))], options).inventory.workloads
    db = replace(db, strategy=replace(db.strategy, partition=2))
    timeline = Timeline(read_cluster(str(THREE)).inventory.nodes, Inventory(), foreseen=[db])
    timeline.deploy([db], together=True)
    timeline.rollout(with_new_template(db))
    for node in [n.name for n in timeline.nodes[:5]]:
        phase = lose(timeline, [node])
    for state in phase.exploration.finals:
        end = outcome(phase.transitions, timeline.desired_states[0], phase.transitions.counts(state))
        assert (end.bound, end.new, end.old) == (3, 1, 2)


# --- volumes --------------------------------------------------------------------------------------------------------


def test_a_volume_of_an_ordinal_keeps_its_pod_where_it_is_and_those_after_it_from_being_made():
    """The class of the claims is not in the snapshot; where the bound volume is, is."""
    from tests.events import simulated as made

    volume = made.other(
        "PersistentVolume",
        "pv-0",
        spec={
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "gp3",
            "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"},
            "claimRef": {"namespace": "default", "name": "data-db-0", "uid": "1"},
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": made.ZONE, "operator": "In", "values": ["a"]}]}]
                }
            },
        },
    )
    claim = made.other(
        "PersistentVolumeClaim",
        "data-db-0",
        spec={
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "gp3",
            "volumeName": "pv-0",
            "resources": {"requests": {"storage": "10Gi"}},
        },
        status={"phase": "Bound"},
    )
    claim["metadata"] |= {
        "namespace": "default",
        "uid": "1",
        "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
    }
    template = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "gp3",
            "resources": {"requests": {"storage": "10Gi"}},
        },
    }
    cluster = made.sketch(2, "abc", "4", "110", volume, claim)
    pinned = made.workload("StatefulSet", "db", 3, {"nodeSelector": {made.ZONE: "b"}}, volumeClaimTemplates=[template])
    here = cell(made.report_of(cluster, pinned, events=("deploy",)), "db", "deploy")
    assert (here.verdict, here.bound.least, here.bound.most) == ("bad", 0, 0)
    free = made.workload("StatefulSet", "db", 3, volumeClaimTemplates=[template])
    result = made.report_of(cluster, free, events=("deploy", "zone-loss"))
    assert cell(result, "db", "deploy").text == "3/3 ok *", "where a class that nobody told of makes volumes is assumed"
    loss = cell(result, "db", "zone-loss")
    assert (loss.verdict, loss.proven) == ("bad", False), "each zone keeps a volume, if the class makes them there"
    assert "in their pod's zone" in " ".join(loss.assumes)
    assert "db-0 → w-a-" in loss.worst.lines[0], "zones are told apart by what volumes read of them"


def test_a_proof_for_any_scheduler_has_the_numbers_of_any_scheduler():
    """The default scheduler takes the node that is free for b, and a's second pod follows b only on the other one."""
    from tests.events import simulated as made

    near = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    a = made.workload("Deployment", "a", 4, {**made.asking("1500m"), "affinity": affinity})
    b = made.workload("Deployment", "b", 1, made.asking("500m"))
    here = cell(made.report_of(made.sketch(2, "a", "2", "110"), a, b, events=("deploy",)), "a", "deploy")
    assert (here.verdict, here.proven, here.bound.least, here.bound.most) == ("bad", True, 1, 2)
