"""A claim of the pods names a DeviceClass that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.devices.requests import (
    IS_NOT_HERE,
    IS_NOWHERE,
    Asked,
    asked_of,
    devices_in,
    must_have_claims,
    open_claims,
)
from kubesched_lint.explaining.near_misses.nearest import correction, hint, nearest_class
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    must_have_claims(it.scenario)
    classes, unknown = devices_in(it.scenario).classes, False
    for asked in (asked for wanted in open_claims(it) for options in asked_of(wanted) for asked in options):
        name = asked.request.device_class
        if not name or name in classes:
            continue
        meant = nearest_class(it.scenario, "DeviceClass", name, classes)
        if meant or it.scenario.cluster_has("DeviceClass"):
            yield _hazard(it, asked, meant)
        else:
            unknown = True
    if unknown:
        raise UncheckedError("needs device classes (kubectl get deviceclasses), which no snapshot holds")


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Write the correct name of the class."""
    meant = str(hazard.values["meant"])
    if meant and hazard.source is not None:
        changes = (Put(hazard.at, meant),)
        yield Remedy(f"write {meant}", safe=False, changes=changes, source=hazard.source)


def _hazard(it: Member, asked: Asked, meant: str) -> Hazard:
    at, source = asked.place
    name = asked.request.device_class
    return Hazard(
        at=at if source is None else (*at, "deviceClassName"),
        source=source,
        evidence=pattern(f"request {asked.name}: device class {name} does not exist"),
        values={
            "class": name,
            "request": asked.name,
            "claim": str(asked.wanted),
            "is_nowhere": IS_NOWHERE if it.scenario.cluster_has("DeviceClass") else IS_NOT_HERE,
            "nearest": hint(meant, "there is "),
            "meant": meant,
            "correction": correction(meant),
        },
        cause="" if meant else name,
    )
