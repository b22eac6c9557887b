"""Running pods of others that have to go: evicted by a drain, lost with a node, or driven out by a stronger pod."""

from __future__ import annotations

import pytest

from kubesched_lint import lint
from kubesched_lint.engine.events.answers.cells import BAD, FINE, UNKNOWN
from tests.events.simulated import HOSTNAME, ZONE, apart, asking, cell, other, report_of, sketch, snapshot, workload

HIGH = other("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000)
NODE = "w"


def guest(name: str, node: str = NODE, cpu: str = "3", owner: str = "", priority: int = 0, **spec):
    meta = {"name": name, "namespace": "default", "labels": {"app": name.partition("-")[0]}}
    if owner:
        kind, _, named = owner.partition(" ")
        api = "apps/v1" if kind in ("ReplicaSet", "DaemonSet") else "example.org/v1"
        meta["ownerReferences"] = [{"apiVersion": api, "kind": kind, "name": named, "uid": named, "controller": True}]
    resources = {"requests": {"cpu": cpu}}
    spec = {"nodeName": node, "priority": priority, "containers": [{"name": "c", "resources": resources}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}


def strong(replicas: int, cpu: str = "3", **spec):
    return workload("Deployment", "web", replicas, asking(cpu, priorityClassName="high", **spec))


def one_node(*guests):
    return sketch(1, "a", "4", "110", *guests)


# --- driven out -----------------------------------------------------------------------------------------------------


def test_a_bare_pod_that_is_driven_out_is_gone():
    result = report_of(one_node(guest("old")), HIGH, strong(1), events=("deploy",))
    found = cell(result, "web", "deploy")
    assert (found.text, found.verdict) == ("1/1 ok", FINE)
    assert "bare pods that are not in the manifests and are evicted do not come back" in found.assumes


def test_a_pod_with_a_controller_comes_again_and_takes_the_room_of_weaker_ones():
    """On two nodes the strong pod drives the guest from one; made again, it takes the other before low may."""
    cluster = sketch(
        2, "a", "4", "110", guest("old-1", "w-a-1", owner="ReplicaSet old", cpu="1"), guest("big", "w-a-2")
    )
    low = workload("Deployment", "low", 1, asking("1"))
    found = report_of(cluster, HIGH, strong(1, "4"), low, events=("deploy",))
    assert cell(found, "web", "deploy").text == "1/1 ok"
    assert not cell(found, "low", "deploy").proven
    assert cell(found, "low", "deploy").bound.least == 0, "the guest may be there first"


@pytest.mark.parametrize(("name", "is_refused"), [("", True), ("system-node-critical", False)])
def test_a_kubelet_makes_room_for_critical_pods_that_name_their_node(name, is_refused):
    """CriticalPodAdmissionHandler of the kubelet evicts weaker pods, although no scheduler preempts them."""
    cluster = one_node(guest("old-1", owner="ReplicaSet old"))
    web = workload("Deployment", "web", 1, asking("3", nodeName=NODE, priorityClassName=name))
    found = cell(report_of(cluster, web, events=("deploy",)), "web", "deploy")
    assert (found.verdict == BAD and found.proven) is is_refused
    assert any(f.rule == "pods-stay-pending" for f in lint(objects=[web], cluster=cluster).findings) is is_refused


def test_a_daemonset_pod_waits_where_it_was():
    cluster = sketch(2, "a", "4", "110", *(guest(f"agent-{n}", f"w-a-{n}", owner="DaemonSet agent") for n in (1, 2)))
    result = report_of(cluster, HIGH, strong(2), events=("deploy", "node-loss"))
    assert cell(result, "web", "deploy").text == "2/2 ok"
    assert cell(result, "web", "node-loss").text == "1/2 −1"


KEEP = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "keep", "namespace": "default"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "old"}}},
}


@pytest.mark.parametrize(
    "standing",
    [
        (guest("old", owner="CloneSet old"),),
        (guest("old", owner="StatefulSet old"),),
        (guest("old"), KEEP),
    ],
    ids=["controller of somebody", "ordinals", "budget"],
)
def test_whatever_comes_of_a_guest_it_makes_room_for_a_stronger_pod(standing):
    result = report_of(one_node(*standing), HIGH, strong(1), events=("deploy",))
    found = cell(result, "web", "deploy")
    assert (found.text, found.proven) == ("1/1 ok", True)
    assert any("DefaultPreemption" in premise for premise in found.assumes)


@pytest.mark.parametrize("owner", ["CloneSet old", "StatefulSet old"])
def test_what_nobody_tells_of_a_guest_is_said(owner):
    """Where the guest goes when web drives it out decides whether the weak pod has room."""
    cluster = sketch(2, "a", "4", "110", guest("old", "w-a-1", owner=owner))
    weak = workload("Deployment", "low", 1, asking("3"))
    found = cell(report_of(cluster, HIGH, strong(1), weak, events=("deploy",)), "low", "deploy")
    assert found.verdict == UNKNOWN
    assert "Deployment default/web (priority 1000) may drive out pod default/old (priority 0)" in found.missing[0]


