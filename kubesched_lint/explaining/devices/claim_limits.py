"""What no claim can have: more devices, or more pods that use it, than its status may list."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.devices.devices import EXACT_COUNT, RESULTS_OF_A_CLAIM, USERS_OF_A_CLAIM
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.devices.requests import Asked, Wanted, asked_of, open_claims
from kubesched_lint.findings import Hazard, Place, Severity, proof


def too_many_devices(it: Member) -> Iterator[Hazard]:
    """Yield the hazards of the claims whose least number of devices is too large. A device plugin needs no claim."""
    for wanted in open_claims(it):
        fewest = [min(options, key=_least) for options in asked_of(wanted)]
        least = sum(map(_least, fewest))
        has_plugin = wanted.resource and it.usable & ~it.scenario.index.by_devices(wanted.resource)
        if least > RESULTS_OF_A_CLAIM and not has_plugin:
            at, source = max(fewest, key=_least).place
            text = f"number of requested devices {least} exceeds the claim limit of {RESULTS_OF_A_CLAIM}"
            yield Hazard(
                at=at if source is None else (*at, "count"),
                source=source,
                evidence=proof(text, demand=least, supply=RESULTS_OF_A_CLAIM),
                values={"claim": str(wanted), "needed": least, "most": RESULTS_OF_A_CLAIM},
                cause=str(wanted),
                variant="limit",
            )


def _least(asked: Asked) -> int:
    return asked.request.count if asked.request.mode == EXACT_COUNT else 0


def too_many_pods(wanted: Wanted, pods: int, most: int, related: tuple[Place, ...]) -> Hazard:
    """Return the hazard of a claim that ``pods`` use now, and ``most``, too many, at the autoscaler's maximum."""
    is_deployed = pods > USERS_OF_A_CLAIM
    return Hazard(
        at=wanted.at,
        evidence=proof(
            f"{most} pods > {USERS_OF_A_CLAIM} in status.reservedFor",
            demand=most,
            supply=USERS_OF_A_CLAIM,
            event="deploy" if is_deployed else "hpa-max",
        ),
        severity=None if is_deployed else Severity.WARNING,
        values={"claim": str(wanted), "pods": most, "most": USERS_OF_A_CLAIM, "pending": most - USERS_OF_A_CLAIM},
        related=related,
        variant="limit",
    )
