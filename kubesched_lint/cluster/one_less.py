"""The index of a cluster that has lost one node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.cluster.nodeset import NodeSet, first, lowest


class OneLess(NodeIndex):
    """An index without one of the nodes of another, whose answers it narrows."""

    def __init__(self, whole: NodeIndex, position: int) -> None:
        super().__init__((*whole.nodes[:position], *whole.nodes[position + 1 :]), whole.device_resources)
        self._whole = whole
        self._gone = position

    def _narrowed(self, nodes: NodeSet) -> NodeSet:
        return nodes & first(self._gone) | nodes >> self._gone + 1 << self._gone

    def values(self, key: str) -> Sequence[str | None]:
        found = self._values.get(key)
        if found is None:
            before = self._whole.values(key)
            found = self._values[key] = [*before[: self._gone], *before[self._gone + 1 :]]
        return found

    def domains(self, key: str) -> Mapping[str, NodeSet]:
        found = self._domains.get(key)
        if found is None:
            gone, before = self._gone, self._whole.domains(key)
            found = {value: self._narrowed(nodes) for value, nodes in before.items()}
            value = self._whole.nodes[gone].labels.get(key)
            if value is not None and not found[value]:
                del found[value]
            elif value is not None and lowest(before[value]) == gone:  # domains are in the order of their first nodes
                found = dict(sorted(found.items(), key=lambda domain: lowest(domain[1])))
            self._domains[key] = found
        return found

    def with_key(self, key: str) -> NodeSet:
        return self._narrowed(self._whole.with_key(key))

    def one_node_each(self, key: str) -> bool:
        return self._whole.one_node_each(key) or super().one_node_each(key)

    def stated(self, resource: str) -> list[float]:
        found = self._stated.get(resource)
        if found is None:
            before = self._whole.stated(resource)
            found = self._stated[resource] = [*before[: self._gone], *before[self._gone + 1 :]]
        return found
