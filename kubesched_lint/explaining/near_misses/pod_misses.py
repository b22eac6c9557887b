"""The nearest miss of a selector of pods that matches none: another namespace, another spelling, another key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scenario.words import Words

_NAMES = ("app", "name", "app.kubernetes.io/name", "k8s-app", "app.kubernetes.io/component", "component")
"""Keys under which charts and people write the name of what a pod runs."""


class PodMiss(Struct, frozen=True):
    """``whom``: a workload or a running pod; ``has``: the label that is nearly meant, else the selector matches it in
    the namespace ``elsewhere``.
    """

    whom: str
    has: str = ""
    elsewhere: str = ""


class _Labels:
    """The labels of the pods of one namespace."""

    def __init__(self) -> None:
        self.users: dict[str, dict[str, str]] = {}
        """Key → value → the first that has it."""
        self._words: dict[str, Words] = {}

    def add(self, whom: str, pod: Pod) -> None:
        for key, value in pod.labels.items():
            self.users.setdefault(key, {}).setdefault(value, whom)

    def like(self, wanted: Requirement, own: str) -> PodMiss | None:
        """Return who has the same value under a like key, or a like value under the key; not the workload itself."""
        value, key = wanted.values[0], wanted.key
        last = key.rpartition("/")[2]
        names = _NAMES if key in _NAMES else ()
        for other, users in self.users.items():
            if other != key and value in users and (other in names or other.rpartition("/")[2] == last):
                return PodMiss(users[value], f"{other}={value}")
        users = self.users.get(key, {})
        if key not in self._words:
            self._words[key] = Words(users)
        is_compared = value not in users and not {own}.issuperset(users.values())
        close = self._words[key].closest(value) if is_compared else ""
        return PodMiss(users[close], f"{key}={close}") if close else None


def without_kind(whom: str) -> str:
    """Return ``shop/web`` of ``Deployment shop/web``; a Pod keeps its kind."""
    return whom if whom.startswith("Pod ") else whom.partition(" ")[2] or whom


def pod_miss(it: Member, term: PodAffinityTerm) -> PodMiss | None:
    """Return the pod that a term which matches none is probably meant for; None if none resembles it."""
    if term.selector is None:
        return None
    holder, namespaces = it.workload.namespace, it.scenario.namespaces
    wanted = [r for r in term.selector.requirements if r.operator == "In" and len(r.values) == 1]
    for r in wanted[:1]:
        for whom, pod in _carriers(it.scenario).get((r.key, r.values[0]), {}).values():
            if not namespaces.reaches(term, holder, pod.namespace, unknown=True) and term.selector.matches(pod.labels):
                return PodMiss(whom, elsewhere=pod.namespace)
    for name, labels in _labels_in(it.scenario).items():
        if namespaces.reaches(term, holder, name, unknown=False):
            miss = next((like for r in wanted if (like := labels.like(r, str(it.workload)))), None)
            if miss is not None:
                return miss
    return None


def _pods(scenario: Scenario) -> Iterator[tuple[str, Pod]]:
    """Yield the pods of the manifests by their workloads, then the running pods of others."""
    for workload in scenario.manifests.workloads:
        yield str(workload), scenario.member(workload).pod
    for bound in scenario.other_pods:
        yield f"Pod {bound.namespace}/{bound.name}", bound.pod


@once_per_scenario
def _carriers(scenario: Scenario) -> Mapping[tuple[str, str], Mapping[str, tuple[str, Pod]]]:
    """(key, value) → namespace → the first pod there that has the label."""
    carriers: dict[tuple[str, str], dict[str, tuple[str, Pod]]] = {}
    for whom, pod in _pods(scenario):
        for label in pod.labels.items():
            carriers.setdefault(label, {}).setdefault(pod.namespace, (whom, pod))
    return carriers


@once_per_scenario
def _labels_in(scenario: Scenario) -> Mapping[str, _Labels]:
    """Namespace → the labels of its pods."""
    labels_by_namespace: dict[str, _Labels] = {}
    for whom, pod in _pods(scenario):
        labels_by_namespace.setdefault(pod.namespace, _Labels()).add(whom, pod)
    return labels_by_namespace
