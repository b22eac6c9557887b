"""The devices that every node of a sketch's entry has: ``devices`` of ``nodes`` and of ``pools``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.cluster.limits import MOST_DEVICES
from kubesched_lint.engine.model.decode.devices import quantity
from kubesched_lint.engine.model.decode.fields import (
    DecodeError,
    Value,
    boolean,
    integer,
    items,
    mapping,
    text,
    words,
    wrong,
)
from kubesched_lint.engine.model.devices.devices import (
    OWN,
    SEMVER,
    Attribute,
    Capacity,
    Device,
    DeviceClass,
    DeviceOffer,
    DeviceTaint,
)
from kubesched_lint.sources.sketches.fields import known, taints_of

DEVICE_FIELDS = frozenset(
    ["class", "driver", "name", "count", "attributes", "capacity", "taints", "allowMultipleAllocations"]
)
DEFAULT_NAME = "device"
_EFFECTS = ("NoSchedule", "NoExecute", "None")


def offers_of(entry: Value, path: Path) -> tuple[DeviceOffer, ...] | None:
    """Return the devices of each node, by driver in the order written; None if nobody wrote any. Raises DecodeError."""
    if entry.get("devices") is None:
        return None
    devices_by_driver: dict[str, list[Device]] = {}
    for line, at in items(entry, "devices", path):
        known(line, DEVICE_FIELDS, at)
        held = devices_by_driver.setdefault(_driver(line, at), [])
        held += _devices(line, at, {device.name for device in held})
    return tuple(DeviceOffer(driver, tuple(devices)) for driver, devices in devices_by_driver.items())


def classes_of(sketch: Value) -> tuple[DeviceClass, ...]:
    """Return the classes that the lines of a sketch name: each selects its driver. Raises DecodeError."""
    drivers_of_classes: dict[str, tuple[str, Path]] = {}
    for line, at in _lines(sketch):
        name, driver = text(line, "class", at), _driver(line, at)
        other, where = drivers_of_classes.setdefault(name, (driver, at))
        if name and other != driver:
            raise DecodeError(
                at, f"{words(at)}: class {name} is of driver {driver} here and of {other} in {words(where)}"
            )
    return tuple(
        DeviceClass(name, selectors=(of_driver(driver),)) for name, (driver, _) in drivers_of_classes.items() if name
    )


def of_driver(driver: str) -> str:
    """Return the usual selector of a class."""
    return f'device.driver == "{driver}"'


def _lines(sketch: Value) -> Iterator[tuple[Value, Path]]:
    for field in ("nodes", "pools"):
        for entry, entry_path in items(sketch, field, ()):
            yield from items(entry, "devices", entry_path)


def _driver(line: Value, at: Path) -> str:
    driver = text(line, "driver", at) or text(line, "class", at)
    if not driver:
        raise DecodeError(at, f"{words(at)}: devices need the name of their driver, or of a class called like it")
    return driver


def _devices(line: Value, at: Path, taken: Iterable[str]) -> Iterator[Device]:
    count = 1 if line.get("count") is None else integer(line, "count", at)
    if count is None or not 0 <= count <= MOST_DEVICES:
        count_path = (*at, "count")
        raise DecodeError(count_path, f"{words(count_path)}: expected 0 to {MOST_DEVICES:,} devices, found {count}")
    attributes = {
        name: _values(value, count, attribute_path) for name, value, attribute_path in _entries(line, "attributes", at)
    }
    capacity = {
        name: Capacity(quantity(value, capacity_path)) for name, value, capacity_path in _entries(line, "capacity", at)
    }
    taints = tuple(DeviceTaint(t.key, t.value, t.effect) for t in taints_of(line, at, _EFFECTS))
    is_shared = boolean(line, "allowMultipleAllocations", at)
    names = _names(text(line, "name", at), count, frozenset(taken), (*at, "name"))
    for i, name in enumerate(names):
        mine = {key: (OWN, name) if values[i] == (OWN, "") else values[i] for key, values in attributes.items()}
        yield Device(name, mine, capacity, taints=taints, is_shared=is_shared)


def _names(base: str, count: int, taken: frozenset[str], path: Path) -> Iterator[str]:
    """Yield ``gpu`` for a single device of that name, else ``gpu-0``, ``gpu-1`` …, without those taken."""
    if base and count == 1:
        if base in taken:
            raise DecodeError(path, f"{words(path)}: another device of this driver has the name {base}")
        yield base
        return
    numbered = (f"{base or DEFAULT_NAME}-{number}" for number in range(count + len(taken)))
    yield from islice((name for name in numbered if name not in taken), count)


def _values(value: object, count: int, path: Path) -> Sequence[Attribute]:
    """Return the value of an attribute on each device; a list has one for each."""
    if not isinstance(value, list):
        return (_attribute(value, path),) * count
    attributes = [_attribute(each, (*path, i)) for i, each in enumerate(value)]
    if len(attributes) != count:
        raise DecodeError(path, f"{words(path)}: expected {count} values, one for each device, found {len(attributes)}")
    return attributes


def _entries(line: Value, field: str, at: Path) -> Iterator[tuple[str, object, Path]]:
    for name, value in mapping(line, field, at).items():
        entry_path = (*at, field, name)
        if not isinstance(name, str):
            raise wrong((*at, field, str(name)), "a string as the key", name)
        yield name, value, entry_path


def _version(value: Value, path: Path) -> str:
    version, at = text(value, "version", path), (*path, "version")
    if not SEMVER.fullmatch(version):
        raise DecodeError(at, f"{words(at)}: expected a version such as 1.2.3 (semver.org), found {version!r}")
    return version


def _attribute(value: object, path: Path) -> Attribute:
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, int):
        return "int", value
    if isinstance(value, str):
        return "string", value
    if isinstance(value, dict) and value.keys() == {"version"}:
        return "version", _version(value, path)
    if value == {"own": True}:
        return OWN, ""
    raise wrong(path, "a text, an integer, true or false, {version: 1.2.3} or {own: true}", value)
