"""All pods of a workload share one ResourceClaim, so they run where its devices are."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.engine.cluster.nodeset import NodeSet, only, positions
from kubesched_lint.engine.model.devices.devices import USERS_OF_A_CLAIM, DeviceClaim
from kubesched_lint.engine.placing.wanted import pods_wanted
from kubesched_lint.engine.scenario.devices.devices import knows_devices
from kubesched_lint.engine.scenario.others.room import most_copies
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.devices.claim_limits import too_many_pods
from kubesched_lint.explaining.devices.requests import Wanted, must_have_claims, must_know_devices, wanted_by
from kubesched_lint.explaining.devices.room import nodes_for, room_for
from kubesched_lint.explaining.devices.words import shortage
from kubesched_lint.explaining.sizes.replicas import replicas_wanted_here
from kubesched_lint.findings import Hazard, Place, Severity, pattern


def check(it: Member) -> Iterator[Hazard]:
    must_have_claims(it.scenario)
    is_daemon = it.workload.kind == "DaemonSet"
    pods = pods_wanted(it) if it.workload.stays or is_daemon else 0
    most = pods if is_daemon else max(pods, it.most_wanted)
    for wanted in wanted_by(it) if pods else ():
        if not isinstance(wanted.claim, DeviceClaim):
            continue
        if most > USERS_OF_A_CLAIM:
            yield too_many_pods(wanted, pods, most, _replicas(it))
        elif pods > 1:
            yield from _pinned(wanted, wanted.claim, pods, it)


def _pinned(wanted: Wanted, claim: DeviceClaim, pods: int, member: Member) -> Iterator[Hazard]:
    known = member.scenario.cluster is not None and (claim.allocation is not None or knows_devices(member.scenario))
    homes = _homes(wanted, claim, member) if known else None
    if homes is None:
        yield _at_one_node(wanted, pods, member, "", Severity.NOTE)
    elif homes:
        where = first_few(member.scenario.names(homes), " or ")
        fitting = [most_copies(member, pods, only(position), bare=True) for position in positions(homes)]
        most = 1 if member.workload.kind == "DaemonSet" else max(fitting)
        yield _no_room(wanted, pods, most, where, member) if most < pods else _at_one_node(wanted, pods, member, where)


def _homes(wanted: Wanted, claim: DeviceClaim, member: Member) -> NodeSet:
    """Return the nodes one of which all pods will be on; none if the devices can be used from several nodes.

    Raises UncheckedError.
    """
    among = nodes_for(member)
    if claim.allocation is not None:
        terms = claim.allocation.terms
        there = among if terms is None else among & member.scenario.index.matching({}, terms)
        return there if there.bit_count() == 1 else 0
    must_know_devices(member)
    room = room_for(member, [wanted], among)
    if room is None or not any(all(survey.is_local for survey in r.options) for r in room.requests):
        return 0
    return sum(only(p) for p in positions(among) if all(room.pods_on(r, p) for r in room.requests))


def _no_room(wanted: Wanted, pods: int, most: int, where: str, member: Member) -> Hazard:
    return Hazard(
        at=wanted.at,
        evidence=shortage(
            member,
            f"{pods} pods on the node of the devices > {most}, the most that fit on {where}",
            demand=pods,
            supply=most,
        ),
        values={"claim": str(wanted), "pods": pods, "most": most, "where": where, "pending": pods - most},
        related=_replicas(member),
        variant="room",
    )


def _at_one_node(
    wanted: Wanted, pods: int, member: Member, where: str, severity: Severity = Severity.WARNING
) -> Hazard:
    return Hazard(
        at=wanted.at,
        evidence=pattern(f"{many(pods, 'pod')}, one claim, one node"),
        severity=severity,
        values={"claim": str(wanted), "pods": pods, "where": where},
        related=_replicas(member),
        variant="default" if where else "unknown",
    )


def _replicas(it: Member) -> tuple[Place, ...]:
    return () if it.workload.kind == "DaemonSet" else (replicas_wanted_here(it),)
