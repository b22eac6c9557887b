"""Volume filters and binding beyond what is recorded, held against the sources of v1.36."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.nodes.node import REGION, ZONE
from kubesched_lint.engine.model.pod import NodeSelectorTerm, Pod, Volume
from kubesched_lint.engine.model.storage import (
    Claim,
    CSIDriver,
    CSINode,
    PersistentVolume,
    StorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from kubesched_lint.engine.scheduler.binding import bind, settle
from kubesched_lint.engine.scheduler.framework import diagnose
from tests.scheduler.small import bound, feasible, node, pod, reasons, selecting, state

WAIT = StorageClass("wait", "csi.example.com", "WaitForFirstConsumer")
LOCAL = StorageClass("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
NOW = StorageClass("now", "csi.example.com", "Immediate")
TWO = (node("n0", "a"), node("n1", "b"))


def using(*claims: str) -> Pod:
    return pod(volumes=tuple(Volume(name, "persistentVolumeClaim", name) for name in claims))


def claim(name: str, storage_class: str = "wait", **fields: Any) -> Claim:
    return Claim(
        "shop", name, storage_class, request=fields.pop("request", 5), access_modes=("ReadWriteOnce",), **fields
    )


def volume(name: str, storage_class: str = "local", *, zone: str = "", **fields: Any) -> PersistentVolume:
    terms = (NodeSelectorTerm((Requirement(ZONE, "In", (zone,)),)),) if zone else None
    modes = ("ReadWriteOnce",)
    return PersistentVolume(name, storage_class, fields.pop("capacity", 10), modes, node_terms=terms, **fields)


def refusal(what: Pod, **objects: Any) -> str:
    found = diagnose(what, state(TWO, storage_classes=(WAIT, LOCAL, NOW), **objects)).refusal
    assert found is not None
    return f"{found.plugin}: {found.message}"


# --- VolumeBinding: PreFilter ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"phase": "Lost", "volume_name": "pv"},
            'persistentvolumeclaim "d" bound to non-existent persistentvolume "pv"',
        ),
        ({"deleting": True}, 'persistentvolumeclaim "d" is being deleted'),
        ({"storage_class": "now"}, "pod has unbound immediate PersistentVolumeClaims"),
        ({"storage_class": "gone"}, "pod has unbound immediate PersistentVolumeClaims"),
        ({"storage_class": ""}, "pod has unbound immediate PersistentVolumeClaims"),
        # Named its volume, which is not there or another's: not the scheduler's to bind.
        ({"volume_name": "pv"}, "pod has unbound immediate PersistentVolumeClaims"),
    ],
)
def test_claims_that_end_the_attempt(fields: dict[str, Any], text: str) -> None:
    """volumebinding/volume_binding.go, podHasPVCs and PreFilter."""
    assert refusal(using("d"), claims=(claim("d", **fields),)) == f"VolumeBinding: {text}"


def test_a_bound_claim_whose_volume_is_gone_ends_the_attempt_in_volume_zone() -> None:
    """volumezone/volume_zone.go, getPVbyPod."""
    held = claim("d", volume_name="pv", phase="Bound")
    assert refusal(using("d"), claims=(held,)) == 'VolumeZone: persistentvolume "pv" not found'


def test_a_claim_from_a_manifest_is_bound_beside_its_volume() -> None:
    """Both were written together: the volume controller binds them before any pod is scheduled."""
    objects = {"claims": (claim("d", volume_name="pv"),), "storage_classes": (WAIT,)}
    assert feasible(using("d"), state(TWO, volumes=(volume("pv", "wait", zone="b"),), **objects)) == ["n1"]
    reserved = volume("pv", "wait", zone="b", claim_ref=("shop", "other", ""))
    assert diagnose(using("d"), state(TWO, volumes=(reserved,), **objects)).refusal is not None


@pytest.mark.parametrize("fields", [{"storage_class": "local"}, {"capacity": 4}, {"volume_mode": "Block"}])
def test_a_volume_that_does_not_satisfy_its_claim_is_not_bound_to_it(fields: dict[str, Any]) -> None:
    """persistentvolume/pv_controller.go, checkVolumeSatisfyClaim; a volume that names the claim is not checked."""
    unfit = volume("pv", **{"storage_class": "wait", **fields})
    objects = {"claims": (claim("d", volume_name="pv"),), "storage_classes": (WAIT, LOCAL)}
    assert diagnose(using("d"), state(TWO, volumes=(unfit,), **objects)).refusal is not None
    named = volume("pv", **{"storage_class": "wait", **fields}, claim_ref=("shop", "d", ""))
    assert feasible(using("d"), state(TWO, volumes=(named,), **objects)) == ["n0", "n1"]


# --- VolumeBinding: Filter ------------------------------------------------------------------------------------------


def test_claims_take_the_smallest_volumes_smallest_claim_first() -> None:
    """component-helpers/storage/volume/pv_helpers.go, FindMatchingVolume; binder.go, byPVCSize."""
    claims = (claim("big", "local", request=9), claim("small", "local", request=2))
    objects = {"claims": claims, "storage_classes": (LOCAL,)}
    both = (volume("v5", capacity=5), volume("v9", capacity=9))
    assert feasible(using("big", "small"), state(TWO, volumes=both, **objects)) == ["n0", "n1"]
    assert feasible(using("big", "small"), state(TWO, volumes=both[1:], **objects)) == []


def test_a_claim_without_a_volume_leaves_the_next_its_choice() -> None:
    """The smaller claim is provisioned anywhere; the larger one takes the volume of its own class."""
    claims = (claim("made", request=1), claim("found", "local", request=5))
    where = state(TWO, claims=claims, volumes=(volume("v", zone="a"),), storage_classes=(WAIT, LOCAL))
    assert feasible(using("made", "found"), where) == ["n0"]


def test_the_smaller_claim_chooses_first_even_to_the_harm_of_the_larger() -> None:
    claims = (claim("large", "local", request=5, selector=selecting(tier="fast")), claim("small", "local", request=2))
    volumes = (volume("fast", capacity=5, labels={"tier": "fast"}), volume("slow", capacity=9))
    where = state(TWO, claims=claims, volumes=volumes, storage_classes=(LOCAL,))
    assert feasible(using("large", "small"), where) == []
    assert feasible(using("large"), where) == ["n0", "n1"]


@pytest.mark.parametrize(
    "fields",
    [
        {"phase": "Released"},
        {"capacity": 4},
        {"volume_mode": "Block"},
        {"deleting": True},
        {"claim_ref": ("shop", "other", "")},
        {"claim_ref": ("shop", "d", "another-uid")},
        {"storage_class": "other"},
        {"labels": {"tier": "slow"}},
    ],
)
def test_volumes_that_a_claim_cannot_take(fields: dict[str, Any]) -> None:
    wanting = claim("d", "local", selector=selecting(tier="fast"))
    fitting = volume("v", labels={"tier": "fast"})
    where = {"claims": (wanting,), "storage_classes": (LOCAL,)}
    assert feasible(using("d"), state(TWO, volumes=(fitting,), **where)) == ["n0", "n1"]
    assert feasible(using("d"), state(TWO, volumes=(replace(fitting, **fields),), **where)) == []


def test_a_volume_reserved_for_the_claim_is_the_only_one_for_it() -> None:
    reserved = volume("r", zone="a", claim_ref=("shop", "d", ""), phase="Available")
    objects = {"claims": (claim("d", "local"),), "storage_classes": (LOCAL,)}
    where = state(TWO, volumes=(reserved, volume("free", zone="b")), **objects)
    # On n1 the reserved volume is out of reach, which ends the search there, though another would do.
    assert feasible(using("d"), where) == ["n0"]


def test_a_claim_sent_to_a_node_can_go_nowhere_else() -> None:
    sent = claim("d", annotations={"volume.kubernetes.io/selected-node": "n1"})
    where = state(TWO, claims=(sent,), storage_classes=(WAIT,))
    assert feasible(using("d"), where) == ["n1"]
    assert reasons(using("d"), where, "n0") == [
        ("VolumeBinding", "node(s) didn't find available persistent volumes to bind", False)
    ]


@pytest.mark.parametrize(
    ("terms", "fits"),
    [
        ((), ["n0", "n1"]),
        (({ZONE: ("a",)},), ["n0"]),
        (({ZONE: ("a",)}, {ZONE: ("b",)}), ["n0", "n1"]),
        (({ZONE: ("a",), "rack": ("r",)},), []),
    ],
)
def test_a_class_provisions_only_in_its_topologies(terms: Any, fits: list[str]) -> None:
    where = state(TWO, claims=(claim("d"),), storage_classes=(replace(WAIT, allowed_topologies=terms),))
    assert feasible(using("d"), where) == fits


@pytest.mark.parametrize(
    ("capacity", "fits"),
    [
        (StorageCapacity("wait", selecting(**{ZONE: "a"}), 100), ["n0"]),
        (StorageCapacity("wait", selecting(**{ZONE: "a"}), 4), []),
        (StorageCapacity("wait", selecting(**{ZONE: "a"}), 100, maximum_volume_size=4), []),
        (StorageCapacity("wait", None, 100), []),
        (StorageCapacity("wait", selecting(**{ZONE: "a"}), None), []),
        (StorageCapacity("unrelated", selecting(**{ZONE: "a"}), 4), ["n0", "n1"]),
    ],
)
def test_published_capacity_is_respected(capacity: StorageCapacity, fits: list[str]) -> None:
    """binder.go, hasEnoughCapacity: a published maximumVolumeSize goes before capacity."""
    where = state(TWO, claims=(claim("d"),), storage_classes=(WAIT,), storage_capacities=(capacity,))
    assert feasible(using("d"), where) == fits


def test_a_node_may_fail_for_bound_and_for_unbound_claims_at_once() -> None:
    """binder.go, FindPodVolumes appends both reasons."""
    claims = (claim("held", volume_name="pv", phase="Bound"), claim("d", "local"))
    where = state(TWO, claims=claims, volumes=(volume("pv", "wait", zone="a"),), storage_classes=(WAIT, LOCAL))
    assert [r for _, r, _ in reasons(using("held", "d"), where, "n1")] == [
        "node(s) didn't match PersistentVolume's node affinity",
        "node(s) didn't find available persistent volumes to bind",
    ]


def test_an_ephemeral_volume_is_a_claim_of_its_class() -> None:
    template = {"spec": {"storageClassName": "wait", "resources": {"requests": {"storage": "5"}}}}
    what = pod(volumes=(Volume("scratch", "ephemeral", disk={"volumeClaimTemplate": template}),))
    zonal = replace(WAIT, allowed_topologies=({ZONE: ("b",)},))
    assert feasible(what, state(TWO, storage_classes=(zonal,))) == ["n1"]


# --- VolumeZone -----------------------------------------------------------------------------------------------------

BETA = "failure-domain.beta.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("labels", "fits"),
    [
        ({ZONE: "a"}, ["n0", "bare"]),
        ({ZONE: "a__b"}, ["n0", "n1", "bare"]),
        ({ZONE: " a __ b "}, ["n0", "n1", "bare"]),
        ({ZONE: "a__"}, ["n0", "n1", "bare"]),  # an empty value: the label is ignored
        ({BETA: "a"}, ["n0", "bare"]),  # a beta label is read as the GA one of the node
        ({REGION: "r"}, ["bare"]),  # a node with any such label must have this one
        ({"rack": "r"}, ["n0", "n1", "bare"]),
    ],
)
def test_zone_labels_of_a_volume_bind_nodes_that_have_any(labels: dict[str, str], fits: list[str]) -> None:
    """volumezone/volume_zone.go, Filter."""
    held = claim("d", volume_name="pv", phase="Bound")
    where = state((*TWO, node("bare")), claims=(held,), volumes=(volume("pv", "wait", labels=labels),))
    assert feasible(using("d"), where) == fits


# --- VolumeRestrictions ---------------------------------------------------------------------------------------------

RBD = {"monitors": ["m1", "m2"], "pool": "rbd", "image": "i"}


@pytest.mark.parametrize(
    ("kind", "ours", "theirs", "read_only", "fits"),
    [
        ("gcePersistentDisk", {"pdName": "d"}, {"pdName": "d"}, (False, True), ["n1"]),
        ("gcePersistentDisk", {"pdName": "d"}, {"pdName": "d"}, (True, True), ["n0", "n1"]),
        ("gcePersistentDisk", {"pdName": "d"}, {"pdName": "e"}, (False, False), ["n0", "n1"]),
        ("awsElasticBlockStore", {"volumeID": "v"}, {"volumeID": "v"}, (True, True), ["n1"]),
        ("iscsi", {"iqn": "q"}, {"iqn": "q"}, (False, False), ["n1"]),
        ("iscsi", {"iqn": "q"}, {"iqn": "q"}, (True, True), ["n0", "n1"]),
        ("rbd", RBD, {**RBD, "monitors": ["m2", "m3"]}, (False, False), ["n1"]),
        ("rbd", RBD, {**RBD, "monitors": ["m3"]}, (False, False), ["n0", "n1"]),
        ("rbd", {"monitors": ["m1"], "image": "i"}, RBD, (False, False), ["n1"]),  # the default pool is rbd
        ("azureDisk", {"diskName": "d"}, {"diskName": "d"}, (False, False), ["n0", "n1"]),
    ],
)
def test_one_inline_disk_has_one_writer_on_a_node(
    kind: str, ours: dict[str, Any], theirs: dict[str, Any], read_only: tuple[bool, bool], fits: list[str]
) -> None:
    """volumerestrictions/volume_restrictions.go, isVolumeConflict."""
    holder = pod(volumes=(Volume("d", kind, read_only=read_only[1], disk=theirs),))
    wanting = pod(volumes=(Volume("d", kind, read_only=read_only[0], disk=ours),))
    where = state(TWO, bound("b0", "n0", holder))
    assert feasible(wanting, where) == fits
    if "n0" not in fits:
        assert reasons(wanting, where, "n0") == [("VolumeRestrictions", "node(s) had no available disk", True)]


# --- NodeVolumeLimits -----------------------------------------------------------------------------------------------


def limited(count: int | None, driver: str = "csi.example.com") -> tuple[CSINode, ...]:
    return (CSINode("n0", {driver: count}),)


def csi(name: str, **fields: Any) -> PersistentVolume:
    return volume(name, "wait", csi_driver="csi.example.com", volume_handle=f"h-{name}", **fields)


def held(name: str) -> Claim:
    return claim(name, volume_name=f"pv-{name}", phase="Bound")


@pytest.mark.parametrize(
    ("limits", "running", "wanted", "fits"),
    [
        (limited(1), ("d0",), ("d1",), ["n1"]),
        (limited(2), ("d0",), ("d1",), ["n0", "n1"]),
        (limited(1), ("d0",), ("d0",), ["n0", "n1"]),  # the same volume again is not a new one
        (limited(1), (), ("d0", "d1"), ["n1"]),
        (limited(1), (), ("d0", "d0"), ["n0", "n1"]),
        (limited(None), ("d0",), ("d1",), ["n0", "n1"]),
        (limited(1, "other.example.com"), ("d0",), ("d1",), ["n0", "n1"]),
        ((), ("d0",), ("d1",), ["n0", "n1"]),
        (limited(1), ("d0",), ("new",), ["n1"]),  # to be provisioned: its class names the driver
    ],
)
def test_volumes_of_a_driver_are_limited_by_its_csi_node(
    limits: tuple[CSINode, ...], running: tuple[str, ...], wanted: tuple[str, ...], fits: list[str]
) -> None:
    """nodevolumelimits/csi.go, Filter."""
    pods = [bound(f"b{i}", "n0", using(name)) for i, name in enumerate(running)]
    where = state(
        TWO,
        *pods,
        claims=(held("d0"), held("d1"), claim("new")),
        volumes=(csi("pv-d0"), csi("pv-d1")),
        storage_classes=(WAIT,),
        csi_nodes=limits,
    )
    assert feasible(using(*wanted), where) == fits


@pytest.mark.parametrize(
    ("version", "is_needed", "fits"),
    [("1.37", True, ["n1"]), ("1.37", False, ["n0", "n1"]), ("1.36", True, ["n0", "n1"])],
)
def test_a_node_that_lacks_a_driver_is_closed_if_the_driver_asks_for_that(
    version: str, is_needed: bool, fits: list[str]
) -> None:
    """csi.go, checkCSIDriverOnNode, behind VolumeLimitScaling; a node without a known CSINode lacks nothing."""
    wanting, where = (
        using("new"),
        state(
            TWO,
            version=version,
            claims=(claim("new"),),
            storage_classes=(WAIT,),
            csi_nodes=limited(1, "other.example.com"),
            csi_drivers=(CSIDriver("csi.example.com", is_needed), CSIDriver("other.example.com", True)),
        ),
    )
    assert feasible(wanting, where) == fits
    if fits == ["n1"]:
        said = "csi.example.com CSI driver is not installed on the node"
        assert reasons(wanting, where, "n0") == [("NodeVolumeLimits", said, True)]


def test_attachments_without_pods_count_once() -> None:
    """csi.go, getNodeVolumeAttachmentInfo."""
    attached = (
        VolumeAttachment("n0", "csi.example.com", "pv-d0"),
        VolumeAttachment("n0", "csi.example.com", "pv-left"),
        VolumeAttachment("n0", "csi.example.com", "gone"),
        VolumeAttachment("n1", "csi.example.com", "pv-d1"),
    )
    objects = {
        "claims": (held("d0"), held("d1")),
        "volumes": (csi("pv-d0"), csi("pv-d1"), csi("pv-left")),
        "volume_attachments": attached,
    }
    running = bound("b0", "n0", using("d0"))
    assert feasible(using("d1"), state(TWO, running, csi_nodes=limited(2), **objects)) == ["n1"]
    assert feasible(using("d1"), state(TWO, running, csi_nodes=limited(3), **objects)) == ["n0", "n1"]


def test_in_tree_volumes_count_as_their_drivers() -> None:
    ebs = PersistentVolume("pv-d0", kind="awsElasticBlockStore")
    where = state(TWO, claims=(held("d0"),), volumes=(ebs,), csi_nodes=limited(0, "ebs.csi.aws.com"))
    assert feasible(using("d0"), where) == ["n1"]


# --- binding --------------------------------------------------------------------------------------------------------


def test_binding_provisions_in_the_zone_of_the_node_and_can_be_undone() -> None:
    where = state((*TWO, node("n2", "a")), claims=(claim("d"),), storage_classes=(WAIT,))
    before = where.storage
    mark = where.mark()
    bind(using("d"), 0, where)
    assert feasible(using("d"), where) == ["n0", "n2"]
    made = where.storage.volumes[where.storage.claims["shop", "d"].volume_name]
    assert made.claim_ref == ("shop", "d", "")
    where.undo(mark)
    assert where.storage is before
    assert where.pod_count(0) == 0


def test_binding_takes_a_free_volume_where_one_matches() -> None:
    where = state(
        TWO, claims=(claim("d", "local"), claim("e", "local")), volumes=(volume("v"),), storage_classes=(LOCAL,)
    )
    bind(using("d"), 0, where)
    assert where.storage.claims["shop", "d"].volume_name == "v"
    assert feasible(using("e"), where) == []


def test_a_driver_reaches_as_far_as_its_topology_keys() -> None:
    keys = CSINode("n0", {}, {"csi.example.com": ("rack",)})
    nodes = (node("n0", "a", labels={"rack": "r1"}), node("n1", "a", labels={"rack": "r2"}))
    where = state(nodes, claims=(claim("d"),), storage_classes=(WAIT,), csi_nodes=(keys,))
    bind(using("d"), 0, where)
    assert feasible(using("d"), where) == ["n0"]


def test_a_bound_pod_carries_the_zone_and_region_of_its_node() -> None:
    """plugin/pkg/admission/podtopologylabels: labels that the pod has are kept."""
    where = state([node("n0", "a", labels={REGION: "r"})])
    placement = bind(pod(labels={"app": "web", ZONE: "mine"}), 0, where)
    assert placement.pod.labels == {"app": "web", ZONE: "mine", REGION: "r"}
    again = bind(bound("b0", "", pod()), 0, where)
    assert again.bound is not None
    assert again.bound.node == "n0"
    assert again.pod.labels == {"app": "web", ZONE: "a", REGION: "r"}
    older = state([node("n0", "a")], version="1.34")
    assert bind(pod(), 0, older).pod.labels == {"app": "web"}


def test_pods_alike_stay_one_class_when_bound() -> None:
    where = state((node("n0", "a"), node("n1", "a"), node("n2", "b")))
    web = pod()
    for position in (0, 1, 2, 0):
        bind(web, position, where)
    assert len(where.classes) == 2


def test_the_volume_controller_settles_immediate_claims() -> None:
    """What a manifest leaves open: matched to a free volume, else provisioned by a driver, else left pending."""
    where = state(
        TWO,
        claims=(claim("d", "now"), claim("e", "made"), claim("w"), claim("none", "nothing")),
        volumes=(volume("v", "now", zone="b"),),
        storage_classes=(NOW, WAIT, replace(NOW, name="made")),
    )
    where.storage = settle(where.storage)
    assert feasible(using("d"), where) == ["n1"]
    assert feasible(using("e"), where) == ["n0", "n1"]
    assert where.storage.claims["shop", "w"].volume_name == ""
    assert diagnose(using("none"), where).refusal is not None


def test_claims_that_compete_for_a_volume_are_left_as_they_are() -> None:
    """Which of them the controller sees first is nobody's to tell."""
    where = state(
        TWO,
        claims=(claim("d", "now"), claim("e", "now")),
        volumes=(volume("v", "now", zone="b"),),
        storage_classes=(NOW,),
    )
    assert not any(c.volume_name for c in settle(where.storage).claims.values())
    alone = where.storage.without(claims=[("shop", "e")])
    assert settle(alone).claims["shop", "d"].volume_name == "v"
    assert not settle(alone, contested=["now"]).claims["shop", "d"].volume_name
    reserved = alone.with_objects(volumes=[volume("v", "now", claim_ref=("shop", "d", ""))])
    assert settle(reserved, contested=["now"]).claims["shop", "d"].volume_name == "v"


def test_of_equally_small_volumes_in_two_places_any_may_be_bound() -> None:
    """The controller sorts a list without an order by size, and sort.Sort is not stable."""
    for zone, name in (("a", ""), ("b", "v")):
        volumes = volume("v", "now", zone="b"), volume("w", "now", zone=zone)
        where = state(TWO, claims=(claim("d", "now"),), volumes=volumes, storage_classes=(NOW,))
        assert settle(where.storage).claims["shop", "d"].volume_name == name
