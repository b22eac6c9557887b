"""The ResourceQuotas of one namespace, found by what their scopes ask of a pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kubesched_lint.admission.quotas import counts
from kubesched_lint.admission.reach import InReach
from kubesched_lint.model.workload import written_template

if TYPE_CHECKING:
    from kubesched_lint.model.pod import Pod
    from kubesched_lint.model.policy import QuotaScope, ResourceQuota
    from kubesched_lint.model.workload import Workload


class QuotasOfNamespace:
    """Quotas with equal scopes are asked once, and those for priority classes only about pods of these classes."""

    def __init__(self, quotas: Sequence[ResourceQuota]) -> None:
        alike: dict[tuple[QuotaScope, ...], list[ResourceQuota]] = {}
        for quota in quotas:
            alike.setdefault(quota.scopes, []).append(quota)
        self._order = {quota: number for number, quota in enumerate(quotas)}
        self._alike = [InReach(some, around=False) for some in alike.values()]
        self._have_scopes = any(alike)
        self._of_any_class: list[int] = []
        self._of_class: dict[str, list[int]] = {}
        for number, scopes in enumerate(alike):
            classes = next((s.values for s in scopes if s.name == "PriorityClass" and s.operator == "In"), None)
            if classes is None:
                self._of_any_class.append(number)
            for name in dict.fromkeys(classes or ()):
                self._of_class.setdefault(name, []).append(number)

    def that_count(self, workload: Workload, pod: Pod) -> tuple[ResourceQuota, ...]:
        """Return the quotas that count the pods of a workload, in their order; ``pod`` is the stored one."""
        found = list(filter(None, self._counting(workload, pod)))
        if len(found) < 2:
            return found[0] if found else ()
        return tuple(sorted((quota for some in found for quota in some), key=self._order.__getitem__))

    def _counting(self, workload: Workload, pod: Pod) -> Iterator[tuple[ResourceQuota, ...]]:
        template = written_template(workload) if self._have_scopes else None
        for number in (*self._of_any_class, *self._of_class.get(pod.priority_class, ())):
            alike = self._alike[number]
            if self._have_scopes and not counts(alike.all[0], pod, template):
                continue
            yield alike.of(workload.source)
