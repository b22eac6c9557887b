"""Templates: the nodes that a pool can make, one per pool, zone, shape and choice of labels.

Karpenter labels a node with a value of each requirement of its pool, the one that the pods ask for (``Requirements``
and ``Labels`` of kubernetes-sigs/karpenter, ``pkg/scheduling``). So the possible nodes depend on the demand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import islice, product
from typing import ClassVar

from msgspec.structs import replace

from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.base.partly_compared import PartlyCompared
from kubesched_lint.engine.cluster.limits import MOST_KINDS
from kubesched_lint.engine.cluster.nodepools.label_demand import LabelDemand
from kubesched_lint.engine.cluster.nodepools.unknown import OTHER, other_types, unlisted_type, with_devices
from kubesched_lint.engine.cluster.nodes.elastic import NODE_POOL
from kubesched_lint.engine.cluster.nodes.shapes import ARCH, INSTANCE_TYPE, cloud_of, shape_named, shapes_of
from kubesched_lint.engine.model.labels import Labels, Requirement, go_int
from kubesched_lint.engine.model.nodes.node import (
    AUTOPILOT,
    CLUSTER_AUTOSCALER,
    HOSTNAME,
    KARPENTER,
    OS,
    REGION,
    ZONE,
    Node,
    NodeOverlay,
    NodePool,
    Shape,
    Taint,
    with_kept_labels,
    with_place_names,
)
from kubesched_lint.engine.model.pod import Resources

_FAMILY = "karpenter.k8s.aws/instance-family"
# Keys that Karpenter accepts on every pool; the first value is for pods that ask for none.
_WELL_KNOWN = {"karpenter.sh/capacity-type": ("on-demand", "spot")}
# Keys by which a nodeSelector alone requests other machines from Autopilot than those for general purposes.
_AUTOPILOT_MACHINES = (
    "cloud.google.com/compute-class",
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/machine-family",
    ARCH,
)
_GOOGLES_ARCHITECTURES = ("amd64", "arm64")
_AUTOPILOT_KEYS = (*_AUTOPILOT_MACHINES, "cloud.google.com/gke-spot")
_AUTOPILOT_SIZES = tuple(f"e2-standard-{n}" for n in (2, 4, 8, 16, 32))
_CLOUDS = (
    "karpenter.k8s.",
    "karpenter.azure.com/",
    "topology.k8s.aws/",
    "eks.amazonaws.com/",
    "cloud.google.com/",
    "kubernetes.azure.com/",
    "node.kubernetes.io/windows-build",
)
NAMELESS = "node"
"""The name of a shape whose machine type is not known."""
_RESERVED = "reserved"
DISK = "ephemeral-storage"
_ANY_DISK = 64 << 40


class NodeTemplate(PartlyCompared, frozen=True):
    """Nodes that a pool can make. The shape's ``allocatable`` is without DaemonSets."""

    uncompared: ClassVar[tuple[str, ...]] = ("chosen",)

    pool: NodePool
    zone: str | None
    shape: Shape
    labels: Labels
    taints: tuple[Taint, ...] = ()

    def node(self, number: int, allocatable: Resources | None) -> Node:
        """Return the ``number``-th node of this kind."""
        return self.named(f"{self.stem}-{number}", allocatable)

    def named(self, name: str, allocatable: Resources | None) -> Node:
        """Return a node of this kind."""
        any_value = {r.key: name for r in self.pool.requirements if r.operator == "Exists"}
        return Node(
            name=name,
            labels=with_kept_labels(with_place_names({HOSTNAME: name, **any_value, **self.labels})),
            taints=self.taints,
            allocatable=allocatable,
            elastic=True,
            devices=self.pool.devices,
        )

    @property
    def stem(self) -> str:
        """The names of its nodes, up to the number."""
        return "-".join(filter(None, (self.pool.name, self.zone, _slug(self.shape.name), self._choice)))

    @property
    def offered(self) -> Resources | None:
        """What its nodes offer, for an unknown type at most.

        Node classes define disks, so if no disk is written any request fits.
        """
        return _with_disk(self.shape.allocatable or self.shape.most)

    @property
    def bound(self) -> Resources | None:
        """The upper bound for every node of the kind."""
        return _with_disk(self.shape.most or self.shape.allocatable)

    @property
    def _choice(self) -> str:
        """The part of the name that separates templates whose chosen labels differ."""
        return "-".join(_slug(self.labels[key]) for key in self.chosen if key in self.labels)

    chosen: tuple[str, ...] = ()
    """Keys for which the pool could set one of several values."""

    def __str__(self) -> str:
        where = f" in {self.zone}" if self.zone else ""
        return f"{self.shape.name}{where} (pool {self.pool.name})"


