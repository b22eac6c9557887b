"""The node groups that cluster-autoscaler names in its status: the ConfigMap ``cluster-autoscaler-status``.

Mirrors ``clusterstate/api/types.go`` and ``clusterstate/utils/status.go`` of kubernetes/autoscaler: YAML since 1.30,
lines of text before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from kubesched_lint.model.decode.fields import Value

NAMESPACE, NAME = "kube-system", "cluster-autoscaler-status"
_LARGEST = 1 << 20
"""Most bytes of a ConfigMap."""
_IN_TEXT = re.compile(r"^ *Name: +(\S+)\n *Health:.*?\bregistered=(\d+)", re.MULTILINE)


def is_status(value: Value) -> bool:
    """Return whether an object is the status of cluster-autoscaler."""
    meta = value.get("metadata")
    return value.get("kind") == "ConfigMap" and isinstance(meta, dict) and meta.get("name") == NAME


def group_sizes(value: Value) -> Mapping[str, int]:
    """Return the cloud's name of each node group → its registered nodes; empty if the status cannot be read."""
    data = value.get("data")
    text = data.get("status") if isinstance(data, dict) else None
    if not isinstance(text, str) or len(text) > _LARGEST:
        return {}
    return dict(_in_text(text) if "\nNodeGroups:" in text else _in_yaml(text))


def _in_text(text: str) -> Iterator[tuple[str, int]]:
    for name, registered in _IN_TEXT.findall(text.partition("\nNodeGroups:")[2]):
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
    for name in filter(None, declared):
        word = re.compile(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", re.IGNORECASE)
        own = next((_base(group) for group in empty if word.search(_base(group))), None)
        empty = [group for group in empty if _base(group) != own]
    return tuple(sorted(empty))


def _base(name: str) -> str:
    """Return the last part: Google Cloud writes addresses with a zone, Cluster API kind and namespace."""
    return name.rpartition("/")[2]
