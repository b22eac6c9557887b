"""A claim asks for more devices than any node has, or the replicas need more devices than there are."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.placing.rollout import rollout_condition
from kubesched_lint.engine.placing.wanted import lasting_pods_wanted
from kubesched_lint.engine.scenario.devices.devices import needs_devices
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.devices.claim_limits import too_many_devices
from kubesched_lint.explaining.devices.requests import must_have_claims
from kubesched_lint.explaining.devices.room import SHORT, DeviceRoom, Request, room_for_copies, short_of
from kubesched_lint.explaining.devices.words import at_request, cause_of, place_of, shortage, words_for
from kubesched_lint.explaining.sizes.replicas import replicas_wanted_here
from kubesched_lint.findings import Hazard, Place


def check(it: Member) -> Iterator[Hazard]:
    if not needs_devices(it.workload.pod, it.scenario):
        return
    must_have_claims(it.scenario)
    if limited := [*too_many_devices(it)]:
        yield from limited
        return
    # Requests that compete for the same devices have one cause.
    short = {request.main.all_left: (room, request) for room, request in reversed([*short_of(it, SHORT)])}
    for_one = [_for_one(room, request, it) for room, request in short.values()]
    yield from for_one
    room = None if for_one else room_for_copies(it)
    if room is not None:
        yield from _for_daemons(room, it) if it.workload.kind == "DaemonSet" else _for_replicas(room, it)


def _for_one(room: DeviceRoom, request: Request, member: Member) -> Hazard:
    """The hazard of a request that exceeds every node."""
    survey = request.main
    needed, (most, position) = room.needed(request, survey), survey.most_on_a_node
    node, is_joint = member.scenario.index.names[position], needed > survey.asked.request.count
    alike = [c.match_attribute for c in survey.asked.constraints if c.match_attribute]
    same = f" with the same {' and '.join(alike)}" if alike else ""
    text = f"{needed} devices{same} > {most}, the most on a node ({node})"
    values = {
        **words_for(request, room, member),
        "needed": needed,
        "most": most,
        "node": node,
        "same": same,
        "beside": ", together with the other requests for them," if is_joint else "",
        "in_all": " in all" if is_joint else "",
    }
    return at_request(
        request, shortage(member, text, demand=needed, supply=most), values, cause_of(request), ("count",)
    )


def _for_replicas(room: DeviceRoom, member: Member) -> Iterator[Hazard]:
    wanted = lasting_pods_wanted(member)
    tightest = room.tightest(wanted)
    if tightest is None:
        return
    request, most = tightest
    shares = {survey: survey.share_of(room.needed(request, survey)) for survey in request.options}
    options = (f"{share} (of {len(s.all_left)}) as {s.asked.request.name}" for s, share in shares.items())
    at, source = place_of(request)
    yield Hazard(
        at=member.workload.replicas_path,
        evidence=shortage(
            member, f"{wanted} replicas > {most} for which the devices suffice", demand=wanted, supply=most
        ),
        values={
            **words_for(request, room, member),
            "most": most,
            "rollouts": rollout_condition(member.workload, most),
            "each": shares[request.main],
            "have": len(request.main.all_left),
            "pending": wanted - most,
            "options": " or ".join(options),
            "name": request.main.asked.parent,
        },
        related=(replicas_wanted_here(member), Place(at, "the devices of each pod", source)),
        variant="replicas" if request.is_alone else "alternatives",
    )


def _for_daemons(room: DeviceRoom, member: Member) -> Iterator[Hazard]:
    """The hazard of a DaemonSet some of whose nodes lack devices; if all do, another finding says why."""
    count = room.among.bit_count()
    for request in room.requests:
        lacking = [member.scenario.index.names[p] for p in positions(room.among) if not room.pods_on(request, p)]
        if 0 < len(lacking) < count:
            text = f"{len(lacking)} of {count} nodes with too few devices"
            evidence = shortage(member, text, demand=count, supply=count - len(lacking))
            counts = {"count": count, "pending": len(lacking), "lacking": tuple(lacking)}
            values = {**words_for(request, room, member), **counts}
            yield at_request(request, evidence, values, cause_of(request), variant="daemons")
            return