def _with_disk(resources: Resources | None) -> Resources | None:
    return resources if resources is None or DISK in resources else {**resources, DISK: _ANY_DISK}


def templates(
    pool: NodePool, demand: LabelDemand, seen_zones: Sequence[str], most: int = MOST_KINDS
) -> Iterator[NodeTemplate]:
    """Yield every kind of node that the pool can make and that some pod could distinguish from the others.

    ``seen_zones``, with the zones that pods ask for, replace the zones of a pool that lists none. If there are more
    than ``most``, machine types are left out that another exceeds.
    """
    zones = _zones(pool, demand, seen_zones)
    values_of = cache(partial(_values, pool, demand))
    made = [with_devices(shape, demand.devices) for shape in shapes(pool)]
    choices = max((sum(1 for _ in _choices(pool, shape, demand, values_of)) for shape in made[-1:]), default=1)
    made = _worth_making(made, demand, most // max(1, len(zones) * choices))
    choices_of = cache(lambda at: tuple(_choices(pool, made[at], demand, values_of)))
    for zone in zones:
        place = _place(pool, zone)
        for at, shape in enumerate(made):
            for labels, taints, chosen in choices_of(at):
                yield NodeTemplate(pool, zone, shape, {**labels, **place}, taints, chosen)


def _worth_making(made: list[Shape], demand: LabelDemand, most: int) -> list[Shape]:
    """Return the shapes; from more than ``most``, the largest of those that pods cannot distinguish, and some others.

    Whether a pod finds room depends only on the largest; which machine a plan names depends on the others as well.
    """
    if len(made) <= most:
        return made
    alike: dict[tuple[str | None, ...], list[Shape]] = {}
    for shape in sorted(made, key=_bulk, reverse=True):
        kept = alike.setdefault(tuple(shape.labels.get(key) for key in demand.asked), [])
        if not any(_outdoes(other, shape) for other in kept):
            kept.append(shape)
    largest = {Itself(shape) for group in alike.values() for shape in group}
    step = -(-len(made) // max(1, most - len(largest)))
    return [shape for number, shape in enumerate(made) if Itself(shape) in largest or number % step == 0]


def _bulk(shape: Shape) -> tuple[bool, int, int]:
    most = shape.most or shape.allocatable
    return (True, 0, 0) if most is None else (False, most.get("cpu", 0), most.get("memory", 0))


def _outdoes(shape: Shape, other: Shape) -> bool:
    """Return whether a shape offers at least as much of everything, so far as known."""
    more, less = shape.most or shape.allocatable, other.most or other.allocatable
    return more is None or (less is not None and all(more.get(name, 0) >= n for name, n in less.items()))


def overlaid(template: NodeTemplate, overlays: Iterable[NodeOverlay]) -> NodeTemplate:
    """Return the template with the extended resources of the overlays that may apply to it.

    A label that the template leaves open meets every requirement. ``pkg/apis/v1alpha1/nodeoverlay.go`` of
    kubernetes-sigs/karpenter: an overlay adds extended resources and replaces no other.
    """
    labels = {ZONE: template.zone or "", **template.labels}
    capacity: dict[str, int] = {}
    for overlay in overlays:
        if all(r.matches(labels) for r in overlay.requirements if r.key in labels):
            capacity |= {name: max(amount, capacity.get(name, 0)) for name, amount in overlay.capacity.items()}
    if not capacity:
        return template
    shape = template.shape
    allocatable, most = (size and {**capacity, **size} for size in (shape.allocatable, shape.most))
    return replace(template, shape=replace(shape, allocatable=allocatable, most=most))


def is_open(pool: NodePool) -> bool:
    """Return whether the pool may use machine types that are unknown here."""
    return any(shape.allocatable is None for shape in shapes(pool))


def shapes(pool: NodePool) -> tuple[Shape, ...]:
    """Return the machine types that a pool may use; one of unknown resources represents all unknown types."""
    if pool.shapes:
        return tuple(s for s in pool.shapes if _meets(s, pool.requirements))
    if pool.maker == AUTOPILOT:
        known = shapes_of("gcp")
        return (*(known[name] for name in _AUTOPILOT_SIZES), other_types("gcp", pool.requirements))
    return _required(pool.cloud, pool.requirements)


@lru_cache(maxsize=256)
def _required(cloud: str, requirements: tuple[Requirement, ...]) -> tuple[Shape, ...]:
    """Return the machine types of a cloud that meet requirements: many pools share theirs, and ask several times."""
    listed = _listed(requirements, INSTANCE_TYPE)
    if listed:
        named = (shape_named(name) or unlisted_type(name, cloud) for name in listed)
        return tuple(s for s in named if _meets(s, requirements))
    known = shapes_of(cloud or cloud_of(()))
    matching = tuple(s for s in known.values() if _meets(s, requirements))
    families = {s.labels.get(_FAMILY) for s in known.values()}
    wanted = _listed(requirements, _FAMILY)
    return (
        matching if matching and wanted and set(wanted) <= families else (*matching, other_types(cloud, requirements))
    )


def _listed(requirements: Iterable[Requirement], key: str) -> tuple[str, ...]:
    return next((r.values for r in requirements if r.key == key and r.operator == "In"), ())


def _meets(shape: Shape, requirements: Iterable[Requirement]) -> bool:
    """Return whether the shape's known labels meet the requirements; unknown labels pass."""
    return all(r.matches(shape.labels) for r in requirements if r.key in shape.labels)


def _zones(pool: NodePool, demand: LabelDemand, seen: Sequence[str]) -> tuple[str | None, ...]:
    if pool.zones is not None:
        return pool.zones
    wanted = [r for r in pool.requirements if r.key == ZONE]
    zone_names = dict.fromkeys((*seen, *demand.values(ZONE)))
    return tuple(z for z in zone_names if all(r.matches({ZONE: z}) for r in wanted)) or (None,)


def _place(pool: NodePool, zone: str | None) -> Labels:
    if not zone or pool.inferred:  # nodes show the region of a group, if they show any
        return {ZONE: zone} if zone else {}
    region = region_of(zone)
    allowed = all(r.matches({REGION: region}) for r in pool.requirements if r.key == REGION)
    return {ZONE: zone, REGION: region} if region and allowed and REGION not in pool.labels else {ZONE: zone}


def region_of(zone: str) -> str:
    """Return ``eu-west-1`` for ``eu-west-1a`` and ``europe-west1`` for ``europe-west1-b``; empty for other forms."""
    stem = zone[:-1]
    if zone[-1:].isalpha() and stem[-1:].isdigit() and "-" in stem:
        return stem
    return stem[:-1] if stem.endswith("-") and stem[:-1] else ""


def _choices(
    pool: NodePool, shape: Shape, demand: LabelDemand, values_of: Callable[[str], tuple[str | None, ...]]
) -> Iterator[tuple[Labels, tuple[Taint, ...], tuple[str, ...]]]:
    """Yield labels, taints and chosen keys for each choice among the values that the pool leaves open.

    ``values_of`` returns ``_values`` of a key, which are the same for each shape.
    """
    fixed = {} if shape.name in (OTHER, NAMELESS) else {INSTANCE_TYPE: shape.name}
    if not any(r.key == OS for r in pool.requirements):
        fixed[OS] = "linux"
    fixed.update({**shape.labels, **pool.labels})
    keys = dict.fromkeys(r.key for r in pool.requirements if r.key not in fixed and r.key != ZONE)
    if pool.maker == KARPENTER:
        keys |= dict.fromkeys(key for key in _WELL_KNOWN if key not in fixed)
        if ARCH not in fixed:
            keys[ARCH] = None
        if shape.name == OTHER:
            keys[INSTANCE_TYPE] = None
    values = {key: values_of(key) for key in keys}
    # a cloud sets more labels than our table has; a label that pods ask for may be one of them
    if pool.maker == KARPENTER:
        unlisted = (key for key in demand.asked if key not in fixed and key not in values and key.startswith(_CLOUDS))
        values |= {key: (None, *demand.values(key)) for key in unlisted}
    if pool.inferred and demand.values(HOSTNAME):  # a group names a further node as it likes
        values[HOSTNAME] = (None, *demand.values(HOSTNAME))
    if pool.separates:
        values |= {key: (None, *choices) for key, choices in _asked_of_autopilot(demand) if key not in fixed}
    chosen = tuple(key for key, choices in values.items() if len(choices) > 1)
    for choice in islice(product(*values.values()), MOST_KINDS + 96):
        labels = fixed | {key: value for key, value in zip(values, choice, strict=True) if value is not None}
        if pool.separates and shape.name == OTHER and not any(key in labels for key in _AUTOPILOT_MACHINES):
            continue
        if all(r.matches(labels) for r in pool.requirements if r.key not in (ZONE, HOSTNAME) and r.key in labels):
            yield labels, pool.taints, chosen
            for apart in demand.separations if pool.separates else ():
                taints = tuple(Taint(key, value) for key, value in apart.items())
                yield {**labels, **apart}, (*pool.taints, *taints), (*chosen, *apart)


def _asked_of_autopilot(demand: LabelDemand) -> Iterator[tuple[str, Sequence[str]]]:
    for key in _AUTOPILOT_KEYS:
        values = [value for value in demand.values(key) if key != ARCH or value in _GOOGLES_ARCHITECTURES]
        if values:
            yield key, values


def _values(pool: NodePool, demand: LabelDemand, key: str) -> tuple[str | None, ...]:
    """Return the values of a key that make a difference to some pod; None means no label."""
    wanted = [r for r in pool.requirements if r.key == key]
    listed = _listed(wanted, key) or _WELL_KNOWN.get(key, ())
    if key in _WELL_KNOWN and _RESERVED in demand.values(key):  # where the account has a capacity reservation
        listed = (*listed, _RESERVED)
    if any(r.operator == "DoesNotExist" for r in wanted):
        return (None,)
    every: tuple[str | None, ...] = listed or (*_generic(wanted), *demand.values(key))
    allowed = tuple(dict.fromkeys(v for v in every if v is None or all(r.matches({key: v}) for r in wanted)))
    if not demand.mentions(key):
        return allowed[:1]
    return allowed


def _generic(wanted: Sequence[Requirement]) -> Iterator[str | None]:
    """Yield a value within the bounds that no pod asked for, as Karpenter picks one; None if each node has its own."""
    for r in wanted:
        bound = go_int(r.values[0]) if r.operator in ("Gt", "Lt") and r.values else None
        if bound is not None:
            yield str(bound + (1 if r.operator == "Gt" else -1))
    if not any(r.operator in ("Gt", "Lt") for r in wanted):
        yield None if any(r.operator == "Exists" for r in wanted) else "any"


def fits_limits(template: NodeTemplate, left: Mapping[str, int]) -> int | None:
    """Return how many more nodes of this kind the pool's limits allow; None if nothing limits them.

    Karpenter compares capacity; if it is unknown, allocatable is used.
    """
    size = template.shape.capacity or template.shape.allocatable or {}
    counts = [left["nodes"]] if "nodes" in left else []
    counts += [amount // size[name] for name, amount in left.items() if size.get(name)]
    return max(0, min(counts)) if counts else None


def first_allowed(templates: Iterable[NodeTemplate], left: Mapping[str, int]) -> NodeTemplate | None:
    """Return the first kind of node of which the pool's limits still allow one."""
    return next((template for template in templates if fits_limits(template, left) != 0), None)


def take(template: NodeTemplate, left: dict[str, int]) -> None:
    """Subtract one more node from the remaining limits."""
    size = template.shape.capacity or template.shape.allocatable or {}
    for name in left:
        left[name] -= 1 if name == "nodes" else size.get(name, 0)


def limits_left(pool: NodePool, nodes: Iterable[Node]) -> Mapping[str, int]:
    """Return a pool's limits minus the cluster's nodes that belong to it, which are at least its minimum."""
    left = dict(pool.limits)
    own = [node for node in nodes if left and _is_of(node, pool)]
    for node in own:
        for name in left:
            left[name] -= 1 if name == "nodes" else (node.allocatable or {}).get(name, 0)
    if "nodes" in left:
        left["nodes"] -= max(0, pool.minimum - len(own))
    return left


def _is_of(node: Node, pool: NodePool) -> bool:
    """Return whether the node belongs to the pool: by Karpenter's pool label, else by the pool's labels and zones.

    A pool of a sketch that names no autoscaler owns nodes by that label, too.
    """
    if node.labels.get(NODE_POOL) == pool.name and pool.maker not in (CLUSTER_AUTOSCALER, AUTOPILOT):
        return True
    named = node.labels.get(NODE_POOL) if pool.maker == KARPENTER else None
    if named is not None or (pool.maker == KARPENTER and not pool.path):  # no path: it is an object of the cluster
        return named == pool.name
    own = {key: value for key, value in pool.labels.items() if not key.startswith("karpenter.sh/")}
    in_zones = pool.zones is None or node.labels.get(ZONE) in pool.zones
    return bool(own) and own.items() <= node.labels.items() and in_zones


def is_of_cloud(key: str) -> bool:
    """Return whether a cloud or Karpenter sets a label with this key, on more nodes than these."""
    return key in _WELL_KNOWN or key.startswith(_CLOUDS)


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in ".-" else "-" for c in name.lower()).strip("-.")
