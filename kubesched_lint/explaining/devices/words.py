"""What the rules about devices share: words for requests, and the evidence that devices are missing."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.scenario.premises.device_premises import device_premise
from kubesched_lint.engine.scenario.premises.premises import node_premises, nodes_in_words
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.devices.room import DeviceRoom, Request
from kubesched_lint.findings import Evidence, Hazard, proof

_READ = re.compile(
    r"""device\.(?:attributes|capacity)\s*\[\s*["']([^"']+)["']\s*\]\s*(?:\.\s*(\w+)|\[\s*["']([^"']+)["']\s*\])"""
)
"""An attribute or a capacity that a selector reads: domain, and the name as a field or as a string."""


def place_of(request: Request, within: Path = ()) -> tuple[Path, Source | None]:
    """Return the path to blame, and its document; of alternatives that which comes closest."""
    asked = request.main.asked
    at, source = asked.place
    return (at, None) if source is None else (asked.path_of(within), source)


def at_request(
    request: Request,
    evidence: Evidence,
    values: Mapping[str, object],
    cause: str,
    within: Path = (),
    variant: str = "default",
) -> Hazard:
    """Return the hazard of a request at the line to blame: the part of it that ``within`` leads to."""
    at, source = place_of(request, within)
    return Hazard(at=at, source=source, evidence=evidence, values=values, cause=cause, variant=variant)


def words_for(request: Request, room: DeviceRoom, member: Member) -> Mapping[str, object]:
    """Return the values of a message: ``request``, ``claim``, ``nodes`` and ``replicas``."""
    name = request.main.asked.name
    count = len(request.options)
    return {
        "request": name if request.is_alone else f"{name}, the closest of {many(count, 'alternative')},",
        "claim": str(request.wanted),
        "nodes": nodes_in_words(member.scenario, room.among),
        "replicas": member.replicas,
    }


def shortage(it: Member, text: str, *, demand: int, supply: int) -> Evidence:
    """Return the proof that devices are missing."""
    return proof(text, demand=demand, supply=supply, assumes=(*node_premises(it), device_premise(it.scenario)))


def attributes_read(expression: str) -> tuple[str, ...]:
    """Return the attributes, as ``domain/name``, that a selector reads by constant names."""
    attributes = (f"{m[1]}/{m[2] or m[3]}" for m in _READ.finditer(expression) if m[0].startswith("device.attributes"))
    return tuple(dict.fromkeys(attributes))


def guarded(expression: str, key: str) -> str:
    """Return a selector that asks first whether the device has an attribute or a capacity; empty if it cannot."""
    reads = {m[0] for m in _READ.finditer(expression) if key in (m[2], m[3])}
    read = reads.pop() if len(reads) == 1 else ""
    if not read.endswith(f".{key}"):
        return ""  # has() takes a field only
    return f"has({read}) && " + (f"({expression})" if "||" in expression or "?" in expression else expression)


def cause_of(request: Request) -> str:
    """Return what one edit of a claim mends for all workloads that use it."""
    return f"{request.wanted} {request.main.asked.name}"
