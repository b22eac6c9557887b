"""Read pools that users write: ``pools`` of a ClusterSketch, and NodeGroups for cluster-autoscaler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.cluster.limits import MOST_SKETCHED
from kubesched_lint.engine.cluster.nodepools.templates import NAMELESS
from kubesched_lint.engine.cluster.nodepools.unknown import unlisted_type
from kubesched_lint.engine.cluster.nodes.elastic import NODE_POOL
from kubesched_lint.engine.cluster.nodes.shapes import CLOUDS, shape_named
from kubesched_lint.engine.cluster.nodes.transient import is_transient_taint
from kubesched_lint.engine.model.decode.fields import (
    DecodeError,
    Value,
    integer,
    items,
    labels,
    mapping,
    resources,
    text,
    texts,
    words,
    wrong,
)
from kubesched_lint.engine.model.decode.nodepools import cloud_of_keys, decode_requirements, zones_of
from kubesched_lint.engine.model.labels import Labels
from kubesched_lint.engine.model.nodes.node import AUTOPILOT, CLUSTER_AUTOSCALER, KARPENTER, NodePool, Shape, zone_of
from kubesched_lint.sources.sketches.fields import known, taints_of
from kubesched_lint.sources.sketches.sketch import DEFAULT_PODS, offers_in

GROUPS = "NodeGroups"
POOL_FIELDS = frozenset(
    [
        "name",
        "autoscaler",
        "cloud",
        "zones",
        "labels",
        "taints",
        "requirements",
        "shapes",
        "min",
        "limits",
        "weight",
        "devices",
        "expireAfter",
        "terminationGracePeriod",
    ]
)
SHAPE_FIELDS = frozenset(["name", "allocatable", "capacity", "labels"])
GROUPS_FIELDS = frozenset(["apiVersion", "kind", "groups"])
GROUP_FIELDS = frozenset(["name", "zones", "min", "max", "labels", "taints", "shape"])
DECLARED_FIELDS = frozenset(["name", "zones", "labels", "taints", "machine"])
MAKERS = (KARPENTER, CLUSTER_AUTOSCALER, AUTOPILOT)
WRITTEN = "pool"  # unlike Karpenter's own, such a pool sets only the labels written in it


def written_pools(sketch: Value) -> Iterator[NodePool]:
    """Yield the pools of a sketch. Raises DecodeError."""
    standing = 0
    for entry, path in _once(items(sketch, "pools", ())):
        known(entry, POOL_FIELDS, path)
        maker = text(entry, "autoscaler", path)
        if maker and maker not in MAKERS:
            at = (*path, "autoscaler")
            raise DecodeError(at, f"{words(at)}: expected {' or '.join(MAKERS)}, found {maker!r}")
        cloud = text(entry, "cloud", path)
        if cloud and cloud not in CLOUDS:
            at = (*path, "cloud")
            raise DecodeError(at, f"{words(at)}: expected {' or '.join(CLOUDS)}, found {cloud!r}")
        wanted = tuple(decode_requirements(entry, "requirements", path))
        name = _named(entry, path)
        own = labels(entry, "labels", path)
        if maker == KARPENTER:
            own = {**karpenters_labels(name), **own}
        limits = _limits(entry, path)
        zone = zone_of(own) or None
        zones = _zones(entry, path)
        if zones is None:
            zones = zones_of(wanted) if zone is None else (zone,)
        minimum = _minimum(entry, path, limits.get("nodes"))
        standing = _together(standing, minimum, path)
        yield NodePool(
            name=name,
            maker=maker or WRITTEN,
            zones=zones,
            labels=own,
            taints=tuple(taints_of(entry, path)),
            requirements=wanted,
            shapes=_shapes(entry, path, maker),
            cloud=cloud or cloud_of_keys(wanted),
            limits=limits,
            minimum=minimum,
            weight=integer(entry, "weight", path) or 0,
            devices=offers_in(entry, path),
            expires_after=text(entry, "expireAfter", path),
            drain_limit=text(entry, "terminationGracePeriod", path),
            path=path,
        )


def written_groups(value: Value) -> Iterator[NodePool]:
    """Yield the node groups of a NodeGroups document. Raises DecodeError."""
    known(value, GROUPS_FIELDS, ())
    standing = 0
    for entry, path in _once(items(value, "groups", ())):
        known(entry, GROUP_FIELDS, path)
        most = integer(entry, "max", path)
        if most is None:
            raise DecodeError(path, f"{words(path)}: a node group needs max, the most nodes it may have")
        minimum = _minimum(entry, path, most)
        standing = _together(standing, minimum, path)
        yield replace(_group(entry, "shape", path), limits={"nodes": most}, minimum=minimum)


def declared_groups(table: Value, key: str) -> Iterator[NodePool]:
    """Yield the node groups that a configuration declares under ``key``. Raises DecodeError."""
    for entry, path in _once(items(table, key, ())):
        known(entry, DECLARED_FIELDS, path)
        yield _group(entry, "machine", path)


def _group(entry: Value, shape: str, path: Path) -> NodePool:
    """Return a node group of cluster-autoscaler; ``shape`` is the field of its machine type. Raises DecodeError.

    It leaves out startup taints, as the autoscaler does for the node that it plans (utils/taints/taints.go).
    """
    machine = entry.get(shape)
    return NodePool(
        name=_named(entry, path),
        maker=CLUSTER_AUTOSCALER,
        zones=_zones(entry, path),
        labels=labels(entry, "labels", path),
        taints=tuple(taint for taint in taints_of(entry, path) if not is_transient_taint(taint)),
        shapes=(Shape(NAMELESS),) if machine is None else (_shape(machine, (*path, shape)),),
        path=path,
    )


def karpenters_labels(pool: str) -> Labels:
    """Return the labels that Karpenter sets on every node of a pool, besides the pool's own."""
    return {NODE_POOL: pool, "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}


def _once(entries: Iterable[tuple[Value, Path]]) -> Iterator[tuple[Value, Path]]:
    """Yield the entries. Raises DecodeError if two have the same name."""
    seen: dict[object, Path] = {}
    for entry, path in entries:
        name = entry.get("name")
        if isinstance(name, str) and seen.setdefault(name, path) != path:
            raise DecodeError((*path, "name"), f"{words(path)}: is named {name}, and so is {words(seen[name])}")
        yield entry, path


def _limits(entry: Value, path: Path) -> dict[str, int]:
    limits = resources(entry, "limits", path)  # it takes a negative amount for none
    for name, amount in mapping(entry, "limits", path).items():
        if str(amount).startswith("-"):
            at = (*path, "limits", name)
            raise DecodeError(at, f"{words(at)}: expected 0 or more, found {amount}")
    return limits


def _minimum(entry: Value, path: Path, most: int | None) -> int:
    least = integer(entry, "min", path) or 0
    if least < 0 or (most is not None and least > most):
        at = (*path, "min")
        bound = "0 or more" if most is None else f"0 to {most}, the most nodes it may have"
        raise DecodeError(at, f"{words(at)}: expected {bound}, found {least}")
    return least


def _together(before: int, minimum: int, path: Path) -> int:
    """Return the total of the minimums so far, with this pool's. Raises DecodeError if it is too large."""
    if before + minimum > MOST_SKETCHED:
        at = (*path, "min")
        raise DecodeError(at, f"{words(at)}: the minimums add up to more than {MOST_SKETCHED:,} nodes")
    return before + minimum


def _named(entry: Value, path: Path) -> str:
    name = text(entry, "name", path)
    if not name:
        raise DecodeError(path, f"{words(path)}: a pool needs a name")
    return name


def _zones(entry: Value, path: Path) -> tuple[str, ...] | None:
    return None if entry.get("zones") is None else tuple(dict.fromkeys(texts(entry, "zones", path)))


def _shapes(entry: Value, path: Path, maker: str) -> tuple[Shape, ...]:
    written = entry.get("shapes")
    if written is None:
        return () if maker in (KARPENTER, AUTOPILOT) else (Shape(NAMELESS),)
    shapes_path = (*path, "shapes")
    if not isinstance(written, list):
        raise wrong(shapes_path, "a list of machine types, each a name or {name, allocatable}", written)
    return tuple(_shape(item, (*shapes_path, i)) for i, item in enumerate(written))


def _shape(item: object, at: Path) -> Shape:
    """Return a machine type given by name or with its amounts; a known type fills in what is not written."""
    if isinstance(item, str):
        return shape_named(item) or unlisted_type(item)
    if not isinstance(item, dict):
        raise wrong(at, "a machine type, a name or {name, allocatable}", item)
    known(item, SHAPE_FIELDS, at)
    name = text(item, "name", at)
    if not name:
        raise DecodeError(at, f"{words(at)}: a shape needs a name")
    shape = shape_named(name) or unlisted_type(name)
    if item.get("allocatable") is not None:
        amounts = resources(item, "allocatable", at)
        amounts.setdefault("pods", DEFAULT_PODS)
        shape = replace(shape, allocatable=amounts, most=None)
    if item.get("capacity") is not None:
        shape = replace(shape, capacity=resources(item, "capacity", at))
    return replace(shape, labels={**shape.labels, **labels(item, "labels", at)})
