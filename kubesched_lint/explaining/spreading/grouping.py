"""The topology key by which a picture of a cluster groups its nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE
from kubesched_lint.engine.model.pod import Pod


def grouping_key(pods: Iterable[Pod], index: NodeIndex) -> str:
    """Return the key that most pods use in hard terms, else in soft ones, else the zone's; the zone's if as many do.

    A key that no node has, and one with a domain for each node, group nothing.
    """
    hard, soft = Counter[str](), Counter[str]()
    for pod in pods:
        hard.update(set(_hard(pod)))
        soft.update(set(_soft(pod)))
    for counts in (hard, soft):
        groups = {key: count for key, count in counts.items() if _groups(key, index)}
        if groups:
            return max(groups, key=lambda key: (groups[key], key == ZONE))
    return ZONE


def _hard(pod: Pod) -> Iterator[str]:
    yield from (c.topology_key for c in pod.spread if c.is_hard)
    yield from (t.topology_key for t in (*pod.required_affinity, *pod.required_anti_affinity))


def _soft(pod: Pod) -> Iterator[str]:
    yield from (c.topology_key for c in pod.spread if not c.is_hard)
    yield from (w.term.topology_key for w in (*pod.preferred_affinity, *pod.preferred_anti_affinity))


def _groups(key: str, index: NodeIndex) -> bool:
    return key == ZONE or (key != HOSTNAME and bool(index.with_key(key)) and not index.one_node_each(key))
