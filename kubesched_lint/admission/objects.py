"""Workloads of which no pod is created, whatever the cluster has: the API server refuses their objects."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.admission.decision import OBJECT, VALIDATION, AdmissionRefusal
from kubesched_lint.findings import Path
from kubesched_lint.manifests.classify import value_at
from kubesched_lint.manifests.document import Document
from kubesched_lint.model.pod import Pod
from kubesched_lint.model.quantity import QuantityError, nanos
from kubesched_lint.model.workload import Workload, written_template
from kubesched_lint.validation.removed import no_matches, removed_in


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
    if not _has_zero(workload.pod):
        return None  # to look at what is written may mean to read the file again
    at = workload.pod.path
    spec = value_at(written_template(workload), at[-1:])
    if not isinstance(spec, dict):
        return None
    owners = [(spec, at)]
    for key in ("containers", "initContainers"):
        found = spec.get(key)
        owners += [(one, (*at, key, i)) for i, one in enumerate(found)] if isinstance(found, list) else []
    for owner, place in owners:
        for key in ("requests", "limits"):
            for name in _below_zero(value_at(owner, ("resources", key))):
                return (*place, "resources", key, name)
    return next(((*at, "overhead", name) for name in _below_zero(spec.get("overhead"))), None)


def _has_zero(pod: Pod) -> bool:
    """Return whether some amount is none: that is what a negative one is decoded to."""
    amounts = [pod.overhead, pod.pod_requests or {}]
    for container in (*pod.containers, *pod.init_containers):
        amounts += (container.requests, container.limits)
    return any(0 in each.values() for each in amounts)


def _below_zero(written: object) -> Iterator[str]:
    for name, amount in written.items() if isinstance(written, dict) else ():
        text = str(amount)
        if text.startswith("-"):
            try:
                if nanos(text)[0] < 0:
                    yield name
            except QuantityError:
                continue
