"""The families of the shipped rules, in the order in which one would read them."""

from __future__ import annotations

from collections.abc import Mapping

FAMILIES: Mapping[str, str] = {
    "anti-affinity": "Pods that keep away from pods",
    "affinity": "Pods that go where other pods are",
    "spread": "Topology spread constraints",
    "topology": "Topology keys and the labels behind them",
    "node-affinity": "Node selectors and node affinity",
    "taints": "Taints, tolerations and cordons",
    "resources": "Requests and what nodes can hold",
    "ports": "Host ports",
    "daemonset": "DaemonSets",
    "rollout": "Rollouts, and the order in which StatefulSets start",
    "storage": "Claims, volumes and storage classes",
    "autoscaling": "What scaling up brings",
    "disruption": "Drains, lost nodes and lost zones",
    "pools": "Node pools and what they can make",
    "scheduling": "Schedulers, priorities, gates and groups",
    "api": "What the API server refuses, or takes in silence",
    "waivers": "Suppressions that need attention",
}
