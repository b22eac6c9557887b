"""How much later than another an object of the set is created: in the same apply, or some time later."""

from __future__ import annotations

from msgspec import Struct

from kubesched_lint.engine.model.policy import Namespace
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.applying.order import WAVE
from kubesched_lint.engine.scenario.applying.phases import phase_of
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.sources.manifests.document import Delivery

AT_ONCE, APART, UNKNOWN = "at once", "apart", "unknown"
"""Milliseconds later, some time later, and one of both."""


class Later(Struct, frozen=True):
    """How much later an object is created, and what says so."""

    how: str
    why: str


def created_later(workload: Workload, other: Workload, scenario: Scenario) -> Later | None:
    """Return how much later than ``workload`` the ``other`` is created; None if it is not later.

    What different Kustomizations or Applications apply has no order, unless one waits for the other.
    """
    by, others = delivery_of(workload), delivery_of(other)
    if by is not None and others is not None and by.title != others.title:
        if others.title in by.after:
            return None
        waits = "waits for" if by.title in others.after else "is applied apart from"
        return Later(APART, f"{others.title} {waits} {by.title}")
    first, second = phase_of(workload.annotations), phase_of(other.annotations)
    if first is not None and second is not None and first != second:
        return Later(APART, f"{_words(workload)} before {_words(other)}") if first < second else None
    if not scenario.order.comes_before(workload, other):
        return None
    tool = scenario.premises.apply_order
    in_one = by is not None or tool != "kubectl" or _path(workload) == _path(other)
    return Later(AT_ONCE if in_one else UNKNOWN, f"{tool} order")


def _words(workload: Workload) -> str:
    phase = phase_of(workload.annotations)
    assert phase is not None, "only phases are compared"
    return phase.words({WAVE: "0", **workload.annotations} if phase.phase == 0 else workload.annotations)


def delivery_of(item: Workload | Namespace) -> Delivery | None:
    """Return what applies an object in a cluster, where that is known."""
    return getattr(item.source, "delivered_by", None)


def _path(workload: Workload) -> str:
    return workload.source.path if workload.source is not None else ""
