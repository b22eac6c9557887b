"""A waiver without a reason."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.explaining.waivers.waiver import Waiver, WaiverUse
from kubesched_lint.findings import Hazard, pattern


def check(waiver: Waiver, use: WaiverUse) -> Iterator[Hazard]:
    # waiver-unused reports a waiver that suppresses nothing or names no rule; it needs no reason first.
    if waiver.rule and not use.unknown and not waiver.reason:
        values = {"waived": waiver.rule, "where": waiver.where}
        yield Hazard((), pattern(), values, source=waiver, victim=waiver.object)
