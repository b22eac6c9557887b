"""Volumes tie pods of a StatefulSet to where they were made: what counting proves of that, no search contradicts."""

from __future__ import annotations

import pytest
from hypothesis import assume, settings
from msgspec.structs import replace

from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.bounds.counting import Counting
from kubesched_lint.engine.bounds.idle import idle
from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.model.storage import CSIDriver, CSINode, PersistentVolume
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.runs.event_outcomes import EventOutcomes
from kubesched_lint.engine.verdicts.matrix import EVENTS, Matrix
from tests import drawn as st
from tests.drawn import given
from tests.events import simulated
from tests.events.enclosed import is_enclosed, thorough
from tests.events.made_sets import nodes
from tests.events.test_leading import CLAIM, MADE

DRIVER = "ebs.csi.aws.com"
RACK = "example.com/rack"
EPHEMERAL = {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM["spec"]}}}]}
SURVIVED = ("rollout", "node-loss", "drain")


def db(replicas: int = 2, cpu: str = "100m", spec: dict | None = None) -> Workload:
    asked = simulated.asking(cpu, **(spec or {}))
    return decode_workload(
        simulated.workload("StatefulSet", "db", replicas, asked, volumeClaimTemplates=[CLAIM]), "default"
    )


def web(replicas: int, cpu: str, spec: dict | None = None) -> Workload:
    return decode_workload(
        simulated.workload("Deployment", "web", replicas, simulated.asking(cpu, **(spec or {}))), "default"
    )


def spread(key: str) -> dict:
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**constraint, "labelSelector": {"matchLabels": {"app": "db"}}}]}


def cluster(zones: str = "abc", each: int = 2, cpu: int = 1000) -> tuple[Node, ...]:
    room = {"cpu": cpu, "memory": 8 << 30, "pods": 110}
    return tuple(
        Node(f"n{zone}{i}", {HOSTNAME: f"n{zone}{i}", ZONE: f"z{zone}", RACK: f"r{i}"}, allocatable=room)
        for zone in zones
        for i in range(each)
    )


def with_drivers(found: tuple[Node, ...], keys: tuple[str, ...] = (ZONE,), limit: int | None = None):
    return replace(MADE, csi_nodes=tuple(CSINode(n.name, {DRIVER: limit}, {DRIVER: keys}) for n in found))


def test_a_pod_returns_to_the_zone_of_its_volume_if_that_keeps_a_node():
    setting = SimulatedSet(cluster(), MADE, (db(), web(2, "100m")))
    for event in SURVIVED:
        assert count(setting.member(0), event).is_fine
        assert is_enclosed(setting, event)


def test_a_zone_of_one_node_or_a_lost_zone_keeps_none():
    for event in ("node-loss", "drain"):
        setting = SimulatedSet(cluster(each=1), MADE, (db(),))
        assert count(setting.member(0), event).least.pods == 0
        assert is_enclosed(setting, event)
    assert count(SimulatedSet(cluster(), MADE, (db(),)).member(0), "zone-loss").least.pods == 0


def test_a_zone_that_others_may_fill_keeps_none():
    """Either node of a zone is full with one pod of web, of which there are two."""
    setting = SimulatedSet(cluster("ab"), MADE, (db(1), web(2, "950m")))
    assert count(setting.member(0), "rollout").least.pods == 0
    assert is_enclosed(setting, "rollout")
    assert count(SimulatedSet(cluster("ab", each=4), MADE, (db(1), web(2, "950m"))).member(0), "node-loss").is_fine


def test_a_zone_in_which_pods_of_others_leave_no_room_counts():
    """A volume may be made there while such a pod is away."""
    full = tuple(BoundPod(f"full-{i}", f"nc{i}", web(1, "950m").pod) for i in range(2))
    assert count(SimulatedSet(cluster(), MADE, (db(),)).member(0), "node-loss").is_fine
    assert count(SimulatedSet(cluster(), replace(MADE, pods=full), (db(),)).member(0), "node-loss").least.pods == 0


def test_a_driver_says_what_its_volumes_are_reached_from():
    found = cluster()
    for keys, survives in (((ZONE,), True), ((RACK,), True), ((HOSTNAME,), False), ((), True)):
        setting = SimulatedSet(found, with_drivers(found, keys), (db(),))
        assert count(setting.member(0), "deploy").is_fine
        assert count(setting.member(0), "node-loss").is_fine is survives
        assert is_enclosed(setting, "node-loss")


def by(provisioner: str):
    return replace(MADE, storage_classes=(replace(MADE.storage_classes[0], provisioner=provisioner),))


