"""The node groups that cluster-autoscaler names in its status: the ConfigMap ``cluster-autoscaler-status``.

Mirrors ``clusterstate/api/types.go`` and ``clusterstate/utils/status.go`` of kubernetes/autoscaler: YAML since 1.30,
lines of text before.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from msgspec.structs import replace

from kubesched_lint.cluster.elastic import NODE_POOL, is_never_added
from kubesched_lint.cluster.transient import without_transient_state
from kubesched_lint.limits import LARGEST_SETTINGS
from kubesched_lint.model.decode.fields import Value
from kubesched_lint.model.node import HOSTNAME, Node, names_place

NAMESPACE, NAME = "kube-system", "cluster-autoscaler-status"
_LIKENESS = "likeness"
"""The key of a group that no label names."""
_HIDDEN = (f"{NODE_POOL}=", f"{_LIKENESS}=")
"""Groups that no label of cluster-autoscaler's shows: those of Karpenter, and of nodes that look alike."""
_IN_TEXT = r"(?m)^ *Name: +(\S+)\n *Health:.*?\bregistered=(\d+)"
_WORD = r"[^\W_]+"


def is_status(value: Value) -> bool:
    """Return whether an object is the status of cluster-autoscaler."""
    meta = value.get("metadata")
    return value.get("kind") == "ConfigMap" and isinstance(meta, dict) and meta.get("name") == NAME


def group_sizes(value: Value) -> Mapping[str, int]:
    """Return the cloud's name of each node group → its registered nodes; empty if the status cannot be read."""
    data = value.get("data")
    text = data.get("status") if isinstance(data, dict) else None
    if not isinstance(text, str) or len(text) > LARGEST_SETTINGS:
        return {}
    return dict(_in_text(text) if "\nNodeGroups:" in text else _in_yaml(text))


def _in_text(text: str) -> Iterator[tuple[str, int]]:
    for name, registered in re.findall(_IN_TEXT, text.partition("\nNodeGroups:")[2]):
        yield name, int(registered[:9])


def _in_yaml(text: str) -> Iterator[tuple[str, int]]:
    from kubesched_lint.manifests.full_reader import BuildError, build

    try:
        status = build(text)  # whoever writes the ConfigMap is a stranger: depth and merge keys are bounded
    except BuildError:
        return
    groups = status.get("nodeGroups") if isinstance(status, dict) else None
    for group in groups if isinstance(groups, list) else ():
        name = group.get("name") if isinstance(group, dict) else None
        registered = _deep(group, "health", "nodeCounts", "registered", "total")
        if isinstance(name, str):
            yield name, registered if isinstance(registered, int) else 0


def _deep(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def unseen_groups(sizes: Mapping[str, int], declared: Iterable[str]) -> tuple[str, ...]:
    """Return the node groups without a node that no declared name belongs to, sorted; a name stands for one group.

    A cloud puts the name of a group into that of its Auto Scaling group or scale set: ``gpu`` in ``eks-gpu-2cc6f0a1``.
    If a group has nodes, those of the same name in other zones are known with it.
    """
    seen = {_base(name) for name, size in sizes.items() if size}
    empty = sorted((name for name in sizes if _base(name) not in seen), key=lambda name: (len(name), name))
    names = list(map(_from_first_word, declared))
    found = {name: iter(bases) for name, bases in _containing(map(_base, empty), names).items()}
    taken: set[str] = set()
    for name in names:
        taken.update(islice((base for base in found[name] if base not in taken), 1))
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
    found: dict[str, list[str]] = {name: [] for name in names}
    counts = {len(re.findall(_WORD, name)) for name in found} - {0}
    for base in dict.fromkeys(bases):
        text = base.lower()
        words = [word.span() for word in re.finditer(_WORD, text)]
        runs = (text[words[i][0] : words[i + n - 1][1]] for n in counts for i in range(len(words) - n + 1))
        for name in {run for run in runs if run in found}:
            found[name].append(base)
    return found


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