def test_a_guest_that_a_finalizer_keeps_makes_no_room():
    kept = guest("old")
    kept["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["example.org/wait"])
    found = cell(report_of(one_node(kept), HIGH, strong(1), events=("deploy",)), "web", "deploy")
    assert not (found.verdict == FINE and found.proven)


def test_counting_that_passes_over_preemption_proves_nothing():
    """More nodes than anybody searches, each full of a weaker pod: no bound by room holds."""
    guests = [guest(f"old-{n}", f"w-a-{n}") for n in range(1, 31)]
    result = report_of(sketch(30, "a", "4", "110", *guests), HIGH, strong(31), events=("deploy",))
    found = cell(result, "web", "deploy")
    assert (found.verdict, found.bound.most, found.proven) == (BAD, 30, True), "30 nodes hold one each, whoever goes"
    fits = cell(report_of(sketch(30, "a", "4", "110", *guests), HIGH, strong(30), events=("deploy",)), "web", "deploy")
    assert (fits.text, fits.proven) == ("30/30 ok", True), "by force"


def test_polite_pods_drive_nobody_out():
    polite = other("PriorityClass", "polite", "scheduling.k8s.io/v1", value=1000, preemptionPolicy="Never")
    waits = workload("Deployment", "web", 1, asking("3", priorityClassName="polite"))
    found = cell(report_of(one_node(guest("old")), polite, waits, events=("deploy",)), "web", "deploy")
    assert (found.text, found.proven) == ("0/1 −1", True)


# --- with their node ------------------------------------------------------------------------------------------------


def repelling(app: str):
    return apart(app)


def test_a_drain_takes_the_bare_pod_that_kept_others_from_its_zone():
    """Recorded (made:mix#1025): the DaemonSet's pod, which stays off no cordoned node, comes where the guest was."""
    cluster = sketch(1, "ab", "4", "110", guest("old", "w-a", cpu="1", **repelling("web")))
    result = report_of(cluster, workload("DaemonSet", "web", None), events=("deploy", "drain"))
    assert cell(result, "web", "deploy").text == "1/2 −1"
    drained = cell(result, "web", "drain")
    assert (drained.bound.least, drained.bound.most) == (1, 2), "of node w-a it is the guest that goes"


@pytest.mark.parametrize("count", [2, 40])
def test_a_lost_node_frees_its_zone_of_the_pod_that_repelled(count):
    """However many nodes there are: bounds by counting know it as the search does."""
    cluster = sketch(count, "a", "4", "110", guest("old", "w-a-1", cpu="1", **repelling("web")))
    found = cell(
        report_of(cluster, workload("Deployment", "web", 1), events=("node-loss", "deploy")), "web", "node-loss"
    )
    assert found.deleted is not None
    assert found.deleted.bound.most == 1
    assert not (found.deleted.verdict == BAD and found.deleted.proven)
    assert found.verdict == BAD, "where its node is only unreachable, the pod still repels"


def test_guests_that_are_alike_are_one_kind():
    """Twelve equal bare pods leave a drained node in 13 states, not in 2 ** 12."""
    guests = [guest(f"old-{n}", "w-a-1", cpu="10m") for n in range(12)]
    web = workload("Deployment", "web", 3, asking("1", **apart("web", HOSTNAME)))
    found = cell(report_of(sketch(3, "a", "4", "110", *guests), web, events=("drain",)), "web", "drain")
    assert (found.text, found.proven) == ("2/3 −1", True)


# --- under a NoExecute taint ----------------------------------------------------------------------------------------


def tainted(*guests):
    meta = {"name": "n", "labels": {HOSTNAME: "n"}}
    taints = [{"key": "gpu", "value": "yes", "effect": "NoExecute"}]
    status = {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {"taints": taints}, "status": status}
    return snapshot(node, *guests, kinds=KINDS)


KINDS = ["Node", "Pod", "Namespace", "PriorityClass", "ResourceQuota", "LimitRange", "PodDisruptionBudget"]
GPU = {"key": "gpu", "operator": "Exists"}


@pytest.mark.parametrize(
    ("tolerations", "owner", "runs"),
    [
        ([], "", 1),
        ([{**GPU, "tolerationSeconds": 60}], "", 1),
        ([{**GPU, "tolerationSeconds": 60}, GPU], "", 1),
        ([GPU, {**GPU, "tolerationSeconds": 60}], "", 0),
        ([GPU], "", 0),
        ([], "ReplicaSet old", 0),
    ],
)
def test_a_bare_pod_goes_from_a_node_whose_taint_it_does_not_tolerate(tolerations, owner, runs):
    """Of several tolerations of a taint the first counts (component-helpers, GetMatchingTolerations)."""
    web = workload("Deployment", "web", 1, asking("3", tolerations=[GPU]))
    old = guest("old", "n", owner=owner, tolerations=tolerations)
    found = cell(report_of(tainted(old), web, events=("deploy",)), "web", "deploy")
    assert (found.bound.least, found.bound.most) == (runs, runs)
    assert ("pods that terminate end: default/old" in found.assumes) is bool(runs)
    rules = {finding.rule for finding in lint(objects=[web], cluster=tainted(old)).findings}
    assert ("resource-insufficient-free" in rules) is not bool(runs)


@pytest.mark.parametrize(("nodes", "proven"), [(("w-a-1",), False), (("w-a-1", "w-a-2"), True)])
def test_a_lost_node_takes_the_pod_that_an_affinity_leads_to(nodes, proven):
    """One pod of others that the affinity selects may be on the very node that is lost; of two one stays."""
    friends = [other("Pod", f"db-{n}", spec={"nodeName": n, **asking("100m")}) for n in nodes]
    for friend in friends:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "db-1", "uid": "u", "controller": True}
        friend["metadata"].update(namespace="default", labels={"app": "db"}, ownerReferences=[owner])
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": ZONE}
    near = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    web = workload("Deployment", "web", 1, asking("100m", **near))
    result = report_of(sketch(2, "a", "4", "110", *friends), web, events=("node-loss",))
    assert cell(result, "web", "node-loss").proven == proven
