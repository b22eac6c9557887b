"""A waiver that suppresses nothing hides the next real finding."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.explaining.waivers.waiver import Waiver, WaiverUse
from kubesched_lint.findings import Hazard, pattern


def check(waiver: Waiver, use: WaiverUse) -> Iterator[Hazard]:
    if use.is_used or use.is_idle:
        return
    if not waiver.rule:
        variant = "nameless"
    elif use.unknown:
        variant = "unknown"
    elif use.nearest:
        variant = "elsewhere"
    else:
        variant = "default"
    values = {
        "waived": waiver.rule,
        "guess": use.unknown.strip(),
        "line": use.nearest.span.line if use.nearest else 0,
        "where": waiver.where,
    }
    yield Hazard((), pattern(), values, source=waiver, victim=waiver.object, variant=variant)
