"""Who of the crowd looks for places beside a workload, whom its pods select, and who selects them.

Found by label: asking each pair would cost the square of a set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint import work
from kubesched_lint.lifecycle.coupling import Selecting, Selection
from kubesched_lint.lifecycle.crowding import Rival, crowd_of
from kubesched_lint.lifecycle.quotas import quota_short
from kubesched_lint.lifecycle.setting import Setting, once_per_setting
from kubesched_lint.model.pod import PodAffinityTerm, SpreadConstraint


@once_per_setting
def _selected(setting: Setting) -> Selection:
    return Selection([r.pod for _, r in crowd_of(setting).rivals], setting.cluster)


@once_per_setting
def _selecting(setting: Setting) -> Selecting:
    return Selecting([r.pod for _, r in crowd_of(setting).rivals], setting.cluster)


def repelling(setting: Setting, number: int) -> Iterator[tuple[str, Rival]]:
    """``(topology key, pods)`` for each required anti-affinity between this workload and others, either way round."""
    pod = setting.pods[number]
    if pod.node_name:
        return
    for term, holders in _selecting(setting).of(pod):
        yield from ((term.topology_key, rival) for rival in _others(setting, number, holders))
    for term in pod.required_anti_affinity:
        found = _others(setting, number, _selected(setting).of(term, pod.namespace))
        yield from ((term.topology_key, rival) for rival in found)


def counted(setting: Setting, number: int, constraint: SpreadConstraint) -> list[Rival]:
    """Those whom a spread constraint of the workload counts."""
    selector, pod = constraint.selector, setting.pods[number]
    if selector is None or selector.is_empty:
        return []
    return list(_others(setting, number, _selected(setting).of(selector, pod.namespace)))


def drawing(setting: Setting, number: int, terms: Sequence[PodAffinityTerm]) -> Iterator[Rival]:
    """Those whom all of the workload's terms select."""
    return _others(setting, number, _selected(setting).of_all(terms, setting.pods[number].namespace))


def _others(setting: Setting, number: int, places: Sequence[int]) -> Iterator[Rival]:
    """Pods of other workloads, and those of another revision of this one that run already."""
    work.spend(2 * len(places))
    crowd, pod = crowd_of(setting).rivals, setting.pods[number]
    for place in places:
        i, rival = crowd[place]
        if i != number or rival.pod is not pod:
            yield rival


def made_again(setting: Setting, number: int, terms: Sequence[PodAffinityTerm]) -> Iterator[int]:
    """Workloads whom all the terms select, whose controller makes a pod again when it is gone, and that do not look for
    others themselves."""
    for i in setting.selection.of_all(terms, setting.pods[number].namespace):
        workload, pod = setting.workloads[i], setting.pods[i]
        kept = workload.kind in ("Deployment", "ReplicaSet", "StatefulSet") and not workload.held
        if i != number and kept and i not in quota_short(setting) and not pod.required_affinity:
            yield i
