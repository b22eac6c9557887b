"""A CEL selector fails on some device, which ends the scheduling attempt on all nodes."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.base.text import first_few
from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.scenario.devices.devices import needs_devices
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.devices.failures import one_line
from kubesched_lint.explaining.devices.first_attempt import first_attempt
from kubesched_lint.explaining.devices.requests import devices_in
from kubesched_lint.explaining.devices.room import DeviceRoom, Request, room_of
from kubesched_lint.explaining.devices.survey import Failure, Survey
from kubesched_lint.explaining.devices.words import guarded, shortage, words_for
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Evidence, Hazard, pattern, witness
from kubesched_lint.sources.manifests.changes import Put

_NO_KEY, _RUNTIME = "no such key: ", "CEL runtime error"


def check(it: Member) -> Iterator[Hazard]:
    room = room_of(it)
    if room is None:
        return
    for request in room.requests:
        for survey in request.options:
            for failure in dict.fromkeys(survey.errors.values()):
                yield _hazard(failure, survey, request, room, it)


def _hazard(failure: Failure, survey: Survey, request: Request, room: DeviceRoom, member: Member) -> Hazard:
    failing = sorted(device for device, other in survey.errors.items() if other == failure)
    at, source = _place(failure, survey, request, member)
    first = first_attempt(room, member)
    text = f"selector #{failure.number}: {_RUNTIME}: {failure.message}"
    stopped = [position for position, given in first.items() if given.is_error and given.reason.endswith(text)]
    fitting = [position for position in positions(room.among) if position not in first or first[position].is_given]
    nodes = member.scenario.index.names
    later = pattern(f"once other devices are taken: {text}")
    return Hazard(
        at=at,
        source=source,
        evidence=_evidence(first[stopped[0]].reason, member, proven=not fitting) if stopped else later,
        values={
            **words_for(request, room, member),
            "error": failure.message,
            "whose": f"class {failure.device_class}" if failure.device_class else f"request {survey.asked.name}",
            "number": failure.number,
            "better": _better(failure),
            "remedy": _remedy(failure),
            "count": len(failing),
            "devices": first_few(["/".join(device) for device in failing]),
            "node": first_few([nodes[position] for position in stopped]),
        },
        cause=f"{failure.device_class or request.wanted} {failure.number} {failure.expression}",
        variant="later" if not stopped else "default" if fitting else "everywhere",
    )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Ask first whether the device has what the selector reads. Never safe: pods that wait today may then start."""
    better = str(hazard.values["better"])
    if better and hazard.source is not None and hazard.at[-1] == "expression":
        yield Remedy(f"write {one_line(better)}", safe=False, changes=(Put(hazard.at, better),), source=hazard.source)


def _better(failure: Failure) -> str:
    return guarded(failure.expression, failure.message.removeprefix(_NO_KEY))


def _remedy(failure: Failure) -> str:
    better = _better(failure)
    return f"write {better}" if better else f"let the selector ask first: {one_line(failure.expression)}"


def _place(failure: Failure, survey: Survey, request: Request, member: Member) -> tuple[Path, Source | None]:
    device_class = devices_in(member.scenario).classes.get(failure.device_class)
    if device_class is not None and device_class.source is not None:
        return ("spec", "selectors", failure.number, "cel", "expression"), device_class.source
    where = ("deviceClassName",) if device_class else ("selectors", failure.number, "cel", "expression")
    at, source = survey.asked.place
    return (at, None) if source is None else (survey.asked.path_of(where), source)


def _evidence(text: str, member: Member, *, proven: bool) -> Evidence:
    """A proof if no node could give the pod its devices, and nobody else takes a device on which the selector fails."""
    if not proven or _has_rivals(member):
        return witness(text)
    return shortage(member, text, demand=1, supply=0)


def _has_rivals(it: Member) -> bool:
    """Whether pods of others hold devices or may take some."""
    own = {(it.workload.namespace, reference.claim) for reference in it.workload.pod.resource_claims}
    others = (w.pod for w in it.scenario.manifests.workloads if w is not it.workload)
    return not devices_in(it.scenario).claims.keys() <= own or any(needs_devices(pod, it.scenario) for pod in others)
