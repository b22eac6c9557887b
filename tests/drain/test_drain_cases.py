"""What ``drain`` says of small clusters, one condition at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.drain.plan import DrainPlan
from kubesched_lint.commands.drain.replay import Rules
from kubesched_lint.commands.drain.run import drain
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.pod import Owner
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.report.drain.as_markdown import as_markdown
from kubesched_lint.report.drain.report import as_text
from kubesched_lint.sources.clusters.read import read_cluster
from kubesched_lint.sources.manifests.loader import documents
from tests.drain.made import KINDS, cluster_of
from tests.drain.recorded import _volume
from tests.drain.reference import App, Node, Reference
from tests.events.simulated import asking, sketch, snapshot, workload

TWO = [Node("n0", "a", 4), Node("n1", "b", 4)]


def planned(
    cluster: Cluster | Reference, nodes: str = "n0", manifests: ManifestSet | None = None, **rules
) -> DrainPlan:
    made = cluster_of(cluster) if isinstance(cluster, Reference) else cluster
    return drain(manifests or ManifestSet(), made, Options(), nodes=nodes, rules=Rules(**rules))


def obstacles(plan: DrainPlan) -> list[tuple[str, str]]:
    return [(each.kind, each.of.name) for each in plan.obstacles]


def edited(made: Reference, kind: str, name: str, change) -> Cluster:
    """The snapshot with a change to one object."""
    from tests.drain.made import _nodes, _objects

    found = [*_nodes(made), *(o for app in made.apps for o in _objects(app, made))]
    for value in found:
        if (value["kind"], value["metadata"]["name"]) == (kind, name):
            change(value)
    return snapshot(*found, kinds=KINDS)


def test_a_pod_that_is_not_ready_counts_for_its_budget_as_the_eviction_api_counts_it() -> None:
    made = Reference(TWO, [App("web", 1, (1, 1), budget=("minAvailable", 1))])

    def break_(pod):
        pod["status"]["conditions"][0]["status"] = "False"

    cluster = edited(made, "Pod", "web-1", break_)
    refused = planned(cluster, "n0")
    assert (refused.verdict, obstacles(refused)) == ("impossible", [("budget", "web-budget")])
    assert "pods that are not ready stay so until they are evicted: default/web-1" in refused.assumes
    assert planned(cluster, "n1").verdict == "possible"
    assert planned(made, "n0").verdict == "possible"


def test_a_budget_may_let_pods_go_that_are_not_ready() -> None:
    made = Reference(TWO, [App("web", 1, (1, 1), budget=("maxUnavailable", 0))])

    def break_(pod):
        pod["status"]["conditions"][0]["status"] = "False"

    cluster = edited(made, "Pod", "web-0", break_)
    assert planned(cluster).verdict == "impossible"
    (budget,) = cluster.inventory.budgets
    allowing = replace(budget, unhealthy_pod_eviction_policy="AlwaysAllow")
    cluster = replace(cluster, inventory=replace(cluster.inventory, budgets=(allowing,)))
    assert planned(cluster, "n0").verdict == "possible"
    assert planned(cluster, "n1").verdict == "impossible"


@pytest.mark.parametrize(
    ("kind", "budget", "verdict", "says"),
    [
        ("Job", ("maxUnavailable", 1), "impossible", "maxUnavailable 1 needs the scale of every controller, and a Job"),
        ("Job", ("minAvailable", 1), "possible", ""),
        ("Pod", ("maxUnavailable", 1), "impossible", "and a bare pod has none"),
        ("RayCluster", ("maxUnavailable", 1), "unknown", "needs the scale subresource of RayCluster default/web"),
        ("RayCluster", ("minAvailable", 1), "possible", ""),
        ("StatefulSet", ("maxUnavailable", 1), "possible", ""),
    ],
)
def test_a_budget_that_asks_for_the_scale_of_controllers_without_one(kind, budget, verdict, says) -> None:
    """getExpectedPodCount of ``pkg/controller/disruption``: it fails for all pods, and nothing may be evicted."""
    cluster = cluster_of(Reference(TWO, [App("web", 1, (1, 1), kind="Pod", budget=budget)]))
    owner = None if kind == "Pod" else Owner(kind, "web")
    pods = tuple(replace(bound, owner=owner) for bound in cluster.inventory.pods)
    plan = planned(replace(cluster, inventory=replace(cluster.inventory, pods=pods)), force=True)
    assert plan.verdict == verdict
    assert says in " ".join([*(each.why for each in plan.obstacles), *plan.missing])
    assert {move.workload.kind for wave in plan.waves for move in wave.moves} <= {kind}


def test_a_finalizer_keeps_a_terminating_pod() -> None:
    made = Reference(TWO, [App("web", 1, (1, 1))])

    def hold(pod):
        pod["metadata"] |= {"finalizers": ["x.example.com/hold"], "deletionTimestamp": "2026-01-01T00:00:00Z"}

    plan = planned(edited(made, "Pod", "web-0", hold))
    assert (plan.verdict, plan.evidence, plan.exit_code) == ("impossible", "proven", 1)
    assert obstacles(plan) == [("finalizer", "web-0")]


def test_a_bare_pod_goes_only_by_force_and_does_not_come_back() -> None:
    made = Reference(TWO, [App("lonely", 1, (1, 0), kind="Pod"), App("web", 1, (1, 1))])
    refused = planned(made)
    assert obstacles(refused) == [("bare-pod", "lonely-0")]
    assert "use --force to override" in refused.obstacles[0].message
    forced = planned(made, force=True)
    assert forced.verdict == "possible"
    assert [(m.workload.name, dict(m.to)) for w in forced.waves for m in w.moves if m.workload.kind == "Pod"] == [
        ("lonely-0", {})
    ]


def test_a_bare_pod_of_a_manifest_goes_by_force_although_no_other_node_would_take_it() -> None:
    made = Reference([Node("n0", "a", 4), Node("n1", "b", 4, tainted=True)], [App("lonely", 1, (1, 0), kind="Pod")])
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: lonely-0}\nspec: {containers: [{name: c}]}\n"
    manifests = manifest_set(documents("pod.yaml", text.encode(), is_read), "default")
    assert obstacles(planned(cluster_of(made), manifests=manifests)) == [("bare-pod", "lonely-0")]
    forced = planned(cluster_of(made), manifests=manifests, force=True)
    assert (forced.verdict, forced.evidence) == ("possible", "proven")


def test_two_budgets_on_one_pod_refuse_its_eviction() -> None:
    made = Reference(TWO, [App("web", 1, (1, 1), budget=("minAvailable", 1))])

    cluster = cluster_of(made)
    twin = replace(cluster.inventory.budgets[0], name="twin")
    cluster = replace(cluster, inventory=replace(cluster.inventory, budgets=(*cluster.inventory.budgets, twin)))
    plan = planned(cluster)
    assert plan.verdict == "impossible"
    assert obstacles(plan) in ([("budget", "web-budget")], [("budget", "twin")])
    assert "more than one PodDisruptionBudget" in plan.obstacles[0].message


def test_static_pods_and_daemons_stay() -> None:
    made = Reference(TWO, [App("agent", 0, (1, 1), "DaemonSet"), App("static", 1, (1, 0), kind="Pod")])

    def mirror(pod):
        owner = {"apiVersion": "v1", "kind": "Node", "name": "n0", "uid": "n0", "controller": True}
        pod["metadata"] |= {"ownerReferences": [owner]}

    plan = planned(edited(made, "Pod", "static-0", mirror))
    assert (plan.verdict, plan.waves[0].pods) == ("possible", 0)


def test_a_new_node_makes_room_where_all_are_full() -> None:
    made = Reference(TWO, [App("web", 4, (1, 1))])
    assert obstacles(planned(made, "n0,n1")) == [("room", "web")]
    assert planned(made, "n0").obstacles[0].missing == {"cpu": 4000}
    surged = planned(made, "n0,n1", surge=1)
    assert (surged.verdict, surged.evidence) == ("possible", "proven")
    assert [(wave.nodes, wave.new) for wave in surged.waves] == [(("n0",), ("n0-new",)), (("n1",), ("n1-new",))]


def test_a_volume_stays_in_its_zone() -> None:
    db = workload("StatefulSet", "db", 1)
    db["metadata"]["namespace"] = "default"
    template = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "zonal"}}
    template["spec"]["resources"] = {"requests": {"storage": "1Gi"}}
    db["spec"]["volumeClaimTemplates"] = [template]
    made = cluster_of(Reference(TWO, []))
    node = {"metadata": {"labels": {"topology.kubernetes.io/zone": "a"}}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "db-0",
            "namespace": "default",
            "labels": {"app": "db"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "controller": True}],
        },
        "spec": {
            **asking("1"),
            "nodeName": "n0",
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}],
        },
    }
    held = snapshot(db, pod, *_volume(template, "data-db-0", "default", node), kinds=(*KINDS, "StatefulSet"))
    cluster = replace(held, inventory=replace(held.inventory, nodes=made.inventory.nodes))
    plan = planned(cluster)
    assert (plan.verdict, obstacles(plan)) == ("impossible", [("volume", "db")])


def test_pods_that_tolerate_the_cordon_may_come_back() -> None:
    made = Reference(TWO, [App("web", 1, (1, 1), tolerates=True)])

    def everything(body):
        spec = body["spec"]["template"]["spec"] if "template" in body["spec"] else body["spec"]
        spec["tolerations"] = [{"operator": "Exists"}]

    cluster = edited(made, "Deployment", "web", everything)
    tolerations = cluster.inventory.workloads[0].pod.tolerations
    pods = tuple(replace(b, pod=replace(b.pod, tolerations=tolerations)) for b in cluster.inventory.pods)
    cluster = replace(cluster, inventory=replace(cluster.inventory, pods=pods))
    plan = planned(cluster)
    assert (plan.verdict, obstacles(plan), plan.exit_code) == ("depends", [("cordon", "web")], 3)


def test_an_order_that_ends_badly_is_told() -> None:
    """The large pod needs the node that the small one may take first."""
    nodes = [Node("n0", "a", 4), Node("n1", "a", 2), Node("n2", "a", 1)]
    made = Reference(nodes, [App("small", 1, (1, 0, 0)), App("large", 2, (1, 0, 0))])
    plan = planned(made)
    assert (plan.verdict, plan.exit_code) == ("depends", 3)
    assert plan.worst[-1].startswith("drain: ")
    assert ("room", "large") in obstacles(plan)
    assert "a course that ends badly:" in as_text(plan)
    assert "A course that ends badly:" in as_markdown(plan)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda cluster: replace(cluster, gaps=("pods: forbidden (403)",)), "the snapshot has a gap: pods: forbidden"),
        (lambda cluster: _scheduled_by(cluster, "mine"), "how the scheduler mine places the pods"),
    ],
)
def test_what_is_unknown_is_never_satisfied(change, says) -> None:
    plan = planned(change(cluster_of(Reference(TWO, [App("web", 1, (1, 1))]))))
    assert (plan.verdict, plan.evidence, plan.exit_code) == ("unknown", "", 3)
    assert any(says in fact for fact in plan.missing)


def _scheduled_by(cluster: Cluster, name: str) -> Cluster:
    live = cluster.inventory
    pods = tuple(replace(b, pod=replace(b.pod, scheduler_name=name)) for b in live.pods)
    workloads = tuple(replace(w, pod=replace(w.pod, scheduler_name=name)) for w in live.workloads)
    return replace(cluster, inventory=replace(live, pods=pods, workloads=workloads))


def test_a_large_cluster_is_followed_by_traces_from_what_is_deployed_first() -> None:
    import yaml

    text = yaml.safe_dump(workload("Deployment", "web", 30, asking("2")))
    manifests = manifest_set(documents("web.yaml", text.encode(), is_read), "default")
    cluster = sketch(10, "abc")
    plan = planned(cluster, "", manifests)
    assert (plan.verdict, plan.evidence) == ("possible", "simulated")
    assert sum(len(wave.nodes) for wave in plan.waves) == 30
    assert len(plan.waves) == 2
    assert any("deployed first" in each for each in plan.assumes)


def test_manifests_that_do_not_run_are_left_out_and_named() -> None:
    import yaml

    text = yaml.safe_dump(workload("Deployment", "new", 3))
    manifests = manifest_set(documents("new.yaml", text.encode(), is_read), "default")
    plan = planned(Reference(TWO, [App("web", 1, (1, 1))]), "n0", manifests)
    assert plan.verdict == "possible"
    left_out = "only running pods are drained; 1 workload of the manifests does not run here: Deployment default/new"
    assert left_out in plan.notes
    twice = manifest_set(documents("new.yaml", f"{text}---\n{text}".encode(), is_read), "default")
    plan = planned(Reference(TWO, [App("web", 1, (1, 1))]), "n0", twice)
    assert left_out in plan.notes, "as in two environments"


def test_a_report_tells_how_the_model_agrees_with_kube_scheduler() -> None:
    aged = read_cluster(str(Path(__file__).parents[2] / "fixtures/audit/aged.yaml"))
    said = "1 of 1 message of kube-scheduler about pending pods agrees with this model on this cluster"
    assert said in planned(aged, "a1").notes
