"""The ClusterRole that a capture needs: it lists, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.sources.capture.gates import PATH
from kubesched_lint.sources.capture.resources import RESOURCES, Resource
from kubesched_lint.sources.objects.status import NAME


def cluster_role(name: str) -> str:
    """Return the manifest of the role, as YAML without a newline at its end."""
    lines = ["apiVersion: rbac.authorization.k8s.io/v1", "kind: ClusterRole", "metadata:", f"  name: {name}", "rules:"]
    groups: dict[tuple[str, bool], list[Resource]] = {}
    for resource in RESOURCES:
        groups.setdefault((resource.group, bool(resource.only_in)), []).append(resource)
    for (group, is_named), resources in groups.items():
        lines += _rule(group, resources, NAME if is_named else "")
    lines += [f"- nonResourceURLs: [{PATH}]   # which feature gates are on", "  verbs: [get]"]
    return "\n".join(lines)


def _rule(group: str, resources: list[Resource], named: str) -> Iterator[str]:
    yield f'- apiGroups: ["{group}"]'
    yield f"  resources: [{', '.join(resource.plural for resource in resources)}]"
    if named:
        yield f"  resourceNames: [{named}]   # which node groups there are"
    yield "  verbs: [list]"
