"""Write a cluster's pools into a sketch: known ones as they are, others as suggestions in comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubesched_lint.cluster.nodepools.shapes import INSTANCE_TYPE, shape_named
from kubesched_lint.cluster.nodepools.templates import NAMELESS
from kubesched_lint.cluster.nodepools.written import WRITTEN, karpenters_labels
from kubesched_lint.cluster.sketch import DEFAULT_PODS
from kubesched_lint.cluster.sketch_text import amount, flow, listing, mapping, scalar, taint
from kubesched_lint.model.decode.nodepools import zones_of
from kubesched_lint.model.labels import Labels, Requirement
from kubesched_lint.model.node import (
    CLUSTER_AUTOSCALER,
    HOSTNAME,
    KARPENTER,
    OS,
    PLACE_LIKE,
    REGION,
    ZONE,
    Node,
    NodePool,
    Shape,
)
from kubesched_lint.model.pod import Resources

# Label → the usual autoscaler of such a pool.
_MARKS = {
    "karpenter.sh/nodepool": KARPENTER,
    "eks.amazonaws.com/nodegroup": CLUSTER_AUTOSCALER,
    "cloud.google.com/gke-nodepool": CLUSTER_AUTOSCALER,
    "kubernetes.azure.com/agentpool": CLUSTER_AUTOSCALER,
}
_FILLED_IN = (HOSTNAME, ZONE, REGION, OS, INSTANCE_TYPE, *PLACE_LIKE)
_SUGGESTED = """\
# Labels tell of further pools. How far they may grow and whether they still do they do not tell: look at the limits,
# take the comment signs away, and the errors about nodes that were warnings become errors again.
"""


def pool_lines(pools: Sequence[NodePool], nodes: Sequence[Node], *, all_written: bool) -> Iterator[str]:
    """Yield the ``pools`` section of a sketch. ``all_written``: a user stated that there are no other pools."""
    known = {pool.name for pool in pools}
    marked = {} if all_written else {key: group for key, group in _marked(nodes).items() if key[1] not in known}
    if pools:
        if marked:
            yield "morePools: true  # there are pools that are not written here; take it away when all are"
        yield "pools:"
        for pool in pools:
            yield from _entry(pool)
    if marked:
        yield from _SUGGESTED.splitlines()
        if not pools:
            yield "# pools:"
        for (mark, name), group in marked.items():
            yield from (f"# {line}" for line in _suggestion(mark, name, group))


# --- as it is -------------------------------------------------------------------------------------------------------


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
        yield from listing("taints", [taint(found) for found in pool.taints])
    if pool.requirements:
        yield "  requirements:"
        yield from (f"  - {_requirement(found)}" for found in pool.requirements)
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


def _requirement(found: Requirement) -> str:
    pairs = [("key", scalar(found.key)), ("operator", found.operator)]
    if found.values:
        pairs.append(("values", f"[{', '.join(map(scalar, found.values))}]"))
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


def _amounts(found: Resources, *, drop_default: bool = False) -> str:
    default = ("pods", DEFAULT_PODS) if drop_default else None
    return flow((name, amount(name, value)) for name, value in found.items() if (name, value) != default)


# --- as a suggestion ------------------------------------------------------------------------------------------------


def _marked(nodes: Iterable[Node]) -> Mapping[tuple[str, str], list[Node]]:
    """Return (label key, pool name) → today's nodes, for each pool that labels reveal."""
    found: dict[tuple[str, str], list[Node]] = {}
    for node in nodes:
        mark = next((key for key in _MARKS if node.labels.get(key)), None)
        if mark is not None and node.elastic:
            found.setdefault((mark, node.labels[mark]), []).append(node)
    return found


def _suggestion(mark: str, name: str, nodes: Sequence[Node]) -> Iterator[str]:
    zones = tuple(sorted({node.labels[ZONE] for node in nodes if ZONE in node.labels}))
    common = dict(nodes[0].labels.items())
    for node in nodes[1:]:
        common = {key: value for key, value in common.items() if node.labels.get(key) == value}
    yield from _entry(
        NodePool(
            name=name,
            maker=_MARKS[mark],
            zones=zones or None,
            labels={key: value for key, value in sorted(common.items()) if _is_told(key, mark)},
            taints=tuple(t for t in nodes[0].taints if all(t in node.taints for node in nodes)),
            shapes=tuple(_shapes_of_today(nodes)),
            limits={"nodes": len(nodes)},
        )
    )


def _is_told(key: str, mark: str) -> bool:
    """Return whether the pool itself sets the label, not the kubelet, the cloud or Karpenter."""
    if key in _FILLED_IN or (_MARKS[mark] == KARPENTER and key in karpenters_labels("")):
        return False
    return key == mark or not key.startswith(("beta.kubernetes.io/", "failure-domain.beta.", "karpenter.k8s.aws/"))


def _shapes_of_today(nodes: Sequence[Node]) -> Iterator[Shape]:
    """Yield one shape per machine type, with the smallest amounts that any of its nodes offers."""
    least: dict[str, dict[str, int] | None] = {}
    for node in nodes:
        kind = node.labels.get(INSTANCE_TYPE, "node")
        now = None if node.allocatable is None else {k: v for k, v in node.allocatable.items() if v}
        before = least.get(kind, now)
        least[kind] = now if before is None or now is None else {k: min(v, now.get(k, 0)) for k, v in before.items()}
    labels: Labels
    for kind, allocatable in least.items():
        labels = {} if kind == "node" else {INSTANCE_TYPE: kind}
        yield Shape(kind, allocatable, labels=labels)
