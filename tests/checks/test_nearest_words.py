"""A hint names what was probably meant, and nothing that only looks alike from afar."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.explaining.near_misses.nearest import nearest_key

NODES = [
    Node("n", {"kubernetes.io/os": "linux", "topology.kubernetes.io/zone": "a", "nvidia.com/gpu.product": "A100"}),
]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("ovn.kubernetes.io/bgp", ""),
        ("node.kubernetes.io/pool", ""),
        ("topology.kubernetes.io/zon", "topology.kubernetes.io/zone"),
        ("topology.kubernets.io/zone", "topology.kubernetes.io/zone"),
        ("topology.kubernetes.io/zones", "topology.kubernetes.io/zone"),
        ("nvidia.com/gpu.produkt", "nvidia.com/gpu.product"),
        ("zone", "topology.kubernetes.io/zone"),
    ],
)
def test_a_likely_key_is_named(key: str, meant: str) -> None:
    assert nearest_key(key, NODES) == meant
