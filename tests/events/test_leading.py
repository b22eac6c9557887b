"""Required affinity leads from workload to workload: what counting proves of that, no search contradicts."""

from __future__ import annotations

import pytest
from hypothesis import assume, settings
from msgspec.structs import replace

from kubesched_lint.engine.bounds.counted import count
from kubesched_lint.engine.events.answers.cells import DEPENDS
from kubesched_lint.engine.events.start.groups import group_of
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node
from kubesched_lint.engine.model.pod import BoundPod, Owner
from kubesched_lint.engine.model.policy import PriorityClass
from kubesched_lint.engine.model.storage import StorageClass
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.verdicts.matrix import EVENTS, Matrix
from tests import drawn as st
from tests.drawn import given
from tests.events import simulated
from tests.events.enclosed import is_enclosed, thorough
from tests.events.made_sets import nodes

CHAIN = ("web", "api", "db")
CLAIM = {
    "metadata": {"name": "data"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "ssd",
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
MADE = Inventory(
    storage_classes=(StorageClass("ssd", "ebs.csi.aws.com", "WaitForFirstConsumer"),),
    priority_classes=(PriorityClass("high", 1000),),
)


@st.composite
def led(draw, place: int) -> Workload:
    """A workload of a chain: required affinity leads it to the next one, or to others, or nowhere."""
    app, after = CHAIN[place], CHAIN[place + 1 : place + 2]
    apps = draw(st.sampled_from([after, after, after, (draw(st.sampled_from(CHAIN)),), (app, *after), ()]))
    terms = [
        {
            "topologyKey": key,
            "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": [name]}]},
        }
        for name in apps
        for key in [draw(st.sampled_from([ZONE, ZONE, HOSTNAME]))]
    ]
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}} if terms else {}
    spec = simulated.asking(draw(st.sampled_from(["50m", "100m", "600m"])), affinity=affinity)
    if draw(st.integers(0, 4)) == 0:
        spec["nodeSelector"] = {ZONE: draw(st.sampled_from(["za", "zb"]))}
    if draw(st.integers(0, 4)) == 0:
        spec["priorityClassName"] = "high"
    kind = draw(st.sampled_from(["Deployment", "StatefulSet", "StatefulSet", "DaemonSet"]))
    more = {"volumeClaimTemplates": [CLAIM]} if kind == "StatefulSet" and draw(st.booleans()) else {}
    replicas = None if kind == "DaemonSet" else draw(st.sampled_from([1, 1, 2]))
    return decode_workload(simulated.workload(kind, app, replicas, spec, **more), "default")


@settings(thorough, max_examples=3 * thorough.max_examples)
@given(nodes(most=3), led(0), led(1), led(2), st.sampled_from(EVENTS), st.booleans())
def test_bounds_enclose_every_end_of_a_chain_of_affinity(cluster, web, api, db, event, together):
    assume(is_enclosed(SimulatedSet(cluster, MADE, (web, api, db), together=together), event, preempting=True))


def _beside(app: str, key: str = ZONE) -> dict:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _cluster(zones: str, each: int) -> tuple[Node, ...]:
    room = {"cpu": 2000, "memory": 8 << 30, "pods": 110}
    return tuple(
        Node(f"n{zone}{i}", {HOSTNAME: f"n{zone}{i}", ZONE: f"z{zone}", "region": "r"}, allocatable=room)
        for zone in zones
        for i in range(each)
    )


def _workload(kind: str, name: str, spec: dict, **more) -> Workload:
    return decode_workload(simulated.workload(kind, name, 1, spec, **more), "default")


def test_a_chain_is_proven_as_far_as_it_goes_and_a_ring_is_not():
    size = 300
    specs = [_beside(f"w{i + 1}") for i in range(size)]
    chain = [_workload("Deployment", f"w{i}", spec) for i, spec in enumerate([*specs, {}])]
    setting = SimulatedSet(_cluster("abc", 40), MADE, tuple(chain))
    for event in ("deploy", "rollout", "node-loss", "zone-loss", "drain"):
        assert count(setting.member(0), event).is_fine
    ring = [*chain[:-1], _workload("Deployment", f"w{size}", _beside("w0"))]
    assert not count(SimulatedSet(_cluster("abc", 40), MADE, tuple(ring)).member(0), "deploy").least.pods


def test_a_pod_whose_volume_is_lost_with_its_zone_leads_nobody():
    db = _workload("StatefulSet", "db", {}, volumeClaimTemplates=[CLAIM])
    web = _workload("Deployment", "web", _beside("db", "region"))
    for each in (1, 2):
        setting = SimulatedSet(_cluster("abc", each), MADE, (web, db))
        assert count(setting.member(0), "rollout").is_fine
        for event in ("node-loss", "zone-loss", "drain"):
            assert is_enclosed(setting, event)
        assert not count(setting.member(0), "zone-loss").least.pods


def test_a_pod_that_may_be_preempted_and_wait_for_its_volume_leads_nobody():
    """The high pod fits on one node only. If db-0 is there first, it is preempted, and no other node has its volume."""
    db = _workload("StatefulSet", "db", simulated.asking("1500m"), volumeClaimTemplates=[CLAIM])
    high = _workload(
        "Deployment", "high", simulated.asking("1500m", priorityClassName="high", nodeSelector={ZONE: "za"})
    )
    setting = SimulatedSet(
        _cluster("abc", 1), MADE, (_workload("Deployment", "web", _beside("db", "region")), db, high)
    )
    assert is_enclosed(setting, "deploy", preempting=True)
    assert not count(setting.member(0), "deploy").least.pods


@pytest.mark.parametrize("home", ["na0", "na1"])
@pytest.mark.parametrize("owner", [None, "DaemonSet"])
def test_a_pod_of_others_that_may_be_preempted_leads_nobody(home, owner):
    """The high pod needs the room of db-0 on na0. Without db-0, nothing leads web, wherever in the zone it may run."""
    high = simulated.asking("1500m", priorityClassName="high", nodeSelector={HOSTNAME: "na0"})
    spec = {**_beside("db"), "nodeSelector": {HOSTNAME: home}}
    workloads = (_workload("Deployment", "web", spec), _workload("Deployment", "high", high))
    pod = _workload("Deployment", "db", simulated.asking("1500m")).pod
    objects = replace(MADE, pods=(BoundPod("db-0", "na0", pod, owner=owner and Owner(owner, "db", "uid")),))
    setting = SimulatedSet(_cluster("ab", 2), objects, workloads)
    assert not count(setting.member(0), "deploy").least.pods
    assert group_of(setting.member(0)) == (0, 1)
    found = Matrix(setting).cell("deploy", 0)
    assert (found.verdict, found.bound.least) == (DEPENDS, 0)
