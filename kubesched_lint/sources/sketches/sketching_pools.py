"""Write a cluster's pools into a sketch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubesched_lint.engine.cluster.nodepools.templates import NAMELESS
from kubesched_lint.engine.cluster.nodes.elastic import is_of_known, known_groups
from kubesched_lint.engine.cluster.nodes.shapes import INSTANCE_TYPE, shape_named
from kubesched_lint.engine.model.decode.nodepools import zones_of
from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.nodes.node import (
    KARPENTER,
    Node,
    NodePool,
    Shape,
)
from kubesched_lint.engine.model.pod import Resources
from kubesched_lint.sources.sketches.pools import WRITTEN, karpenters_labels
from kubesched_lint.sources.sketches.sketch import DEFAULT_PODS
from kubesched_lint.sources.sketches.text import amount, flow, listing, mapping, scalar, taint


def pool_lines(pools: Sequence[NodePool], nodes: Iterable[Node], *, all_written: bool) -> Iterator[str]:
    """Yield the ``pools`` section of a sketch. ``all_written``: a user stated that there are no other pools."""
    if not pools:
        return
    known = known_groups(pools)
    if not all_written and any(node.group and not is_of_known(node, known) for node in nodes):
        yield "morePools: true  # there are pools that are not written here; take it away when all are"
    yield "pools:"
    for pool in pools:
        yield from _entry(pool)


def _entry(pool: NodePool) -> Iterator[str]:
    yield f"- name: {scalar(pool.name)}"
    if pool.maker != WRITTEN:
        yield f"  autoscaler: {pool.maker}"
    if pool.cloud:
        yield f"  cloud: {pool.cloud}"
    if pool.zones is not None and pool.zones != zones_of(pool.requirements):
        yield from listing("zones", [scalar(zone) for zone in pool.zones])
    yield from _body(pool)


def _body(pool: NodePool) -> Iterator[str]:
    filled = karpenters_labels(pool.name) if pool.maker == KARPENTER else {}
    own = {key: value for key, value in pool.labels.items() if filled.get(key) != value}
    if own:
        yield from mapping("labels", [(key, scalar(value)) for key, value in own.items()])
    if pool.taints:
        yield from listing("taints", [taint(written_taint) for written_taint in pool.taints])
    if pool.requirements:
        yield "  requirements:"
        yield from (f"  - {_requirement(requirement)}" for requirement in pool.requirements)
    if pool.shapes and pool.shapes != (Shape(NAMELESS),):
        shapes = [_shape(shape) for shape in pool.shapes]
        if any("{" in shape for shape in shapes):
            yield "  shapes:"
            yield from (f"  - {shape}" for shape in shapes)
        else:
            yield from listing("shapes", shapes)
    if pool.minimum:
        yield f"  min: {pool.minimum}"
    if pool.limits:
        yield from mapping("limits", [(name, amount(name, most)) for name, most in pool.limits.items()])
    if pool.weight:
        yield f"  weight: {pool.weight}"
    if pool.expires_after:
        yield f"  expireAfter: {scalar(pool.expires_after)}"
    if pool.drain_limit:
        yield f"  terminationGracePeriod: {scalar(pool.drain_limit)}"


def _requirement(requirement: Requirement) -> str:
    pairs = [("key", scalar(requirement.key)), ("operator", requirement.operator)]
    if requirement.values:
        pairs.append(("values", f"[{', '.join(map(scalar, requirement.values))}]"))
    return flow(pairs)


def _shape(shape: Shape) -> str:
    """Return the shape's name if the table (or the name alone) implies the rest; else all its fields."""
    usual = shape_named(shape.name) or Shape(shape.name, labels={INSTANCE_TYPE: shape.name})
    if shape == usual:
        return scalar(shape.name)
    pairs = [("name", scalar(shape.name))]
    if shape.allocatable is not None and shape.allocatable != usual.allocatable:
        pairs.append(("allocatable", _amounts(shape.allocatable, drop_default=True)))
    if shape.capacity is not None and shape.capacity != usual.capacity:
        pairs.append(("capacity", _amounts(shape.capacity)))
    more = [(key, scalar(value)) for key, value in shape.labels.items() if usual.labels.get(key) != value]
    if more:
        pairs.append(("labels", flow(more)))
    return flow(pairs) if len(pairs) > 1 else scalar(shape.name)


def _amounts(amounts: Resources, *, drop_default: bool = False) -> str:
    default = ("pods", DEFAULT_PODS) if drop_default else None
    return flow((name, amount(name, value)) for name, value in amounts.items() if (name, value) != default)
