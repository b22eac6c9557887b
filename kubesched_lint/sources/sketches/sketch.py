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
from kubesched_lint.engine.model.devices import DeviceOffer
from kubesched_lint.engine.model.feature_gates import lacking
from kubesched_lint.engine.model.labels import Labels
from kubesched_lint.engine.model.node import HOSTNAME, OS, ZONE, Node, with_kept_labels
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
    for entry, here in items(sketch, "nodes", ()):
        for node, because in _entry(entry, here, whole, of_zones):
            if node.name in names:
                raise DecodeError(
                    here, f"{words(here)}: makes a node named {node.name}, and so does {words(names[node.name])}"
                )
            names[node.name] = here
            if len(names) > MOST_SKETCHED:
                raise DecodeError(here, f"{words(here)}: the sketch makes more than {MOST_SKETCHED:,} nodes")
            yield node, because


def node_groups_of(sketch: Value) -> str:
    """Return ``complete`` or ``open``, as written; empty if nobody decided yet. Raises DecodeError."""
    found = text(sketch, "nodeGroups", ())
    if sketch.get("nodeGroups") is not None and found not in (COMPLETE, OPEN):
        raise DecodeError(("nodeGroups",), f"nodeGroups: expected {COMPLETE} or {OPEN}, found {found!r}")
    return found


def feature_gates_of(value: Value, at: Path = ()) -> dict[str, bool]:
    """Return the feature gates of a sketch, or of the metadata of a snapshot. Raises DecodeError."""
    found, here = mapping(value, "featureGates", at), (*at, "featureGates")
    gates = {str(name): boolean(found, name, here) for name in found}
    problem = lacking(gates)
    if problem:
        raise DecodeError(here, f"{words(here)}: {problem}")
    return gates


def _zone_labels(sketch: Value) -> Iterator[tuple[str, Labels]]:
    """Yield each zone with the labels that all its nodes have."""
    found = mapping(sketch, "zones", ())
    for zone in found:
        if not isinstance(zone, str):
            raise wrong(("zones", zone), "a zone name (put it in quotes)", zone)
        yield zone, fields.labels(found, zone, ("zones",))


def _entry(entry: Value, here: Path, whole: bool | None, of_zones: Mapping[str, Labels]) -> Iterator[tuple[Node, str]]:
    known(entry, NODE_FIELDS, here)
    base = text(entry, "name", here)
    if not base:
        raise DecodeError(here, f"{words(here)}: a node entry needs a name")
    zones = _counts(entry, here)
    written = _labels(entry, here)
    if sum(zones.values()) * (len(base) + len(written)) > 200 * MOST_SKETCHED:
        raise DecodeError(here, f"{words(here)}: too many nodes with too many labels or too long a name")
    taints = tuple(taints_of(entry, here))
    allocatable = None if entry.get("allocatable") is None else resources(entry, "allocatable", here)
    if allocatable is not None:
        allocatable.setdefault("pods", DEFAULT_PODS)
    elastic = boolean(entry, "elastic", here) if entry.get("elastic") is not None else whole
    unschedulable = boolean(entry, "unschedulable", here)
    ready = boolean(entry, "ready", here, True)
    images = _images(entry, here)
    features = texts(entry, "declaredFeatures", here)
    devices = offers_in(entry, here)
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
                    here,
                    group,
                    devices=devices,
                ),
                because,
            )


def offers_in(entry: Value, here: Path) -> tuple[DeviceOffer, ...] | None:
    """Return the devices that an entry writes for each node; None if it writes none. Raises DecodeError."""
    if entry.get("devices") is None:
        return None
    return offers_of(entry, here)


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


def _labels(entry: Value, here: Path) -> dict[str, str | None]:
    found = mapping(entry, "labels", here)
    for key, value in found.items():
        if not isinstance(key, str):
            raise wrong((*here, "labels", key), "a string as the key", key)
        if value is not None and not isinstance(value, str):
            raise wrong((*here, "labels", key), "a string (put it in quotes)", value)
    return dict(found)


def _counts(entry: Value, here: Path) -> dict[str | None, int]:
    """Return zone → number of nodes; None means no zone."""
    found = entry.get("zones")
    if isinstance(found, dict):
        if entry.get("count") is not None:
            raise DecodeError((*here, "count"), f"{words((*here, 'count'))}: zones already gives the counts")
        return {_zone(zone, (*here, "zones", zone)): _count(found, zone, (*here, "zones")) for zone in found}
    count = 1 if entry.get("count") is None else _count(entry, "count", here)
    return dict.fromkeys(_zones(found, (*here, "zones")), count)


def _count(value: Value, key: str, here: Path) -> int:
    found = integer(value, key, here)
    at = (*here, key)
    if found is None:
        raise wrong(at, "a number of nodes", found)
    if not 0 <= found <= MOST_SKETCHED:
        raise DecodeError(at, f"{words(at)}: expected 0 to {MOST_SKETCHED:,}, found {found}")
    return found


def _zones(found: object, here: Path) -> Iterator[str | None]:
    """Yield the zones of a list; None means no zone."""
    if found is None or found == []:
        yield None
        return
    if not isinstance(found, list):
        raise wrong(here, "a list of zone names, or zone names with numbers of nodes", found)
    met: set[str | None] = set()
    for i, zone in enumerate(found):
        if zone is not None:
            _zone(zone, (*here, i))
        if zone in met:
            raise DecodeError((*here, i), f"{words((*here, i))}: {zone} is listed twice")
        met.add(zone)
        yield zone


def _zone(found: object, at: Path) -> str:
    if not isinstance(found, str):
        raise wrong(at, "a zone name (put it in quotes)", found)
    return found


def _images(entry: Value, here: Path) -> dict[str, int]:
    """Return image name → bytes."""
    return resources(entry, "images", here) if optional_mapping(entry, "images", here) else {}
