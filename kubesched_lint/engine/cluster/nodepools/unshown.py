"""What the status of cluster-autoscaler shows of node groups: those without a node, and those that no label names."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from msgspec.structs import replace

from kubesched_lint.engine.cluster.nodes.elastic import NODE_POOL, is_never_added
from kubesched_lint.engine.cluster.nodes.transient import without_transient_state
from kubesched_lint.engine.model.nodes.node import HOSTNAME, Node, names_place

_LIKENESS = "likeness"
"""The key of a group that no label names."""
_HIDDEN = (f"{NODE_POOL}=", f"{_LIKENESS}=")
"""Groups that no label of cluster-autoscaler's shows: those of Karpenter, and of nodes that look alike."""
_WORD = r"[^\W_]+"


def unseen_groups(sizes: Mapping[str, int], declared: Iterable[str]) -> tuple[str, ...]:
    """Return the node groups without a node that no declared name belongs to, sorted; a name stands for one group.

    A cloud puts the name of a group into that of its Auto Scaling group or scale set: ``gpu`` in ``eks-gpu-2cc6f0a1``.
    If a group has nodes, those of the same name in other zones are known with it.
    """
    seen = {_base(name) for name, size in sizes.items() if size}
    empty = sorted((name for name in sizes if _base(name) not in seen), key=lambda name: (len(name), name))
    names = list(map(_from_first_word, declared))
    bases_of_names = {name: iter(bases) for name, bases in _containing(map(_base, empty), names).items()}
    taken: set[str] = set()
    for name in names:
        taken.update(islice((base for base in bases_of_names[name] if base not in taken), 1))
    return tuple(sorted(name for name in empty if _base(name) not in taken))


def has_unshown(sizes: Mapping[str, int], nodes: Iterable[Node]) -> bool:
    """Return whether the status counts nodes whose group no label shows: by number, or by the name of a group."""
    shown = [node.group.partition("=")[2] for node in nodes if node.group and not node.group.startswith(_HIDDEN)]
    if sum(sizes.values()) > len(shown):
        return True
    counted = {_base(name) for name, size in sizes.items() if size}
    return not counted.issubset(chain(*_containing(counted, map(_from_first_word, shown)).values()))


def _containing(bases: Iterable[str], names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Return each name → the base names in which it is a whole word or several, in order; linear in the base names."""
    bases_of_names: dict[str, list[str]] = {name: [] for name in names}
    counts = {len(re.findall(_WORD, name)) for name in bases_of_names} - {0}
    for base in dict.fromkeys(bases):
        text = base.lower()
        words = [word.span() for word in re.finditer(_WORD, text)]
        runs = (text[words[i][0] : words[i + n - 1][1]] for n in counts for i in range(len(words) - n + 1))
        for name in {run for run in runs if run in bases_of_names}:
            bases_of_names[name].append(base)
    return bases_of_names


def _from_first_word(name: str) -> str:
    """Return the name in small letters, from its first word to its last; empty if it has none."""
    words = [word.span() for word in re.finditer(_WORD, name.lower())]
    return name.lower()[words[0][0] : words[-1][1]] if words else ""


def grouped_by_likeness(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield the nodes; each one that shows no group is of the group of its like."""
    first: dict[Hashable, str] = {}
    for node in nodes:
        if node.elastic or is_never_added(node.labels):
            yield node
        else:
            like = first.setdefault(_looks(node), node.name)
            yield replace(node, elastic=True, group=f"{_LIKENESS}=like {like}")


def _looks(node: Node) -> Hashable:
    """Return what a further node has as well: labels that name neither the node nor its place, and lasting taints."""
    own = {node.name, node.name.partition(".")[0], node.labels.get(HOSTNAME)}
    labels = {(key, value) for key, value in node.labels.items() if value not in own and not names_place(key)}
    return frozenset(labels), frozenset(without_transient_state(node).taints)


def _base(name: str) -> str:
    """Return the last part: Google Cloud writes addresses with a zone, Cluster API kind and namespace."""
    return name.rpartition("/")[2]
