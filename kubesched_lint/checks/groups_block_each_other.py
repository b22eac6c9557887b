"""The pods of two groups take turns, and both groups end with part of their pods."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.scenario.gangs import Gang, loose_groups
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.crowding.half_placed import HalfPlaced, half_placed
from kubesched_lint.findings import Hazard, Place, witness

_POLICY = ("spec", "schedulingPolicy")


def check(scenario: Scenario) -> Iterator[Hazard]:
    if any(True for _ in loose_groups(scenario)):
        yield from map(_hazard, half_placed(scenario))


def _hazard(pair: HalfPlaced) -> Hazard:
    other, group = pair.groups
    theirs, ours = pair.placed
    return Hazard(
        at=_POLICY,
        source=group.group.source,
        victim=_ref(group),
        evidence=witness(
            "each group fits alone, and a course places half of both",
            trace=(
                "the pods of both groups are tried in turns",
                f"{ours} of {group.pods} pods of {group} are placed; the next: {pair.messages[1]}",
                f"{theirs} of {other.pods} pods of {other} are placed; the next: {pair.messages[0]}",
            ),
        ),
        values={"one": str(group), "other": str(other), "held": ours + theirs, "total": group.pods + other.pods},
        related=(Place(_POLICY, f"{many(other.pods, 'pod')} of {other}", other.group.source, _ref(other)),),
    )


def _ref(gang: Gang) -> ObjectRef:
    return ObjectRef("PodGroup", gang.group.namespace, gang.group.name)
