"""Which nodes to drain: those of a pool, those that a selector selects, or those with given names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.base.text import did_you_mean, first_few
from kubesched_lint.engine.cluster.nodes.elastic import pool_of
from kubesched_lint.engine.events.search.node_events import uncordoned
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node

_SET = re.compile(r"^\s*(\S+)\s+(in|notin)\s*\(([^()]*)\)\s*$")


def targets_of(nodes: Sequence[Node], pool: str, selected: str) -> tuple[str, ...]:
    """Return the names of the nodes to drain, in the order of ``nodes``; all without ``pool`` and ``selected``.

    ``selected`` is a label selector as kubectl writes it, or names of nodes. Raises ValueError if it selects none.
    """
    if not nodes:
        raise ValueError("the cluster has no nodes to drain")
    if pool and selected:
        raise ValueError("--pool and --nodes exclude each other")
    if pool:
        return _of_pool(nodes, pool)
    return _selected(nodes, selected) if selected else tuple(node.name for node in nodes)


def _of_pool(nodes: Sequence[Node], pool: str) -> tuple[str, ...]:
    matching = tuple(node.name for node in nodes if pool in (pool_of(node), node.group))
    if not matching:
        known = sorted({pool_of(node) for node in nodes} - {""})
        shown = f"nodes show {first_few(known)}" if known else "no node shows its pool; use --nodes"
        raise ValueError(f"no node of pool {pool!r}: {shown}{did_you_mean(pool, known)}")
    return matching


def _selected(nodes: Sequence[Node], text: str) -> tuple[str, ...]:
    names = {node.name for node in nodes}
    given = [part.strip() for part in text.split(",")]
    if names.issuperset(given):
        return tuple(node.name for node in nodes if node.name in given)
    selector = selector_of(text)
    matching = tuple(node.name for node in nodes if selector.matches(node.labels))
    if not matching:
        raise ValueError(f"--nodes {text!r} selects no node{did_you_mean(text, names)}")
    return matching


def selector_of(text: str) -> Selector:
    """Return a label selector from the text that kubectl takes: ``a=b,c!=d,e in (f,g),h,!i``.

    Raises ValueError for any other text.
    """
    return Selector(tuple(map(_requirement, re.split(r",(?![^(]*\))", text))))


def _requirement(text: str) -> Requirement:
    listed = _SET.match(text)
    if listed:
        values = tuple(value.strip() for value in listed[3].split(","))
        return Requirement(listed[1], "In" if listed[2] == "in" else "NotIn", values)
    for sign, operator in (("!=", "NotIn"), ("==", "In"), ("=", "In")):
        key, separator, value = (part.strip() for part in text.partition(sign))
        if separator and key:
            return Requirement(key, operator, (value,))
    key = text.strip()
    bare = key.removeprefix("!").strip()
    if not bare or re.search(r"[\s()=!]", bare):
        raise ValueError(f"{text!r} is no label selector: write zone=a, zone!=a, zone in (a,b), zone or !zone")
    return Requirement(bare, "DoesNotExist" if key.startswith("!") else "Exists")


def zone_by_zone(nodes: Sequence[Node], names: Sequence[str]) -> list[str]:
    """Return the names with neighbours in different zones: a wave of the first few takes little from each zone."""
    zones: dict[str, list[str]] = {}
    for node in nodes:
        if node.name in names:
            zones.setdefault(node.labels.get(ZONE, ""), []).append(node.name)
    return [name for _, name in sorted(_ranked(zones))]


def _ranked(zones: dict[str, list[str]]) -> Iterator[tuple[tuple[float, str], str]]:
    for zone, names in zones.items():
        for number, name in enumerate(names):
            yield ((number + 0.5) / len(names), zone), name


def replacement(node: Node) -> Node:
    """Return the node that an upgrade puts in a node's place: of its kind and zone, with another name."""
    name = f"{node.name}-new"
    labels = {**node.labels, HOSTNAME: name} if HOSTNAME in node.labels else node.labels
    return replace(uncordoned(node), name=name, labels=labels)
