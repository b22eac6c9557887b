"""A waiver whose last day is over."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.explaining.waivers.exceptions import is_day
from kubesched_lint.explaining.waivers.waiver import Waiver, WaiverUse
from kubesched_lint.findings import Hazard, pattern


def check(waiver: Waiver, use: WaiverUse) -> Iterator[Hazard]:
    # waiver-unused reports one that suppresses nothing.
    if use.has_ended and use.is_used:
        values = {
            "waived": waiver.rule,
            "where": waiver.where,
            "until": waiver.until,
            "who": waiver.owner or "who wrote it",
        }
        variant = "default" if is_day(waiver.until) else "unreadable"
        yield Hazard((), pattern(), values, source=waiver, victim=waiver.object, variant=variant)