@pytest.mark.parametrize(
    "provisioner", ["rancher.io/local-path", "openebs.io/local", "topolvm.io", "zfs.csi.openebs.io"]
)
def test_local_volumes_stay_on_their_node(provisioner):
    """Other CSINodes do not say where volumes of a provisioner are that is no CSI driver."""
    found = cluster(each=3)
    others = tuple(CSINode(n.name, {DRIVER: None}, {DRIVER: (ZONE,)}) for n in found)
    for csi_nodes in ((), others):
        setting = SimulatedSet(found, replace(by(provisioner), csi_nodes=csi_nodes), (db(1),))
        assert not count(setting.member(0), "node-loss").least.pods
        assert is_enclosed(setting, "node-loss")
        assert Matrix(setting).cell("node-loss", 0).verdict in (DEPENDS, BAD)


def test_an_in_tree_provisioner_asks_for_what_its_csi_driver_does():
    found = cluster(each=1)
    objects = replace(by("kubernetes.io/aws-ebs"), csi_nodes=with_drivers(found).csi_nodes)
    for event in ("node-loss", "zone-loss"):
        assert is_enclosed(SimulatedSet(found, objects, (db(1),)), event)
        assert not count(SimulatedSet(found, objects, (db(1),)).member(0), event).is_fine


@pytest.mark.parametrize(("limit", "is_fine"), [(None, True), (8, True), (3, False)])
def test_a_limit_of_volumes_must_hold_all_that_may_come(limit, is_fine):
    """Two pods in two revisions bring at most four volumes."""
    found = cluster()
    setting = SimulatedSet(found, with_drivers(found, limit=limit), (db(),))
    assert count(setting.member(0), "deploy").is_fine is is_fine


@pytest.mark.parametrize(("limit", "most"), [(None, 9), (1, 4), (2, 8), (3, 9)])
def test_limits_of_volumes_bound_what_nodes_take(limit, most):
    found = cluster("ab")
    setting = SimulatedSet(found, with_drivers(found, limit=limit), (db(9),))
    for event in ("deploy", "rollout"):
        assert count(setting.member(0), event).most.pods == most
    assert count(replace(setting, nodes=(*found, *cluster("c"))).member(0), "deploy").most.pods == 9


@pytest.mark.parametrize("name", ["another", "data-db-0"])
def test_a_volume_of_another_driver_takes_no_place_of_the_limit(name):
    """Only one that is reserved for another claim is none of its own."""
    found = cluster("ab", each=1)
    made = PersistentVolume("pv", storage_class="ssd", capacity=1 << 40, claim_ref=("default", name, ""))
    setting = SimulatedSet(found, replace(with_drivers(found, limit=1), volumes=(made,)), (db(3),))
    assert count(setting.member(0), "deploy").most.pods == (2 if name == "another" else 3)


def test_volumes_of_an_older_template_are_not_known():
    """Ephemeral volumes come with the template, those of a StatefulSet's claims do not."""
    found = cluster("ab", each=1)
    setting = SimulatedSet(found, with_drivers(found, limit=1), (web(3, "100m", EPHEMERAL),))
    assert count(setting.member(0), "deploy").most.pods == 2
    old = web(3, "100m")
    running = {0: (BoundPod("web-old", "na0", old.pod),)}
    assert count(replace(setting, running=running).member(0), "rollout").most.pods == 3


def test_nodes_without_a_driver_that_must_be_there_do_not_count():
    """Only if the CSIDriver says so (preventPodSchedulingIfMissing), kube-scheduler keeps pods from them."""
    found = cluster("ab")
    objects = replace(MADE, csi_nodes=tuple(CSINode(n.name) for n in found))
    assert count(SimulatedSet(found, objects, (db(),)).member(0), "deploy").is_fine
    needed = replace(objects, csi_drivers=(CSIDriver(DRIVER, is_needed_on_nodes=True),))
    refused = count(SimulatedSet(found, needed, (db(),), kubernetes_version="1.37").member(0), "deploy").least
    assert (refused.pods, "driver" in refused.why) == (0, True)


def test_pods_share_no_ephemeral_volume():
    """Each pod brings its own, so that a node with a limit of one takes one of them."""
    setting = SimulatedSet(
        cluster("ab", each=1), with_drivers(cluster("ab", each=1), limit=1), (web(2, "100m", EPHEMERAL),)
    )
    assert not count(setting.member(0), "deploy").is_fine
    assert Matrix(replace(setting, workloads=(web(3, "100m", EPHEMERAL),))).cell("deploy", 0).verdict == BAD


def test_local_volumes_deploy_beside_the_csi_nodes_of_other_drivers():
    found = cluster()
    objects = replace(by("rancher.io/local-path"), csi_nodes=with_drivers(found, limit=1).csi_nodes)
    assert count(SimulatedSet(found, objects, (db(),)).member(0), "deploy").is_fine


