"""The node groups that cluster-autoscaler names in its status: the ConfigMap ``cluster-autoscaler-status``.

Mirrors ``clusterstate/api/types.go`` and ``clusterstate/utils/status.go`` of kubernetes/autoscaler: YAML since 1.30,
lines of text before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kubesched_lint.engine.model.decode.fields import Value
from kubesched_lint.limits import LARGEST_SETTINGS

NAMESPACE, NAME = "kube-system", "cluster-autoscaler-status"
_IN_TEXT = r"(?m)^ *Name: +(\S+)\n *Health:.*?\bregistered=(\d+)"


def sizes_in(value: Value) -> Mapping[str, int] | None:
    """Return the ``group_sizes`` in a ConfigMap; None if it is not the status of cluster-autoscaler."""
    meta = value.get("metadata")
    return group_sizes(value) if isinstance(meta, dict) and meta.get("name") == NAME else None


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
    from kubesched_lint.sources.manifests.yaml.full_reader import BuildError, build

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
