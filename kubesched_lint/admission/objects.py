"""Workloads of which no pod is created, whatever the cluster has: the API server refuses their objects."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.admission.decision import OBJECT, VALIDATION, AdmissionRefusal
from kubesched_lint.findings import Path
from kubesched_lint.manifests.classify import value_at
from kubesched_lint.manifests.document import Document
from kubesched_lint.model.quantity import QuantityError, nanos
from kubesched_lint.model.workload import Workload, written_template
from kubesched_lint.validation.removed import no_matches, removed_in

_AMOUNTS = ("requests", "limits")


def refusal_of_object(workload: Workload, version: str) -> AdmissionRefusal | None:
    """Return the refusal of a kind that this version does not serve, or of a negative amount.

    Decoding takes a negative amount for none, so that nobody counts with it.
    """
    source = workload.source
    if isinstance(source, Document) and removed_in(source.api_version, source.kind, version):
        return AdmissionRefusal(OBJECT, no_matches(source.api_version, source.kind), ("apiVersion",))
    place = _amount_below_zero(workload)
    if place is None:
        return None
    from kubesched_lint.validation.causes import field_of
    from kubesched_lint.validation.resources import NEGATIVE
    from kubesched_lint.validation.validate import validate

    answer = validate(source.value, version=version) if isinstance(source, Document) else None
    if answer is not None and not answer.accepted:
        return AdmissionRefusal(OBJECT, answer.message, place)
    return AdmissionRefusal(VALIDATION, f"{field_of(place)}: {NEGATIVE}", place)


def _amount_below_zero(workload: Workload) -> Path | None:
    """Return the place of the first negative amount that its pods request, or have as a limit or overhead."""
    pod = workload.pod
    places = [(*c.path, "resources", key) for c in (*pod.containers, *pod.init_containers) for key in _AMOUNTS]
    places += [(*pod.path, "resources", key) for key in _AMOUNTS] if pod.pod_requests is not None else []
    places += [(*pod.path, "overhead")] if pod.overhead else []
    template, start = written_template(workload), max(len(pod.path) - 1, 0)
    return next(((*at, name) for at in places for name in _below_zero(value_at(template, at[start:]))), None)


def _below_zero(written: object) -> Iterator[str]:
    if isinstance(written, dict):
        for name, amount in written.items():
            text = str(amount)
            if text.startswith("-"):
                try:
                    if nanos(text)[0] < 0:
                        yield name
                except QuantityError:
                    continue
