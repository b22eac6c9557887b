"""Required pod affinity in a circle: each workload waits for another, so none can be the first to start."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kubesched_lint.engine.base.limits import LONGEST_LIST
from kubesched_lint.engine.base.text import and_others, joined
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.reachability import affinity_circles, blocked_affinities
from kubesched_lint.engine.scenario.premises.premises import SET_PREMISES, proves_absence
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.placement import make_preferred
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Place, pattern, proof


def check(it: Member) -> Iterator[Hazard]:
    blocked = blocked_affinities(it.scenario).get(it.workload)
    if blocked is None or blocked.cause != "cycle":
        return
    circles = affinity_circles(it.scenario)
    circle, name = circles.through(it.workload), circles.name
    terms = it.pod.required_affinity
    text = _in_words(circle, name)
    yield Hazard(
        at=terms[0].path,
        evidence=proof(text, assumes=SET_PREMISES) if proves_absence(it.scenario) else pattern(text),
        values={"others": _others(circle, name), "replicas": it.replicas},
        related=tuple(
            Place(w.pod.required_affinity[0].path, f"{name(w)} requires the next of the circle", w.source, w.ref)
            for w in circle[1:LONGEST_LIST]
        ),
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Prefer the other pods instead of requiring them, so that this one may start first."""
    yield from make_preferred(it.workload, *(term.path for term in it.workload.pod.required_affinity))


def _others(circle: tuple[Workload, ...], name: Callable[[Workload], str]) -> str:
    """Return all but the first, a long list cut as in every message, without a name for each that is left out."""
    shown = list(map(name, circle[1 : LONGEST_LIST + 2]))
    left = len(circle) - 1 - LONGEST_LIST
    return and_others(shown[:LONGEST_LIST], left) if left > 1 else joined(shown)


def _in_words(circle: tuple[Workload, ...], name: Callable[[Workload], str]) -> str:
    """Return the circle as text; only the beginning and the end of a long one."""
    left = len(circle) - LONGEST_LIST
    shown = map(name, circle if left <= 0 else circle[: LONGEST_LIST - 1])
    return " → ".join((*shown, *([f"{left:,} more", name(circle[-1])] if left > 0 else ()), name(circle[0])))
