"""A cluster in a few lines: entries of equal nodes, written by users without access to the real cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.cluster.limits import MOST_SKETCHED
from kubesched_lint.engine.cluster.nodes.elastic import COMPLETE, OPEN, Maker, maker_of
from kubesched_lint.engine.model.decode import fields
from kubesched_lint.engine.model.decode.fields import (
    DecodeError,
    Value,
    boolean,
    integer,
    items,
    mapping,
    optional_mapping,
    resources,
    text,
    texts,
    words,
    wrong,
)
from kubesched_lint.engine.model.devices.devices import DeviceOffer
from kubesched_lint.engine.model.feature_gates import lacking
from kubesched_lint.engine.model.labels import Labels
from kubesched_lint.engine.model.nodes.node import HOSTNAME, OS, ZONE, Node, with_kept_labels
from kubesched_lint.sources.sketches.cloud_labels import following
from kubesched_lint.sources.sketches.devices import offers_of
from kubesched_lint.sources.sketches.fields import known, taints_of

API_VERSION = "kubesched-lint/v1"
KIND = "ClusterSketch"

SKETCH_FIELDS = frozenset(
    [
        "apiVersion",
        "kind",
        "nodes",
        "pools",
        "morePools",
        "nodeGroups",
        "zones",
        "otherLabels",
        "objects",
        "kinds",
        "elastic",
        "kubernetesVersion",
        "featureGates",
        "capturedAt",
    ]
)
NODE_FIELDS = frozenset(
    [
        "name",
        "count",
        "zones",
        "labels",
        "taints",
        "allocatable",
        "elastic",
        "unschedulable",
        "ready",
        "images",
        "declaredFeatures",
        "devices",
    ]
)
DEFAULT_PODS = 110  # the kubelet's --max-pods


def sketched_nodes(sketch: Value) -> Iterator[tuple[Node, str]]:
    """Yield every node of a sketch, with the evidence that it is elastic ("" for none). Raises DecodeError."""
    known(sketch, SKETCH_FIELDS, ())
    whole = boolean(sketch, "elastic", ()) if sketch.get("elastic") is not None else None
    names: dict[str, Path] = {}
    of_zones = dict(_zone_labels(sketch))
    for entry, path in items(sketch, "nodes", ()):
        for node, because in _entry(entry, path, whole, of_zones):
            if node.name in names:
                raise DecodeError(
                    path, f"{words(path)}: makes a node named {node.name}, and so does {words(names[node.name])}"
                )
            names[node.name] = path
            if len(names) > MOST_SKETCHED:
                raise DecodeError(path, f"{words(path)}: the sketch makes more than {MOST_SKETCHED:,} nodes")
            yield node, because


def node_groups_of(sketch: Value) -> str:
    """Return ``complete`` or ``open``, as written; empty if nobody decided yet. Raises DecodeError."""
    written = text(sketch, "nodeGroups", ())
    if sketch.get("nodeGroups") is not None and written not in (COMPLETE, OPEN):
        raise DecodeError(("nodeGroups",), f"nodeGroups: expected {COMPLETE} or {OPEN}, found {written!r}")
    return written


def feature_gates_of(value: Value, at: Path = ()) -> dict[str, bool]:
    """Return the feature gates of a sketch, or of the metadata of a snapshot. Raises DecodeError."""
    written, path = mapping(value, "featureGates", at), (*at, "featureGates")
    gates = {str(name): boolean(written, name, path) for name in written}
    problem = lacking(gates)
    if problem:
        raise DecodeError(path, f"{words(path)}: {problem}")
    return gates


def _zone_labels(sketch: Value) -> Iterator[tuple[str, Labels]]:
    """Yield each zone with the labels that all its nodes have."""
    zone_labels = mapping(sketch, "zones", ())
    for zone in zone_labels:
        if not isinstance(zone, str):
            raise wrong(("zones", zone), "a zone name (put it in quotes)", zone)
        yield zone, fields.labels(zone_labels, zone, ("zones",))


def _entry(entry: Value, path: Path, whole: bool | None, of_zones: Mapping[str, Labels]) -> Iterator[tuple[Node, str]]:
    known(entry, NODE_FIELDS, path)
    base = text(entry, "name", path)
    if not base:
        raise DecodeError(path, f"{words(path)}: a node entry needs a name")
    zones = _counts(entry, path)
    written = _labels(entry, path)
    if sum(zones.values()) * (len(base) + len(written)) > 200 * MOST_SKETCHED:
        raise DecodeError(path, f"{words(path)}: too many nodes with too many labels or too long a name")
    taints = tuple(taints_of(entry, path))
    allocatable = None if entry.get("allocatable") is None else resources(entry, "allocatable", path)
    if allocatable is not None:
        allocatable.setdefault("pods", DEFAULT_PODS)
    elastic = boolean(entry, "elastic", path) if entry.get("elastic") is not None else whole
    unschedulable = boolean(entry, "unschedulable", path)
    ready = boolean(entry, "ready", path, True)
    images = _images(entry, path)
    features = texts(entry, "declaredFeatures", path)
    devices = offers_in(entry, path)
    for zone, count in zones.items():
        shared = filled(written, base, zone, {} if zone is None else of_zones.get(zone, {}))
        for number in range(1, count + 1):
            name = node_name(base, zone, number, count, len(zones))
            labels = shared if HOSTNAME in written else {**shared, HOSTNAME: name}  # nothing follows from it
            maker = maker_of(labels, {})
            if elastic is not None:
                maker = Maker("set in the sketch", maker.group if maker else f"sketch={base}") if elastic else None
            because, group = (maker.because, maker.group) if maker else ("", "")
            yield (
                Node(
                    name,
                    labels,
                    taints,
                    unschedulable,
                    allocatable,
                    ready,
                    bool(because),
                    images,
                    features,
                    path,
                    group,
                    devices=devices,
                ),
                because,
            )


def offers_in(entry: Value, path: Path) -> tuple[DeviceOffer, ...] | None:
    """Return the devices that an entry writes for each node; None if it writes none. Raises DecodeError."""
    if entry.get("devices") is None:
        return None
    return offers_of(entry, path)


def node_name(base: str, zone: str | None, number: int, count: int, zones: int) -> str:
    """Return ``gpu`` for a single node, else ``worker-eu-west-1a-2``: with zone and number, if there are several."""
    if count == 1 and zones == 1:
        return base
    return "-".join(filter(None, [base, zone, str(number) if count > 1 else ""]))


def filled(written: Mapping[str, str | None], name: str, zone: str | None, of_zone: Labels) -> Labels:
    """Return all labels of a node: the written ones, those of its zone, and what follows; null removes one."""
    place = {} if zone is None else {ZONE: zone}
    own: dict[str, str | None] = {HOSTNAME: name, OS: "linux", **place, **of_zone, **written}
    labels = {key: value for key, value in own.items() if value is not None}
    more = {key: value for key, value in following(labels).items() if key not in own}
    return with_kept_labels({**labels, **more})


def _labels(entry: Value, path: Path) -> dict[str, str | None]:
    written = mapping(entry, "labels", path)
    for key, value in written.items():
        if not isinstance(key, str):
            raise wrong((*path, "labels", key), "a string as the key", key)
        if value is not None and not isinstance(value, str):
            raise wrong((*path, "labels", key), "a string (put it in quotes)", value)
    return dict(written)


def _counts(entry: Value, path: Path) -> dict[str | None, int]:
    """Return zone → number of nodes; None means no zone."""
    written = entry.get("zones")
    if isinstance(written, dict):
        if entry.get("count") is not None:
            raise DecodeError((*path, "count"), f"{words((*path, 'count'))}: zones already gives the counts")
        return {_zone(zone, (*path, "zones", zone)): _count(written, zone, (*path, "zones")) for zone in written}
    count = 1 if entry.get("count") is None else _count(entry, "count", path)
    return dict.fromkeys(_zones(written, (*path, "zones")), count)


def _count(value: Value, key: str, path: Path) -> int:
    number = integer(value, key, path)
    at = (*path, key)
    if number is None:
        raise wrong(at, "a number of nodes", number)
    if not 0 <= number <= MOST_SKETCHED:
        raise DecodeError(at, f"{words(at)}: expected 0 to {MOST_SKETCHED:,}, found {number}")
    return number


def _zones(zones: object, path: Path) -> Iterator[str | None]:
    """Yield the zones of a list; None means no zone."""
    if zones is None or zones == []:
        yield None
        return
    if not isinstance(zones, list):
        raise wrong(path, "a list of zone names, or zone names with numbers of nodes", zones)
    met: set[str | None] = set()
    for i, zone in enumerate(zones):
        if zone is not None:
            _zone(zone, (*path, i))
        if zone in met:
            raise DecodeError((*path, i), f"{words((*path, i))}: {zone} is listed twice")
        met.add(zone)
        yield zone


def _zone(zone: object, at: Path) -> str:
    if not isinstance(zone, str):
        raise wrong(at, "a zone name (put it in quotes)", zone)
    return zone


def _images(entry: Value, path: Path) -> dict[str, int]:
    """Return image name → bytes."""
    return resources(entry, "images", path) if optional_mapping(entry, "images", path) else {}
