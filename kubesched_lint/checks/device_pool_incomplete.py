"""A request finds no devices because the slices of their pool are incomplete, or contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.devices.requests import devices_in
from kubesched_lint.explaining.devices.room import BROKEN, short_of
from kubesched_lint.explaining.devices.words import at_request, words_for
from kubesched_lint.findings import Hazard, pattern


def check(it: Member) -> Iterator[Hazard]:
    for room, request in short_of(it, BROKEN):
        survey = next(survey for survey in request.options if survey.broken_pools)
        pool, state = next(iter(survey.broken_pools.items()))
        within, variant = (("allocationMode",), "all") if survey.takes_all else ((), "default")
        stopped = f"request {survey.asked.name}: asks for all devices, but resource pool {pool}"
        evidence = pattern(f"{stopped} is currently {state}" if survey.takes_all else f"pool {pool} is {state}")
        values = {**words_for(request, room, it), "pool": pool, "state": _state(pool, state, it)}
        yield at_request(request, evidence, values, f"{pool} {survey.takes_all}", within, variant)


def _state(pool: str, state: str, member: Member) -> str:
    """What is wrong with the pool, with numbers."""
    driver, _, name = pool.partition("/")
    slices = [each for each in devices_in(member.scenario).slices if (each.driver, each.pool) == (driver, name)]
    newest = [each for each in slices if each.generation == max(other.generation for other in slices)]
    if state == "invalid":
        return "has two devices or counter sets of one name, or a device that consumes an unknown counter"
    return f"has {len(newest)} of {newest[0].slice_count} slices of generation {newest[0].generation}"
