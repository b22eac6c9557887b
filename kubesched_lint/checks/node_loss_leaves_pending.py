"""Without one node, or one zone, the rest does not hold all replicas."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.ends.losses import left_pending
from kubesched_lint.findings import Hazard


def check(it: Member, *, of: str) -> Iterator[Hazard]:
    yield from left_pending(it, of)
