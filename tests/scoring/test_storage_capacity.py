"""StorageCapacityScoring, on since 1.37: nodes where the claims use a small share of the storage are preferred."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.model.pod import NodeSelectorTerm, Pod, SchedulerProfile, Volume
from kubesched_lint.engine.model.storage import Claim, PersistentVolume, StorageCapacity, StorageClass
from kubesched_lint.engine.scheduler.framework import diagnose
from kubesched_lint.engine.scheduler.scoring import score
from tests.scheduler.small import node, pod, state

TWO = (node("n0", "a"), node("n1", "b"))
FAST = StorageClass("fast", "csi.example.com", "WaitForFirstConsumer")
SLOW = StorageClass("slow", "csi.example.com", "WaitForFirstConsumer")
PACKING = SchedulerProfile(capacity_shape=((0, 0), (100, 10)))


def using(*claims: str, profile: SchedulerProfile | None = None) -> Pod:
    return replace(pod(volumes=tuple(Volume(c, "persistentVolumeClaim", c) for c in claims)), profile=profile)


def claim(name: str, request: int, storage_class: str = "fast") -> Claim:
    return Claim("shop", name, storage_class, request=request, access_modes=("ReadWriteOnce",))


def room(zone: str, capacity: int, storage_class: str = "fast") -> StorageCapacity:
    return StorageCapacity(storage_class, Selector((Requirement(ZONE, "In", (zone,)),)), capacity)


def volume(name: str, zone: str, capacity: int) -> PersistentVolume:
    where = (NodeSelectorTerm((Requirement(ZONE, "In", (zone,)),)),)
    return PersistentVolume(name, "fast", capacity, ("ReadWriteOnce",), node_terms=where)


def scores(what: Pod, version: str = "1.37", **objects: Any) -> dict[str, int] | None:
    where = state(TWO, version=version, storage_classes=(FAST, SLOW), **objects)
    feasible = diagnose(what, where).feasible
    assert feasible == where.index.all
    return score(what, where, feasible).by_plugin.get("VolumeBinding")


ROOMS = (room("a", 100), room("b", 60))


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ((claim("x", 50),), {"n0": 50, "n1": 17}),  # 83 % of 60
        ((claim("x", 20), claim("y", 30)), {"n0": 50, "n1": 17}),  # of one capacity
        ((claim("x", 50), claim("y", 10, "slow")), {"n0": 70, "n1": 54}),  # the mean of two classes
    ],
)
def test_claims_to_be_provisioned_count_against_the_published_capacity(
    claims: tuple[Claim, ...], expected: dict[str, int]
) -> None:
    rooms = (*ROOMS, room("a", 100, "slow"), room("b", 100, "slow"))
    what = using(*(c.name for c in claims))
    assert scores(what, claims=claims, storage_capacities=rooms) == expected


def test_volumes_that_are_there_count_instead() -> None:
    volumes = (volume("pv0", "a", 10), volume("pv1", "b", 20))
    claims = (claim("x", 5),)
    assert scores(using("x"), claims=claims, volumes=volumes, storage_capacities=ROOMS) == {"n0": 50, "n1": 75}


def test_a_profile_may_pack_and_may_leave_the_score_out() -> None:
    objects: dict[str, Any] = {"claims": (claim("x", 50),), "storage_capacities": ROOMS}
    assert scores(using("x", profile=PACKING), **objects) == {"n0": 50, "n1": 83}
    assert scores(using("x", profile=replace(PACKING, capacity_weight=3)), **objects) == {"n0": 150, "n1": 249}
    assert scores(using("x", profile=replace(PACKING, capacity_weight=0)), **objects) is None


def test_before_its_gate_was_on_nothing_is_scored() -> None:
    assert scores(using("x"), "1.36", claims=(claim("x", 50),), storage_capacities=ROOMS) is None


def test_what_nobody_publishes_is_worth_nothing() -> None:
    assert scores(using("x"), claims=(claim("x", 50),)) == {"n0": 0, "n1": 0}
