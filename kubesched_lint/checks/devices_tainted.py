"""The devices that meet a request have taints that it does not tolerate."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.device_room import TAINTED, short_of
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._devices import place_of, shortage, words_for
from kubesched_lint.findings import Hazard
from kubesched_lint.manifests.changes import Append
from kubesched_lint.model.devices import DeviceTaint
from kubesched_lint.text import joined, many
from kubesched_lint.world.world import Member


def check(it: Member) -> Iterator[Hazard]:
    for room, request in short_of(it, TAINTED):
        survey = max(request.options, key=lambda survey: len(survey.closed_anywhere))
        taints = sorted(survey.tainted, key=str)
        free, closed = len(survey.all_left), len(survey.closed_anywhere)
        at, source = place_of(request)
        yield Hazard(
            at=at,
            source=source,
            evidence=shortage(
                it,
                f"{many(closed, 'matching device')} with an untolerated taint: {_in_words(taints)}",
                demand=room.needed(request, survey),
                supply=0 if survey.takes_all else free,
            ),
            values={
                **words_for(request, room, it),
                "closed": closed,
                "match": closed + free,
                "taints": _in_words(taints),
                "found": tuple(taints),
            },
            cause=_in_words(taints),
            variant="all" if survey.takes_all else "default",
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Tolerate the taints. Never safe: somebody set them to keep pods from broken devices."""
    taints = hazard.values["found"]
    if hazard.source is not None and isinstance(taints, tuple):
        changes = tuple(Append((*hazard.at, "tolerations"), _toleration(taint)) for taint in taints)
        yield Remedy(f"tolerate {_in_words(taints)}", safe=False, changes=changes, source=hazard.source)


def _toleration(taint: DeviceTaint) -> dict[str, str]:
    how = {"operator": "Equal", "value": taint.value} if taint.value else {"operator": "Exists"}
    return {"key": taint.key, **how, "effect": taint.effect}


def _in_words(taints: list[DeviceTaint] | tuple[DeviceTaint, ...]) -> str:
    return joined([f"{t.key}={t.value}:{t.effect}" if t.value else f"{t.key}:{t.effect}" for t in taints])
