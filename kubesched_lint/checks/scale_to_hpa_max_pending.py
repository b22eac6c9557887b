"""The pods fit now but not at the autoscaler's maximum, because of room, devices or a spread constraint."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kubesched_lint.checks._devices import place_of, words_for
from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.model.policy import Autoscaler
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.model.resources import request_path
from kubesched_lint.engine.placing.together.spread import spread_room
from kubesched_lint.engine.placing.worlds import with_groups
from kubesched_lint.engine.scenario.device_premises import device_premise
from kubesched_lint.engine.scenario.devices.devices import needs_devices
from kubesched_lint.engine.scenario.others.room import domain_room, most_copies, tightest_resource
from kubesched_lint.engine.scenario.premises import running_premises
from kubesched_lint.engine.scenario.world import Member
from kubesched_lint.explaining.devices.room import room_for_copies
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.sizes.replicas import places_that_scale, scaling_values
from kubesched_lint.findings import Hazard, Place, proof
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    """Report what no further node would cure: on an autoscaled cluster, room for the maximum comes with the demand."""
    if it.autoscaler is not None and it.world.is_elastic:
        grown = with_groups(it.world)
        if grown is None:
            return
        it = grown.member(it.workload)
    yield from _found(it)


def _found(it: Member) -> Iterator[Hazard]:
    scaler = it.autoscaler
    usable = it.usable
    if scaler is None or not it.workload.stays or not usable:
        return
    now, most = it.replicas, scaler.max_replicas
    if not 0 < now < most:
        return
    found = [*_by_room(it, scaler), *_by_devices(it, scaler), *_by_spread(it, scaler)]
    alone = min(_domains_to_itself(it), default=most)
    tightest = min(found, key=_supply, default=None)
    # Other rules report what does not fit today, and anti-affinity.
    if tightest is not None and now <= _supply(tightest) < alone and now <= alone:
        yield tightest


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Lower the maximum to the number that fits."""
    scaler = it.autoscaler
    if scaler is not None and scaler.source is not None:
        supply = hazard.values["supply"]
        yield Remedy(
            f"lower {scaler.bounds[0]} of {scaler.kind} {scaler.name} to {supply}",
            safe=False,
            changes=(Put(("spec", scaler.bounds[0]), supply),),
            source=scaler.source,
        )


def _supply(hazard: Hazard) -> int:
    supply = hazard.values["supply"]
    assert isinstance(supply, int)
    return supply


def _domains_to_itself(it: Member) -> Iterator[int]:
    """Yield the most replicas that each term of required anti-affinity to its own pods allows."""
    rooms = (domain_room(it, term.topology_key) for term in it.kept_apart)
    yield from (len(room.domains) for room in rooms if room.is_bounded)


def _by_room(it: Member, scaler: Autoscaler) -> Iterator[Hazard]:
    usable = it.usable
    room = 0 if it.world.index.unknown_resources & usable else most_copies(it, scaler.max_replicas)
    if not room or room >= scaler.max_replicas:
        return
    pod, number = it.pod, usable.bit_count()
    if pod.host_ports:
        port = pod.host_ports[0]
        text = f"the pods that fit {many(number, 'node')} with one host port {port.protocol} {port.port} each"
        values: dict[str, object] = {"port": port.port, "usable": number}
        yield _hazard(it, scaler, room, text, port.path, values, "port")
        return
    tight = tightest_resource(it)
    values = {"resource": tight, "wanted": show(tight, pod.requests.get(tight, 1)), "usable": number}
    text = f"the pods that fit {many(number, 'node')} by {tight}"
    asked = Place(request_path(it.workload, tight), "what each pod requests", it.workload.source)
    yield _at_maximum(_hazard(it, scaler, room, text, asked.at, values, "default"), scaler, asked)


def _by_devices(it: Member, scaler: Autoscaler) -> Iterator[Hazard]:
    if not needs_devices(it.workload.pod, it.world):
        return
    try:
        room = room_for_copies(it)
    except UncheckedError:
        return  # the rules about devices say what is not known
    most = scaler.max_replicas
    tightest = min(room.requests, key=lambda request: room.pods(request, most), default=None) if room else None
    if room is None or tightest is None or not 0 < room.pods(tightest, most) < most:
        return
    supply, words = room.pods(tightest, most), words_for(tightest, room, it)
    text = f"the pods for which the devices of {words['nodes']} suffice"
    at, source = place_of(tightest)
    asked = Place(at, "the devices of each pod", source or it.workload.source)
    found = _at_maximum(_hazard(it, scaler, supply, text, at, {**words}, "devices"), scaler, asked)
    assumes = (*found.evidence.assumes, device_premise(it.world))
    yield replace(found, evidence=replace(found.evidence, assumes=assumes))


def _at_maximum(hazard: Hazard, scaler: Autoscaler, asked: Place) -> Hazard:
    """Return the hazard at the line with the maximum; of an autoscaler that only the cluster has, at ``asked``."""
    if scaler.source is None:
        return replace(hazard, at=asked.at, source=asked.source)
    windows = hazard.related[1:]
    return replace(hazard, at=scaler.path, source=scaler.source, related=(asked, *windows))


def _by_spread(it: Member, scaler: Autoscaler) -> Iterator[Hazard]:
    most = scaler.max_replicas
    for constraint in it.pod.spread:
        spread = spread_room(it, constraint, most) if constraint.is_hard else None
        if spread is not None and spread.total < most:
            values = {"key": constraint.topology_key, "skew": constraint.max_skew, "domains": spread.placeable}
            yield _hazard(it, scaler, spread.total, spread.terms, constraint.path, values, "spread")


def _hazard(
    it: Member,
    scaler: Autoscaler,
    supply: int,
    text: str,
    at: Path,
    values: dict[str, object],
    variant: str,
) -> Hazard:
    most = scaler.max_replicas
    return Hazard(
        at=at,
        evidence=proof(
            f"{scaler.bounds[0]} {most} > {supply} = {text}",
            demand=most,
            supply=supply,
            assumes=running_premises(it),
            event="hpa-max",
        ),
        values={**values, **scaling_values(scaler, supply)},
        related=places_that_scale(scaler, supply),
        variant=variant,
    )
