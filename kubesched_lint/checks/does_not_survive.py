"""After a loss or a drain that a user asks the workload to survive, pods stay Pending."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kubesched_lint.engine.model.workloads.workload import asked_to_survive
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.ends.bad_ends import bad_end
from kubesched_lint.explaining.ends.hazards import told
from kubesched_lint.explaining.ends.losses import left_pending
from kubesched_lint.findings import Hazard

_IN_WORDS = {
    "node-loss": "whichever node is lost",
    "zone-loss": "whichever zone is lost",
    "drain": "whichever node is drained",
}


def check(it: Member) -> Iterator[Hazard]:
    """Report the loss of a certain node or zone, by counting; else the verdict on any. Not what is missing anyhow."""
    asked = {*it.scenario.premises.survive, *asked_to_survive(it.workload)}
    for event in (event for event in _IN_WORDS if event in asked):
        of, _, is_loss = event.partition("-")
        certain = [replace(each, variant="certain") for each in left_pending(it, of)] if is_loss else []
        yield from certain or _by_verdict(it, event)


def _by_verdict(it: Member, event: str) -> Iterator[Hazard]:
    end = bad_end(it, event)
    if end is None or end.cell.stuck or not end.missing or bad_end(it, "deploy") is not None:
        return
    yield told(it, end, "default", {"what": _IN_WORDS[event]})
