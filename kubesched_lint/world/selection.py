"""Find the workloads of the manifests that a pod affinity term selects, without testing each one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct

from kubesched_lint import work
from kubesched_lint.identity import ByIdentity
from kubesched_lint.model.pod import Pod, PodAffinityTerm
from kubesched_lint.model.workload import Workload
from kubesched_lint.world.pod_labels import is_set_later, name_from_label

if TYPE_CHECKING:
    from kubesched_lint.model.labels import Labels, Selector
    from kubesched_lint.model.policy import Namespace


_Numbered = Mapping[str, tuple[list[int], list[Workload]]]
"""Namespace → workloads, with their numbers."""


class Selection:
    """The pods of a manifest set by their labels. ``pod_of`` returns a workload's pod after admission."""

    def __init__(
        self, workloads: Iterable[Workload], pod_of: Callable[[Workload], Pod], namespaces: Namespaces
    ) -> None:
        self._workloads = tuple(workloads)
        self._pod_of = pod_of
        self._namespaces = namespaces
        self._by_namespace: ByIdentity[Sequence[Workload], _Numbered] = ByIdentity()
        """A list of candidates → those of each namespace, with their numbers in the list."""

    def _by_label(self, key: str) -> Mapping[str, Sequence[Workload]]:
        """Return value → workloads, for one of the labels of pods."""
        return self._by_all.get(key, {})

    @cached_property
    def _by_all(self) -> Mapping[str, Mapping[str, Sequence[Workload]]]:
        carriers: dict[str, list[tuple[Workload, str]]] = {}
        for workload in self._workloads:
            for key, value in workload.pod.labels.items():
                carriers.setdefault(key, []).append((workload, value))
        return {key: _by_values(found) for key, found in carriers.items()}

    def selected_by(self, term: PodAffinityTerm, holder: str, *, unknown: bool = True) -> Iterator[Workload]:
        """Yield the workloads whose pods a term of a pod in namespace ``holder`` selects, in the set's order.

        ``unknown`` is the answer for unknown namespace labels.
        """
        for workload in self._near(term, holder):
            work.spend(work.LOOK)
            if self._namespaces.selects(term, holder, self._pod_of(workload), unknown=unknown):
                yield workload

    def selected_by_all(
        self, terms: Sequence[PodAffinityTerm], holder: str, *, unknown: bool = True
    ) -> Iterator[Workload]:
        """Yield the workloads whose pods all terms select: only such a pod satisfies required affinity."""
        for workload in self.selected_by(terms[0], holder, unknown=unknown):
            pod = self._pod_of(workload)
            if all(self._namespaces.selects(t, holder, pod, unknown=unknown) for t in terms[1:]):
                yield workload

    def _near(self, term: PodAffinityTerm, holder: str) -> Sequence[Workload]:
        """Return a superset of the selected workloads: those in the namespaces that it names."""
        found = self._candidates(term)
        if term.namespace_selector is not None:
            return found
        spaces = self._by_namespace.get(found)
        if spaces is None:
            groups: dict[str, tuple[list[int], list[Workload]]] = {}
            for number, workload in enumerate(found):
                numbers, workloads = groups.setdefault(workload.pod.namespace, ([], []))
                numbers.append(number)
                workloads.append(workload)
            spaces = self._by_namespace[found] = groups
        named = [spaces.get(name, ([], [])) for name in dict.fromkeys(term.namespaces or (holder,))]
        if len(named) == 1:
            return named[0][1]
        return [workload for _, workload in sorted(chain.from_iterable(zip(*one, strict=True) for one in named))]

    def _candidates(self, term: PodAffinityTerm) -> Sequence[Workload]:
        """Return a superset of the selected workloads: the shortest list among the term's equality requirements."""
        if term.selector is None:
            return ()
        best: Sequence[Workload] = self._workloads
        for requirement in term.selector.requirements:
            if requirement.operator == "In" and len(requirement.values) == 1:
                found = self._with_label(requirement.key, requirement.values[0])
                if found is not None and len(found) < len(best):
                    best = found
        return best

    def _with_label(self, key: str, value: str) -> Sequence[Workload] | None:
        """Return a superset of the workloads whose pods have the label; None if any workload may."""
        if not is_set_later(key):
            return self._by_label(key).get(value, ())
        name = name_from_label(key, value)
        return None if name is None else self._by_name.get(name, ())

    @cached_property
    def _by_name(self) -> dict[str, list[Workload]]:
        found: dict[str, list[Workload]] = {}
        for workload in self._workloads:
            found.setdefault(workload.name, []).append(workload)
        return found


def _by_values(pairs: Iterable[tuple[Workload, str]]) -> Mapping[str, Sequence[Workload]]:
    """Return value → workloads; labels are those written, because selectors never have one that admission adds."""
    found: dict[str, list[Workload]] = {}
    for workload, value in pairs:
        found.setdefault(value, []).append(workload)
    # A tuple takes half the memory of a list: most labels that terms ask for are the names of single workloads.
    return {value: tuple(workloads) for value, workloads in found.items()}


# --- The namespaces that a pod affinity term selects, even if some namespaces' labels are unknown ---------------------

_NAME_LABEL = "kubernetes.io/metadata.name"


class Namespaces(Struct, frozen=True):
    """Labels of the namespaces in manifests and snapshot; of others only the name is known."""

    labels: Mapping[str, Labels]

    @classmethod
    def of(cls, *groups: Iterable[Namespace]) -> Namespaces:
        """Return the namespaces of all groups; later groups override earlier ones."""
        return cls({namespace.name: namespace.labels for group in groups for namespace in group})

    def reaches(self, term: PodAffinityTerm, holder: str, other: str, *, unknown: bool) -> bool:
        """Return whether a term of a pod in namespace ``holder`` selects namespace ``other``.

        ``unknown`` is the answer if it depends on unknown labels.
        """
        if term.namespace_selector is None:
            return other in term.namespaces if term.namespaces else other == holder
        if other in term.namespaces or term.namespace_selector.is_empty:
            return True
        known = self.labels.get(other)
        if known is not None:
            return term.namespace_selector.matches(known)
        named = {_NAME_LABEL: other}
        requirements = term.namespace_selector.requirements
        if not all(r.matches(named) for r in requirements if r.key == _NAME_LABEL):
            return False
        return unknown or all(r.key == _NAME_LABEL for r in requirements)

    def selects(self, term: PodAffinityTerm, holder: str, other: Pod, *, unknown: bool) -> bool:
        """Return whether a term of a pod in namespace ``holder`` selects ``other``, or a replica that it represents."""
        return (
            term.selector is not None
            and _matches(term.selector, other, unknown=unknown)
            and self.reaches(term, holder, other.namespace, unknown=unknown)
        )


def _matches(selector: Selector, pod: Pod, *, unknown: bool) -> bool:
    if not pod.varying:
        return selector.matches(pod.labels)
    asked = selector.may_match if unknown else selector.surely_matches
    return asked(pod.labels, pod.varying)
