"""A plain allocator: every assignment of devices to requests, checked as a whole. It shares only the model's types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

from kubesched_lint.engine.model.devices.devices import (
    ALL,
    Device,
    DeviceClaim,
    DeviceConstraint,
    DeviceRequest,
    ResourceSlice,
)

Place = tuple[ResourceSlice, Device]
Choice = tuple[DeviceClaim, DeviceRequest, str, Sequence[Place]]
"""A claim's request or alternative, its full name, and its devices."""


def is_possible(slices: Sequence[ResourceSlice], claims: Sequence[DeviceClaim]) -> bool:
    """Return whether all claims can be met together from free devices that one node sees."""
    return next(_assignments(slices, claims), None) is not None


def every(slices: Sequence[ResourceSlice], claims: Sequence[DeviceClaim]) -> Iterator[dict[str, list[Device]]]:
    """Yield claim → its devices, for each way to meet all claims together."""
    for choice in _assignments(slices, claims):
        found: dict[str, list[Device]] = {claim.name: [] for claim in claims}
        for claim, _, _, chosen in choice:
            found[claim.name] += (device for _, device in chosen)
        yield found


def _assignments(slices: Sequence[ResourceSlice], claims: Sequence[DeviceClaim]) -> Iterator[Sequence[Choice]]:
    places = [(each, device) for each in slices for device in each.devices]
    options = [list(_options(claim, request, places)) for claim in claims for request in claim.requests]
    return (choice for choice in product(*options) if _holds(choice, slices))


def is_valid(slices: Sequence[ResourceSlice], claims: Sequence[DeviceClaim], given: Sequence[DeviceClaim]) -> bool:
    """Return whether the allocations of ``given`` are one of the assignments that meet ``claims``."""
    places = {device.name: (each, device) for each in slices for device in each.devices}
    choice: list[Choice] = []
    for claim, allocated in zip(claims, given, strict=True):
        held = allocated.allocation.devices if allocated.allocation is not None else ()
        for request in claim.requests:
            chosen = [
                (one.request, places[one.device]) for one in held if one.request.partition("/")[0] == request.name
            ]
            devices = [place for _, place in chosen]
            options = _options(claim, request, list(places.values()))
            found = next((o for o in options if {o[2]} == {name for name, _ in chosen} and list(o[3]) == devices), None)
            if found is None:
                return False
            choice.append(found)
    return _holds(choice, slices)


def _options(claim: DeviceClaim, request: DeviceRequest, places: Sequence[Place]) -> Iterator[Choice]:
    for each in request.alternatives or (request,):
        name = f"{request.name}/{each.name}" if request.alternatives else request.name
        selected = [place for place in places if _is_selected(each, place[1]) and _is_large_enough(each, place[1])]
        usable = [place for place in selected if _is_tolerated(each, place[1])]
        if each.mode != ALL:
            yield from ((claim, each, name, chosen) for chosen in combinations(usable, each.count))
        elif selected and usable == selected:
            yield claim, each, name, selected


def _is_selected(request: DeviceRequest, device: Device) -> bool:
    """Selectors are written as ``model:<value>`` here; the class has the driver of every device."""
    models = [("string", selector.removeprefix("model:")) for selector in request.selectors]
    return all(device.attributes.get("model") == model for model in models)


def _is_large_enough(request: DeviceRequest, device: Device) -> bool:
    """ "All" devices are those with enough capacity, too."""
    known = {name: capacity.value for name, capacity in device.capacity.items()}
    return all(name in known and amount <= known[name] for name, amount in request.capacity.items())


def _is_tolerated(request: DeviceRequest, device: Device) -> bool:
    return all(any(t.key in ("", taint.key) for t in request.tolerations) for taint in device.taints)


def _holds(choice: Sequence[Choice], slices: Sequence[ResourceSlice]) -> bool:
    used = [device for *_, chosen in choice for _, device in chosen]
    names = [device.name for device in used if not device.is_shared]
    if len(set(names)) < len(names) or not _capacity_suffices(choice):
        return False
    return _counters_suffice(used, slices) and all(
        _agrees(constraint, [c for c in choice if c[0] is claim])
        for claim in {id(c[0]): c[0] for c in choice}.values()
        for constraint in claim.constraints
    )


def _capacity_suffices(choice: Sequence[Choice]) -> bool:
    """Every share is what its request names, or all of a capacity that it does not name; there are no policies here."""
    left = {
        (device.name, name): capacity.value
        for *_, chosen in choice
        for _, device in chosen
        for name, capacity in device.capacity.items()
    }
    for _, request, _, chosen in choice:
        for _, device in chosen:
            if not request.capacity.keys() <= device.capacity.keys():
                return False
            for name, capacity in device.capacity.items():
                left[device.name, name] -= request.capacity.get(name, capacity.value)
    return all(n >= 0 for n in left.values())


def _counters_suffice(used: Sequence[Device], slices: Sequence[ResourceSlice]) -> bool:
    left = {(name, counter): n for each in slices for name, cs in each.counter_sets for counter, n in cs.items()}
    for device in {device.name: device for device in used}.values():  # shares of a device take its counters once
        for name, counters in device.consumes:
            for counter, n in counters.items():
                left[name, counter] -= n
    return all(n >= Fraction(0) for n in left.values())


def _agrees(constraint: DeviceConstraint, choice: Sequence[Choice]) -> bool:
    wanted = constraint.requests
    name = (constraint.match_attribute or constraint.distinct_attribute).partition("/")[2]
    places = [place for _, _, whose, chosen in choice if not wanted or _is_in(whose, wanted) for place in chosen]
    values = [device.attributes.get(name) for _, device in places]
    if None in values:
        return False
    return len(set(values)) <= 1 if constraint.match_attribute else len(set(values)) == len(values)


def _is_in(name: str, wanted: Sequence[str]) -> bool:
    return name in wanted or name.partition("/")[0] in wanted
