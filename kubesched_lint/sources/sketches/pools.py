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
from kubesched_lint.engine.model.node import AUTOPILOT, CLUSTER_AUTOSCALER, KARPENTER, NodePool, Shape, zone_of
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
    for entry, here in _once(items(sketch, "pools", ())):
        known(entry, POOL_FIELDS, here)
        maker = text(entry, "autoscaler", here)
        if maker and maker not in MAKERS:
            at = (*here, "autoscaler")
            raise DecodeError(at, f"{words(at)}: expected {' or '.join(MAKERS)}, found {maker!r}")
        cloud = text(entry, "cloud", here)
        if cloud and cloud not in CLOUDS:
            at = (*here, "cloud")
            raise DecodeError(at, f"{words(at)}: expected {' or '.join(CLOUDS)}, found {cloud!r}")
        wanted = tuple(decode_requirements(entry, "requirements", here))
        name = _named(entry, here)
        own = labels(entry, "labels", here)
        if maker == KARPENTER:
            own = {**karpenters_labels(name), **own}
        limits = _limits(entry, here)
        zone = zone_of(own) or None
        zones = _zones(entry, here)
        if zones is None:
            zones = zones_of(wanted) if zone is None else (zone,)
        minimum = _minimum(entry, here, limits.get("nodes"))
        standing = _together(standing, minimum, here)
        yield NodePool(
            name=name,
            maker=maker or WRITTEN,
            zones=zones,
            labels=own,
            taints=tuple(taints_of(entry, here)),
            requirements=wanted,
            shapes=_shapes(entry, here, maker),
            cloud=cloud or cloud_of_keys(wanted),
            limits=limits,
            minimum=minimum,
            weight=integer(entry, "weight", here) or 0,
            devices=offers_in(entry, here),
            expires_after=text(entry, "expireAfter", here),
            drain_limit=text(entry, "terminationGracePeriod", here),
            path=here,
        )


def written_groups(value: Value) -> Iterator[NodePool]:
    """Yield the node groups of a NodeGroups document. Raises DecodeError."""
    known(value, GROUPS_FIELDS, ())
    standing = 0
    for entry, here in _once(items(value, "groups", ())):
        known(entry, GROUP_FIELDS, here)
        most = integer(entry, "max", here)
        if most is None:
            raise DecodeError(here, f"{words(here)}: a node group needs max, the most nodes it may have")
        minimum = _minimum(entry, here, most)
        standing = _together(standing, minimum, here)
        yield replace(_group(entry, "shape", here), limits={"nodes": most}, minimum=minimum)


def declared_groups(table: Value, key: str) -> Iterator[NodePool]:
    """Yield the node groups that a configuration declares under ``key``. Raises DecodeError."""
    for entry, here in _once(items(table, key, ())):
        known(entry, DECLARED_FIELDS, here)
        yield _group(entry, "machine", here)


def _group(entry: Value, shape: str, here: Path) -> NodePool:
    """Return a node group of cluster-autoscaler; ``shape`` is the field of its machine type. Raises DecodeError.

    It leaves out startup taints, as the autoscaler does for the node that it plans (utils/taints/taints.go).
    """
    machine = entry.get(shape)
    return NodePool(
        name=_named(entry, here),
        maker=CLUSTER_AUTOSCALER,
        zones=_zones(entry, here),
        labels=labels(entry, "labels", here),
        taints=tuple(taint for taint in taints_of(entry, here) if not is_transient_taint(taint)),
        shapes=(Shape(NAMELESS),) if machine is None else (_shape(machine, (*here, shape)),),
        path=here,
    )


def karpenters_labels(pool: str) -> Labels:
    """Return the labels that Karpenter sets on every node of a pool, besides the pool's own."""
    return {NODE_POOL: pool, "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}


def _once(entries: Iterable[tuple[Value, Path]]) -> Iterator[tuple[Value, Path]]:
    """Yield the entries. Raises DecodeError if two have the same name."""
    seen: dict[object, Path] = {}
    for entry, here in entries:
        name = entry.get("name")
        if isinstance(name, str) and seen.setdefault(name, here) != here:
            raise DecodeError((*here, "name"), f"{words(here)}: is named {name}, and so is {words(seen[name])}")
        yield entry, here


def _limits(entry: Value, here: Path) -> dict[str, int]:
    found = resources(entry, "limits", here)  # it takes a negative amount for none
    for name, amount in mapping(entry, "limits", here).items():
        if str(amount).startswith("-"):
            at = (*here, "limits", name)
            raise DecodeError(at, f"{words(at)}: expected 0 or more, found {amount}")
    return found


def _minimum(entry: Value, here: Path, most: int | None) -> int:
    least = integer(entry, "min", here) or 0
    if least < 0 or (most is not None and least > most):
        at = (*here, "min")
        bound = "0 or more" if most is None else f"0 to {most}, the most nodes it may have"
        raise DecodeError(at, f"{words(at)}: expected {bound}, found {least}")
    return least


def _together(before: int, minimum: int, here: Path) -> int:
    """Return the total of the minimums so far, with this pool's. Raises DecodeError if it is too large."""
    if before + minimum > MOST_SKETCHED:
        at = (*here, "min")
        raise DecodeError(at, f"{words(at)}: the minimums add up to more than {MOST_SKETCHED:,} nodes")
    return before + minimum


def _named(entry: Value, here: Path) -> str:
    name = text(entry, "name", here)
    if not name:
        raise DecodeError(here, f"{words(here)}: a pool needs a name")
    return name


def _zones(entry: Value, here: Path) -> tuple[str, ...] | None:
    return None if entry.get("zones") is None else tuple(dict.fromkeys(texts(entry, "zones", here)))


def _shapes(entry: Value, here: Path, maker: str) -> tuple[Shape, ...]:
    found = entry.get("shapes")
    if found is None:
        return () if maker in (KARPENTER, AUTOPILOT) else (Shape(NAMELESS),)
    here = (*here, "shapes")
    if not isinstance(found, list):
        raise wrong(here, "a list of machine types, each a name or {name, allocatable}", found)
    return tuple(_shape(item, (*here, i)) for i, item in enumerate(found))


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
