"""How many pods of a workload the nodes can have, by room, by devices and by each spread constraint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.model.resources import request_path
from kubesched_lint.engine.placing.together.spread import spread_room
from kubesched_lint.engine.scenario.devices.devices import needs_devices
from kubesched_lint.engine.scenario.others.room import most_copies, tightest_resource
from kubesched_lint.engine.scenario.premises.device_premises import device_premise
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.devices.room import room_for_copies
from kubesched_lint.explaining.devices.words import place_of, words_for
from kubesched_lint.findings import Place


class MostPods(Struct, frozen=True):
    """A number of pods that the nodes can have, below the number that is wanted."""

    count: int
    by: str
    """``room``, ``port``, ``devices`` or ``spread``."""
    text: str
    """How the number comes about."""
    at: Path
    """The line to blame."""
    values: Mapping[str, object]
    assumes: tuple[str, ...] = ()
    asked: Place | None = None
    """Where the pods say what they need, if the nodes have too little of it."""


def most_pods(it: Member, wanted: int) -> Iterator[MostPods]:
    """Yield what keeps the pods below ``wanted``, each as if it were the only one."""
    yield from _by_room(it, wanted)
    yield from _by_devices(it, wanted)
    yield from _by_spread(it, wanted)


def _by_room(it: Member, wanted: int) -> Iterator[MostPods]:
    usable = it.usable
    room = 0 if it.scenario.index.unknown_resources & usable else most_copies(it, wanted)
    if not 0 < room < wanted:
        return
    pod, number = it.pod, usable.bit_count()
    if pod.host_ports:
        port = pod.host_ports[0]
        text = f"the pods that fit {many(number, 'node')} with one host port {port.protocol} {port.port} each"
        yield MostPods(room, "port", text, port.path, {"port": port.port, "usable": number})
        return
    tight = tightest_resource(it)
    values = {"resource": tight, "wanted": show(tight, pod.requests.get(tight, 1)), "usable": number}
    asked = Place(request_path(it.workload, tight), "what each pod requests", it.workload.source)
    text = f"the pods that fit {many(number, 'node')} by {tight}"
    yield MostPods(room, "room", text, asked.at, values, asked=asked)


def _by_devices(it: Member, wanted: int) -> Iterator[MostPods]:
    if not needs_devices(it.workload.pod, it.scenario):
        return
    try:
        room = room_for_copies(it)
    except UncheckedError:
        return  # the rules about devices say what is not known
    limit = None if room is None else room.tightest(wanted)
    if room is not None and limit is not None:
        request, count = limit
        words, (at, source) = words_for(request, room, it), place_of(request)
        text = f"the pods for which the devices of {words['nodes']} suffice"
        asked = Place(at, "the devices of each pod", source or it.workload.source)
        yield MostPods(count, "devices", text, at, words, (device_premise(it.scenario),), asked)


def _by_spread(it: Member, wanted: int) -> Iterator[MostPods]:
    for constraint in it.pod.spread:
        spread = spread_room(it, constraint, wanted) if constraint.is_hard else None
        if spread is not None and spread.total < wanted:
            values = {"key": constraint.topology_key, "skew": constraint.max_skew, "domains": spread.placeable}
            yield MostPods(spread.total, "spread", spread.terms, constraint.path, values)
