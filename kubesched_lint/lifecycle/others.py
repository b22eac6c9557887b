"""The pods outside the set by kind: identical pods are one Pod object, so that many thousand pods are few kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kubesched_lint.cluster.nodeset import EMPTY, NodeSet, of
from kubesched_lint.lifecycle.coupling import PodSelection
from kubesched_lint.lifecycle.setting import Setting, once_per_setting
from kubesched_lint.model.labels import Selector
from kubesched_lint.model.pod import BoundPod, Pod


class OtherPods(NamedTuple):
    """The pods outside the set that are identical but for name and node."""

    pod: Pod
    number: int
    nodes: NodeSet
    """Nodes where one is."""
    staying: NodeSet
    """Nodes where one is that does not terminate, and that no controller of the set deletes."""


@once_per_setting
def other_pods(setting: Setting) -> Sequence[OtherPods]:
    """Return the kinds of pods outside the set."""
    going, kinds = frozenset(setting.going), dict[Pod, list[BoundPod]]()
    for bound in setting.objects.pods:
        kinds.setdefault(bound.pod, []).append(bound)
    at = setting.index.positions
    found = []
    for alike in kinds.values():
        nodes = of([at[b.node] for b in alike if b.node in at])
        leaving = any(b.terminating or b in going for b in alike)
        stay = [b for b in alike if not b.terminating and b not in going] if leaving else alike
        staying = of([at[b.node] for b in stay if b.node in at]) if leaving else nodes
        found.append(OtherPods(alike[0].pod, len(alike), nodes, staying))
    return found


def selected_by(setting: Setting, selector: Selector, namespace: str) -> Iterator[OtherPods]:
    """Yield the kinds that the selector of a spread of a pod in ``namespace`` counts."""
    return map(other_pods(setting).__getitem__, _selection(setting).of(selector, namespace))


def drawing(setting: Setting, number: int) -> Iterator[OtherPods]:
    """Yield the kinds that all required affinity of a workload selects; it must have some."""
    pod = setting.pods[number]
    return map(other_pods(setting).__getitem__, _selection(setting).of_all(pod.required_affinity, pod.namespace))


def where(kinds: Iterator[OtherPods]) -> NodeSet:
    """Return the nodes where pods of some kinds are."""
    found = EMPTY
    for kind in kinds:
        found |= kind.nodes
    return found


@once_per_setting
def _selection(setting: Setting) -> PodSelection:
    return PodSelection([kind.pod for kind in other_pods(setting)], setting.cluster)
