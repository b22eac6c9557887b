"""Write the devices of a cluster's nodes into a sketch: all of them, or none with the reason."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby

from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.model.devices.devices import OWN, Attribute, Device, DeviceClass, NodeAccess, ResourceSlice
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.printing import safe_json
from kubesched_lint.sources.sketches.devices import DEFAULT_NAME, of_driver
from kubesched_lint.sources.sketches.text import amount, flow, scalar

_NUMBERED = re.compile(r"(.+)-[0-9]+")


class WrittenDevices:
    """The lines of every node. ``left_out`` is the reason why there are none; empty if all devices are written.

    A short sketch does not state texts that differ on every device of the cluster, such as UUIDs.
    """

    def __init__(self, inventory: Inventory, *, exact: bool) -> None:
        slices = Devices.of(inventory).slices
        self.left_out = next(_too_rich(slices), "")
        if self.left_out:
            slices = ()
        self._own = frozenset[tuple[str, str]]() if exact else frozenset(_own_texts(slices))
        drivers = {each.driver for each in slices if each.devices}
        usual = [c for c in inventory.device_classes if not c.extended_resource and len(c.selectors) == 1]
        self._class_of = {d: c.name for d in drivers for c in reversed(usual) if _is_of_driver(c, d)}
        self.classes = tuple(c for c in inventory.device_classes if c.name not in self._class_of.values())
        """The classes that no line implies."""
        of_node: dict[str, list[ResourceSlice]] = {}
        for each in sorted(slices, key=lambda s: (s.driver, s.name)):
            of_node.setdefault(each.access.node_name, []).append(each)
        self._of_node = {name: tuple(self._lines(node_slices)) for name, node_slices in of_node.items()}

    def of(self, node: str) -> tuple[str, ...]:
        """Return the lines of a node, equal on nodes with equal devices."""
        return self._of_node.get(node, ())

    def object_lines(self) -> Iterator[str]:
        """Yield the classes that no line implies, as items of ``objects``."""
        for each in self.classes:
            spec = [("extendedResourceName", scalar(each.extended_resource))] if each.extended_resource else []
            if each.selectors:
                texts = (f"{{cel: {{expression: {safe_json(json.dumps(text))}}}}}" for text in each.selectors)
                spec.append(("selectors", f"[{', '.join(texts)}]"))
            yield "- apiVersion: resource.k8s.io/v1"
            yield "  kind: DeviceClass"
            yield f"  metadata: {{name: {scalar(each.name)}}}"
            yield f"  spec: {flow(spec)}"

    def _lines(self, slices: Iterable[ResourceSlice]) -> Iterator[str]:
        pairs = [(each.driver, device) for each in slices for device in each.devices]
        for (driver, _), group in groupby(pairs, key=lambda pair: (pair[0], _looks(pair[1]))):
            yield flow(self._line(driver, [device for _, device in group]))

    def _line(self, driver: str, devices: Sequence[Device]) -> Iterator[tuple[str, str]]:
        name = self._class_of.get(driver)
        if name is not None:
            yield "class", scalar(name)
        if name != driver:
            yield "driver", scalar(driver)
        yield from (("name", scalar(base)) for base in _base(devices))
        if len(devices) > 1:
            yield "count", str(len(devices))
        attributes = [(key, self._values(driver, key, devices)) for key in devices[0].attributes]
        if attributes:
            yield "attributes", flow(attributes)
        yield from _looks(devices[0])[1:]

    def _values(self, driver: str, key: str, devices: Sequence[Device]) -> str:
        """Return the value of all devices of a line, or a list of one for each."""
        if (driver, key) in self._own:
            return "{own: true}"
        texts = [_value(device.attributes[key]) for device in devices]
        return texts[0] if len(set(texts)) == 1 else f"[{', '.join(texts)}]"


def _looks(device: Device) -> tuple[tuple[str, str], ...]:
    """Return what devices of one line share: the names of their attributes, then the other fields of a line."""
    looks = [("attributes", ", ".join(device.attributes))]
    if device.capacity:
        looks.append(("capacity", flow((name, _amount(name, c.value)) for name, c in device.capacity.items())))
    if device.taints:
        taints = (f"{t.key}={t.value}:{t.effect}" if t.value else f"{t.key}:{t.effect}" for t in device.taints)
        looks.append(("taints", f"[{', '.join(map(scalar, taints))}]"))
    if device.is_shared:
        looks.append(("allowMultipleAllocations", "true"))
    return tuple(looks)


def _base(devices: Sequence[Device]) -> Iterator[str]:
    """Yield what to call the devices of a line, unless it is the default."""
    if len(devices) == 1:
        yield devices[0].name
        return
    bases = {match[1] if (match := _NUMBERED.fullmatch(device.name)) else "" for device in devices}
    if len(bases) == 1:
        yield from bases - {"", DEFAULT_NAME}


def _value(attribute: Attribute) -> str:
    kind, value = attribute
    if kind == OWN:
        return "{own: true}"
    if kind == "version":
        return f"{{version: {scalar(str(value))}}}"
    return scalar(value) if isinstance(value, str) else str(value).lower()


def _amount(name: str, value: Fraction) -> str:
    if value.denominator == 1:
        return amount(name, int(value)) if name != "cpu" else f'"{value}"'
    return f'"{float(value):.9f}"'.rstrip("0")


def _own_texts(slices: Iterable[ResourceSlice]) -> Iterator[tuple[str, str]]:
    """Yield (driver, attribute) of texts that differ on every device of the cluster."""
    texts: dict[tuple[str, str], list[object]] = {}
    for each in slices:
        for device in each.devices:
            for name, (kind, value) in device.attributes.items():
                texts.setdefault((each.driver, name), []).append(value if kind == "string" else None)
    for key, values in texts.items():
        if None not in values and len(set(values)) == len(values) > 1:
            yield key


def _is_of_driver(device_class: DeviceClass, driver: str) -> bool:
    return device_class.selectors[0].replace("'", '"').split() == of_driver(driver).split()


def _too_rich(slices: Sequence[ResourceSlice]) -> Iterator[str]:
    """Yield what no line of a sketch can say."""
    counts: dict[tuple[str, str], int] = {}
    for each in slices:
        counts[each.driver, each.pool] = counts.get((each.driver, each.pool), 0) + 1
    for each in slices:
        if each.counter_sets or any(device.consumes for device in each.devices):
            yield f"{each.name} has partitions with shared counters"
        elif not each.access.node_name or each.is_per_device or any(d.access != NodeAccess() for d in each.devices):
            yield f"{each.name} is not for one node"
        elif counts[each.driver, each.pool] != each.slice_count:
            yield f"the pool {each.driver}/{each.pool} is incomplete, or several generations exist"
        elif any(capacity.has_policy for device in each.devices for capacity in device.capacity.values()):
            yield f"{each.name} has capacities with a request policy"
        elif any(
            device.has_lists or not device.is_readable or device.has_binding_conditions for device in each.devices
        ):
            yield f"{each.name} has attributes that are lists, or binding conditions"