@pytest.mark.parametrize(
    ("provisioner", "drivers_of", "words"),
    [
        ("rancher.io/local-path", "ab", "stay on their node"),
        ("nfs.example.com", "", "are reached from their zone"),
        ("nfs.example.com", "ab", "are reached from every node"),
        ("nfs.example.com", "a", "are reached from every node or their zone"),
        (DRIVER, "ab", ""),
    ],
)
def test_a_verdict_names_what_no_csi_node_says(provisioner, drivers_of, words):
    found = cluster("ab")
    told = tuple(n for n in found if n.name[1] in drivers_of)
    setting = SimulatedSet(found, replace(by(provisioner), csi_nodes=with_drivers(told).csi_nodes), (db(1),))
    said = [one for one in Matrix(setting).cell("deploy", 0).assumes if "CSINode" in one]
    assert said == ([f"volumes that {provisioner} makes {words}: no CSINode says where they are"] if words else [])


@pytest.mark.parametrize("claim", [None, ("default", "data-db-0", "")])
def test_volumes_that_exist_may_be_taken_instead(claim):
    made = PersistentVolume("pv", storage_class="ssd", capacity=1 << 40, claim_ref=claim)
    assert not count(SimulatedSet(cluster(), replace(MADE, volumes=(made,)), (db(),)).member(0), "deploy").least.pods
    others = replace(made, claim_ref=("default", "another", ""))
    assert count(SimulatedSet(cluster(), replace(MADE, volumes=(others,)), (db(),)).member(0), "deploy").is_fine


@st.composite
def drivers(draw, found: tuple[Node, ...]) -> tuple[CSINode, ...]:
    made = []
    for node in found:
        if draw(st.integers(0, 3)):
            keys = draw(st.sampled_from([(ZONE,), (ZONE,), (HOSTNAME,), (ZONE, HOSTNAME), ()]))
            limit = draw(st.sampled_from([None, None, 1, 2, 6]))
            made.append(CSINode(node.name, {DRIVER: limit}, {DRIVER: keys} if draw(st.integers(0, 5)) else {}))
    return tuple(made)


@st.composite
def settings_of_volumes(draw) -> SimulatedSet:
    found = draw(nodes(most=4))
    alone = draw(st.sampled_from([{}, simulated.apart("db", HOSTNAME), spread(HOSTNAME), spread(ZONE)]))
    own = db(draw(st.integers(1, 3)), draw(st.sampled_from(["50m", "100m", "600m"])), alone)
    pinned = {"nodeSelector": {ZONE: "za"}} if draw(st.booleans()) else {}
    ephemeral = EPHEMERAL if draw(st.booleans()) else {}
    cpu = draw(st.sampled_from(["50m", "300m", "600m", "950m"]))
    crowd = web(draw(st.integers(1, 2)), cpu, {**pinned, **ephemeral})
    csi_nodes = draw(drivers(found)) if draw(st.booleans()) else ()
    made = by(draw(st.sampled_from([DRIVER, DRIVER, DRIVER, "rancher.io/local-path", "kubernetes.io/aws-ebs"])))
    return SimulatedSet(found, replace(made, csi_nodes=csi_nodes), (own, crowd), together=draw(st.booleans()))


@settings(thorough, max_examples=2 * thorough.max_examples)
@given(settings_of_volumes(), st.sampled_from(EVENTS))
def test_bounds_enclose_every_end_of_pods_with_volumes(setting, event):
    assume(is_enclosed(setting, event))


def ranked(one: Workload, priority: int) -> Workload:
    return replace(one, pod=replace(one.pod, priority=priority))


def fine_after_preemption(setting: SimulatedSet, event: str) -> bool:
    """Whether all pods of the first workload surely run, although the second one may have to preempt them."""
    members = tuple(range(len(setting.workloads)))
    bounds = Counting(setting).bounds(event, members, 0)
    timeline = timeline_of(setting, members, expected=False, most_states=0, runs=4, preempting=True)
    ends = EventOutcomes(setting, members, [timeline], [n.name for n in setting.nodes]).ends(event, 0) or ()
    assert not (bounds.is_fine and any(end.lack for end in ends)), bounds.least.why
    return bounds.is_fine


def test_a_preempted_pod_returns_to_the_zone_of_its_volume():
    """Two strong pods may need one node each; they can fill a zone of two nodes, and not one of three."""
    strong, weak = ranked(web(2, "950m", {"nodeSelector": {RACK: "r0"}}), 9), db(1, "600m")
    for event in ("deploy", "rollout", "drain"):
        assert fine_after_preemption(SimulatedSet(cluster("ab", each=4), MADE, (weak, strong)), event)
        assert not fine_after_preemption(SimulatedSet(cluster("ab", each=1), MADE, (weak, strong)), event)


@thorough
@given(settings_of_volumes(), st.sampled_from(EVENTS))
def test_no_trace_with_preemption_leaves_out_a_pod_with_volumes_that_surely_runs(setting, event):
    own, crowd = setting.workloads
    ranks = replace(setting, workloads=(own, ranked(crowd, 9)))
    assume(not idle(ranks.member(0), event))
    assume(fine_after_preemption(ranks, event))
