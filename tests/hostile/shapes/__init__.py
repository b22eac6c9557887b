"""Inputs that cost much for their size: each shape at any size, as the text of manifests and of a cluster.

``benchmarks/hostile_shapes.py`` measures them at three sizes; ``test_budgets`` counts the work on small ones. The size
that a shape stands with is the largest that is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tests.hostile.shapes import devices, neighbours, nodes_and_pools, objects, pods, texts
from tests.hostile.shapes.parts import Files, stream, workload

__all__ = ["SHAPES", "Files", "Shape", "stream", "workload"]


class Shape(NamedTuple):
    largest: int
    make: Callable[[int], Files]


SHAPES: Mapping[str, Shape] = {
    "ring": Shape(3_000, neighbours.ring),
    "chain": Shape(3_000, neighbours.chain),
    "star": Shape(3_000, neighbours.star),
    "apart": Shape(200, neighbours.apart),
    "apart-from-many": Shape(2_000, neighbours.apart_from_many),
    "preferring": Shape(200, neighbours.preferring),
    "beside-all": Shape(1_000, neighbours.beside_all),
    "beside-each": Shape(1_000, neighbours.beside_each),
    "everywhere": Shape(1_000, neighbours.everywhere),
    "revisions": Shape(1_000, neighbours.revisions),
    "selecting": Shape(600, neighbours.selecting),
    "crowd": Shape(2_000, neighbours.crowd),
    "alone": Shape(1_000, neighbours.alone),
    "together": Shape(1_000, neighbours.together),
    "avoiding": Shape(1_000, neighbours.avoiding),
    "spreads": Shape(300, neighbours.spreads),
    "spread-keys": Shape(300, neighbours.spread_keys),
    "full-zones": Shape(100, neighbours.full_zones),
    "full-next": Shape(100, neighbours.full_next),
    "own-devices": Shape(75, devices.own_devices),
    "devices-of-bare-pods": Shape(75, devices.of_bare_pods),
    "devices-by-long-selectors": Shape(200, devices.by_long_selectors),
    "node-terms": Shape(5_000, nodes_and_pools.node_terms),
    "node-numbers": Shape(5_000, nodes_and_pools.node_numbers),
    "node-values": Shape(20_000, nodes_and_pools.node_values),
    "taints": Shape(1_000, nodes_and_pools.taints),
    "node-kinds": Shape(2_000, nodes_and_pools.node_kinds),
    "own-nodes": Shape(2_000, nodes_and_pools.own_nodes),
    "misspelt-keys": Shape(1_000, nodes_and_pools.misspelt_keys),
    "misspelt-values": Shape(1_000, nodes_and_pools.misspelt_values),
    "misspelt-tolerations": Shape(600, nodes_and_pools.misspelt_tolerations),
    "misspelt-taints": Shape(1_000, nodes_and_pools.misspelt_taints),
    "own-taints": Shape(1_000, nodes_and_pools.own_taints),
    "tolerant": Shape(1_000, nodes_and_pools.tolerant),
    "cordoned": Shape(1_000, nodes_and_pools.cordoned),
    "misspelt-domains": Shape(1_000, nodes_and_pools.misspelt_domains),
    "placeholders": Shape(2_000, nodes_and_pools.placeholders),
    "own-resources": Shape(1_000, nodes_and_pools.own_resources),
    "own-zones": Shape(1_000, nodes_and_pools.own_zones),
    "all-but-one": Shape(1_000, nodes_and_pools.all_but_one),
    "sizes": Shape(1_000, nodes_and_pools.sizes),
    "daemons": Shape(5_000, nodes_and_pools.daemons),
    "many-nodes": Shape(5_000, nodes_and_pools.many_nodes),
    "pools": Shape(500, nodes_and_pools.pools),
    "misspelt-pools": Shape(500, nodes_and_pools.misspelt_pools),
    "sketched-pools": Shape(500, nodes_and_pools.sketched_pools),
    "group-names": Shape(10_000, nodes_and_pools.group_names),
    "claims": Shape(1_000, objects.claims),
    "loose-volumes": Shape(1_000, objects.loose_volumes),
    "local-volumes": Shape(1_000, objects.local_volumes),
    "own-classes": Shape(1_000, objects.own_classes),
    "volume-limits": Shape(1_000, objects.volume_limits),
    "capacities": Shape(500, objects.capacities),
    "pins": Shape(1_000, objects.pins),
    "mounts": Shape(2_000, objects.mounts),
    "templates-of-claims": Shape(2_000, objects.templates_of_claims),
    "disruption": Shape(1_000, objects.disruption),
    "negative-budgets": Shape(1_000, objects.negative_budgets),
    "sharing-budgets": Shape(1_000, objects.sharing_budgets),
    "misspelt-budgets": Shape(1_000, objects.misspelt_budgets),
    "quotas": Shape(1_000, objects.quotas),
    "scoped-quotas": Shape(1_000, objects.scoped_quotas),
    "ranges": Shape(1_000, objects.ranges),
    "scalers": Shape(1_000, objects.scalers),
    "resizers": Shape(2_000, objects.resizers),
    "default-classes": Shape(1_000, objects.default_classes),
    "labelled-volumes": Shape(1_000, objects.labelled_volumes),
    "inits": Shape(5_000, pods.inits),
    "containers": Shape(5_000, pods.containers),
    "ports": Shape(2_000, pods.ports),
    "addresses": Shape(1_000, pods.addresses),
    "labels": Shape(5_000, pods.labels),
    "replicas": Shape(2**31 - 1, pods.replicas),
    "fitting-replicas": Shape(2**31 - 1, pods.fitting_replicas),
    "rollouts": Shape(4_000, pods.rollouts),
    "cronjobs": Shape(1_000, pods.cronjobs),
    "twins": Shape(2_000, texts.twins),
    "twins-of-many": Shape(2_000, texts.twins_of_many),
    "empties": Shape(200_000, texts.empties),
    "config-maps": Shape(50_000, texts.config_maps),
    "long-line": Shape(10_000_000, texts.long_line),
    "flow-list": Shape(7_000_000, texts.flow_list),
    "deep-flow": Shape(100_000, texts.deep_flow),
    "deep-block": Shape(2_000, texts.deep_block),
    "waivers": Shape(50_000, texts.waivers),
    "comments": Shape(200_000, texts.comments),
    "aliases": Shape(20_000, texts.aliases),
    "merges": Shape(2_000, texts.merges),
    "block-items": Shape(400_000, texts.block_items),
}
