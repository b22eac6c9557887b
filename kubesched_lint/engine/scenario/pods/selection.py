"""Find the workloads of the manifests that a pod affinity term selects, without testing each one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from kubesched_lint.engine.cluster.selecting.labelled import PodIndex
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.pods.pod_labels import is_set_later, name_from_label

if TYPE_CHECKING:
    from kubesched_lint.engine.model.labels import Labels, Selector
    from kubesched_lint.engine.model.policy import Namespace


class Selection:
    """The pods of a manifest set by their labels. ``pod_of`` returns a workload's pod after admission."""

    def __init__(
        self, workloads: Iterable[Workload], pod_of: Callable[[Workload], Pod], namespaces: Namespaces
    ) -> None:
        self._workloads = tuple(workloads)
        self._pod_of = pod_of
        self._namespaces = namespaces

    @cached_property
    def _index(self) -> PodIndex:
        """The labels that are written: a selector never has one that admission adds."""
        return PodIndex(workload.pod for workload in self._workloads)

    def selected_by(self, term: PodAffinityTerm, holder: str, *, unknown: bool = True) -> Iterator[Workload]:
        """Yield the workloads whose pods a term of a pod in namespace ``holder`` selects, in the set's order.

        ``unknown`` is the answer for unknown namespace labels.
        """
        for workload in self._near(term, holder):
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

    def near(self, selector: Selector, namespaces: Iterable[str] | None) -> Iterator[Workload]:
        """Yield a superset of the workloads whose pods a selector matches in some namespaces (None: all)."""
        yield from map(self._workloads.__getitem__, self._index.near(selector, namespaces, self._with_label))

    def _near(self, term: PodAffinityTerm, holder: str) -> Iterator[Workload]:
        """Yield a superset of the selected workloads."""
        if term.selector is not None:
            names = None if term.namespace_selector is not None else term.namespaces or (holder,)
            yield from self.near(term.selector, names)

    def _with_label(self, key: str, value: str) -> Sequence[int] | None:
        """Return a superset of the workloads whose pods have the label; None if any workload may."""
        if not is_set_later(key):
            return self._index.positions_of(key, value)
        name = name_from_label(key, value)
        return None if name is None else self._by_name.get(name, ())

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        by_name: dict[str, list[int]] = {}
        for number, workload in enumerate(self._workloads):
            by_name.setdefault(workload.name, []).append(number)
        return by_name


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
