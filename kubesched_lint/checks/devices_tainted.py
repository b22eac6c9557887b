"""The devices that meet a request have taints that it does not tolerate, or that evict its pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubesched_lint.engine.base.text import joined, many
from kubesched_lint.engine.model.devices.devices import DeviceID, DeviceTaint
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.devices.life import evicts_at_once
from kubesched_lint.explaining.devices.requests import devices_in
from kubesched_lint.explaining.devices.room import TAINTED, room_of, short_of, shortcoming
from kubesched_lint.explaining.devices.survey import Survey
from kubesched_lint.explaining.devices.words import at_request, shortage, words_for
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.sources.manifests.changes import Append


def check(it: Member) -> Iterator[Hazard]:
    for room, request in short_of(it, TAINTED):
        survey = max(request.options, key=lambda survey: len(survey.closed_anywhere))
        taints = sorted(survey.tainted, key=str)
        free, closed = len(survey.all_left), len(survey.closed_anywhere)
        text = f"{many(closed, 'matching device')} with an untolerated taint: {_in_words(taints)}"
        supply = 0 if survey.takes_all else free
        evidence = shortage(it, text, demand=room.needed(request, survey), supply=supply)
        values = {**words_for(request, room, it), **_values(taints, closed, closed + free)}
        variant = "all" if survey.takes_all else "default"
        yield at_request(request, evidence, values, _in_words(taints), variant=variant)
    yield from _evicted(it)


def _values(taints: Sequence[DeviceTaint], closed: int, match: int) -> Mapping[str, object]:
    return {"closed": closed, "match": match, "taints": _in_words(taints), "found": tuple(taints)}


def _evicted(it: Member) -> Iterator[Hazard]:
    """Requests for which each pod gets a device whose taint evicts it as soon as it has one."""
    room = room_of(it)
    if room is None:
        return
    for request in room.requests:
        evicting = [_evicting(survey, it) for survey in request.options]
        if shortcoming(request, room) or not all(map(_spares_no_pod, request.options, evicting)):
            continue
        taints = sorted(
            {taint for taints_of_devices in evicting for each in taints_of_devices.values() for taint in each}, key=str
        )
        count, match = len(set[DeviceID]().union(*evicting)), len(request.main.all_left)
        evidence = pattern(f"{many(count, 'matching device')} with a taint that evicts: {_in_words(taints)}")
        values = {**words_for(request, room, it), **_values(taints, count, match)}
        yield at_request(request, evidence, values, _in_words(taints), variant="evicts")


def _evicting(survey: Survey, member: Member) -> Mapping[DeviceID, Sequence[DeviceTaint]]:
    """Return the devices for a request whose taints evict its pods at once, with these taints."""
    known, request = devices_in(member.scenario).evicting_taints, survey.asked.request
    evicting = {each: [t for t in known.get(each, ()) if evicts_at_once(t, request)] for each in survey.all_left}
    return {device: taints for device, taints in evicting.items() if taints}


def _spares_no_pod(survey: Survey, evicting: Mapping[DeviceID, object]) -> bool:
    """Whether no node has enough other devices for a request."""
    if survey.takes_all:
        return all(not devices or not evicting.keys().isdisjoint(devices) for devices in survey.left.values())
    count = survey.asked.request.count
    return all(max(survey.sizes(devices - evicting.keys()), default=0) < count for devices in survey.left.values())


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Tolerate the taints. Never safe: somebody set them to keep pods from broken devices."""
    taints = hazard.values["found"]
    if hazard.source is not None and isinstance(taints, tuple):
        changes = tuple(Append((*hazard.at, "tolerations"), _toleration(taint)) for taint in taints)
        yield Remedy(f"tolerate {_in_words(taints)}", safe=False, changes=changes, source=hazard.source)


def _toleration(taint: DeviceTaint) -> dict[str, str]:
    how = {"operator": "Equal", "value": taint.value} if taint.value else {"operator": "Exists"}
    return {"key": taint.key, **how, "effect": taint.effect}


def _in_words(taints: Sequence[DeviceTaint]) -> str:
    return joined([f"{t.key}={t.value}:{t.effect}" if t.value else f"{t.key}:{t.effect}" for t in taints])
