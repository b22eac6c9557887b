"""A claim asks for more devices than any node has, or the replicas need more devices than there are."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.checks._devices import cause_of, place_of, shortage, words_for
from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.model.devices import EXACT_COUNT, RESULTS_OF_A_CLAIM
from kubesched_lint.engine.placing.wanted import lasting_pods_wanted
from kubesched_lint.engine.scenario.devices.devices import needs_devices
from kubesched_lint.engine.scenario.world import Member
from kubesched_lint.explaining.devices.requests import Asked, Wanted, asked_of, must_have_claims, open_claims
from kubesched_lint.explaining.devices.room import SHORT, DeviceRoom, Request, room_for_copies, short_of
from kubesched_lint.explaining.devices.survey import Survey
from kubesched_lint.explaining.sizes.replicas import replicas_wanted_here
from kubesched_lint.findings import Hazard, Place, proof


def check(it: Member) -> Iterator[Hazard]:
    if not needs_devices(it.workload.pod, it.world):
        return
    must_have_claims(it.world)
    claims = open_claims(it)
    limited = [hazard for wanted in claims for hazard in _beyond_limit(wanted, it)]
    yield from limited
    if limited:
        return
    # Requests that compete for the same devices have one cause.
    short = {request.main.all_left: (room, request) for room, request in reversed([*short_of(it, SHORT)])}
    for_one = [_for_one(room, request, it) for room, request in short.values()]
    yield from for_one
    room = None if for_one else room_for_copies(it)
    if room is not None:
        yield from _for_daemons(room, it) if it.workload.kind == "DaemonSet" else _for_replicas(room, it)


def _beyond_limit(wanted: Wanted, it: Member) -> Iterator[Hazard]:
    """The least that a claim can get, if the status of a claim cannot hold it. A device plugin needs no claim."""
    if wanted.resource and it.usable & ~it.world.index.by_devices(wanted.resource):
        return
    fewest = [min(options, key=_least) for options in asked_of(wanted)]
    least = sum(map(_least, fewest))
    if least > RESULTS_OF_A_CLAIM:
        at, source = max(fewest, key=_least).place
        text = f"number of requested devices {least} exceeds the claim limit of {RESULTS_OF_A_CLAIM}"
        yield Hazard(
            at=at if source is None else (*at, "count"),
            source=source,
            evidence=proof(text, demand=least, supply=RESULTS_OF_A_CLAIM),
            values={"claim": str(wanted), "needed": least, "most": RESULTS_OF_A_CLAIM},
            cause=str(wanted),
            variant="limit",
        )


def _least(asked: Asked) -> int:
    return asked.request.count if asked.request.mode == EXACT_COUNT else 0


def _for_one(room: DeviceRoom, request: Request, it: Member) -> Hazard:
    """The hazard of a request that exceeds every node."""
    survey = request.main
    needed = room.needed(request, survey)
    position = max(survey.left, key=survey.most_at)
    most, node = survey.most_at(position), it.world.index.names[position]
    is_joint = needed > survey.asked.request.count
    alike = [c.match_attribute for c in survey.asked.constraints if c.match_attribute]
    same = f" with the same {' and '.join(alike)}" if alike else ""
    at, source = place_of(request, ("count",))
    return Hazard(
        at=at,
        source=source,
        evidence=shortage(
            it, f"{needed} devices{same} > {most}, the most on a node ({node})", demand=needed, supply=most
        ),
        values={
            **words_for(request, room, it),
            "needed": needed,
            "most": most,
            "node": node,
            "same": same,
            "beside": ", together with the other requests for them," if is_joint else "",
            "in_all": " in all" if is_joint else "",
        },
        cause=cause_of(request),
    )


def _for_replicas(room: DeviceRoom, it: Member) -> Iterator[Hazard]:
    wanted = lasting_pods_wanted(it)
    tightest = min(room.requests, key=lambda request: room.pods(request, wanted), default=None)
    most = wanted if tightest is None else room.pods(tightest, wanted)
    if tightest is None or not 0 < most < wanted:
        return
    survey = tightest.main
    at, source = place_of(tightest)
    yield Hazard(
        at=it.workload.replicas_path,
        evidence=shortage(it, f"{wanted} replicas > {most} for which the devices suffice", demand=wanted, supply=most),
        values={
            **words_for(tightest, room, it),
            "most": most,
            "each": _each(survey, room.needed(tightest, survey)),
            "have": len(survey.all_left),
            "pending": wanted - most,
            "options": " or ".join(_option(each, room.needed(tightest, each)) for each in tightest.options),
            "name": tightest.main.asked.parent,
        },
        related=(replicas_wanted_here(it), Place(at, "the devices of each pod", source)),
        variant="replicas" if tightest.is_alone else "alternatives",
    )


def _option(survey: Survey, count: int) -> str:
    """What one replica takes for an alternative, and of how many."""
    return f"{_each(survey, count)} (of {len(survey.all_left)}) as {survey.asked.request.name}"


def _each(survey: Survey, count: int) -> str:
    """What one replica takes."""
    if survey.takes_all:
        return "all devices of a node"
    return f"{count} of one node" if count > 1 and survey.is_local else str(count)


def _for_daemons(room: DeviceRoom, it: Member) -> Iterator[Hazard]:
    """The hazard of a DaemonSet some of whose nodes lack devices; if all do, another finding says why."""
    count = room.among.bit_count()
    for request in room.requests:
        lacking = [p for p in positions(room.among) if not room.pods_on(request, p)]
        if 0 < len(lacking) < count:
            at, source = place_of(request)
            text = f"{len(lacking)} of {count} nodes with too few devices"
            yield Hazard(
                at=at,
                source=source,
                evidence=shortage(it, text, demand=count, supply=count - len(lacking)),
                values={
                    **words_for(request, room, it),
                    "count": count,
                    "pending": len(lacking),
                    "lacking": tuple(it.world.index.names[p] for p in lacking),
                },
                cause=cause_of(request),
                variant="daemons",
            )
            return
