"""Decode objects whose controllers add labels or resources to nodes."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.model.decode.fields import Value, items, mapping, text
from kubesched_lint.engine.model.nodes.node_makers import NodeMaker

_FEATURES = "feature.node.kubernetes.io/"
"""What NFD puts before a name that has no prefix (node-feature-discovery, pkg/apis/nfd/v1alpha1, FeatureLabelNs)."""
_BY_KIND = {
    "ClusterPolicy": ("nvidia.com/",),
    "GpuDevicePlugin": ("gpu.intel.com/",),
    "QatDevicePlugin": ("qat.intel.com/",),
    "SgxDevicePlugin": ("sgx.intel.com/",),
}
"""Kind of an operator's object → prefixes of the labels and resources that its daemons add."""


def decode_feature_rule(value: Value, source: Source | None) -> NodeMaker:
    """Return what a NodeFeatureRule of Node Feature Discovery adds. Raises DecodeError.

    A ``labelsTemplate`` makes names that only the nodes decide: any with NFD's prefix.
    """
    labels: list[str] = []
    resources: list[str] = []
    for rule, rule_path in items(mapping(value, "spec", ()), "rules", ("spec",)):
        labels += _names(rule, "labels", rule_path)
        labels += [_FEATURES] if rule.get("labelsTemplate") else []
        resources += _names(rule, "extendedResources", rule_path)
    return NodeMaker("NodeFeatureRule", _name(value), tuple(labels), tuple(resources), source)


def decode_operators_object(value: Value, source: Source | None) -> NodeMaker:
    """Return what the operator of a vendor adds for its object: labels and resources with the vendor's prefix."""
    kind = str(value.get("kind"))
    return NodeMaker(kind, _name(value), _BY_KIND[kind], _BY_KIND[kind], source)


def _names(rule: Value, field: str, path: Path) -> Iterator[str]:
    for name in mapping(rule, field, path):
        yield str(name) if "/" in str(name) else f"{_FEATURES}{name}"


def _name(value: Value) -> str:
    return text(mapping(value, "metadata", ()), "name", ("metadata",))
