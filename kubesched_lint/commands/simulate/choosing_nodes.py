"""Choose nodes by ``node/NAME`` or by labels, and copy them: the nodes that a hypothesis names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.base.text import did_you_mean, first_few
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.events.search.hypotheses import Names, Newcomer
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Labels
from kubesched_lint.engine.model.nodes.node import HOSTNAME, REGION, ZONE, Node, names_place

FORMS = "node/NAME, KEY=VALUE or KEY=VALUE,KEY=VALUE"
_SHORT = {"zone": ZONE, "region": REGION, "hostname": HOSTNAME}
"""Short names of topology keys, used if no node has a label of that name."""
_SLACK = 100
"""Nodes of one machine type differ in memory by less than one part in so many."""


def chosen(text: str, index: NodeIndex) -> Names:
    """Return the names of the nodes that ``text`` chooses, at least one. Raises ValueError."""
    kind, slash, name = text.partition("/")
    if slash and kind in ("node", "nodes"):
        if name not in index.positions:
            raise ValueError(f"no node is named {name!r}{_instead(name, index.names)}")
        return frozenset([name])
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(key and equals for key, equals, _ in pairs):
        raise ValueError(f"{text!r} chooses no nodes: write {FORMS}")
    wanted = {label_key(key, index): value for key, _, value in pairs}
    for key, value in wanted.items():
        if value not in index.domains(key):
            raise ValueError(f"no node has the label {key}={value}{_instead(value, sorted(index.domains(key)))}")
    names = [n.name for n in index.nodes if all(n.labels.get(key) == value for key, value in wanted.items())]
    if not names:
        raise ValueError(f"no node has all of the labels {text}")
    return frozenset(names)


def _instead(wrong: str, known: Sequence[str]) -> str:
    return did_you_mean(wrong, known) or f"; there is {first_few(known)}"


def label_key(key: str, index: NodeIndex) -> str:
    """Return the key of a label that some node has, for its short name, too. Raises ValueError."""
    for known in (key, _SHORT.get(key, "")):
        if known and index.with_key(known):
            return known
    keys = dict.fromkeys(known for node in index.nodes for known in node.labels)
    raise ValueError(f"no node has a label {key!r}{did_you_mean(key, [*keys, *_SHORT])}")


def copies(text: str, count: int, index: NodeIndex, objects: Inventory) -> tuple[Newcomer, ...]:
    """Return ``count`` new nodes like those of a node group, or like those that ``text`` chooses. Raises ValueError."""
    group = [node.name for node in index.nodes if text in (node.group, node.group.partition("=")[2])] if text else []
    names = sorted(group or chosen(text, index), key=index.positions.__getitem__)
    nodes = [index.nodes[index.positions[name]] for name in names]
    kinds: list[Node] = []
    for node in nodes:
        if not any(_is_alike(node, other, index) for other in kinds):
            kinds.append(node)
    if len(kinds) > 1:
        each = first_few([f"node/{node.name}" for node in kinds])
        raise ValueError(f"the nodes of {text} are of {len(kinds)} kinds; name a node to copy: {each}")
    model = min(nodes, key=lambda node: (node.allocatable or {}).get("memory", 0))
    return tuple(_copy(model, number, index, objects) for number in range(1, count + 1))


def _is_alike(node: Node, other: Node, index: NodeIndex) -> bool:
    if _labels(node, index) != _labels(other, index) or set(node.taints) != set(other.taints):
        return False
    if node.allocatable is None or other.allocatable is None:
        return node.allocatable is other.allocatable
    amounts = {**node.allocatable}
    least, most = sorted((amounts.pop("memory", 0), other.allocatable.get("memory", 0)))
    same = amounts == {name: amount for name, amount in other.allocatable.items() if name != "memory"}
    return same and most - least <= most // _SLACK and node.devices == other.devices


def _labels(node: Node, index: NodeIndex) -> Labels:
    """Return the labels that another node like it has: not its name, nor what only tells machines apart."""
    own = (node.name, node.labels.get(HOSTNAME))
    return {
        key: value
        for key, value in node.labels.items()
        if value not in own and (names_place(key) or not _is_of_one_node(key, index))
    }


def _is_of_one_node(key: str, index: NodeIndex) -> bool:
    return index.one_node_each(key) and len(index.domains(key)) > 1


def _copy(model: Node, number: int, index: NodeIndex, objects: Inventory) -> Newcomer:
    name = next(name for name in _names(model.name, number) if name not in index.positions)
    labels = {**_labels(model, index), **({HOSTNAME: name} if HOSTNAME in model.labels else {})}
    node = replace(model, name=name, labels=labels, images={})
    pods = (b for b in objects.pods if b.node == model.name and b.owner is not None and b.owner.kind == "DaemonSet")
    daemons = tuple(replace(bound, name=f"{bound.name}-{name}", node=name) for bound in pods)
    drivers = tuple(replace(csi_node, name=name) for csi_node in objects.csi_nodes if csi_node.name == model.name)
    return Newcomer(node, model.name, daemons, drivers)


def _names(name: str, number: int) -> Iterator[str]:
    yield f"{name}-new-{number}"
    while True:
        number += 1_000
        yield f"{name}-new-{number}"
