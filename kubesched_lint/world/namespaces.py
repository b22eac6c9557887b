"""The namespaces that a pod affinity term selects, even if some namespaces' labels are unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kubesched_lint.record import record

if TYPE_CHECKING:
    from kubesched_lint.model.labels import Labels, Selector
    from kubesched_lint.model.pod import Pod, PodAffinityTerm
    from kubesched_lint.model.policy import Namespace

_NAME_LABEL = "kubernetes.io/metadata.name"


@record
class Namespaces:
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
