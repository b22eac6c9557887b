"""How many pods of a workload the nodes' limits of attached volumes let in: each pod brings volumes of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.cluster.nodeset import NodeSet, positions
from kubesched_lint.engine.cluster.storage.storage import Storage
from kubesched_lint.engine.controllers.statefulset import claims_of
from kubesched_lint.engine.events.answers.event_bounds import ON_NOTHING, Bound, Meanwhile
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember
from kubesched_lint.engine.model.pod import profile_of
from kubesched_lint.engine.model.storage import Claim
from kubesched_lint.engine.scheduler.capacity import Room
from kubesched_lint.engine.scheduler.plugins import node_volume_limits
from kubesched_lint.engine.scheduler.plugins.node_volume_limits import Attachment, driver_and_handle, most_attached
from kubesched_lint.engine.scheduler.plugins.volume_binding import ephemeral_claim


def most_attachable(
    member: SimulatedMember, wanted: int, most: int, nodes: NodeSet, room: Room, meanwhile: Meanwhile
) -> Bound | None:
    """Return the most of ``wanted`` pods that ``nodes`` take, ``most`` on each; None if no limit is known to matter.

    Volumes of other pods are not counted, which only raises the bound: those pods may leave.
    """
    if node_volume_limits.NAME not in profile_of(member.pod).filters:
        return None
    brought = _brought(member, wanted, meanwhile)
    limits = {driver: most_attached(driver, member.set.cluster) for driver in brought}
    if not any(limits.values()):
        return None
    total, binding, by_position = 0, Counter[str](), room.by_position()
    for position in positions(nodes & room.open_):
        allowed = min(by_position[position], most)
        for driver, each in brought.items():
            limit = limits[driver].get(position)
            if limit is not None and limit // each < allowed:
                allowed = limit // each
                binding[driver] += 1
        total += allowed
    if not binding:
        return None
    driver = min(binding, key=lambda name: (-binding[name], name))
    volumes = f"{many(brought[driver], 'volume')} of {driver}"
    why = f"each pod attaches {volumes}, and the limits of the nodes that it may use let in {many(total, 'pod')}"
    return Bound(total, why, rests_on=ON_NOTHING)


def _brought(member: SimulatedMember, wanted: int, meanwhile: Meanwhile) -> Mapping[str, int]:
    """Return driver → the fewest volumes of it that each pod attaches and that no other pod of the workload uses."""
    storage, pod, workload = member.set.cluster.storage, member.pod, member.workload
    fewest: Counter[str] | None = None
    if workload.claim_templates:
        seen = set[Attachment]()
        # Without claims and volumes in the cluster, each ordinal's claims are as new as those of the first.
        for ordinal in range(wanted if storage.claims or storage.volumes else 1):
            volumes = set(_certain_volumes(storage, claims_of(workload, ordinal))) - seen
            drivers = Counter(driver for driver, _ in volumes)
            fewest = drivers if fewest is None else fewest & drivers
            if not fewest:
                break
            seen |= volumes
    own = fewest or Counter[str]()
    if not meanwhile.mixed:  # an older template may have fewer ephemeral volumes
        made = (ephemeral_claim(pod, volume) for volume in pod.volumes if volume.kind == "ephemeral")
        attached = (driver_and_handle(claim, storage) for claim in made if claim is not None)
        own.update(attachment[0] for attachment in attached if attachment is not None)
    return own


def _certain_volumes(storage: Storage, claims: tuple[Claim, ...]) -> Iterator[Attachment]:
    """Yield the volumes of these claims, but not of those that may be bound to a volume of another driver."""
    for template in claims:
        claim = storage.claim(template.namespace, template.name) or template
        is_bound = claim.volume_name in storage.volumes
        if not is_bound and (storage.reserved(claim) or storage.loose(claim.storage_class or "").left):
            continue
        attachment = driver_and_handle(claim, storage)
        if attachment is not None:
            yield attachment
