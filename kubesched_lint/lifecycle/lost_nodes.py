"""Which nodes courses lose and drain, where there are too many to try each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import compress, islice

from kubesched_lint.lifecycle.events import Story
from kubesched_lint.lifecycle.setting import Setting, once_per_setting
from kubesched_lint.model.node import HOSTNAME
from kubesched_lint.model.workload import Workload


def pods_by_node(story: Story, workload: int = -1) -> dict[str, int]:
    """Return node → number of pods on it, over all ends of a story; with ``workload``, only pods of that workload."""
    found: dict[str, int] = {}
    for state in story.states:
        slots = story.pod_types.slots
        for position in compress(range(len(state.bound)), state.bound):
            name = story.nodes[position].name
            count = sum(n for slot, n in state.bound[position] if workload in (-1, slots[slot].workload))
            found[name] = found.get(name, 0) + count
    return found


def nodes_of(workload: Workload, story: Story, most: int, *, fewest: bool) -> Sequence[str]:
    """Return the nodes with the most pods of a workload, or those with the ``fewest``."""
    pods = pods_by_node(story, story.numbers[workload.key])
    ordered = sorted(story.nodes, key=lambda node: (-pods.get(node.name, 0), node.name), reverse=fewest)
    return [node.name for node in ordered[:most]]


def nodes_to_lose(setting: Setting, story: Story, most: int) -> Sequence[str]:
    """Return the nodes to lose and drain: all if few, else one of each kind, then those with the most pods.

    One without pods stands for all such nodes: nothing moves where any is lost. Only DaemonSets want pods there.
    """
    pods, kinds = pods_by_node(story), _kinds(setting)
    wanted = any(desired.spec.kind == "DaemonSet" for desired in story.desired_states.values())
    without = islice((name for name in kinds if name not in pods), None if wanted else 1)
    ordered = [*sorted(pods, key=lambda name: (-pods[name], name)), *without]
    if len(ordered) <= most:
        return ordered
    found: dict[int, str] = {}
    for name in ordered:
        found.setdefault(kinds[name], name)
    return list(dict.fromkeys((*found.values(), *ordered)))[:most]


@once_per_setting
def _kinds(setting: Setting) -> Mapping[str, int]:
    """Return name of a node → number of its kind, in the order of names."""
    numbers: dict[Hashable, int] = {}
    found = {}
    for node in sorted(setting.nodes, key=lambda node: node.name):
        labels = frozenset((k, v) for k, v in node.labels.items() if k != HOSTNAME)
        room = None if node.allocatable is None else frozenset(node.allocatable.items())
        found[node.name] = numbers.setdefault((labels, frozenset(node.taints), room), len(numbers))
    return found
