"""No device of the nodes that the pods may use meets a request of their claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.base.text import first_few, joined, many
from kubesched_lint.engine.model.devices.devices import Attribute, Device, DeviceID
from kubesched_lint.engine.scenario.others.room import why_closed
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.devices.constraints import attribute_of
from kubesched_lint.engine.scheduler.devices.pools.pools import devices_of
from kubesched_lint.explaining.devices.requests import devices_in
from kubesched_lint.explaining.devices.room import NO_MATCH, DeviceRoom, Request, short_of
from kubesched_lint.explaining.devices.survey import Survey, surveyed
from kubesched_lint.explaining.devices.words import at_request, attributes_read, cause_of, shortage, words_for
from kubesched_lint.findings import Hazard


def check(it: Member) -> Iterator[Hazard]:
    for room, request in short_of(it, NO_MATCH):
        survey = request.main
        removed = _removed(survey)
        where = _elsewhere(request, room, it)
        text = f"0 of {many(len(survey.offered), 'device')} left: {removed}" if removed else "no device announced"
        yield at_request(
            request,
            shortage(it, text, demand=survey.asked.request.count, supply=0),
            {
                **words_for(request, room, it),
                "offered": len(survey.offered),
                "removed": removed,
                "elsewhere": where,
                "seen": _seen(request, it),
            },
            # If no device is of the class, the cluster lacks them for every claim.
            survey.asked.request.device_class if survey.nearest.order < 1 else cause_of(request),
            survey.nearest.within,
            "elsewhere" if where else "default" if survey.offered else "none",
        )


def _removed(survey: Survey) -> str:
    """What excludes how many devices."""
    return joined([f"{condition.words} excludes {len(devices)}" for condition, devices in survey.removed.items()])


def _elsewhere(request: Request, room: DeviceRoom, member: Member) -> str:
    """Which other nodes have devices for the request, and why the pods cannot use them; empty if there are none."""
    others = member.scenario.index.all & member.scenario.today & ~room.among
    for asked in (survey.asked for survey in request.options):
        try:
            survey = surveyed(asked, others, member.scenario) if others else None
        except UncheckedError:
            continue  # a selector cannot be judged on devices over there
        if survey is not None and survey.all_left:
            having = sum(1 << position for position, devices in survey.left.items() if devices)
            names = first_few(member.scenario.names(having))
            return (
                f"{names} {'has' if having.bit_count() == 1 else 'have'} such devices, but {why_closed(member, having)}"
            )
    return ""


def _seen(request: Request, member: Member) -> str:
    """The values that the excluded devices have for the attributes that the failing selector reads."""
    failing = request.main.nearest
    excluded = request.main.removed.get(failing, frozenset())
    names = attributes_read(failing.expression)
    counts: Counter[str] = Counter()
    for device_id, device, _ in devices_of(devices_in(member.scenario).slices):
        if names and device_id in excluded:
            counts[_values(device_id, device, names)] += 1
    values_of_devices = [f"{values} ({count})" for values, count in counts.most_common() if values]
    return f"the devices have {first_few(values_of_devices)}; " if values_of_devices else ""


def _values(device_id: DeviceID, device: Device, names: tuple[str, ...]) -> str:
    attributes = [(name, attribute_of(device, device_id[0], name)) for name in names]
    return joined([f"{name.rpartition('/')[2]} {_shown(value)}" for name, value in attributes if value is not None])


def _shown(attribute: Attribute) -> str:
    value = attribute[1]
    return "/".join(map(str, value)) if isinstance(value, tuple) else str(value)
